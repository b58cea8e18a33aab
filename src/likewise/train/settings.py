"""Training settings: one flat list, shared by Python, the flags of `likewise train` and its TOML file.

This module does not import torch, so `likewise train --help` does not import it either.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from .setting_fields import parse_value, settings_of

LearningRateSchedule = Literal["linear", "cosine", "constant"]
DataMixing = Literal["proportional", "round-robin"]
TrainingPrecision = Literal["fp32", "bf16"]

_LENGTH = "length and batches"
_OPTIMIZER = "optimizer and learning rate"
_MEMORY = "memory and speed"
_TRAINED = "which weights are trained"
_EVALUATION = "evaluation, checkpoints and logging"


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """How to train. The optimizer's defaults follow Sentence-BERT: 2e-5, warm-up over 10 % of the steps, linear decay.

    >>> TrainSettings(epochs=3, batch_size=64, learning_rate=2e-5, gradient_checkpointing=True).batch_size
    64
    """

    epochs: Annotated[float, "passes over the training data", _LENGTH] = 1.0
    max_steps: Annotated[int | None, "train for this many steps instead of --epochs", _LENGTH] = None
    batch_size: Annotated[int, "rows per batch, summed over all processes", _LENGTH] = 16
    gradient_accumulation_steps: Annotated[
        int, "batches per step; the step uses the mean of their gradients", _LENGTH
    ] = 1
    data_mixing: Annotated[
        DataMixing, "order of batches from several data sets: drawn in proportion to their sizes, or in turn", _LENGTH
    ] = "proportional"
    seed: Annotated[int, "random seed for data order, dropout and weight initialization", _LENGTH] = 0

    learning_rate: Annotated[float, "peak learning rate", _OPTIMIZER] = 2e-5
    lr_schedule: Annotated[
        LearningRateSchedule, "learning rate after the warm-up: linear or cosine decay to 0, or constant", _OPTIMIZER
    ] = "linear"
    warmup_ratio: Annotated[float, "fraction of the steps over which the learning rate rises from 0", _OPTIMIZER] = 0.1
    weight_decay: Annotated[float, "decoupled weight decay (AdamW), except for biases and norms", _OPTIMIZER] = 0.01
    max_grad_norm: Annotated[float, "gradients are clipped to this norm; 0 turns clipping off", _OPTIMIZER] = 1.0
    layer_lr_decay: Annotated[
        float, "each block's learning rate is this factor times that of the block above", _OPTIMIZER
    ] = 1.0
    learning_rates: Annotated[
        Mapping[str, float],
        "peak learning rates by regular expression, searched for in the names of weights; the last one that matches"
        " overrides --learning-rate and layer_lr_decay",
        _OPTIMIZER,
    ] = field(default_factory=dict)
    objective_learning_rate: Annotated[
        float | None, "peak learning rate for the objective's own weights; --learning-rate if not given", _OPTIMIZER
    ] = None
    adam_betas: Annotated[tuple[float, float], "Adam's decay rates for the gradient and its square", _OPTIMIZER] = (
        0.9,
        0.999,
    )
    adam_epsilon: Annotated[float, "Adam's epsilon, added to the denominator", _OPTIMIZER] = 1e-6
    adam_bias_correction: Annotated[
        bool, "apply Adam's bias correction, which BERT's own optimizer omitted", _OPTIMIZER
    ] = True
    ema_decay: Annotated[
        float,
        "decay per step of an exponential moving average of the weights (try 0.999), which is then evaluated and"
        " saved; 0 turns it off",
        _OPTIMIZER,
    ] = 0.0

    precision: Annotated[
        TrainingPrecision, "precision of matrix multiplications; weights and optimizer state stay fp32", _MEMORY
    ] = "fp32"
    gradient_checkpointing: Annotated[
        bool, "keep only the activations between blocks and recompute the rest: saves memory, but is slower", _MEMORY
    ] = False
    max_tokens_per_step: Annotated[
        int | None,
        "maximum number of tokens encoded at once; a larger batch is processed in parts that give the same gradient."
        " Halved automatically when memory runs out",
        _MEMORY,
    ] = None

    freeze: Annotated[
        tuple[str, ...], "parts that stay frozen: embeddings, blocks:0-3, encoder, pooling, heads", _TRAINED
    ] = ()
    lora_rank: Annotated[
        int,
        "rank of LoRA adapters, which are merged at the end and also saved in OUTPUT/adapter; 0 trains all weights",
        _TRAINED,
    ] = 0
    lora_alpha: Annotated[float, "LoRA updates are scaled by alpha / rank", _TRAINED] = 16.0
    lora_layers: Annotated[tuple[str, ...], "linear layers of each block that get a LoRA adapter", _TRAINED] = (
        "qkv",
        "out",
        "up",
        "down",
    )

    eval_steps: Annotated[
        int, "steps between evaluations on --dev; 0 evaluates at the end of each epoch", _EVALUATION
    ] = 0
    early_stopping_patience: Annotated[
        int, "stop after this many evaluations without a new best score; 0 never stops early", _EVALUATION
    ] = 0
    save_steps: Annotated[int, "steps between checkpoints; 0 saves only at the end", _EVALUATION] = 500
    logging_steps: Annotated[int, "steps between lines of log.jsonl", _EVALUATION] = 1
    tensorboard: Annotated[bool, "also write TensorBoard event files to OUTPUT/tensorboard", _EVALUATION] = False
    show_progress_bar: Annotated[bool, "show progress, loss and scores on stderr", _EVALUATION] = True

    def __post_init__(self) -> None:
        for name, setting in settings_of(type(self)).items():  # type: ignore[arg-type]
            object.__setattr__(self, name, parse_value(setting, getattr(self, name), type(self).__name__))

    def identity(self) -> dict[str, Any]:
        """The settings that determine the result: a run resumes only from a checkpoint written with the same values."""
        return {name: value for name, value in asdict(self).items() if name not in CHANGEABLE}


CHANGEABLE = (
    *("save_steps", "logging_steps", "tensorboard", "show_progress_bar"),
    *("max_tokens_per_step", "gradient_checkpointing"),
)
"""Settings that may change on resuming: gradients stay the same, except that splitting a batch changes its dropout."""

REPORTING_ONLY = ("logging_steps", "tensorboard", "show_progress_bar")
"""Settings that do not affect the model, so its card does not list them."""
