"""Documents come from files, folders and patterns, with titles, metadata and offsets that hold."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import BadInput
from likewise.files.document_paths import document_paths
from likewise.files.documents import ENDINGS, Document, column_keys, estimated_count, read_documents
from likewise.files.html_text import html_text
from likewise.search.records import Records, checked_records

PAGE = """<!doctype html><html><head><title>Cats &amp; dogs</title><style>p {color: red}</style>
<script>if (a < b) { alert("</p>") }</script></head><body><nav><a href="/">Home</a></nav>
<h1>Of <em>cats</em></h1><p>They sleep&nbsp;a lot<br>and
   eat.</p><noscript>no</noscript><svg><svg></svg><text>drawn</text></svg>
<h2>Food</h2><ul><li>fish<li>meat</ul><pre>
  kept   as is
</pre><p>End"""


def test_a_page_is_read_as_its_text_with_headings_and_without_scripts():
    text, title = html_text(PAGE)
    assert title == "Cats & dogs"
    assert text.split("\n\n") == [
        "Home",
        "# Of cats",
        "They sleep a lot\nand eat.",
        "## Food",
        "- fish",
        "- meat",
        "  kept   as is",
        "End",
    ]


@pytest.mark.parametrize(
    "page", ["", "<", "<script>", "<title>x", "</p></div>", "&#x110000; &amp", "<!-- a", "<pre></pre></pre> b"]
)
def test_a_broken_page_is_read_as_far_as_it_goes(page):
    text, title = html_text(page)
    assert "script" not in text and title in ("", "x")


@given(st.text(st.sampled_from("<>/ph1 \n&;script=\"'!-"), max_size=40))
def test_any_text_can_be_read_as_a_page(page):
    text, _ = html_text(page)
    assert text == text.strip() and "\n\n\n" not in text


def files(folder, **contents):
    for name, content in contents.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def test_markdown_and_pages_are_documents_and_rows_of_other_files_are(tmp_path):
    files(
        tmp_path,
        a_md="\ufeffIntro\n\n# Title\n\nText\r\n",
        b_html=PAGE,
        c_txt="one\ntwo\n",
        d_csv="year,text,the title!\n2020,A cat.,\n007,A dog.,x\n",
        e_jsonl='{"text": "A bird.", "tags": ["a"], "ok": true, "none": null, "big": 99999999999999999999}\n',
    )
    found = [*read_documents([str(tmp_path)])]
    assert [(one.row, one.title) for one in found[:2]] == [(None, "Title"), (None, "Cats & dogs")]
    assert found[0].text == "Intro\n\n# Title\n\nText\r\n" and found[0].has_headings
    assert [(one.text, one.row) for one in found[2:4]] == [("one", 1), ("two", 2)]
    assert [dict(one.metadata) for one in found[4:6]] == [
        {"year": 2020, "the_title_": None},
        {"year": "007", "the_title_": "x"},
    ]
    assert found[6].metadata == {"tags": '["a"]', "ok": True, "none": None, "big": "99999999999999999999"}
    assert {one.file for one in found} == {str(path) for path in tmp_path.iterdir()}
    assert estimated_count([str(tmp_path)]) == 7


def test_a_text_file_can_be_one_document(tmp_path):
    files(tmp_path, notes_txt="one\ntwo\n")
    [found] = read_documents([str(tmp_path)], whole=True)
    assert found == Document("one\ntwo\n", str(tmp_path / "notes.txt"), "notes")
    assert estimated_count([str(tmp_path)], whole=True) == 1


def test_rows_of_parquet_are_counted_and_their_columns_can_be_stored(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": ["a", "b"], "x": [float("nan"), 1.5], "1st": [[1], []]}), path)
    found = [*read_documents([str(path)])]
    assert [dict(one.metadata) for one in found] == [{"x": None, "_1st": "[1]"}, {"x": 1.5, "_1st": "[]"}]
    assert estimated_count([str(path)]) == 2


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)), st.lists, max_leaves=3
)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.text(max_size=10))
def test_whatever_a_row_holds_an_index_can_store(tmp_path, row, text):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**row, "text": text}) + "\n")
    [document] = read_documents([str(path)], "text")

    checked_records(Records(["a"], np.ones((1, 2)), [document.text], [document.metadata]), 2)


def test_the_encoding_that_a_page_declares_is_read(tmp_path):
    files(tmp_path, a_html='<meta charset="iso-8859-1"><p>caf\u00e9'.encode("latin-1"))
    [found] = read_documents([str(tmp_path)])
    assert found.text == "caf\u00e9" and found.title == "a"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.md", b"one\n\xff", "line 2 is not UTF-8"),
        ("a.html", b"<meta charset=klingon>", "encoding 'klingon', which is not known"),
        ("a.jsonl", b'{"text": 3}', "line 1: expected a text, found '3'"),
        ("a.csv", b"x,y\n1,2\n", "which column holds the texts"),
        ("a.pdf", b"", "a.pdf ends in '.pdf'; expected one of .txt"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=message):
        list(read_documents([str(tmp_path / name)]))


def test_folders_and_patterns_are_files_in_order_each_once(tmp_path):
    files(tmp_path, b_md="", a_txt="", sub__c_html="", sub__d_py="", **{"_hidden__e_md": ""})
    names = [str(tmp_path), str(tmp_path / "**/*.md"), str(tmp_path / "a.txt")]
    assert [path.name for path in document_paths(names, ENDINGS)] == ["a.txt", "b.md", "c.html"]
    assert [path.name for path in document_paths([str(tmp_path / "s*/*")], ENDINGS)] == ["c.html"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("no.md", "is not there"), ("sub/*.md", "has no file that ends in"), ("sub", "1 of other kinds")],
)
def test_what_leads_to_no_file_is_refused(tmp_path, name, message):
    files(tmp_path, sub__d_py="")
    with pytest.raises(BadInput, match=message):
        document_paths([str(tmp_path / name)], ENDINGS)


def test_columns_that_would_share_a_name_get_different_ones():
    assert column_keys(("file", "a b", "a-b", "a_b", "", "²")) == ["file_", "a_b", "a_b_", "a_b__", "_", "__"]
