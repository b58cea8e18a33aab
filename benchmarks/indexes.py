"""How long does each index take to store and search the same embedded questions? Draws the table of docs/indexes.md.

.venv/integration/bin/python -m benchmarks.indexes            after `make integration`; needs LIKEWISE_DATA (qqp_subset)
.venv/integration/bin/python -m benchmarks.indexes --draw     redraws the table from benchmarks/results/indexes.json

Servers run on this machine, with one connection each. In every round, all indexes answer the same queries in turn, and
each is compared with the first index in that round.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from likewise import Embedder
from likewise.data.datasets import read_dataset
from likewise.search.index import Index
from likewise.search.indexes import INDEXES
from likewise.search.records import Records

from .options import options
from .pages import PageTables, draw, rows
from .record import in_turn, read, save

ROWS, QUERIES, BLOCK = 10_000, 20, 1000
FILTER = "place < 1000"  # matches a tenth of the records
LABELS = {
    "faiss": "faiss",
    "pgvector": "PostgreSQL, exact",
    "pgvector&index=hnsw": "PostgreSQL, HNSW",
    "milvus": "Milvus Lite",
}


def embedded() -> tuple[Records, Any]:
    """Embed distinct questions as records, and other questions as queries."""
    columns = read_dataset("qqp_subset/pairs")
    texts = list(dict.fromkeys(str(text) for name in ("sentence1", "sentence2") for text in columns[name]))
    texts = texts[: ROWS + QUERIES]
    vectors = Embedder.load("likewise-static").encode(texts, show_progress_bar=False)
    ids, metadata = [f"q{i}" for i in range(ROWS)], [{"place": i} for i in range(ROWS)]
    return Records(ids, vectors[:ROWS], texts[:ROWS], metadata), vectors[ROWS:]


@contextmanager
def empty_indexes(dimension: int) -> Iterator[dict[str, Index]]:
    """Create an empty index of each kind, exact indexes first."""
    from tests.integration.conftest import running
    from tests.integration.servers import Milvus, Postgres

    with TemporaryDirectory() as folder, running(Postgres) as postgres, running(Milvus) as milvus, ExitStack() as stack:
        indexes: dict[str, Index] = {}
        for name in LABELS:
            kind, _, option = name.partition("&")
            place = {"pgvector": postgres, "milvus": milvus}.get(kind)
            location = f"{INDEXES[kind].scheme}{folder}/{kind}"
            if place is not None:
                location = place.location(f"questions_{len(indexes)}", f"&{option}" if option else "")
            indexes[name] = stack.enter_context(INDEXES[kind].index_class().create(location, dimension))
        yield indexes


def seconds_to_add(index: Index, records: Records) -> float:
    """Add all records, one block at a time."""
    began = time.perf_counter()
    for block in records.blocks(BLOCK):
        index.add(block)
    return time.perf_counter() - began


def measure(rounds: int) -> dict[str, Any]:
    """Measure seconds to add, milliseconds per query with and without a filter, and recall of the exact top ten."""
    records, queries = embedded()
    results: dict[str, Any] = {"rows": ROWS, "width": queries.shape[1], "queries": QUERIES, "filter": FILTER}
    with empty_indexes(queries.shape[1]) as indexes:
        added = {name: seconds_to_add(index, records) for name, index in indexes.items()}
        exact = ids_found(indexes["faiss"], queries)
        plain = in_turn({name: searching(index, queries, None) for name, index in indexes.items()}, rounds)
        filtered = in_turn({name: searching(index, queries, FILTER) for name, index in indexes.items()}, rounds)
        results["indexes"] = {
            name: {
                "add_s": added[name],
                "query_ms": 1000 * median(plain[name]) / QUERIES,
                "filtered_ms": 1000 * median(filtered[name]) / QUERIES,
                "recall": float(
                    np.mean([len(a & b) / 10 for a, b in zip(ids_found(index, queries), exact, strict=True)])
                ),
            }
            for name, index in indexes.items()
        }
    return results


def searching(index: Index, queries: Any, where: str | None) -> Callable[[], Any]:
    """Return a function that runs one query after another, as they would arrive at a server."""
    return lambda: [index.search(query[None], 10, where) for query in queries]


def ids_found(index: Index, queries: Any) -> list[set[str]]:
    """The ids of the ten nearest records for each query."""
    return [{match.id for match in row} for row in index.search(queries, 10)]


def table() -> list[str]:
    """The results in Markdown."""
    record = read("indexes")
    found, machine = record["results"], record["machine"]
    of = {label: found["indexes"][name] for name, label in LABELS.items()}
    return rows(
        "index | adding all | one query | one query with a filter | recall of the exact top ten",
        (
            [
                label,
                f"{r['add_s']:.2f} s",
                f"{r['query_ms']:.2f} ms",
                f"{r['filtered_ms']:.2f} ms",
                f"{r['recall']:.3f}",
            ]
            for label, r in of.items()
        ),
        f"The indexes hold {found['rows']:,} questions of `qqp_subset`, embedded with likewise-static "
        f"({found['width']} dimensions) and added {BLOCK:,} per call. The {found['queries']} queries ran one at a "
        f"time; figures are medians of alternating rounds. The filter is `{found['filter']}`. {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['date']}, commit {machine['commit']}.",
    )


TABLES: PageTables = {"docs/indexes.md": {"indexes": table}}


def main() -> None:
    args = options(__doc__, draw=False, rounds=3)
    if not args.draw:
        save("indexes", measure(args.rounds))
    draw(TABLES)


if __name__ == "__main__":
    main()
