"""Few-shot classification: an embedder is fine-tuned on a few texts per class, then a logistic regression classifies
its vectors [extra: torch].

As in SetFit (Tunstall et al. 2022, section 3), pairs of examples get the target 1 if they share a label and 0
otherwise, and the embedder is trained to produce these targets as cosines.
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
    """Fine-tunes an embedder on a few examples per class, and fits a `Classifier` on its vectors.

    >>> FewShotClassifier("likewise-mini").fit(texts, labels).predict(["a new text"])    # doctest: +SKIP
    """

    def __init__(
        self, model: str | Embedder, *, pairs: int = 20, settings: TrainSettings | None = None, seed: int = 0
    ) -> None:
        """Pass a model's name or folder, or an embedder loaded with `engine="torch"`.

        For each example, `pairs` pairs with a common label and as many without one are drawn, using `seed`. The default
        settings are one epoch with a batch size of 16 and a learning rate of 2e-5.
        """
        self.model, self.pairs, self.seed = model, whole_number("pairs", pairs), seed
        self.settings = settings or TrainSettings(epochs=1, batch_size=16, learning_rate=2e-5, show_progress_bar=False)

    def fit(self, texts: Sequence[str], labels: Sequence[Any] | np.ndarray) -> Classifier:
        """Learn from these examples, with a label or a list of labels for each, as `Classifier.fit` does.

        The result's `embedder` is a trained copy; an embedder that you pass is not modified. For each of up to five
        folds, another copy is trained without the fold's texts, because a model is overconfident about texts that it
        was trained on. This takes about five times as long as training once.

        Raises:
            BadInput: the texts or labels are invalid; the message names the row.
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
    """For each text, `count` pairs with a common label (score 1) and `count` without one (score 0).

    A text without candidates for one kind of pair gets no pairs of that kind.
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
