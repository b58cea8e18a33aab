"""Evaluate models on tasks: each cell is computed once or read from the cache, and one failure does not stop the rest.

results = evaluate(["all-MiniLM-L6-v2", my_function], "sts")
results["all-MiniLM-L6-v2", "stsb"].value
"""

import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from ..data import datasets
from ..data.columns import DatasetColumns
from ..errors import BadInput, DataNotFound, LikewiseError
from ..runtime.progress import format_duration
from .cache import Cache, columns_digest, json_digest, source_digest
from .cached_encode import CachedEncode, TextsCallback
from .leak_notes import leak_note
from .models import EvaluatedModel, LoadModel, OpenedModel, models_to_evaluate
from .results import Cell, Results, from_json, to_json, without_secondary_evidence
from .statistics.comparison import estimates
from .statistics.significance import Interval
from .task import Encode, EvaluationSettings, Evidence, ReadDataset, Result, Score, Task, as_vectors
from .tasks.registry import TASKS, select_tasks

TRANSDUCTIVE = "transductive: the model was fitted on the texts of the task itself, never on their labels"
NOT_REACHED = "not reached before the end of the run"
SECONDARY_RESAMPLES = 1_000  # for scores other than the headline
NUMBERS = re.compile(r"\b\d[\d,]*\b")
TOLERANCE = 1e-3  # rounding difference allowed between a score and the value its evidence gives


@dataclass(frozen=True)
class EvaluationProgress:
    """Progress of a run: the current cell, cells done and in total, its texts done and in total, and seconds left."""

    model: str
    task: str
    done: int
    total: int
    texts: int
    total_texts: int
    seconds_left: float | None
    so_far: Callable[[], Results] = field(repr=False, compare=False)
    """The results of the cells that are done; the others say that they were not reached."""

    def __str__(self) -> str:
        texts = f" · {self.texts:,} of {self.total_texts:,} texts" if self.total_texts else ""
        left = "" if self.seconds_left is None else f" · about {format_duration(self.seconds_left)} left"
        return f"{self.model} · {self.task} ({self.done + 1} of {self.total}){texts}{left}"


ProgressCallback = Callable[[EvaluationProgress], None]


def evaluate(
    models: Any,
    tasks: str | Task | Sequence[str | Task] = "sts",
    *,
    settings: EvaluationSettings | None = None,
    read: ReadDataset | None = None,
    cache: Cache | None = None,
    load: LoadModel | None = None,
    callback: ProgressCallback | None = None,
) -> Results:
    """Evaluate every model on every task.

    A text must always get the same vector, whichever texts are encoded with it, since a text shared by several tasks is
    encoded once. A model that learns from the texts it encodes offers `fitted` instead (see `evaluate.models`).

    Args:
        models: one or several of: an embedder, a model's name, "package.module:function" (your own code, which is
            imported), a function of a list of texts, an object with `encode`; or a mapping of names to these.
        tasks: names of tasks or suites, separated by commas, or `Task` objects; `data_task("pairs.csv")` evaluates on
            your own data.
        settings: settings shared by all tasks, among them the seed and the number of bootstrap resamples.
        read: reads a data set by name (default: `data.datasets.read_dataset`).
        cache: where vectors and results are stored, so that an interrupted run continues (default: nothing is stored).
        load: loads a model by name (default: `model_names.load_model`).
        callback: called with the progress of the run.

    Raises:
        BadInput: an unknown task, or no model.
        LikewiseError: no model could be loaded. Any other failure is recorded in its cell.
    """
    selected = select_tasks(tasks)
    evaluated = models_to_evaluate(models, load)
    run = _Run(settings or EvaluationSettings(), _CachedReader(read or datasets.read_dataset), cache)
    cells: dict[tuple[str, str], Cell] = {}
    notes: list[str] = []
    names = tuple(entry.name for entry in evaluated)

    def so_far() -> Results:
        missing = {(m, t.name): Cell(m, t.name, error=NOT_REACHED) for m in names for t in selected}
        return Results(names, selected, {**missing, **cells}, run.settings, tuple(notes))

    progress = _Progress(callback, len(evaluated) * len(selected), so_far)
    errors: list[Exception] = []
    for entry in evaluated:
        try:
            model = entry.open()
        except Exception as error:
            errors.append(error)
            cells.update({(entry.name, t.name): Cell(entry.name, t.name, error=_reason(error)) for t in selected})
            progress.skip(len(selected))
            continue
        for task, cell in _row(entry, model, selected, run, progress):
            cells[entry.name, task.name] = cell  # one by one, for `so_far`
        notes += [f"{entry.name}: {note}" for note in model.notes]
        notes += filter(None, [leak_note(entry.name, model.provenance, selected)])
        if cache is not None:
            cache.prune()
    if len(errors) == len(evaluated):
        raise errors[0]
    return so_far()


