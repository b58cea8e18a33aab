"""Documents come from files, folders and patterns, with titles, metadata and offsets that hold."""

import gzip
import json
import os
import time
import warnings
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import BadInput
from likewise.files import documents
from likewise.files import html_text as html
from likewise.files.document_paths import document_paths, skipped_as_json, skipped_lines
from likewise.files.documents import ENDINGS, ColumnKeys, Document, estimated_count, read_documents
from likewise.files.html_text import html_text
from likewise.runtime.installation import install_command
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
    paragraphs = ["# Of cats", "They sleep a lot\nand eat.", "## Food", "- fish", "- meat", "  kept   as is", "End"]
    assert text.split("\n\n") == paragraphs


@pytest.mark.parametrize(
    "page", ["", "<", "<script>", "<title>x", "</p></div>", "&#x110000; &amp", "<!-- a", "<pre></pre></pre> b"]
)
def test_a_broken_page_is_read_as_far_as_it_goes(page):
    text, title = html_text(page)
    assert "script" not in text and title in ("", "x")


def test_white_space_between_tags_is_no_indentation():
    assert html_text("<p>a<br> b")[0] == "a\nb"
    assert html_text("<pre>a\n  b</pre>")[0].endswith("a\n  b")


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
    assert found[0].text == "Intro\n\n# Title\n\nText\r\n"
    assert [one.has_headings for one in found] == [True, True, *[False] * 5]
    assert [(one.text, one.row) for one in found[2:4]] == [("one", 1), ("two", 2)]
    assert [dict(one.metadata) for one in found[4:6]] == [
        {"year": 2020, "the_title_": None},
        {"year": "007", "the_title_": "x"},
    ]
    assert found[6].metadata == {"tags": '["a"]', "ok": True, "none": None, "big": "99999999999999999999"}
    assert {one.file for one in found} == {str(path) for path in tmp_path.iterdir()}
    assert estimated_count([str(tmp_path)]) == 7


@pytest.mark.parametrize(
    ("content", "title", "metadata"),
    [
        ("# A\n\nText\n\n# B\n", "a", {}),
        ("# A\n\n## B\n", "A", {}),
        ("Text", "a", {}),
        ("---\ntitle: Named\n---\n# A\n", "Named", {"title": "Named"}),
        ('---\ntitle: " "\n---\n# A\n', "A", {"title": " "}),
        ("---\ntitle: 2024\n---\n# A\n", "A", {"title": 2024}),
        ("---\ncode: '12'\nempty: ''\n---\n# A\n", "A", {"code": "12", "empty": ""}),
    ],
)
def test_a_title_is_named_or_the_only_outermost_heading_or_the_file_s_name(tmp_path, content, title, metadata):
    files(tmp_path, a_md=content)
    [found] = read_documents([str(tmp_path)])
    assert (found.title, found.metadata, len(found.text)) == (title, metadata, len(content))


def test_a_text_file_can_be_one_document(tmp_path):
    files(tmp_path, notes_txt="one\ntwo\n")
    [found] = read_documents([str(tmp_path)], whole=True)
    assert found == Document("one\ntwo\n", str(tmp_path / "notes.txt"), "notes")
    assert estimated_count([str(tmp_path)], whole=True) == 1


@pytest.mark.parametrize(
    "damaged",
    [gzip.compress(text, mtime=0)[:end] for text, end in ((b"a cat\na dog\n", -9), (b"a" * 99, 12))] + [b"\x1f\x8bno"],
)
def test_a_damaged_file_is_counted_as_far_as_it_can_be_read_and_named_by_the_reader(tmp_path, damaged):
    (tmp_path / "a.txt.gz").write_bytes(damaged)
    assert estimated_count([str(tmp_path)]) <= 2
    with pytest.raises(BadInput, match=r"a\.txt\.gz"):
        list(read_documents([str(tmp_path)]))


