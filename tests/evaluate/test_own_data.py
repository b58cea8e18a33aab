"""Your own data: columns of any name determine the metric, and errors name invalid values."""

import json

import numpy as np
import pandas
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score

from likewise.errors import BadInput
from likewise.evaluate import EvaluationSettings, data_task, evaluate
from likewise.evaluate.own_data import binary_label
from likewise.evaluate.reports.report import compare_two, comparison_lines, format_report
from likewise.evaluate.tasks.registry import select_tasks

WORDS = ["a cat", "the cat", "two cats", "a dog", "rain falls", "it rains"]
PAIRS = {"sentence1": WORDS, "sentence2": WORDS[1:] + WORDS[:1]}
SCORES = [5.0, 4.0, 2.0, 0.5, 4.5, 0.0]
LABELS = [1, 1, 0, 0, 1, 0]
TRIPLETS = {"anchor": ["a cat", "it rains"], "positive": ["the cat", "rain falls"], "negative": ["it rains", "a dog"]}


def encode(texts):
    """Count letters."""
    return np.array([[text.count(c) + 0.01 for c in "acdefginorstw"] for text in texts], float)


def cosines(columns):
    a, b = (encode(columns[name]) for name in ("sentence1", "sentence2"))
    values = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    return values.round(12)  # equal values stay equal


def headline(data, *columns, **how):
    result = data_task(data, *columns).run(encode, {}.__getitem__, EvaluationSettings(**how))
    return result.headline.name, result.headline.value


def test_scores_labels_and_triplets_each_have_their_measure():
    scores = cosines(PAIRS)
    assert headline({**PAIRS, "score": SCORES}) == ("spearman/cosine/all", pytest.approx(spearmanr(scores, SCORES)[0]))
    precision = pytest.approx(average_precision_score(LABELS, scores))
    assert headline({**PAIRS, "label": LABELS}) == ("average_precision/cosine", precision)
    assert headline(TRIPLETS) == ("accuracy/cosine", 1.0)


def mean_reciprocal_rank(anchors, positives):
    """Computed by hand from the rank of the best own positive among all distinct ones; 0 beyond the tenth."""
    documents, places = list(dict.fromkeys(positives)), []
    for anchor in dict.fromkeys(anchors):
        own = {positive for a, positive in zip(anchors, positives, strict=True) if a == anchor}
        closest = sorted(documents, key=lambda text: -cosines({"sentence1": [anchor], "sentence2": [text]})[0])
        place = 1 + min(closest.index(text) for text in own)
        places.append(1 / place if place <= 10 else 0.0)
    return sum(places) / len(places)


ALL_RIGHT = {  # for each kind of data, rows without any error, so that every resample has the same score
    "one triplet": {name: texts[:1] for name, texts in TRIPLETS.items()},
    "two triplets": TRIPLETS,
    "two pairs": {"anchor": ["a cat", "it rains"], "positive": ["the cat", "rain falls"]},
    "a correlation of two": {"sentence1": ["a cat", "a cat"], "sentence2": ["a cat", "it rains"], "score": [1, 0]},
    "two labels": {"sentence1": ["a cat", "a cat"], "sentence2": ["a cat", "it rains"], "label": [1, 0]},
}


@pytest.mark.parametrize("name", ALL_RIGHT)
def test_a_score_that_no_resample_changes_has_no_interval_and_a_note_says_so(name):
    settings = EvaluationSettings(resamples=50)
    results = evaluate({"a": encode, "b": encode}, data_task(ALL_RIGHT[name], name=name), settings=settings)
    result = results["a", name].result
    assert result.headline.value == pytest.approx(1) and result.headline.interval is None
    assert any("no interval" in note for note in result.notes)
    assert "±" not in format_report(results)
    compared = comparison_lines(results, "a", "b", compare_two(results, "a", "b"))
    assert "+0.00" in compared and "[+0.00" not in compared


@pytest.mark.parametrize("count", [2, 6, 20])
def test_pairs_without_a_score_are_found_among_all_positives(count):
    anchors = [f"{WORDS[i % 4]} {'no' * (i % 3)} {'st' * (i // 4)}" for i in range(count)]
    positives = [f"{WORDS[i % 5]} {'we' * (i % 7)}" for i in range(count)]
    expected = mean_reciprocal_rank(anchors, positives)
    assert (expected < 1) == (count > 2)
    assert headline({"anchor": anchors, "positive": positives}) == ("mrr@10", pytest.approx(expected))


