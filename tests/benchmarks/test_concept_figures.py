"""The figures of the concept pages are drawn from committed results, which the pages link to."""

import re

import pytest
from matplotlib import pyplot as plt

from benchmarks.concept_figures import (
    FIGURES,
    PAGE,
    pooled_scores,
    protocols,
    trained_scores,
    training_runs,
    with_coverage,
)
from benchmarks.record import RESULTS

CONCEPTS = sorted(PAGE.parent.glob("*.md"))


def test_the_paragraph_about_intervals_is_what_was_measured():
    assert with_coverage(PAGE.read_text("utf-8")) == PAGE.read_text("utf-8")


def test_every_figure_of_its_own_is_shown_and_linked_to_its_results():
    shown = {
        name: page
        for page in CONCEPTS
        for name in re.findall(r"figures/(concept-[\w-]+\.png)", page.read_text("utf-8"))
    }
    assert shown.keys() == FIGURES.keys()
    for name, page in shown.items():
        results = FIGURES[name][1]
        assert (RESULTS / results).exists() and f"benchmarks/results/{results}" in page.read_text("utf-8")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn(name):
    figure, axes = plt.subplots()
    FIGURES[name][0](axes)
    assert axes.has_data() and axes.get_xlabel()
    plt.close(figure)


def test_plotted_numbers_are_those_of_the_results():
    seven = {"cls": {"mean of seven": 1.0}, "other": {"mean of seven": 2.0}}
    assert pooled_scores({"m": {"spearman": seven}}) == {"m": {"cls": 1.0}}
    sets = {"a": {"spearman/cosine/all": 0.5, "pearson/cosine/all": 0.2, "spearman/cosine/mean": 0.4}}
    sets["b"] = {"spearman/cosine/all": 0.7, "pearson/cosine/all": 0.4}
    scores = protocols({"aggregates": {"results": sets}})
    assert scores["spearman/cosine/all"] == pytest.approx(60) and scores["spearman/cosine/mean"] == pytest.approx(55)


def test_a_repeated_run_counts_once_and_other_backbones_not_at_all():
    line = {"recipe": "sbert-nli", "rate": 2e-5, "backbone": "bert-tiny-splade", "precision": "fp32", "rows": 1000}
    runs = [{**line, "seed": 0, "stsb": 60.0}, {**line, "seed": 0, "stsb": 61.0}, {**line, "seed": 1, "stsb": 62.0}]
    runs.append({**line, "seed": 2, "stsb": 99.0, "backbone": "another"})
    assert trained_scores(runs) == {"NLI, softmax\n1,000 rows": [61.0, 62.0]}
    assert len(trained_scores(training_runs())["STS-B, regression\n5,749 rows"]) == 3
