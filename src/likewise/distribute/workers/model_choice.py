"""ModelChoice: a model by its name and the options that it is loaded with, which another process can load."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import BadModel
from ...files.vector_origin import VectorOrigin

if TYPE_CHECKING:
    from ...embedder import Embedder


@dataclass(frozen=True)
class ModelChoice:
    """The name of a model, and keyword arguments of `Embedder.load`; plain values, so that it can be sent."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def load(self, origin: VectorOrigin) -> "Embedder":
        """The model, checked to be the one that a job was begun with."""
        from ...model_names import load_named_embedder

        embedder = load_named_embedder(self.name, **self.options)
        found = VectorOrigin.of(embedder, self.name, prompt=origin.prompt, overflow=origin.overflow)
        if differences := origin.differences(found):
            raise BadModel(f"{self.name} is not the model that was begun with: {', '.join(differences)}")
        return embedder