def test_a_frame_is_refused_with_what_to_pass_instead():
    with pytest.raises(BadInput, match=r"the type DataFrame; expected a file.*to_dict\('list'\)"):
        data_task(pandas.DataFrame(TRIPLETS))


@pytest.mark.parametrize("settings", [{"seed": "1"}, {"seed": -1}, {"seed": 1 << 32}, {"resamples": 0}])
def test_settings_out_of_range_are_refused_at_once(settings):
    with pytest.raises(BadInput, match=f"{next(iter(settings))} is .*expected a"):
        EvaluationSettings(**settings)


def test_one_positive_for_all_is_refused():
    with pytest.raises(BadInput, match="all positives are the same text"):
        headline({"anchor": ["a cat", "a dog"], "positive": ["it rains"] * 2})


@pytest.mark.parametrize("written", [[way(x) for x in LABELS] for way in (str, bool, float, lambda x: str(float(x)))])
def test_labels_may_be_written_in_several_ways(written):
    assert headline({**PAIRS, "label": written}) == headline({**PAIRS, "label": LABELS})


def test_a_label_is_yes_or_no_in_any_case_or_nothing():
    written = {0: [0, 0.0, False, "0", "0.0", "FALSE", " no "], 1: [1, 1.0, True, "1", "1.0", "true", "Yes"]}
    assert {label: {binary_label(value) for value in values} for label, values in written.items()} == {0: {0}, 1: {1}}
    assert {binary_label(value) for value in (2, -1, 0.5, "", None, "y")} == {None}


def test_columns_have_any_names_in_the_grammar_of_train(tmp_path):
    path = tmp_path / "faq.csv"
    rows = zip(PAIRS["sentence1"], PAIRS["sentence2"], SCORES, strict=True)
    path.write_text("q,a,rating\n" + "".join(f"{a},{b},{score}\n" for a, b, score in rows))
    expected = headline({**PAIRS, "score": SCORES})
    assert headline(path, {"sentence1": "q", "sentence2": "a", "score": "rating/5"}) == expected
    assert headline(str(path), ["sentence1=q", "sentence2=a", "score=rating"]) == expected


def test_results_are_listed_under_the_name_of_the_file(tmp_path):
    path = tmp_path / "pairs.jsonl"
    rows = zip(*PAIRS.values(), SCORES, strict=True)
    path.write_text("".join(f'{{"sentence1": "{a}", "sentence2": "{b}", "score": {s}}}\n' for a, b, s in rows))
    result = evaluate({"m": encode}, data_task(path), settings=EvaluationSettings(resamples=50))
    assert np.isfinite(result["m", str(path)].value) and result["m", str(path)].result.headline.interval


def test_a_missing_score_is_left_out_and_an_unused_column_reported():
    result = data_task({**PAIRS, "score": [*SCORES[:-1], ""], "label": LABELS}).run(
        encode, {}.__getitem__, EvaluationSettings()
    )
    assert result.headline.n == 5
    assert any("1 pair of own data has no score" in note for note in result.notes)
    assert "not used: label" in result.notes


def test_texts_are_lower_cased_where_asked():
    upper = {name: [text.upper() for text in texts] for name, texts in PAIRS.items()}
    assert headline({**upper, "label": LABELS}, lowercase=True) == headline({**PAIRS, "label": LABELS})


