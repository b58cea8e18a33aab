"""`train` trains a model and saves it in a folder, as the command `likewise train` does."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..data.columns import columns_digest
from ..engines.torch.torch_embedder import TorchEmbedder
from ..errors import BadInput
from ..model_files.provenance import provenance
from ..runtime.atomic_files import check_not_input, check_writable_folder
from .data.schedule import DataSource
from .evaluators import PairEvaluator, load_evaluator, with_data_prompts
from .output.record import TrainingJob, data_description
from .output.run_folder import finished_weights, run_in_folder, train_job
from .settings import TrainSettings
from .step.processes import process_group
from .step.trainable import Trainable, check_objective, check_same_labels, model_kind
from .step_state import TrainResult
from .trainer import Callback, Evaluator


def train(
    model: Trainable | str | Path,
    data: DataSource | Sequence[DataSource],
    settings: TrainSettings | None = None,
    *,
    output: str | Path | None = None,
    evaluator: Evaluator | str | Path | None = None,
    callbacks: Sequence[Callback] = (),
    resume: bool = True,
) -> TrainResult:
    """Train a model in place, with live progress, and save it as `likewise train` does.

    >>> from likewise.train import TrainSettings, load_data, train
    >>> train("bert-base-uncased", load_data("pairs.parquet", "contrastive"), TrainSettings(epochs=1, batch_size=64),
    ...       output="out", evaluator="stsb/dev")  # doctest: +SKIP

    During training, the `output` folder holds checkpoints and a log; afterwards, it holds the model with its card
    (README.md), training curve, log and record (run.json). Repeating the call resumes from the last checkpoint or, if
    the run is finished, loads the finished weights into the model. On Ctrl-C, training finishes the current step,
    writes a checkpoint and returns a result marked `interrupted`.

    Args:
        model: an embedder or reranker in fp32, or an embedder's name or folder (the trained model is then only in
            `output`).
        data: a data source (rows with their objective, from `load_data`), or a list of data sources, whose batches are
            mixed.
        settings: how to train.
        output: the folder for the finished model, which must not be the folder of `model`; if omitted, nothing is
            saved.
        evaluator: scores the model before and during training; the best model is kept. Either a callable, or a file or
            data set of pairs with the columns sentence1, sentence2 and score; anchor and positive (to be found among
            all positives); or, for classifiers, sentence1, sentence2 and label.
        callbacks: called with a `StepState` after every step.
        resume: False deletes the checkpoints and the finished run in `output` and starts over.

    Raises:
        Diverged: the loss, a weight or the model's output is NaN or infinite.
    """
    settings = settings or TrainSettings()
    sources = [data] if isinstance(data, DataSource) else data
    _check_types(model, sources, settings, output, evaluator, callbacks)
    if output is not None:
        check_writable_folder(Path(output))
    elif isinstance(model, str | Path):
        raise BadInput("without an output folder the trained model would be lost; pass output, or a loaded model")
    with process_group() as processes:
        name, loaded = _loaded(model)
        if output is not None:
            check_not_input(Path(output), _folders(loaded))
        if isinstance(evaluator, str | Path):
            evaluator = with_data_prompts(load_evaluator(evaluator, labels=getattr(loaded, "labels", 1)), sources)
        job = training_job(name, loaded, list(sources), settings, evaluator)
        if output is None:
            return train_job(job, callbacks)
        run = run_in_folder(Path(output), job, resume=resume, callbacks=callbacks, is_main=processes.is_main)
        if run.was_finished:
            finished_weights(job, Path(output))
        return run.result


def _check_types(model: Any, data: Any, settings: Any, output: Any, evaluator: Any, callbacks: Any) -> None:
    """Reject arguments of `train` that have the wrong type."""
    name = str | Path
    given = {
        "model": (model, isinstance(model, name | Trainable), LOADED),
        "data": (data, _all(data, lambda one: isinstance(one, DataSource)), LOADED_DATA),
        "settings": (settings, isinstance(settings, TrainSettings), "TrainSettings, such as TrainSettings(epochs=1)"),
        "output": (output, isinstance(output, name | None), "a folder"),
        "evaluator": (
            evaluator,
            isinstance(evaluator, name | None) or callable(evaluator),
            "a callable, or a file or data set of pairs",
        ),
        "callbacks": (callbacks, _all(callbacks, callable), "a list of callables"),
    }
    for argument, (value, fits, expected) in given.items():
        if not fits:
            raise BadInput(f"{argument} is {value!r:.80}; expected {expected}")


LOADED = 'an embedder or reranker loaded with engine="torch", precision="fp32", or an embedder\'s name or folder'
LOADED_DATA = "load_data(file, objective), such as load_data('pairs.csv', 'contrastive'), or a list of such sources"


def _all(values: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, str) and all(map(fits, values))


def training_job(
    name: str, model: Trainable, sources: Sequence[DataSource], settings: TrainSettings, evaluator: Evaluator | None
) -> TrainingJob:
    """Gather everything needed to train and to describe the run; `name` is the model's name before training."""
    for source in sources:
        check_objective(model, source.objective)
    if len(own := getattr(model, "labels", ())) > 1:
        check_same_labels(
            [("the model", own), *((source.name, getattr(source.rows, "labels", ())) for source in sources)]
        )
    descriptions, fingerprint = [data_description(source) for source in sources], model.fingerprint
    return TrainingJob(
        model=model,
        sources=sources,
        settings=settings,
        backbone={"name": name, "fingerprint": fingerprint, "local": Path(name).exists()},
        data=descriptions,
        identity={
            "kind": model_kind(model),
            "backbone": fingerprint,
            "data": [one["digest"] for one in descriptions],
            "dev": None if evaluator is None else _evaluator_identity(evaluator),
        },
        evaluator=evaluator,
        provenance=provenance(model).after(source.dataset for source in sources if source.dataset),
    )


def _evaluator_identity(evaluator: Evaluator) -> str:
    """An evaluator's identity: the name and a digest of its pairs, or the module and name of a callable."""
    if isinstance(evaluator, PairEvaluator):
        prompts = {"prompts": sorted(evaluator.prompts.items())} if evaluator.prompts else {}
        return f"{evaluator.name} ({columns_digest({**evaluator.columns, **prompts})[:12]})"
    defined = evaluator if hasattr(evaluator, "__qualname__") else type(evaluator)
    return f"{defined.__module__}.{defined.__qualname__}"


def _folders(model: Trainable) -> list[Path]:
    """The encoder's folder and, if the encoder is in a sub-folder, the model's."""
    encoder = Path(model.manifest.encoder)
    return [encoder, encoder.parent] if (encoder.parent / "modules.json").exists() else [encoder]


def _loaded(model: Trainable | str | Path) -> tuple[str, Trainable]:
    """The model's name and the loaded model; a model that was passed already loaded is named after its folder."""
    if isinstance(model, str | Path):
        return str(model), TorchEmbedder.load(model, precision="fp32")
    return str(model.manifest.encoder), model
