"""A ranking of a collection's documents for each query: in memory, and as TREC run files.

    QUERY Q0 DOCUMENT RANK SCORE NAME        one line per document; NAME is the name of the system

Documents are sorted as in trec_eval: by score in single precision, with ties broken by document id (the later id
first). Other tools therefore compute the same metrics from a run file written here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ..array_types import Float, Int
from ..errors import BadInput
from ..runtime.atomic_files import atomic_file
from .collection import JudgedCollection, trec_fields
from .task import Score

METRICS = ("ndcg@10", "map@100", "mrr@10", "recall@10", "recall@100", "precision@10")


@dataclass(frozen=True)
class Rankings:
    """For each of Q queries, the rows of the documents found, best first, and their scores.

    `seconds` holds the time of each query, if it was measured.
    """

    collection: JudgedCollection
    rows: tuple[Int[np.ndarray, " _"], ...]
    scores: tuple[Float[np.ndarray, " _"], ...]
    seconds: tuple[float, ...] = ()

    @classmethod
    def of(
        cls,
        collection: JudgedCollection,
        found: Iterable[tuple[Int[np.ndarray, " _"], Float[np.ndarray, " _"]]],
        seconds: Sequence[float] = (),
        *,
        most: int | None = None,
    ) -> "Rankings":
        """Sort the rows and scores found for each query, remove the query's own row, and keep the best `most`."""
        later, own = collection.later_ids, collection.own_rows
        rows, scores = [], []
        for query, (row, score) in enumerate(found):
            one, by = np.asarray(row, np.int64), np.asarray(score, np.float32)
            order = np.lexsort((later[one], -by))
            order = order[one[order] != own.get(query, -1)][:most]
            rows.append(one[order])
            scores.append(by[order])
        return cls(collection, tuple(rows), tuple(scores), tuple(seconds))

    @property
    def median_seconds(self) -> float | None:
        """The median time per query; None if it was not measured, as for a run file."""
        return float(np.median(self.seconds)) if self.seconds else None

    @cached_property
    def by_query(self) -> Mapping[str, Float[np.ndarray, " Q"]]:
        """The value of each of METRICS for each query, in the order of the collection's queries."""
        return {score.name: score.evidence.values for score in self.metrics if score.evidence}

    @cached_property
    def metrics(self) -> tuple[Score, ...]:
        """The mean of each of METRICS over the queries, with the value of each query as evidence."""
        return tuple(self.collection.judged.scores(self.rows, METRICS))

    def write(self, path: Path, name: str) -> None:
        """Write a TREC run file; it is renamed into place once complete."""
        label, ids = "_".join(name.split()) or "run", self.collection.ids
        with atomic_file(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
            for query, rows, scores in zip(self.collection.query_ids, self.rows, self.scores, strict=True):
                file.writelines(
                    f"{query} Q0 {ids[row]} {rank} {score:.9g} {label}\n"
                    for rank, (row, score) in enumerate(zip(rows, scores, strict=True), 1)
                )


def read_run(path: Path, collection: JudgedCollection) -> Rankings:
    """Read a TREC run file; ranks are ignored, as in trec_eval, and queries missing from it get no documents."""
    found: dict[str, dict[int, float]] = {query: {} for query in collection.query_ids}
    for place, (query, _, document, _, written, _) in trec_fields(path, 6, "query Q0 document rank score name"):
        score = _score(written, path, place)
        if document not in collection.rows:
            raise BadInput(f"{path}, {place}: the document {document!r} is not in the corpus")
        of_query = found.get(query)
        if of_query is None:
            continue  # a query without judgements
        if collection.rows[document] in of_query:
            raise BadInput(f"{path}, {place}: the document {document!r} is already ranked for query {query!r}")
        of_query[collection.rows[document]] = score
    if not any(found.values()):
        raise BadInput(f"{path} ranks no document for any of the {len(found):,} judged queries; does it use other ids?")
    pairs = (
        (np.fromiter(one, np.int64, len(one)), np.fromiter(one.values(), float, len(one))) for one in found.values()
    )
    return Rankings.of(collection, pairs)


def _score(written: str, path: Path, place: str) -> float:
    try:
        with np.errstate(over="ignore"):  # too large for single precision: reported below
            score = float(np.float32(written))
    except ValueError:
        score = float("nan")
    if not np.isfinite(score):
        raise BadInput(f"{path}, {place}: the score is {written!r}; expected a finite number")
    return score
