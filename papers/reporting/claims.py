"""The papers' claims that one way of training beats another, and whether finished runs support them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from .run_lines import IN_TWO_RUNS, UNTRAINED, Group, Line, concatenation
from .spread import over_seeds

SAME = ("backbone", "whole", "other_data", "precision")
"""Settings that both kinds of runs share under every claim, as they do the pooling, unless the claim names them."""
SETTINGS = ("rows", "epochs", "batch", "rate")
BUT_THE_RATE = (*SAME, "recipe", "pooling", "objective", "note", "data", *SETTINGS[:3])
DEV = "stsb-dev"


@dataclass(frozen=True)
class Claim:
    """Of two kinds of runs on the same backbone, the first should score higher; `alike` lists other shared settings."""

    statement: str
    ours: Mapping[str, Any]
    theirs: Mapping[str, Any]
    column: str
    alike: tuple[str, ...] = ()
    may_differ: tuple[str, ...] = ()

    def compares(self, ours: Line, theirs: Line) -> bool:
        """Whether two runs are of the claim's two kinds and differ in no other relevant setting."""
        named = {*self.ours} & {*self.theirs} | {*self.may_differ}
        shared = [key for key in (*SAME, "pooling", *self.alike) if key not in named]
        return _is(ours, self.ours) and _is(theirs, self.theirs) and all(ours.get(k) == theirs.get(k) for k in shared)


def _recipe(name: str, **more: Any) -> dict[str, Any]:
    return {"recipe": name, **more}


_AS_IT_IS = ("whole", "precision", "pooling")
"""Settings in which runs may differ from those of an untrained backbone, whose pooling the claim names."""
_PARTS = ["u", "v", "|u-v|"]
_NLI, _STSB = _recipe("ablation-nli", pooling="mean", parts=_PARTS), _recipe("ablation-stsb", pooling="mean")
_MEAN, _CLS = _recipe(UNTRAINED, pooling="mean"), _recipe(UNTRAINED, pooling="cls")
_SOFTMAX, _RANKING, _REGRESSION = _recipe("sbert-nli"), _recipe("sbert-nli-contrastive"), _recipe("sbert-stsb")
_NLI_FIRST = {
    "NLI": ("sbert-nli-then-stsb", IN_TWO_RUNS[0]),
    "ranking": ("sbert-nli-then-stsb-contrastive", IN_TWO_RUNS[1]),
}
"""Recipes for both stages, run by one command or by two."""
_CROSS, _POLY = _recipe("cross-encoder-stsb"), _recipe("poly-encoder-stsb")
_SECOND = (*SETTINGS[1:], "steps")
"""The second stage's settings; rows count both stages, and NLI's may be only a part."""

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
    """A claim applied to two groups of runs; within a group, only seeds differ."""

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
    """Whether a claim that a difference is above 0 holds, judged by the difference's interval."""
    return "yes" if low > 0 else "no, the other way" if high < 0 else "not distinguishable"


def found_sentence(verdicts: Sequence[str]) -> str:
    """How many of the claims, each tested on some backbone and setting, hold."""
    counts = {text: sum(verdict.startswith(text) for verdict in verdicts) for text in ("yes", "no,", "not", "one")}
    return (
        f"The papers' claims were tested {len(verdicts)} times, on different backbones and with different settings: "
        f"the claim held in {counts['yes']} of these tests and its opposite in {counts['no,']}; the difference could "
        f"be due to chance in {counts['not']}, and there is only one seed in {counts['one']}."
    )


def difference_text(value: float, low: float, high: float) -> str:
    """The text of a difference with its interval."""
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"


def checked_claims(groups: Sequence[Group]) -> Iterator[CheckedClaim]:
    """Check every claim on every backbone and setting with both kinds of runs.

    If a claim does not fix the learning rate, each kind is represented by its best rate.
    """
    best = at_their_best_rates(groups)
    for claim in CLAIMS:
        some = groups if "rate" in claim.alike else best
        for a in some:
            for b in some:
                if claim.compares(a[0], b[0]) and (result := by_seed(a, b, claim.column)):
                    yield CheckedClaim(claim, a, b, result)


def at_their_best_rates(groups: Sequence[Group]) -> list[Group]:
    """Among groups that differ only in learning rate and have the most seeds, the best on STS-B's development split."""
    result: dict[tuple[Any, ...], list[Group]] = {}
    for group in groups:
        settings = (group[0].get(key) for key in BUT_THE_RATE)
        result.setdefault(tuple(v if isinstance(v, int | float) else str(v) for v in settings), []).append(group)
    return [max(alike, key=_seeds_and_quality) for alike in result.values()]


def _seeds_and_quality(group: Group) -> tuple[int, float]:
    return len(group), mean(_figures(group, DEV).values() or [0.0])


def by_seed(ours: Group, theirs: Group, column: str) -> dict[int, tuple[float, float]]:
    """Both figures for each shared seed; an untrained model has no seed and is compared with all seeds."""
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
