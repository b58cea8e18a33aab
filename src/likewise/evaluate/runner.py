"""Evaluate models on tasks: each cell is computed once or read from the cache; a failure affects only its cell."""

import functools
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from ..data import datasets
from ..data.columns import columns_digest
from ..errors import BadInput, DataNotFound, LikewiseError
from ..model_files.provenance import Provenance
from ..runtime.progress import format_duration
from ..wording import counted
from .cache import Cache, CachedEncode, TextsCallback, json_digest, source_digest
from .models import ROLES, FitModel, LoadModel, OpenedModel, models_by_name, open_model
from .rankers import EmbeddingRanker
from .results import Cell, Results, from_json, to_json
from .statistics.comparison import estimates
from .task import Encode, EvaluationSettings, ReadDataset, Result, Role, RoleEncode, Score, Task, as_vectors
from .tasks.registry import TASKS, select_tasks

TRANSDUCTIVE = "transductive: the model was fitted on the texts of the task itself, never on their labels"
NOT_REACHED = "not reached before the end of the run"
SECONDARY_RESAMPLES = 1_000  # for scores other than the headline
NO_INTERVAL = "no interval can be given: every resample of the items gives the same score"
NUMBERS = re.compile(r"\b\d[\d,]*\b")
LEAST_SECONDS = 0.05  # faster cells probably came from the cache; left out of the time estimate
TOLERANCE = 1e-3  # allowed difference between a score and the value recomputed from its evidence
OVERLAPPING_TASKS: dict[str, tuple[str, ...]] = {
    "flickr30k_captions": ("sts15", "stsb", "stsb_multi_mt", "sick"),
    "stsb": ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb_multi_mt", "sick", "mrpc"),
    "mrpc": ("sts12", "stsb", "stsb_multi_mt"),
    "sick": ("sts12", "stsb", "stsb_multi_mt"),
    "nli": ("sts15", "stsb", "stsb_multi_mt", "sick"),
}
"""For each training set, the data sets whose tasks share sentences with it. Counting distinct test sentences,
ignoring case and punctuation, Flickr30k contains 1,210 from STS15, 260 from STS-B and 131 from SICK; STS-B contains
between 363 and 3,346 from each data set; MRPC contains 1,485 from STS12 and 276 from STS-B; SICK contains 269 from
STS12 and 118 from STS-B; and NLI contains 170 from STS15, 87 from STS-B and 81 from SICK. The English part of
stsb_multi_mt is STS-B."""


