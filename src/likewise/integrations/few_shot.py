"""A classifier from a few texts per class: the model learns which texts belong together, and a regression then
classifies them [extra: torch].

As in SetFit (Tunstall et al. 2022, section 3), pairs of examples are labelled 1 if they share a label and 0 otherwise,
the embedder is trained to produce these cosines, and a logistic regression reads its vectors.
"""

from collections.abc import Sequence
from copy import deepcopy
from itertools import compress
from typing import Any

import numpy as np

from ..array_types import Bool, Float
from ..classify import Classifier
from ..classify.classifier import fit_classifier
from ..classify.labels import checked_rows, targets
from ..embedder import Embedder
from ..engines.torch.torch_embedder import require_torch_engine
from ..runtime.arguments import whole_number
from ..train import TrainSettings, load_data, train


class FewShotClassifier:
    """Learns a `Classifier` from a few examples per class, on a model that it trains for them.

    >>> FewShotClassifier("likewise-mini").fit(texts, labels).predict(["a new text"])    # doctest: +SKIP
    """

    def __init__(
        self, model: str | Embedder, *, pairs: int = 20, settings: TrainSettings | None = None, seed: int = 0
    ) -> None:
        """Take a model's name or folder, or an embedder loaded with `engine="torch"`.

        For each example, draw `pairs` pairs that share a label and as many that share none, using `seed`. The default
        settings are one epoch with batches of 16 and a learning rate of 2e-5.
        """
        self.model, self.pairs, self.seed = model, whole_number("pairs", pairs), seed
        self.settings = settings or TrainSettings(epochs=1, batch_size=16, learning_rate=2e-5, show_progress_bar=False)

    def fit(self, texts: Sequence[str], labels: Sequence[Any] | np.ndarray) -> Classifier:
        """Learn from these examples, with a label or a list of labels for each, as `Classifier.fit` does.

        The result's `embedder` is a trained copy; one that you pass is not modified. For each of up to five folds
        another copy is trained without the fold's texts, because a model is overconfident about texts that it has seen:
        this takes about five times as long as training once.

        Raises:
            BadInput: texts or labels cannot be learnt from; the message names the row.
        """
        rows = checked_rows(texts)
        wanted, given = targets(len(rows), labels), self.model
        if not isinstance(given, Embedder):
            given = Embedder.load(given, engine="torch", precision="fp32")
        model = require_torch_engine(given, "FewShotClassifier")

        def encoded(seen: Bool[np.ndarray, " N"]) -> tuple[Embedder, Float[np.ndarray, "N D"]]:
            embedder = deepcopy(model)
            pairs = label_pairs([*compress(rows, seen)], wanted.truth[seen], self.pairs, self.seed)
            train(embedder, load_data(pairs, "regression"), self.settings)
            return embedder, embedder.encode(rows, show_progress_bar=False)

        return fit_classifier(wanted, encoded, self.seed)


def label_pairs(texts: Sequence[str], truth: Float[np.ndarray, "N C"], count: int, seed: int) -> dict[str, list[Any]]:
    """For each text, `count` partners that share a label, with score 1, and `count` that share none, with score 0.

    A text without partners of one kind has no pairs of that kind.
    """
    random = np.random.default_rng(seed)
    columns: dict[str, list[Any]] = {"sentence1": [], "sentence2": [], "score": []}
    for i, labels in enumerate(truth):
        shared = truth @ labels > 0
        is_other = np.arange(len(texts)) != i
        for partners, score in ((shared & is_other, 1.0), (~shared & is_other, 0.0)):
            for j in random.choice(np.flatnonzero(partners), count) if partners.any() else ():
                columns["sentence1"].append(texts[i])
                columns["sentence2"].append(texts[int(j)])
                columns["score"].append(score)
    return columns
