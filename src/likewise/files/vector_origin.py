"""VectorOrigin: which model computed a file's vectors, and how, to detect vectors that cannot be compared."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine_registry import computation_of, mixes_int8
from ..errors import BadInput
from ..model_files.names import recorded_model_name
from ..runtime.atomic_files import atomic_file
from ..text.inputs import resolve_prompt
from .read import open_parquet

if TYPE_CHECKING:
    from ..embedder import Embedder


@dataclass(frozen=True)
class VectorOrigin:
    """The model's name and fingerprint, the engine and precision, and everything else that changes vectors."""

    model: str
    fingerprint: str
    engine: str
    precision: str
    width: int
    pooling: str
    normalized: bool
    max_length: int
    prompt: str = ""
    overflow: str = "warn"
    dtype: str = "float32"
    arithmetic: int | None = None
    """As in `engine_registry.Computation`; None if recorded by an earlier version, with a former fingerprint."""

    @classmethod
    def of(
        cls,
        embedder: "Embedder",
        name: str,
        *,
        prompt: str | None = None,
        prompt_name: str | None = None,
        overflow: str = "warn",
    ) -> "VectorOrigin":
        """The origin of vectors from this embedder, with this name and these options."""
        manifest, computation = embedder.manifest, computation_of(embedder)
        computed = computation.engine, computation.precision, embedder.dimension, embedder.pooling.spec
        normalized = embedder.describe()["heads"][-1:] == ["Normalize"]
        used = resolve_prompt(prompt, prompt_name, manifest.prompts, manifest.default_prompt)
        limit, version = embedder.max_seq_length, computation.arithmetic
        return cls(name, embedder.fingerprint, *computed, normalized, limit, used, overflow, arithmetic=version)

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "VectorOrigin":
        values = {name: found[name] for name in _recorded(found)}
        return cls(**{**values, "model": recorded_model_name(values["model"])})

    def metadata(self) -> dict[str, str]:
        """The same values as texts, for formats that store only texts; non-text values are written as JSON."""
        return {key: value if isinstance(value, str) else json.dumps(value) for key, value in self.as_json().items()}

    @classmethod
    def from_metadata(cls, found: Mapping[str, str]) -> "VectorOrigin":
        texts = {field.name for field in fields(cls) if field.type in (str, "str")}
        names = _recorded(found)
        return cls.from_json({name: found[name] if name in texts else json.loads(found[name]) for name in names})

    def differences(self, other: "VectorOrigin") -> list[str]:
        """Differences that may change a vector's bits, such as "precision fp32 and int8"; the name does not count."""
        names = [field.name for field in fields(self) if field.name != "model"]
        pairs = [(name, getattr(self, name), getattr(other, name)) for name in names]
        return [f"{name} {mine!r} and {theirs!r}" for name, mine, theirs in pairs if mine != theirs]

    def incomparable(self, other: "VectorOrigin") -> list[str]:
        """The differences that make vectors incomparable.

        Engines may differ. Precisions may differ too, unless exactly one of them is int8.
        """
        precision = other.precision if mixes_int8(self.precision, other.precision) else self.precision
        alike = replace(other, engine=self.engine, arithmetic=self.arithmetic, precision=precision)
        return self.differences(alike)


def _recorded(found: Mapping[str, Any]) -> list[str]:
    """The fields to read from a record: all of them, except the arithmetic version if an old record lacks it."""
    return [field.name for field in fields(VectorOrigin) if field.name != "arithmetic" or "arithmetic" in found]


BESIDE = ".origin.json"
"""The suffix of the file that stores the origin of a .npy or .jsonl file, next to it."""
MANIFEST = "manifest.json"


def write_origin(path: Path, origin: VectorOrigin) -> None:
    """Write the origin of a finished .npy or .jsonl file next to it; a Parquet file stores its origin inside."""
    content = {"origin": origin.as_json(), "bytes": path.stat().st_size}
    with atomic_file(_beside(path)) as partial:
        partial.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def remove_origin(path: Path) -> None:
    """Remove the origin of a file that is about to be replaced, so that it never describes the new vectors."""
    _beside(path).unlink(missing_ok=True)


def read_origin(path: Path) -> VectorOrigin | None:
    """The origin of the vectors in a file or in a folder of shards; None if it was not recorded."""
    try:
        if path.suffix.lower() == ".parquet" and path.is_file():
            return _in_parquet(path)
        found = _read_object(path / MANIFEST if path.is_dir() else _beside(path))
        if found is None:
            return None
        if not path.is_dir() and found["bytes"] != path.stat().st_size:
            raise BadInput(
                f"{_beside(path)} describes {found['bytes']:,} bytes, but {path} has {path.stat().st_size:,}: "
                "the file was overwritten later"
            )
        return VectorOrigin.from_json(found["origin"])
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"the origin of {path} is damaged: {error!r}") from None


def check_same_origin(paths: Iterable[Path]) -> None:
    """Raise an error if vectors cannot be compared; vectors without a recorded origin are accepted."""
    first: tuple[Path, VectorOrigin] | None = None
    for path in paths:
        origin = read_origin(path)
        if origin is None:
            continue
        if first is None:
            first = path, origin
        elif differences := first[1].incomparable(origin):
            raise BadInput(
                f"{first[0]} is from {first[1].model} and {path} from {origin.model}; vectors cannot be compared: "
                f"{', '.join(differences)}"
            )


def _beside(path: Path) -> Path:
    return path.with_name(path.name + BESIDE)


def _in_parquet(path: Path) -> VectorOrigin | None:
    stored = open_parquet(path).schema_arrow.metadata or {}
    texts = {key.decode(): value.decode() for key, value in stored.items()}
    return VectorOrigin.from_metadata(texts) if "fingerprint" in texts else None


def _read_object(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} contains a {type(found).__name__}")
    return found
