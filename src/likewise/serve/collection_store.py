"""CollectionStore: the collections in a folder, opened for reading when they are first asked for.

A request names a collection by the name of its folder among those that are there; it is never made into a path.
"""

import asyncio
import weakref
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import count as numbers
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import BadInput, BadModel, LikewiseError, ModelNotFound
from ..search.collection import Collection, journal
from ..search.texts.text_index import TextIndex, named_model
from .batching.model_store import ModelStore, ServedModel, embedder_loader
from .collection_thread import CollectionThread
from .public_paths import public_model
from .serve_settings import ServeSettings
from .web.api_errors import ApiError

FOR_COLLECTIONS = " (for collections)"
"""Ends the name of a model that is loaded because a collection needs it."""


class ServedIndex(TextIndex):
    """A collection whose questions are computed in their model's queue, before they are searched for."""

    _known: Float[np.ndarray, "Q E"] | None = None

    def __init__(self, collection: Collection, model: Any) -> None:
        super().__init__(collection, model)
        del self.embedder  # else a model that was replaced or unloaded would stay in memory

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


@dataclass(frozen=True, eq=False)
class OpenCollection:
    """A collection and the model of its vectors."""

    name: str
    number: int
    """Another one each time a collection is opened."""
    texts: ServedIndex
    model: ServedModel
    generation: int
    """Of the model, when its fingerprint was compared with the collection's."""
    state: tuple[int, int]
    """Device and number of its journal's file."""
    thread: CollectionThread

    @property
    def collection(self) -> Collection:
        """The collection itself."""
        assert isinstance(self.texts.index, Collection)
        return self.texts.index

    def is_current(self, state: tuple[int, int]) -> bool:
        """Whether its file is still the one in this state, and its model the one that it was compared with."""
        return (self.state, self.generation) == (state, self.model.generation) and self.model.thread is not None


