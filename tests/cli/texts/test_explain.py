"""`likewise explain` shows, draws and writes the same contributions."""

import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from likewise import Embedder
from likewise.cli import main, terminal_tables
from likewise.cli.texts.explain import ADDS, STRONGEST, TAKES, coloured_words, show_explanation
from likewise.explain import PairExplanation, Word, explain_pair

A, B = "The cat <b>and</b> the dog", "a quick query, $7 & dogs"


@pytest.fixture
def words(folders):
    return ["explain", A, B, "-m", str(folders("bert"))]


@pytest.fixture
def expected(folders):
    return explain_pair(Embedder.load(folders("bert")), A, B)


def test_json_has_words_and_contributions(words, expected, json_output):
    found = json_output([*words, "--json"])
    assert found["cosine"] == pytest.approx(expected.cosine, abs=1e-6)
    np.testing.assert_allclose(found["contributions"], expected.contributions, atol=1e-6)
    for side, own in zip(found["texts"], expected.words, strict=True):
        assert list(zip(side["words"], side["special"], strict=True)) == [tuple(word) for word in own]
    assert "layers" not in found


def test_texts_come_from_standard_input_too(words, expected, monkeypatch, json_output, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{A}\n"))
    found = json_output(["explain", "-", *words[2:], "--json"])
    assert found["cosine"] == pytest.approx(expected.cosine, abs=1e-6)
    assert main(["explain", A, *words[1:]]) == 2
    assert "expected two texts to explain; got 3" in capsys.readouterr().err


def test_layers_are_in_the_json_of_a_pooling_that_reads_several(words, json_output):
    found = json_output([*words, "--json", "--pooling", "sbert-wk:start=0"])
    assert found["layers"] == ["0", "1", "2", "3"]
    assert np.sum(found["by_layer"]) == pytest.approx(found["cosine"], abs=1e-6)


def test_the_terminal_shows_the_cosine_both_texts_and_the_greatest_pairs(words, expected, capsys):
    assert main([*words, "-k", "3"]) == 0
    shown = capsys.readouterr().out
    assert f"cosine {expected.cosine:.4f}" in shown
    assert "[CLS] The cat < b > and" in shown and "$ 7 & dogs [SEP]" in shown
    top = expected.top_pairs(3)
    rows = re.findall(r"^ *([+-]\d+\.\d) +(\S+) +(\S+)$", shown, re.MULTILINE)
    assert [(float(x), a, b) for x, a, b in rows] == [
        (pytest.approx(100 * pair.contribution, abs=0.051), pair.first, pair.second) for pair in top
    ]


def test_colours_are_orange_where_a_word_adds_and_blue_where_it_takes(monkeypatch):
    monkeypatch.setattr(terminal_tables, "shows_colours", lambda: True)
    monkeypatch.setenv("COLORTERM", "truecolor")
    parts = [Word("more", False), Word("less", False), Word("[SEP]", True)]
    shown = " ".join(coloured_words(parts, np.array([1.0, -1.0, 0.0]), 1.0))
    more, less = re.findall(r"48;2;(\d+);(\d+);(\d+)m(?:more|less)", shown)
    assert int(more[0]) > int(more[2]) and int(less[0]) < int(less[2])


def explanation_of(contributions, first="[CLS] a b", second="c"):
    words = [tuple(Word(word, word == "[CLS]") for word in text.split()) for text in (first, second)]
    parts = np.zeros((0, 0)), np.zeros((0, 3, 1))
    return PairExplanation((first, second), tuple(words), np.array(contributions), (), *parts)


def test_a_report_sums_up_words_and_special_tokens(capsys):
    explanation = explanation_of([[0.5], [0.25], [-0.125]])
    show_explanation(explanation, 1)
    assert capsys.readouterr().out.splitlines() == [
        *("cosine 0.6250", "", "[CLS] a b", "c", ""),
        *(" ×100  first text  second text", "+25.0  a           c"),
        *("", "between words +12.5, with special tokens +50.0"),
    ]
    show_explanation(explanation, 0)
    assert "first text" not in capsys.readouterr().out


def test_the_strongest_word_has_the_strongest_colour_and_words_that_add_nothing_have_none(monkeypatch, capsys):
    monkeypatch.setattr(terminal_tables, "shows_colours", lambda: True)
    monkeypatch.setenv("COLORTERM", "truecolor")

    def backgrounds(contributions):
        show_explanation(explanation_of(contributions), 0)
        return re.findall(r"\x1b\[38;5;(\d+);48;2;([\d;]+)m(\S+?)\x1b", capsys.readouterr().out)

    white = "255;255;255"
    assert backgrounds([[0.0]] * 3) == [("243", white, "[CLS]"), *(("16", white, word) for word in "abc")]

    def shade(colour, share):
        return ";".join(str(round(255 + STRONGEST * share * (tone - 255))) for tone in colour)

    strong, half, takes = shade(ADDS, 1), shade(ADDS, 0.5), shade(TAKES, 0.5)
    assert backgrounds([[0.2], [0.1], [-0.1]]) == [
        *(("243", strong, "[CLS]"), ("16", half, "a"), ("16", takes, "b"), ("16", strong, "c"))
    ]


class Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.titles, self.spans, self.external = [], [], []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "td":
            self.titles.append(found["title"])
        if tag == "span" and "data-n" in found:
            self.spans.append(found["title"])
        self.external += [value for name, value in attrs if name in ("src", "href")]


def test_the_page_holds_every_contribution_and_needs_nothing_else(words, expected, tmp_path, capsys):
    assert main([*words, "-o", str(tmp_path / "why.html")]) == 0
    assert capsys.readouterr().err == f"written: {tmp_path / 'why.html'}\n"
    page = (tmp_path / "why.html").read_text()
    cells = Cells()
    cells.feed(page)
    assert len(cells.titles) == expected.contributions.size and not cells.external
    numbers = [float(title.rpartition(": ")[2]) for title in cells.titles]
    np.testing.assert_allclose(numbers, expected.contributions.ravel(), atol=1e-4)
    totals = np.concatenate(expected.word_totals)
    np.testing.assert_allclose([float(title) for title in cells.spans], totals, atol=1e-4)
    assert "<b>" not in page and "http" not in page


def test_a_heat_map_is_drawn(words, tmp_path):
    pytest.importorskip("matplotlib")
    for name in ("why.png", "why.svg"):
        assert main([*words, "-o", str(tmp_path / name), "--pooling", "sbert-wk:start=0"]) == 0
        assert (tmp_path / name).stat().st_size > 5000


@pytest.mark.parametrize(
    ("name", "message"),
    [("why.png", "drawing a heat map needs the package matplotlib"), ("why.html", "there is no model")],
)
def test_without_matplotlib_a_heat_map_is_refused_at_once_and_a_page_is_not(name, message, words, monkeypatch, capsys):
    monkeypatch.setattr("likewise.cli.output.find_spec", lambda _: None)
    words[4] = "no-such-model"
    assert main([*words, "-o", name]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "why.txt"], "why.txt ends in '.txt'"),
        (["-o", "why.gif"], "why.gif ends in '.gif'"),
        (["-k", "-1"], "-k is -1; expected a whole number, 0 or more"),
    ],
)
def test_an_option_that_cannot_be_is_one_line(options, message, words, capsys):
    words[4] = "no-such-model"
    assert main([*words, *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_a_model_that_cannot_be_explained_is_one_line(words, capsys):
    assert main([*words, "--pooling", "max"]) == 2
    error = capsys.readouterr().err
    assert "the pooling is max, which is not a weighted sum" in error and error.count("\n") == 1
