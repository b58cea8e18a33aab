"""The page of tables is what the lines say, and never mixes what does not compare."""

import json

import pytest
from benchmarks.training_table import main

SCORES = dict.fromkeys(["sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr", "avg", "stsb-dev"], 50.0)
LINE = {
    "model": "a", "recipe": "sbert-nli", "backbone": "tiny", "seed": 0, "data": ["nli/train"], "rows": 1000,
    "steps": 62, "stsb_train": False, **SCORES, "whole": True, "other_data": [], "pooling": "mean",
    "objective": {"objective": "Classification", "parts": ["u", "v", "|u-v|"]}, "epochs": 1, "batch": 16, "rate": 2e-5,
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
    assert "## On a part of the data, or on other data" in page
    assert "## On all the data at hand" not in page and "SBERT-NLI-base" not in page


@pytest.mark.parametrize(
    "other", [{"rate": 1e-4}, {"precision": "bf16"}, {"rows": 900}, {"backbone": "b"}, {"pooling": "cls"}]
)
def test_runs_that_differ_in_more_than_the_seed_are_not_averaged(drawn, other):
    page = drawn({}, {"seed": 1, "stsb": 52.0, **other})
    assert "±" not in page.split("## ")[1]


def test_training_on_stsb_is_marked_and_what_was_not_measured_is_a_dash(drawn):
    page = drawn({"recipe": "sbert-stsb", "stsb_train": True, "sickr": None, "avg": None})
    assert "| sbert-stsb † |" in page and "† trained on STS-B" in page and "| – | – |" in page
    assert "*84.67 ± 0.19*" in page


def test_the_ablation_stands_beside_table_6(drawn):
    page = drawn({"recipe": "ablation-nli"}, {"recipe": "ablation-stsb", "objective": {"objective": "Regression"}})
    assert "| nli | mean | `u v \\|u-v\\|` | tiny | 1,000 | 1 | 50.00 | *80.78* |" in page
    assert "| stsb | mean |  | tiny | 1,000 | 1 | 50.00 | *87.44* |" in page


def test_without_runs_it_says_what_makes_them(tmp_path):
    with pytest.raises(SystemExit, match=r"recipes/README\.md"):
        main(tmp_path / "none.jsonl", tmp_path / "page.md")
