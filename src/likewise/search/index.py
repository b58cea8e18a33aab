"""Index: vectors under ids that can be searched, whatever keeps them: a folder, a server, memory."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from types import TracebackType
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
    """Which model computed an index's vectors, and from what: vectors of two models cannot be compared."""

    name: str
    fingerprint: str
    prompts: tuple[tuple[str, str], ...] = ()
    """Names and texts of the prompts that queries and documents are given."""
    headings: bool = False
    """Whether passages were embedded behind their titles and headings."""

    def as_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> "ModelIdentity":
        """The identity that `as_json` described."""
        prompts = tuple((name, text) for name, text in found["prompts"])
        return cls(recorded_model_name(found["name"]), found["fingerprint"], prompts, found.get("headings", False))


class Index(ABC):
    """Vectors of one model and one dimension, each under an id that occurs once, compared by cosine.

    What a call has returned for is stored: it survives the process. All of a call's records are stored, or none. One
    process writes at a time; others read. `tests/search/conformance.py` holds every index to this.
    """

    location: str
    """Where it is kept, in words for messages: a folder, a server's address and table."""
    dimension: int
    model: ModelIdentity | None
    """None: vectors of unknown origin; nothing is checked."""

    @classmethod
    @abstractmethod
    def create(cls, location: str, dimension: int, model: ModelIdentity | None = None) -> "Index":
        """Make a new, empty index.

        Raises:
            BadInput: there is one already, or something else.
        """

    @classmethod
    @abstractmethod
    def open(cls, location: str, *, read_only: bool = False) -> "Index":
        """Open an index that was made by `create`.

        Raises:
            BadInput: there is none.
        """

    @abstractmethod
    def add(self, records: Records) -> None:
        """Store new records.

        Raises:
            BadInput: as `checked_records`; or an id is there already (`upsert` replaces it).
        """

    @abstractmethod
    def upsert(self, records: Records) -> None:
        """Store records; those whose ids are there already are replaced, with their texts and metadata."""

    @abstractmethod
    def delete(self, ids: Sequence[str]) -> int:
        """Delete the records with these ids, and return how many there were; unknown ids are no error."""

    @abstractmethod
    def search(self, queries: Shaped[np.ndarray, "Q E"], k: int = 10, where: str | None = None) -> list[list[Match]]:
        """For each query the k records of greatest cosine, best first; fewer where fewer pass the filter.

        Raises:
            BadInput: queries of another dimension or not finite; a filter that cannot be read, or names a column that
                no record has (`likewise.search.filters` has the language).
        """

    def search_words(self, query: str, k: int = 10, where: str | None = None) -> list[Match]:  # noqa: ARG002
        """The k records that match the words of a query best, where an index can find them by words.

        Raises:
            BadInput: it cannot.
        """
        raise BadInput(f"{self.location} has no search by words, which hybrid search needs; a collection has")

    def one_state(self) -> AbstractContextManager[Any]:
        """A block whose searches and reads see one state, whatever others write meanwhile, where an index can."""
        return nullcontext()

    @abstractmethod
    def get(self, ids: Sequence[str]) -> Records:
        """The records with these ids, in the order given, vectors as they are stored (in float32).

        Raises:
            BadInput: an id is not there.
        """

    @abstractmethod
    def records(self, block: int = 1000) -> Iterator[Records]:
        """All records, a block at a time, in an order that stays the same while nothing is written."""

    def ids(self) -> Iterator[str]:
        """The ids of all records, in no particular order; here from `records`, and faster where an index can."""
        for block in self.records():
            yield from block.ids

    def ids_beginning(self, beginnings: Sequence[str]) -> Iterator[str]:
        """The ids that begin with any of these; here from all ids, and faster where an index can."""
        wanted, lengths = {*beginnings}, {*map(len, beginnings)}
        return (name for name in self.ids() if any(name[:length] in wanted for length in lengths))

    @abstractmethod
    def count(self, where: str | None = None) -> int:
        """How many records there are, or how many pass the filter."""

    @abstractmethod
    def close(self) -> None:
        """Release files and connections; closing twice is no error."""

    def check_model(self, model: ModelIdentity) -> None:
        """Refuse a model that did not compute this index's vectors.

        Raises:
            BadInput: names both models.
        """
        if self.model is not None and self.model.fingerprint != model.fingerprint:
            raise BadInput(
                f"{self.location} holds vectors of {self.model.name} (fingerprint {self.model.fingerprint[:12]}); got "
                f"{model.name} ({model.fingerprint[:12]}). Vectors of two models cannot be compared: open it with its "
                "own model, or make a new index"
            )

    def __len__(self) -> int:
        """How many records there are."""
        return self.count()

    def __enter__(self: Opened) -> Opened:
        """The index itself; leaving the block closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()
