"""Negatives are near, never said to be alike, the same as by hand, and what is missing is told."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import Embedder
from likewise.errors import BadInput
from likewise.files import Table
from likewise.mine import (
    STRATEGIES,
    BelowPositive,
    ExcludeKnownPositives,
    MiningPrompts,
    MiningSettings,
    Precomputed,
    RankBetween,
    RerankerScoreBelow,
    Rule,
    ScoreBetween,
    mine_negatives,
)
from likewise.text.normalization import normalized
from likewise.train.data.sources import read_rows as rows_of
from likewise.train.objectives import Contrastive, Triplet
from tests.mine.slow_reference import Model, Reader, friends, mined, vector

WORDS = st.sampled_from(["a", "A ", "b", "c", "d", "e", "f", "F", "g g", "g  G", "h", "i", "j"])
ROWS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=14)
CORPUS = st.none() | st.lists(WORDS | st.just(" ") | st.text(max_size=2), min_size=1, max_size=20)
NUMBERS = st.integers(-6, 6)
BY_SCORE: st.SearchStrategy[Rule] = st.one_of(
    st.builds(lambda a, b: ScoreBetween(min(a, b), max(a, b)), NUMBERS, NUMBERS),
    st.builds(lambda m: BelowPositive(margin=m), st.sampled_from([0.0, 0.5, 2.0])),
    st.builds(lambda s: BelowPositive(ratio=s), st.sampled_from([0.25, 0.5, 1.0])),
)
RULE = st.one_of(
    st.builds(ExcludeKnownPositives, st.booleans()),
    st.builds(lambda low, more: RankBetween(low, low + more), st.integers(0, 5), st.integers(1, 8)),
    st.builds(lambda low: RankBetween(low), st.integers(0, 5)),
    BY_SCORE,
    st.builds(lambda rule: RerankerScoreBelow(Reader(), rule), BY_SCORE),
)


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    """Blocks of three rows, and a search that begins with two candidates."""
    monkeypatch.setattr("likewise.mine.negative_search.BLOCK", 3)
    monkeypatch.setattr("likewise.mine.negative_search.FIRST_DEPTH", 2)
    monkeypatch.setattr("likewise.mine.negative_search.DEPTH_FACTOR", 2)


PROMPTS = {
    "prompt": "anchor",
    "prompt_name": "anchor_name",
    "corpus_prompt": "corpus",
    "corpus_prompt_name": "corpus_name",
}


def mine(anchors, positives, model, *, corpus=None, **options):
    """`mine_negatives` with its prompts and settings as keywords."""
    prompts = MiningPrompts(**{PROMPTS[name]: options.pop(name) for name in PROMPTS if name in options})
    settings = MiningSettings(**options)
    return mine_negatives(anchors, positives, model, corpus=corpus, settings=settings, prompts=prompts)


def columns(rows: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    return [a for a, _ in rows], [p for _, p in rows]


@given(ROWS, CORPUS, st.lists(RULE, max_size=4), st.integers(1, 4), st.integers(1, 20))
def test_they_are_those_that_one_would_find_by_hand(rows, corpus, rules, k, max_candidates):
    if not any(normalized(text) for text in (corpus or columns(rows)[1])):
        return
    reported = (
        rules if any(isinstance(rule, ExcludeKnownPositives) for rule in rules) else [ExcludeKnownPositives(), *rules]
    )
    expected = mined(rows, corpus, reported, k, max_candidates)
    whole = [i for i, texts in enumerate(expected) if len(texts) == k]
    how = {"corpus": corpus, "k": k, "rules": rules, "max_candidates": max_candidates, "metric": "dot"}
    if not whole:
        with pytest.raises(BadInput, match="ExcludeKnownPositives.* removed"):
            mine(*columns(rows), Model(), **how)
        return
    result = mine(*columns(rows), Model(), **how)
    assert result.rows.tolist() == whole
    assert result.negatives == [expected[i] for i in whole]
    report = result.report
    counts = [len(texts) for texts in expected]
    assert (report.complete, report.empty) == (len(whole), counts.count(0))
    assert report.complete + report.partial + report.empty == report.rows == len(rows)
    assert report.dropped == len(rows) - len(result)
    assert sum(stats.removed for stats in report.rule_stats) <= report.examined


@given(ROWS, CORPUS, st.sampled_from([*STRATEGIES]), st.booleans(), st.sampled_from(["drop", "fill"]))
def test_nothing_that_is_said_to_be_alike_is_a_negative(rows, corpus, strategy, transitive, missing):
    rules = [ExcludeKnownPositives(transitive), BelowPositive(margin=0.5)]
    try:
        result = mine(
            *columns(rows), Model(), corpus=corpus, k=2, rules=rules, strategy=strategy, missing=missing, metric="dot"
        )
    except BadInput:
        return
    for anchor, texts in zip(result.anchors, result.negatives, strict=True):
        known = friends(normalized(anchor), rows, 10**6 if transitive else 1)
        assert known.isdisjoint(normalized(text) for text in texts)
        assert len({normalized(text) for text in texts}) == 2
    assert (np.diff(result.scores, axis=1) <= 0).all()
    assert (result.scores[~result.filled] < result.positive_scores.repeat(2).reshape(-1, 2)[~result.filled] - 0.5).all()


MANY = [(f"anchor {i}", f"positive {i}") for i in range(30)]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean", "manhattan"])
def test_blocks_and_depths_change_nothing(strategy, metric, monkeypatch):
    how = {
        "k": 3,
        "strategy": strategy,
        "pool_size": 9,
        "metric": metric,
        "rules": [RankBetween(2), BelowPositive(margin=0.1)],
    }
    small = mine(*columns(MANY), Model(), **how)
    monkeypatch.setattr("likewise.mine.negative_search.BLOCK", 1000)
    monkeypatch.setattr("likewise.mine.negative_search.FIRST_DEPTH", 1000)
    whole = mine(*columns(MANY), Model(), **how)
    assert small.negatives == whole.negatives
    assert small.rows.tolist() == whole.rows.tolist()


def test_random_is_seeded_by_row_and_stays_among_the_nearest():
    how = {"k": 3, "strategy": "random", "pool_size": 8, "rules": [], "metric": "dot"}
    one, again, other = (mine(*columns(MANY), Model(), seed=seed, **how) for seed in (1, 1, 2))
    assert one.negatives == again.negatives != other.negatives
    nearest = mine(*columns(MANY), Model(), k=8, rules=[], metric="dot").negatives
    assert all({*texts} <= {*near} for texts, near in zip(one.negatives, nearest, strict=True))


def test_spread_reaches_from_near_to_far():
    nearest = mine(*columns(MANY), Model(), k=9, rules=[], metric="dot").negatives
    result = mine(*columns(MANY), Model(), k=3, strategy="spread", pool_size=9, rules=[], metric="dot").negatives
    assert result == [[near[1], near[4], near[7]] for near in nearest]


def test_filling_takes_the_least_alike_and_says_so():
    rules = [ExcludeKnownPositives(), RankBetween(0, 1)]
    strict = mine(*columns(MANY), Model(), rules=rules, metric="dot")
    result = mine(*columns(MANY), Model(), k=3, rules=rules, missing="fill", metric="dot", max_candidates=20)
    far = mined(MANY, None, [ExcludeKnownPositives()], 20, 20)
    assert [texts[0] for texts in result.negatives] == [texts[0] for texts in strict.negatives]
    assert result.filled.tolist() == [[False, True, True]] * 30
    assert [texts[1:] for texts in result.negatives] == [others[-2:] for others in far]
    assert (result.report.filled, result.report.partial, result.report.dropped) == (60, 30, 0)


def test_rules_that_leave_nothing_are_reported_with_what_they_took():
    with pytest.raises(BadInput, match=r"ExcludeKnownPositives\(\) removed 2; ScoreBetween\(low=99\) removed 58"):
        mine(
            *columns(MANY),
            Model(),
            rules=[ExcludeKnownPositives(), ScoreBetween(low=99)],
            metric="dot",
            max_candidates=30,
        )


def test_an_anchor_of_several_rows_and_texts_of_several_spellings_are_one():
    rows = [("Ask", "one"), ("ask ", "two"), ("other", "three"), ("far", "Three")]
    result = mine(*columns(rows), Model(), rules=[], metric="dot", missing="fill")
    assert result.report.candidates == 3
    assert result.report.anchors == 3
    assert {text for texts in result.negatives[:2] for text in texts} == {"three"}
    assert result.groups is not None
    assert result.groups[0] == result.groups[1] != result.groups[2] == result.groups[3]


def test_what_pairs_join_is_no_negative_unless_only_pairs_count():
    rows = [("a", "b"), ("b", "c"), ("x", "y")]
    joined = mine(*columns(rows), Model(), rules=[], metric="dot")
    assert joined.negatives[0] == ["y"]
    direct = mine(*columns(rows), Model(), k=2, rules=[ExcludeKnownPositives(transitive=False)], metric="dot")
    assert direct.rows.tolist() == [0, 2]
    assert {*direct.negatives[0]} == {"c", "y"}
    assert direct.groups is None


def test_each_pair_is_read_once_and_only_where_it_counts():
    reader = Reader()
    rows = [*MANY, *MANY[:5]]
    result = mine(
        *columns(rows),
        Model(),
        k=4,
        rules=[RankBetween(0, 9), RerankerScoreBelow(reader, ScoreBetween(high=0))],
        metric="dot",
    )
    assert all(Reader.of(a, n) <= 0 for a, row in zip(result.anchors, result.negatives, strict=True) for n in row)
    again = len(reader.read) - len({*reader.read})
    assert again <= 6 * 9 + 6  # the five rows that come twice, in other blocks than before
    assert len(reader.read) <= 10 * len(rows)
    known = {pair for pair in reader.read if pair not in MANY}
    assert all(anchor.split()[1] != text.split()[1] for anchor, text in known)


def test_each_different_text_is_encoded_once_under_its_prompt():
    model = Model()
    mine(["a", "a", "b"], ["x", "y", "x"], model, corpus=["p", "q", "x"], metric="dot", rules=[], missing="fill")
    assert sorted(model.asked) == [(t, None) for t in ("a", "b", "p", "q", "x", "y")]
    model = Model()
    mine(
        ["a", "b"],
        ["x", "a"],
        model,
        metric="dot",
        rules=[ExcludeKnownPositives(False)],
        prompt="ask: ",
        missing="fill",
    )
    assert sorted(model.asked, key=str) == [("a", "ask: "), ("a", None), ("b", "ask: "), ("x", None)]


def test_prompts_go_to_the_model_as_texts_or_as_names():
    class Named(Model):
        def encode(self, texts, *, prompt=None, prompt_name=None):
            self.names = [*getattr(self, "names", []), (prompt, prompt_name)]
            return super().encode(texts)

    model = Named()
    how = {"metric": "dot", "rules": [ExcludeKnownPositives(False)], "missing": "fill"}
    mine(["a", "b"], ["x", "a"], model, prompt_name="query", corpus_prompt="text: ", **how)
    mine(["a", "b"], ["x", "a"], model, prompt="ask: ", corpus_prompt_name="document", **how)
    assert model.names == [(None, "query"), ("text: ", None), ("ask: ", None), (None, "document")]


def test_vectors_that_are_ready_take_no_prompt():
    ready = Precomputed(np.eye(2), np.eye(2))
    with pytest.raises(BadInput, match="are not encoded again"):
        mine(["a", "b"], ["x", "y"], ready, prompt="ask: ")


@given(ROWS, CORPUS, st.sampled_from(["cosine", "dot", "euclidean"]))
def test_ready_vectors_find_what_the_model_finds(rows, corpus, metric):
    anchors, positives = columns(rows)
    vectors = [np.array([vector(t) for t in texts]) for texts in (anchors, positives, corpus or ["-"])]
    ready = Precomputed(vectors[0], vectors[1], vectors[2] if corpus else None)
    how = {"corpus": corpus, "k": 1, "rules": [], "metric": metric, "missing": "fill"}
    try:
        expected = mine(anchors, positives, Model(), **how)
    except BadInput:
        with pytest.raises(BadInput):
            mine(anchors, positives, ready, **how)
        return
    assert mine(anchors, positives, ready, **how).negatives == expected.negatives


def test_an_embedder_does(tiny: Embedder):
    result = mine(*columns(MANY), tiny, k=2, rules=[ExcludeKnownPositives()])
    expected = tiny.encode(result.anchors[:1]) @ tiny.encode(result.negatives[0]).T
    assert result.scores[0] == pytest.approx(expected[0], abs=1e-5)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".jsonl"])
def test_training_reads_what_was_written(suffix, tmp_path: Path):
    result = mine(*columns(MANY), Model(), k=2, rules=[], metric="dot")
    path = tmp_path / f"mined{suffix}"
    result.write(path)
    read = rows_of(path, Contrastive())
    assert [*read.texts] == ["anchor", "positive", "negative_1", "negative_2"]
    assert [
        list(row) for row in zip(read.texts["negative_1"], read.texts["negative_2"], strict=True)
    ] == result.negatives
    assert read.numbers["group"].tolist() == list(result.groups)
    assert Table.read(path, list).numbers("score_negative_2") == pytest.approx(result.scores[:, 1].tolist())
    result.write(path, triplets=True, scores=False)
    read = rows_of(path, Triplet())
    assert list(zip(*read.texts.values(), strict=True)) == [
        (a, p, n) for a, p, row in zip(result.anchors, result.positives, result.negatives, strict=True) for n in row
    ]


GOOD = {"anchors": ["a", "b"], "positives": ["x", "y"], "model": Model()}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"anchors": [], "positives": []}, "expected the same number, at least 1"),
        ({"anchors": ["a"]}, "1 anchors and 2 positives"),
        ({"anchors": "ab"}, "anchors is 'ab' .*; expected a list of texts"),
        ({"positives": ["x", None]}, "positives, row 1: None is not a text"),
        ({"positives": ["x", " \n"]}, "positives, row 1: the text is empty"),
        ({"anchors": ["", "x"]}, "anchors, row 0: the text is empty"),
        ({"corpus": ["", " "]}, "all 2 texts .* are blank"),
        ({"corpus": np.array([["z"]])}, "corpus is .*; expected a list of texts"),
        ({"model": "likewise-mini"}, "model is 'likewise-mini' .*; expected an Embedder"),
        ({"rules": "BelowPositive"}, "rules has 'BelowPositive'"),
        ({"rules": [object]}, "rules has .*object.*; expected a list of rules"),
        ({"strategy": "best"}, "strategy is 'best'; expected one of top, random, spread"),
        ({"missing": "keep"}, "missing is 'keep'; expected one of drop, fill, error"),
        ({"metric": "edit"}, "metric is 'edit'; expected one of cosine"),
        ({"vectors": (np.ones((1, 3)), np.ones((2, 3)))}, r"anchors \(1, 3\) for 2 texts"),
        ({"vectors": (np.ones((2, 3)), np.ones((2, 4)))}, "all of the same dimension"),
        ({"vectors": (np.ones((2, 3)), np.ones((2, 3))), "corpus": ["z"]}, "the corpus None for 1 texts"),
        ({"vectors": (np.ones((2, 3)), np.ones((2, 3)), np.ones((2, 3)))}, r"the corpus \(2, 3\) for None"),
        ({"vectors": (np.ones(2), np.ones((2, 3)))}, r"anchors \(2,\) for 2 texts"),
        ({"vectors": (np.array([["a"], ["b"]]), np.ones((2, 1)))}, "anchors contains <U1"),
        ({"vectors": (np.array([[1.0], [np.nan]]), np.ones((2, 1)))}, "vector of 'b' contains NaN or infinity"),
        ({"vectors": (np.ones((2, 1)), np.array([[np.inf], [1.0]]))}, "vector of 'x' contains NaN or infinity"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_mined_is_said(changes, message):
    given = {**GOOD, **changes}
    if "vectors" in given:
        given["model"] = Precomputed(*given.pop("vectors"))
    with pytest.raises(BadInput, match=message):
        mine(given.pop("anchors"), given.pop("positives"), given.pop("model"), **given)


def test_a_reranker_that_gives_no_number_is_refused():
    class Broken:
        def score(self, pairs, **how):
            return np.full(len(pairs), np.nan)

    with pytest.raises(BadInput, match="expected a finite number for each"):
        mine(*columns(MANY), Model(), rules=[RerankerScoreBelow(Broken(), ScoreBetween(high=1))], metric="dot")


def test_rules_are_reported_as_they_are_written():
    rules = [ExcludeKnownPositives(), ExcludeKnownPositives(False), RankBetween(10, 100), BelowPositive(ratio=0.95)]
    assert [str(rule) for rule in rules] == [
        *("ExcludeKnownPositives()", "ExcludeKnownPositives(transitive=False)", "RankBetween(low=10, high=100)"),
        "BelowPositive(ratio=0.95)",
    ]
    of_reranker = RerankerScoreBelow(Reader(), ScoreBetween(high=1), "yes")
    assert str(of_reranker) == "RerankerScoreBelow(ScoreBetween(high=1), label=yes)"


def _by_scores(scores: list[float], positive: float, *rules: Rule, **how) -> list[str]:
    """The negatives of one anchor whose candidates have these scores; k of them, or none."""
    texts = [f"scored {score}, the {i}th" for i, score in enumerate(scores)]
    given = (np.array([[1.0]]), np.array([[positive]]), np.array(scores)[:, None])
    ready = Precomputed(*(vectors.astype(np.float32) for vectors in given))
    result = mine(["anchor"], ["positive"], ready, corpus=texts, rules=[*rules], metric="dot", **how)
    return [text.split(",")[0].removeprefix("scored ") for text in result.negatives[0]]


def test_a_share_of_a_positive_below_nothing_is_taken_away_and_not_given():
    scores = [0.0, -1.5, -2.0, -2.9, -3.0, -3.1, -9.0]
    assert _by_scores(scores, -2.0, BelowPositive(ratio=0.5), k=2) == ["-3.1", "-9.0"]
    assert _by_scores(scores, -2.0, BelowPositive(ratio=1.0), k=2) == ["-2.9", "-3.0"]
    assert _by_scores([2.0, 1.0, 0.9], 2.0, BelowPositive(ratio=0.5), k=1) == ["0.9"]


def test_bounds_are_among_what_scores_between_them_however_deep_equal_scores_lie():
    """Of two candidates looked at first, the last scores the least that is wanted; so does the third."""
    assert _by_scores([5.0, 3.0, 3.0, 1.0], 9.0, ScoreBetween(low=3), RankBetween(2), k=1) == ["3.0"]
    assert _by_scores([5.0, 3.0, 3.0, 1.0], 9.0, ScoreBetween(low=3), k=3) == ["5.0", "3.0", "3.0"]
    assert _by_scores([5.0, 5.0, 4.0, 3.0], 9.0, ScoreBetween(high=4), k=2) == ["4.0", "3.0"]


def test_triplets_are_the_rows_of_the_columns_one_below_the_other():
    result = mine(*columns(MANY), Model(), k=3, rules=[], metric="dot")
    wide, long = result.columns(), result.triplets()
    assert result.report.kept == len(result) == 30 and len(long["anchor"]) == 90
    for i in range(30):
        for j in range(3):
            row = {name: values[3 * i + j] for name, values in long.items()}
            once = {name: wide[name][i] for name in ("anchor", "positive", "group", "score_positive")}
            assert row == once | {
                "negative": wide[f"negative_{j + 1}"][i],
                "score_negative": wide[f"score_negative_{j + 1}"][i],
            }
    assert [*result.triplets(scores=False)] == ["anchor", "positive", "negative", "group"]
    assert [*result.columns(scores=False)] == [*(n for n in wide if not n.startswith("score"))]
