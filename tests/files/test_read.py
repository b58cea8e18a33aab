"""Every kind of file gives its texts, again and again, and says what is wrong with it."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from likewise.errors import BadInput
from likewise.files import READABLE, Texts

TEXTS = ["one", 'with "quotes", commas', "two\nlines", "", "tab\there", "ключ 🙂 שלום"]


def written(folder, kind, texts, column="text"):
    path = folder / f"texts{kind}"
    if kind == ".parquet":
        pq.write_table(pa.table({column: texts, "n": list(range(len(texts)))}), path)
    elif kind == ".jsonl":
        path.write_text("".join(json.dumps({"n": 1, column: t}, ensure_ascii=False) + "\n" for t in texts), "utf-8")
    elif kind == ".txt":
        path.write_text("".join(t + "\n" for t in texts), "utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, delimiter="," if kind == ".csv" else "\t")
            table.writerows([["n", column], *([1, t] for t in texts)])
    return path


@pytest.mark.parametrize("kind", READABLE)
def test_texts_come_back_counted_and_more_than_once(kind, tmp_path):
    texts = [t for t in TEXTS if "\n" not in t] if kind == ".txt" else TEXTS
    found = Texts(written(tmp_path, kind, texts))
    assert len(found) == len(texts)
    assert list(found) == texts == list(found)


@pytest.mark.parametrize("kind", [k for k in READABLE if k != ".txt"])
def test_a_column_can_be_named_and_a_wrong_one_is_told_the_right_ones(kind, tmp_path):
    path = written(tmp_path, kind, ["a", "b"], column="odd name")
    assert list(Texts(path, "odd name")) == ["a", "b"]
    with pytest.raises(BadInput, match=r"no column 'x'.*odd name"):
        list(Texts(path, "x"))
    with pytest.raises(BadInput, match=r"which column.*odd name"):
        list(Texts(path))


def test_a_json_line_may_be_a_bare_text(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('"one"\n\n"two"\n')
    assert list(Texts(path)) == ["one", "two"]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("t.jsonl", b'{"text": 3}\n', "line 1: wanted a text, found '3'"),
        ("t.jsonl", b'"a"\n{broken\n', "line 2 is no JSON"),
        ("t.txt", b"fine\nnot \xff utf-8\n", "not UTF-8"),
        ("t.csv", b"n,text\n1,a\n2\n", "line 3: there is no 'text'"),
        ("t.parquet", b"PAR1 no", "no Parquet file"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(name, content, told, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=told):
        list(Texts(tmp_path / name))


def test_a_null_in_parquet_is_named(tmp_path):
    pq.write_table(pa.table({"text": ["a", None]}), tmp_path / "t.parquet")
    with pytest.raises(BadInput, match="row 1"):
        list(Texts(tmp_path / "t.parquet"))


def test_missing_files_folders_and_unknown_kinds_are_refused(tmp_path):
    (tmp_path / "folder.txt").mkdir()
    for name, told in (("nowhere.txt", "not there"), ("folder.txt", "no file"), ("t.docx", "of no kind")):
        with pytest.raises(BadInput, match=told):
            Texts(tmp_path / name)
