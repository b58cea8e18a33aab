"""ModelStore: the models that are served, by name: loaded when they are first asked for, replaced while they serve."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ...embedder import Embedder
from ...errors import BadInput, ModelNotFound
from ..serve_settings import ServeSettings
from .model_thread import BatchObserver, ModelThread
from .model_work import EmbedderWork, ModelWork, RerankerWork

Kind = Literal["embedder", "reranker"]
Loader = Callable[[], Any]


@dataclass(eq=False)
class ServedModel:
    """A model by the name that requests give; `thread` is None while it is not loaded."""

    name: str
    kind: Kind
    load: Loader
    model: Any = None
    thread: ModelThread | None = None
    size: int = 0
    """Bytes of its weights, known once it is loaded."""
    is_unit: bool = False
    """Whether the model's own vectors have length 1."""
    used: float = 0.0
    dimension: int = 0
    """Dimensions of an embedder's vectors."""
    loading: "asyncio.Future[None] | None" = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    generation: int = 0
    """How often it was loaded: what is known of one generation need not be true of the next."""
    _fingerprint: tuple[int, str] = (0, "")

    async def fingerprint(self) -> str:
        """The loaded model's; it is computed once a generation, from all weights."""
        known, model = self._fingerprint, self.model
        if known[0] != self.generation:
            known = self.generation, await asyncio.to_thread(lambda: str(model.fingerprint))
            self._fingerprint = known
        return known[1]


class ModelStore:
    """The models of a server. All but `add` is for the event loop."""

    def __init__(self, settings: ServeSettings, observer: BatchObserver) -> None:
        self._settings, self._observer = settings, observer
        self._models: dict[str, ServedModel] = {}

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._models.values())

    def add(self, name: str, kind: Kind, load: Loader) -> None:
        """Serve a model under a name; nothing is loaded yet.

        Raises:
            BadInput: the name is taken.
        """
        if name in self._models:
            raise BadInput(f"two models are called {name!r}; give one of them another name: NAME=MODEL")
        self._models[name] = ServedModel(name, kind, load)

    def named(self, name: str | None, kind: Kind) -> ServedModel:
        """The model of a name; without one, the first of its kind.

        Raises:
            ModelNotFound: there is none; the message lists those there are.
        """
        known = [model for model in self if model.kind == kind]
        if name is None and known:
            return known[0]
        found = self._models.get(name or "")
        if found is None or found.kind != kind:
            there_are = f"; it has {', '.join(model.name for model in known)}" if known else ""
            raise ModelNotFound(f"this server has no {kind}{f' {name!r:.80}' if name else ''}{there_are}")
        return found

    async def loaded(self, name: str | None, kind: Kind) -> ServedModel:
        """As `named`, loaded."""
        served = self.named(name, kind)
        served.used = time.monotonic()
        if served.thread is None:
            if served.loading is None or served.loading.done():
                served.loading = asyncio.ensure_future(self._load(served))
            await asyncio.shield(served.loading)  # it is of use to others, if this request ends before it does
        return served

    async def _load(self, served: ServedModel) -> None:
        async with served.lock:
            if served.thread is None:
                await self._start(served)
                self._make_room(served)

    async def replace(self, name: str, load: Loader | None = None) -> None:
        """Load a model again, from its folder or by another loader, while the old one serves; then swap them.

        Requests that wait are finished by the old one.
        """
        served = self._models[name]
        async with served.lock:
            served.load = load or served.load
            old = served.thread
            if old is not None:
                await self._start(served)
                old.close()

    async def close(self, seconds: float) -> None:
        """Finish what waits, for that many seconds at most."""
        threads = [served.thread for served in self if served.thread is not None]
        for thread in threads:
            thread.close()
        await asyncio.gather(*(thread.drained(seconds) for thread in threads))

    async def _start(self, served: ServedModel) -> None:
        model = await asyncio.to_thread(served.load)
        work: ModelWork = EmbedderWork(model) if served.kind == "embedder" else RerankerWork(model)
        served.model, served.size, served.is_unit = model, model_bytes(model), gives_unit_vectors(model)
        served.generation += 1
        served.dimension = model.dimension if served.kind == "embedder" else 1
        served.thread = ModelThread(served.name, work, self._settings, self._observer)

    def _make_room(self, newest: ServedModel) -> None:
        """Unload idle models, the least recently used first, until the rest fits."""
        bound = self._settings.model_memory
        idle = sorted(
            (one for one in self if one.thread is not None and one is not newest and not one.thread.waiting_requests),
            key=lambda one: one.used,
        )
        for served in idle:
            if bound is None or sum(one.size for one in self if one.thread is not None) <= bound:
                return
            if served.thread is not None:
                served.thread.close()
            served.model = served.thread = None


def model_bytes(model: Any) -> int:
    """Bytes of a model's weights: as the compiled library packs them, else of its files."""
    compiled = getattr(model.encoder, "model", None)
    if compiled is not None and hasattr(compiled, "bytes"):
        return int(compiled.bytes)
    return sum(path.stat().st_size for path in Path(model.manifest.encoder).glob("*.safetensors"))


def gives_unit_vectors(model: Any) -> bool:
    """Whether a model is an embedder whose own vectors have length 1."""
    return isinstance(model, Embedder) and model.is_unit


def embedder_loader(name: str, settings: ServeSettings) -> Loader:
    """Loads an embedder by name, never by torch unless the settings ask for it."""
    return partial(_load_embedder, name, settings)


def reranker_loader(name: str, settings: ServeSettings) -> Loader:
    """Loads a reranker by name, never by torch unless the settings ask for it."""
    return partial(_load_reranker, name, settings)


def _load_embedder(name: str, settings: ServeSettings) -> Any:
    from ...model_names import load_named_embedder

    return load_named_embedder(name, engine=_engine(settings), precision=settings.precision)


def _load_reranker(name: str, settings: ServeSettings) -> Any:
    from ...reranker import Reranker

    return Reranker.load(name, engine=_engine(settings), precision=settings.precision)


def _engine(settings: ServeSettings) -> str:
    from ...native.scanning import available

    return settings.engine or ("native" if available() else "numpy")


def served_name(model: str) -> tuple[str, str]:
    """`NAME=MODEL` to both; else a model's own name, of a folder the last part.

    Raises:
        BadInput: a name is empty.
    """
    name, equals, path = model.partition("=")
    if not equals or "(" in name:  # the = of NAME(pooling=cls)
        name, path = (Path(model).name if Path(model).is_dir() else model), model
    if not name or not path:
        raise BadInput(f"{model!r} names no model; expected MODEL or NAME=MODEL")
    return name, path


def loaders(
    models: Sequence[Any] | Mapping[str, Any], kind: Kind, settings: ServeSettings
) -> Iterator[tuple[str, Loader]]:
    """Names and loaders of models that are given as names, or as loaded models by their names."""
    given = models.items() if isinstance(models, Mapping) else ((None, model) for model in models)
    load = embedder_loader if kind == "embedder" else reranker_loader
    for name, model in given:
        if isinstance(model, str | Path):
            own, path = served_name(str(model))
            yield name or own, load(path, settings)
        else:
            yield name or model.manifest.encoder.name, partial(_itself, model)


def _itself(model: Any) -> Any:
    return model
