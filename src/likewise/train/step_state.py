"""Reports of a run: a `StepState` for callbacks after every step, and a `TrainResult` at the end."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class StepState:
    """One step, as passed to callbacks.

    Step 0 stands for the model before training. It is reported only if there is an evaluator, and contains only scores:
    its loss, learning rate and gradient norm are NaN.
    """

    step: int
    max_steps: int
    epoch: float = 0.0
    loss: float = float("nan")
    learning_rate: float = float("nan")
    gradient_norm: float = float("nan")
    rows: int = 0
    tokens: int = 0
    seconds: float = 0.0  # of the whole run so far, without interruptions
    scores: Mapping[str, float] = field(default_factory=dict)
    best_score: float | None = None  # highest value of the first score so far


@dataclass(frozen=True, kw_only=True)
class TrainResult:
    """The result of a run: its steps, its scores, and why it ended.

    `initial_scores` are the scores before the first step; `best_score` is the highest value of the first score during
    training. `trained_parameters` counts the trained weights, `parameters` all weights.
    """

    steps: int = 0
    seconds: float = 0.0
    initial_scores: Mapping[str, float] = field(default_factory=dict)
    best_score: float | None = None
    best_step: int | None = None
    stopped_early: bool = False
    interrupted: bool = False
    trained_parameters: int = 0
    parameters: int = 0
