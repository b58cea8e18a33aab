"""A run of the training loop as a function call."""

from likewise.train.settings import TrainSettings
from likewise.train.step_state import TrainResult
from likewise.train.trainer import Trainer


def run_trainer(model, data, settings=None, **options) -> TrainResult:
    """Trains the model in place; what is not given is left to `Trainer` and its `run`."""
    how = {name: options.pop(name) for name in ("resume", "stop") if name in options}
    return Trainer(model=model, data=data, settings=settings or TrainSettings(), **options).run(**how)
