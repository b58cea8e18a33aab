"""A slow reimplementation of SentEval's rules, with nested loops, scikit-learn's folds and torch's plain optimizer.

It was written from the rules, independently of the library, and uses none of the library's code.
"""

import warnings
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold
from torch import nn

STRENGTHS = [0.00001, 0.0001, 0.001, 0.01]


class Slow:
    """A classifier with fit and score."""

    def __init__(self, width: int, classes: int, l2: float, hidden: int = 0, dropout: float = 0.0, limit: int = 200):
        np.random.seed(1111)
        torch.manual_seed(1111)
        if hidden == 0:
            self.model: Any = nn.Linear(width, classes)
        else:
            self.model = nn.Sequential(
                nn.Linear(width, hidden), nn.Dropout(dropout), nn.Sigmoid(), nn.Linear(hidden, classes)
            )
        self.adam = torch.optim.Adam(self.model.parameters(), lr=0.001, weight_decay=l2, foreach=False, fused=False)
        self.limit = limit

    def fit(self, x: np.ndarray, y: np.ndarray, dev: tuple[np.ndarray, np.ndarray] | None) -> float:
        if dev is None:
            mixed = np.random.permutation(len(x))
            few = int(0.05 * len(x))
            dev = x[mixed[:few]], y[mixed[:few]]
            x, y = x[mixed[few:]], y[mixed[few:]]
        best = -1.0
        disappointments = 0
        epoch = 0
        while epoch <= self.limit:
            self.model.train()
            for _ in range(4):
                mixed = np.random.permutation(len(x))
                for at in range(0, len(x), 64):
                    batch = mixed[at : at + 64]
                    predicted = self.model(torch.tensor(x[batch]))
                    loss = nn.CrossEntropyLoss()(predicted, torch.tensor(y[batch]))
                    self.adam.zero_grad()
                    loss.backward()
                    self.adam.step()
            epoch += 4
            now = self.score(*dev)
            if now > best:
                best = now
                memory = {name: value.clone() for name, value in self.model.state_dict().items()}
            else:
                disappointments += 1
                if disappointments == 6:
                    break
        self.model.load_state_dict(memory)
        return best

    def predict(self, x: np.ndarray) -> np.ndarray:
        self.model.eval()
        with torch.no_grad():
            return self.model(torch.tensor(x)).max(1)[1].numpy()

    def score(self, x: np.ndarray, y: np.ndarray) -> float:
        return 1.0 * sum(1 for a, b in zip(self.predict(x), y, strict=True) if a == b) / len(x)


def folds(x: np.ndarray, y: np.ndarray, k: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(StratifiedKFold(n_splits=k, shuffle=True, random_state=1111).split(x, y))


def cross_validate(x: np.ndarray, y: np.ndarray, classes: int, k: int, how: dict[str, Any]) -> tuple[float, float]:
    """The regularization strength chosen by cross-validation, and its score."""
    table = []
    for l2 in STRENGTHS:
        single = []
        for train, test in folds(x, y, k):
            clf = Slow(x.shape[1], classes, l2, **how)
            clf.fit(x[train], y[train], (x[test], y[test]))
            single.append(clf.score(x[test], y[test]))
        table.append(round(100 * np.mean(single), 2))
    return STRENGTHS[np.argmax(table)], max(table)


def nested(x: np.ndarray, y: np.ndarray, classes: int, k: int, how: dict[str, Any]) -> Any:
    """Accuracy, dev accuracy, strengths and predictions."""
    results, devs, chosen, predicted = [], [], [], np.zeros(len(y), int)
    for train, test in folds(x, y, k):
        l2, dev = cross_validate(x[train], y[train], classes, k, how)
        clf = Slow(x.shape[1], classes, l2, **how)
        clf.fit(x[train], y[train], None)
        results.append(round(100 * clf.score(x[test], y[test]), 2))
        devs.append(dev)
        chosen.append(l2)
        predicted[test] = clf.predict(x[test])
    return round(np.mean(results), 2), round(np.mean(devs), 2), tuple(chosen), predicted.tolist()


def cross_validated(x: np.ndarray, y: np.ndarray, n: int, classes: int, k: int, how: dict[str, Any]) -> Any:
    """Train on the first n rows, and test on the others."""
    l2, dev = cross_validate(x[:n], y[:n], classes, k, how)
    clf = Slow(x.shape[1], classes, l2, **how)
    clf.fit(x[:n], y[:n], None)
    return round(100 * clf.score(x[n:], y[n:]), 2), dev, (l2,), clf.predict(x[n:]).tolist()


def split(x: np.ndarray, y: np.ndarray, n: int, m: int, classes: int, how: dict[str, Any]) -> Any:
    """Train on the first n rows, choose on rows n to m (dev), retrain the chosen classifier, and test on the others."""
    table = []
    for l2 in STRENGTHS:
        clf = Slow(x.shape[1], classes, l2, **how)
        clf.fit(x[:n], y[:n], (x[n:m], y[n:m]))
        table.append(round(100 * clf.score(x[n:m], y[n:m]), 2))
    l2 = STRENGTHS[np.argmax(table)]
    clf = Slow(x.shape[1], classes, l2, **how)
    clf.fit(x[:n], y[:n], (x[n:m], y[n:m]))
    return round(100 * clf.score(x[m:], y[m:]), 2), max(table), (l2,), clf.predict(x[m:]).tolist()
