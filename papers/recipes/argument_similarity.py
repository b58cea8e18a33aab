"""Argument similarity, with folds over all pairs or over topics (section 4.3; Misra et al. 2016).

One model is trained per fold and scores the pairs that it has not seen; figures are means over topics. `--data afs`
reads AFS, the paper's data, if you have it; the default is UKP ASPECT in its place. The paper does not state the number
of epochs; this recipe trains for four, as for STS-B. Each fold's scores are stored, so they are computed only once. The
saved model is trained on all pairs.
"""

import json
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likewise.arrays.similarity import PAIRWISE
from likewise.data.datasets import read_dataset
from likewise.data.splits import TrainTestSplit, folds, train_test_splits
from likewise.evaluate.task import EvaluationSettings
from likewise.evaluate.tasks.arguments import ARGUMENT_SETS, folds_within_topics
from likewise.evaluate.tasks.sentence_pairs import RatedPairs, correlation_score, read_pairs
from likewise.runtime.atomic_files import atomic_file
from likewise.runtime.untrusted_files import read_object
from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.data.sources import rows_digest
from likewise.train.objectives import Regression
from likewise.train.output.callbacks import ConsoleProgress
from likewise.train.output.run_folder import stop_requested
from likewise.train.settings import TrainSettings
from likewise.train.trainer import Trainer

from .flags import flags, paper_settings
from .recipe import Recipe, backbone, folder_of, sample_rows, start

SEED = EvaluationSettings().seed
WAYS: dict[str, Callable[[RatedPairs], list[TrainTestSplit]]] = {
    "10-fold": lambda pairs: list(
        train_test_splits(folds(list(zip(pairs.first, pairs.second, strict=True)), 10, SEED))
    ),
    "10-fold-within": lambda pairs: folds_within_topics(pairs, SEED),
    "cross-topic": lambda pairs: list(train_test_splits(pairs.group)),
}
"""Ten folds over all pairs; ten folds within each topic, if topics are as large as the paper's; or a fold per topic."""


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train a model per fold and one on all pairs, evaluate them, and record the run."""
    parser = flags(__doc__, epochs=4)
    parser.add_argument("--data", choices=ARGUMENT_SETS, default="ukp-aspect")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=["10-fold", "cross-topic"])
    args = parser.parse_args(argv)
    of = ARGUMENT_SETS[args.data]
    pairs = read_pairs(read_dataset, of.data, EvaluationSettings(), gold=of.gold, part="topic", degrees=of.degrees)
    max_score = max(of.degrees.values()) if of.degrees else 5.0
    columns: dict[str, Any] = {
        "sentence1": pairs.first,
        "sentence2": pairs.second,
        "score": (pairs.gold / max_score).astype(np.float32),
    }
    rows, settings = TrainingRows.of(columns, Regression()), paper_settings(args)
    scores: dict[str, Any] = {}
    for way in args.ways:
        cosines = _cosines_of_folds(args, way, WAYS[way](pairs), rows, settings)
        for statistic in ("pearson", "spearman"):
            score = correlation_score(f"{statistic} {way}", cosines, pairs.gold, statistic, pairs.group)
            scores[f"{args.data} {score.name}"] = {"value": score.value, "n": score.n}
            print(f"{args.data} {score.name} × 100: {100 * score.value:.2f}")
    recipe = Recipe(f"argument-similarity-{args.data}", args, dev=None, scores=scores)
    return recipe.train(
        backbone(args, "mean"), [DataSource(sample_rows(rows, args.rows), Regression(), of.data)], settings
    )


def _cosines_of_folds(
    args: Namespace, way: str, folds: Sequence[TrainTestSplit], rows: TrainingRows, settings: TrainSettings
) -> np.ndarray:
    cosines = np.full(len(rows), np.nan)
    for number, (train_rows, test_rows) in enumerate(folds):
        file = folder_of(f"argument-similarity-{args.data}", args) / "folds" / way / f"{number:03}.json"
        learned = sample_rows(_take(rows, train_rows), args.rows)
        print(f"{way}: fold {number + 1} of {len(folds)}, {len(learned):,} training pairs")
        cosines[test_rows] = _cosines_of_fold(args, learned, _take(rows, test_rows), settings, file)
    return cosines


def _cosines_of_fold(
    args: Namespace, learned: TrainingRows, test: TrainingRows, settings: TrainSettings, file: Path
) -> Sequence[float]:
    """Train one model from the backbone, unless its cosines are already in the file."""
    key = {
        "settings": repr(settings),
        "backbone": args.backbone,
        "learned": rows_digest(learned),
        "test": rows_digest(test),
    }
    saved: Mapping[str, Any] = {} if args.fresh else read_object(file)
    if saved.get("key") == key:
        return list(saved["cosines"])
    embedder, console = backbone(args, "mean"), ConsoleProgress()
    data = [DataSource(learned, Regression())]
    with stop_requested() as stop:
        result = Trainer(model=embedder, data=data, settings=settings, callbacks=[console]).run(stop=stop)
    if result.interrupted:
        raise KeyboardInterrupt
    u, v = (embedder.encode(list(c), show_progress_bar=False, overflow="truncate") for c in test.texts.values())
    cosines: list[float] = PAIRWISE["cosine"](u, v).tolist()
    with atomic_file(file) as partial:
        partial.write_text(json.dumps({"key": key, "cosines": cosines}) + "\n", "utf-8")
    return cosines


def _take(rows: TrainingRows, which: np.ndarray) -> TrainingRows:
    texts = {name: [column[i] for i in which] for name, column in rows.texts.items()}
    return TrainingRows(texts, {name: values[which] for name, values in rows.numbers.items()})


if __name__ == "__main__":
    start(main)