def test_rows_of_parquet_are_counted_and_their_columns_can_be_stored(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": ["a", "b"], "x": [float("nan"), 1.5], "1st": [[1], []]}), path)
    found = [*read_documents([str(path)])]
    assert [dict(one.metadata) for one in found] == [{"x": None, "_1st": "[1]"}, {"x": 1.5, "_1st": "[]"}]
    assert estimated_count([str(path)]) == 2


def test_a_row_of_json_has_the_metadata_of_its_own_keys(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a", "x": null}\n{"y": 1, "text": "b"}\n{"text": "c", "title": "C"}\n')
    found = [*read_documents([str(path)])]
    assert [(one.text, dict(one.metadata), one.title) for one in found] == [
        ("a", {"x": None}, ""), ("b", {"y": 1}, ""), ("c", {"title": "C"}, "C")
    ]  # fmt: skip


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)), st.lists, max_leaves=3
)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.text(max_size=10))
def test_whatever_a_row_holds_an_index_can_store(tmp_path, row, text):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**row, "text": text}) + "\n")
    [document] = read_documents([str(path)], "text", skip=lambda _: None)

    checked_records(Records(["a"], np.ones((1, 2)), [document.text], [document.metadata]), 2)


def test_the_encoding_that_a_page_declares_is_read(tmp_path):
    files(tmp_path, a_html='<meta charset="iso-8859-1"><p>caf\u00e9'.encode("latin-1"))
    [found] = read_documents([str(tmp_path)])
    assert found.text == "caf\u00e9" and found.title == "a"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.md", b"\none\n\xff", "line 3 is not valid UTF-8"),
        ("a.html", b"<meta charset=klingon>", "encoding 'klingon', which is unknown"),
        ("a.jsonl", b'{"text": 3}', "line 1: expected a text, found '3'"),
        ("a.csv", b"x,y\n1,2\n", "cannot tell which column contains the texts"),
        ("a.md", b"\xff\xfe", "line 1 is not valid UTF-8"),
        ("a.html", b"<meta charset=undefined>", "encoding 'undefined', but does not use it"),
        ("a.jpg", b"", "a.jpg ends in '.jpg', not a supported format; .*expected one of .txt"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=message):
        list(read_documents([str(tmp_path / name)]))


def test_one_name_in_place_of_a_list_is_refused():
    with pytest.raises(BadInput, match="expected a list of files and folders; got one str, 'notes/'"):
        list(read_documents("notes/"))


def test_folders_and_patterns_are_files_in_order_each_once(tmp_path):
    files(tmp_path, b_md="", a_txt="", sub__c_html="", sub__d_py="", **{"_hidden__e_md": ""})
    names = [str(tmp_path), str(tmp_path / "**/*.md"), str(tmp_path / "a.txt")]
    skipped = []
    assert [path.name for path in document_paths(names, ENDINGS, skip=skipped.append)] == ["a.txt", "b.md", "c.html"]
    assert [(file.path.name, file.kind) for file in skipped] == [(".hidden", "hidden"), ("d.py", ".py")]
    skipped.clear()
    spellings = [f"{tmp_path}/sub/../a.txt", str(tmp_path), os.path.relpath(tmp_path / "a.txt")]
    assert [*map(str, document_paths(spellings, ENDINGS, skip=skipped.append))][::2] == [
        spellings[0],
        f"{tmp_path}/sub/c.html",
    ]
    skipped.clear()
    assert [path.name for path in document_paths([str(tmp_path / "s*/*")], ENDINGS, skip=skipped.append)] == ["c.html"]
    assert [path.name for path in document_paths([str(tmp_path / "**/*.[mh]*")], ENDINGS)] == ["b.md", "c.html"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("no.md", "does not exist"), ("sub/*.md", "no readable file: no files were found"), ("sub", "skipped 1 .py")],
)
def test_what_leads_to_no_file_is_refused(tmp_path, name, message):
    files(tmp_path, sub__d_py="")
    with pytest.raises(BadInput, match=message):
        document_paths([str(tmp_path / name)], ENDINGS)


def test_columns_that_would_share_a_name_get_different_ones():
    keys = ColumnKeys()
    names, expected = ("file", "a b", "a-b", "a_b", "", "²"), ["file_", "a_b", "a_b_", "a_b__", "_", "__"]
    assert [keys[name] for name in names] == [keys[name] for name in names] == expected


