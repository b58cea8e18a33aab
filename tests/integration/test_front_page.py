"""The site's front page in Chromium: it computes what the library computes, and without the engine it is a picture."""

import re
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

from likewise import Embedder
from tests.integration.browser import ANY, LOOKS, Tab, served

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build/site"
READY = "text=/texts encoded in/"
WORDS = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
UNKNOWN = b"\0asm\1\0\0\0\xff"
"""Of WebAssembly, but nothing that a browser can read: it stands for instructions that one lacks."""
LOADED = "performance.getEntriesByType('resource').reduce((sum, one) => sum + one.transferSize, 0)"
COLOURS = """
async (picture) => {
  await picture.decode();
  const canvas = new OffscreenCanvas(1, 1).getContext("2d");
  canvas.drawImage(picture, 0, 0);
  const corner = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  return [`rgb(${corner.join(", ")})`, getComputedStyle(document.body).backgroundColor];
}
"""
"""The colour of a picture's corner, and of the page around it."""
NO_ENGINE = {
    "no-scripts": ({"java_script_enabled": False}, lambda page: None),
    "no-webassembly": ({}, lambda page: page.add_init_script("delete globalThis.WebAssembly")),
    "no-simd": ({}, lambda page: page.route("**/likewise.wasm", lambda route: route.fulfill(body=UNKNOWN))),
}
"""Options of a browser, and what is done to its page."""


