"""The plan of a run, computed before it starts: steps, warm-up and evaluations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import BadInput
from .data.schedule import Schedule
from .objectives import Objective
from .setting_fields import settings_of
from .settings import TrainSettings
from .step.processes import SINGLE_PROCESS, Processes


@dataclass(frozen=True)
class Plan:
    """The steps of a run. `steps_per_epoch` is None if the length of the data is unknown (a stream)."""

    max_steps: int
    steps_per_epoch: float | None
    eval_steps: int
    warmup_steps: int

    @classmethod
    def of(cls, schedule: Schedule, settings: TrainSettings, processes: Processes = SINGLE_PROCESS) -> "Plan":
        """Plan a run over these data; reject settings that are out of range or would have no effect."""
        check_ranges(settings)
        check_used(settings, [source.objective for source in schedule.sources])
        processes.local_rows(settings.batch_size)
        batches = schedule.batches_per_epoch
        if batches is None and settings.max_steps is None:
            raise BadInput("the length of a stream is unknown, so epochs cannot be counted; set max_steps")
        epoch = None if batches is None else batches / settings.gradient_accumulation_steps
        steps = settings.max_steps or max(1, round(settings.epochs * (epoch or 0)))
        eval_steps = settings.eval_steps or (max(1, round(epoch)) if epoch is not None else steps)
        return cls(steps, epoch, eval_steps, round(settings.warmup_ratio * steps))


ABOVE_ZERO = (
    *("max_steps", "epochs", "batch_size", "gradient_accumulation_steps", "max_tokens_per_step"),
    *("learning_rate", "objective_learning_rate", "layer_lr_decay", "logging_steps"),
)
NOT_NEGATIVE = (
    *("seed", "max_grad_norm", "early_stopping_patience", "eval_steps", "weight_decay", "save_steps", "adam_epsilon"),
)
FRACTIONS = ("warmup_ratio", "ema_decay")


def check_used(settings: TrainSettings, objectives: Sequence[Objective]) -> None:
    """Reject LoRA settings without a rank, and a learning rate for objectives that have no weights."""
    for name in ("lora_alpha", "lora_layers"):
        if not settings.lora_rank and getattr(settings, name) != settings_of(TrainSettings)[name].default:
            raise BadInput(f"{name} has no effect without lora_rank; set lora_rank too, or leave {name} out")
    trained = any(p.requires_grad for objective in objectives for p in objective.parameters())
    if settings.objective_learning_rate is not None and not trained:
        names = ", ".join(dict.fromkeys(type(objective).__name__ for objective in objectives))
        raise BadInput(f"objective_learning_rate has no effect: {names} has no weights of its own; leave it out")


def check_evaluated(settings: TrainSettings, evaluates: bool) -> None:
    """Reject evaluation settings if there is no evaluator."""
    for name in () if evaluates else ("eval_steps", "early_stopping_patience"):
        if getattr(settings, name) > 0:
            raise BadInput(f"{name} has no effect without an evaluator; add one (--dev), or leave {name} out")


def check_ranges(settings: TrainSettings) -> None:
    """Reject numbers that are out of range."""
    for name in ABOVE_ZERO:
        value = getattr(settings, name)
        if value is not None and not value > 0:
            raise BadInput(f"{name} is {value}; expected a number above 0")
    for name in NOT_NEGATIVE:
        if not getattr(settings, name) >= 0:
            raise BadInput(f"{name} is {getattr(settings, name)}; expected 0 or more")
    for pattern, rate in settings.learning_rates.items():
        if not 0 < rate < math.inf:
            raise BadInput(f"learning_rates has {rate} for {pattern!r}; expected a number above 0 (or use freeze)")
    for name in FRACTIONS:
        if not 0 <= getattr(settings, name) < 1:
            raise BadInput(f"{name} is {getattr(settings, name)}; expected a fraction: 0 or more, and below 1")
    for name in settings_of(TrainSettings):
        value = getattr(settings, name)
        if isinstance(value, float) and not math.isfinite(value):
            raise BadInput(f"{name} is {value}; expected a finite number")
    if not all(0 <= beta < 1 for beta in settings.adam_betas):
        raise BadInput(f"adam_betas is {settings.adam_betas}; expected two fractions: 0 or more, and below 1")
