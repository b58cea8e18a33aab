"""The committed pages of the papers' tables are drawn from the committed results, and these from the ledger."""

import pytest

from benchmarks import reproduced_pages
from benchmarks.reproduced_pages import AVERAGES, FOLDER, PAGES, averages, committed, main, overview
from papers.ledger import Ledger, measured_figures
from papers.paper_table import Measured
from papers.reporting.comparison_plot import comparison_chart
from papers.reporting.page import RECORDED, drawn_page
from papers.reporting.verdict import BETTER, WITHIN, WORSE
from papers.tables.paper_tables import PAPER_TABLES

COMMITTED = committed()
EACH = pytest.mark.parametrize("results", COMMITTED, ids=lambda results: results["table"])


def test_some_results_are_committed():
    assert {one["table"] for one in COMMITTED} <= set(PAPER_TABLES) and len(COMMITTED) > 1


@EACH
def test_a_committed_page_is_drawn_from_its_results(results):
    assert (PAGES / f"{results['table']}.md").read_text("utf-8") == drawn_page(results)
    for path, text in comparison_chart(results).files(PAGES / results["table"]).items():
        assert path.read_text("utf-8") == text


def test_the_page_of_all_tables_is_drawn_from_their_results():
    assert (PAGES / "README.md").read_text("utf-8") == overview(COMMITTED)
    for path, text in averages(COMMITTED).files(PAGES / AVERAGES).items():
        assert path.read_text("utf-8") == text


@EACH
def test_committed_verdicts_follow_from_the_committed_figures(results):
    printed = {row.system: row.values for row in PAPER_TABLES[results["table"]].paper}
    for row in results["rows"]:
        assert set(row["verdicts"]) == set(row["figures"]) and row["figures"]
        for column, figure in row["figures"].items():
            if row["verdicts"][column] in (WITHIN, BETTER, WORSE):
                ours = Measured(**figure)
                inside = ours.low <= printed[row["beside"]][column] <= ours.high
                assert inside == (row["verdicts"][column] == WITHIN)


@EACH
def test_a_committed_figure_of_one_run_is_that_of_the_committed_ledger(results):
    entries = Ledger(FOLDER)._entries.values()
    for row in results["rows"]:
        if row["seeds"] > 1 or row["system"].endswith(RECORDED):
            continue
        lines = [entry for entry in entries if entry["backbone"] == row["backbone"]]
        known = {(column, figure) for entry in lines for column, figure in measured_figures(entry).items()}
        columns = [column for column in row["figures"] if column != "avg"]
        assert columns and all((column, Measured(**row["figures"][column])) in known for column in columns)


def test_what_a_run_left_is_taken_and_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduced_pages, "FOLDER", tmp_path / "results")
    monkeypatch.setattr(reproduced_pages, "PAGES", tmp_path / "pages")
    main([str(FOLDER)])
    names = {one["table"] for one in COMMITTED}
    assert {path.stem for path in (tmp_path / "results").iterdir()} == names | {"ledger"}
    assert {path.name for path in (tmp_path / "pages").glob("*.md")} == {f"{name}.md" for name in names} | {"README.md"}
    assert (tmp_path / "pages" / "README.md").read_text() == (PAGES / "README.md").read_text()
