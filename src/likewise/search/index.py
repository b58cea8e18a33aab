"""Index: searchable vectors with ids, stored in a folder, on a server or in memory."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Shaped

from ..errors import BadInput
from ..model_files.names import recorded_model_name
from .records import Records

Opened = TypeVar("Opened", bound="Index")  # typing.Self cannot be checked at run time outside a decorated class


class Match(NamedTuple):
    """An id and its cosine with the query."""

    id: str
    score: float


@dataclass(frozen=True)
class ModelIdentity:
    """The model of an index's vectors, and how it was used: vectors from two models cannot be compared."""

    name: str
    fingerprint: str
    prompts: tuple[tuple[str, str], ...] = ()
    """The names and texts of the prompts for queries and documents."""
    headings: bool = False
    """Whether titles and headings were embedded before each passage."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> "ModelIdentity":
        prompts = tuple((name, text) for name, text in found["prompts"])
        return cls(recorded_model_name(found["name"]), found["fingerprint"], prompts, found.get("headings", False))


class Index(ABC):
    """Vectors of one model and one dimension, each with a unique id, compared by cosine.

    Once a call returns, its records are stored and outlive the process. A call stores all of its records or none of
    them. One process writes at a time; others read. `tests/search/conformance.py` checks this for every index.
    """

    location: str
    """Where the index is stored, for messages: a folder, or a server's address and table."""
    dimension: int
    model: ModelIdentity | None
    """The model of the vectors; None if it is unknown, and then nothing is checked."""

    @classmethod
    @abstractmethod
    def create(cls, location: str, dimension: int, model: ModelIdentity | None = None) -> "Index":
        """Create a new, empty index.

        Raises:
            BadInput: the location already has an index or something else.
        """

    @classmethod
    @abstractmethod
    def open(cls, location: str, *, read_only: bool = False) -> "Index":
        """Open an index that was made by `create`."""

    @abstractmethod
    def add(self, records: Records) -> None:
        """Store new records.

        Raises:
            BadInput: as `checked_records`, or an id already exists (`upsert` replaces it).
        """

    @abstractmethod
    def upsert(self, records: Records) -> None:
        """Store records; records with existing ids are replaced, with their texts and metadata."""

    @abstractmethod
    def delete(self, ids: Sequence[str]) -> int:
        """Delete the records with these ids and return how many there were; unknown ids are ignored."""

    @abstractmethod
    def search(self, queries: Shaped[np.ndarray, "Q E"], k: int = 10, where: str | None = None) -> list[list[Match]]:
        """For each query, the k records with the greatest cosine, best first; fewer if fewer pass the filter.

        Raises:
            BadInput: the queries have the wrong dimension or are not finite; the filter cannot be parsed or names a
                column that no record has (`likewise.search.filters` describes the language).
        """

    def search_words(self, query: str, k: int = 10, where: str | None = None) -> list[Match]:  # noqa: ARG002
        """The k records that best match the words of a query, if the index supports search by words."""
        raise BadInput(f"{self.location} cannot search by words, which hybrid search needs; a collection can")

    def one_state(self) -> AbstractContextManager[Any]:
        """A `with` block whose reads all see the same state despite concurrent writes, if the index supports that."""
        return nullcontext()

    @abstractmethod
    def get(self, ids: Sequence[str]) -> Records:
        """The records with these ids, in the given order, with the stored vectors (as float32)."""

    @abstractmethod
    def records(self, block: int = 1000) -> Iterator[Records]:
        """All records, one block at a time, in an order that only changes when records are written."""

    def ids(self) -> Iterator[str]:
        """The ids of all records, in any order; this default reads `records`, and subclasses may be faster."""
        for block in self.records():
            yield from block.ids

    def ids_beginning(self, beginnings: Sequence[str]) -> Iterator[str]:
        """The ids that begin with any of these; this default reads all ids, and subclasses may be faster."""
        wanted, lengths = {*beginnings}, {*map(len, beginnings)}
        return (name for name in self.ids() if any(name[:length] in wanted for length in lengths))

    @abstractmethod
    def count(self, where: str | None = None) -> int:
        """The number of records, or the number that pass the filter."""

    @abstractmethod
    def close(self) -> None:
        """Release files and connections, as leaving a `with` block does; closing twice is harmless."""

    def check_model(self, model: ModelIdentity) -> None:
        """Raise an error if the vectors of this index come from a different model."""
        if self.model is not None and self.model.fingerprint != model.fingerprint:
            raise BadInput(
                f"{self.location} holds vectors of {self.model.name} (fingerprint {self.model.fingerprint[:12]}); got "
                f"{model.name} ({model.fingerprint[:12]}). Vectors of two models cannot be compared: open it with its "
                "own model, or create a new index"
            )

    def __len__(self) -> int:
        return self.count()

    def __enter__(self: Opened) -> Opened:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
