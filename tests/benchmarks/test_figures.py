"""Every committed figure is what its script draws from the results; every image of a page exists and has words."""

import re
from xml.etree import ElementTree

import pytest

from benchmarks.figures import FIGURES, FOLDER, contenders, pooled_scores, protocol_scores, speeds
from benchmarks.pages import ROOT
from benchmarks.record import RESULTS
from benchmarks.reproduced_pages import averages, committed
from benchmarks.training_table import LINES, trained_scores
from papers.reporting.chart import PALETTES
from papers.reporting.comparison_plot import comparison_chart
from papers.reporting.run_lines import read_runs

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CHARTS = {name: chart() for name, (chart, _) in FIGURES.items()}
REPRODUCED = {one["table"]: comparison_chart(one) for one in committed()} | {"averages": averages(committed())}
IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<place>[^)]*)\)|<img src=\"(?P<src>[^\"]*)\" alt=\"(?P<words>[^\"]*)\"")
DARK = re.compile(r'media="\(prefers-color-scheme: dark\)" srcset="([^"]*)"')
EACH_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


@pytest.mark.parametrize("name", FIGURES)
def test_a_committed_figure_is_what_its_script_draws(name):
    for path, text in CHARTS[name].files(FOLDER / name).items():
        assert path.read_text("utf-8") == text, f"{path.name} is old: python -m benchmarks.figures"


def test_no_other_chart_is_committed():
    drawn = {f"{name}{variant}.svg" for name in FIGURES for variant in PALETTES}
    assert {path.name for path in FOLDER.glob("*.svg")} == drawn


@pytest.mark.parametrize("chart", [*CHARTS.values(), *REPRODUCED.values()], ids=[*CHARTS, *REPRODUCED])
def test_labels_of_a_figure_do_not_overlap_and_are_inside(chart):
    for i, label in enumerate(chart.labels):
        assert [other.text for other in chart.labels[:i] if label.meets(other)] == [], label.text
        assert label.left >= 0 and label.top >= 0 and label.right <= chart.width and label.bottom <= chart.height, label


def images(page):
    """The path and the words of each image of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for found in IMAGE.finditer(text):
        yield page.parent / (found["place"] or found["src"]), (found["alt"] or found["words"] or "")
    for dark in DARK.findall(text):
        yield page.parent / dark, "the same in the dark"


@EACH_PAGE
def test_every_image_of_a_page_is_there_and_says_in_words_what_it_shows(page):
    for path, words in images(page):
        assert path.exists() and len(words.split()) > 3, path


@EACH_PAGE
def test_a_chart_is_shown_in_the_variant_that_suits_the_page(page):
    shown = {path.resolve() for path, _ in images(page)}
    for path in shown:
        if path.suffix == ".svg":
            assert {path.with_name(f"{path.stem.removesuffix('-dark')}{variant}.svg") for variant in PALETTES} <= shown


def test_every_chart_is_shown_on_a_page():
    shown = {path.resolve() for page in PAGES for path, _ in images(page)}
    assert {path.resolve() for path in (ROOT / "docs").rglob("*.svg") if path.parent.name != "site"} <= shown


@pytest.mark.parametrize("name", [name for name in FIGURES if name.startswith("concept-")])
def test_the_page_of_a_concept_names_the_results_that_its_figure_shows(name):
    page = (ROOT / FIGURES[name][1][0]).read_text("utf-8")
    named = re.findall(r"benchmarks/results/([\w.-]+\.jsonl?)", page)
    assert named and all((RESULTS / result).exists() for result in named)


def test_a_bar_is_as_long_as_the_speed_and_ours_stand_out():
    rows = {"slow & small": (30.0, 81.5, False), "fast": (120.0, 82.25, True)}
    found = {
        "model": "a model",
        "contenders": {
            name: {
                "ours": ours,
                "speed": {"sentences": {"1": {"texts_per_s": speed}}},
                "quality": {"spearman": {"stsb": score}},
            }
            for name, (speed, score, ours) in rows.items()
        }
        | {"no score": {"ours": True, "speed": {"sentences": {"1": {"texts_per_s": 1.0}}}, "quality": None}},
    }
    assert contenders(found) == {"slow & small": (30.0, 81.5), "fast": (120.0, 82.25)}
    drawn = ElementTree.fromstring(speeds(found).svg(""))
    bars = [(one.get("class"), float(one.get("width"))) for one in drawn.findall("{*}rect")]
    assert [kind for kind, _ in bars] == ["ours", "grey"] and bars[0][1] == pytest.approx(4 * bars[1][1], abs=0.3)
    texts = [one.text for one in drawn.findall("{*}text")]
    head = ["Sentences per second, a model, 1 thread", "STS-B"]
    assert texts == [*head, "fast", "120", "82.2", "slow & small", "30", "81.5"]
    assert drawn.find("{*}title").text.endswith("a model, 1 thread: fast 120; slow & small 30")
    assert speeds(found, ["fast"]).words.endswith(": fast 120")


def test_plotted_numbers_are_those_of_the_results():
    seven = {"cls": {"mean of seven": 1.0}, "other": {"mean of seven": 2.0}}
    assert pooled_scores({"m": {"spearman": seven}}) == {"m": {"cls": 1.0}}
    sets = {"a": {"spearman/cosine/all": 0.5, "pearson/cosine/all": 0.2, "spearman/cosine/mean": 0.4}}
    sets["b"] = {"spearman/cosine/all": 0.7, "pearson/cosine/all": 0.4}
    scores = protocol_scores({"aggregates": {"results": sets}})
    assert scores["Spearman, all pairs at once"] == pytest.approx(60)
    assert scores["Spearman, mean over sources"] == pytest.approx(55)


def test_a_repeated_run_counts_once_and_other_backbones_not_at_all():
    line = {"recipe": "sbert-nli", "rate": 2e-5, "backbone": "bert-tiny-splade", "precision": "fp32", "rows": 1000}
    runs = [{**line, "seed": 0, "stsb": 60.0}, {**line, "seed": 0, "stsb": 61.0}, {**line, "seed": 1, "stsb": 62.0}]
    runs.append({**line, "seed": 2, "stsb": 99.0, "backbone": "another"})
    assert trained_scores(runs) == {"NLI, softmax, 1,000 rows": [61.0, 62.0]}
    assert len(trained_scores(read_runs(LINES))["STS-B, regression, 5,749 rows"]) == 3
