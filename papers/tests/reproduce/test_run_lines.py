"""Recorded runs that differ in their seed alone are one group."""

from papers.reporting.run_lines import distinct_runs, over_the_seeds

LINE = {
    **dict.fromkeys(("pooling", "epochs", "batch", "rate", "rows", "steps"), 1),
    **{"backbone": "tiny", "data": [], "other_data": [], "whole": True, "objective": {"objective": "CosineRegression"}},
}


def two_seeds(recipe):
    notes = ("after sbert-nli on 159,221 rows (fc45f246)", "after sbert-nli on 159,221 rows (756a62cf)")
    return distinct_runs({**LINE, "recipe": recipe, "note": note, "seed": seed} for seed, note in enumerate(notes))


def test_second_runs_that_go_on_from_the_first_run_of_their_seed_are_one_group():
    (group,) = over_the_seeds(two_seeds("sbert-nli, sbert-stsb"))
    assert [line["seed"] for line in group] == [0, 1]
    assert group[0]["note"] == "after sbert-nli on 159,221 rows"


def test_runs_that_go_on_from_two_models_are_two_groups():
    assert len(over_the_seeds(two_seeds("distil, sbert-stsb"))) == 2
