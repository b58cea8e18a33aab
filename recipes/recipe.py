"""What recipes share: their flags, data by name, and the way to a folder with a model, measured and recorded."""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from likewise import Embedder
from likewise.data.datasets import check_dataset, dataset_credit, load_dataset, read_dataset
from likewise.data.leaks import find_leaks, text_columns
from likewise.errors import LikewiseError, ModelNotFound
from likewise.evaluate.runner import evaluate
from likewise.evaluate.task import EvaluationSettings
from likewise.evaluate.tasks.registry import TASKS
from likewise.evaluate.tasks.sts import STS_NAMES
from likewise.model_files import locate
from likewise.model_files.provenance import UNKNOWN_PROVENANCE, Provenance, provenance, write_provenance
from likewise.model_names import load_named_embedder
from likewise.runtime.devices import device_and_dtype as placed_at
from likewise.runtime.progress import StatusLine
from likewise.runtime.untrusted_files import read_object
from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.data.sources import ColumnNames, ColumnTable, read_rows
from likewise.train.evaluators import SpearmanEvaluator
from likewise.train.objectives import Objective
from likewise.train.output.record import RECORD as RUN
from likewise.train.output.record import append_result_line, data_description, training_record, write_record
from likewise.train.output.run_folder import TrainingJob, finished_record, run_identity, save_finished, train_in_folder
from likewise.train.run import Optimization, TrainResult, TrainSettings
from likewise.train.step.trainable import Trainable

RECORD = Path(__file__).parent.parent / "benchmarks" / "results" / "training.jsonl"
LONGEST = 130  # tokens: the authors' 128 and the two special ones
DEV = "stsb/dev"


def flags(
    told: str | None, *, backbone: str | None = None, epochs: float = 1, batch: int = 16, rate: float = 2e-5
) -> argparse.ArgumentParser:
    """A parser with what every recipe has; `told` is its docstring, the numbers its own defaults."""
    parser = argparse.ArgumentParser(description=(told or "").split("\n")[0], epilog=(told or "").partition("\n")[2])
    add = parser.add_argument
    add("backbone", nargs="?" if backbone else None, default=backbone, help="a model's name or folder")
    add("-o", "--output", type=Path, metavar="FOLDER", help="of the model (out/RECIPE-BACKBONE-SEED)")
    add("--seed", type=int, default=0, metavar="N", help="of all that is drawn (%(default)s)")
    add("--epochs", type=float, default=epochs, metavar="X", help="passes over the data (%(default)g)")
    add("--batch", type=int, default=batch, metavar="N", help="rows of a step (%(default)s)")
    add("--rate", type=float, default=rate, metavar="X", help="of learning, at its highest (%(default)g)")
    add("--rows", type=int, metavar="N", help="train on so many rows, drawn at random, the same for every seed")
    add("--steps", type=int, metavar="N", help="stop after so many steps")
    add("--threads", type=int, metavar="N", help="CPU threads")
    add("--device", help="cpu, cuda …; the GPU if there is one")
    add("--precision", choices=("fp32", "bf16"), default="fp32", help="of the products (%(default)s)")
    add("--corrected", action="store_true", help="Adam corrects its means for having begun at 0; the authors' did not")
    add("--ema", type=float, default=0.0, metavar="X", help="0.99 say: a running mean of the weights is what remains")
    add("--fresh", action="store_true", help="begin anew; without it the same command goes on from its last checkpoint")
    add("--record", type=Path, default=RECORD, metavar="FILE", help="where a line about the run is added")
    return parser


def start(recipe: Callable[[], Any]) -> None:
    """Runs a recipe's `main` for a shell: errors as one line, 130 where it was stopped."""
    warnings.showwarning = lambda message, *_: print(f"likewise: note: {message}", file=sys.stderr)  # type: ignore
    try:
        recipe()
    except KeyboardInterrupt:
        sys.exit(130)
    except LikewiseError as error:
        sys.exit(f"likewise: {error}")


