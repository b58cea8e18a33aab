"""What is mined by default, and the first and last values of settings and rules that are accepted."""

import math

import pytest

from likewise.errors import BadInput
from likewise.mine import (
    DEFAULT_RATIO,
    BelowPositive,
    ExcludeKnownPositives,
    MiningPrompts,
    MiningSettings,
    RankBetween,
    RerankerScoreBelow,
    ScoreBetween,
)
from tests.mine.slow_reference import Reader


def test_the_defaults_are_those_of_the_documentation():
    settings = MiningSettings()
    assert DEFAULT_RATIO == 0.95
    assert vars(settings) == {
        "k": 1,
        "rules": (ExcludeKnownPositives(transitive=True), BelowPositive(ratio=0.95)),
        "strategy": "top",
        "pool_size": 100,
        "max_candidates": 1000,
        "missing": "drop",
        "metric": "cosine",
        "seed": 0,
    }
    assert vars(RankBetween()) == {"low": 0, "high": None}
    assert vars(ScoreBetween()) == {"low": -math.inf, "high": math.inf}
    assert MiningPrompts().of_anchors == MiningPrompts().of_corpus == {}


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("k", 1, 1 << 20), ("pool_size", 1, None), ("max_candidates", 1, None), ("seed", 0, None)],
)
def test_the_first_and_the_last_number_accepted(name, least, most):
    assert getattr(MiningSettings(**{name: least}), name) == least
    with pytest.raises(BadInput, match=f"{name} is {least - 1}; expected a whole number, {least} or more"):
        MiningSettings(**{name: least - 1})
    if most is not None:
        assert getattr(MiningSettings(**{name: most}), name) == most
        with pytest.raises(BadInput, match=r"k is 1,048,577; expected at most 1,048,576 negatives per row"):
            MiningSettings(**{name: most + 1})


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda: RankBetween(-1, 5), "low is -1; expected a whole number, 0 or more"),
        (lambda: RankBetween("1"), "low is '1'"),
        (lambda: RankBetween(0, 0), "high is 0"),
        (lambda: RankBetween(0, 2.5), "high is 2.5"),
        (lambda: RankBetween(3, 3), "removes every candidate; expected low < high"),
        (lambda: BelowPositive(ratio=1.001), "expected a ratio above 0 and at most 1"),
        (lambda: BelowPositive(ratio=0.0), "expected a ratio above 0 and at most 1"),
        (lambda: BelowPositive(margin=-1e-9), "expected a finite margin, 0 or greater"),
        (lambda: BelowPositive(margin=math.inf), "expected a finite margin, 0 or greater"),
        (lambda: BelowPositive(margin=math.nan), "expected a finite margin, 0 or greater"),
        (lambda: BelowPositive(), "expected either a margin or a ratio"),
        (lambda: BelowPositive(margin=0.1, ratio=0.9), "expected either a margin or a ratio"),
        (lambda: ScoreBetween(1, 0), "expected low ≤ high"),
        (lambda: ScoreBetween(math.nan), "expected low ≤ high"),
    ],
)
def test_a_rule_beyond_its_bounds_is_refused(rule, message):
    with pytest.raises(BadInput, match=message):
        rule()


def test_a_number_below_a_positive_is_named_margin_or_ratio():
    for values in ((0.1,), (None, 0.9)):
        with pytest.raises(TypeError):
            BelowPositive(*values)


@pytest.mark.parametrize(
    ("rules", "transitive", "count"),
    [
        ((), True, 1),
        ((RankBetween(1),), True, 2),
        ((ExcludeKnownPositives(False),), False, 1),
        ((RankBetween(1), ExcludeKnownPositives(False)), False, 2),
        ((ExcludeKnownPositives(False), ExcludeKnownPositives()), True, 2),
    ],
)
def test_known_positives_are_excluded_even_where_no_rule_asks_for_it(rules, transitive, count):
    settings = MiningSettings(rules=rules)
    assert settings.transitive is transitive and len(settings.all_rules) == count


def test_the_text_of_a_rule_does_not_show_the_reranker():
    rule = RerankerScoreBelow(Reader(), ScoreBetween(high=0.5))
    assert repr(rule) == "RerankerScoreBelow(rule=ScoreBetween(low=-inf, high=0.5), label=None)"
