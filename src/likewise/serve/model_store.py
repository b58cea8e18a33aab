"""ModelStore: the served models by name, loaded on first use and replaced without downtime."""

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count, repeat
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..array_types import Float
from ..embedder import Embedder
from ..errors import BadInput, ModelNotFound
from ..model_files.names import CLASSIFIER
from ..reranker import Reranker
from ..reranker.joint_reranker import JointReranker
from ..runtime.home_folder import expanded
from ..runtime.untrusted_files import regular_file_exists
from ..text.inputs import Windows
from .batching import BatchObserver, ModelThread, TokenizedInput
from .serve_settings import ServeSettings

if TYPE_CHECKING:
    from ..classify import Classifier

Kind = Literal["embedder", "reranker"]
Loader = Callable[[], Any]
sequence_of = attrgetter("sequence")


class EmbedderWork:
    """Converts texts, or their token ids, to vectors."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def tokenize(self, inputs: Sequence[Any], prompt: str, first: int) -> list[TokenizedInput]:
        """Tokenize each text up to the model's limit; `first` is the index of the first text, for error messages."""
        texts, windows = self.embedder.windows(inputs, prompt, name=lambda i: f"input {first + i}")
        counts = (windows.tokens.lengths.tolist(), texts.contents.lengths.tolist(), texts.used.tolist())
        return [*map(TokenizedInput, zip(repeat(windows), count(), strict=False), *counts)]

    def compute(self, contents: Sequence[TokenizedInput]) -> Float[np.ndarray, "n E"]:
        """Compute the vectors, as the model returns them."""
        return self.embedder.encode_windows(Windows.chosen([*map(sequence_of, contents)]))


class RerankerWork:
    """Computes a logit for each query–document pair."""

    def __init__(self, reranker: Reranker) -> None:
        if not isinstance(reranker, JointReranker):
            raise BadInput(f"only cross-encoders can be served as rerankers; this one is a {reranker.kind}")
        if len(reranker.labels) != 1:
            raise BadInput(f"only single-score rerankers can be served; this one has {', '.join(reranker.labels)}")
        self.reranker = reranker

    def tokenize(self, inputs: Sequence[Any], prompt: str, first: int) -> list[TokenizedInput]:  # noqa: ARG002
        """Tokenize pairs of query and document, truncated to the model's limit."""
        specials, found = self.reranker.tokenizer.pair.specials, []
        for ids, tokens in self.reranker.counted_pairs([(prompt + query, document) for query, document in inputs]):
            used = len(ids[0]) + len(ids[1])
            found.append(TokenizedInput(ids, used + specials, tokens, used))
        return found

    def compute(self, contents: Sequence[TokenizedInput]) -> Float[np.ndarray, "n E"]:
        """Compute the logits, before the model's activation function."""
        return self.reranker.logits_of([*map(sequence_of, contents)])


@dataclass(eq=False)
class ServedModel:
    """A model and the name that requests use for it; `thread` is None while it is not loaded.

    A request holds the model like an `Account` of bytes (`take`, `give_back`), so that it stays loaded until the
    request ends.
    """

    name: str
    kind: Kind
    load: Loader
    on_idle: Callable[[], None]
    """Called when the last request that uses the model ends."""
    model: Any = None
    thread: ModelThread | None = None
    size: int = 0
    """The size of the model's weights in bytes, known once it is loaded."""
    used: float = 0.0
    users: int = 0
    """How many requests are using the model; it is only unloaded when no request uses it."""
    classifier: "Classifier | None" = None
    """The `Classifier` in an embedder's folder, if it contains one that was trained on this model's vectors."""
    has_other_classifier: bool = False
    """Whether the folder's classifier was trained on another model's vectors, for example with another pooling mode."""
    loading: "asyncio.Future[None] | None" = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    generation: int = 0
    """How many times the model has been loaded; what is known about one generation may not hold for the next."""
    _fingerprint: tuple[int, str] = (0, "")

    def take(self, users: int) -> bool:
        """Keep the model loaded; always succeeds, and returns True."""
        self.users += users
        return True

    def give_back(self, users: int) -> None:
        """Let the model be unloaded again."""
        self.users -= users
        if not self.users:
            self.on_idle()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the model loaded during a `with` block."""
        self.take(1)
        try:
            yield
        finally:
            self.give_back(1)

    def unload(self) -> None:
        """Free the model's memory once the requests in its queue have been answered."""
        if self.thread is not None:
            self.thread.close()
        self.model = self.thread = self.classifier = None

    async def fingerprint(self) -> str:
        """Return the loaded model's fingerprint, which is computed from all weights once per generation."""
        known, model = self._fingerprint, self.model
        if known[0] != self.generation:
            self._fingerprint = known = self.generation, await asyncio.to_thread(lambda: str(model.fingerprint))
        return known[1]


