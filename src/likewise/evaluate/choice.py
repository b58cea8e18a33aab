"""Choose among models, precisions, dimensions and hybrid weights on your own data, scoring no more items than needed.

    choice = choose(["likewise-mini", "likewise-static"], "faq.csv", variations=Variations(truncate_dim=[None, 128]))
    choice.best.name, choice.verdict

The choice comes with a statistical guarantee (see `choose`). Candidates that differ only in dimensions reuse the same
vectors, and those that differ only in hybrid weights fuse the same two rankings, so they need no extra encoding.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ..array_types import Float, Int
from ..data.columns import DatasetColumns
from ..embedder import Embedder
from ..errors import BadInput
from .collection import JudgedCollection
from .items import ItemSource, items_of_collection, items_of_data
from .models import models_by_name
from .race import DEFAULT_RULE, Race, StoppingRule, items_needed, race
from .statistics.anytime import confidence_sequence
from .statistics.significance import Interval


@dataclass(frozen=True)
class Candidate:
    """One way to compute scores: a model with options; None keeps the model's own setting.

    `hybrid` is the weight of the vector ranking when it is fused with the BM25 ranking; None uses vectors alone.
    """

    model: str
    precision: str | None = None
    truncate_dim: int | None = None
    hybrid: float | None = None

    @property
    def name(self) -> str:
        """The model and its options, as in "likewise-mini int8 128d hybrid=0.5"."""
        dimension = f"{self.truncate_dim}d" if self.truncate_dim else None
        weight = None if self.hybrid is None else f"hybrid={self.hybrid:g}"
        return " ".join(filter(None, (self.model, self.precision, dimension, weight)))


@dataclass(frozen=True)
class Variations:
    """What to try with each model; None keeps the model's own setting.

    Args:
        precision: number formats to try.
        truncate_dim: numbers of dimensions to keep.
        hybrid: weights from 0 to 1 of the vector ranking when it is fused with the BM25 ranking; only for retrieval.

    Raises:
        BadInput: a number is out of range.
    """

    precision: Sequence[str | None] = (None,)
    truncate_dim: Sequence[int | None] = (None,)
    hybrid: Sequence[float | None] = (None,)

    def __post_init__(self) -> None:
        if bad := [dim for dim in self.truncate_dim if dim is not None and dim < 1]:
            raise BadInput(f"truncate_dim is {bad[0]}; expected 1 or more dimensions")
        if outside := [weight for weight in self.hybrid if weight is not None and not 0 <= weight <= 1]:
            raise BadInput(f"the hybrid weight is {outside[0]}; expected a number from 0 (BM25) to 1 (vectors)")

    def of(self, models: Iterable[str]) -> list[Candidate]:
        """All candidates; raises unless there are at least two, all different."""
        candidates = [Candidate(*parts) for parts in product(models, self.precision, self.truncate_dim, self.hybrid)]
        if len(set(candidates)) < max(2, len(candidates)):
            names = ", ".join(one.name for one in candidates)
            raise BadInput(f"expected at least two candidates, all different; got {names}")
        return candidates


AS_THEY_ARE = Variations()


@dataclass(frozen=True)
class Entrant:
    """What the race showed about a candidate; its intervals are valid whenever the race stops."""

    candidate: Candidate
    items: int  # number of items that it was scored on
    score: Interval
    behind: Interval | None  # the lead of the chosen candidate on the same items; None for the chosen one
    state: str  # "chosen", "lost", "within margin" (not better than the chosen one by the margin) or "undecided"
    texts: int  # number of texts that its model encoded, for all candidates that use the model
    cpu_seconds: float  # per million texts
    milliseconds: float  # elapsed time per text
    bytes_per_vector: int  # of a stored fp32 vector


@dataclass(frozen=True)
class Choice:
    """The result of `choose`: a verdict, and all candidates, best first."""

    data: str
    metric: str
    verdict: str
    entrants: tuple[Entrant, ...]
    items: int
    total: int
    needed: int
    rule: StoppingRule
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> Candidate:
        """The chosen candidate: the best one or, if the race is undecided, the current leader."""
        return self.entrants[0].candidate


@dataclass
class _Model:
    """A loaded model that counts the texts it encodes and measures the time spent encoding them."""

    name: str
    model: Any
    needs: int = 0  # the largest number of dimensions that a candidate keeps
    texts: int = 0
    cpu: float = 0.0
    elapsed: float = 0.0
    width: int = 0
    score: Callable[..., Float[np.ndarray, "v n"]] = field(init=False)

    def encode(self, texts: Sequence[str], role: str | None = None) -> Float[np.ndarray, "n E"]:
        """Encode texts with the model's prompt for the role ("query" or "document"), if there is one."""
        method = getattr(self.model, f"encode_{role}" if role else "encode", self.model)
        options = {"overflow": "truncate", "show_progress_bar": False} if isinstance(self.model, Embedder) else {}
        cpu, start = time.process_time(), time.perf_counter()
        vectors = np.asarray(method(list(texts), **options))
        self.cpu += time.process_time() - cpu
        self.elapsed += time.perf_counter() - start
        self.texts, self.width = self.texts + len(texts), vectors.shape[-1]
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise BadInput(f"{self.name}: encoding {len(texts):,} texts returned an array of shape {vectors.shape}; "
                           "expected one row per text, without NaN or infinity")  # fmt: skip
        if self.width < self.needs:
            raise BadInput(f"{self.name} has only {self.width} dimensions; truncate_dim cannot be {self.needs}")
        return vectors


