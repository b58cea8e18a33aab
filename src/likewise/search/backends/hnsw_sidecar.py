"""An approximate index (faiss HNSW) that supplements an exact one, and is rebuilt when the records have changed.

    build_sidecar(index, folder, mark="generation 7")
    sidecar = open_sidecar(folder, mark="generation 7")  # None if missing, damaged or from another generation
    sidecar.search(index, queries, k=10)

`mark` is a label that the caller changes whenever the records change. The sidecar proposes candidates from int8 rows;
the index supplies their full vectors, so scores are exact.
"""

import json
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any

import numpy as np

from ...array_types import Shaped
from ...runtime.arguments import whole_number
from ...runtime.atomic_files import atomic_file
from ...runtime.installation import missing_extra
from ...runtime.progress import Progress, show_progress
from ..exact import UnitRows, checked_queries
from ..index import Index, Match
from .common import as_matches

try:
    import faiss
except ImportError:
    raise missing_extra("faiss-cpu", "faiss", "an approximate index") from None

GRAPH, NAMES = "hnsw.faiss", "hnsw.json"
NEIGHBOURS, EF_CONSTRUCTION = 32, 80
TRAINED_ON = 20_000  # number of leading rows from which the int8 range is estimated
CANDIDATES = 4
"""Number of candidates per requested result; their exact scores decide the ranking."""


@dataclass(frozen=True)
class HnswSidecar:
    """A graph over N unit-length rows, and the ids of the rows."""

    graph: Any
    ids: list[str]

    def search(
        self, index: Index, queries: Shaped[np.ndarray, "Q E"], k: int = 10, *, ef: int = 100
    ) -> list[list[Match]]:
        """Approximately the k nearest records by cosine, best first, with exact scores; `ef` trades time for recall."""
        rows, k = checked_queries(queries, index.dimension), whole_number("k", k)
        wanted = min(CANDIDATES * k, len(self.ids))
        if not wanted or not len(rows):
            return [[] for _ in rows]
        parameters = faiss.SearchParametersHNSW(efSearch=max(whole_number("ef", ef), wanted))
        _, found = self.graph.search(rows, wanted, params=parameters)
        return [self._scored(index, row, places[places >= 0], k) for row, places in zip(rows, found, strict=True)]

    def _scored(self, index: Index, query: Any, places: Any, k: int) -> list[Match]:
        names = [self.ids[place] for place in places]
        scores = UnitRows.of(np.asarray(index.get(names).vectors)).rows @ query
        best = np.argsort(-scores, kind="stable")[:k]
        return as_matches((names[i], scores[i]) for i in best)


def build_sidecar(index: Index, folder: Path, mark: str, *, show_progress_bar: Progress = None) -> None:
    """Build the graph from all records, block by block, and write it; the file that makes it valid is written last."""
    graph = faiss.index_factory(index.dimension, f"HNSW{NEIGHBOURS}_SQ8", faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = EF_CONSTRUCTION
    ids: list[str] = []
    with show_progress(show_progress_bar, index.count()) as advance:
        for records in index.records(TRAINED_ON):
            rows = UnitRows.of(np.asarray(records.vectors)).rows
            if not graph.is_trained:
                graph.train(rows)
            graph.add(rows)
            ids += records.ids
            advance(len(records), 0)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAMES).unlink(missing_ok=True)
    with atomic_file(folder / GRAPH) as partial:
        faiss.write_index(graph, str(partial))
    described = {"mark": mark, "checksum": _checksum(folder / GRAPH), "ids": ids}
    with atomic_file(folder / NAMES) as partial:
        partial.write_text(json.dumps(described), "utf-8")


def open_sidecar(folder: Path, mark: str) -> HnswSidecar | None:
    """The sidecar, if it is complete and was built with this mark; None if it has to be rebuilt."""
    try:
        described = json.loads((folder / NAMES).read_text("utf-8"))
        if described["mark"] != mark or described["checksum"] != _checksum(folder / GRAPH):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return HnswSidecar(faiss.read_index(str(folder / GRAPH)), described["ids"])


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "blake2b").hexdigest()