@pytest.fixture(scope="module")
def site():
    """The site over HTTP; Emscripten must be installed: apt-get install emscripten."""
    subprocess.run(["make", "docs"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    with served(SITE) as url:
        yield url


@pytest.fixture
def tab(browser, site):
    """The page with its first similarity; at the end, it has said nothing on the console and asked nobody else."""
    tab = Tab(browser, site)
    tab.page.on("console", lambda message: tab.problems.append(message.text))
    open_page(tab)
    yield tab
    assert tab.problems == []
    assert all(url.startswith(site) for url in tab.asked)
    tab.context.close()


def open_page(tab):
    tab.page.goto(f"{tab.url}/")
    tab.page.wait_for_selector(READY)


def fill(tab, *texts):
    for name, text in zip(("First sentence", "Second sentence"), texts, strict=True):
        tab.page.get_by_label(name).fill(text)


def shown(value):
    return f"{value:.2f}".replace("-", "−")


def library(name, first, second):
    """The cosine of two texts, and what it loses without each of their words."""
    embedder = Embedder.load(name, engine="native", precision="int8")

    def cosine(*texts):
        a, b = embedder.encode(list(texts))
        return float(a @ b)

    whole = cosine(first, second)

    def without(text):
        return [(text[: word.start()] + text[word.end() :], word[0]) for word in WORDS.finditer(text)]

    lost = [(word, whole - cosine(rest, second)) for rest, word in without(first)]
    return whole, lost + [(word, whole - cosine(first, rest)) for rest, word in without(second)]


@pytest.mark.parametrize("look", LOOKS)
def test_it_keeps_nobody_out(look, browser, site):
    tab = Tab(browser, site, look)
    open_page(tab)
    tab.page.get_by_text("The hundred sentences", exact=True).click()
    assert tab.overflow() <= 0
    assert tab.barriers(ANY) == []
    assert tab.problems == []
    tab.context.close()


def test_it_is_there_at_once(browser, site):
    paints, waits = [], []
    for _ in range(3):  # the fastest of them, as other programs may be running
        tab = Tab(browser, site)
        open_page(tab)
        paints.append(tab.first_paint())
        waits.append(tab.page.evaluate("performance.getEntriesByName('first similarity')[0].startTime") - paints[-1])
        assert tab.page.evaluate(LOADED) < 16e6
        tab.context.close()
    assert min(paints) < 1000
    assert min(waits) < 2000


@pytest.mark.parametrize("name", ["likewise-static", "likewise-mini"])
@pytest.mark.parametrize("texts", [("The film was good.", "It wasn't a well-made film!"), ("Ten cats", "heavy rain")])
def test_it_shows_what_the_library_computes(name, texts, tab):
    assert not any("likewise-mini" in url for url in tab.asked)
    tab.page.get_by_role("button", name=name).click()
    tab.page.wait_for_selector(READY)
    fill(tab, *texts)
    whole, lost = library(name, *texts)
    expect(tab.page.locator(".words .word")).to_have_text([word for word, _ in lost])
    expect(tab.page.locator("#cosine")).to_have_text(shown(whole))
    titles = tab.page.locator(".words .word").evaluate_all("words => words.map((word) => word.title)")
    found = [float(title.replace("−", "-")) for title in titles]
    assert found == pytest.approx([value for _, value in lost], abs=0.0051)


def test_a_word_alone_carries_all_of_it_and_without_words_there_is_nothing(tab):
    fill(tab, "cats", "The cat sleeps.")
    cosine, title = tab.page.locator("#cosine"), tab.page.locator("#words-a .word")
    whole, _ = library("likewise-static", "cats", "The cat sleeps.")
    expect(cosine).to_have_text(shown(whole))
    expect(title).to_have_attribute("title", shown(whole))
    fill(tab, "?!", "The cat sleeps.")
    expect(cosine).to_have_text("–")
    expect(tab.page.locator(".marker").first).to_be_hidden()


def test_sentences_move_on_the_map_as_one_types(tab):
    place = "document.querySelector('.marker').getBoundingClientRect().top"
    before = tab.page.evaluate(place)
    tab.page.get_by_label("First sentence").fill("")
    tab.page.get_by_label("First sentence").press_sequentially("The bank lends money", delay=5)
    expect(tab.page.locator("#map-said")).to_contain_text("The central bank raised interest rates.")
    tab.page.wait_for_timeout(1500)
    assert tab.page.evaluate(place) > before + 100


def test_sentences_are_chosen_by_keyboard_and_on_the_map(tab):
    tab.page.get_by_text("The hundred sentences", exact=True).focus()
    for key in ("Enter", "Tab", "Tab"):
        tab.page.keyboard.press(key)
    second = tab.page.locator("#hundred li").nth(1).inner_text()
    assert tab.page.locator("#pointed").inner_text() == second
    tab.page.keyboard.press("Enter")
    assert tab.page.get_by_label("Second sentence").input_value() == second
    tab.page.locator("#map circle[data-i='99']").click()
    assert tab.page.get_by_label("Second sentence").input_value() == tab.page.locator("#hundred li").last.inner_text()


def test_texts_are_shown_as_texts_and_a_word_that_is_too_long_is_named(tab):
    evil = "<img src=x onerror=alert(1)>"
    fill(tab, evil, "a" * 150)
    expect(tab.page.locator("#words-a")).to_have_text(evil)
    expect(tab.page.locator("#reason")).to_contain_text("did not read all of it")


def test_light_and_dark_are_chosen_once_for_the_whole_site(tab):
    scheme = "document.body.dataset.mdColorScheme"
    tab.page.get_by_label("Switch between light and dark").click()
    assert tab.page.evaluate("document.documentElement.dataset.theme") == "dark"
    tab.page.goto(f"{tab.url}/overview/")
    assert tab.page.evaluate(scheme) == "slate"
    tab.page.get_by_title("Use the light colours").click()
    open_page(tab)
    assert tab.page.evaluate("document.documentElement.dataset.theme") == "light"


@pytest.mark.parametrize("look", ["light", "dark"])
@pytest.mark.parametrize("kind", NO_ENGINE)
def test_without_the_engine_a_picture_in_the_page_s_colours_takes_its_place(kind, look, browser, site):
    options, change = NO_ENGINE[kind]
    tab = Tab(browser, site, look, **options)
    change(tab.page)
    tab.page.goto(f"{site}/")
    colours = "light" if kind == "no-scripts" else look  # without scripts the page is light
    picture = tab.page.locator(".fallback img:visible")
    expect(picture).to_have_class([f"on-{colours}"])
    corner, around = picture.evaluate(COLOURS)
    assert corner == around
    expect(tab.page.get_by_label("First sentence")).to_be_hidden()
    assert not any("safetensors" in url for url in tab.asked)
    assert tab.problems == []
    tab.context.close()


def test_a_model_that_cannot_be_loaded_leaves_the_other(browser, site):
    tab = Tab(browser, site)
    tab.page.route("**/likewise-mini/**", lambda route: route.fulfill(status=500))
    open_page(tab)
    tab.page.get_by_role("button", name="likewise-mini").click()
    expect(tab.page.locator("#status")).to_contain_text("cannot be fetched: 500")
    expect(tab.page.get_by_role("button", name="likewise-static")).to_have_attribute("aria-pressed", "true")
    fill(tab, "A cat", "A cat")
    expect(tab.page.locator("#cosine")).to_have_text("1.00")
    assert [problem for problem in tab.problems if "status of 500" not in problem] == []
    tab.context.close()
