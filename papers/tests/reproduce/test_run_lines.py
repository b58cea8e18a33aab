"""Recorded runs that differ in their seed alone are one group."""

import json

import pytest

from likewise.errors import BadInput
from papers.reporting.run_lines import distinct_runs, over_the_seeds, read_runs

LINE = {
    **dict.fromkeys(("pooling", "epochs", "batch", "rate", "rows", "steps"), 1),
    **{"backbone": "tiny", "data": [], "other_data": [], "whole": True, "objective": {"objective": "CosineRegression"}},
}


def two_seeds(recipe):
    notes = ("after sbert-nli on 159,221 rows (fc45f246)", "after sbert-nli on 159,221 rows (756a62cf)")
    return distinct_runs({**LINE, "recipe": recipe, "note": note, "seed": seed} for seed, note in enumerate(notes))


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ("{", "line 2 is not JSON"),
        ("[1]", "line 2 is not a JSON object"),
        ('{"recipe": "x", "seed": 0}', "line 2 has no backbone or data"),
        (
            json.dumps({**LINE, "recipe": "x", "seed": 0, "seconds": 1, "objective": "x"}),
            "line 2 has the objective 'x'",
        ),
    ],
)
def test_a_list_of_runs_of_another_form_is_refused_with_its_line(tmp_path, broken, why):
    good = json.dumps({**LINE, "recipe": "x", "seed": 0, "seconds": 1})
    (tmp_path / "runs.jsonl").write_text(f"{good}\n{broken}\n")
    with pytest.raises(BadInput, match=f"runs.jsonl, {why}.*; expected a finished training run"):
        read_runs(tmp_path / "runs.jsonl")


def test_second_runs_that_go_on_from_the_first_run_of_their_seed_are_one_group():
    (group,) = over_the_seeds(two_seeds("sbert-nli, sbert-stsb"))
    assert [line["seed"] for line in group] == [0, 1]
    assert group[0]["note"] == "after sbert-nli on 159,221 rows"


def test_runs_that_go_on_from_two_models_are_two_groups():
    assert len(over_the_seeds(two_seeds("distil, sbert-stsb"))) == 2
