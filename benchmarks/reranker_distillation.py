"""How well does an embedder distilled from a reranker find duplicates of Quora's questions, and the reranker itself?

    LIKEWISE_DATA=data LIKEWISE_MODELS=models python -m benchmarks.reranker_distillation [--anchors 2000]

The questions are split into ten folds that share no question. Nine folds provide the anchors, each with a duplicate and
the three nearest other questions; a cross-encoder learns to rank the duplicate first, and an embedder is distilled from
its scores. The tenth fold is searched: the reranker reorders the 20 best questions found by likewise-static, which it
reads from a TREC run file.
"""

import csv
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from likewise import Embedder, Reranker
from likewise.cli import main as likewise
from likewise.data.datasets import read_dataset
from likewise.data.splits import folds
from likewise.evaluate import collection_task, evaluate
from likewise.evaluate.collection import JudgedCollection
from likewise.evaluate.rankers import RerankedRanker, RunFile
from likewise.evaluate.rankings import Rankings
from likewise.files import Table
from likewise.train.objectives import ScoreDistillation
from likewise.train.teacher_outputs import teacher_outputs

from .options import options
from .pages import PageTables, draw
from .record import place, read, save

FIRST, TEACHER, STUDENT = "likewise-static", "likewise-mini", "bert-tiny-splade"
ANCHORS, QUERIES, CANDIDATES, NEGATIVES = 2000, 300, 20, 3
METRICS = ("ndcg@10", "map@100", "mrr@10")
Pair = tuple[str, str]


def main() -> None:
    """Train the reranker and two embedders, evaluate them, record the results and draw the page's table."""
    args = options(__doc__, given={}, anchors=ANCHORS)
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        save("reranker_distillation", {"anchors": args.anchors, "scores": measure(args.anchors)})
    draw(TABLES)


def measure(anchors: int) -> dict[str, dict[str, float]]:
    """Compute METRICS for each model on the held-out questions, in the current folder."""
    pairs = read_dataset("qqp_subset/pairs")
    both = list(zip(pairs["sentence1"], pairs["sentence2"], strict=True))
    fold, duplicate = folds(both, 10, group_aware=True), np.array(pairs["label"], bool)
    train = [both[i] for i in np.flatnonzero((fold > 0) & duplicate)[:anchors]]
    collection = searched([both[i] for i in np.flatnonzero(fold == 0)], duplicate[fold == 0])
    learn(train)
    first = evaluate(FIRST, collection_task(collection))[FIRST, collection.name].result
    assert first
    cut = Rankings(
        collection, *(tuple(one[:CANDIDATES] for one in of) for of in (first.rankings.rows, first.rankings.scores))
    )
    cut.write(Path("candidates.trec"), FIRST)
    models: dict[str, Any] = {
        f"candidates: {CANDIDATES} of {FIRST}": RunFile(Path("candidates.trec")),
        "the candidates, reranked": RerankedRanker(f"candidates: {CANDIDATES} of {FIRST}", "reranker"),
        **{name: Embedder.load(path) for name, path in (
            (f"{STUDENT}, untrained", STUDENT), ("trained on the duplicates", "labelled"),
            ("taught by the reranker", "taught"))},
    }  # fmt: skip
    results = evaluate(models, collection_task(collection))
    return {name: _scores(results[name, collection.name].result) for name in models}


def searched(pairs: Sequence[Pair], duplicate: np.ndarray) -> JudgedCollection:
    """Return the questions to search, and as queries other questions, each with a duplicate among them."""
    documents = {text: f"d{i}" for i, text in enumerate(dict.fromkeys(second for _, second in pairs))}
    judged: dict[str, dict[str, int]] = {}
    for (first, second), is_duplicate in zip(pairs, duplicate, strict=True):
        if is_duplicate and first not in documents:
            judged.setdefault(first, {})[documents[second]] = 1
    queries = {f"q{i}": text for i, text in enumerate([*judged][:QUERIES])}
    judgements = {query: judged[text] for query, text in queries.items()}
    texts = ("",) * len(documents), tuple(documents), tuple(queries), tuple(queries.values())
    return JudgedCollection("questions", tuple(documents.values()), *texts, judgements)


def learn(train: Sequence[Pair]) -> None:
    """Train the reranker, an embedder on the same labelled rows, and an embedder on the reranker's scores alone."""
    with Path("pairs.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("anchor", "positive"), *train])
    run = "--epochs", "1", "--batch-size", "32", "-q", "-o"
    likewise(["data", "mine", FIRST, "pairs.csv", "-k", str(NEGATIVES), "--missing", "drop", "-q", "-o", "mined.csv"])
    ranking = ("--kind", "cross-encoder", "--data", "mined.csv@ranking")
    likewise(["train", TEACHER, *ranking, "--learning-rate", "3e-4", *run, "reranker"])
    columns = Table.read(Path("mined.csv"), list).columns
    texts = {name: column for name, column in columns.items() if name.startswith(("anchor", "positive", "negative"))}
    objective = ScoreDistillation()
    teacher_outputs(texts, Reranker.load("reranker"), objective, file=Path("scores.parquet"), show_progress_bar=False)
    for data, out in (("mined.csv@contrastive", "labelled"), ("scores.parquet@score-distillation", "taught")):
        likewise(["train", STUDENT, "--data", data, "--learning-rate", "3e-4", *run, out])


def _scores(result: Any) -> dict[str, float]:
    return {name: 100 * result[name] for name in METRICS}


def table() -> Iterator[str]:
    """A line for each model."""
    stored = read("reranker_distillation")
    yield "| | nDCG@10 | MAP | MRR@10 |"
    yield "|---|---|---|---|"
    for name, found in stored["results"]["scores"].items():
        yield f"| {name} | {' | '.join(f'{found[metric]:.1f}' for metric in METRICS)} |"
    yield ""
    yield (
        f"{stored['results']['anchors']:,} anchors, {QUERIES} queries, × 100. {place(stored['machine'])} "
        "([script](../../benchmarks/reranker_distillation.py))."
    )


TABLES: PageTables = {"docs/how-to/distil.md": {"from-a-reranker": lambda: [*table()]}}

if __name__ == "__main__":
    main()
