"""How to train, as values: names, defaults and help of the command line's flags and of a TOML file are these fields.

Nothing here needs torch, so that `likewise train --help` does not either.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

Schedule = Literal["linear", "cosine", "constant"]
Mix = Literal["proportional", "round-robin"]
Checkpointing = Literal["all", "layers"]
TrainingPrecision = Literal["fp32", "bf16"]


@dataclass(frozen=True)
class Optimization:
    """How weights move. The defaults are the paper's: Adam, 2e-5, warm-up over 10 % of the steps, then down."""

    rate: Annotated[float, "of learning, at its highest"] = 2e-5
    decay: Annotated[float, "of weights; never of biases and norms"] = 0.01
    betas: Annotated[tuple[float, float], "of Adam's two means"] = (0.9, 0.999)
    eps: Annotated[float, "of Adam"] = 1e-6
    bias_correction: Annotated[
        bool, "of Adam; without it, as the authors' optimiser of 2019 (pytorch-transformers)"
    ] = True
    clip: Annotated[float, "the gradient's norm at most; 0: as it is"] = 1.0
    warmup: Annotated[float, "share of the steps in which the rate rises"] = 0.1
    schedule: Annotated[Schedule, "how the rate falls after"] = "linear"
    layer_decay: Annotated[float, "each block's rate in parts of that of the block above it"] = 1.0
    objective_rate: Annotated[float | None, "of an objective's own weights; as `rate`, where it is not told"] = None


@dataclass(frozen=True)
class Lora:
    """Low-rank adaptation (Hu et al. 2021): W + (alpha / rank) B A, where only A and B are trained; merged on save."""

    rank: Annotated[int, "of the change to a linear layer; 0: no adaptation, whole weights are trained"] = 0
    alpha: Annotated[float, "the change is multiplied by alpha / rank"] = 16.0
    layers: Annotated[tuple[str, ...], "which linear layers of each block"] = ("qkv", "out", "up", "down")


@dataclass(frozen=True)
class TrainSettings:
    """How to train."""

    epochs: Annotated[float, "passes over the data"] = 1.0
    steps: Annotated[int | None, "instead of epochs"] = None
    batch: Annotated[int, "rows"] = 16
    accumulate: Annotated[int, "batches of one step, whose gradients are averaged"] = 1
    budget: Annotated[
        int | None, "tokens in flight; with more, a step is worked off in pieces, to the same gradient"
    ] = None
    remember: Annotated[
        Checkpointing, "layers: only what goes between blocks, the rest is computed again (less memory)"
    ] = "all"
    precision: Annotated[TrainingPrecision, "of the products; weights and moments stay fp32"] = "fp32"
    optimization: Optimization = field(default_factory=Optimization)
    ema: Annotated[float, "0.999 say: a running mean of the weights is what is measured and saved; 0: the weights"] = (
        0.0
    )
    freeze: Annotated[tuple[str, ...], "what stays as it is: embeddings, blocks:0-3, pooling, heads"] = ()
    lora: Lora = field(default_factory=Lora)
    seed: Annotated[int, "of all that is drawn"] = 0
    mix: Annotated[Mix, "how the batches of several data sets follow each other"] = "proportional"
    measure_every: Annotated[int, "steps; 0: at the end of each epoch"] = 0
    checkpoint_every: Annotated[int, "steps; 0: only at the end"] = 500
    patience: Annotated[int, "measures without a new best before it stops; 0: never"] = 0


@dataclass(frozen=True)
class StepState:
    """One step, as it is told to logs and to people."""

    step: int
    steps: int
    epoch: float
    loss: float
    rate: float
    norm: float
    rows: int
    tokens: int
    seconds: float  # of the whole run so far
    scores: Mapping[str, float] = field(default_factory=dict)
    best: float | None = None  # of the first score, so far


@dataclass(frozen=True)
class TrainResult:
    """A run that ended: the steps made, the best measure and when, and whether it ended early, of itself or asked to.

    `trained` and `parameters` are numbers of weights: of those that were trained, and of all.
    """

    steps: int
    seconds: float
    best: float | None
    best_step: int | None
    stopped_early: bool
    interrupted: bool = False
    trained: int = 0
    parameters: int = 0
