"""Retrieval on your own documents: a task on a collection, or on queries made from the documents themselves."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..runtime.home_folder import expanded
from ..wording import counted
from .collection import JudgedCollection, layout, read_collection
from .known_items import known_items
from .rankers import EmbeddingRanker, Ranker
from .task import Encode, EvaluationSettings, ReadDataset, Result, Task, TaskVectors
from .tasks.retrieval import DEPTH

SUITE = "own collection"


def collection_task(
    corpus: str | Path | JudgedCollection, queries: str | Path | None = None, qrels: str | Path | None = None
) -> Task:
    """A retrieval task for use with `evaluate`, whose models may also be rankers (see `with_baselines`).

    Args:
        corpus: documents, a folder in BEIR's layout, or a collection. Without queries, known items are searched:
            queries are made from the documents themselves.
        queries: a file of queries.
        qrels: a file of judgements.

    Raises:
        BadInput: a file cannot be read; see `read_collection`.
    """
    found = corpus if isinstance(corpus, JudgedCollection) else read_collection(corpus, queries, qrels)
    collection = found if found.queries else known_items(found)
    notes = (*collection.notes, *own_rows_note(collection))

    def rank(ranker: Ranker, earlier: Mapping[str, Any]) -> Result:
        rankings = ranker.rank(collection, earlier)
        protocol = (
            f"ndcg@10: {counted(len(collection.queries), 'query', 'queries')}, "
            f"{counted(len(collection.ids), 'document')}, the best {DEPTH} of each; models by exact search by cosine"
        )
        return Result(collection.name, rankings.metrics, protocol, notes, rankings)

    def run(encode: Encode, read: ReadDataset, settings: EvaluationSettings) -> Result:  # noqa: ARG001
        vectors = TaskVectors.of(encode, collection.queries, collection.documents)  # a model may be fitted on all texts
        return rank(EmbeddingRanker(vectors.__getitem__), {}).with_notes(*vectors.notes)

    return Task(collection.name, SUITE, (), "nDCG@10 of the documents found for each query", run, rank)


def own_rows_note(collection: JudgedCollection) -> tuple[str, ...]:
    """How many queries are documents themselves, if any."""
    if not (own := len(collection.own_rows)):
        return ()
    return (f"{counted(own, 'query is a document', 'queries are documents')} too, and not ranked for that query",)


def collection_tasks(
    corpus: str | Path, queries: str | Path | None = None, qrels: str | Path | None = None
) -> tuple[Task, ...]:
    """A task for a collection, or one for each collection in a folder of several (as in NanoBEIR)."""
    path = expanded(corpus)
    if path.is_dir() and queries is None and qrels is None and "corpus" not in layout(path):
        folders = [folder for folder in sorted(path.iterdir()) if folder.is_dir() and "corpus" in layout(folder)]
        if not folders:
            raise BadInput(f"{path} is not a folder in BEIR's layout and contains none: corpus.jsonl is missing")
        return tuple(map(collection_task, folders))
    return (collection_task(path, queries, qrels),)
