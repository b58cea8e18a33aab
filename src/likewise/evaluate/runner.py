"""Models by tasks: every cell computed once, what is known taken from disk, and no failure that costs the others.

found = evaluate(["all-MiniLM-L6-v2", my_function], "sts")
found["all-MiniLM-L6-v2", "stsb"].value
"""

import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..data import datasets
from ..errors import BadInput, DataNotFound, LikewiseError
from ..runtime.progress import format_duration
from .cache import Cache, columns_digest, json_digest, source_digest
from .cached_encode import CachedEncode
from .leak_notes import leak_note
from .models import EvaluatedModel, LoadModel, OpenedModel, models_to_evaluate
from .results import Cell, Results, from_json, to_json, without_secondary_evidence
from .statistics.comparison import estimates
from .statistics.significance import RESAMPLES, Interval
from .task import Encode, EvaluationSettings, Evidence, Read, Result, Score, Task, TaskColumns, as_rows
from .tasks.registry import TASKS, select_tasks

TRANSDUCTIVE = "transductive: the model was fitted on the texts of the task itself, never on their labels"
SECONDARY = 1_000  # resamples of a score that is no headline
NUMBERS = re.compile(r"\b\d[\d,]*\b")
APART = 1e-3  # how far a score may be from what its evidence gives, by rounding


@dataclass(frozen=True)
class EvaluationProgress:
    """How far a run is: the cell at hand, cells done and in all, texts of the cell done and in all, seconds left."""

    model: str
    task: str
    done: int
    total: int
    texts: int
    of_texts: int
    left: float | None

    def __str__(self) -> str:
        texts = f" · {self.texts:,} of {self.of_texts:,} texts" if self.of_texts else ""
        left = "" if self.left is None else f" · about {format_duration(self.left)} left"
        return f"{self.model} · {self.task} ({self.done + 1} of {self.total}){texts}{left}"


ProgressCallback = Callable[[EvaluationProgress], None]


def evaluate(
    models: Any,
    tasks: str | Task | Sequence[str | Task] = "sts",
    *,
    settings: EvaluationSettings | None = None,
    read: Read | None = None,
    resamples: int = RESAMPLES,
    cache: Cache | None = None,
    fresh: bool = False,
    load: LoadModel | None = None,
    watch: ProgressCallback | None = None,
) -> Results:
    """Every model on every task.

    A text must get the same vector whatever its company, since texts that several tasks share are encoded once; a
    model that learns from the texts offers `fitted` instead (see `evaluate.models`).

    Args:
        models: one or several of: an embedder, a model's name, "package.module:function" (your own code, which is
            imported), a function of a list of texts, an object with `encode`; or a mapping of names to these.
        tasks: names of tasks or suites, several with commas between them, or tasks themselves.
        settings: what all tasks have in common.
        read: where data comes from, `evaluate.datasets.read` unless told.
        resamples: of the headlines' intervals; other scores have at most 1,000.
        cache: where vectors and results are kept; nowhere unless told. A run that was stopped goes on from there.
        fresh: compute what is kept there once more.
        load: a name to a model, `Embedder.load` unless told.
        watch: is told now and then how far the run is.

    Raises:
        BadInput: an unknown task, or no model.
        LikewiseError: no model at all could be loaded. Anything else that goes wrong in a cell is told in the cell.
    """
    wanted = select_tasks(tasks)
    field = models_to_evaluate(models, load)
    job = _Job(settings or EvaluationSettings(), _Reader(read or datasets.read_dataset), resamples, cache, fresh)
    pace = _Pace(watch, len(field) * len(wanted))
    cells: dict[tuple[str, str], Cell] = {}
    notes: list[str] = []
    errors: list[Exception] = []
    for contender in field:
        try:
            model = contender.open()
        except Exception as error:
            errors.append(error)
            cells.update({(contender.name, t.name): Cell(contender.name, t.name, error=_why(error)) for t in wanted})
            pace.skip(len(wanted))
            continue
        cells.update({(contender.name, task.name): cell for task, cell in _row(contender, model, wanted, job, pace)})
        notes += [f"{contender.name}: {note}" for note in model.notes]
        notes += filter(None, [leak_note(contender.name, model.provenance, wanted)])
        if cache is not None:
            cache.prune()
    if len(errors) == len(field):
        raise errors[0]
    names = tuple(contender.name for contender in field)
    return Results(names, wanted, cells, job.settings, resamples, tuple(notes))


@dataclass(frozen=True)
class _Job:
    """What all cells have in common."""

    settings: EvaluationSettings
    read: "_Reader"
    resamples: int
    cache: Cache | None
    fresh: bool

    def key(self, model: OpenedModel, task: Task) -> str | None:
        """Under what a cell is kept; None where that would not be safe: who knows what else it depends on?"""
        if self.cache is None or model.fingerprint is None or TASKS.get(task.name) is not task:
            return None
        data = {name: self.read.digest(name) for name in task.data}
        told = [task.name, model.fingerprint, asdict(self.settings), self.resamples, data, source_digest()]
        return json_digest(told)


class _Reader:
    """Reads each file once, and knows its digest."""

    def __init__(self, read: Read) -> None:
        self._from, self._known, self._digests = read, dict[str, TaskColumns](), dict[str, str]()

    def __call__(self, name: str) -> TaskColumns:
        if name not in self._known:
            self._known[name] = self._from(name)
        return self._known[name]

    def digest(self, name: str) -> str:
        if name not in self._digests:
            self._digests[name] = columns_digest(self(name))
        return self._digests[name]