def test_a_column_has_the_same_key_in_all_rows_of_json(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a", "a b": 1, "a_b": 2}\n{"text": "b", "a_b": 7}\n{"text": "c", "a-b": 8}\n')
    found = [dict(one.metadata) for one in read_documents([str(path)])]
    assert found == [{"a_b": 1, "a_b_": 2}, {"a_b_": 7}, {"a_b__": 8}]


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        *((np.int64(3), 3), (np.float32("nan"), None), ([np.int8(1), date(2020, 1, 2)], '[1, "2020-01-02"]')),
        *(
            (date(2020, 1, 2), "2020-01-02"),
            (True, True),
            (0.5, 0.5),
            (float("-inf"), None),
            ({"a": None}, '{"a": null}'),
        ),
        *((value, value) for value in (-(1 << 63), (1 << 63) - 1)),  # what SQLite can store
        *((value, str(value)) for value in (-(1 << 63) - 1, 1 << 63)),
    ],
)
def test_numbers_stay_numbers_if_an_index_can_store_them(value, plain):
    assert documents._plain(value) == plain


SITE = """<body><header><h1>Shop</h1></header><div role="navigation">Login</div><ul hidden><li>secret</ul>
<article><header><h1>Cats</h1></header><p>They sleep.</p><ul><li>fish</ul><footer>by Ann</footer></article>
<aside>Read on</aside><template>t</template><p hidden>kept: no end tag has to come<p>Dogs.</p>
<footer>Imprint</footer>"""


def test_what_is_the_site_s_and_not_the_page_s_is_left_out():
    text, _ = html_text(SITE)
    assert text.split("\n\n") == ["# Cats", "They sleep.", "- fish", "by Ann", "kept: no end tag has to come", "Dogs."]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (
            "".join(f"<h{i}>{i}</h{i}>" for i in range(1, 8)),
            "# 1\n\n## 2\n\n### 3\n\n#### 4\n\n##### 5\n\n###### 6\n\n7",
        ),
        ("<article><section>a</section><footer>b</footer></article><footer>c</footer>d", "a\n\nb\n\nd"),
        ("</main></main><main><header>a</header></main><header>b</header>", "a"),
        ("<article></article></article><header>a</header>b", "b"),
        ("<pre>a  b</pre></pre>c  d", "a  b\n\nc d"),
        ("<pre>a<pre>b  c</pre>d  e</pre>f  g", "a\n\nb  c\n\nd  e\n\nf g"),
        ("<div hidden><div>a</div>b</div>c", "c"),
        ("<div role=Search>a</div><div role>b</div><a role=search>c</a><span role=note hidden>d</span>", "b\n\nc"),
        ("<svg/>a<nav/>b<script/>c</script>d<br/>e", "abd\ne"),
        ("a<br>b<td>c<th>d<option>e", "a\nb\nc\nd\ne"),
        ("a&amp;b &#60;c &lt", "a&b <c <"),
    ],
)
def test_elements_end_where_browsers_end_them(page, text):
    assert html_text(page) == (text, "")


def test_a_title_is_one_line_and_no_part_of_the_text():
    assert html_text("<title> a\n b</title><svg><title>c</title></svg><p>d") == ("d", "a b")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("\ufeff<p>caf\u00e9".encode("utf-16-le"), "caf\u00e9"),
        ("\ufeff<p>caf\u00e9".encode("utf-16-be"), "caf\u00e9"),
        ("\ufeff<meta charset=latin1><p>caf\u00e9".encode(), "caf\u00e9"),  # the mark wins
        (b"<meta charset=utf-16><p>caf\xc3\xa9", "caf\u00e9"),
        (b"<meta charset=iso-8859-1><p>\x84so\x93", "\u201eso\u201c"),
        ("<meta http-equiv=x content='text/html; charset=GB2312'><p>\u732b".encode("gb18030"), "\u732b"),
    ],
)
def test_a_page_is_decoded_as_browsers_decode_it(tmp_path, data, text):
    (tmp_path / "a.html").write_bytes(data)
    [found] = read_documents([str(tmp_path)])
    assert found.text == text


