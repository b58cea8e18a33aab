"""How classifiers are trained in each mode: batched (fast), or sequentially as SentEval does (faithful)."""

from ...runtime.installation import missing_extra
from ..task import Mode
from .batched import train_batched
from .classifier import TrainClassifiers


def classifier_trainer(mode: Mode) -> TrainClassifiers:
    """The training function of a mode.

    Raises:
        MissingExtra: the mode is faithful, and torch is not installed.
    """
    return {"fast": lambda: train_batched, "faithful": _sequential}[mode]()


def _sequential() -> TrainClassifiers:
    try:
        from .sequential import train_sequential
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise missing_extra("torch", "torch", "SentEval's own training (--faithful)") from error
    return train_sequential
