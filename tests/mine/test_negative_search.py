"""How deep the search goes, what each rule is said to have done, and how far it has come."""

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.mine import (
    STRATEGIES,
    BelowPositive,
    ExcludeKnownPositives,
    MiningResult,
    MiningSettings,
    Precomputed,
    RankBetween,
    Rule,
    ScoreBetween,
    mine_negatives,
    negative_search,
)
from likewise.mine.candidate_space import CandidateSpace
from likewise.mine.negative_search import DEPTH_FACTOR, FIRST_DEPTH, NegativeSearch, SearchState
from likewise.mine.rules import KnownPositives, RerankerFilter
from tests.mine.slow_reference import Model, Reader


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    """A search that begins with two candidates and then looks at twice as many."""
    monkeypatch.setattr(negative_search, "FIRST_DEPTH", 2)
    monkeypatch.setattr(negative_search, "DEPTH_FACTOR", 2)


def mined_by_scores(scores, *rules: Rule, positive: float = 99.0, **how) -> MiningResult:
    """What is mined for one anchor whose candidates have these scores."""
    given = (np.array([[1.0]]), np.array([[positive]]), np.array(scores)[:, None])
    ready = Precomputed(*(vectors.astype(np.float32) for vectors in given))
    settings = MiningSettings(rules=rules, metric="dot", **how)
    return mine_negatives(["anchor"], ["positive"], ready, corpus=[f"text {s}" for s in scores], settings=settings)


NONE = ScoreBetween(high=-99)  # removes every candidate, and never ends a search


@pytest.mark.parametrize(
    ("rules", "examined"),
    [
        ([RankBetween(0, 6), NONE], 6),
        ([RankBetween(0, 7), NONE], 12),
        ([ScoreBetween(low=19.5), NONE], 6),
        ([ScoreBetween(low=19), NONE], 12),
        ([ScoreBetween(low=13), NONE], 24),
        ([BelowPositive(margin=0.5), NONE], 48),
        ([NONE], 48),
    ],
)
def test_a_search_ends_as_soon_as_no_farther_candidate_can_be_kept(rules, examined):
    scores = [24.0 - i for i in range(48)]
    with pytest.raises(BadInput, match=f"Of {examined} candidates examined"):
        mined_by_scores(scores, *rules, k=3)


@pytest.mark.parametrize(("high", "examined"), [(2, 20), (1, 48)])
def test_a_search_that_fills_up_ends_with_enough_that_the_rules_kept(high, examined):
    how = {"k": 2, "strategy": "random", "pool_size": 10, "missing": "fill"}
    result = mined_by_scores([24.0 - i for i in range(48)], RankBetween(0, high), **how)
    assert result.report.examined == examined and result.report.filled == 2 - high


def test_each_rule_reports_what_it_removed_and_the_rows_that_it_left_short():
    """Of four candidates three, two, one and none are left; two are wanted."""
    rules = [ScoreBetween(high=high) for high in (4.5, 3.5, 2.5, 1.0)]
    result = mined_by_scores([5.0, 4.0, 3.0, 2.0], *rules, k=2, missing="fill")
    stats = [(one.removed, one.rows_short) for one in result.report.rule_stats]
    assert stats == [(0, 0), (1, 0), (1, 0), (1, 1), (1, 0)]


def test_a_row_that_has_exactly_as_many_as_wanted_lacks_none():
    result = mined_by_scores([5.0, 4.0, 3.0], ScoreBetween(high=4), k=2, missing="error")
    assert result.negatives == [["text 4.0", "text 3.0"]]
    report = result.report
    assert (report.complete, report.partial, report.empty, report.dropped, report.filled) == (1, 0, 0, 0, 0)
    assert str(report) == (
        "1 of 1 row has 2 negatives, 0 have fewer, 0 none. Of 3 candidates examined, "
        "ExcludeKnownPositives() removed 0; ScoreBetween(high=4) removed 1"
    )


def test_before_the_search_every_negative_is_missing():
    state = SearchState.empty(2, 3, 1)
    assert state.indices.tolist() == [[-1] * 3] * 2 and np.isnan(state.scores).all() and not state.complete.any()