def test_front_matter_is_metadata_and_offsets_stay_the_file_s(tmp_path):
    content = "---\ntitle: All about cats\ntags: [a, b]\nfile: x\n---\n# Sleep\n\nLong.\n"
    files(tmp_path, a_md=content, b_md="---\n\nA rule, and no front matter.\n\n---\n")
    first, second = read_documents([str(tmp_path)])
    assert first.title == "All about cats"
    assert first.metadata == {"title": "All about cats", "tags": '["a", "b"]', "file_": "x"}
    assert first.text.strip() == "# Sleep\n\nLong." and len(first.text) == len(content)
    assert second.text.startswith("---") and second.title == "b" and not second.metadata


@pytest.fixture
def mixed(tmp_path):
    files(tmp_path, a_md="A cat.", b_rst="Dogs\n====\n\nThey bark.", c_jpg=b"\xff\xd8", d_tex="x", _hidden_md="x")
    files(tmp_path, empty_md=" \n", empty_csv="", empty_txt="", head_csv="text\n", latin_md=b"caf\xe9", sub__c_jpg="")
    (tmp_path / "dead.md").symlink_to("nowhere")
    (tmp_path / "linked").symlink_to(tmp_path / "sub")
    os.mkfifo(tmp_path / "pipe.md")
    return tmp_path


def test_nothing_is_skipped_in_silence(mixed):
    skipped = []
    found = [*read_documents([str(mixed)], skip=skipped.append)]
    assert [one.text for one in found if one.text.strip()] == ["A cat.", "Dogs\n====\n\nThey bark."]
    assert {file.path for file in skipped} | {mixed / "a.md", mixed / "b.rst", mixed / "sub"} == {
        *mixed.iterdir(),
        mixed / "sub/c.jpg",
    }
    assert [(one.file, one.row) for one in found if not one.text.strip()] == [
        (str(mixed / name), None if name == "empty.md" else 0)
        for name in ("empty.csv", "empty.md", "empty.txt", "head.csv")
    ]
    assert [(file.path.name, file.is_error) for file in skipped if file.is_error] == [("latin.md", True)]
    assert skipped_lines(skipped) == [
        "skipped 1 hidden: names that begin with a dot are skipped; to add one, name the file or folder itself",
        "skipped 1 link to a folder: links to folders are not followed; to add one, name the folder itself",
        "skipped 2 .jpg, 1 .tex: not a supported format; convert texts to .md, .html, .docx or .pdf",
        "skipped 2 .md: not a regular file, or a broken link",
        "skipped 2 .csv, 1 .md, 1 .txt: they contain nothing to index",
        f"skipped: {mixed}/latin.md, line 1 is not valid UTF-8 (byte 4)",
    ]
    groups = skipped_as_json(skipped)
    assert sum(group["count"] for group in groups) == len(skipped) == 12 and len(groups) == 9
    assert [group for group in groups if group["failed"]] == [
        {
            "kind": "",
            "count": 1,
            "reason": f"{mixed}/latin.md, line 1 is not valid UTF-8 (byte 4)",
            "failed": True,
            "files": [f"{mixed}/latin.md"],
        }
    ]
    assert estimated_count([str(mixed)]) == 4  # a.md, b.rst, empty.md and latin.md


