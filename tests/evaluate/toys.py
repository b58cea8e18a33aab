"""Tasks and models small enough to read: word pairs with known similarity, and functions as models."""

import numpy as np

from likewise.arrays.correlation import pearson, spearman
from likewise.errors import DataNotFound
from likewise.evaluate.task import Evidence, Result, Score, Task, TaskVectors

WORDS = [f"word {i}" for i in range(60)]
COLUMNS = {
    name: {"a": WORDS[k : k + 40], "b": WORDS[k + 7 : k + 20] + WORDS[:27], "score": list(np.arange(40) % 6 / 5 + k)}
    for k, name in enumerate(("pairs/one", "pairs/two"))
}


def read(name):
    if name not in COLUMNS:
        raise DataNotFound(f"there is no data {name}")
    return COLUMNS[name]


def alike(encode, read, settings, *, name):
    columns = read(name)
    vectors = TaskVectors.of(encode, columns["a"], columns["b"])
    predicted = (vectors[columns["a"]] * vectors[columns["b"]]).sum(1).astype(np.float64)
    gold = np.asarray(columns["score"], float)
    scores = (
        Score("spearman/dot", spearman(predicted, gold), len(gold), Evidence(predicted, gold, statistic="spearman")),
        Score("pearson/dot", pearson(predicted, gold), len(gold), Evidence(predicted, gold, statistic="pearson")),
    )
    return Result(name, scores, "spearman/dot, raw, n = 40", vectors.notes)


def task(name, data, suite="toys", run=alike):
    def bound(encode, read, settings):
        return run(encode, read, settings, name=data)

    return Task(name, suite, (data,), f"toy pairs {name}", bound)


ONE = task("one", "pairs/one")
TWO = task("two", "pairs/two")
LOST = task("lost", "pairs/lost")


def model(seed, noise=1.0):
    """A function that knows the scores of the pairs in both columns, and returns them with noise."""

    def encode(texts):
        random = [np.random.default_rng([seed, *text.encode()]) for text in texts]
        return np.stack([[1.0, noise * r.normal(), noise * r.normal()] for r in random])

    return encode


class Counting:
    """A model with a fingerprint that records which texts it was asked to encode."""

    def __init__(self, fingerprint="f" * 32, seed=0):
        self.fingerprint, self.asked, self._encode = fingerprint, [], model(seed)

    def encode(self, texts):
        self.asked += texts
        return self._encode(texts)


class Fitting:
    """A model that is fitted on the texts: the frequency of each letter minus its mean over the texts."""

    name = "letters"

    def fitted(self, texts):
        mean = self.letters(texts).mean(0)
        return lambda texts: self.letters(texts) - mean

    def letters(self, texts):
        return np.array([[text.count(c) for c in "0123456789"] for text in texts], float)


class Likewise(Fitting):
    """A third model."""


class Unmakeable:
    """A model whose constructor raises an error."""

    def __init__(self):
        raise KeyError("x")
