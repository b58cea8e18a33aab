"""CollectionStore: the collections in a folder, opened for reading on first use.

Requests refer to a collection by its folder name, which is looked up among the existing names and never used as a path.
"""

import asyncio
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from copy import copy
from dataclasses import dataclass
from itertools import count as numbers
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

from ..array_types import Float
from ..errors import BadInput, BadModel, LikewiseError, ModelNotFound
from ..migrate.in_place import BESIDE, REPLACED
from ..runtime.cancellation import cancellable
from ..search.collection import Collection, journal
from ..search.index import ModelIdentity
from ..search.texts.text_index import TextIndex, identity_of_embedder, named_model
from .batching import Call, queue_full, settle
from .model_store import ModelStore, ServedModel, loader
from .public_paths import public_model
from .serve_settings import ServeSettings
from .web.api_errors import ApiError

Result = TypeVar("Result")


class ServedIndex(TextIndex):
    """A collection whose queries are embedded through the model's queue before the search."""

    _known: Float[np.ndarray, "Q E"] | None = None

    def __init__(self, collection: Collection, model: Any, allow: str | None) -> None:
        super().__init__(collection, model, allow=allow)
        del self.embedder, self._identity  # otherwise a replaced or unloaded model would stay in memory

    def for_query(self, vectors: Float[np.ndarray, "1 E"]) -> "ServedIndex":
        """Return a copy of this index for one search, given the query's vector."""
        one = copy(self)
        one._known = vectors
        return one

    def query_vectors(self, queries: Sequence[str]) -> Float[np.ndarray, "Q E"]:  # noqa: ARG002, as in TextIndex
        assert self._known is not None
        return self._known


class CollectionThread:
    """A thread that reads one collection, so that a slow collection does not delay others; use it on the event loop.

    It runs one function at a time, and stops a function whose client has disconnected. As a daemon thread, it never
    keeps the process alive.
    """

    def __init__(self, name: str, max_requests: int) -> None:
        self._max_requests, self._waiting = max_requests, 0
        self._calls: SimpleQueue[Call | Callable[[], None] | None] = SimpleQueue()
        loop = asyncio.get_running_loop()
        threading.Thread(target=_run, args=(self._calls, loop), name=f"collection {name}", daemon=True).start()

    async def compute(self, function: Callable[[], Result]) -> Result:
        """Run a function and return its result; cancelling stops the function at its next `check_cancelled`."""
        if self._waiting >= self._max_requests:
            raise queue_full(1.0)
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting += 1
        self._calls.put(Call(function, future))
        try:
            return await future
        finally:
            self._waiting -= 1

    def end(self, last: Callable[[], None] | None) -> None:
        """End the thread after the waiting calls, followed by a call of `last` unless it is None."""
        self._calls.put(last)


def _run(calls: "SimpleQueue[Call | Callable[[], None] | None]", loop: asyncio.AbstractEventLoop) -> None:
    while isinstance(call := calls.get(), Call):
        with cancellable(call.future.cancelled):
            call.compute()
        with suppress(RuntimeError):  # the event loop is closed, so no client is waiting
            loop.call_soon_threadsafe(settle, call)
        del call  # it may refer to a large result
    if call is not None:
        call()


@dataclass(frozen=True, eq=False)
class OpenCollection:
    """An open collection and the model whose vectors it stores."""

    name: str
    number: int
    """A new number each time a collection is opened."""
    collection: Collection
    texts: ServedIndex
    model: ServedModel
    generation: int
    """The model's generation when its fingerprint was compared with the collection's."""
    state: tuple[int, int]
    """The device and inode numbers of the collection's journal file."""
    thread: CollectionThread

    def is_current(self, state: tuple[int, int]) -> bool:
        """Whether the collection's file and model are still the ones it was opened with."""
        return (self.state, self.generation) == (state, self.model.generation) and self.model.thread is not None