@dataclass(frozen=True)
class EvaluationProgress:
    """The progress of a run: the current cell, how many cells and texts are done and in total, and seconds left."""

    model: str
    task: str
    done: int
    total: int
    texts: int
    total_texts: int
    seconds_left: float | None
    so_far: Callable[[], Results] = field(repr=False)
    """Returns the results so far; unfinished cells have the error NOT_REACHED."""

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

    A text must always get the same vector, regardless of the texts encoded with it, because a text shared by several
    tasks is encoded only once. A model that learns from the texts it encodes must offer `fitted` instead (see
    `evaluate.models`).

    Args:
        models: one or more embedders, model names, "package.module:function" names (your own code, which is imported),
            functions of a list of texts, or objects with `encode`; or a mapping of names to these.
        tasks: names of tasks or suites, separated by commas, or `Task` objects; use `data_task("pairs.csv")` for your
            own data.
        settings: settings for all tasks, including the seed and the number of bootstrap resamples.
        read: reads a data set by name (default: `data.datasets.read_dataset`).
        cache: stores vectors and results, so that an interrupted run can be resumed (default: nothing is stored).
        load: loads a model by name (default: `model_names.load_model`).
        callback: called with the progress of the run.

    Raises:
        BadInput: a task is unknown, or no model was given.
        LikewiseError: none of the models could be loaded. Any other failure is recorded in its cell.
    """
    selected, named = select_tasks(tasks), models_by_name(models)
    run = _Run(settings or EvaluationSettings(), functools.cache(read or datasets.read_dataset), cache)
    cells: dict[tuple[str, str], Cell] = {}
    notes: list[str] = []

    def so_far() -> Results:
        missing = {(m, t.name): Cell(m, t.name, error=NOT_REACHED) for m in named for t in selected}
        return Results(tuple(named), selected, {**missing, **cells}, run.settings, tuple(notes))

    progress = _Progress(callback, len(named) * len(selected), so_far)
    errors: list[Exception] = []
    for name, given in named.items():
        try:
            model = open_model(given, load)
        except Exception as error:
            errors.append(error)
            cells.update({(name, t.name): Cell(name, t.name, error=_reason(error)) for t in selected})
            progress.done += len(selected)
            continue
        _fill_row(name, model, selected, run, progress, cells)
        notes += [f"{name}: {note}" for note in model.notes]
        notes += filter(None, [leak_note(name, model.provenance, selected)])
        if cache is not None:
            cache.prune()
    if len(errors) == len(named):
        raise errors[0]
    return so_far()


@dataclass(frozen=True)
class _Run:
    settings: EvaluationSettings
    read: ReadDataset  # reads each file once
    cache: Cache | None
    digests: dict[str, str] = field(default_factory=dict)  # digests of the files that were read

    def key(self, model: OpenedModel, task: Task) -> str | None:
        """The cache key of a cell; None if the result may depend on something that the key does not cover."""
        if self.cache is None or model.fingerprint is None or TASKS.get(task.name) is not task:
            return None
        for name in task.data:
            if name not in self.digests:
                self.digests[name] = columns_digest(self.read(name))
        data = {name: self.digests[name] for name in task.data}
        return json_digest([task.name, model.fingerprint, asdict(self.settings), data, source_digest()])


def _fill_row(
    name: str,
    model: OpenedModel,
    tasks: Sequence[Task],
    run: _Run,
    progress: "_Progress",
    cells: dict[tuple[str, str], Cell],
) -> None:
    encode = _cached(model.encode, model.fingerprint, run) if model.encode else None
    for task in tasks:
        report = functools.partial(progress.report, name, task.name)
        progress.begin()
        report(0, 0)
        earlier = {m: cell.result.rankings for (m, t), cell in cells.items() if t == task.name and cell.result}
        cells[name, task.name] = _cell(name, model, encode, task, run, report, earlier)
        progress.finish()


def _cell(
    name: str,
    model: OpenedModel,
    cached: CachedEncode | None,
    task: Task,
    run: _Run,
    callback: TextsCallback,
    earlier: Mapping[str, Any],
) -> Cell:
    """The cell of a model on a task; `earlier` maps models to their rankings so far, for the same collection."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            key = run.key(model, task)
            if stored := _stored_cell(name, task, key, run.cache):
                return stored
            notes: list[str] = []
            if task.rank is not None and (cached or model.ranker):
                result = task.rank(model.ranker or _embedding_ranker(model, cached, run, callback), earlier)
            elif model.ranker:
                raise BadInput(f"{name} only ranks the documents of a collection (--corpus); it produces no vectors")
            elif cached:
                in_role = functools.partial(_in_role, model, cached, run, callback)
                encode = RoleEncode(functools.partial(cached, callback=callback), in_role)
                result = task.run(encode, run.read, run.settings)
            else:
                assert model.fit
                notes = [] if model.notes else [TRANSDUCTIVE]
                result = task.run(_fitted_encode(model.fit), run.read, run.settings)
            notes += _distinct(str(warning.message) for warning in caught)
        result = _with_all_intervals(_checked(result, notes), run.settings.resamples)
        first, *others = result.scores  # the headline's evidence is enough to compare two models
        result = replace(result, scores=(first, *(replace(score, evidence=None) for score in others)))
    except Exception as error:  # a model can run any code; its failure must not affect other cells
        return Cell(name, task.name, error=_reason(error), seconds=time.perf_counter() - start)
    seconds = time.perf_counter() - start
    if run.cache and key:
        run.cache.store(key, {"model": name, "seconds": seconds, "result": to_json(result)})
    return Cell(name, task.name, result, seconds=seconds)


def _embedding_ranker(
    model: OpenedModel, cached: CachedEncode | None, run: _Run, callback: TextsCallback
) -> EmbeddingRanker:
    """The ranker for a model's vectors, which are not kept in memory."""
    assert cached
    queries, documents = (_in_role(model, cached, run, callback, role) for role in ROLES)
    return EmbeddingRanker(queries, documents, model.roles.get("query", model.encode))


def _in_role(model: OpenedModel, cached: CachedEncode, run: _Run, callback: TextsCallback, role: Role) -> Encode:
    """The model's `encode` for queries or documents, whose vectors are stored separately."""
    if role in model.roles:
        cached = _cached(model.roles[role], model.fingerprint and f"{model.fingerprint} {role}", run)
    return functools.partial(cached, callback=callback, keep=0)


