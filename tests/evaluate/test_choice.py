"""Choosing on your own data: items with their own scores, candidates that share vectors, and errors."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.evaluate import Candidate, StoppingRule, Variations, choose, collection_task, data_task, evaluate
from likewise.evaluate.choice import Choice, Entrant
from likewise.evaluate.collection import JudgedCollection, read_collection
from likewise.evaluate.items import items_of_collection, items_of_data
from likewise.evaluate.metrics.binary_classification import auc
from likewise.evaluate.rankers import WordRanker
from likewise.evaluate.reports.choice_report import format_choice, verdict
from likewise.evaluate.statistics.anytime import confidence_sequence
from likewise.evaluate.statistics.significance import Interval

N = 120
TIMES = ("process_time", "perf_counter")


def good(texts):
    """Texts with the same number, such as "17 a" and "17 b", are close: the number is an angle on a circle."""
    angles = np.array([2 * np.pi * int(text.split()[0]) / N for text in texts])
    return np.stack([np.cos(angles), np.sin(angles), 0 * angles], 1).astype(np.float32)


def poor(texts):
    return np.stack([np.random.default_rng(list(text.encode())).normal(size=3) for text in texts])


TRIPLETS = {
    "anchor": [f"{i} a" for i in range(N)],
    "positive": [f"{i} b" for i in range(N)],
    "negative": [f"{(i + 40) % N} c" for i in range(N)],
}
PAIRS = {name: TRIPLETS[name] for name in ("anchor", "positive")}
LABELLED = {
    "sentence1": [f"{i} a" for i in range(N)],
    "sentence2": [f"{(i + (0 if i % 3 else 30)) % N} b" for i in range(N)],
    "label": [int(i % 3 > 0) for i in range(N)],
}
SCORED = {"sentence1": LABELLED["sentence1"], "sentence2": LABELLED["sentence2"], "score": [i % 3 for i in range(N)]}
DATA = {"triplets": TRIPLETS, "pairs": PAIRS, "labelled": LABELLED, "scored": SCORED}


@pytest.fixture
def collection(tmp_path):
    lines = [f'{{"_id": "d{i}", "text": "{i} b"}}' for i in range(N)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines))
    (tmp_path / "queries.jsonl").write_text("\n".join(line.replace('"d', '"q') for line in lines))
    rows = [f"q{i}\td{i}\t1" for i in range(N)]
    (tmp_path / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]))
    return read_collection(*(tmp_path / name for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv")))


@pytest.mark.parametrize("kind", DATA)
def test_the_better_model_is_chosen_on_every_kind_of_data(kind):
    choice = choose({"good": good, "poor": poor}, DATA[kind], rule=StoppingRule(margin=0))
    assert (choice.best.name, choice.verdict) == ("good", "winner")
    assert choice.items < choice.total and [one.state for one in choice.entrants] == ["chosen", "lost"]
    assert "good is the best" in format_choice(choice)


def test_two_rows_with_the_same_cosine_are_half_an_item():
    source = items_of_data(SCORED)
    scorer = source.scorer(lambda texts: np.ones((len(texts), 2), np.float32))
    assert set(scorer(np.arange(source.count), [(None, None)]).ravel().tolist()) == {0.5}


def test_a_triplet_whose_sides_are_equally_near_is_wrong():
    scorer = items_of_data(TRIPLETS).scorer(lambda texts: np.ones((len(texts), 2), np.float32))
    assert scorer(np.arange(5), [(None, None)]).tolist() == [[0.0] * 5]


@pytest.mark.parametrize(
    ("kind", "metric"), [("labelled", "label 1 has the higher cosine"), ("scored", "the higher score has")]
)
def test_the_metric_says_what_an_item_is_and_columns_not_used_are_noted(kind, metric):
    source = items_of_data({**DATA[kind], "negative": ["x"] * N})
    assert metric in source.metric and source.notes == ("not used: negative",)
    assert items_of_data(DATA[kind]).notes == ()


def test_the_rows_of_items_are_drawn_with_the_seed_0_by_default():
    items = {seed: items_of_data(SCORED, seed=seed).scorer(poor)(np.arange(20), [(None, None)]) for seed in (0, 1)}
    default = items_of_data(SCORED).scorer(poor)(np.arange(20), [(None, None)])
    assert (default == items[0]).all() and (default != items[1]).any()


def test_the_better_model_is_chosen_on_a_collection_and_its_items_are_queries(collection):
    choice = choose({"good": good, "poor": poor}, collection)
    assert choice.best.name == "good" and choice.total == N and "ndcg@10" in choice.metric
    assert choice.entrants[0].texts == N + choice.items  # all documents, and the queries that were drawn


@pytest.mark.parametrize(("kind", "score"), [("triplets", "accuracy/cosine"), ("pairs", "mrr@10")])
def test_the_mean_over_all_items_is_the_score_that_evaluate_reports(kind, score):
    source = items_of_data(DATA[kind])
    found = source.scorer(lambda texts, role=None: good(texts))(np.arange(source.count), [(None, None)]).mean()
    task = data_task(DATA[kind], name="own")
    assert found == pytest.approx(evaluate({"good": good}, task)["good", "own"].result[score])


def test_the_mean_over_all_queries_is_the_score_that_evaluate_reports_of_a_collection(collection):
    collection = replace(collection, queries=tuple(f"{i} a" for i in range(N)))
    source, noisy = items_of_collection(collection), lambda texts, role=None: good(texts) + 0.1 * poor(texts)
    found = source.scorer(noisy)(np.arange(N), [(None, None), (None, 1.0), (None, 0.0)]).mean(1)
    rankers = {"words": WordRanker(), "noisy": noisy}
    results = evaluate(rankers, collection_task(collection))
    vectors, words = (results[name, collection.name].result.headline.value for name in ("noisy", "words"))
    assert found == pytest.approx([vectors, vectors, words], abs=1e-6) and 0.1 < vectors < 0.9 < words


def test_rows_without_a_score_are_left_out_and_counted():
    source = items_of_data({**SCORED, "score": [None, "", *SCORED["score"][2:]]})
    assert source.notes == ("2 rows have no score and were left out",)


def test_two_labelled_rows_measure_the_auc():
    random = np.random.default_rng(0)
    labels = random.integers(2, size=4000)
    cosines = labels * 0.3 + random.random(4000)
    vectors = {str(i): [c / 2, np.sqrt(1 - (c / 2) ** 2)] for i, c in enumerate(cosines)}
    data = {"sentence1": list(vectors), "sentence2": ["x"] * 4000, "label": labels.tolist()}
    source = items_of_data(data)
    scorer = source.scorer(lambda texts, role=None: np.array([vectors.get(text, [1.0, 0.0]) for text in texts]))
    assert source.count == min(labels.sum(), 4000 - labels.sum())
    assert scorer(np.arange(source.count), [(None, None)]).mean() == pytest.approx(auc(cosines, labels), abs=0.02)


def test_dimensions_and_hybrid_weights_share_the_vectors_of_a_model(collection):
    variations = Variations(truncate_dim=[None, 2, 1], hybrid=[None, 0.5])
    choice = choose({"good": good}, collection, variations=variations, rule=StoppingRule(margin=0.2))
    assert len(choice.entrants) == 6 and {one.texts for one in choice.entrants} == {N + choice.items}
    sizes = {one.candidate.truncate_dim: one.bytes_per_vector for one in choice.entrants}
    assert sizes == {None: 12, 2: 8, 1: 4}


def test_an_undecided_choice_says_how_many_items_would_do():
    choice = choose({"one": good, "same": good}, {k: v[:30] for k, v in TRIPLETS.items()})
    assert choice.verdict == "undecided" and choice.needed > choice.total
    assert f"{choice.needed:,} items" in verdict(choice)


def test_prompts_for_queries_and_documents_are_used_on_a_collection(collection):
    class Model:
        roles: list = []  # noqa: RUF012, one for the test

        def encode_query(self, texts):
            self.roles.append("query")
            return good(texts)

        def encode_document(self, texts):
            self.roles.append("document")
            return good(texts)

        encode = None

    source = items_of_collection(collection)
    model = Model()
    choose({"a": model, "b": poor}, collection)
    assert model.roles[:2] == ["document", "query"] and source.ranks


def test_models_are_loaded_by_name_once_in_each_precision():
    loaded = []

    def load(name, precision):
        loaded.append((name, precision))
        return good if precision == "fp32" else poor

    variations = Variations(precision=["fp32", "int8"], truncate_dim=[None, 2])
    choice = choose(["a", "b"], TRIPLETS, variations=variations, load=load)
    assert loaded == [("a", "fp32"), ("a", "int8"), ("b", "fp32"), ("b", "int8")]
    assert [one.candidate.precision for one in choice.entrants] == ["fp32"] * 4 + ["int8"] * 4


def test_a_candidate_is_named_by_its_model_and_its_options():
    options = ({}, {"precision": "int8"}, {"truncate_dim": 128}, {"hybrid": 0.5}, {"hybrid": 0.0})
    names = [Candidate("mini", **one).name for one in options]
    assert names == ["mini", "mini int8", "mini 128d", "mini hybrid=0.5", "mini hybrid=0"]
    assert Candidate("mini", "int8", 128, 1.0).name == "mini int8 128d hybrid=1"


def test_the_intervals_are_those_of_the_items_drawn_and_the_rest_is_in_the_order_of_success():
    def between(texts):
        return good(texts) + 0.7 * poor(texts)

    lines = []
    models = {"poor": poor, "between": between, "good": good}
    choice = choose(models, LABELLED, rule=StoppingRule(margin=0.0, seed=3), callback=lines.append)
    source = items_of_data(LABELLED, seed=3)
    drawn = np.random.default_rng(3).permutation(source.count)
    scores = {name: source.scorer(model)(drawn, [(None, None)])[0] for name, model in models.items()}
    best = scores[choice.best.name]
    for one in choice.entrants:
        own = scores[one.candidate.name][: one.items]
        assert one.score == confidence_sequence(own, 0, 1)
        gains = best[: one.items] - own
        assert one.behind == (confidence_sequence(gains, -1, 1) if one.state != "chosen" else None)
    assert choice.entrants[0].state == "chosen" and choice.entrants[0].items == choice.items
    rest = [(one.state == "lost", -one.items, -one.score.value) for one in choice.entrants[1:]]
    assert rest == sorted(rest)
    assert lines[0].startswith("16 of 40 items · ") and lines[0].endswith("good leads")
    assert len(lines) > 1 and lines[-1].startswith(f"{choice.items} of 40 items")


def test_the_cost_of_a_text_is_the_time_of_its_model(monkeypatch):
    clock = [0.0]

    def slow(texts):
        clock[0] += 0.002 * len(texts)
        return good(texts)

    monkeypatch.setattr("likewise.evaluate.choice.time", SimpleNamespace(**dict.fromkeys(TIMES, lambda: clock[0])))
    chosen, other = choose({"slow": slow, "poor": poor}, PAIRS).entrants
    assert (chosen.cpu_seconds, chosen.milliseconds) == pytest.approx((2000, 2))
    assert (other.cpu_seconds, other.milliseconds) == (0, 0)


def test_all_dimensions_may_be_kept_and_only_words_or_only_vectors_weighed(collection):
    choice = choose({"good": good}, collection, variations=Variations(truncate_dim=[1, 3], hybrid=[0, 1]))
    assert {one.bytes_per_vector for one in choice.entrants} == {4, 12}


BEST = {"winner": "chosen", "tie": "chosen", "undecided": "leads"}
SAID = {
    ("winner", 0.01): "good is the best: after 16 of 40 items, every other candidate has lost.",
    ("tie", 0.01): "good is good enough: after 16 of 40 items, 1 other candidate is left, and none of them is better "
    "by 1 point or more.",
    ("tie", 0.05): "good is good enough: after 16 of 40 items, 1 other candidate is left, and none of them is better "
    "by 5 points or more.",
    ("undecided", 0.01): "Undecided: good leads after 16 of 40 items, but another candidate could still be better by "
    "1 point or more. If the difference stays as it is, about 1,234 items would settle it; a larger margin needs "
    "fewer.",
}


@pytest.mark.parametrize(("said", "margin"), SAID)
def test_a_report_says_what_was_shown_and_how(said, margin):
    first, second = (Interval(*ends) for ends in ((0.9, 0.8, 0.95), (0.2, 0.1, 0.35)))
    left = {"winner": "lost", "tie": "within margin", "undecided": "undecided"}[said]
    entrants = (
        Entrant(Candidate("good"), 16, first, None, "chosen", 99, 1234.5, 1.0, 1024),
        Entrant(Candidate("poor"), 16, first, second, left, 99, 5.4, 1.0, 12),
    )
    rule = StoppingRule(margin=margin, alpha=0.05, seed=7)
    choice = Choice("faq.csv", "mrr@10", said, entrants, 16, 40, 1234, rule, ("2 rows left out",))
    report = format_choice(choice)
    assert verdict(choice) == SAID[said, margin]
    rows = [line.split() for line in report.splitlines() if line.startswith(("good  ", "poor  "))]
    assert rows[0] == ["good", "16", "90.00", "[80.00,", "95.00]", "1,234", "1,024", BEST[said]]
    assert rows[1] == [
        "poor",
        "16",
        "90.00",
        "[80.00,",
        "95.00]",
        "20.00",
        "[10.00,",
        "35.00]",
        "5",
        "12",
        *left.split(),
    ]
    assert report.endswith("\n\n2 rows left out") and max(map(len, report.splitlines())) <= 120
    for part in ("faq.csv: mrr@10; × 100", "(seed 7)", "95 % each", "at most 0.05, corrected for 2 candidates"):
        assert part in " ".join(report.split())
    none = replace(choice, needed=0)
    assert ("no number of items would settle it" in verdict(none)) is (said == "undecided")


@pytest.mark.parametrize(
    ("models", "variations", "data", "message"),
    [
        ({"one": good}, {}, TRIPLETS, "at least two"),
        ({"one": good}, {"truncate_dim": [2, 2]}, TRIPLETS, "different"),
        ({"one": good, "two": poor}, {"hybrid": [0.5]}, TRIPLETS, "nothing to rank"),
        ({"one": good}, {"hybrid": [0.5, 1.5]}, PAIRS, "from 0"),
        ({"one": good}, {"truncate_dim": [0, 2]}, TRIPLETS, "1 or more"),
        ({"one": good}, {"truncate_dim": [2, 9]}, TRIPLETS, "3 dimensions"),
        ({"one": good}, {"precision": ["fp32", "int8"]}, TRIPLETS, "already loaded"),
        ({"one": good, "two": poor}, {}, {**LABELLED, "label": [1] * N}, "equal"),
        ({"one": good, "two": lambda texts: np.full((len(texts), 2), np.nan)}, {}, TRIPLETS, "two: .* NaN"),
        ({"one": good, "two": lambda texts: np.ones((len(texts) + 1, 2))}, {}, TRIPLETS, "two: encoding 48 texts"),
        ({"one": good, "two": lambda texts: np.ones(len(texts))}, {}, TRIPLETS, r"array of shape \(48,\)"),
        ({"one": good}, {"hybrid": [0.5, -0.1]}, PAIRS, "from 0"),
        ({"one": good, "two": poor}, {}, JudgedCollection("x", ("d",), ("",), ("a cat",)), "x has no judged queries"),
    ],
)
def test_what_cannot_be_chosen_is_refused_with_the_reason(models, variations, data, message):
    with pytest.raises(BadInput, match=message):
        choose(models, data, variations=Variations(**variations))


def test_a_truncated_candidate_scores_as_a_model_that_returns_fewer_dimensions():
    source = items_of_data(TRIPLETS)
    items = np.arange(source.count)
    cut = source.scorer(lambda texts, role=None: good(texts))(items, [(None, None), (1, None)])
    short = source.scorer(lambda texts, role=None: good(texts)[:, :1])(items, [(None, None)])
    assert (cut[1] == short[0]).all() and (cut[0] != cut[1]).any()