def backbone(args: argparse.Namespace, pooling: str | None = None, name: str | Path | None = None) -> Embedder:
    """The model to begin from, in fp32, reading as many tokens as the authors' did."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*pooling")  # a plain folder names none; recipes say theirs
        found = load_named_embedder(name or args.backbone, precision="fp32", device=args.device, pooling=pooling)
    return placed(found, args)


def placed(embedder: Embedder, args: argparse.Namespace) -> Embedder:
    """On the device that is asked for, and cut to the authors' longest input."""
    torch.set_num_threads(args.threads or torch.get_num_threads())
    embedder.to(placed_at(args.device, "fp32")[0])
    embedder.tokenizer = replace(embedder.tokenizer, max_length=min(LONGEST, embedder.tokenizer.max_length))
    return embedder


def run_of(args: argparse.Namespace, **more: Any) -> TrainSettings:
    """The paper's optimisation: Adam as its authors had it, without correction of its means, 10 % warm-up."""
    adam = Optimization(rate=args.rate, bias_correction=args.corrected)
    told = {"epochs": args.epochs, "steps": args.steps, "batch": args.batch, "seed": args.seed}
    return TrainSettings(**{"optimization": adam, "precision": args.precision, "ema": args.ema, **told, **more})


def course(name: str, objective: Objective, args: argparse.Namespace, **columns: Any) -> DataSource:
    """Rows of a data set by its name, for an objective; `columns` are those of `ColumnNames`."""
    found = read_rows(ColumnTable(load_dataset(name).columns), objective, ColumnNames(**columns))
    assert isinstance(found, TrainingRows)
    return DataSource(some(found, args.rows), objective, name)


def sentences(name: str, args: argparse.Namespace) -> TrainingRows:
    """The distinct texts of a data set, in their order, as a column `sentence`."""
    found = load_dataset(name).columns
    texts = dict.fromkeys(text for column in text_columns(found) for text in found[column])
    return some(TrainingRows({"sentence": list(texts)}, {}), args.rows)


def some(found: TrainingRows, count: int | None) -> TrainingRows:
    """So many of the rows, in their order; the choice is no seed's, so that seeds differ in nothing else."""
    if count is None or count >= len(found):
        return found
    which = np.sort(np.random.default_rng(0).permutation(len(found))[:count])
    texts = {name: [column[i] for i in which] for name, column in found.texts.items()}
    return replace(found, texts=texts, numbers={name: values[which] for name, values in found.numbers.items()})


