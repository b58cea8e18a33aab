"""The page of tables is what the lines say, and never mixes what does not compare."""

import json

import pytest

from benchmarks.training_table import main

SCORES = dict.fromkeys(["sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr", "avg", "stsb-dev"], 50.0)
LINE = {
    "model": "a", "recipe": "sbert-nli", "backbone": "tiny", "seed": 0, "data": ["nli/train"], "rows": 1000,
    "steps": 62, "stsb_train": False, **SCORES, "whole": True, "other_data": [], "pooling": "mean",
    "objective": {"objective": "Classification", "parts": ["u", "v", "|u-v|"]}, "epochs": 1, "batch": 16,
    "rate": 2e-5, "seconds": 9.0,
}  # fmt: skip


@pytest.fixture
def drawn(tmp_path):
    def page(*lines):
        (tmp_path / "runs.jsonl").write_text("".join(json.dumps(LINE | line) + "\n" for line in lines))
        main(tmp_path / "runs.jsonl", tmp_path / "docs/results.md")
        return (tmp_path / "docs/results.md").read_text()

    return page


def test_seeds_of_one_run_are_a_row_with_their_spread_beside_the_papers(drawn):
    page = drawn({}, {"seed": 1, "stsb": 52.0}, {"seed": 1, "stsb": 54.0})
    assert "| sbert-nli | tiny | mean, batch 16, rate 2e-05, 62 steps, fp32 | 1,000 | 2 |" in page
    assert "| 52.00 ± 2.83 |" in page and "| 50.00 ± 0.00 |" in page  # a run that was made again counts once
    assert "| *sbert-nli* | *SBERT-NLI-base* | *the paper's* |" in page and "*77.03*" in page and "*74.89*" in page


@pytest.mark.parametrize("other", [{"whole": False}, {"other_data": ["nli/train"]}])
def test_parts_of_data_and_other_data_are_in_a_table_of_their_own_without_the_papers(drawn, other):
    page = drawn(other)
    assert "## On part of the data, or on different data" in page
    assert "## On all available data" not in page and "SBERT-NLI-base" not in page


@pytest.mark.parametrize(
    "other", [{"rate": 1e-4}, {"precision": "bf16"}, {"rows": 900}, {"backbone": "b"}, {"pooling": "cls"}]
)
def test_runs_that_differ_in_more_than_the_seed_are_not_averaged(drawn, other):
    page = drawn({}, {"seed": 1, "stsb": 52.0, **other})
    assert "±" not in page.split("## ")[1]


def test_training_on_stsb_is_marked_and_what_was_not_measured_is_a_dash(drawn):
    page = drawn({"recipe": "sbert-stsb", "stsb_train": True, "sickr": None, "avg": None})
    assert "| sbert-stsb † |" in page and "† This model was trained on STS-B" in page and "| – | – |" in page
    assert "*84.67 ± 0.19*" in page


def test_the_ablation_stands_beside_table_6(drawn):
    page = drawn({"recipe": "ablation-nli"}, {"recipe": "ablation-stsb", "objective": {"objective": "Regression"}})
    assert "| nli | mean | `u v \\|u-v\\|` | tiny | 1,000 | 62 | 2e-05 | 1 | 50.00 | *80.78* |" in page
    assert "| stsb | mean |  | tiny | 1,000 | 62 | 2e-05 | 1 | 50.00 | *87.44* |" in page


def test_an_ablation_on_a_part_of_the_data_tells_of_how_many_rows_it_is(drawn):
    page = drawn({"recipe": "ablation-nli", "rows": 20000, "whole": False})
    assert "| nli | mean | `u v \\|u-v\\|` | tiny | 20,000 | 62 | 2e-05 | 1 | 50.00 |" in page
    assert "On a part" not in page


def test_a_stage_made_again_is_reported_once(drawn):
    page = drawn({"recipe": "distil, distil, distil, distil-x, mini", "note": "after distil, distil on 9 rows"})
    assert "| distil × 3, distil-x, mini |" in page
    assert "after distil × 2 on 9 rows, " in page


