"""The page is one file that loads nothing, runs only its own script, and never interprets texts as markup."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.cluster.maps.cluster_map import ClusterMap
from likewise.cluster.maps.page import SCRIPTS, json_for_script, map_page, one_script, write_page

EVIL = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]></style><img src=x onerror=alert(1)>",
    "{{script}} {{data}} & \" ' ` ${alert(1)}",
    "line\u2028separator\u2029and\x00null",
    "half \ud83d of a pair",
    "naïve 日本語 🐍",
]


def evil_map(texts=EVIL) -> ClusterMap:
    """A map with each text as a text, as the name of a cluster, and as the title."""
    places = np.random.default_rng(0).random((len(texts), 2))
    return ClusterMap("".join(texts), places, np.arange(len(texts)), list(texts), list(texts))


class Elements(HTMLParser):
    """Collects every element with its attributes, and the content of scripts and styles, as a browser reads them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.cdata_elem in ("script", "style"):
            self.raw.append(data)


def test_texts_cannot_become_markup():
    plain, evil = (Elements(map_page(evil_map(texts))) for texts in (["a"], EVIL))
    assert evil.tags == plain.tags
    assert len(re.findall("<script", map_page(evil_map()))) == 2


def test_texts_arrive_as_they_are():
    data = json.loads(re.search(r'id="data">(.*?)</script>', map_page(evil_map()), re.DOTALL)[1])
    assert data["texts"] == EVIL and [cluster["name"] for cluster in data["clusters"]] == EVIL
    assert data["labels"] == list(range(len(EVIL)))


def test_only_the_pages_own_script_and_style_are_allowed():
    page = map_page(evil_map())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy and "http" not in policy
    for tag in ("script", "style"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
        expected = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{expected}'" in policy


def test_the_page_loads_nothing():
    page = map_page(evil_map(["a"]))
    assert not re.search(
        r"https?://|//[a-z]|@import|url\(|\bsrc=|\bhref=|fetch\(|XMLHttp|import\(|innerHTML|eval\(", page
    )


def test_the_modules_make_one_script_in_which_nothing_is_declared_twice():
    script = one_script()
    names = re.findall(r"^(?:class|function|const|let) (\w+)", script, re.MULTILINE)
    assert len(names) > 10 and len({*names}) == len(names)
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)


def test_every_module_stands_behind_those_it_imports():
    for number, name in enumerate(SCRIPTS):
        text = files("likewise.cluster.maps").joinpath(name).read_text("utf-8")
        assert {*re.findall(r'^import .* from "\./(.+)";$', text, re.MULTILINE)} <= {*SCRIPTS[:number]}


def test_every_element_that_the_script_looks_for_is_in_the_page():
    page = Elements(map_page(evil_map(["a"])))
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    asked = set(re.findall(r'getElementById\("(\w+)"\)', "".join(page.raw)))
    assert len(asked) >= 8 and asked <= ids


@given(st.dictionaries(st.text(max_size=9), st.text(max_size=30), max_size=3))
def test_json_in_a_script_is_the_same_json_without_any_markup(value):
    text = json_for_script(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)
    text.encode()


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_page_is_written_whole_for_any_number_of_texts(count, tmp_path):
    shown = ClusterMap("t", np.zeros((count, 2)), np.full(count, -1), ["x"] * count, [])
    write_page(shown, tmp_path / "map.html")
    assert (tmp_path / "map.html").read_text("utf-8") == map_page(shown)
    assert [path.name for path in tmp_path.iterdir()] == ["map.html"]


def test_what_can_be_pressed_has_a_name():
    page = Elements(map_page(evil_map(["a"])))
    buttons = [attributes for tag, attributes in page.tags if tag == "button"]
    assert len(buttons) == 4 and all(attributes.get("title") for attributes in buttons)


def test_a_title_that_is_no_utf8_does_not_stop_the_page(tmp_path):
    write_page(evil_map(), tmp_path / "map.html")
    assert "</html>" in (tmp_path / "map.html").read_text("utf-8")
