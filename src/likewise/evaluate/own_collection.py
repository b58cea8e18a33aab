"""Retrieval on your own documents: a task on a collection, or known-item search with queries made from its own texts.

In known-item search, the query is a document's title, and the document's text has to be found without the title. In a
collection without titles, the query is one of the document's sentences, and the rest of the document has to be found.
This measures whether parts of one text are similar, which is not the same as answering users' questions;
docs/how-to/evaluate-on-your-documents.md reports how well the two agree.
"""

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..runtime.home_folder import expanded
from ..text.sentences import sentence_spans
from ..wording import counted
from .collection import JudgedCollection, layout, read_collection
from .rankers import EmbeddingRanker, Ranker
from .task import Encode, EvaluationSettings, ReadDataset, Result, Task, TaskVectors
from .tasks.retrieval import DEPTH

SUITE = "own collection"
MAX_QUERIES = 500
MIN_WORDS = 4
"""Shorter sentences rarely identify the document that they come from."""
NOTE = "known-item search: the queries are {} of the documents themselves, not questions that people asked"


def collection_task(
    corpus: str | Path | JudgedCollection, queries: str | Path | None = None, qrels: str | Path | None = None
) -> Task:
    """A retrieval task for use with `evaluate`; its models may also be rankers (see `with_baselines`).

    Args:
        corpus: a file of documents, a folder in the BEIR layout, or a collection. Without queries, the task is
            known-item search, with queries made from the documents themselves.
        queries: a file of queries.
        qrels: a file of relevance judgements.

    Raises:
        BadInput: a file cannot be read; see `read_collection`.
    """
    found = corpus if isinstance(corpus, JudgedCollection) else read_collection(corpus, queries, qrels)
    collection = found if found.queries else known_items(found)
    notes = collection.notes
    if own := len(collection.own_rows):
        found_twice = counted(own, "query is itself a document", "queries are themselves documents")
        notes = (*notes, f"{found_twice} (a document is not ranked for itself)")

    def rank(ranker: Ranker, earlier: Mapping[str, Any]) -> Result:
        rankings = ranker.rank(collection, earlier)
        protocol = (
            f"ndcg@10: {counted(len(collection.queries), 'query', 'queries')}, "
            f"{counted(len(collection.ids), 'document')}, top {DEPTH} for each query; models use exact cosine search"
        )
        return Result(collection.name, rankings.metrics, protocol, notes, rankings)

    def run(encode: Encode, read: ReadDataset, settings: EvaluationSettings) -> Result:  # noqa: ARG001
        vectors = TaskVectors.of(encode, collection.queries, collection.documents)  # a model may be fitted on all texts
        return rank(EmbeddingRanker(vectors.__getitem__), {}).with_notes(*vectors.notes)

    return Task(collection.name, SUITE, (), "nDCG@10 of the documents found for each query", run, rank)


def collection_tasks(
    corpus: str | Path, queries: str | Path | None = None, qrels: str | Path | None = None
) -> tuple[Task, ...]:
    """A task for a collection, or one task per collection for a folder that contains several (as in NanoBEIR)."""
    path = expanded(corpus)
    if path.is_dir() and queries is None and qrels is None and "corpus" not in layout(path):
        folders = [folder for folder in sorted(path.iterdir()) if folder.is_dir() and "corpus" in layout(folder)]
        if not folders:
            raise BadInput(f"neither {path} nor a folder in it has the BEIR layout: corpus.jsonl is missing")
        return tuple(map(collection_task, folders))
    return (collection_task(path, queries, qrels),)


def known_items(collection: JudgedCollection, *, count: int = MAX_QUERIES, seed: int = 0) -> JudgedCollection:
    """The collection with up to `count` queries made from its own texts, each with one relevant document."""
    order = list(range(len(collection.ids)))
    random.Random(seed).shuffle(order)
    titled = [row for row in order if collection.titles[row].strip() and collection.bodies[row].strip()]
    if len(titled) >= 2:
        chosen, bodies = titled[:count], list(collection.bodies)
        queries, what = [collection.titles[row] for row in chosen], "titles"
    else:
        bodies, chosen, queries = _without_sentences(collection, order, count, seed)
        what = "sentences"
    if len(chosen) < 2:
        raise BadInput(
            f"{collection.name}: queries can be made only from documents that have a title or a second sentence, "
            "and fewer than two do; give queries and relevance judgements (--queries, --qrels)"
        )
    ids = tuple(collection.ids[row] for row in chosen)
    note = f"{NOTE.format(what)} ({counted(len(ids), 'document')} drawn at random)"
    return replace(
        collection,
        titles=("",) * len(collection.ids),
        bodies=tuple(bodies),
        query_ids=ids,
        queries=tuple(queries),
        judgements={document: {document: 1} for document in ids},
        notes=(*collection.notes, note),
    )


def _without_sentences(
    collection: JudgedCollection, order: list[int], count: int, seed: int
) -> tuple[list[str], list[int], list[str]]:
    """All texts, without the sentences removed from the chosen ones; the chosen rows; and the removed sentences."""
    bodies, chosen, queries = list(collection.documents), list[int](), list[str]()
    draw = random.Random(seed)
    for row in order:
        text = bodies[row]
        spans = sentence_spans(text)
        long = [(start, stop) for start, stop in spans if len(text[start:stop].split()) >= MIN_WORDS]
        if len(spans) < 2 or not long:
            continue
        start, stop = draw.choice(long)
        bodies[row] = f"{text[:start].rstrip()} {text[stop:].lstrip()}".strip()
        chosen.append(row)
        queries.append(text[start:stop])
        if len(chosen) == count:
            break
    return bodies, chosen, queries
