"""ENGINES: what can compute an embedder, one row each, and which of them a model is loaded with.

Nothing here imports an engine before it is chosen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .errors import BadInput, LikewiseError
from .runtime.arguments import known_name
from .runtime.installation import missing_extra

if TYPE_CHECKING:
    from .model_files import Manifest


@dataclass(frozen=True)
class LoadOptions:
    """What a caller of `Embedder.load` may choose; None leaves it to the model or the engine."""

    precision: str | None = None
    device: str | None = None
    pooling: str | None = None
    max_length: int | None = None
    truncate: int | None = None


@dataclass(frozen=True)
class Engine:
    """A row: the class of its embedders as `module:Class`, and the package that it needs beyond the core."""

    embedder: str
    requires: str | None = None

    @property
    def installed(self) -> bool:
        """Whether the package that it needs is installed; it is not imported."""
        return self.requires is None or find_spec(self.requires) is not None

    def embedder_class(self) -> Any:
        """The subclass of `Embedder`; imports the engine.

        Raises:
            MissingExtra: the package that it needs is not installed.
        """
        if not self.installed:
            raise missing_extra(str(self.requires), str(self.requires), f"engine={self.requires!r}")
        module, _, name = self.embedder.partition(":")
        return getattr(import_module(module), name)


ENGINES: dict[str, Engine] = {
    "torch": Engine("likewise.engines.torch.torch_embedder:TorchEmbedder", requires="torch"),
    "numpy": Engine("likewise.engines.numpy.numpy_embedder:NumpyEmbedder"),
}
"""In order of preference: without `engine=`, the first row that is installed and supports what was asked for.

A new engine is a subclass of `Embedder` with `check_options`, `check_model` and `from_manifest`, and a row here.
"""


def engines_for(name: str | None, options: LoadOptions, only: Any = None) -> list[Any]:
    """Classes of embedders that may load a model with these options, best first, or `only` this one; no model is read.

    Raises:
        BadInput: there is no engine of this name, or no engine supports the options.
        MissingExtra: the engine named needs a package that is not installed.
    """
    if name is not None:
        known_name("engine", name, ENGINES)
        candidates = [ENGINES[name].embedder_class()]
        if only is not None and not issubclass(candidates[0], only):
            raise BadInput(f"{only.__name__} does not load with the engine {name!r}; Embedder.load does")
    elif only is not None:
        candidates = [only]
    else:
        candidates = [engine.embedder_class() for engine in ENGINES.values() if engine.installed]
    return _without_refusal(candidates, lambda embedder_class: embedder_class.check_options(options))


def choose_engine(candidates: Sequence[Any], manifest: "Manifest", options: LoadOptions) -> Any:
    """The first of these classes of embedders that supports the model.

    Raises:
        BadModel: none does; the message is that of the first one.
    """
    return _without_refusal(candidates, lambda embedder_class: embedder_class.check_model(manifest, options))[0]


def _without_refusal(candidates: Sequence[Any], check: Callable[[Any], None]) -> list[Any]:
    """Those that pass the check; where none does, the first one's error."""
    passed, refusals = [], []
    for candidate in candidates:
        try:
            check(candidate)
        except LikewiseError as error:
            refusals.append(error)
        else:
            passed.append(candidate)
    if not passed:
        raise refusals[0]
    return passed
