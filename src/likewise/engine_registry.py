"""ENGINES: one row for each engine that runs embedders and rerankers, and the code that chooses one for a model.

An engine is imported only when it is chosen.
"""

import platform
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

from .errors import BadInput, BadModel, LikewiseError, NativeUnavailable
from .runtime.arguments import known_name
from .runtime.installation import missing_extra

ModelKind = Literal["embedder", "reranker"]
GPU_DEVICES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""Device files that exist if torch may be able to use a GPU: those of NVIDIA, AMD and WSL."""

PRECISIONS = ("fp32", "bf16", "fp16", "int8")  # all precisions; each engine supports some of them


@dataclass(frozen=True)
class LoadOptions:
    """Options that a caller of `load` may set; None leaves the choice to the model or the engine."""

    precision: str | None = None
    device: str | None = None
    pooling: str | None = None
    max_seq_length: int | None = None
    truncate_dim: int | None = None


def _no_gpu_for_torch(options: LoadOptions) -> bool:
    """Whether torch, if installed, would find no GPU here, judging by device files alone."""
    if options.device == "cpu" or find_spec("torch") is None:
        return True
    apple = sys.platform == "darwin" and platform.machine() == "arm64"
    return not apple and not any(Path(device).exists() for device in GPU_DEVICES)


class Loadable(ABC):
    """The interface that an engine's embedder or reranker adds, to be loaded from a folder's manifest."""

    @classmethod
    @abstractmethod
    def check_options(cls, options: LoadOptions) -> None:
        """Raise BadInput for options that this engine does not support, before any model is read."""

    @classmethod
    @abstractmethod
    def check_model(cls, manifest: Any, options: LoadOptions) -> None:
        """Raise BadModel for a model that this engine does not support, before any weights are read."""

    @classmethod
    @abstractmethod
    def from_manifest(cls, manifest: Any, options: LoadOptions) -> Any:
        """The model that a folder describes."""


@dataclass(frozen=True)
class Engine:
    """A row of ENGINES: the engine's embedder and reranker classes as `module:Class`, and the package that it requires.

    `is_default` allows it to be chosen when the caller names no engine.
    """

    embedder: str
    reranker: str
    requires: str | None = None
    is_default: Callable[[LoadOptions], bool] = lambda _: True

    @property
    def installed(self) -> bool:
        """Whether the package that the engine requires is installed, determined without importing it."""
        return self.requires is None or find_spec(self.requires) is not None

    def model_class(self, kind: ModelKind) -> Any:
        """The subclass of `Embedder` or `Reranker`; imports the engine."""
        if not self.installed:
            raise missing_extra(str(self.requires), str(self.requires), f"engine={self.requires!r}")
        module, _, name = {"embedder": self.embedder, "reranker": self.reranker}[kind].partition(":")
        return getattr(import_module(module), name)


ENGINES: dict[str, Engine] = {
    "native": Engine(
        "likewise.engines.native.native_embedder:NativeEmbedder",
        "likewise.engines.array_cross_encoder:NativeCrossEncoder",
        is_default=_no_gpu_for_torch,
    ),
    "torch": Engine(
        "likewise.engines.torch.torch_embedder:TorchEmbedder",
        "likewise.reranker.torch_reranker:TorchReranker",
        requires="torch",
    ),
    "numpy": Engine(
        "likewise.engines.numpy.numpy_embedder:NumpyEmbedder", "likewise.engines.array_cross_encoder:NumpyCrossEncoder"
    ),
}
"""In order of preference: without `engine=`, the first row that is installed and supports the request is used.

To add an engine, write subclasses of `Embedder` and `Reranker` that are `Loadable`, and add a row here.
"""


def engine_of(model: Any) -> str:
    """The engine that runs a model, or a Router's default part; the class name if no row lists the class."""
    model = getattr(model, "shown", model)
    classes = {f"{one.__module__}:{one.__name__}" for one in type(model).__mro__}
    found = (name for name, engine in ENGINES.items() if classes & {engine.embedder, engine.reranker})
    return next(found, type(model).__name__)


class Computation(NamedTuple):
    """How a model (identified by its fingerprint) computed vectors; equal computations give bit-identical vectors."""

    engine: str
    precision: str
    arithmetic: int
    """The version of the native engine's arithmetic; 0 for engines whose results depend on their library."""

    def __str__(self) -> str:
        version = f", arithmetic {self.arithmetic}" if self.arithmetic else ""
        return f"{self.engine}, {self.precision}{version}"


def computation_of(model: Any) -> Computation:
    from .native.library import ARITHMETIC  # here, so that --help loads no ctypes

    engine = engine_of(model)
    return Computation(engine, model.precision, ARITHMETIC if engine == "native" else 0)


INT8 = "int8"


def mixes_int8(first: str, second: str) -> bool:
    """Whether exactly one of two precisions is int8; vectors in any other two precisions may be compared."""
    return (first == INT8) != (second == INT8)


def load_with_engine(
    kind: ModelKind, name: str | None, options: LoadOptions, manifest: Callable[[], Any], only: Any = None
) -> Any:
    """Load a manifest's model with the named engine, with this class, or with the first engine that supports it."""
    if options.precision is not None:
        known_name("precision", options.precision, PRECISIONS)
    refusals: dict[str, LikewiseError] = {}
    for engine, model_class in _candidates(kind, name, options, only):
        refusal = _refusal(partial(model_class.check_options, options))
        described = None if refusal else manifest()  # if there is no such model, this raises at once, for any engine
        refusal = refusal or _refusal(partial(model_class.check_model, described, options))
        if refusal is None:
            return model_class.from_manifest(described, options)
        refusals[engine] = refusal
    raise refusals.get("torch", list(refusals.values())[-1])  # torch supports most, or else the last engine


def _refusal(check: Callable[[], None]) -> LikewiseError | None:
    try:
        check()
    except (BadInput, BadModel, NativeUnavailable) as error:
        return error
    return None


def _candidates(kind: ModelKind, name: str | None, options: LoadOptions, only: Any) -> Iterator[tuple[str, Any]]:
    if only is not None and not issubclass(only, Loadable):
        raise BadInput(f"{only.__name__} cannot be loaded by itself; use {kind.capitalize()}.load")
    if name is not None:
        known_name("engine", name, ENGINES)
        found = ENGINES[name].model_class(kind)
        if only is not None and not issubclass(found, only) and not issubclass(only, found):
            raise BadInput(f"{only.__name__} cannot be loaded with engine={name!r}; use {kind.capitalize()}.load")
        yield name, found if only is None or issubclass(found, only) else only
    elif only is not None:
        yield only.__name__, only
    else:
        for engine, row in ENGINES.items():
            if row.installed and row.is_default(options):
                yield engine, row.model_class(kind)