Models = Mapping[tuple[str, str | None], _Model]
"""Loaded models by name and precision."""
Load = Callable[[str, str | None], Any]


def choose(
    models: Any,
    data: str | Path | DatasetColumns | JudgedCollection,
    columns: Mapping[str, str] | Sequence[str] | None = None,
    *,
    variations: Variations = AS_THEY_ARE,
    rule: StoppingRule = DEFAULT_RULE,
    load: Load | None = None,
    callback: Callable[[str], None] | None = None,
) -> Choice:
    """Score candidates on items in random order until the leader is shown to be the best, or close enough to the best.

    With probability 1 − `rule.alpha`, a declared winner or tie is correct: in the population that the rows were sampled
    from, no candidate is better than the chosen one by `rule.margin` or more.

    Args:
        models: model names, embedders, or functions of a list of texts; or a mapping of names to these. A name can
            have options in parentheses, such as another pooling mode, which makes it a separate candidate.
        data: triplets, pairs, or labelled or scored pairs, as for `data_task`; or a collection (see `read_collection`).
        columns: your names for the expected columns, as for `data_task`.
        variations: precisions, dimensions and hybrid weights to try with each model.
        rule: the margin, the probability of an error, and the seed.
        load: loads a model by name and precision (default: `load_named_embedder`).
        callback: called with a one-line progress message.

    Raises:
        BadInput: there are fewer than two candidates, an option does not apply to the model or data, or the data cannot
            be read.
    """
    named = models_by_name(models)
    candidates = variations.of(named)
    if isinstance(data, JudgedCollection):
        source = items_of_collection(data)
    else:
        source = items_of_data(data, columns, rule.seed)
    if not source.ranks and any(weight is not None for weight in variations.hybrid):
        raise BadInput(f"{source.title} has nothing to rank; hybrid weights need the columns anchor and positive, "
                       "or a corpus")  # fmt: skip
    loaded = {}
    for name, precision in dict.fromkeys((one.model, one.precision) for one in candidates):
        loaded[name, precision] = model = _Model(name, _opened(named[name], name, precision, load))
        model.needs = max(dim or 0 for dim in variations.truncate_dim)
        model.score = source.scorer(model.encode)

    def report(state: Race) -> None:
        if callback:
            left = f"{int(state.alive.sum())} of {len(candidates)} candidates left"
            done = f"{state.scores.shape[1]:,} of {state.items:,} items"
            callback(f"{done} · {left} · {candidates[state.best].name} leads")

    score = partial(_scores, candidates, loaded)
    found = race(score, len(candidates), source.count, rule=rule, callback=report)
    return _choice(found, candidates, loaded, source, rule)


def _opened(model: Any, name: str, precision: str | None, load: Load | None) -> Any:
    if isinstance(model, str | Path):
        from ..model_names import load_named_embedder

        return load(str(model), precision) if load else load_named_embedder(model, precision=precision)
    if precision is not None:
        raise BadInput(f"{name} is already loaded; to use the precision {precision}, give the model's name instead")
    return model


def _scores(
    candidates: Sequence[Candidate], loaded: Models,
    alive: Int[np.ndarray, " k"], items: Int[np.ndarray, " n"],
) -> Float[np.ndarray, "k n"]:  # fmt: skip
    """Score the candidates of each model together, because they share its vectors."""
    rows = np.empty((len(alive), len(items)))
    for key, model in loaded.items():
        mine = [i for i, k in enumerate(alive) if (candidates[k].model, candidates[k].precision) == key]
        if mine:
            variants = [(candidates[alive[i]].truncate_dim, candidates[alive[i]].hybrid) for i in mine]
            rows[mine] = model.score(items, variants)
    return rows


def _choice(
    found: Race, candidates: Sequence[Candidate], loaded: Models, source: ItemSource, rule: StoppingRule
) -> Choice:
    means = np.nanmean(found.scores, axis=1)
    order = sorted(
        range(len(candidates)), key=lambda k: (k != found.best, not found.alive[k], -found.used[k], -means[k])
    )
    each = [(k, candidates[k], loaded[candidates[k].model, candidates[k].precision]) for k in order]
    entrants = tuple(_entrant(found, *one, rule.alpha) for one in each)
    rivals = [k for k in order[1:] if found.alive[k] and not found.close[found.best, k]]
    needs = [items_needed(found.gains(k), len(candidates), rule) for k in rivals]
    needed = 0 if not needs or 0 in needs else max(*needs, found.items + 1)
    done = found.scores.shape[1]
    return Choice(source.title, source.metric, found.verdict, entrants, done, source.count, needed, rule, source.notes)


def _entrant(found: Race, k: int, candidate: Candidate, model: _Model, alpha: float) -> Entrant:
    used, is_close = int(found.used[k]), bool(found.close[found.best, k])
    left = "within margin" if is_close else "undecided"
    state = "chosen" if k == found.best else left if found.alive[k] else "lost"
    texts = max(1, model.texts)
    return Entrant(
        candidate,
        used,
        score=confidence_sequence(found.scores[k, :used], 0, 1, alpha),
        behind=None if k == found.best else confidence_sequence(found.gains(k), -1, 1, alpha),
        state=state,
        texts=model.texts,
        cpu_seconds=1e6 * model.cpu / texts,
        milliseconds=1e3 * model.elapsed / texts,
        bytes_per_vector=4 * min(candidate.truncate_dim or model.width, model.width),
    )
