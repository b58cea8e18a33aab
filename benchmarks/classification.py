"""How accurate are classifiers on frozen vectors with few labels, and are their probabilities calibrated?

    LIKEWISE_DATA=data LIKEWISE_MODELS=models python -m benchmarks.classification [MODEL …]

`Classifier.fit` learns from the first rows of each class of a training split, and also from all rows of TREC's.
Accuracy and expected calibration error are measured on the test split, which no choice was based on.
`FewShotClassifier`, with its default settings, also trains the encoder.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from likewise import Embedder
from likewise.classify import Classifier
from likewise.classify.logistic import calibration_error
from likewise.data.datasets import read_dataset
from likewise.evaluate import Evidence
from likewise.evaluate.statistics.comparison import estimate
from likewise.integrations.few_shot import FewShotClassifier

from .options import options
from .pages import PageTables, draw, rows
from .record import place, read, save

MODELS = ["likewise-mini", "likewise-static", "all-MiniLM-L6-v2"]
DATA = {"banking77": "Banking77, 77 intents", "trec": "TREC, 6 kinds of question"}
PER_CLASS: dict[str, tuple[int | None, ...]] = {"banking77": (5, 20), "trec": (20, None)}
"""Rows of each class to learn from; None: all rows."""
TRAINED = {"likewise-mini": {"banking77": 5, "trec": 20}}
"""The models whose encoders are also trained, and the number of rows per class."""
Learn = Callable[[Sequence[str], Sequence[Any]], Classifier]


def split(name: str, per_class: int | None = None) -> tuple[list[str], list[Any]]:
    """Return the texts and labels of a split, or only the first `per_class` rows of each class."""
    columns, seen = read_dataset(name), Counter[Any]()
    texts, labels = list[str](), list[Any]()
    for text, label in zip(columns["text"], columns["label"], strict=True):
        seen[label] += 1
        if per_class is None or seen[label] <= per_class:
            texts.append(text)
            labels.append(label)
    return texts, labels


def measure(learn: Learn, data: str, per_class: int | None) -> dict[str, Any]:
    """Measure accuracy with its interval, calibration error, and the CPU seconds for learning, including encoding."""
    texts, labels = split(f"{data}/train", per_class)
    began = process_time()
    classifier = learn(texts, labels)
    seconds = process_time() - began
    texts, truth = split(f"{data}/test")
    chances = classifier.predict_proba(texts)
    right = np.array(classifier.decide(chances)) == np.array(truth)
    found = estimate(Evidence(right.astype(float)))
    error = calibration_error(chances.max(1), right)
    accuracy = {"accuracy": found.value, "low": found.low, "high": found.high}
    return {
        "data": data,
        "per class": per_class,
        "rows": len(labels),
        **accuracy,
        "calibration": error,
        "seconds": seconds,
    }


def table() -> list[str]:
    """Return a table with a row for each model, data set and number of labels."""
    stored, body = read("classification"), []
    for one in sorted(stored["results"], key=lambda one: (one["data"], one["rows"])):
        share = "all rows" if one["per class"] is None else f"{one['per class']} rows a class"
        accuracy = f"{100 * one['accuracy']:.1f} [{100 * one['low']:.1f}, {100 * one['high']:.1f}]"
        about = f"{DATA[one['data']]}: {share}"
        body.append([about, one["model"], accuracy, f"{one['calibration']:.3f}", f"{one['seconds']:.1f}"])
    below = f"{place(stored['machine'])} ([script](../../benchmarks/classification.py))."
    return rows("learned from | model | accuracy, % | calibration error | CPU seconds", body, below)


TABLES: PageTables = {"docs/how-to/classify.md": {"classification": table}}


def run(models: Sequence[str]) -> list[dict[str, Any]]:
    """Every model on every data set and number of labels."""
    found = []
    for name, learn, data, per_class in cases(models):
        found.append({"model": name, **measure(learn, data, per_class)})
        print(found[-1], flush=True)
    return found


def cases(models: Sequence[str]) -> Iterator[tuple[str, Learn, str, int | None]]:
    """Yield the cases to measure: a name, a training function, the data, and the number of rows per class."""
    for name in models:
        frozen = partial(Classifier.fit, model=Embedder.load(name, precision="int8"), show_progress_bar=False)
        for data, counts in PER_CLASS.items():
            yield from ((name, frozen, data, count) for count in counts)
        for data, count in TRAINED.get(name, {}).items():
            yield f"{name}, trained too", FewShotClassifier(name).fit, data, count


def main() -> None:
    """Measure the models, record them and draw the page's table."""
    args = options(__doc__, given={"models": MODELS})
    save("classification", run(args.models))
    draw(TABLES)


if __name__ == "__main__":
    main()