@dataclass(frozen=True)
class Recipe:
    """A run by the name of its recipe. `before` describes data of earlier stages, `origin` what these began from."""

    name: str
    args: argparse.Namespace
    folder: Path | None = None
    dev: str | None = DEV
    tasks: Sequence[str] = ()  # beside the seven
    figures: Mapping[str, Any] = field(default_factory=dict)  # scores from elsewhere, by name
    before: Sequence[Mapping[str, Any]] = ()
    origin: Mapping[str, Any] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""  # what a table must tell besides
    base: str | None = None  # the backbone's fingerprint, where what is trained was made from it
    learned: Sequence[str] = ()  # data sets that came in otherwise, through a teacher say
    less_tests: bool = False  # texts that a test has were left out
    anew: bool = False  # no weight is the backbone's
    leaks: Sequence[str] = ()  # of earlier stages
    whole: bool = True  # earlier stages used all of their data
    pairs: bool = False  # it is a reranker, which has no vectors: measured on STS-B alone
    stage: bool = False  # of a larger recipe: neither measured nor recorded

    def carry_out(self, embedder: Trainable, courses: Sequence[DataSource], run: TrainSettings) -> dict[str, Any]:
        """Trains or goes on, measures, saves, adds the line, and gives the record; done already, it only says so.

        A backbone that is a finished run's folder is told as that run's, with this one after it.
        """
        earlier = _run_of(str(self.args.backbone)) if self.origin is None else {}
        if earlier:
            return self._after(earlier).carry_out(embedder, courses, run)
        folder = self.folder or folder_of(self.name, self.args)
        work = self._work(embedder, courses, run)
        record = None if self.args.fresh else finished_record(folder, work)
        if record is None:
            outcome = train_in_folder(folder, work, fresh=self.args.fresh)
            if outcome.interrupted:
                raise KeyboardInterrupt
            scores = {} if self.stage else {**self._scores(embedder, folder.name), **self.figures}
            seen = self._seen(embedder, courses)
            known = () if self.stage else (*self.leaks, *known_of_tests(courses, self._tasks()))
            record = save_finished(replace(work, leaks=known, provenance=seen), outcome, folder, scores)
        if not self.stage:
            append_result_line(self.args.record, record, folder.name, **self._line(record))
            say(record, folder)
        return record

    def made(self, embedder: Embedder, courses: Sequence[DataSource] = (), seconds: float = 0.0) -> dict[str, Any]:
        """A model that was made without steps, or left as it is: measured, and a line added; saved, if made."""
        earlier = _run_of(str(self.args.backbone)) if self.origin is None else {}
        if earlier:
            return self._after(earlier).made(embedder, courses, seconds)
        run = TrainSettings(steps=0, seed=self.args.seed, precision=self.args.precision)
        work = self._work(embedder, courses, run)
        folder = self.folder or folder_of(self.name, self.args)
        record = training_record(
            embedder,
            run,
            TrainResult(0, seconds, None, None, False),
            backbone=work.backbone,
            data=work.data,
            scores=self._scores(embedder, self.name),
            recipe=self.name,
            identity=run_identity(work),
        )
        if courses:
            embedder.save(folder)
            write_record(folder, record)
            write_provenance(folder, self._seen(embedder, courses))
        append_result_line(self.args.record, record, folder.name if courses else self.name, **self._line(record))
        print(_figures(record))
        return record

    def _after(self, earlier: Mapping[str, Any]) -> "Recipe":
        """This recipe as the second of two."""
        recipe = earlier["recipe"] or "training"
        read_rows, known = sum(one.get("rows") or 0 for one in earlier["data"]), earlier["model"]["fingerprint"][:8]
        return replace(
            self,
            name=f"{recipe}, {self.name}",
            folder=self.folder or folder_of(self.name, self.args),
            before=[*earlier["data"], *self.before],
            origin=earlier["backbone"],
            note=", ".join(filter(None, (f"after {recipe} on {read_rows:,} rows ({known})", self.note))),
            learned=[*earlier["identity"].get("learned", ()), *self.learned],
            leaks=[*earlier.get("leaks", ()), *self.leaks],
            whole=earlier["identity"].get("whole", False),
        )

    def _work(self, embedder: Trainable, courses: Sequence[DataSource], run: TrainSettings) -> TrainingJob:
        data = [*self.before, *(data_description(one, **dataset_credit(one.name)) for one in courses)]
        name = str(self.args.backbone)
        base = {"name": named_shortly(name), "fingerprint": self.base or embedder.fingerprint}
        return TrainingJob(
            embedder=embedder,
            courses=courses,
            run=run,
            backbone=self.origin or {**base, "local": Path(name).exists()},
            data=data,
            about={
                "backbone": self.base or embedder.fingerprint,
                "whole": self._is_whole(),
                "learned": list(self.learned),
                "data": [d["digest"] for d in data],
                "dev": self.dev,
                **self.about,
            },
            measure=SpearmanEvaluator(read_dataset(self.dev), self.dev) if self.dev else None,
            recipe=self.name,
        )

    def _seen(self, embedder: Trainable, courses: Sequence[DataSource]) -> Provenance:
        """What the backbone had seen, a teacher, and now the model."""
        own = [one.name for one in courses]
        before = UNKNOWN_PROVENANCE if self.anew else provenance(embedder)
        return before.after(self.learned, own) if self.less_tests else before.after([*own, *self.learned])

    def _tasks(self) -> list[str]:
        if self.pairs:
            return ["stsb"]
        return [*(["stsb-dev"] if self.dev == DEV else []), *STS_NAMES, *self.tasks]

    def _is_whole(self) -> bool:
        return self.whole and self.args.rows is None and self.args.steps is None

    def _scores(self, embedder: Trainable, name: str) -> dict[str, Any]:
        """Every task that its data are at hand for, and the mean of the seven."""
        if self.pairs:
            files = {"stsb-dev": DEV, "stsb": "stsb/test"}
            return {
                task: {"value": _likeness(embedder, file), "n": len(read_dataset(file)["score"])}
                for task, file in files.items()
            }
        line = StatusLine()
        found = evaluate({name: embedder}, self._tasks(), settings=EvaluationSettings(resamples=1_000), callback=line)
        line.close(f"measured on {len(found.cells) - len(found.failed)} tasks")
        scores = {}
        for cell in found.cells.values():
            if cell.result is None:
                print(f"likewise: note: {cell.task} was not measured: {cell.error}", file=sys.stderr)
                continue
            head = cell.result.headline
            between = {k: v for k, v in asdict(head.interval).items() if k != "value"} if head.interval else {}
            scores[KEYS.get(cell.task, cell.task)] = {**between, "value": head.value, "n": head.n}
        average = found.average(name, STS_NAMES)
        return scores | ({} if np.isnan(average) else {"avg": {"value": average}})

    def _line(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """What else a table must know: whether all data were used, and whether they are the ones known."""
        files = [one["name"] for one in record["data"]] + [name for task in self._tasks() for name in TASKS[task].data]
        other = [name for name in dict.fromkeys(files) if check_dataset(name).state in ("changed", "unchecked")]
        run = record["run"]
        how = []
        if record["outcome"]["steps"]:  # without steps no optimizer had a say
            how += ["Adam corrected"] if self.args.corrected else []
            how += [f"running mean {self.args.ema:g}"] if self.args.ema else []
        return {
            "whole": self._is_whole(),
            **({"stsb_train": True} if "stsb" in self.learned else {}),
            "other_data": other,
            "pooling": record["model"].get("pooling", "pairs"),
            "objective": record["data"][-1]["objective"] if record["data"] else {"objective": "none"},
            "epochs": run["epochs"],
            "batch": run["batch"],
            "rate": run["optimization"]["rate"],
            "precision": run["precision"],
            **({"note": note} if (note := ", ".join(filter(None, (self.note, *how)))) else {}),
            **{key: None for key in (*(KEYS.get(t, t) for t in STS_NAMES), "avg") if key not in record["scores"]},
        }


KEYS = {"sick-r": "sickr"}
"""Names of tasks as columns of training.jsonl, where they differ."""


def folder_of(recipe: str, args: argparse.Namespace) -> Path:
    """Where a run is, unless the flags say so."""
    return args.output or Path("out") / f"{recipe}-{Path(str(args.backbone)).name}-{args.seed}"


def known_of_tests(courses: Sequence[DataSource], tasks: Sequence[str]) -> Iterator[str]:
    """What the training data have of each test, in a sentence."""
    for one in courses:
        assert isinstance(one.rows, TrainingRows)
        texts = {"text" if name == "sentence" else name: list(column) for name, column in one.rows.texts.items()}
        for name in dict.fromkeys(file for task in tasks for file in TASKS[task].data):
            if check_dataset(name).state != "missing":
                (leak,) = find_leaks({one.name: texts}, {name: read_dataset(name)})
                if leak.texts:
                    sentences = f"{leak.texts:,} of the {leak.of_texts:,} distinct sentences of {name}"
                    yield f"{one.name} has {sentences}, and {leak.pairs:,} of its {leak.of_pairs:,} pairs."


def _likeness(model: Trainable, name: str) -> float:
    return next(iter(SpearmanEvaluator(read_dataset(name), name)(model).values()))


def _figures(record: Mapping[str, Any]) -> str:
    return " · ".join(f"{name} {100 * score['value']:.2f}" for name, score in record["scores"].items())


def say(record: Mapping[str, Any], folder: Path) -> None:
    """The scores in one line, and where the model is."""
    print(_figures(record))
    print(f"{record['outcome']['steps']:,} steps in {record['outcome']['seconds']:,.0f} s; saved in {folder}")


def named_shortly(name: str | Path) -> str:
    """A model's name, of a folder its last part: a path of one's own belongs in no list."""
    return Path(name).resolve().name if Path(name).exists() else str(name)


def _run_of(name: str) -> dict[str, Any]:
    """The record of the finished run that the name leads to, if it is one."""
    try:
        return read_object(locate(name) / RUN)
    except ModelNotFound:
        return {}