class ModelStore:
    """The models of a server. Call all methods except `add` on the event loop."""

    def __init__(self, settings: ServeSettings, observe: BatchObserver) -> None:
        self._settings, self._observe = settings, observe
        self._models: dict[str, ServedModel] = {}

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._models.values())

    def add(self, name: str, kind: Kind, load: Loader) -> None:
        """Serve a model under a name; nothing is loaded yet."""
        if name in self._models:
            raise BadInput(f"two models are called {name!r}; give one of them another name: NAME=MODEL")
        self._models[name] = ServedModel(name, kind, load, self._make_room)

    def named(self, name: str | None, kind: Kind) -> ServedModel:
        """Return the model of this kind with this name or, if `name` is None, the first model of this kind."""
        found = None if name is None else self._models.get(name)
        if found is not None and found.kind == kind:
            return found
        known = [model for model in self if model.kind == kind]
        if name is None and known:
            return known[0]
        there_are = f"; it serves {', '.join(model.name for model in known)}" if known else ""
        raise ModelNotFound(f"this server has no {kind}{'' if name is None else f' {name!r:.80}'}{there_are}")

    async def load(self, served: ServedModel) -> None:
        """Load a model if it is not loaded; unless it is in use, it may be unloaded at the caller's next await."""
        served.used = time.monotonic()
        while served.thread is None:  # repeat if it was unloaded before this task ran
            if served.loading is None or served.loading.done():
                served.loading = asyncio.ensure_future(self._load(served))
            await asyncio.shield(served.loading)  # other requests can use the model even if this one ends first

    async def _load(self, served: ServedModel) -> None:
        async with served.lock:
            if served.thread is None:
                await self._start(served)
                self._make_room()

    async def replace(self, name: str) -> None:
        """Reload a model while the old version stays in use; the old version still answers the queued requests."""
        served = self._models[name]
        async with served.lock:
            old = served.thread
            if old is not None:
                await self._start(served)
                old.close()
                self._make_room()  # the new model may be larger

    async def close(self, seconds: float) -> None:
        """Finish waiting requests, for at most this many seconds."""
        threads = [served.thread for served in self if served.thread is not None]
        for thread in threads:
            thread.close()
        await asyncio.gather(*(thread.drained(seconds) for thread in threads))

    async def _start(self, served: ServedModel) -> None:
        model = await asyncio.to_thread(served.load)
        is_embedder = served.kind == "embedder"
        work = EmbedderWork(model) if is_embedder else RerankerWork(model)
        classifier, is_other = None, False
        try:
            classifier = await asyncio.to_thread(classifier_of, model) if is_embedder else None
        except BadInput:
            if served.classifier is not None:  # a reload: keep the old model rather than lose its classifier
                raise
            is_other = True
        size = model_bytes(model)
        # From here on, nothing can fail and nothing is awaited, so a request sees either the old model or the new one.
        served.model, served.size, served.classifier, served.has_other_classifier = model, size, classifier, is_other
        served.generation += 1
        served.thread = ModelThread(served.name, work, self._settings, self._observe)

    def _make_room(self) -> None:
        """Unload models that no request is using, least recently used first, until the rest fits into memory.

        The most recently used model stays loaded even if it does not fit on its own.
        """
        bound = self._settings.model_memory
        if bound is None:
            return
        loaded = sorted((one for one in self if one.thread is not None), key=attrgetter("used"))
        size = sum(one.size for one in loaded)
        for served in loaded[:-1]:
            if size > bound and not served.users:
                served.unload()
                size -= served.size


def classifier_of(model: Embedder) -> "Classifier | None":
    """Load the classifier from the model's folder; returns None if the folder contains no classifier.

    Raises:
        BadInput: the classifier was trained on another model's vectors.
    """
    folder = model_folder(model)
    if not regular_file_exists(folder / CLASSIFIER):
        return None
    from ..classify import Classifier

    return Classifier.load(folder, model)


def model_folder(model: Any) -> Path:
    """Return the folder of a model, whose encoder may be in a subfolder."""
    encoder = Path(model.manifest.encoder)
    is_inside = not (encoder / "modules.json").exists() and (encoder.parent / "modules.json").exists()
    return encoder.parent if is_inside else encoder


def model_bytes(model: Any) -> int:
    """Return the size in bytes of a model's weights as packed by the compiled library, or else of its weight files."""
    packed = getattr(model.encoder, "bytes", None)
    return packed or sum(path.stat().st_size for path in Path(model.manifest.encoder).glob("*.safetensors"))


def loader(name: str, kind: Kind, settings: ServeSettings) -> Loader:
    """Return a function that loads a model by name; it uses torch only if the settings ask for it."""

    def load() -> Any:
        from ..model_names import load_named_embedder
        from ..native.scanning import available

        load_named = load_named_embedder if kind == "embedder" else Reranker.load
        engine = settings.engine or ("native" if available() else "numpy")
        model: Any = load_named(name, engine=engine, precision=settings.precision)
        if routes := getattr(model, "routes", ()):  # rerankers have no routes
            about = f"{name} has several routes ({', '.join(routes)})"
            raise BadInput(f"{about}; serve each route under its own name: {name}(route={routes[0]})")
        return model

    return load


def served_name(model: str) -> tuple[str, str]:
    """Split `NAME=MODEL`; if NAME is missing, use the model's own name or the last part of its folder's path."""
    name, equals, path = model.partition("=")
    if not equals or "(" in name or expanded(model).is_dir():  # the = of an option, NAME(pooling=cls), or of a folder
        parts = [model] if expanded(model).is_dir() else re.split(r"([()])", model)
        name, path = "".join(map(_last_part, parts)), model
    if not name or not path:
        raise BadInput(f"{model!r} does not name a model; expected MODEL or NAME=MODEL")
    return name, path


def _last_part(place: str) -> str:
    """Return the last part of a folder's path, and anything else unchanged."""
    return expanded(place).absolute().name if place and expanded(place).is_dir() else place


def loaders(
    models: Sequence[Any] | Mapping[str, Any], kind: Kind, settings: ServeSettings
) -> Iterator[tuple[str, Loader]]:
    """Yield the name and the loader of each model, given as a sequence or as a mapping from names to models."""
    given = models.items() if isinstance(models, Mapping) else ((None, model) for model in models)
    for name, model in given:
        if isinstance(model, str | Path):
            own, path = served_name(str(model))
            yield name or own, loader(path, kind, settings)
        else:
            yield name or model_folder(model).name, partial(_itself, model)


def _itself(model: Any) -> Any:
    return model