class CollectionStore:
    """The collections of a server; call all methods on the event loop."""

    MAPS_KEPT = 8

    def __init__(self, folder: Path | None, models: ModelStore, settings: ServeSettings) -> None:
        self._folder, self._models, self._settings = folder, models, settings
        self._open: dict[str, OpenCollection] = {}
        self._openings: dict[str, asyncio.Task[None]] = {}
        self._own_models: dict[str, str] = {}
        self._numbers = numbers()
        self.maps: dict[tuple[Any, ...], dict[str, Any]] = {}
        """The most recently computed maps, keyed by the collection's state and the map's parameters."""
        self.map_progress: dict[str, float] = {}
        """For each collection, the finished fraction of the map that is being computed."""
        self.one_map = asyncio.Lock()
        """Held while a map is computed, so that only one runs at a time."""

    def names(self) -> list[str]:
        """Return the folder names of the existing collections."""
        return [] if self._folder is None or not self._folder.is_dir() else collections_in(self._folder)

    async def opened(self, name: str) -> OpenCollection:
        """Open a collection by name and load its model; returns immediately if this has already been done."""
        while True:
            state, found = self._state(name), self._open.get(name)
            if found is not None and found.is_current(state):
                await self._models.load(found.model)
                return found
            found = None  # otherwise the traceback of an error would keep the old collection open
            if name not in self._openings:
                self._openings[name] = asyncio.ensure_future(self._open_again(name, state))
                self._openings[name].add_done_callback(lambda task: self._opening_ended(name, task))
            await asyncio.shield(self._openings[name])  # other requests may be waiting for the same collection

    def _state(self, name: str) -> tuple[int, int]:
        """Return the identity of a collection's journal file, from which a replaced folder is detected."""
        if self._folder is None or name not in self.names():
            known = ", ".join(self.names()) or "none"
            raise ApiError(
                "not_found", f"there is no collection {name[:80]!r}; existing collections: {known}", param="collection"
            )
        found = (self._folder / name / journal.FILE).stat()
        return found.st_dev, found.st_ino

    def _opening_ended(self, name: str, task: "asyncio.Task[None]") -> None:
        del self._openings[name]
        if not task.cancelled():
            task.exception()  # mark the exception as retrieved: the client may be gone

    async def described(self, name: str) -> dict[str, Any]:
        """Return a collection's name, size, columns and model, or an error message if it cannot be opened."""
        try:
            found = await self.opened(name)
            count = await found.thread.compute(found.collection.count)
            columns = await found.thread.compute(found.collection.columns)
        except (ApiError, LikewiseError) as error:
            return {"name": name, "error": self.message(error, name)}
        recorded = found.collection.model
        assert recorded is not None
        return {
            "name": name,
            "count": count,
            "columns": columns,
            "dimension": found.collection.dimension,
            "model": public_model(recorded.name),
            "fingerprint": recorded.fingerprint,
            "computed": recorded.computed and str(recorded.computed),
        }

    def folder_of(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / name

    def message(self, error: BaseException, name: str) -> str:
        """Return an error's message with the collection's name in place of its path."""
        return str(error).replace(str(self.folder_of(name)), name)

    def close(self) -> None:
        """Close all open collections, each as soon as its searches have ended."""
        self._open.clear()

    async def _open_again(self, name: str, state: tuple[int, int]) -> None:
        """Open a collection; if one with the same name is already open, it is closed after its last search."""
        self._open.pop(name, None)
        thread = CollectionThread(name, self._settings.max_requests)
        close: Callable[[], None] | None = None
        try:
            folder = str(self.folder_of(name))
            collection = await thread.compute(lambda: Collection.open(folder, read_only=True))
            close = collection.close
            with ExitStack() as uses:
                model, generation = await self._model_of(name, collection, uses)
                texts = await thread.compute(lambda: ServedIndex(collection, model.model, self._settings.allow))
                model.used = time.monotonic()  # keeps it loaded until the waiting requests hold it
        except BaseException as error:
            thread.end(close)
            if isinstance(error, BadInput):
                raise ApiError("invalid", self.message(error, name)) from None
            raise
        number = next(self._numbers)
        found = OpenCollection(name, number, collection, texts, model, generation, state, thread)
        weakref.finalize(found, thread.end, close)
        self._open[name] = found

    async def _model_of(self, name: str, collection: Collection, uses: ExitStack) -> tuple[ServedModel, int]:
        """Return the model of a collection's vectors and its generation; compared models stay loaded during `uses`.

        If no served model matches, the model that the collection records is loaded.
        """
        recorded = named_model(collection)
        assert collection.model is not None
        shown = public_model(recorded)
        served_now = [one for one in self._models if one.kind == "embedder" and one.thread is not None]
        for served in served_now:
            uses.enter_context(served.in_use())
        for allow in dict.fromkeys([None, self._settings.allow]):  # first the models that match without `allow`
            for served in served_now:
                generation = served.generation
                if await _computes(served, collection.model, allow):
                    return served, generation
        if recorded not in self._own_models:  # otherwise all served models have already been compared
            found = await self._not_loaded_yet(collection.model, uses)
            if found is not None:
                return found
        served = self._models.named(self._own_model(recorded), "embedder")
        uses.enter_context(served.in_use())
        try:
            await self._models.load(served)
        except ModelNotFound:
            about = f"{name} contains vectors of {shown}, but this server cannot find that model"
            raise ApiError("model_not_found", about, param="collection") from None
        generation = served.generation
        if not await _computes(served, collection.model, self._settings.allow):
            about = (
                f"{name} contains vectors of an earlier version of {shown}, which are not comparable with current ones"
            )
            how = "migrate the collection (likewise index migrate), or serve the earlier version"
            raise ApiError("other_model", f"{about}: {how}", param="collection")
        return served, generation

    async def _not_loaded_yet(self, recorded: ModelIdentity, uses: ExitStack) -> tuple[ServedModel, int] | None:
        """Like `_model_of`, but load and compare the served models that are not loaded; skip models that fail."""
        others = [one for one in self._models if one.kind == "embedder" and one.thread is None]
        for served in [one for one in others if one.name not in self._own_models.values()]:
            with ExitStack() as use, suppress(LikewiseError):
                use.enter_context(served.in_use())
                await self._models.load(served)
                generation = served.generation
                if await _computes(served, recorded, self._settings.allow):
                    uses.enter_context(use.pop_all())
                    return served, generation
        return None

    def _own_model(self, recorded: str) -> str:
        """Return the name under which the model that a collection records is served."""
        if recorded not in self._own_models:
            shown, taken = public_model(recorded), {served.name for served in self._models}
            names = (f"{shown}{f' {n}' if n > 1 else ''} (for collections)" for n in numbers(1))
            name = self._own_models[recorded] = next(name for name in names if name not in taken)
            own = ServeSettings(engine=self._settings.engine)
            self._models.add(name, "embedder", loader(recorded, "embedder", own))
        return self._own_models[recorded]


def collections_in(folder: Path) -> list[str]:
    """Return the names of the collections in a folder."""
    others = (BESIDE, REPLACED)  # left by an incomplete migration
    return sorted(path.name for path in folder.iterdir() if _is_collection(path) and path.suffix not in others)


def _is_collection(folder: Path) -> bool:
    try:
        return (folder / journal.FILE).is_file()
    except PermissionError:  # the folder belongs to another user, such as lost+found
        return False


async def _computes(served: ServedModel, recorded: ModelIdentity, allow: str | None) -> bool:
    """Whether a loaded model's vectors can be compared with those of a collection.

    They cannot if the model's folder has changed since it was loaded, because its fingerprint is then unknown.
    """
    model = served.model
    try:
        fingerprint = await served.fingerprint()
        used = identity_of_embedder(model, served.name, fingerprint=fingerprint)
        return not await asyncio.to_thread(recorded.difference, used, allow)
    except BadModel:
        return False
