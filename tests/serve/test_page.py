"""The page: its files are served as what they are, to be shown by themselves, and nothing comes from elsewhere."""

import re
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.serve.page.page_routes import CONTENT_POLICY, MEDIA_TYPES, page_files

FILES = sorted(page_files())
SVG_NAMESPACE = "http://www.w3.org/2000/svg"  # a name, which no browser asks for
VIEWS = re.findall(r'id="tab-(\w+)"', page_files()["page/index.html"].content.decode())


def text_of(path):
    return page_files()[path].content.decode()


@pytest.mark.parametrize("path", FILES)
def test_every_file_is_served_as_what_it_is_and_may_load_nothing_from_elsewhere(path, client):
    response = client.get(f"/{path}")
    assert response.status_code == 200
    assert response.content == page_files()[path].content
    assert response.headers["content-type"] == MEDIA_TYPES[path.rpartition(".")[2]]
    assert response.headers["content-security-policy"] == CONTENT_POLICY
    assert response.headers["x-content-type-options"] == "nosniff"


def test_the_page_is_at_the_root(client):
    assert client.get("/").content == page_files()["page/index.html"].content
    assert client.head("/").content == b""


def test_the_policy_allows_this_server_and_nothing_else():
    rules = dict(rule.split(" ", 1) for rule in CONTENT_POLICY.split("; "))
    assert rules.pop("default-src") == "'none'"
    assert {*rules.values()} == {"'self'", "'none'"}


@pytest.mark.parametrize("path", FILES)
def test_no_file_names_an_address_of_another_machine_or_makes_markup_of_texts(path):
    text = text_of(path).replace(SVG_NAMESPACE, "")
    assert not re.search(
        r"https?:|[\"'(]//|@import|url\(|innerHTML|outerHTML|insertAdjacentHTML|eval\(|Function\(", text
    )
    assert not re.search(r"<script>|<style>| style=| on[a-z]+=\"", text), "the policy would not run it"


@pytest.mark.parametrize("path", FILES)
def test_every_file_that_a_file_names_is_there(path):
    text, folder = text_of(path), path.rpartition("/")[0]
    named = [name.lstrip("/") for name in re.findall(r'(?:href|src)="(/[^"#]+)"', text)]
    named += [f"{folder}/{name}" for name in re.findall(r'^import .* from "\./([^"]+)";$', text, re.MULTILINE)]
    named += [f"page/{name}" for name in re.findall(r'^import .* from "\.\./([^"]+)";$', text, re.MULTILINE)]
    assert len(re.findall(r"^import ", text, re.MULTILINE)) == len(re.findall(r'^import .*"\.', text, re.MULTILINE))
    assert {*named} <= {*FILES}


def test_every_tab_has_a_view():
    assert len(VIEWS) == 7
    assert {f"page/views/{name}.js" for name in VIEWS} == {path for path in FILES if path.startswith("page/views/")}


def test_every_element_that_a_script_looks_for_is_in_the_page():
    scripts = "".join(text_of(path) for path in FILES if path.endswith(".js"))
    asked = {*re.findall(r'getElementById\("([\w-]+)"\)', scripts)}
    assert len(asked) >= 5
    assert asked <= {*re.findall(r'id="([\w-]+)"', text_of("page/index.html"))}


def test_every_file_of_the_folder_is_served_but_python():
    names = {item.name for item in files("likewise.serve.page").iterdir() if item.is_file()}
    assert {path.split("/")[1] for path in FILES if path.count("/") == 1} == {n for n in names if not n.endswith(".py")}


def test_a_file_that_the_browser_has_is_not_sent_again(client):
    tag = client.get("/page/app.js").headers["etag"]
    again = client.get("/page/app.js", headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert client.get("/page/app.js", headers={"If-None-Match": '"another"'}).status_code == 200


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40))
def test_no_other_path_is_a_file(client, path):
    for tried in (
        f"/page/{path}",
        f"/page/../{path}",
        f"/page/..%2f{path}",
        "/page/__init__.py",
        "/page/page_routes.py",
    ):
        response = client.get(tried)
        known = str(response.request.url.path).lstrip("/") in {*FILES, ""}
        assert known or response.status_code in (404, 405, 400)
