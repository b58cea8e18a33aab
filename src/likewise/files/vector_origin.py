"""VectorOrigin: which model made the vectors of a file, and how; vectors of different origin cannot be compared."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from ..engine_registry import engine_of
from ..text.inputs import resolve_prompt

if TYPE_CHECKING:
    from ..embedder import Embedder


@dataclass(frozen=True)
class VectorOrigin:
    """The model by name and fingerprint, what computed it and in which precision, and what else changes vectors."""

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
        """The origin of what this embedder, known by this name, encodes with these options."""
        manifest = embedder.manifest
        return cls(
            name,
            embedder.fingerprint,
            engine_of(embedder),
            embedder.precision,
            embedder.width,
            embedder.pooling.spec,
            embedder.describe()["heads"][-1:] == ["Normalize"],
            embedder.max_length,
            resolve_prompt(prompt, prompt_name, manifest.prompts, manifest.default_prompt),
            overflow,
        )

    def as_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "VectorOrigin":
        """The origin that `as_json` described."""
        return cls(**{field.name: found[field.name] for field in fields(cls)})

    def metadata(self) -> dict[str, str]:
        """The same as texts, for formats that hold texts only; what is none is written as JSON."""
        return {key: value if isinstance(value, str) else json.dumps(value) for key, value in self.as_json().items()}

    @classmethod
    def from_metadata(cls, found: Mapping[str, str]) -> "VectorOrigin":
        """The origin that `metadata` described."""
        texts = {field.name for field in fields(cls) if field.type in (str, "str")}
        names = [field.name for field in fields(cls)]
        return cls.from_json({name: found[name] if name in texts else json.loads(found[name]) for name in names})

    def differences(self, other: "VectorOrigin") -> list[str]:
        """What differs and changes vectors, each in words: "precision fp32 and int8"; the name alone does not."""
        mine, theirs = self.as_json(), other.as_json()
        others = [key for key in mine if key != "model" and mine[key] != theirs[key]]
        return [f"{key} {mine[key]!r} and {theirs[key]!r}" for key in others]
