"""The front page has what it needs: its files, its hundred sentences, and figures in its prose that are true."""

import re

import pytest

from docs.site.front_page import NEEDED_BY_ENGINE, ROOT, front_page_files

THEME = ROOT / "docs/site/theme"
SENTENCES = re.findall(r"<li>(.*?)</li>", (THEME / "sentences.html").read_text("utf-8"))
PAGE = (THEME / "front.html").read_text("utf-8")


@pytest.fixture
def engine(tmp_path):
    """A file in place of the compiled engine."""
    path = tmp_path / "likewise.wasm"
    path.write_bytes(b"")
    return path


def test_models_and_engine_are_on_the_site_if_the_engine_is_compiled(engine):
    found = front_page_files(engine)
    for name in ("likewise-static", "likewise-mini"):
        folder = ROOT / "src/likewise/bundled" / name
        wanted = {path.relative_to(folder) for path in folder.rglob("*") if path.suffix in (".json", ".safetensors")}
        assert {f"site/models/{name}/{path.as_posix()}" for path in wanted} <= {*found}
    assert found["site/engine/likewise.js"] == ROOT / "native/web/likewise.js"
    assert all(path.is_file() for path in found.values())


def test_without_the_engine_the_site_is_small(engine):
    found, everything = front_page_files(engine.with_name("none")), front_page_files(engine)
    assert {*found} == {place for place in everything if not place.startswith(NEEDED_BY_ENGINE)}
    assert "site/page/icon.svg" in found and "site/page/style/colours.css" in found


def test_what_the_page_and_its_script_name_is_on_the_site(engine):
    script = (ROOT / "docs/site/front.js").read_text("utf-8")
    imported = {f"site/{name}" for name in re.findall(r'from "\./(.*?)"', script)}
    loaded = set(re.findall(r"'(site/.*?\.(?:svg|js))' \| url", PAGE))
    places = {*front_page_files(engine), *(f"site/{path.name}" for path in (ROOT / "docs/site").glob("*.*"))}
    assert imported and loaded and imported | loaded <= places


def test_there_are_a_hundred_sentences_in_five_topics_of_twenty():
    assert len(SENTENCES) == len({*SENTENCES}) == 100
    topics = re.split(r"<h3>.*?</h3>", (THEME / "sentences.html").read_text("utf-8"))[1:]
    assert [topic.count("<li>") for topic in topics] == [20] * 5


def test_the_sizes_that_the_page_states_are_those_of_the_models(engine):
    def megabytes(name):
        files = [path for place, path in front_page_files(engine).items() if f"models/{name}/" in place]
        return round(sum(path.stat().st_size for path in files) / 1e6)

    assert f"A {megabytes('likewise-static')} MB model" in PAGE
    assert f"likewise-mini, {megabytes('likewise-mini')} MB more" in PAGE