def _cached(encode: Encode, fingerprint: str | None, run: _Run) -> CachedEncode:
    stored = run.cache.vectors(fingerprint) if run.cache and fingerprint else None
    return CachedEncode(encode, stored if run.cache and not run.cache.recompute else None, stored)


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
    """Report each warning once. Texts are encoded in slices, so a warning can recur with different numbers."""
    similar: dict[str, list[str]] = {}
    for message in messages:
        similar.setdefault(NUMBERS.sub("#", message), []).append(message)
    for same in similar.values():
        others = counted(len(same) - 1, "similar warning")
        yield same[0] + (f" (for one slice of the texts; {others})" if len(set(same)) > 1 else "")


def _fitted_encode(fit: FitModel) -> Encode:
    """Fit a model on the texts of a task's first request, and encode that request and all later ones with it."""
    fitted: list[Encode] = []

    def encode(texts: Sequence[str]) -> np.ndarray:
        if not fitted:
            fitted.append(fit(list(texts)))
        return as_vectors(fitted[0](list(texts)), len(texts))

    return encode


def _checked(result: Result, notes: Sequence[str] = ()) -> Result:
    """The result with these notes added; raises if its headline is NaN or infinite."""
    if np.isfinite(result.headline.value):
        return result.with_notes(*notes)
    reason = f": {'; '.join(result.notes)}" if result.notes else ""
    raise BadInput(f"{result.headline.name} is NaN or infinite{reason}")


def _with_all_intervals(result: Result, resamples: int) -> Result:
    """The result with an interval for each score: from all resamples for the headline, from fewer for other scores."""
    scores: list[Score] = []
    few = min(SECONDARY_RESAMPLES, resamples)
    for part, count in ((result.scores[:1], resamples), (result.scores[1:], few)):
        evidence = {i: score.evidence for i, score in enumerate(part) if score.evidence and np.isfinite(score.value)}
        intervals = dict(zip(evidence, estimates(list(evidence.values()), resamples=count), strict=True))
        for i, score in enumerate(part):
            one = intervals.get(i)
            if one and not scores and not one.is_informative:
                result = result.with_notes(NO_INTERVAL)
            sound = one and abs(one.value - score.value) < TOLERANCE and one.is_informative
            scores.append(replace(score, interval=one) if sound else score)
    return replace(result, scores=tuple(scores))


@dataclass
class _Progress:
    """Reports progress to the callback, and estimates the remaining time from the mean time of the cells so far."""

    callback: ProgressCallback | None
    total: int
    so_far: Callable[[], Results]
    done: int = 0
    computed: int = 0  # cells that did not come from the cache
    spent: float = 0.0  # seconds for these
    begun: float = 0.0  # when the current cell began

    def begin(self) -> None:
        self.begun = time.perf_counter()

    def finish(self) -> None:
        seconds = time.perf_counter() - self.begun
        if seconds > LEAST_SECONDS:
            self.computed, self.spent = self.computed + 1, self.spent + seconds
        self.done += 1

    def report(self, model: str, task: str, texts: int, total_texts: int) -> None:
        if self.callback is not None:
            left = self.spent / max(1, self.computed) * (self.total - self.done) - (time.perf_counter() - self.begun)
            counts = (self.done, self.total, texts, total_texts)
            self.callback(EvaluationProgress(model, task, *counts, left if left >= 1 else None, self.so_far))


def leak_note(model: str, provenance: Provenance, tasks: Sequence[Task]) -> str:
    """A line about tasks whose data the model or its teacher was (partly) trained on; empty if no task is affected.

    Training data from which test texts were removed affects only tasks built from the same data set.
    """
    affected = []
    for task in tasks:
        files = {name.split("/")[0] for name in task.data}
        seen = [name for name in provenance.trained_on if name in files or files & set(OVERLAPPING_TASKS.get(name, ()))]
        seen += [name for name in provenance.less_tests if name in files and name not in seen]
        if seen:
            affected.append(f"{task.name} ({', '.join(seen)})")
    if not affected:
        return ""
    subject = f"{model}, or its teacher," if provenance.less_tests else model
    return f"{subject} was trained on sentences from the published data of these tasks: {'; '.join(affected)}"


def _reason(error: Exception) -> str:
    if isinstance(error, DataNotFound):
        return error.briefly
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return " ".join(lines) if isinstance(error, LikewiseError) else f"{type(error).__name__}: {lines[0]}"
