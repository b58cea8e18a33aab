"""How classifiers are trained in each mode: batched (fast), or sequentially as SentEval does (faithful)."""

from ...runtime.installation import missing_extra
from ..task import Mode
from .classifier import TrainClassifiers


def classifier_trainer(mode: Mode) -> TrainClassifiers:
    """The training function of a mode.

    Raises:
        MissingExtra: torch is not installed.
    """
    try:
        from . import batched, sequential
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise missing_extra("torch", "torch", "Training SentEval's classifiers") from error
    return {"fast": batched.train_batched, "faithful": sequential.train_sequential}[mode]
