"""Index: searchable vectors with ids, stored in a folder, on a server or in memory."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..array_types import Shaped
from ..embedder import PROMPT_NAMES
from ..engine_registry import INT8, Computation, mixes_int8
from ..errors import BadInput
from ..model_files.names import recorded_model_name
from ..runtime.arguments import known_name
from .records import Content, Records

Opened = TypeVar("Opened", bound="Index")  # typing.Self cannot be checked at run time outside a decorated class


class Match(NamedTuple):
    """A record's id and its cosine with the query."""

    id: str
    score: float


@dataclass(frozen=True)
class ModelIdentity:
    """The model that computed an index's vectors, how it was run, and what input it was given.

    Vectors of different models cannot be compared. Vectors of the same model in fp32, bf16 and fp16 can, whatever the
    engine; int8 vectors differ more, so comparing them with other precisions requires consent (`allow="int8"`).
    """

    name: str
    fingerprint: str
    prompts: tuple[tuple[str, str], ...] = ()
    """The names and texts of the prompts for queries and documents."""
    headings: bool = False
    """Whether titles and headings were embedded before each passage."""
    computed: Computation | None = None
    """None if unknown, or if it was recorded by a version whose fingerprints also covered the computation."""
    former: Callable[[str], Computation | None] = field(default=lambda _: None, compare=False, repr=False)
    """For a loaded model: maps its fingerprints from earlier versions to their computation, and all others to None."""

    @property
    def document_prompt(self) -> str | None:
        """The prompt recorded for documents; None if no prompt was recorded."""
        recorded = dict(self.prompts)
        return next((recorded[name] for name in PROMPT_NAMES["document"] if name in recorded), None)

    def as_json(self) -> dict[str, Any]:
        computed = self.computed._asdict() if self.computed else dict.fromkeys(Computation._fields)
        about = {"name": self.name, "fingerprint": self.fingerprint, "prompts": self.prompts, "headings": self.headings}
        return {**about, **computed}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> "ModelIdentity":
        prompts = tuple((name, text) for name, text in found["prompts"])
        named = recorded_model_name(found["name"]), found["fingerprint"]
        computed = found.get("engine") and Computation(found["engine"], found["precision"], found["arithmetic"])
        return cls(*named, prompts, found.get("headings", False), computed)

    def difference(self, used: "ModelIdentity", allow: str | None = None) -> str:
        """Why this recorded model's vectors cannot be compared with those of `used`; empty if they can.

        Args:
            used: the loaded model whose vectors they would be compared with.
            allow: `"int8"` accepts the difference between int8 and other precisions.
        """
        if allow is not None:
            known_name("allow", allow, (INT8,))
        computed = self.computed
        if self.fingerprint != used.fingerprint:
            computed = None if self.computed else used.former(self.fingerprint)
            if computed is None:
                hint = (
                    ". If it is the same model, load it with the engine and precision that computed the vectors: this "
                    "fingerprint was recorded by an earlier version, whose fingerprints covered both"
                )
                names = f"{self.name} (fingerprint {self.fingerprint[:12]}); got {used.name} ({used.fingerprint[:12]})"
                return (
                    f"vectors of {names}. Vectors of two models cannot be compared: use its own model, or create it "
                    f"again with this one{'' if self.computed else hint}"
                )
        if computed is None or used.computed is None or allow == INT8:
            return ""
        if not mixes_int8(computed.precision, used.computed.precision):
            return ""
        return (
            f"vectors of {self.name} computed by {computed}; got the same model computed by {used.computed}. int8 "
            f"changes vectors more than another engine or precision does: load the model in {computed.precision}, or "
            'accept the difference for searches only (allow="int8"; likewise search --allow int8)'
        )


class Index(ABC):
    """Vectors of one model and one dimension, each with a unique id, compared by cosine.

    Once a call returns, its records are stored and outlive the process. A call stores all of its records or none of
    them. One process writes at a time; others read. `tests/search/conformance.py` checks this for every index.
    """

    location: str
    """Where the index is stored, for messages: a folder, or a server's address and table."""
    dimension: int
    model: ModelIdentity | None
    """The model of the vectors; None if it is unknown, in which case it is not checked."""

    @classmethod
    @abstractmethod
    def create(cls, location: str, dimension: int, model: ModelIdentity | None = None) -> "Index":
        """Create a new, empty index.

        Raises:
            BadInput: the location already contains an index or other data.
        """

    @classmethod
    @abstractmethod
    def open(cls, location: str, *, read_only: bool = False) -> "Index":
        """Open an index that `create` made."""

    @abstractmethod
    def add(self, records: Records) -> None:
        """Store new records.

        Raises:
            BadInput: as for `checked_records`, or an id already exists (`upsert` replaces it).
        """

    @abstractmethod
    def upsert(self, records: Records) -> None:
        """Store records; records with existing ids are replaced, including their texts and metadata."""

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

    def contents(self, ids: Sequence[str]) -> dict[str, Content]:
        """The text and metadata for each id; this default reads vectors too, and subclasses may be faster."""
        found = self.get(ids)
        return dict(zip(found.ids, found.contents, strict=True))

    @abstractmethod
    def records(self, block: int = 1000) -> Iterator[Records]:
        """All records, one block at a time, in an order that only changes when records are written."""

    def ids(self) -> Iterator[str]:
        """The ids of all records, in any order; this default reads `records`, and subclasses may be faster."""
        for block in self.records():
            yield from block.ids

    def ids_beginning(self, beginnings: Sequence[str], exact: Sequence[str] = ()) -> Iterator[str]:
        """The ids that begin with any of `beginnings` or are in `exact`, each once.

        This default reads all ids; subclasses may be faster.
        """
        wanted, lengths, whole = {*beginnings}, {*map(len, beginnings)}, {*exact}
        return (name for name in self.ids() if name in whole or any(name[:length] in wanted for length in lengths))

    @abstractmethod
    def count(self, where: str | None = None) -> int:
        """The number of records, or the number that pass the filter."""

    @abstractmethod
    def close(self) -> None:
        """Release files and connections, as leaving a `with` block does; closing twice is harmless."""

    def check_document_prompt(self, prompt: str | None) -> None:
        """Raise an error if new vectors were computed with a different document prompt; None (unknown) is accepted."""
        recorded = None if self.model is None else self.model.document_prompt
        if recorded is not None and prompt is not None and recorded != prompt:
            raise BadInput(
                f"the texts of {self.location} were embedded with the prompt {recorded!r}, and the new ones with "
                f"{prompt!r}: expected the same prompt for both. likewise encode --prompt embeds with any prompt, "
                "and likewise index copy adds its output to the index"
            )

    def check_headings(self, headings: bool) -> None:
        """Raise an error if new passages would be embedded with headings and stored ones were not, or vice versa."""
        recorded = headings if self.model is None else self.model.headings
        if recorded != headings:
            first, second = ("with", "without") if recorded else ("without", "with")
            raise BadInput(
                f"the passages of {self.location} were embedded {first} their titles and headings, and new ones would "
                f"be embedded {second} them; an index cannot mix the two: use the same setting, or create a new index"
            )

    def check_model(self, model: ModelIdentity, allow: str | None = None) -> None:
        """Raise an error if another model computed the index's vectors, or this model in an incompatible precision.

        Args:
            allow: as in `ModelIdentity.difference`.
        """
        difference = "" if self.model is None else self.model.difference(model, allow)
        if difference:
            raise BadInput(f"{self.location} holds {difference}")

    def __len__(self) -> int:
        return self.count()

    def __enter__(self: Opened) -> Opened:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