class CollectionStore:
    """The collections of a server; all methods are for the event loop."""

    MAPS_KEPT = 8

    def __init__(self, folder: Path | None, models: ModelStore, settings: ServeSettings) -> None:
        self._folder, self._models, self._settings = folder, models, settings
        self._open: dict[str, OpenCollection] = {}
        self._openings: dict[str, asyncio.Task[None]] = {}
        self._own_models: dict[str, str] = {}
        self._numbers = numbers()
        self.maps: dict[tuple[Any, ...], dict[str, Any]] = {}
        """The last maps that were computed, by what they depend on."""
        self.one_map = asyncio.Lock()
        """Held while a map is computed, so that there is one at a time."""

    def names(self) -> list[str]:
        """The collections that there are, by the names of their folders."""
        if self._folder is None:
            return []
        return sorted(path.name for path in self._folder.iterdir() if (path / journal.FILE).is_file())

    async def opened(self, name: str) -> OpenCollection:
        """A collection by its name, open, its model loaded; nothing is awaited if it is.

        Raises:
            ApiError: there is none of this name, or the model of its vectors is not served.
            LikewiseError: its model cannot be loaded.
        """
        while True:
            state, found = self._state(name), self._open.get(name)
            if found is not None and found.is_current(state):
                await self._models.loaded(found.model.name, "embedder")
                return found
            if name not in self._openings:
                self._openings[name] = asyncio.ensure_future(self._open_again(name, state))
                self._openings[name].add_done_callback(lambda task: self._opening_ended(name, task))
            await asyncio.shield(self._openings[name])  # others may wait for it too

    def _state(self, name: str) -> tuple[int, int]:
        """Which file a collection's journal is, to see when the folder was replaced."""
        if self._folder is None or name not in self.names():
            known = ", ".join(self.names()) or "none"
            raise ApiError("not_found", f"there is no collection {name[:80]!r}; there are {known}", param="collection")
        found = (self._folder / name / journal.FILE).stat()
        return found.st_dev, found.st_ino

    def _opening_ended(self, name: str, task: "asyncio.Task[None]") -> None:
        del self._openings[name]
        if not task.cancelled():
            task.exception()  # nobody may be left to whom it could be reported

    async def described(self, name: str) -> dict[str, Any]:
        """Name, size and model of a collection; an error in its place where it cannot be opened."""
        try:
            found = await self.opened(name)
            count = await found.thread.compute(found.collection.count)
        except (ApiError, LikewiseError) as error:
            return {"name": name, "error": self.message(error, name)}
        recorded = found.collection.model
        return {
            "name": name,
            "count": count,
            "dimension": found.collection.dimension,
            "model": recorded and public_model(recorded.name),
            "fingerprint": recorded and recorded.fingerprint,
        }

    def folder_of(self, name: str) -> Path:
        """Where one of the collections lies."""
        assert self._folder is not None
        return self._folder / name

    def message(self, error: BaseException, name: str) -> str:
        """What an error says, with a collection's name in place of where it lies."""
        return str(error).replace(str(self.folder_of(name)), name)

    def close(self) -> None:
        """Close what is open, as soon as nobody searches it any more."""
        self._open.clear()

    async def _open_again(self, name: str, state: tuple[int, int]) -> None:
        """Open a collection; one of the same name that is open is closed when its last search has ended."""
        self._open.pop(name, None)
        thread = CollectionThread(name, self._settings.max_requests)
        close = _nothing
        try:
            folder = str(self.folder_of(name))
            collection = await thread.compute(lambda: Collection.open(folder, read_only=True))
            close = collection.close
            model, generation = await self._model_of(name, collection)
            texts = await thread.compute(lambda: ServedIndex(collection, model.model))
        except BaseException as error:
            thread.end(close)
            if isinstance(error, BadInput):
                raise ApiError("invalid", self.message(error, name)) from None
            raise
        found = OpenCollection(name, next(self._numbers), texts, model, generation, state, thread)
        weakref.finalize(found, thread.end, close)
        self._open[name] = found

    async def _model_of(self, name: str, collection: Collection) -> tuple[ServedModel, int]:
        """The served model that a collection's vectors are from, or its own, loaded besides; and its generation.

        Raises:
            ApiError: the model that the collection names is gone, or is another one now.
        """
        recorded = named_model(collection)
        assert collection.model is not None
        wanted, shown = collection.model.fingerprint, public_model(recorded)
        for served in [one for one in self._models if one.kind == "embedder" and one.thread is not None]:
            generation = served.generation
            if await _fingerprint(served) == wanted:
                return served, generation
        try:
            served = await self._models.loaded(self._own_model(recorded), "embedder")
        except ModelNotFound:
            about = f"{name} holds vectors of {shown}, and this server does not find that model"
            raise ApiError("model_not_found", about, param="collection") from None
        generation = served.generation
        if await _fingerprint(served) != wanted:
            about = (
                f"{name} holds vectors of {shown} as it was; {shown} is another model now, and vectors of two models "
                "cannot be compared: migrate the collection (likewise index migrate), or serve the former model"
            )
            raise ApiError("other_model", about, param="collection")
        return served, generation

    def _own_model(self, recorded: str) -> str:
        """The name under which a model that collections record is served."""
        if recorded not in self._own_models:
            shown, taken = public_model(recorded), {served.name for served in self._models}
            names = (f"{shown}{f' {n}' if n > 1 else ''}{FOR_COLLECTIONS}" for n in numbers(1))
            name = self._own_models[recorded] = next(name for name in names if name not in taken)
            own = ServeSettings(engine=self._settings.engine)
            self._models.add(name, "embedder", embedder_loader(recorded, own))
        return self._own_models[recorded]


async def _fingerprint(served: ServedModel) -> str | None:
    """A loaded model's fingerprint; None if its folder has changed since, because it can no longer be computed."""
    try:
        return await served.fingerprint()
    except BadModel:
        return None


def _nothing() -> None:
    """Nothing to close."""
