"""How to train, as values: their fields are the names of the command line's flags and of a TOML file, with defaults.

Nothing here needs torch, so that `likewise train --help` does not either.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Schedule = Literal["linear", "cosine", "constant"]
Mix = Literal["proportional", "round-robin"]
Remember = Literal["all", "layers"]
TrainingPrecision = Literal["fp32", "bf16"]


@dataclass(frozen=True)
class Optimization:
    """How weights move. The defaults are the paper's: Adam, 2e-5, warm-up over 10 % of the steps, then down."""

    rate: float = 2e-5  # of learning, at its highest
    decay: float = 0.01  # of weights; never of biases and norms
    betas: tuple[float, float] = (0.9, 0.999)  # of Adam's two means
    eps: float = 1e-6  # of Adam
    bias_correction: bool = True  # of Adam; without it, as the authors' optimiser of 2019 (pytorch-transformers)
    clip: float = 1.0  # the gradient's norm at most; 0: as it is
    warmup: float = 0.1  # share of the steps in which the rate rises
    schedule: Schedule = "linear"  # how the rate falls after
    layer_decay: float = 1.0  # each block's rate in parts of that of the block above it
    objective_rate: float | None = None  # of an objective's own weights; as `rate`, where it is not told


@dataclass(frozen=True)
class Lora:
    """Low-rank adaptation (Hu et al. 2021): W + (alpha / rank) B A, where only A and B are trained; merged on save."""

    rank: int = 0  # of the change to a linear layer; 0: no adaptation, whole weights are trained
    alpha: float = 16.0  # the change is multiplied by alpha / rank
    layers: tuple[str, ...] = ("qkv", "out", "up", "down")  # which linear layers of each block


@dataclass(frozen=True)
class Run:
    """How to train."""

    epochs: float = 1.0  # passes over the data
    steps: int | None = None  # instead of epochs
    batch: int = 16  # rows
    accumulate: int = 1  # batches of one step, whose gradients are averaged
    budget: int | None = None  # tokens in flight; with more, a step is worked off in pieces, to the same gradient
    remember: Remember = "all"  # layers: only what goes between blocks, the rest is computed again (less memory)
    precision: TrainingPrecision = "fp32"  # of the products; weights and moments stay fp32
    optimization: Optimization = field(default_factory=Optimization)
    ema: float = 0.0  # 0.999 say: a running mean of the weights is what is measured and saved; 0: the weights
    freeze: tuple[str, ...] = ()  # what stays as it is: embeddings, blocks:0-3, pooling, heads
    lora: Lora = field(default_factory=Lora)
    seed: int = 0  # of all that is drawn
    mix: Mix = "proportional"  # how the batches of several data sets follow each other
    measure_every: int = 0  # steps; 0: at the end of each epoch
    checkpoint_every: int = 500  # steps; 0: only at the end
    patience: int = 0  # measures without a new best before it stops; 0: never


@dataclass(frozen=True)
class Moment:
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


@dataclass(frozen=True)
class Outcome:
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
