"""A run of the training loop as a function call."""

from likewise.train.settings import TrainSettings
from likewise.train.step_state import TrainResult
from likewise.train.trainer import Trainer, never_stop


def run_trainer(model, data, settings=None, *, resume=True, stop=never_stop, **options) -> TrainResult:
    """Trains the model in place."""
    trainer = Trainer(model=model, data=data, settings=settings or TrainSettings(), **options)
    return trainer.run(resume=resume, stop=stop)
