"""The page of an explanation contains every word and number, coloured by its size relative to the largest."""

import json
import re

import numpy as np
import pytest

from likewise.explain import PairExplanation
from likewise.explain.html_page import explanation_page
from likewise.explain.word_pairs import Word

ORANGE, BLUE = "rgba(213,94,0,{:.3f})", "rgba(0,114,178,{:.3f})"


def explanation(values, layers=()):
    words = (Word("a<b", False), Word("", True)), (Word("x", False), Word('y"', False))
    by_layer = np.array([[0.25, 0.1], [-0.1, 0.125]])[: len(layers), : len(layers)]
    return PairExplanation(("", ""), words, np.array(values), layers, by_layer, np.zeros((len(layers), 2, 2)))


def colours(page):
    return re.findall(r"background:(rgba\([\d.,]+\))", page)


def cells(page):
    return re.findall(r'title="([^"]*)">([^<]*)</td>', page)


def test_words_and_pairs_are_coloured_by_what_they_add_or_take_away():
    page = explanation_page(explanation([[0.5, -0.25], [0.0, 0.1234567]]), "a <model>")
    words = [ORANGE.format(0.425), ORANGE.format(0.85 * 0.2469134), ORANGE.format(0.85), BLUE.format(0.85 * 0.2530866)]
    pairs = [ORANGE.format(0.85), BLUE.format(0.425), BLUE.format(0), ORANGE.format(0.85 * 0.2469134)]
    assert colours(page) == [*words, *pairs]
    titles = re.findall(r'class="(word[^"]*)" data-n="(\d)" style="[^"]*" title="([^"]*)">([^<]*)<', page)
    assert titles == [
        ("word", "0", "+0.2500", "a&lt;b"),
        ("word special", "1", "+0.1235", "·"),
        ("word", "0", "+0.5000", "x"),
        ("word", "1", "-0.1265", "y&quot;"),
    ]
    assert cells(page) == [
        ("a&lt;b × x: +0.5000", "50.0"),
        ("a&lt;b × y&quot;: -0.2500", "-25.0"),
        (" × x: +0.0000", "0.0"),
        (" × y&quot;: +0.1235", "12.3"),
    ]
    assert json.loads(re.search(r"const data = (.*?);", page)[1]) == [[0.5, -0.25], [0, 0.123457]]
    assert "<h1>Cosine 0.3735 " in page and "by a &lt;model&gt;" in page and "Layers" not in page


def test_several_layers_have_a_table_of_their_own():
    page = explanation_page(explanation([[0.5, -0.25], [0.0, 0.125]], ("0", "1")), "m")
    assert "<h2>Layers of the first text (rows) and of the second (columns), × 100</h2>" in page
    assert cells(page)[4:] == [
        *(("0 × 0: +0.2500", "25.0"), ("0 × 1: +0.1000", "10.0")),
        *(("1 × 0: -0.1000", "-10.0"), ("1 × 1: +0.1250", "12.5")),
    ]
    assert colours(page)[8:] == [ORANGE.format(share) for share in (0.85, 0.34)] + [
        BLUE.format(0.34),
        ORANGE.format(0.425),
    ]


@pytest.mark.filterwarnings("error")
def test_where_nothing_contributes_nothing_is_coloured():
    assert colours(explanation_page(explanation(np.zeros((2, 2))), "m")) == [BLUE.format(0)] * 8