def test_the_largest_group_counts_what_pairs_connect_and_only_where_they_are_followed():
    rows = (["a", "b", "x", "p"], ["b", "c", "y", "q"])
    report = mine_negatives(*rows, Model(), settings=MiningSettings(rules=(), metric="dot")).report
    assert report.largest_group == 3
    rules = (ExcludeKnownPositives(transitive=False),)
    report = mine_negatives(*rows, Model(), settings=MiningSettings(rules=rules, metric="dot")).report
    assert report.largest_group == 0


def test_progress_counts_rows_and_no_tokens(monkeypatch):
    monkeypatch.setattr(negative_search, "BLOCK", 2)
    seen = []
    names = [f"row {i}" for i in range(5)]
    vectors = Precomputed(np.eye(5, dtype=np.float32), np.eye(5, dtype=np.float32))
    mine_negatives(
        names,
        [f"text {i}" for i in range(5)],
        vectors,
        settings=MiningSettings(rules=()),
        show_progress_bar=lambda meter: seen.append((meter.texts, meter.tokens, meter.total)),
    )
    assert seen == [(2, 0, 5), (4, 0, 5), (5, 0, 5)]


def test_a_reranker_scores_a_pair_again_only_after_its_scores_were_cleared():
    reader, other = Reader(), Reader()
    scorer = RerankerFilter(["a"], ["p"], ["x", "y", "x2"])
    given = (None, np.array([0]), np.array([[0, 1, 2]]), np.array([[True, False, True]]))
    scores, own = scorer.scores(reader, *given)
    assert reader.read == [("a", "x"), ("a", "x2"), ("a", "p")]
    assert scores[0, [0, 2]].tolist() == [Reader.of("a", "x"), Reader.of("a", "x2")] and np.isnan(scores[0, 1])
    assert own.tolist() == [Reader.of("a", "p")]
    scorer.scores(reader, *given)
    assert len(reader.read) == 3, "it was asked again"
    scorer.scores(other, *given)
    scorer.scores(reader, "yes", *given[1:])
    assert len(other.read) == 3 and len(reader.read) == 6, "scores of another reranker or label were taken"
    scorer.clear()
    scorer.scores(reader, *given)
    assert len(reader.read) == 9


def test_by_default_64_candidates_are_examined_and_then_four_times_as_many():
    scores = [float(-i) for i in range(300)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(negative_search, "FIRST_DEPTH", FIRST_DEPTH)
        patch.setattr(negative_search, "DEPTH_FACTOR", DEPTH_FACTOR)
        for high, examined in ((0, 64), (-63, 64), (-64, 256), (-256, 300)):
            assert mined_by_scores(scores, ScoreBetween(high=high)).report.examined == examined


@pytest.mark.parametrize(
    ("max_candidates", "rows"), [(1, 1024), (1000, 1024), (4096, 1024), (4097, 1023), (8192, 512), (1 << 23, 1)]
)
def test_a_block_has_1024_rows_or_as_many_as_fit_four_million_candidates(max_candidates, rows):
    vectors = np.zeros((1, 1), np.float32)
    one = np.zeros(1, np.int64)
    pool = np.broadcast_to(np.float32(0), (1 << 23, 1))
    space = CandidateSpace(vectors, vectors, one, one, pool, "dot")
    known, scorer = KnownPositives.of(["a"], ["b"], ["c"]), RerankerFilter(["a"], ["b"], ["c"])
    search = NegativeSearch(space, known, scorer, MiningSettings(max_candidates=max_candidates))
    assert search.block == rows and search.max_candidates == max_candidates


@pytest.mark.parametrize(("name", "expected"), [("top", [10, 11, 12]), ("spread", [11, 14, 17])])
def test_a_strategy_chooses_as_many_as_asked_for_in_their_order(name, expected):
    positions = np.arange(10, 19)
    for strategy in STRATEGIES.values():
        for seed in range(5):
            chosen = strategy(positions, 3, np.random.default_rng(seed))
            assert len(set(chosen.tolist())) == 3 and (np.diff(chosen) > 0).all()
    assert STRATEGIES[name](positions, 3, np.random.default_rng(0)).tolist() == expected