def _row(
    contender: EvaluatedModel, model: OpenedModel, tasks: Sequence[Task], job: _Job, pace: "_Pace"
) -> Iterator[tuple[Task, Cell]]:
    """The cells of one model, each kept as soon as it is there."""
    kept = job.cache.vectors(model.fingerprint) if job.cache and model.fingerprint and model.encode else None
    memory = CachedEncode(model.encode, None if job.fresh else kept, kept) if model.encode else None
    for task in tasks:
        with pace.cell(contender.name, task.name) as told:
            yield task, _cell(contender.name, model, memory, task, job, told)


def _cell(
    name: str, model: OpenedModel, memory: CachedEncode | None, task: Task, job: _Job, told: Callable[[int, int], None]
) -> Cell:
    began = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            key = job.key(model, task)
            kept = _kept(name, task, key, job)
            if kept is not None:
                return kept
            encode = memory.watched(told) if memory else _Fitted(model)
            result = task.run(encode, job.read, job.settings)
            notes = [*getattr(encode, "notes", ()), *_told(str(warning.message) for warning in caught)]
        result = without_secondary_evidence(_measured(_sound(result).noted(*notes), job.resamples))
    except Exception as error:  # a model may be anybody's code, and the other cells are not to be lost
        return Cell(name, task.name, error=_why(error), seconds=time.perf_counter() - began)
    seconds = time.perf_counter() - began
    if job.cache and key:
        job.cache.keep(key, {"model": name, "seconds": seconds, "result": to_json(result)})
    return Cell(name, task.name, result, seconds=seconds)


def _kept(name: str, task: Task, key: str | None, job: _Job) -> Cell | None:
    """The cell as it lies on disk; None where it is not there, or is not what was written."""
    found = job.cache.result(key) if job.cache and key and not job.fresh else None
    if found is None:
        return None
    try:
        result = _sound(from_json(found["result"]))
        return Cell(name, task.name, result, seconds=float(found["seconds"]), kept=True)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, BadInput):
        return None


def _told(warned: Iterable[str]) -> Iterator[str]:
    """Each warning once. Texts are encoded a slice at a time, so one that counts them comes again with others."""
    alike: dict[str, list[str]] = {}
    for message in warned:
        alike.setdefault(NUMBERS.sub("#", message), []).append(message)
    for said in alike.values():
        others = f" (of one slice of the texts; {len(said) - 1} more say the like)" if len(set(said)) > 1 else ""
        yield said[0] + others


class _Fitted:
    """Fits a model on the texts of a task's first request, which then encodes that and every later one."""

    def __init__(self, model: OpenedModel) -> None:
        self._fit = model.fit
        self._encode: Encode | None = None
        self.notes = [] if model.notes else [TRANSDUCTIVE]  # else it says so itself

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        if self._encode is None:
            assert self._fit is not None
            self._encode = self._fit(list(texts))
        return as_rows(self._encode(list(texts)), len(texts))


def _sound(result: Result) -> Result:
    if np.isfinite(result.headline.value):
        return result
    reason = f": {'; '.join(result.notes)}" if result.notes else ""
    raise BadInput(f"{result.headline.name} is not a number{reason}")


def _measured(result: Result, resamples: int) -> Result:
    """The result with intervals: the headline's of all resamples, those of other scores of fewer."""
    first, *others = result.scores
    scores = _with_intervals([first], resamples) + _with_intervals(others, min(SECONDARY, resamples))
    return replace(result, scores=tuple(scores))


def _with_intervals(scores: Sequence[Score], resamples: int) -> list[Score]:
    with_evidence = [(i, s.evidence) for i, s in enumerate(scores) if s.evidence and np.isfinite(s.value)]
    evidence: list[Evidence] = [e for _, e in with_evidence]
    found: dict[int, Interval] = {}
    for (i, _), interval in zip(with_evidence, estimates(evidence, resamples=resamples), strict=True):
        if abs(interval.value - scores[i].value) < APART and np.isfinite(interval.half):
            found[i] = interval
    return [replace(score, interval=found.get(i, score.interval)) for i, score in enumerate(scores)]


class _Pace:
    """Tells `watch` of every step, and guesses the time left from the cells that were computed."""

    def __init__(self, watch: ProgressCallback | None, total: int) -> None:
        self._watch, self._total, self._done = watch, total, 0
        self._spent: list[float] = []

    def skip(self, cells: int) -> None:
        self._done += cells

    @contextmanager
    def cell(self, model: str, task: str) -> Iterator[Callable[[int, int], None]]:
        began = time.perf_counter()

        def told(texts: int, of_texts: int) -> None:
            if self._watch is None:
                return
            now, mean = time.perf_counter() - began, sum(self._spent) / max(1, len(self._spent))
            left = mean * (self._total - self._done) - now
            self._watch(
                EvaluationProgress(model, task, self._done, self._total, texts, of_texts, left if left >= 1 else None)
            )

        told(0, 0)
        yield told
        self._done += 1
        spent = time.perf_counter() - began
        if spent > 0.05:  # less is a cell from disk, which says nothing of the others
            self._spent.append(spent)


def _why(error: Exception) -> str:
    if isinstance(error, DataNotFound):
        return error.briefly
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return " ".join(lines) if isinstance(error, LikewiseError) else f"{type(error).__name__}: {lines[0]}"
