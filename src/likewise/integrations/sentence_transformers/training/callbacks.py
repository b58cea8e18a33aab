"""Trainer callbacks with the events and names of transformers; callbacks written for transformers work too."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ....errors import BadInput


@dataclass
class TrainerState:
    """The progress of a run; saved with each checkpoint as trainer_state.json."""

    epoch: float = 0.0
    global_step: int = 0
    max_steps: int = 0
    num_train_epochs: float = 0
    train_batch_size: int = 0
    logging_steps: int = 500
    eval_steps: int = 500
    save_steps: int = 500
    log_history: list[dict[str, Any]] = field(default_factory=list)
    best_metric: float | None = None
    best_global_step: int | None = None
    best_model_checkpoint: str | None = None
    total_loss: float = 0.0
    """The sum of the losses of all steps."""
    patience_counters: list[int] = field(default_factory=list)
    """The number of evaluations without improvement that each EarlyStoppingCallback has counted."""
    is_local_process_zero = is_world_process_zero = True


@dataclass
class TrainerControl:
    """What callbacks ask the trainer to do after a step."""

    should_training_stop: bool = False
    should_epoch_stop: bool = False
    should_save: bool = False
    should_evaluate: bool = False
    should_log: bool = False


class TrainerCallback:
    """The base class of callbacks: override events, which are called with `args`, `state`, `control` and more.

    An event may change `control`. `model` and, for some events, `logs` or `metrics` are passed by keyword.
    """

    def on_init_end(self, args: Any, state: TrainerState, control: TrainerControl, **more: Any) -> None: ...
    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **more: Any) -> None: ...
    def on_train_end(self, args: Any, state: TrainerState, control: TrainerControl, **more: Any) -> None: ...
    def on_epoch_begin(self, args: Any, state: TrainerState, control: TrainerControl, **more: Any) -> None: ...
    def on_epoch_end(self, args: Any, state: TrainerState, control: TrainerControl, **more: Any) -> None: ...
    def on_step_begin(self, args: Any, state: TrainerState, control: TrainerControl, **more: Any) -> None: ...
    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **more: Any) -> None: ...
    def on_evaluate(self, args: Any, state: TrainerState, control: TrainerControl, **more: Any) -> None: ...
    def on_save(self, args: Any, state: TrainerState, control: TrainerControl, **more: Any) -> None: ...
    def on_log(self, args: Any, state: TrainerState, control: TrainerControl, **more: Any) -> None: ...


UNCALLED = ("on_substep_end", "on_pre_optimizer_step", "on_optimizer_step", "on_prediction_step", "on_predict")
"""Events of transformers that are never called here: they happen within a step or in unsupported methods."""


class EarlyStoppingCallback(TrainerCallback):
    """Stops the run after this many consecutive evaluations whose metric has not improved by more than a threshold."""

    def __init__(self, early_stopping_patience: int = 1, early_stopping_threshold: float = 0.0) -> None:
        if early_stopping_patience < 1 or early_stopping_threshold < 0:
            raise BadInput(
                f"early_stopping_patience is {early_stopping_patience} and early_stopping_threshold "
                f"{early_stopping_threshold}; expected a patience of at least 1 and a threshold of 0 or more"
            )
        self.early_stopping_patience = early_stopping_patience
        self.early_stopping_threshold = early_stopping_threshold
        self.early_stopping_patience_counter = 0

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **more: Any) -> None:  # noqa: ARG002
        if args.metric_for_best_model is None or args.eval_strategy == "no":
            raise BadInput("EarlyStoppingCallback needs metric_for_best_model, and eval_strategy 'steps' or 'epoch'")

    def on_evaluate(self, args: Any, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        value = metric_value(args.metric_for_best_model, more["metrics"])
        best, sign = state.best_metric, 1 if args.greater_is_better else -1
        improved = best is None or sign * (value - best) > self.early_stopping_threshold
        self.early_stopping_patience_counter = 0 if improved else self.early_stopping_patience_counter + 1
        if self.early_stopping_patience_counter >= self.early_stopping_patience:
            control.should_training_stop = True


def metric_value(metric: str, metrics: Mapping[str, float]) -> float:
    """The value of `metric_for_best_model` in the results of `evaluate`."""
    name = metric if metric.startswith("eval_") else f"eval_{metric}"
    if name not in metrics:
        raise BadInput(f"metric_for_best_model is {name!r}, but the evaluation returned {', '.join(metrics)}")
    return metrics[name]


def check_callback(callback: Any) -> Any:
    """Return the callback, instantiating a class; reject overridden events that are never called here."""
    made = callback() if isinstance(callback, type) else callback
    base = next((one for one in type(made).__mro__ if one.__name__ == "TrainerCallback"), TrainerCallback)
    overridden = [name for name in UNCALLED if getattr(type(made), name, None) is not getattr(base, name, None)]
    if overridden:
        raise BadInput(f"{type(made).__name__} overrides {overridden[0]}, which is never called here; use on_step_end")
    return made
