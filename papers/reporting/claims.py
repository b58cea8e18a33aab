"""What the papers claim of one way to train beside another, and whether finished runs bear it out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from likewise.evaluate.statistics.hypothesis_tests import over_seeds

from .run_lines import IN_TWO_RUNS, UNTRAINED, Group, Line, concatenation

SAME = ("backbone", "whole", "other_data", "precision")
"""What both kinds of runs share under every claim, beside what the claim names; and the pooling, if it names none."""
SETTINGS = ("rows", "epochs", "batch", "rate")
BUT_THE_RATE = (*SAME, "recipe", "pooling", "objective", "note", "data", *SETTINGS[:3])
DEV = "stsb-dev"


@dataclass(frozen=True)
class Claim:
    """Of two kinds of runs on one backbone the first should score higher; `alike` is what else they must share."""

    statement: str
    ours: Mapping[str, Any]
    theirs: Mapping[str, Any]
    column: str
    alike: tuple[str, ...] = ()
    may_differ: tuple[str, ...] = ()

    def compares(self, ours: Line, theirs: Line) -> bool:
        """Whether two runs are of its kinds, and differ in nothing else that matters."""
        named = {*self.ours} & {*self.theirs} | {*self.may_differ}
        shared = [key for key in (*SAME, "pooling", *self.alike) if key not in named]
        return _is(ours, self.ours) and _is(theirs, self.theirs) and all(ours.get(k) == theirs.get(k) for k in shared)


def _recipe(name: str, **more: Any) -> dict[str, Any]:
    return {"recipe": name, **more}


_AS_IT_IS = ("whole", "precision", "pooling")
"""What does not matter of a backbone that was not trained, but for the pooling that the claim names."""
_PARTS = ["u", "v", "|u-v|"]
_NLI, _STSB = _recipe("ablation-nli", pooling="mean", parts=_PARTS), _recipe("ablation-stsb", pooling="mean")
_MEAN, _CLS = _recipe(UNTRAINED, pooling="mean"), _recipe(UNTRAINED, pooling="cls")
_SOFTMAX, _RANKING, _REGRESSION = _recipe("sbert-nli"), _recipe("sbert-nli-contrastive"), _recipe("sbert-stsb")
_NLI_FIRST = {
    "NLI": ("sbert-nli-then-stsb", IN_TWO_RUNS[0]),
    "ranking": ("sbert-nli-then-stsb-contrastive", IN_TWO_RUNS[1]),
}
"""Recipes of both stages, in one command or in two."""
_CROSS, _POLY = _recipe("cross-encoder-stsb"), _recipe("poly-encoder-stsb")
_SECOND = (*SETTINGS[1:], "steps")
"""Of two stages, the second's; rows are those of both, and of NLI's there may be a part."""

CLAIMS = (
    Claim("NLI by softmax beats averaging", _SOFTMAX, _MEAN, "avg", (), _AS_IT_IS),
    Claim("NLI by softmax beats CLS", _SOFTMAX, _CLS, "avg", (), _AS_IT_IS),
    Claim("NLI by ranking beats averaging", _RANKING, _MEAN, "avg", (), _AS_IT_IS),
    Claim("NLI by ranking beats NLI by softmax", _RANKING, _SOFTMAX, "avg", ("rows", "epochs")),
    Claim("averaging beats CLS", _MEAN, _CLS, "avg"),
    Claim("averaging beats averaged random weights", _MEAN, _recipe("random"), "avg"),
    Claim("(u, v, |u − v|) beats (u, v)", _NLI, {**_NLI, "parts": ["u", "v"]}, "stsb-dev", SETTINGS),
    Claim("(u, v, |u − v|) beats |u − v|", _NLI, {**_NLI, "parts": ["|u-v|"]}, "stsb-dev", SETTINGS),
    Claim("(u, v, |u − v|) beats u ∗ v", _NLI, {**_NLI, "parts": ["u*v"]}, "stsb-dev", SETTINGS),
    Claim("NLI: mean beats max", _NLI, {**_NLI, "pooling": "max"}, "stsb-dev", SETTINGS),
    Claim("NLI: mean beats CLS", _NLI, {**_NLI, "pooling": "cls"}, "stsb-dev", SETTINGS),
    Claim("regression: mean beats max", _STSB, {**_STSB, "pooling": "max"}, "stsb-dev", SETTINGS),
    Claim("regression: mean beats CLS", _STSB, {**_STSB, "pooling": "cls"}, "stsb-dev", SETTINGS),
    *(
        Claim(f"{first}, then STS-B, beats STS-B", _recipe(recipe), _REGRESSION, "stsb", _SECOND, ("whole",))
        for first, recipes in _NLI_FIRST.items()
        for recipe in recipes
    ),
    Claim("a cross-encoder beats a bi-encoder", _CROSS, _REGRESSION, "stsb", ("rows", "epochs"), ("pooling",)),
    Claim("a poly-encoder beats a bi-encoder", _POLY, _REGRESSION, "stsb", ("rows", "epochs"), ("pooling",)),
)


@dataclass(frozen=True)
class CheckedClaim:
    """A claim on two groups of runs that differ in their seeds alone."""

    claim: Claim
    ours: Group
    theirs: Group
    figures: Mapping[int, tuple[float, float]]

    def verdict(self) -> tuple[str, str]:
        """The difference with its interval over seeds, and whether the claim holds."""
        differences = [a - b for a, b in self.figures.values()]
        if len(differences) < 2:
            return f"{differences[0]:+.2f}", "one seed: unknown"
        result = over_seeds(differences)
        return difference_text(result.mean, result.low, result.high), holds(result.low, result.high)


def holds(low: float, high: float) -> str:
    """Whether a claim of a difference above 0 holds, by the interval of the difference."""
    return "yes" if low > 0 else "no, the other way" if high < 0 else "not distinguishable"


def difference_text(value: float, low: float, high: float) -> str:
    """A difference with its interval."""
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"


def checked_claims(groups: Sequence[Group]) -> Iterator[CheckedClaim]:
    """Every claim on every backbone and setting for which both kinds of runs are there.

    Where a claim leaves the rate free, each kind has the rate that is best for it.
    """
    best = at_their_best_rates(groups)
    for claim in CLAIMS:
        some = groups if "rate" in claim.alike else best
        for a in some:
            for b in some:
                if claim.compares(a[0], b[0]) and (result := by_seed(a, b, claim.column)):
                    yield CheckedClaim(claim, a, b, result)


def at_their_best_rates(groups: Sequence[Group]) -> list[Group]:
    """Of groups that differ in their rate alone: of those with the most seeds, the best on STS-B's development."""
    result: dict[tuple[Any, ...], list[Group]] = {}
    for group in groups:
        settings = (group[0].get(key) for key in BUT_THE_RATE)
        result.setdefault(tuple(v if isinstance(v, int | float) else str(v) for v in settings), []).append(group)
    return [max(alike, key=_seeds_and_quality) for alike in result.values()]


def _seeds_and_quality(group: Group) -> tuple[int, float]:
    return len(group), mean(_figures(group, DEV).values() or [0.0])


def by_seed(ours: Group, theirs: Group, column: str) -> dict[int, tuple[float, float]]:
    """Both figures of each seed that both have; an untrained model has no seed, and stands against all."""
    a, b = _figures(ours, column), _figures(theirs, column)
    if ours[0]["recipe"] == UNTRAINED and a:
        a = dict.fromkeys(b, next(iter(a.values())))
    if theirs[0]["recipe"] == UNTRAINED and b:
        b = dict.fromkeys(a, next(iter(b.values())))
    return {seed: (a[seed], b[seed]) for seed in a if seed in b}


def _figures(runs: Group, column: str) -> dict[int, float]:
    return {line["seed"]: line[column] for line in runs if line.get(column) is not None}


def _is(line: Line, expected: Mapping[str, Any]) -> bool:
    described = {**line, "parts": concatenation(line)}
    return all(described.get(key) == value for key, value in expected.items())
