"""What the papers claim of one way to train beside another, and whether the runs at hand bear it out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from likewise.evaluate.hypotheses import over_seeds

Line = Mapping[str, Any]
SETTINGS = ("epochs", "batch", "rate", "precision")


@dataclass(frozen=True)
class Claim:
    """Of two kinds of runs on one backbone the first is said to score higher; `alike` is what they must share."""

    said: str
    ours: Mapping[str, Any]
    theirs: Mapping[str, Any]
    column: str
    alike: tuple[str, ...] = ()


def _recipe(name: str, **more: Any) -> dict[str, Any]:
    return {"recipe": name, **more}


_NLI, _STSB, _ROWS = "ablation-nli", "ablation-stsb", (*SETTINGS, "rows")
_ALL = _recipe(_NLI, pooling="mean", parts=["u", "v", "|u-v|"])
CLAIMS = (
    Claim("NLI by softmax beats averaging", _recipe("sbert-nli"), _recipe("untrained", pooling="mean"), "avg"),
    Claim("NLI by softmax beats CLS", _recipe("sbert-nli"), _recipe("untrained", pooling="cls"), "avg"),
    Claim("ranking in the batch beats softmax", _recipe("sbert-nli-contrastive"), _recipe("sbert-nli"), "avg"),
    Claim("the backbone beats random weights", _recipe("untrained", pooling="mean"), _recipe("random"), "avg"),
    Claim("(u, v, |u − v|) beats (u, v)", _ALL, _recipe(_NLI, parts=["u", "v"]), "stsb-dev", _ROWS),
    Claim("(u, v, |u − v|) beats |u − v|", _ALL, _recipe(_NLI, parts=["|u-v|"]), "stsb-dev", _ROWS),
    Claim("(u, v, |u − v|) beats u ∗ v", _ALL, _recipe(_NLI, parts=["u*v"]), "stsb-dev", _ROWS),
    Claim("NLI: mean beats max", _ALL, {**_ALL, "pooling": "max"}, "stsb-dev", _ROWS),
    Claim("NLI: mean beats CLS", _ALL, {**_ALL, "pooling": "cls"}, "stsb-dev", _ROWS),
    Claim(
        "regression: mean beats max", _recipe(_STSB, pooling="mean"), _recipe(_STSB, pooling="max"), "stsb-dev", _ROWS
    ),
    Claim(
        "regression: mean beats CLS", _recipe(_STSB, pooling="mean"), _recipe(_STSB, pooling="cls"), "stsb-dev", _ROWS
    ),
    Claim("NLI, then STS-B, beats STS-B", _recipe("sbert-nli-then-stsb"), _recipe("sbert-stsb"), "stsb", SETTINGS),
    Claim(
        "NLI by ranking, then STS-B, beats STS-B",
        _recipe("sbert-nli-then-stsb-contrastive"),
        _recipe("sbert-stsb"),
        "stsb",
        SETTINGS,
    ),
    Claim(
        "a cross-encoder beats a bi-encoder", _recipe("cross-encoder-stsb"), _recipe("sbert-stsb"), "stsb", ("rows",)
    ),
    Claim("a poly-encoder beats a bi-encoder", _recipe("poly-encoder-stsb"), _recipe("sbert-stsb"), "stsb", ("rows",)),
)


@dataclass(frozen=True)
class Tested:
    """A claim on two groups of runs that differ in their seeds alone."""

    claim: Claim
    ours: Sequence[Line]
    theirs: Sequence[Line]
    differences: Sequence[float]

    def verdict(self) -> tuple[str, str]:
        """The difference with its interval over seeds, and whether the claim holds."""
        if len(self.differences) < 2:
            return f"{self.differences[0]:+.2f}", "one seed: not told"
        found = over_seeds(self.differences)
        told = "yes" if found.low > 0 else "no, the other way" if found.high < 0 else "not told apart"
        return f"{found.mean:+.2f} [{found.low:+.2f}, {found.high:+.2f}]", told


def tested(groups: Sequence[Sequence[Line]]) -> Iterator[Tested]:
    """Every claim on every backbone and setting for which both kinds of runs are there."""
    for claim in CLAIMS:
        for a in (group for group in groups if _is(group[0], claim.ours)):
            for b in (group for group in groups if _is(group[0], claim.theirs)):
                if all(a[0].get(key) == b[0].get(key) for key in ("backbone", *claim.alike)):
                    differences = by_seed(a, b, claim.column)
                    if differences:
                        yield Tested(claim, a, b, differences)


def by_seed(ours: Sequence[Line], theirs: Sequence[Line], column: str) -> list[float]:
    """The differences of runs with the same seed; a lone untrained model has none, and stands against all."""
    a, b = _figures(ours, column), _figures(theirs, column)
    if _seedless(ours, a):
        a = dict.fromkeys(b, *a.values())
    elif _seedless(theirs, b):
        b = dict.fromkeys(a, *b.values())
    return [a[seed] - b[seed] for seed in a if seed in b]


def _figures(runs: Sequence[Line], column: str) -> dict[int, float]:
    return {line["seed"]: line[column] for line in runs if line.get(column) is not None}


def _seedless(runs: Sequence[Line], found: Mapping[int, float]) -> bool:
    return len(found) == 1 and not runs[0]["steps"]


def _is(line: Line, wanted: Mapping[str, Any]) -> bool:
    told = {**line, "parts": list(line["objective"].get("parts", ()))}
    return all(told.get(key) == value for key, value in wanted.items())
