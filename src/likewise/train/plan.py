"""What a run will do, before it does anything: steps, warm-up, measures, and what is trained."""

from dataclasses import dataclass

from ..errors import BadInput
from .data.schedule import BatchSchedule
from .run import TrainSettings
from .step.processes import SINGLE_PROCESS, Processes


@dataclass(frozen=True)
class Plan:
    """The steps of a run. `steps_of_epoch` is None where a stream's end is not known."""

    steps: int
    steps_of_epoch: float | None
    measure_every: int
    warmup: int

    @classmethod
    def of(cls, curriculum: BatchSchedule, run: TrainSettings, processes: Processes = SINGLE_PROCESS) -> "Plan":
        """The plan of a run over these data.

        Raises:
            BadInput: a number makes no sense, or nobody says when to end.
        """
        _check(run)
        processes.own(run.batch)
        batches = curriculum.batches_of_epoch
        if batches is None and run.steps is None:
            raise BadInput("nobody knows where a stream ends; wanted steps (--steps)")
        epoch = None if batches is None else batches / run.accumulate
        steps = run.steps or max(1, round(run.epochs * (epoch or 0)))
        every = run.measure_every or (max(1, round(epoch)) if epoch is not None else steps)
        return cls(steps, epoch, every, round(run.optimization.warmup * steps))


def _check(run: TrainSettings) -> None:
    how = run.optimization
    above = {"steps": run.steps, "epochs": run.epochs, "batch": run.batch, "accumulate": run.accumulate}
    for name, value in {**above, "budget": run.budget, "rate": how.rate, "layer_decay": how.layer_decay}.items():
        if value is not None and not value > 0:
            raise BadInput(f"{name} is {value}; wanted a number above 0")
    least = {
        "seed": run.seed,
        "clip": how.clip,
        "patience": run.patience,
        "measure_every": run.measure_every,
        "decay": how.decay,
    }
    for name, value in {**least, "checkpoint_every": run.checkpoint_every}.items():
        if not value >= 0:
            raise BadInput(f"{name} is {value}; wanted 0 or more")
    for name, value in {"warmup": how.warmup, "ema": run.ema}.items():
        if not 0 <= value < 1:
            raise BadInput(f"{name} is {value}; wanted a share: 0 or more, and less than 1")
