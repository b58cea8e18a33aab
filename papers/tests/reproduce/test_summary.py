"""A page is drawn from the results alone, and the results have a verdict for every figure."""

import pytest

from papers.paper_table import Effort
from papers.reporting import summary
from papers.reporting.comparison_plot import comparison_chart, row_names
from papers.reporting.page import drawn_page, figure_text, markdown_table, row_verdict
from papers.reporting.summary import _reasons, summarized
from papers.run_tables import run_tables
from papers.tables.paper_tables import PAPER_TABLES
from papers.tests.reproduce.fake_tables import EFFORT, fake_table

RUN = {
    "model": "a", "recipe": "sbert-nli", "backbone": "tiny", "seed": 0, "data": [], "rows": 1000, "steps": 62,
    "stsb_train": False, "whole": True, "other_data": [], "pooling": "mean", "objective": {"objective": "None"},
    "epochs": 1, "batch": 16, "rate": 2e-5, "seconds": 3.0, "a": 40.0,
}  # fmt: skip


@pytest.fixture
def results(tmp_path):
    def summary(runs=(), **more):
        table = fake_table(**more)
        run = run_tables([table], EFFORT, tmp_path)
        return summarized(table, EFFORT, run.finished["fake"], run.missing.get("fake", []), runs)

    return summary


def test_every_figure_has_a_verdict(results):
    plain, trained, own = results()["rows"]
    assert plain["verdicts"] == {"a": "within noise", "b": "worse"} and plain["printed"] == {"a": 50.5, "b": 20.0}
    assert trained["figures"]["a"]["value"] == 61 and trained["seeds"] == 2  # 60 and 62
    assert trained["figures"]["a"]["low"] == pytest.approx(61 - 12.706, abs=0.01)
    assert trained["verdicts"] == {"a": "better"} and own["verdicts"] == {
        "b": "not comparable: the paper prints no figure"
    }


def test_the_page_has_every_row_verdict_and_figure_of_the_paper(results):
    page = drawn_page(results())
    assert "| plain | tiny | as it is | 1 | 50.00 ± 1.00 | 10.00 ± 1.00 | Plain | within noise: A; worse: B |" in page
    assert "| trained | tiny | as it is | 2 | 61.00 ± 12.71 | – | Trained | better |" in page
    assert "| Trained | 30.00 ± 0.50 | – |" in page and "Nobody 2020. Nothing is measured." in page
    assert "| it is above 0 | tiny | B | 1 | +1.00 [+0.50, +1.50] | yes |" in page and "no counterpart" in page


def test_a_mean_is_that_of_all_columns_and_only_where_all_are_there(results):
    plain, trained, _ = results(mean=True)["rows"]
    assert (
        plain["figures"]["avg"]["value"] == 30 and plain["printed"]["avg"] == 35.25 and "avg" not in trained["figures"]
    )
    assert plain["figures"]["avg"]["low"] is None  # as the columns' errors need not be independent of each other


def test_recorded_runs_are_rows_over_their_seeds(results):
    runs = [RUN, RUN | {"seed": 1, "a": 42.0}, RUN | {"recipe": "other"}]
    rows = results(runs, recorded=lambda run: "Trained" if run["recipe"] == "sbert-nli" else None)["rows"]
    assert [row["system"] for row in rows] == ["plain", "trained", "own", "sbert-nli (recorded)"]
    assert rows[-1]["figures"]["a"]["value"] == 41 and rows[-1]["seeds"] == 2
    assert rows[-1]["verdicts"]["a"] == "not comparable: tiny in place of the paper's backbone"


@pytest.mark.parametrize(("rate", "reasons"), [(2e-5, []), (1e-4, ["learning rate 0.0001 in place of 2e-05"])])
def test_another_learning_rate_than_the_papers_is_a_reason(rate, reasons, monkeypatch):
    monkeypatch.setattr(summary, "data_reasons", lambda _: [])
    entries = [{"run": RUN | {"rate": rate}, "quick": False}]
    assert _reasons(PAPER_TABLES["sbert-2"].system("STS-B, cosine"), "x/bert-base-uncased", entries) == reasons


def test_the_command_names_everything_that_it_was_run_with():
    effort = Effort(("tiny", "my models/big"), (), seeds=2, quick=True, quick_training=True)
    command = "python -m papers fake --model tiny --model 'my models/big' --quick --seeds 2 --runs FILE"
    assert summarized(fake_table(), effort, [], runs=[RUN])["made"]["command"] == command


def test_a_verdict_that_all_columns_share_stands_alone():
    row = {"beside": "x", "verdicts": {"a": "better", "b": "better", "c": "not comparable: the paper prints no figure"}}
    assert row_verdict(row, {"a": "A", "b": "B", "c": "C"}) == "better"
    assert figure_text(None) == "–" and figure_text({"value": 1234.5, "low": None}) == "1,234.50"


def test_the_chart_has_a_panel_for_every_column_and_the_papers_system_above_its_rows(results):
    chart = comparison_chart(results(mean=True))
    texts = [box.text for box in chart.labels]
    assert {"A", "B"} <= {*texts} and texts.index("Plain, in the paper") == texts.index("plain, tiny") - 1
    assert not any(a.meets(b) for i, a in enumerate(chart.labels) for b in chart.labels[:i])


def test_rows_of_the_same_name_differ_in_their_settings():
    row = {"system": "a", "backbone": "b", "settings": "10 rows, 5 steps, rate 1"}
    rows = [row, row | {"settings": "20 rows, 9 steps, rate 1"}, row | {"system": "c"}]
    assert row_names(rows) == ["a, b, 10 rows", "a, b, 20 rows", "c, b"]


def test_a_recorded_run_has_the_name_of_the_row_that_it_is_where_there_is_one(results):
    rows = results([RUN], recorded=lambda run: "plain")["rows"]
    assert rows[-1]["system"] == "plain (recorded)"
    settings = "1,000 rows, 1 epoch, 62 steps, batch 16, rate 2e-05, fp32"
    assert rows[-1]["settings"] == settings and rows[-1]["verdicts"] == {
        "a": "not comparable: the paper prints no figure"
    }


def test_a_table_in_markdown_escapes_what_a_page_would_read_as_a_mark_and_aligns_words_left():
    found = markdown_table("task", ("score", "a|b"), [("x*", "1", "-")], left=("a|b",))
    assert found.splitlines() == ["| task | score | a\\|b |", "| :-- | --: | :-- |", "| x\\* | 1 | - |"]
