"""Code that recipes share: loading data by name, and training, evaluating, saving and recording a model."""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from likewise.data.column_names import ColumnNames
from likewise.data.datasets import check_dataset, dataset_credit, load_dataset, read_dataset
from likewise.data.leaks import find_leaks, text_columns
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import LikewiseError, ModelNotFound
from likewise.evaluate.runner import evaluate
from likewise.evaluate.task import EvaluationSettings
from likewise.evaluate.tasks.registry import TASKS, select_tasks
from likewise.evaluate.tasks.sts import STS_NAMES
from likewise.model_files import locate
from likewise.model_files.provenance import UNKNOWN_PROVENANCE, Provenance, provenance, write_provenance
from likewise.model_names import load_torch_embedder
from likewise.runtime.devices import device_and_dtype as placed_at
from likewise.runtime.progress import StatusLine
from likewise.runtime.untrusted_files import read_object
from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.data.sources import load_data
from likewise.train.evaluators import SpearmanEvaluator
from likewise.train.objectives import Objective
from likewise.train.output.record import (
    RECORD,
    TrainingJob,
    append_result_line,
    data_description,
    training_record,
    write_record,
)
from likewise.train.output.run_folder import finished_record, save_finished, train_in_folder
from likewise.train.settings import TrainSettings
from likewise.train.step.trainable import Trainable
from likewise.train.step_state import TrainResult

from ..measuring.mean_interval import average_interval
from .flags import OUTPUT, paper_settings
from .soup import COUNT, has_fewer_runs, soup_in_folder

MAX_LENGTH = 130  # tokens: the authors' 128 plus two special ones
DEV = "stsb/dev"


def start(recipe: Callable[[], Any]) -> None:
    """Run a recipe's `main` from a shell: an error prints one line, and an interruption exits with status 130."""
    warnings.showwarning = lambda message, *_: print(f"likewise: note: {message}", file=sys.stderr)  # type: ignore
    try:
        recipe()
    except KeyboardInterrupt:
        sys.exit(130)
    except LikewiseError as error:
        sys.exit(f"likewise: {error}")


