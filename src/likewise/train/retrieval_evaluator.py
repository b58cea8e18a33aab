"""The evaluator for pairs without a score: does each anchor find its positive among all positives?"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..engines.torch.torch_embedder import TorchEmbedder
from ..errors import BadInput
from ..evaluate.statistics.significance import intervals
from ..search import search
from .step.trainable import Trainable, model_kind

DEPTH = 10
FOUND = "mrr@10"


@dataclass(frozen=True, eq=False)
class RetrievalEvaluator:
    """MRR@10 of an embedder: 1 / the place at which an anchor's first positive is found, 0 beyond the tenth, averaged.

    The documents are all distinct texts of `positive`, and of every column whose name begins with `negative`; they are
    ranked by cosine similarity, as by `likewise evaluate --data`.
    """

    columns: Mapping[str, Sequence[str]]
    name: str = "dev"

    def __post_init__(self) -> None:
        if len(self._documents) < 2:
            raise BadInput(f"{self.name}: all positives are the same text; expected two or more to choose from")

    def __call__(self, model: Trainable) -> dict[str, float]:
        return {f"{self.name} {FOUND}": float(self.reciprocal_ranks(model).mean())}

    def final_scores(self, model: Trainable) -> dict[str, dict[str, Any]]:
        """With a bootstrap interval over the anchors."""
        rows = self.reciprocal_ranks(model)
        (found,) = intervals([rows], statistic="mean")
        return {f"{self.name} {FOUND}": {**asdict(found), "n": len(rows)}}

    def reciprocal_ranks(self, model: Trainable) -> Float[np.ndarray, " N"]:
        """For each distinct anchor 1 / the place of the first of its positives, 0 if it is beyond the tenth."""
        if not isinstance(model, TorchEmbedder):
            raise BadInput(
                f"{self.name} has pairs without a score, which evaluate embedders; the model is a {model_kind(model)}. "
                "Expected pairs with sentence1, sentence2 and score, such as stsb/dev"
            )
        relevant = self._relevant()
        queries, documents = (
            model.encode(texts, show_progress_bar=False, overflow="truncate")
            for texts in (list(relevant), self._documents)
        )
        ranked = search(queries, documents, k=min(DEPTH, len(documents))).indices
        rows = np.array([np.isin(row, positives) for row, positives in zip(ranked, relevant.values(), strict=True)])
        return np.where(rows.any(1), 1 / (1 + rows.argmax(1)), 0.0)

    def _relevant(self) -> dict[str, list[int]]:
        number = {text: i for i, text in enumerate(self._documents)}
        relevant: dict[str, list[int]] = {}
        for anchor, positive in zip(self.columns["anchor"], self.columns["positive"], strict=True):
            relevant.setdefault(anchor, []).append(number[positive])
        return relevant

    @property
    def _documents(self) -> list[str]:
        names = ["positive", *(name for name in self.columns if name.startswith("negative"))]
        return list(dict.fromkeys(text for name in names for text in self.columns[name]))
