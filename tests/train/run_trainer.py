"""What tests of training share: a model on the CPU, rows with their objective, a run, copies of weights."""

from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.settings import TrainSettings
from likewise.train.step_state import TrainResult
from likewise.train.trainer import Trainer
from tests.train.columns import columns_for


def run_trainer(model, data, settings=None, **options) -> TrainResult:
    """Trains the model in place; what is not given is left to `Trainer` and its `run`."""
    how = {name: options.pop(name) for name in ("resume", "stop") if name in options}
    return Trainer(model=model, data=data, settings=settings or TrainSettings(), **options).run(**how)


def load(folder, **options) -> TorchEmbedder:
    return TorchEmbedder.load(folder, device="cpu", **options)


def source(objective, rows=24, columns=None, name="data") -> DataSource:
    """Rows that suit the objective, or these columns."""
    rows = TrainingRows.of(columns_for(objective, rows) if columns is None else columns, objective)
    return DataSource(rows, objective, name)


def weights_of(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}
