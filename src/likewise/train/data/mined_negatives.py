"""Hard negatives that are mined again during training, with the current model (Xiong et al. 2021, ANCE).

>>> data = with_mined_negatives(load_data("pairs.csv", "contrastive"), MiningSettings(k=3), every=500)  # doctest: +SKIP
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from torch import Tensor

from ...array_types import Int
from ...embedder import Embedder
from ...errors import BadInput
from ...mine.hard_negatives import mine_negatives
from ...mine.settings import MiningPrompts, MiningSettings


class MinedColumn(Sequence[str]):
    """The current i-th negative of each row."""

    def __init__(self, candidates: Sequence[str], chosen: Int[Tensor, " N"]) -> None:
        self.candidates, self.chosen = candidates, chosen

    def __len__(self) -> int:
        return len(self.chosen)

    def __getitem__(self, row: int) -> str:  # type: ignore[override]  # slices are never used
        return self.candidates[int(self.chosen[row])]


@dataclass(frozen=True, eq=False, kw_only=True)
class MinedNegatives:
    """How the negatives of N rows are mined, and which candidates are currently chosen."""

    anchors: Sequence[str]
    positives: Sequence[str]
    candidates: Sequence[str]
    settings: MiningSettings
    prompts: MiningPrompts
    every: int
    chosen: Int[Tensor, "N k"] = field(repr=False)

    def describe(self) -> str:
        """What determines the negatives, besides the rows and the model."""
        return f"{self.settings} every {self.every} steps from {len(self.candidates)} texts ({self._digest})"

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256("\0".join(self.candidates).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def mined(self, model: Embedder) -> list[list[int]]:
        """Mine k negatives for each row with this model; returns their indices in the candidates."""
        corpus = list(self.candidates)
        result = mine_negatives(
            self.anchors,
            self.positives,
            model,
            corpus=corpus,
            settings=self.settings,
            prompts=self.prompts,
            show_progress_bar=False,
        )
        if len(result.rows) < len(self.anchors):
            row = min({*range(len(self.anchors))} - {*result.rows.tolist()})
            raise BadInput(
                f"row {row} has fewer than {self.settings.k} texts that are not known positives; lower k, or pass a "
                "corpus with more texts"
            )
        found: list[list[int]] = result.indices.tolist()
        return found