@dataclass(frozen=True)
class _Run:
    """What all cells of a run share."""

    settings: EvaluationSettings
    read: "_CachedReader"
    cache: Cache | None

    def key(self, model: OpenedModel, task: Task) -> str | None:
        """The cache key of a cell; None if the result could depend on something the key does not cover."""
        if self.cache is None or model.fingerprint is None or TASKS.get(task.name) is not task:
            return None
        data = {name: self.read.digest(name) for name in task.data}
        return json_digest([task.name, model.fingerprint, asdict(self.settings), data, source_digest()])


class _CachedReader:
    """Reads each file once, and computes its digest once."""

    def __init__(self, read: ReadDataset) -> None:
        self._read, self._columns, self._digests = read, dict[str, DatasetColumns](), dict[str, str]()

    def __call__(self, name: str) -> DatasetColumns:
        if name not in self._columns:
            self._columns[name] = self._read(name)
        return self._columns[name]

    def digest(self, name: str) -> str:
        if name not in self._digests:
            self._digests[name] = columns_digest(self(name))
        return self._digests[name]


def _row(
    entry: EvaluatedModel, model: OpenedModel, tasks: Sequence[Task], run: _Run, progress: "_Progress"
) -> Iterator[tuple[Task, Cell]]:
    """The cells of one model, each stored as soon as it is computed."""
    stored = run.cache.vectors(model.fingerprint) if run.cache and model.fingerprint and model.encode else None
    readable = stored if run.cache and not run.cache.recompute else None
    encode = CachedEncode(model.encode, readable, stored) if model.encode else None
    for task in tasks:
        with progress.cell(entry.name, task.name) as callback:
            yield task, _cell(entry.name, model, encode, task, run, callback)


def _cell(
    name: str, model: OpenedModel, cached: CachedEncode | None, task: Task, run: _Run, callback: TextsCallback
) -> Cell:
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            key = run.key(model, task)
            stored = _stored_cell(name, task, key, run.cache)
            if stored is not None:
                return stored
            encode = cached.with_callback(callback) if cached else _FittedEncode(model)
            result = task.run(encode, run.read, run.settings)
            notes = [*getattr(encode, "notes", ()), *_distinct(str(warning.message) for warning in caught)]
        result = _with_all_intervals(_checked(result).with_notes(*notes), run.settings.resamples)
        result = without_secondary_evidence(result)
    except Exception as error:  # a model may be any code, and its failure must not lose the other cells
        return Cell(name, task.name, error=_reason(error), seconds=time.perf_counter() - start)
    seconds = time.perf_counter() - start
    if run.cache and key:
        run.cache.store(key, {"model": name, "seconds": seconds, "result": to_json(result)})
    return Cell(name, task.name, result, seconds=seconds)


