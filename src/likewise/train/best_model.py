"""The best weights so far by evaluation score, and how many evaluations ago they were found."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(eq=False)
class BestModel:
    """Keeps a copy of the weights with the highest score; a score that is NaN is never the best."""

    score: float | None = None
    step: int | None = None
    weights: dict[str, Tensor] | None = None
    evaluations_since: int = 0

    def update(self, score: float, step: int, weights: Mapping[str, Tensor]) -> None:
        """Record one evaluation of these weights."""
        self.evaluations_since += 1
        if not math.isnan(score) and (self.score is None or score > self.score):
            self.score, self.step, self.evaluations_since = score, step, 0
            self.weights = {name: tensor.detach().clone() for name, tensor in weights.items()}

    def out_of_patience(self, patience: int) -> bool:
        """Whether this many evaluations in a row brought no new best; never with a patience of 0."""
        return 0 < patience <= self.evaluations_since

    def as_json(self) -> dict[str, Any]:
        """All but the weights, for a checkpoint."""
        return {"score": self.score, "step": self.step, "evaluations_since": self.evaluations_since}

    def restore(self, state: Mapping[str, Any], weights: Mapping[str, Tensor] | None, device: torch.device) -> None:
        """Continue from what a checkpoint holds."""
        self.score, self.step, self.evaluations_since = state["score"], state["step"], state["evaluations_since"]
        self.weights = None if weights is None else {name: tensor.to(device) for name, tensor in weights.items()}
