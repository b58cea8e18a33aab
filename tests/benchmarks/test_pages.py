"""Tables of measurements are those that their scripts draw from the results."""

import re
from pathlib import Path
from statistics import mean, stdev

import pytest

from benchmarks import objectives_page, serve_table, training_table
from benchmarks.pages import ROOT, all_tables, filled
from papers.reporting.run_lines import read_runs

TABLES = all_tables()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", TABLES)
def test_a_measured_table_is_drawn_from_the_results(page):
    text = (ROOT / page).read_text("utf-8")
    assert filled(text, TABLES[page]) == text


def test_every_place_for_a_table_has_one():
    marked = {(str(page.relative_to(ROOT)), name) for page in PAGES for name in marks(page)}
    assert marked == {(page, name) for page, tables in TABLES.items() for name in tables}


def marks(page: Path) -> list[str]:
    return re.findall(r"<!-- table: (.*?) -->", page.read_text("utf-8"))


def test_every_measurement_of_the_server_has_a_row_and_no_rate_is_typed_beside_them():
    assert all([*rows()] for rows in serve_table.SECTIONS)
    text = (ROOT / "docs/serve.md").read_text("utf-8")
    rest = re.sub(r"<!-- table: load -->.*?<!-- end -->", "", text, flags=re.DOTALL)
    assert len(rest) < len(text) and not re.findall(r"\d+(?:\.\d+)? ?(?:texts/s|requests/s|%)", rest)


def test_a_place_that_is_missing_or_there_twice_is_refused():
    for text in ("", 2 * "<!-- table: a -->\n<!-- end -->\n"):
        with pytest.raises(ValueError, match="times; expected it once"):
            filled(text, {"a": list})


def test_whole_pages_are_drawn_from_the_results():
    runs = read_runs(training_table.LINES)
    assert training_table.PAGE.read_text("utf-8") == "\n".join(training_table.drawn(runs)) + "\n"
    assert objectives_page.PAGE.read_text("utf-8") == objectives_page.page()


def test_the_steps_from_a_raw_backbone_are_recorded_runs():
    page = (ROOT / "docs/models.md").read_text("utf-8")
    rows = re.findall(
        r"^\| \d \| `.*?\| ([\d.]+)(?: ± ([\d.]+))? \| \**([\d.]+)(?: ± ([\d.]+))?\**", page, re.MULTILINE
    )
    runs = [(line["stsb-dev"], line["stsb"]) for line in read_runs(training_table.LINES) if "stsb-dev" in line]
    assert len(rows) == 9
    for dev, dev_spread, test, test_spread in rows[:-1]:
        assert not dev_spread + test_spread and (float(dev), float(test)) in runs
    seeds = [run for run in runs if run[1] in (85.23, 85.15, 85.29, 85.47)]
    dev, dev_spread, test, test_spread = rows[-1]
    for figure, spread, values in zip((dev, test), (dev_spread, test_spread), zip(*seeds, strict=True), strict=True):
        assert len(values) == 5
        assert (f"{mean(values):.2f}", f"{stdev(values):.2f}") == (figure, spread)
