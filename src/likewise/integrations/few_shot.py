"""A classifier from a few texts per class: the model learns which texts belong together, and a regression then
classifies them [extras: torch, scikit-learn].

As in SetFit (Tunstall et al. 2022, section 3), pairs of examples are labelled 1 if they belong to the same class and 0
otherwise, the embedder is trained to produce these cosines, and a logistic regression reads its vectors.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from ..array_types import Float
from ..embedder import Embedder
from ..engines.torch.torch_embedder import require_torch_engine
from ..errors import BadInput
from ..runtime.arguments import whole_number
from ..runtime.installation import missing_extra
from ..train import TrainSettings, load_data, train

try:
    from sklearn.linear_model import LogisticRegression
except ImportError:
    raise missing_extra("scikit-learn", "scikit-learn", "FewShotClassifier") from None


class FewShotClassifier:
    """Classifies texts after learning from a few examples per class.

    >>> FewShotClassifier("likewise-mini").fit(texts, labels).predict(["a new text"])    # doctest: +SKIP

    `fit` does not modify an embedder that you pass; `embedder` is the trained copy.
    """

    def __init__(
        self, model: str | Embedder, *, pairs: int = 20, settings: TrainSettings | None = None, seed: int = 0
    ) -> None:
        """Take a model's name or folder, or an embedder loaded with `engine="torch"`.

        For each example, draw `pairs` pairs within its class and as many with other classes, using `seed`. The default
        settings are one epoch with batches of 16 and a learning rate of 2e-5.
        """
        self.model, self.pairs, self.seed = model, whole_number("pairs", pairs), seed
        self.settings = settings or TrainSettings(epochs=1, batch_size=16, learning_rate=2e-5, show_progress_bar=False)

    def fit(self, texts: Sequence[str], labels: Sequence[Any]) -> "FewShotClassifier":
        """Learn from these examples."""
        if len(texts) != len(labels) or len(set(labels)) < 2:
            raise BadInput(
                f"there are {len(texts)} texts and {len(labels)} labels from {len(set(labels))} classes; expected "
                "one label per text and at least two classes"
            )
        given = self.model
        if not isinstance(given, Embedder):
            given = Embedder.load(given, engine="torch", precision="fp32")
        self.embedder = deepcopy(require_torch_engine(given, "FewShotClassifier"))
        train(self.embedder, load_data(label_pairs(texts, labels, self.pairs, self.seed), "regression"), self.settings)
        self.regression = LogisticRegression(max_iter=1000).fit(
            self.embedder.encode(texts, show_progress_bar=False), labels
        )
        return self

    def predict(self, texts: Sequence[str]) -> Any:
        """The class of each text."""
        return self.regression.predict(self.embedder.encode(texts, show_progress_bar=False))

    def predict_proba(self, texts: Sequence[str]) -> Float[np.ndarray, "N C"]:
        """The probability of each class, in the order of `classes_`."""
        return np.asarray(self.regression.predict_proba(self.embedder.encode(texts, show_progress_bar=False)))

    @property
    def classes_(self) -> Any:
        """The classes, in sorted order."""
        return self.regression.classes_


def label_pairs(texts: Sequence[str], labels: Sequence[Any], count: int, seed: int) -> dict[str, list[Any]]:
    """For each text, `count` partners from its own class with score 1, and `count` from other classes with score 0.

    A text that is the only one in its class has no partners with score 1.
    """
    random = np.random.default_rng(seed)
    of = {label: [i for i, other in enumerate(labels) if other == label] for label in set(labels)}
    columns: dict[str, list[Any]] = {"sentence1": [], "sentence2": [], "score": []}
    for i, label in enumerate(labels):
        own = [j for j in of[label] if j != i]
        others = [j for j, other in enumerate(labels) if other != label]
        for partners, score in ((own, 1.0), (others, 0.0)):
            for j in random.choice(partners, count) if partners else ():
                columns["sentence1"].append(texts[i])
                columns["sentence2"].append(texts[int(j)])
                columns["score"].append(score)
    return columns
