"""CollectionStore: the collections in a folder, opened for reading when they are first asked for.

A request names a collection by the name of its folder among those that are there; it is never made into a path.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from ..errors import LikewiseError
from ..search.collection import Collection
from ..search.collection.storage import journal
from ..search.texts.text_index import TextIndex, named_model
from .batching.model_store import ModelStore, ServedModel, embedder_loader
from .batching.model_thread import QueueFull
from .serve_settings import ServeSettings
from .web.api_errors import ApiError

Result = TypeVar("Result")
THREADS = 2
"""That search; the scan of a collection uses as many as the engine."""
FOR_COLLECTIONS = " (for collections)"
"""Ends the name of a model that is loaded because a collection needs it."""


class ServedIndex(TextIndex):
    """A collection whose questions are computed in their model's queue, before they are searched for."""

    _known: Float[np.ndarray, "Q E"] | None = None

    def for_query(self, vectors: Float[np.ndarray, "1 E"]) -> "ServedIndex":
        """The same index for one search, by the vector of its question."""
        one = copy(self)
        one._known = vectors
        return one

    def query_vectors(self, queries: Sequence[str]) -> Float[np.ndarray, "Q E"]:
        """Those that `for_query` was given.

        Raises:
            ValueError: they are not as many as the queries.
        """
        if self._known is None or len(self._known) != len(queries):
            raise ValueError(f"{len(queries)} queries are searched for; expected their vectors by for_query before")
        return self._known


class OpenCollection(NamedTuple):
    """A collection and the model of its vectors."""

    name: str
    texts: ServedIndex
    model: ServedModel
    state: tuple[int, int]
    """Device and number of its journal's file."""

    @property
    def collection(self) -> Collection:
        """The collection itself."""
        assert isinstance(self.texts.index, Collection)
        return self.texts.index


class CollectionStore:
    """The collections of a server; all methods are for the event loop."""

    MAPS_KEPT = 8

    def __init__(self, folder: Path | None, models: ModelStore, settings: ServeSettings) -> None:
        self._folder, self._models, self._settings = folder, models, settings
        self._open: dict[str, OpenCollection] = {}
        self._fingerprints: dict[str, str] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="search")
        self._busy = 0
        self.maps: dict[tuple[Any, ...], dict[str, Any]] = {}
        """The last maps that were computed."""
        self.one_map = asyncio.Lock()
        """Held while a map is computed, so that there is one at a time: the store's other thread goes on searching."""

    def names(self) -> list[str]:
        """The collections that there are, by the names of their folders."""
        if self._folder is None:
            return []
        return sorted(path.name for path in self._folder.iterdir() if (path / journal.FILE).is_file())

    async def opened(self, name: str) -> OpenCollection:
        """A collection by its name, open, its model loaded.

        Raises:
            ApiError: there is none of this name.
            LikewiseError: its model cannot be loaded.
        """
        state = self._state(name)
        async with self._locks.setdefault(name, asyncio.Lock()):
            found = self._open.get(name)
            if found is None or found.state != state:  # a new one, or another in its place
                found = self._open[name] = await self._opening(name, state)
        await self._models.loaded(found.model.name, "embedder")
        return found

    def _state(self, name: str) -> tuple[int, int]:
        """Which file a collection's journal is, to see when the folder was replaced."""
        if self._folder is None or name not in self.names():
            known = ", ".join(self.names()) or "none"
            raise ApiError("not_found", f"there is no collection {name[:80]!r}; there are {known}", param="collection")
        found = (self._folder / name / journal.FILE).stat()
        return found.st_dev, found.st_ino

    async def described(self, name: str) -> dict[str, Any]:
        """Name, size and model of a collection; an error in its place where it cannot be opened."""
        try:
            found = await self.opened(name)
            count = await self.compute(found.collection.count)
        except LikewiseError as error:
            return {"name": name, "error": self.message(error, name)}
        recorded = found.collection.model
        return {
            "name": name,
            "count": count,
            "width": found.collection.width,
            "model": recorded.name if recorded else None,
            "fingerprint": recorded.fingerprint if recorded else None,
        }

    async def compute(self, function: Callable[[], Result]) -> Result:
        """The result of a function that reads collections, on one of the store's threads.

        Raises:
            QueueFull: too many are waiting.
        """
        if self._busy >= self._settings.max_requests:
            raise QueueFull(1.0)
        self._busy += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, function)
        finally:
            self._busy -= 1

    def folder_of(self, name: str) -> Path:
        """Where one of the collections lies."""
        assert self._folder is not None
        return self._folder / name

    def message(self, error: BaseException, name: str) -> str:
        """What an error says, with a collection's name in place of where it lies."""
        return str(error).replace(str(self.folder_of(name)), name)

    def close(self) -> None:
        """Close what is open."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for found in self._open.values():
            found.texts.close()

    async def _opening(self, name: str, state: tuple[int, int]) -> OpenCollection:
        collection = await asyncio.to_thread(Collection.open, str(self.folder_of(name)), read_only=True)
        try:
            served = await self._model_of(collection)
            index = await asyncio.to_thread(ServedIndex, collection, served.model)
        except BaseException:
            collection.close()
            raise
        return OpenCollection(name, index, served, state)

    async def _model_of(self, collection: Collection) -> ServedModel:
        """The served model that a collection's vectors are from, or its own, loaded besides."""
        wanted = None if collection.model is None else collection.model.fingerprint
        for served in [one for one in self._models if one.kind == "embedder" and one.thread is not None]:
            if await self._fingerprint(served) == wanted:
                return served
        recorded = named_model(collection)
        name = recorded + FOR_COLLECTIONS
        if all(served.name != name for served in self._models):
            own = ServeSettings(engine=self._settings.engine)
            self._models.add(name, "embedder", embedder_loader(recorded, own))
        return await self._models.loaded(name, "embedder")

    async def _fingerprint(self, served: ServedModel) -> str:
        if served.name not in self._fingerprints:
            self._fingerprints[served.name] = await asyncio.to_thread(lambda: str(served.model.fingerprint))
        return self._fingerprints[served.name]
