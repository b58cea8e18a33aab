"""A verdict compares only what compares, and only beyond the noise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.paper_table import Measured
from papers.reporting.verdict import BETTER, WITHIN, WORSE, over_runs, verdict

FIGURES = st.floats(-100, 100)


@given(FIGURES, st.floats(0, 50), FIGURES)
def test_the_papers_figure_is_within_our_interval_or_ours_is_better_or_worse(value, half, printed):
    found = verdict(Measured(value, value - half, value + half), printed, [])
    inside = value - half <= printed <= value + half
    assert found == (WITHIN if inside else BETTER if value > printed else WORSE)


@pytest.mark.parametrize(
    ("ours", "printed", "reasons", "why"),
    [
        (Measured(50, 49, 51), 50.0, ["tiny in place of bert", "less data"], "tiny in place of bert; less data"),
        (Measured(50, 49, 51), None, [], "the paper prints no figure"),
        (Measured(50), 50.0, [], "one run, without an interval"),
    ],
)
def test_what_does_not_compare_says_why(ours, printed, reasons, why):
    assert verdict(ours, printed, reasons) == f"not comparable: {why}"


def test_one_run_keeps_its_interval_over_items_and_several_have_that_over_seeds():
    one = Measured(50.0, 40.0, 60.0, 7)
    assert over_runs([one]) is one
    several = over_runs([one, Measured(52.0), Measured(54.0)])
    assert several.value == 52 and several.n == 7
    assert several.high - several.value == pytest.approx(4.303 * 2 / 3**0.5, abs=0.01)  # Student's t, two degrees
