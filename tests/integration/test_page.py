"""The web page in a real browser: every view, light, dark and on a phone; by keyboard; and when things go wrong."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from likewise import Embedder
from likewise.cluster.maps.cluster_map import ClusterMap
from likewise.cluster.maps.page import write_page
from likewise.search.texts.text_index import TextIndex
from likewise.serve.api_keys import add_key
from tests.integration.browser import ANY, LOOKS, Tab
from tests.serve.running_server import running_server
from tests.tiny import classifier_folder

LAYERED = "layered=likewise-mini(pooling=sbert-wk:start=0)"
EQUAL = "The lamp is on."
NOTES = [f"{who} {what} {where}." for who in ("A cat", "The dog", "A child") for what in ("sleeps", "plays", "eats")
         for where in ("in the sun", "at home", "by the river", "all day")]  # fmt: skip
SHOWN = {
    "compare": "td[aria-label^='1 and 2: 0.']",
    "why": ".words .word >> nth=8",
    "search": ".results .result >> nth=5",
    "map": ".legend-list button >> nth=0",
    "layers": ".layers .heat td[role=gridcell] >> nth=20",
    "model": ".scores tbody tr >> nth=9",
    "load": "table.plain tbody tr >> nth=1",
}
"""What is to be seen at once in each view."""

PLACED = """async () => {
  const { MapPoints } = await import("/page/map/points.js");
  const { MapView } = await import("/page/map/map_view.js");
  const canvas = Object.assign(document.createElement("canvas"), { style: "width: 700px; height: 500px" });
  document.body.append(canvas);
  const rows = Array.from({ length: 300 }, (_, n) => n);
  const [x, y] = [rows.map((n) => 0.5 + 0.4 * Math.sin(n * n)), rows.map((n) => 0.5 + 0.4 * Math.cos(7 * n))];
  const clusters = rows.slice(0, 60).map((n) => ({ name: `name ${n} of all`, colour: "#000000", place: [x[n], y[n]] }));
  const data = { texts: rows.map(String), x, y, labels: rows.map((n) => n % 60), clusters, other: "#999999" };
  const view = new MapView({ canvas, tip: document.createElement("p") }, new MapPoints(data));
  view.fit();
  return view.placedNames().map(([{ place }, { left, top, right, bottom }]) =>
    [view.acrossOf(place[0]), view.downOf(place[1]), left, top, right, bottom]);
}"""
"""The points of clusters on a map, and the boxes of their names."""
REACHED = """() => {
  const focusable = document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]");
  return [...focusable].filter((one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0)
    .filter((one) => one.type !== "radio" || one.checked).length;
}"""
"""How many controls the tab key stops at: of radio buttons, the chosen one."""


@pytest.fixture(scope="module")
def indexes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes")
    with TextIndex.open(folder / "notes", Embedder.load("likewise-mini"), name="likewise-mini") as index:
        index.add(NOTES, show_progress_bar=False)
    with TextIndex.open(folder / "rooms", Embedder.load("likewise-mini"), name="likewise-mini") as index:
        equal = [{"id": str(n), "text": EQUAL, "room": f"room {n}", "floor": n % 2} for n in range(6)]
        index.add([*equal, {"text": "A train arrives.", "title": "Stations"}], show_progress_bar=False)
    return folder


@pytest.fixture(scope="module")
def server(indexes, tmp_path_factory):
    reranker = f"ranker={classifier_folder(tmp_path_factory.mktemp('reranker'), 'bert', labels=1)}"
    with running_server(
        "likewise-mini", LAYERED, "--reranker", reranker, "--collections", str(indexes), "--log", "off"
    ) as server:
        yield server


@pytest.fixture
def tab(browser, server):
    tab = Tab(browser, server.url)
    yield tab
    tab.context.close()
    assert tab.problems == []


@pytest.mark.parametrize("view", SHOWN)
@pytest.mark.parametrize("look", LOOKS)
def test_every_view_shows_something_at_once_and_keeps_nobody_out(view, look, browser, server):
    tab = Tab(browser, server.url, look)
    page = tab.open(view)
    page.wait_for_selector(SHOWN[view])
    assert tab.first_paint() < 5000  # it waits for nothing; 0.2 s on a machine with nothing else to do
    assert tab.overflow() <= 0
    assert tab.barriers(ANY) == []
    assert tab.problems == []
    assert all(url.startswith(server.url) for url in tab.asked)
    tab.context.close()


def test_the_matrix_follows_what_is_typed_and_the_arrow_keys(tab):
    page = tab.open("compare")
    page.get_by_role("textbox", name="Sentences").fill("A cat sleeps.\nA kitten naps.\nShares fell.")
    expect(page.locator("td[role=gridcell]")).to_have_count(9)
    page.locator("td[role=gridcell]").first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown", "Home"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.dataset.i + document.activeElement.dataset.j") == "20"
    assert page.locator(".pair-shown .quoted").nth(0).inner_text() == "3 Shares fell."


def test_tabs_are_moved_through_with_the_arrow_keys_and_have_addresses(tab):
    page = tab.open("compare")
    page.wait_for_selector(SHOWN["compare"])
    page.locator("#tab-compare").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(SHOWN["load"])
    assert page.url.endswith("#load")
    page.go_back()
    page.wait_for_selector(SHOWN["compare"])
    assert page.locator("[role=tab][aria-selected=true]").inner_text() == "Compare"


def test_a_pair_leads_to_why_and_the_words_add_up(tab):
    page = tab.open("compare")
    page.wait_for_selector(SHOWN["compare"])
    page.get_by_role("link", name="Why?").click()
    page.wait_for_selector(".word")
    numbers = page.locator(".why td[role=gridcell]").all_inner_texts()
    total = sum(float(number.replace("−", "-")) for number in numbers) / 100
    assert total == pytest.approx(float(page.locator(".why .big").inner_text()), abs=0.01)


@pytest.mark.parametrize("view", SHOWN)
def test_every_control_is_reached_with_the_tab_key_and_nothing_moves_if_asked_not_to(view, browser, server):
    tab = Tab(browser, server.url, reduced_motion="reduce")
    page = tab.open(view)
    page.wait_for_selector(SHOWN[view])
    page.evaluate("document.activeElement.blur()")
    reached = page.evaluate(REACHED)
    page.evaluate("window.met = new Set(); addEventListener('focusin', (event) => met.add(event.target))")
    for _ in range(reached + 2):
        page.keyboard.press("Tab")
    assert page.evaluate("met.size") >= reached > 6
    moving = "[...document.querySelectorAll('*')].filter((one) => parseFloat(getComputedStyle(one).transitionDuration))"
    assert page.evaluate(f"{moving}.length") == 0
    tab.context.close()


def test_a_layer_is_in_the_link(tab):
    page = tab.open("why?model=layered&layer=1")
    page.wait_for_selector(".layer-bars .adds")
    assert "layer 1" in page.get_by_role("slider", name="Layer").get_attribute("aria-valuetext")
    page.get_by_role("slider", name="Layer").press("ArrowRight")
    page.wait_for_url(re.compile("layer=2"))
    assert page.locator(".layer-bars .chosen").count() == 1


def test_every_layer_and_measure_is_explained_in_a_sentence_of_the_example(tab):
    page = tab.open("layers")
    page.wait_for_selector(SHOWN["layers"])
    assert page.locator(".by-layer li").count() == Embedder.load("likewise-mini").encoder.depth + 1
    for name in ("Novelty", "Alignment", "Arrival", "Movement"):
        page.get_by_role("radio", name=name).check()
        about = page.locator(".layers .card .note").first.inner_text()
        most, least = map(float, re.findall(r"\((-?[.\d]+)\)", about.replace("−", "-")))
        assert "In this sentence, the highest value is “" in about and most > least
        assert page.url.endswith("#layers" if name == "Movement" else f"#layers?measure={name.lower()}")


def test_intervals_are_shown_on_a_phone_too(browser, server):
    tab = Tab(browser, server.url, "phone")
    page = tab.open("model")
    page.wait_for_selector(SHOWN["model"])
    interval = page.get_by_text(re.compile(r"^\d\d\.\d–\d\d\.\d$")).first
    expect(interval).to_be_visible()
    assert tab.overflow() <= 0
    tab.context.close()


def test_before_the_first_request_there_are_no_flat_lines(browser):
    with running_server("likewise-mini", "--log", "off") as server:
        tab = Tab(browser, server.url)
        page = tab.open("load")
        expect(page.get_by_text("no requests yet")).to_have_count(8)
        assert page.locator("canvas:visible").count() == 0
        page.evaluate("fetch('/embed', { method: 'POST', body: JSON.stringify({ inputs: 'a' }) })")
        page.wait_for_selector("canvas:visible")
        tab.context.close()


def test_results_come_as_one_types_with_the_words_marked(tab):
    page = tab.open("search?c=notes")
    page.get_by_role("searchbox", name="Search").press_sequentially("sleeping dog", delay=10)
    page.wait_for_selector(".result mark")
    assert page.locator(".result .passage").first.inner_text().startswith("The dog sleeps")
    assert page.url.endswith("q=sleeping+dog")
    page.get_by_label("Words too").check()
    page.wait_for_selector("text=words ")


def test_equal_passages_are_folded(tab):
    page = tab.open("search?c=rooms&q=lamp")
    page.wait_for_selector(".result")
    assert page.locator(".result").count() == 2
    page.get_by_text("6 equal").click()
    assert page.locator(".result").first.locator("li").all_inner_texts() == [
        f"room: room {n} · floor: {n % 2}" for n in range(1, 6)
    ]


def test_a_column_becomes_a_condition_that_its_passages_meet(tab):
    page = tab.open("search?c=rooms&q=lamp")
    page.wait_for_selector(".result")
    page.get_by_text("Filter", exact=True).click()
    page.get_by_role("button", name="floor (6)").click()
    expect(page.get_by_label("Only passages whose columns match")).to_have_value("floor = 0")
    page.get_by_text("3 equal").wait_for()
    page.get_by_role("button", name="room (6)").press("Enter")
    page.wait_for_url(re.compile("f=floor"))
    expect(page.get_by_label("Only passages whose columns match")).to_have_value('floor = 0 and room = "room 0"')
    expect(page.locator(".result")).to_have_count(1)


def test_a_reranker_orders_the_results_and_the_link_says_so(tab):
    page = tab.open("search?c=notes&q=cats")
    page.wait_for_selector(".result")
    page.get_by_role("radio", name="By similarity").press("ArrowRight")
    page.wait_for_selector(".about >> text=cosine 0")
    assert page.url.endswith("rerank=ranker")
    numbers = [float(number) for number in page.locator(".result .score .number").all_inner_texts()]
    assert numbers == sorted(numbers, reverse=True)
    shared = Tab(tab.context.browser, tab.url)
    shared.open(page.url.partition("#")[2]).wait_for_selector(".about >> text=cosine 0")
    expect(shared.page.get_by_role("radio", name="Reranked by ranker")).to_be_checked()
    shared.context.close()


@pytest.mark.parametrize("query", ["lamp", "a train"])
def test_every_result_leads_to_why_with_the_same_cosine(query, tab):
    page = tab.open(f"search?c=rooms&q={query}")
    page.wait_for_selector(".result")
    cosine = page.locator(".result .score .number").first.inner_text()
    page.get_by_role("link", name="Why?").first.click()
    page.wait_for_selector(".why .word")
    assert f"{float(page.locator('.why .big').inner_text()):.2f}" == cosine


def test_a_link_is_copied_and_a_text_too_long_for_one_is_said_to_be(browser, server):
    tab = Tab(browser, server.url, permissions=["clipboard-read", "clipboard-write"])
    page = tab.open("compare?model=layered")
    page.wait_for_selector("td[role=gridcell] >> nth=3")
    page.get_by_role("textbox", name="Sentences").fill("One.\nTwo.")
    page.wait_for_url(re.compile("One"))
    page.get_by_label("Copy a link").click()
    page.wait_for_selector("text=Link copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    assert page.url.endswith("#compare?t=One.%0ATwo.&model=layered")
    page.get_by_role("textbox", name="Sentences").fill("One.\n" + "long " * 4000)
    page.wait_for_url(re.compile("#compare.model=layered$"))
    page.get_by_label("Copy a link").click()
    page.wait_for_selector("text=Too much text for a link")
    assert all("One" not in url for url in tab.asked), "texts are sent in bodies alone"
    tab.context.close()


def test_texts_are_found_on_the_map_and_pointed_at(tab):
    page = tab.open("map?c=notes")
    page.wait_for_selector(SHOWN["map"])
    page.get_by_label("Find on the map").fill("river")
    page.wait_for_selector("text=9 with these words")
    page.get_by_label("Find on the map").press("Enter")
    assert "by the river" in page.locator(".tip .text").inner_text()
    page.locator("canvas").focus()
    page.keyboard.press("Escape")
    assert page.locator(".tip").is_hidden()
    assert page.get_by_label("Find on the map").input_value() == ""


def test_a_small_map_is_placed_by_tsne_and_a_link_holds_what_is_chosen(tab):
    page = tab.open("map?c=notes")
    page.wait_for_selector(SHOWN["map"])
    expect(page.get_by_role("radio", name="Detailed (t-SNE)")).to_be_checked()
    page.get_by_role("radio", name="Detailed (t-SNE)").press("ArrowLeft")
    expect(page.get_by_role("radio", name="Quick (PCA)")).to_be_checked()
    page.locator(SHOWN["map"]).click()
    page.wait_for_url(re.compile("only="))
    shared = Tab(tab.context.browser, tab.url)
    shared.open(page.url.partition("#")[2]).wait_for_selector(".legend-list [aria-pressed=true]")
    expect(shared.page.get_by_role("radio", name="Quick (PCA)")).to_be_checked()
    shared.context.close()


def test_a_bar_shows_how_far_a_map_has_come(tab):
    held = []
    tab.page.route("**/v1/collections/notes/map", lambda route: held.append(route))
    tab.page.route("**/v1/collections/notes", lambda route: route.fulfill(json={"map_progress": 0.4}))
    tab.open("map?c=notes")
    bar = tab.page.get_by_role("progressbar", name="Progress of the layout")
    expect(bar).to_have_js_property("value", 0.4)
    held.pop().continue_()
    tab.page.wait_for_selector(SHOWN["map"])
    expect(bar).to_be_hidden()


def test_names_stand_beside_their_points_and_never_on_each_other(tab):
    placed = np.array(tab.open("model").evaluate(PLACED))
    assert len(placed) > 10
    x, y, left, top, right, bottom = placed.T
    apart = np.maximum(np.maximum(left - x, x - right), np.maximum(top - y, y - bottom))
    assert (apart > 0).all() and (apart < 60).all()
    meet = (left[:, None] < right) & (left < right[:, None]) & (top[:, None] < bottom) & (top < bottom[:, None])
    assert meet.sum() == len(placed), "each meets only itself"


def test_edges_show_that_a_matrix_goes_on(browser, server):
    tab = Tab(browser, server.url, "phone")
    page = tab.open("why")
    page.wait_for_selector(".why .heat-frame.more-after:not(.more-before)")
    page.locator(".why td[role=gridcell]").first.press("End")
    page.wait_for_selector(".why .heat-frame.more-before:not(.more-after)")
    assert tab.overflow() <= 0
    tab.context.close()


def test_light_and_dark_are_switched_and_remembered(tab):
    page = tab.open("compare")
    page.get_by_label("Switch between light and dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_texts_are_shown_as_texts(tab):
    page = tab.open("compare")
    evil = "<img src=x onerror=alert(1)>"
    page.get_by_role("textbox", name="Sentences").fill(f"{evil}\n</textarea><script>alert(2)</script>")
    expect(page.locator("td[role=gridcell]")).to_have_count(4)
    assert page.locator(".pair-shown .quoted").first.inner_text() == f"1 {evil}"
    assert page.locator("img").count() == 0


def test_a_filter_that_cannot_be_read_is_explained(browser, server):
    tab = Tab(browser, server.url)
    page = tab.open("search?c=notes&q=cats&f=colour+%3D+3")
    assert "colour" in page.locator(".notice[role=alert]").inner_text()
    assert [problem for problem in tab.problems if "status of 400" not in problem] == []
    tab.context.close()


def test_a_server_without_collections_says_how_to_make_one(browser):
    with running_server("likewise-static", "--log", "off") as server:
        tab = Tab(browser, server.url)
        for view in ("search", "map"):
            tab.open(view).wait_for_selector("text=likewise index add")
        tab.open("layers").wait_for_selector("text=expected at least 2")
        assert [problem for problem in tab.problems if "status of 400" not in problem] == []
        server.end()
        tab.open("compare").wait_for_selector("text=The server is not responding")
        tab.context.close()


def test_a_key_is_asked_for_and_used(browser, tmp_path):
    secret = add_key(tmp_path / "keys.json", "alice")
    with running_server("likewise-mini", "--keys", str(tmp_path / "keys.json"), "--log", "off") as server:
        tab = Tab(browser, server.url)
        page = tab.open("compare")
        for key, next_seen in (("wrong", "text=does not recognize this key"), (secret, SHOWN["compare"])):
            page.get_by_role("textbox", name="API key").fill(key)
            page.get_by_role("button", name="Use this key").click()
            page.wait_for_selector(next_seen)
        tab.context.close()


def test_a_map_in_a_file_of_its_own_is_drawn_and_searched(browser, tmp_path):
    places = np.random.default_rng(0).random((len(NOTES), 2))
    write_page(ClusterMap("Notes", places, np.arange(len(NOTES)) % 3 - 1, NOTES, ["one", "two"]), tmp_path / "map.html")
    tab = Tab(browser, (tmp_path / "map.html").as_uri())
    tab.page.goto(tab.url)
    tab.page.wait_for_selector("#legend button")
    tab.page.locator("#search").fill("dog river")
    assert tab.page.locator("#state").inner_text() == "3 of 36 texts with “dog river”"
    tab.page.locator("#search").press("Enter")
    assert tab.page.locator("#tip .text").inner_text() == "The dog sleeps by the river."
    assert tab.barriers() == []
    assert tab.problems == []
    tab.context.close()