@pytest.mark.parametrize(
    ("data", "columns", "message"),
    [
        ({"a": WORDS}, None, r"own data has the columns a; expected sentence1, sentence2, score; or .*--columns"),
        ({"q": WORDS, "a": WORDS}, None, "columns: --columns anchor=q,positive=a$"),
        ({"sentence1": WORDS, "sentence2": WORDS[:3], "score": SCORES}, None, "of equal length; found lengths 3, 6"),
        ({"sentence1": [], "sentence2": [], "score": []}, None, "no rows"),
        ({**PAIRS, "sentence2": [*WORDS[:5], " "], "score": SCORES}, None, "row 5: sentence2 is ' '; expected a text"),
        (
            {**PAIRS, "score": SCORES},
            {"score": "rating"},
            "own data: --columns has score=rating, but there is no column",
        ),
        ({**PAIRS, "score": SCORES}, ["score"], "expected NAME=COLUMN"),
        ("notes.txt", None, "notes.txt has lines but no columns"),
        ("absent.csv", None, "absent.csv does not exist"),
    ],
)
def test_what_does_not_fit_is_named_before_anything_is_encoded(data, columns, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("one\n")
    with pytest.raises(BadInput, match=message):
        data_task(data, columns)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("score", "high", "line 3: score is 'high'; expected a number"),
        ("label", "maybe", "line 3: label is 'maybe'; expected 1 .* name the column score"),
    ],
)
def test_a_bad_value_names_its_file_and_line(column, value, message, tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(f"sentence1,sentence2,{column}\na,b,1\na,c,{value}\nb,c,0\n")
    with pytest.raises(BadInput, match=f"pairs.csv, {message}"):
        data_task(path)


@pytest.mark.parametrize("score", [[1], "1,5", 10**400, "-inf", "1e999"], ids=lambda x: str(x)[:9])
def test_a_score_that_is_no_number_names_its_row(score):
    finite = "finite " if score in ("-inf", "1e999") else ""
    with pytest.raises(BadInput, match=f"own data, row 5: score is .*; expected a {finite}number"):
        data_task({**PAIRS, "score": [*SCORES[:5], score]})


def test_labels_that_decide_nothing_are_refused():
    with pytest.raises(BadInput, match="all 6 labels are 1"):
        headline({**PAIRS, "label": [1] * 6})


@pytest.mark.parametrize("more", [{"score": SCORES}, {"label": LABELS}])
def test_columns_of_pandas_are_read_in_their_order(more):
    shuffled = pandas.DataFrame({**PAIRS, **more}).iloc[[3, 0, 5, 1, 4, 2]]
    lists = {name: list(shuffled[name]) for name in shuffled}
    expected = data_task(lists).run(encode, {}.__getitem__, EvaluationSettings())
    result = data_task({name: shuffled[name] for name in lists}).run(encode, {}.__getitem__, EvaluationSettings())
    assert [(s.name, s.value) for s in result.scores] == [(s.name, s.value) for s in expected.scores]


def test_two_different_tasks_of_one_name_are_refused():
    one, other = (data_task({**PAIRS, "score": SCORES}, name="mine") for _ in range(2))
    assert select_tasks([one, one]) == (one,)
    with pytest.raises(BadInput, match="two different tasks named 'mine'"):
        select_tasks([one, other])


def test_what_is_no_file_is_the_name_of_a_data_set(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    asked = []
    read = lambda name: asked.append(name) or {**PAIRS, "score": SCORES}  # noqa: E731
    monkeypatch.setattr("likewise.data.datasets.read_dataset", read)
    assert headline("stsb/dev") == headline({**PAIRS, "score": SCORES}) and asked == ["stsb/dev"]


def test_an_anchor_with_two_positives_counts_once():
    pairs = {"anchor": ["a cat", "a cat", "it rains"], "positive": ["a dog", "a cat", "rain falls"]}
    result = data_task(pairs).run(encode, {}.__getitem__, EvaluationSettings())
    assert result.headline.n == 2 and result["hit@1"] == 1.0
    assert "2 anchors" in result.protocol and "all 3" in result.protocol


def test_keys_that_start_after_the_first_line_select_the_metric_too(tmp_path):
    rows = [{"anchor": "a", "positive": "b"}, {"anchor": "c", "positive": "d", "negative": "e"}]
    for ordered in (rows, rows[::-1]):
        (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ordered))
        with pytest.raises(BadInput, match=rf"line {ordered.index(rows[0]) + 1}: negative is None; expected a text"):
            data_task(tmp_path / "t.jsonl")


def test_a_column_in_other_letters_is_suggested():
    with pytest.raises(BadInput, match="To rename columns: --columns sentence1=Sentence1,score=Score$"):
        data_task({"Sentence1": ["a"], "sentence2": ["b"], "Score ": [1]})