def test_a_blank_first_row_is_a_document_and_no_empty_file(tmp_path):
    files(tmp_path, a_txt="\nb\n", b_csv="text,n\n,1\nc,2\n")
    skipped = []
    found = [(one.text, one.row) for one in read_documents([str(tmp_path)], skip=skipped.append)]
    assert found == [("", 1), ("b", 2), ("", 1), ("c", 2)]
    assert skipped_lines(skipped) == ["skipped 2 rows without text"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("b.txt", b"a\nb\n\xff\n", "b.txt, line 3 is not valid UTF-8"),
        ("b.csv", b"text,n\na,1\nb\n", "b.csv, line 3: this row has 1 fields"),
        ("b.jsonl", b'{"text": "a"}\n{"text": null}\n', "b.jsonl, line 2: expected a text, found null, so no row"),
        ("b.jsonl", b'{"text": "a"}\n{\n', "b.jsonl, line 2 is not valid JSON"),
        ("b.tsv", b"x\ty\na\tb\n", "b.tsv: cannot tell which column contains the texts"),
        ("b.parquet", b"PAR1 no", "b.parquet is not a Parquet file"),
        ("b.txt.gz", b"\x1f\x8bno", "b.txt.gz is truncated or damaged"),
    ],
)
def test_a_file_with_a_bad_row_is_skipped_whole_and_the_others_are_read(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    files(tmp_path, a_txt="first\n", c_txt="last\n")
    skipped = []
    assert [one.text for one in read_documents([str(tmp_path)], skip=skipped.append)] == ["first", "last"]
    [file] = skipped
    assert file.path.name == name and file.is_error and message in file.reason
    assert file.reason.endswith(", so no row of the file was read")
    assert estimated_count([str(tmp_path)]) >= 2


def test_without_a_callback_errors_are_raised_and_other_kinds_warned_of(mixed):
    with (
        warnings.catch_warnings(record=True) as warned,
        pytest.raises(BadInput, match="latin.md, line 1 is not valid UTF-8"),
    ):
        warnings.simplefilter("always")
        list(read_documents([str(mixed)]))
    jpg = ".jpg is skipped: not a supported format; convert texts to .md, .html, .docx or .pdf"
    assert [str(one.message) for one in warned].count(jpg) == 2 and len(warned) > 3


def test_folders_that_cannot_be_opened_are_named(tmp_path, monkeypatch):
    files(tmp_path, a_md="A cat.", sub__b_md="")
    scandir = os.scandir

    def refusing(path):
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    skipped = []
    assert len([*read_documents([str(tmp_path)], skip=skipped.append)]) == 1
    assert skipped_lines(skipped) == [f"skipped: {tmp_path}/sub cannot be opened: Permission denied"]
    assert [file.is_error for file in skipped] == [True]


def test_pdf_and_word_files_say_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "find_spec", lambda name: None)
    files(tmp_path, a_md="A cat.", b_pdf="", c_docx="")
    skipped = []
    assert len([*read_documents([str(tmp_path)], skip=skipped.append)]) == 1
    hint = install_command("documents")
    assert skipped_lines(skipped) == [
        f"skipped 1 .{kind}: reading them needs the package {name}; install it with: {hint}"
        for kind, name in (("pdf", "pypdf"), ("docx", "docx"))
    ]
    with pytest.raises(BadInput, match="b.pdf ends in '.pdf', reading them needs the package pypdf"):
        list(read_documents([str(tmp_path / "b.pdf")]))


def test_a_document_has_a_bounded_size(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "MAX_BYTES", 3)
    files(tmp_path, a_md="1234")
    with pytest.raises(BadInput, match="a.md has more than 3 bytes"):
        list(read_documents([str(tmp_path)]))
    files(tmp_path, a_md="123")
    assert [one.text for one in read_documents([str(tmp_path)])] == ["123"]


@pytest.mark.parametrize("part", ["<p ", "<!-- >", "<a b='", "<![CDATA[ >"])
def test_a_page_whose_tags_do_not_end_takes_no_longer_than_it_may(tmp_path, monkeypatch, part):
    monkeypatch.setattr(html, "SECONDS", 0.02)
    files(tmp_path, a_html=part * 100_000)
    began = time.perf_counter()
    with pytest.raises(
        BadInput, match="a.html was not read within 0.02 s; check that its tags and comments are closed"
    ):
        list(read_documents([str(tmp_path)]))
    assert time.perf_counter() - began < 20


def test_an_empty_file_has_no_text_and_an_empty_parquet_file_is_broken(tmp_path):
    for name in ("a.csv", "b.parquet"):
        (tmp_path / name).touch()
    skipped = []
    documents = [*read_documents([str(tmp_path)], skip=skipped.append)]
    assert [document.file for document in documents] == [str(tmp_path / "a.csv")]
    assert {file.path.name: file.is_error for file in skipped} == {"a.csv": False, "b.parquet": True}