def backbone(args: argparse.Namespace, pooling: str | None = None, name: str | Path | None = None) -> TorchEmbedder:
    """The model to start from, in fp32, with the authors' maximum input length."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*pooling")  # a plain folder has no pooling; recipes choose one
        model = load_torch_embedder(name or args.backbone, precision="fp32", device=args.device, pooling=pooling)
    return placed(model, args)


def placed(embedder: TorchEmbedder, args: argparse.Namespace) -> TorchEmbedder:
    """Move the model to the flags' device, and set the authors' maximum input length."""
    torch.set_num_threads(args.threads or torch.get_num_threads())
    embedder.to(placed_at(args.device, "fp32")[0])
    embedder.tokenizer = replace(embedder.tokenizer, max_seq_length=min(MAX_LENGTH, embedder.tokenizer.max_seq_length))
    return embedder


def data_by_name(name: str, objective: Objective, args: argparse.Namespace, **columns: Any) -> DataSource:
    """Rows of a named data set for an objective; `columns` is as in `ColumnNames`."""
    source = load_data(name, objective, ColumnNames(**columns))
    assert isinstance(source.rows, TrainingRows)
    return replace(source, rows=sample_rows(source.rows, args.rows))


def sentences(name: str, args: argparse.Namespace) -> TrainingRows:
    """The distinct texts of a data set, in order, as a column named `sentence`."""
    columns = load_dataset(name).columns
    texts = dict.fromkeys(text for column in text_columns(columns) for text in columns[column])
    return sample_rows(TrainingRows({"sentence": list(texts)}, {}), args.rows)


def sample_rows(rows: TrainingRows, count: int | None) -> TrainingRows:
    """A random sample of the rows, in order; all seeds get the same one, so that they differ in nothing else."""
    if count is None or count >= len(rows):
        return rows
    return picked_rows(rows, np.sort(np.random.default_rng(0).permutation(len(rows))[:count]))


def picked_rows(rows: TrainingRows, sample: Sequence[int] | np.ndarray) -> TrainingRows:
    """The rows at these positions."""
    texts = {name: [column[i] for i in sample] for name, column in rows.texts.items()}
    return replace(rows, texts=texts, numbers={name: values[sample] for name, values in rows.numbers.items()})


@dataclass(frozen=True)
class Recipe:
    """A run of a named recipe. `before` describes the data of earlier stages, and `origin` where these started."""

    name: str
    args: argparse.Namespace
    folder: Path | None = None
    dev: str | None = DEV
    tasks: Sequence[str] = ()  # besides the seven STS tasks
    scores: Mapping[str, Any] = field(default_factory=dict)  # scores from elsewhere, by name
    before: Sequence[Mapping[str, Any]] = ()
    origin: Mapping[str, Any] | None = None
    identity: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""  # other facts that a table must mention
    base: str | None = None  # the backbone's fingerprint, if the trained model was built from it
    learned: Sequence[str] = ()  # data sets learned indirectly, for example through a teacher
    without_test_texts: bool = False  # whether texts of test sets were left out
    random_weights: bool = False  # whether all weights are new rather than the backbone's
    leaks: Sequence[str] = ()  # overlaps with test sets in earlier stages
    whole: bool = True  # whether earlier stages used all of their data
    pairs: bool = False  # for a reranker, which has no vectors and is evaluated on STS-B only
    stage: bool = False  # for a stage of a larger recipe, which is not evaluated or recorded

    def train(self, model: Trainable, sources: Sequence[DataSource], settings: TrainSettings) -> dict[str, Any]:
        """Train or resume, evaluate, save, append the line, and return the record; a finished run is only printed.

        If the backbone is a finished run's folder, the record describes that run followed by this one.
        """
        earlier = _run_of(str(self.args.backbone)) if self.origin is None else {}
        if earlier:
            return self._after(earlier).train(model, sources, settings)
        folder = self.folder or folder_of(self.name, self.args)
        job = self._job(model, sources, settings)
        record = None if self.args.fresh or has_fewer_runs(folder, job) else finished_record(folder, job)
        if record is None:
            result = self._trained(folder, job)
            if result.interrupted:
                raise KeyboardInterrupt
            scores = {} if self.stage else {**self._scores(model, folder.name), **self.scores}
            leaks = () if self.stage else (*self.leaks, *test_leaks(sources, self._tasks()))
            job = replace(job, leaks=leaks, provenance=self._provenance(model, sources))
            record = save_finished(job, result, folder, scores)
        if not self.stage:
            append_result_line(self.args.record, record, folder.name, **self._line(record))
            print_result(record, folder)
        return record

    def _trained(self, folder: Path, job: TrainingJob) -> TrainResult:
        resume = not self.args.fresh
        if self.args.soup > 1:
            return soup_in_folder(folder, job, self.args.soup, resume=resume)
        return train_in_folder(folder, job, resume=resume)

    def evaluate(
        self, embedder: TorchEmbedder, sources: Sequence[DataSource] = (), seconds: float = 0.0
    ) -> dict[str, Any]:
        """Evaluate a model that was fitted without training steps or not at all; append a line; save it if fitted."""
        earlier = _run_of(str(self.args.backbone)) if self.origin is None else {}
        if earlier:
            return self._after(earlier).evaluate(embedder, sources, seconds)
        settings = TrainSettings(max_steps=0, seed=self.args.seed)
        if sources:
            settings = paper_settings(self.args)
        leaks = (*self.leaks, *test_leaks(sources, self._tasks()))
        job = replace(self._job(embedder, sources, settings), leaks=leaks)
        folder = self.folder or folder_of(self.name, self.args)
        scores = self._scores(embedder, self.name)
        record = training_record(job, TrainResult(seconds=seconds), scores)
        if sources:
            embedder.save(folder)
            write_record(folder, record)
            write_provenance(folder, self._provenance(embedder, sources))
        append_result_line(self.args.record, record, folder.name if sources else self.name, **self._line(record))
        print(_score_line(record))
        return record

    def _after(self, earlier: Mapping[str, Any]) -> "Recipe":
        recipe = earlier["recipe"] or "training"
        rows, fingerprint = sum(one.get("rows") or 0 for one in earlier["data"]), earlier["model"]["fingerprint"][:8]
        return replace(
            self,
            name=f"{recipe}, {self.name}",
            folder=self.folder or folder_of(self.name, self.args),
            before=[*earlier["data"], *self.before],
            origin=earlier["backbone"],
            note=", ".join(filter(None, (f"after {recipe} on {rows:,} rows ({fingerprint})", self.note))),
            learned=[*earlier["identity"].get("learned", ()), *self.learned],
            leaks=[*earlier.get("leaks", ()), *self.leaks],
            whole=earlier["identity"].get("whole", False),
        )

    def _job(self, model: Trainable, sources: Sequence[DataSource], settings: TrainSettings) -> TrainingJob:
        data = [*self.before, *(data_description(one, **dataset_credit(one.name)) for one in sources)]
        name = str(self.args.backbone)
        base = {"name": named_shortly(name), "fingerprint": self.base or model.fingerprint}
        return TrainingJob(
            model=model,
            sources=sources,
            settings=settings,
            backbone=self.origin or {**base, "local": Path(name).exists()},
            data=data,
            identity={
                "backbone": self.base or model.fingerprint,
                "whole": self._is_whole(),
                "learned": list(self.learned),
                "data": [d["digest"] for d in data],
                "dev": self.dev,
                **({COUNT: self.args.soup} if self.args.soup > 1 else {}),
                **self.identity,
            },
            evaluator=SpearmanEvaluator(read_dataset(self.dev), self.dev) if self.dev else None,
            recipe=self.name,
        )

    def _provenance(self, model: Trainable, sources: Sequence[DataSource]) -> Provenance:
        own = [of["name"] for one in sources for of in one.info.get("of", [{"name": one.name}])]
        before = UNKNOWN_PROVENANCE if self.random_weights else provenance(model)
        return before.after(self.learned, own) if self.without_test_texts else before.after([*own, *self.learned])

    def _tasks(self) -> list[str]:
        if self.pairs:
            return ["stsb"]
        if self.args.tasks is not None:
            return [task.name for task in select_tasks(self.args.tasks)]
        return [*(["stsb-dev"] if self.dev == DEV else []), *STS_NAMES, *self.tasks]

    def _is_whole(self) -> bool:
        return self.whole and self.args.rows is None and self.args.max_steps is None

    def _scores(self, model: Trainable, name: str) -> dict[str, Any]:
        if self.pairs:
            files = {"stsb-dev": DEV, "stsb": "stsb/test"}
            return {
                task: {"value": _spearman(model, file), "n": len(read_dataset(file)["score"])}
                for task, file in files.items()
            }
        line = StatusLine()
        result = evaluate({name: model}, self._tasks(), settings=EvaluationSettings(resamples=1_000), callback=line)
        line.close(f"evaluated on {len(result.cells) - len(result.failed)} tasks")
        scores = {}
        for cell in result.cells.values():
            if cell.result is None:
                print(f"likewise: note: {cell.task} was not measured: {cell.error}", file=sys.stderr)
                continue
            head = cell.result.headline
            between = {k: v for k, v in asdict(head.interval).items() if k != "value"} if head.interval else {}
            scores[KEYS.get(cell.task, cell.task)] = {**between, "value": head.value, "n": head.n}
        average = average_interval(result, name, STS_NAMES)
        return scores | ({} if average is None else {"avg": asdict(average)})

    def _line(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Other facts that a table needs: whether all data were used, and whether they are the published data."""
        files = [one["name"] for one in record["data"]] + [name for task in self._tasks() for name in TASKS[task].data]
        other = [name for name in dict.fromkeys(files) if check_dataset(name).state in ("changed", "unchecked")]
        run = record["run"]
        how = []
        if record["result"]["steps"]:
            how += ["Adam corrected"] if self.args.adam_bias_correction else []
            how += [f"mean of {self.args.soup} runs"] if self.args.soup > 1 else []
            how += [f"running mean {self.args.ema_decay:g}"] if self.args.ema_decay else []
        return {
            "whole": self._is_whole(),
            **({"stsb_train": True} if "stsb" in self.learned else {}),
            "other_data": other,
            "pooling": record["model"].get("pooling", "pairs"),
            "objective": record["data"][-1]["objective"] if record["data"] else {"objective": "none"},
            "epochs": run["epochs"],
            "batch": run["batch_size"],
            "rate": run["learning_rate"],
            "precision": run["precision"],
            **({"note": note} if (note := ", ".join(filter(None, (self.note, *how)))) else {}),
            **{key: None for key in (*(KEYS.get(t, t) for t in STS_NAMES), "avg") if key not in record["scores"]},
        }


