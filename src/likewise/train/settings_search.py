"""Compares settings by successive halving: many are trained briefly, and the best advance to longer runs.

Each round starts again from the original model, because the learning-rate schedule spans a whole run, and keeps the
best third of its settings for a round three times as long (Jamieson and Talwalkar 2016, algorithm 1, with η = 3). The
last round has the full length given by the settings.
"""

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..runtime.arguments import whole_number
from ..runtime.untrusted_files import read_object
from .data.schedule import DataSource
from .evaluators import PairEvaluator
from .output.record import RECORD
from .run import train
from .settings import REPORTING_ONLY, TrainSettings
from .trainer import Diverged

ETA = 3  # one in three settings advances to the next round; the paper uses 3 and 4


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run: its round, the number of its settings, and its dev score with a 95 % interval (NaN if it diverged)."""

    round: int
    number: int
    settings: TrainSettings
    folder: Path
    score: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class SettingsSearch:
    """All runs, in training order."""

    trials: Sequence[Trial]

    @property
    def best(self) -> Trial:
        """The best run of the last round; its folder holds the trained model."""
        return _ranked([one for one in self.trials if one.round == self.trials[-1].round])[0]

    def __str__(self) -> str:
        """A table of all runs, and how many other last-round runs have intervals that overlap with the best run's."""
        rows = [asdict(one.settings) for one in self.trials]
        differing = [
            name for name in rows[0] if name not in REPORTING_ONLY and len({str(row[name]) for row in rows}) > 1
        ]
        lines = ["\t".join(["round", "run", "dev [95 %]", *differing])]
        for one in self.trials:
            score = f"{one.score:.4f} [{one.low:.4f}, {one.high:.4f}]"
            values = [f"{name}={getattr(one.settings, name)}" for name in differing]
            lines.append("\t".join([str(one.round), str(one.number), score, *values]))
        last = [one for one in self.trials if one.round == self.best.round]
        close = sum(one.high >= self.best.low for one in last if one is not self.best)
        others = f"overlapping intervals: {close} of the {len(last) - 1} other runs in its round"
        lines.append(f"best: run {self.best.number}; {others}")
        return "\n".join(lines)


def search_settings(
    model: str | Path,
    data: DataSource | Sequence[DataSource],
    settings: Sequence[TrainSettings],
    *,
    output: str | Path,
    evaluator: PairEvaluator | str | Path,
    rounds: int = 3,
) -> SettingsSearch:
    """Find the best of these settings by their score on a dev set. Repeating the call resumes where it stopped.

    The dev score of the best run is slightly optimistic, because it chose the run: report the score on a test set.

    Args:
        model: the model's name or folder; each run starts from it.
        data: as for `train`.
        settings: the candidates; their `epochs` or `max_steps` apply to the last round.
        output: the folder for the runs; each run saves its trained model in OUTPUT/round-1/1 and so on.
        evaluator: as for `train`.
        rounds: the number of rounds; the first trains all candidates for a fraction of 3^(1 − rounds) of their steps.

    Raises:
        BadInput: there are fewer than two candidates, or all diverged.
        KeyboardInterrupt: a run was interrupted; its checkpoint is kept.
    """
    if not isinstance(model, str | Path):
        raise BadInput(
            f"the model is a {type(model).__name__}; expected a name or folder, so that each run can start from it"
        )
    if len(settings) < 2 or len({str(one) for one in settings}) < len(settings):
        raise BadInput(f"there are {len(settings)} settings; expected two or more, all different")
    sources = [data] if isinstance(data, DataSource) else list(data)
    left, trials = list(enumerate(settings, 1)), list[Trial]()
    for number in range(1, whole_number("rounds", rounds) + 1):
        share = ETA ** (number - rounds)
        found = []
        for place, one in left:
            folder = Path(output) / f"round-{number}" / str(place)
            found.append(_trial(number, place, shortened(one, share), folder, (model, sources, evaluator)))
        trials += found
        ranked = [one for one in _ranked(found) if not math.isnan(one.score)]
        if not ranked:
            raise BadInput(f"all {len(found)} runs of round {number} diverged; try lower learning rates")
        kept = sorted(one.number for one in ranked[: max(1, len(left) // ETA)])
        left = [(place, one) for place, one in left if place in kept]
    return SettingsSearch(trials)


def shortened(settings: TrainSettings, share: float) -> TrainSettings:
    if settings.max_steps is not None:
        return replace(settings, max_steps=max(1, round(settings.max_steps * share)))
    return replace(settings, epochs=settings.epochs * share)


def _trial(number: int, place: int, settings: TrainSettings, folder: Path, given: Any) -> Trial:
    model, sources, evaluator = given
    memo: dict[int, Any] = {}  # sources that shared an objective share its copy
    own = [replace(one, objective=deepcopy(one.objective, memo)) for one in sources]
    known: dict[str, Any] = {"round": number, "number": place, "settings": settings, "folder": folder}
    try:
        result = train(model, own, settings, output=folder, evaluator=evaluator)
    except Diverged:
        return Trial(**known, score=math.nan)
    if result.interrupted:
        raise KeyboardInterrupt(f"the search stopped in {folder}; repeat the call to continue")
    score = next(iter(read_object(folder / RECORD)["scores"].values()))
    return Trial(**known, score=score["value"], low=score.get("low", math.nan), high=score.get("high", math.nan))


def _ranked(trials: Sequence[Trial]) -> list[Trial]:
    """The trials, best first; ties keep the given order."""
    return sorted(trials, key=lambda one: (math.isnan(one.score), -one.score, one.number))
