"""The check of the built site finds each thing that it is for."""

import pytest

from docs.site.check_built import main, problems, read_site

GOOD = '<h2 id="top">T</h2><p>one <a href="b/#end">b</a> <a href="https://e.org">e</a></p><img src="x.png">'


@pytest.fixture
def site(tmp_path):
    """A site of two pages and a picture."""
    (tmp_path / "b").mkdir()
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "b/index.html").write_text('<p id="end"><a href="/">home</a> <a href="..#top">top</a></p>')
    (tmp_path / "x.png").write_bytes(b"")
    return tmp_path


def test_a_site_without_faults_has_none(site, capsys):
    with pytest.raises(SystemExit) as end:
        main(site)
    assert not end.value.code and capsys.readouterr().out == "https://e.org\n2 pages, 4 links, 0 problems\n"


@pytest.mark.parametrize(
    ("html", "problem"),
    [
        ('<a href="c/">', "c/ is a broken link"),
        ('<a href="b/#no">', "b/#no points to a page that has no such anchor"),
        ('<a href="#no">', "#no points to a page that has no such anchor"),
        ('<img src="y.png">', "y.png is a broken link"),
        ('<script src="https://e.org/x.js">', "loads https://e.org/x.js from another host"),
        ('<link rel="stylesheet" href="//e.org/x.css">', "loads //e.org/x.css from another host"),
        ("<p>of these:\n- one\n- two</p>", "Markdown was left as text"),
        ("<p>see [b](b.md)</p>", "Markdown was left as text"),
        ("<p>| a | b |\n|---|---|</p>", "Markdown was left as text"),
    ],
)
def test_a_fault_is_found(site, html, problem):
    (site / "index.html").write_text(GOOD + html)
    found = problems(read_site(site), site)
    assert len(found) == 1 and problem in found[0]


def test_code_may_look_like_markdown(site):
    (site / "index.html").write_text("<pre><code>- a\n| b |</code></pre><p><code>[b](b.md)</code></p>")
    assert not [one for one in problems(read_site(site), site) if one.partition(":")[0] == "index.html"]


def test_a_folder_without_pages_is_no_site(tmp_path):
    with pytest.raises(SystemExit, match="contains no pages"):
        main(tmp_path)