def test_without_runs_it_says_what_makes_them(tmp_path):
    with pytest.raises(SystemExit, match=r"docs/recipes\.md"):
        main(tmp_path / "none.jsonl", tmp_path / "page.md")


TWO, ALL = {"objective": {"parts": ["u", "v"]}}, {"recipe": "ablation-nli"}


@pytest.mark.parametrize(
    ("theirs", "message"),
    [((40.0, 41.0), "+9.50 [+3.15, +15.85] | yes |"), ((60.0, 61.0), "-10.50 [-16.85, -4.15] | no, the other way |"),
     ((40.0, 61.0), "-0.50 [-133.92, +132.92] | not distinguishable |")],
)  # fmt: skip
def test_a_claim_is_tested_seed_by_seed(drawn, theirs, message):
    pairs = [{**ALL, **TWO, "seed": seed, "stsb-dev": value} for seed, value in enumerate(theirs)]
    page = drawn(ALL, {**ALL, "seed": 1}, {**ALL, "seed": 2}, *pairs)
    assert (
        "| (u, v, |u − v|) beats (u, v) | tiny | 1,000 | 2e-05, 2e-05 | stsb-dev | 2 | 50.00 ± 0.00 |".replace(
            "|u − v|", "\\|u − v\\|"
        )
        in page
    )
    assert message in page


def test_other_settings_are_not_compared_and_one_seed_tells_nothing(drawn):
    for other in ({"batch": 64}, {"whole": False}, {"pooling": "max"}, {"precision": "bf16"}, {"backbone": "b"}):
        assert "claims" not in drawn(ALL, {**ALL, **TWO, **other})
    assert "one seed: unknown" in drawn(ALL, {**ALL, **TWO})


def test_a_second_stage_is_compared_whatever_part_of_nli_the_first_read(drawn):
    second = {"recipe": "sbert-stsb", "rows": 5749, "stsb": 70.0}
    first = {**second, "recipe": "sbert-nli-then-stsb", "rows": 25749, "whole": False, "stsb": 73.0}
    assert "| NLI, then STS-B, beats STS-B | tiny | 25,749 |" in drawn(second, first)
    for other in ({"rate": 1e-4}, {"steps": 50}):
        assert "claims" not in drawn(second, {**first, **other})


def test_where_the_rate_is_free_each_side_has_its_best_on_the_development_split(drawn):
    bi = {"recipe": "sbert-stsb", "stsb": 70.0, "stsb-dev": 75.0}
    cross = {**bi, "recipe": "cross-encoder-stsb", "pooling": "pairs"}
    better, diverged = {"rate": 1e-4, "stsb": 71.0, "stsb-dev": 80.0}, {"rate": 1e-3, "stsb": 90.0, "stsb-dev": 3.0}
    before = {"objective": {"objective": "PairRegression", "temperature": 1.0}}
    bi, cross, zero = bi | before, cross | before, {"objective": {**before["objective"], "offset": 0.0}}
    page = drawn(bi, cross, {**cross, **better, **zero, "epochs": 1.0}, {**cross, **diverged}, {**bi, **diverged})
    assert page.count("a cross-encoder beats a bi-encoder") == 1
    assert "| 0.0001, 2e-05 | stsb | 1 | 71.00 | 70.00 | +1.00 |" in page


def test_what_has_no_seed_stands_against_all(drawn):
    untrained = {"recipe": "untrained", "steps": 0, "avg": 45.0, "data": [], "rows": 0, "batch": 1}
    page = drawn({}, {"seed": 1, "avg": 51.0}, untrained)
    assert "| 50.50 ± 0.71 | 45.00 ± 0.00 | +5.50 [" in page
    page = drawn(
        untrained, {**untrained, "recipe": "random"}, {**untrained, "recipe": "random", "seed": 1, "avg": 44.0}
    )
    assert "| avg | 2 | 45.00 ± 0.00 | 44.50 ± 0.71 | +0.50 [" in page
