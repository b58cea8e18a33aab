"""Plots of results, rankers and a choice; pictures.txt lists what they contain (see tests/pictures.py)."""

from dataclasses import replace

import pytest

from likewise.errors import BadInput
from likewise.evaluate import Candidate, StoppingRule
from likewise.evaluate.choice import Choice, Entrant
from likewise.evaluate.reports.plot import (
    PLOT_STYLE,
    choice_figure,
    draw_choice,
    draw_results,
    queries_figure,
    results_figure,
)
from likewise.evaluate.results import Results
from likewise.evaluate.statistics.significance import Interval
from likewise.runtime.plot_style import PICTURES
from tests import pictures
from tests.evaluate.reports.test_report import ONE, SURE, TWO, by_hand
from tests.evaluate.reports.test_retrieval_report import rankers
from tests.evaluate.toys import task


def scored(shares: dict[str, list[float | None]]) -> Results:
    """Hand-written results with asymmetric intervals; the third task has no interval."""
    found = by_hand(shares, (SURE, ONE, TWO, task("three", "pairs/one"))[: len(next(iter(shares.values())))])
    cells = dict(found.cells)
    for key, cell in found.cells.items():
        if cell.result is not None and key[1] != "two":
            score = replace(cell.result.headline, interval=Interval(cell.value, cell.value - 0.04, cell.value + 0.02))
            cells[key] = replace(cell, result=replace(cell.result, scores=(score,)))
    return replace(found, cells=cells)


def chosen() -> Choice:
    """A hand-written choice between a chosen candidate and one that lost."""
    scores = {"good": Interval(0.9, 0.8, 0.95), "poor": Interval(0.2, 0.1, 0.35)}
    states = {"good": "chosen", "poor": "lost"}
    entrants = tuple(
        Entrant(Candidate(name), 1600, one, None, states[name], 9, 1.0, 1.0, 12) for name, one in scores.items()
    )
    return Choice("faq.csv", "mrr@10", "winner", entrants, 1600, 2000, 0, StoppingRule(alpha=0.1))


FIGURES = {
    "two models": lambda: results_figure(scored({"a": [0.9, 0.7, 0.5, 0.5], "b": [0.6, 0.7, None, 0.8]})),
    "one model": lambda: results_figure(scored({"a": [0.9, 0.8]})),
    "eight models": lambda: results_figure(scored({f"m{k}": [0.1 * k] for k in range(8)})),
    "rankers": lambda: queries_figure(rankers()),
    "choice": lambda: choice_figure(chosen()),
}


def test_pictures_show_what_is_written_of_them():
    pictures.check(__file__, {name: (PLOT_STYLE, draw) for name, draw in FIGURES.items()})


@pytest.mark.parametrize("ending", PICTURES)
def test_a_picture_is_drawn_whole(tmp_path, ending):
    draw_results(scored({"a": [0.9]}), tmp_path / f"scores{ending}")
    assert (tmp_path / f"scores{ending}").stat().st_size > 3000
    assert len(list(tmp_path.iterdir())) == 1


def test_a_picture_of_another_kind_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"\.png"):
        draw_results(scored({"a": [0.9]}), tmp_path / "scores.txt")


def test_pictures_have_200_dots_an_inch_and_those_of_rankings_are_drawn_by_query(tmp_path):
    from matplotlib.image import imread

    draw_results(scored({"a": [0.9]}), tmp_path / "scores.png")
    draw_results(rankers(), tmp_path / "queries.png")
    draw_choice(chosen(), tmp_path / "choice.png")
    heights = {path.stem: imread(path).shape[:2] for path in tmp_path.iterdir()}
    assert heights == {"scores": (318, 1400), "queries": (780, 1400), "choice": (340, 1400)}