def _stored_cell(name: str, task: Task, key: str | None, cache: Cache | None) -> Cell | None:
    """The cell from the cache; None if it is not stored or its file is damaged."""
    entry = cache.result(key) if cache and key else None
    if entry is None:
        return None
    try:
        result = _checked(from_json(entry["result"]))
        return Cell(name, task.name, result, seconds=float(entry["seconds"]), cached=True)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, BadInput):
        return None


def _distinct(messages: Iterable[str]) -> Iterator[str]:
    """Each warning once. Texts are encoded in slices, so the same warning can come again with other numbers."""
    similar: dict[str, list[str]] = {}
    for message in messages:
        similar.setdefault(NUMBERS.sub("#", message), []).append(message)
    for same in similar.values():
        others = f" (for one slice of the texts; {len(same) - 1} similar warnings)" if len(set(same)) > 1 else ""
        yield same[0] + others


class _FittedEncode:
    """Fits a model on the texts of a task's first request, and encodes that request and all later ones."""

    def __init__(self, model: OpenedModel) -> None:
        self._fit = model.fit
        self._encode: Encode | None = None
        self.notes = [] if model.notes else [TRANSDUCTIVE]  # unless the model has notes of its own

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        if self._encode is None:
            assert self._fit is not None
            self._encode = self._fit(list(texts))
        return as_vectors(self._encode(list(texts)), len(texts))


def _checked(result: Result) -> Result:
    """The result, if its headline is a number."""
    if np.isfinite(result.headline.value):
        return result
    reason = f": {'; '.join(result.notes)}" if result.notes else ""
    raise BadInput(f"{result.headline.name} is NaN or infinite{reason}")


def _with_all_intervals(result: Result, resamples: int) -> Result:
    """The result with intervals: the headline's from all resamples, those of other scores from fewer."""
    first, *others = result.scores
    scores = _with_intervals([first], resamples) + _with_intervals(others, min(SECONDARY_RESAMPLES, resamples))
    return replace(result, scores=tuple(scores))


def _with_intervals(scores: Sequence[Score], resamples: int) -> list[Score]:
    with_evidence = [(i, s.evidence) for i, s in enumerate(scores) if s.evidence and np.isfinite(s.value)]
    evidence: list[Evidence] = [e for _, e in with_evidence]
    intervals: dict[int, Interval] = {}
    for (i, _), interval in zip(with_evidence, estimates(evidence, resamples=resamples), strict=True):
        if abs(interval.value - scores[i].value) < TOLERANCE and np.isfinite(interval.half):
            intervals[i] = interval
    return [replace(score, interval=intervals.get(i, score.interval)) for i, score in enumerate(scores)]


class _Progress:
    """Reports progress to the callback, and estimates the time left from the cells computed so far."""

    def __init__(self, callback: ProgressCallback | None, total: int, so_far: Callable[[], Results]) -> None:
        self._callback, self._total, self._done, self._so_far = callback, total, 0, so_far
        self._durations: list[float] = []

    def skip(self, cells: int) -> None:
        self._done += cells

    @contextmanager
    def cell(self, model: str, task: str) -> Iterator[TextsCallback]:
        """A callback for the texts of one cell."""
        start = time.perf_counter()

        def report(texts: int, total_texts: int) -> None:
            if self._callback is None:
                return
            elapsed, mean = time.perf_counter() - start, sum(self._durations) / max(1, len(self._durations))
            left = mean * (self._total - self._done) - elapsed
            seconds_left = left if left >= 1 else None
            counts = (self._done, self._total, texts, total_texts)
            self._callback(EvaluationProgress(model, task, *counts, seconds_left, self._so_far))

        report(0, 0)
        yield report
        self._done += 1
        duration = time.perf_counter() - start
        if duration > 0.05:  # anything faster came from the cache, and says nothing about the other cells
            self._durations.append(duration)


def _reason(error: Exception) -> str:
    if isinstance(error, DataNotFound):
        return error.briefly
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return " ".join(lines) if isinstance(error, LikewiseError) else f"{type(error).__name__}: {lines[0]}"