KEYS = {"sick-r": "sickr"}
"""The column names in training.jsonl of tasks whose own names differ."""


def folder_of(recipe: str, args: argparse.Namespace) -> Path:
    """The folder for a run, unless the flags name another."""
    return args.output or OUTPUT / f"{recipe}-{Path(str(args.backbone)).name}-{args.seed}"


def test_leaks(sources: Sequence[DataSource], tasks: Sequence[str]) -> Iterator[str]:
    """The texts and pairs that the training data share with each test set, one sentence each."""
    for one in sources:
        assert isinstance(one.rows, TrainingRows)
        texts = {"text" if name == "sentence" else name: list(column) for name, column in one.rows.texts.items()}
        for name in dict.fromkeys(file for task in tasks for file in TASKS[task].data):
            if check_dataset(name).state != "missing":
                (leak,) = find_leaks({one.name: texts}, {name: read_dataset(name)})
                if leak.texts:
                    sentences = f"{leak.texts:,} of the {leak.of_texts:,} distinct sentences of {name}"
                    yield f"{one.name} has {sentences}, and {leak.pairs:,} of its {leak.of_pairs:,} pairs."


def _spearman(model: Trainable, name: str) -> float:
    return next(iter(SpearmanEvaluator(read_dataset(name), name)(model).values()))


def _score_line(record: Mapping[str, Any]) -> str:
    return " · ".join(f"{name} {100 * score['value']:.2f}" for name, score in record["scores"].items())


def print_result(record: Mapping[str, Any], folder: Path) -> None:
    """Print the scores in one line, and the model's folder."""
    print(_score_line(record))
    print(f"{record['result']['steps']:,} steps in {record['result']['seconds']:,.0f} s; saved in {folder}")


def named_shortly(name: str | Path) -> str:
    """A model's name, or the last part of its folder, so that lists contain no private paths."""
    return Path(name).resolve().name if Path(name).exists() else str(name)


def _run_of(name: str) -> dict[str, Any]:
    try:
        return read_object(locate(name) / RECORD)
    except ModelNotFound:
        return {}
