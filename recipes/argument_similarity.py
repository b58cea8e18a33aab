"""Arguments: how alike two are, from others of their topic or of other topics (section 4.3; Misra et al. 2016).

A model is trained for every fold and says what it makes of the pairs it has not seen; the folds' figures are the mean
over topics. The paper's data, AFS, are read where they are at hand (`--data afs`); UKP ASPECT stands in for them. The
paper tells no number of epochs: four, as for STS-B. What a fold said is kept, and not computed again. The model that is
saved has learned from all pairs.
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
from likewise.train.output.console import ConsoleProgress
from likewise.train.output.interrupt import stop_requested
from likewise.train.run import TrainSettings
from likewise.train.trainer import train

from .recipe import Recipe, backbone, flags, folder_of, run_of, some, start

SEED = EvaluationSettings().seed
WAYS: dict[str, Callable[[RatedPairs], list[TrainTestSplit]]] = {
    "10-fold": lambda pairs: list(
        train_test_splits(folds(list(zip(pairs.first, pairs.second, strict=True)), 10, SEED))
    ),
    "10-fold-within": lambda pairs: folds_within_topics(pairs, SEED),
    "cross-topic": lambda pairs: list(train_test_splits(pairs.group)),
}
"""Ten folds over all pairs; ten in each topic, which topics as large as the paper's allow; each topic in its turn."""


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Trains a model a fold and one of all pairs, measures, records."""
    parser = flags(__doc__, epochs=4)
    parser.add_argument("--data", choices=ARGUMENT_SETS, default="ukp-aspect")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=["10-fold", "cross-topic"])
    args = parser.parse_args(argv)
    of = ARGUMENT_SETS[args.data]
    pairs = read_pairs(read_dataset, of.data, EvaluationSettings(), gold=of.gold, part="topic", degrees=of.degrees)
    most = max(of.degrees.values()) if of.degrees else 5.0
    columns: dict[str, Any] = {
        "sentence1": pairs.first,
        "sentence2": pairs.second,
        "score": (pairs.gold / most).astype(np.float32),
    }
    every, run = TrainingRows.of(columns, Regression()), run_of(args)
    figures: dict[str, Any] = {}
    for way in args.ways:
        said = _said(args, way, WAYS[way](pairs), every, run)
        for statistic in ("pearson", "spearman"):
            score = correlation_score(f"{statistic} {way}", said, pairs.gold, statistic, pairs.group)
            figures[f"{args.data} {score.name}"] = {"value": score.value, "n": score.n}
            print(f"{args.data} {score.name} × 100: {100 * score.value:.2f}")
    recipe = Recipe(f"argument-similarity-{args.data}", args, dev=None, figures=figures)
    return recipe.carry_out(backbone(args, "mean"), [DataSource(some(every, args.rows), Regression(), of.data)], run)


def _said(
    args: Namespace, way: str, each: Sequence[TrainTestSplit], every: TrainingRows, run: TrainSettings
) -> np.ndarray:
    """Cosines of all pairs, each by the model of its fold."""
    said = np.full(len(every), np.nan)
    for number, (learned, asked) in enumerate(each):
        place = folder_of(f"argument-similarity-{args.data}", args) / "folds" / way / f"{number:03}.json"
        said[asked] = _fold(
            args, _part(every, learned), _part(every, asked), run, place, f"{number + 1} of {len(each)}"
        )
    return said


def _fold(
    args: Namespace, learned: TrainingRows, asked: TrainingRows, run: TrainSettings, place: Path, shown: str
) -> Sequence[float]:
    """Trains one model anew, unless what it said is there already."""
    learned = some(learned, args.rows)
    key = {"run": repr(run), "backbone": args.backbone, "learned": rows_digest(learned), "asked": rows_digest(asked)}
    kept: Mapping[str, Any] = {} if args.fresh else read_object(place)
    if kept.get("key") == key:
        return list(kept["said"])
    print(f"{place.parent.name}: fold {shown}, {len(learned):,} pairs to learn from")
    embedder, live = backbone(args, "mean"), ConsoleProgress()
    with stop_requested() as stop:
        outcome = train(embedder, [DataSource(learned, Regression())], run, tell=[live], stop=stop)
    if outcome.interrupted:
        raise KeyboardInterrupt
    texts = list(asked.texts.values())
    u, v = (embedder.encode(column, progress=False, overflow="truncate") for column in texts)
    said: list[float] = PAIRWISE["cosine"](u, v).tolist()
    with atomic_file(place) as partial:
        partial.write_text(json.dumps({"key": key, "said": said}) + "\n", "utf-8")
    return said


def _part(every: TrainingRows, which: np.ndarray) -> TrainingRows:
    texts = {name: [column[i] for i in which] for name, column in every.texts.items()}
    return TrainingRows(texts, {name: values[which] for name, values in every.numbers.items()})


if __name__ == "__main__":
    start(main)
