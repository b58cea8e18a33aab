"""Every kind of file gives its texts, again and again, and says what is wrong with it."""

import csv
import json
import re
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from likewise.errors import BadInput, MissingExtra
from likewise.files import READABLE, Table, Texts, lines
from likewise.files import read as reader
from likewise.files.read import choose_text_column, column_of_texts, standard_input

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
    result = Texts(written(tmp_path, kind, texts))
    assert len(result) == len(texts)
    assert list(result) == texts == list(result)


@pytest.mark.parametrize("kind", [k for k in READABLE if k != ".txt"])
def test_a_column_can_be_named_and_a_wrong_one_is_reported_the_right_ones(kind, tmp_path):
    path = written(tmp_path, kind, ["a", "b"], column="odd name")
    assert list(Texts(path, "odd name")) == ["a", "b"]
    with pytest.raises(BadInput, match=r"no column 'x'.*odd name"):
        list(Texts(path, "x"))
    with pytest.raises(BadInput, match=r"which column.*odd name"):
        list(Texts(path))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.jsonl", b'{"text": 3}\n', "line 1: expected a text, found '3'"),
        ("t.jsonl", b'"a"\n{broken\n', "line 2 is not valid JSON"),
        ("t.jsonl", b"[1]\n", "line 1 contains a list; expected an object or a text"),
        ("t.txt", b"fine\n" * 9999 + b"not \xff utf-8\n", r"line 10000 is not valid UTF-8 \(byte 5 is 0xff\)"),
        ("t.csv", b"text\n\xff\n", "line 2 is not valid UTF-8"),
        ("t.csv", b"n,text\n1,a\n2\n", "line 3: this row has 1 fields, but the first line names 2 columns"),
        ("t.csv", b"n,text\n1,a,cut at its comma\n", "line 2: this row has 3 fields"),
        ("t.csv", b"text\na\rb\n", "line 2 has a carriage return in the middle. Save the file with line breaks"),
        ("t.csv", b"", "cannot tell which column contains the texts"),
        ("t.parquet", b"PAR1 no", "not a Parquet file"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=message):
        list(Texts(tmp_path / name))


def test_a_null_in_parquet_is_named_by_its_row_counted_from_1(tmp_path):
    pq.write_table(pa.table({"text": ["a", None]}), tmp_path / "t.parquet")
    with pytest.raises(BadInput, match=r"row 2: expected a text, found null$"):
        list(Texts(tmp_path / "t.parquet"))


def test_missing_files_folders_and_unknown_kinds_are_refused(tmp_path):
    (tmp_path / "folder.txt").mkdir()
    for name, reported in (
        ("nowhere.txt", "nowhere.txt does not exist"),
        ("folder.txt", "folder.txt is a folder; expected a file that ends in .txt"),
        ("t.docx", "ends in '.docx'; expected one of .txt"),
        ("t.parquet.gz", "ends in '.gz'; expected one of .txt"),
    ):
        for read in (Texts, lambda path: Table.read(path, list)):
            with pytest.raises(BadInput, match=reported):
                read(tmp_path / name)


@pytest.mark.parametrize("kind", [".csv", ".tsv"])
def test_a_blank_line_is_a_text_where_there_is_one_column_and_no_row_where_there_are_more(kind, tmp_path):
    path = tmp_path / f"t{kind}"
    path.write_text('text\na\n\n""\nb\n\n')
    assert list(Texts(path)) == ["a", "", "", "b", ""]
    assert len(Texts(path)) == 5
    path.write_text("n,text\n1,a\n\n2,b\n".replace(",", "," if kind == ".csv" else "\t"))
    assert list(Texts(path)) == ["a", "b"]


@pytest.mark.parametrize("kind", [".txt", ".csv", ".tsv", ".jsonl"])
def test_a_byte_order_mark_is_passed_over_at_the_beginning_alone(kind, tmp_path):
    lines = {".txt": "a\n\ufeffb\n", ".jsonl": '{"text": "a"}\n{"text": "\ufeffb"}\n'}.get(kind, "text\na\n\ufeffb\n")
    (tmp_path / f"t{kind}").write_text("\ufeff" + lines, "utf-8")
    assert list(Texts(tmp_path / f"t{kind}")) == ["a", "\ufeffb"]


def test_lines_have_no_columns(tmp_path):
    path = written(tmp_path, ".txt", ["a"])
    with pytest.raises(BadInput, match="has lines but no columns, so --column x does not apply"):
        list(Texts(path, "x"))
    assert Table.read(path, list).columns == {"text": ["a"]}


def test_parquet_is_counted_without_being_read(tmp_path, monkeypatch):
    path = written(tmp_path, ".parquet", TEXTS)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", None)
    assert len(Texts(path)) == len(TEXTS)


def test_a_parquet_file_damaged_inside_is_named(tmp_path):
    path = written(tmp_path, ".parquet", [f"text {i} of many" for i in range(3000)])
    whole = bytearray(path.read_bytes())
    whole[4:2000] = bytes(1996)
    path.write_bytes(whole)
    with pytest.raises(BadInput, match="cannot be read after row 0"):
        list(Texts(path))


@pytest.mark.parametrize("kind", [k for k in READABLE if k != ".txt"])
def test_a_table_has_several_columns_numbers_too(kind, tmp_path):
    path = written(tmp_path, kind, ["a", "b, c"])
    table = Table.read(path, lambda names: sorted(set(names)))
    assert table.texts("text") == ["a", "b, c"]
    assert table.numbers("n") == ([0, 1] if kind == ".parquet" else [1, 1])
    assert Table.read(path, lambda names: ["text"]).columns == {"text": ["a", "b, c"]}
    with pytest.raises(BadInput, match=r"(line|row) \d: text is 'a'; expected a number"):
        table.numbers("text")


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_a_blank_text_in_a_table_is_named(blank, tmp_path):
    pq.write_table(pa.table({"text": ["a", blank]}), tmp_path / "t.parquet")
    with pytest.raises(BadInput, match=r"row 2: text is .*; expected a text"):
        Table.read(tmp_path / "t.parquet", lambda names: names).texts("text")


def test_a_table_of_no_rows_still_asks_for_its_columns(tmp_path):
    (tmp_path / "t.jsonl").write_text("")

    def none(names):
        raise BadInput(f"wanted something, found {names}")

    with pytest.raises(BadInput, match=r"found \[\]"):
        Table.read(tmp_path / "t.jsonl", none)


def test_keys_that_the_first_json_object_lacks_are_columns_too(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"text": "a"}\n{"title": "T", "text": "b"}\n"c"\n')
    assert Table.read(path, list).columns == {"text": ["a", "b", "c"], "title": [None, "T", None]}
    assert list(Texts(path)) == ["a", "b", "c"] and column_of_texts(path, None) == "text"


def test_the_only_column_is_that_of_the_texts_whatever_its_name():
    assert choose_text_column(["remark"], None, Path("t.csv")) == "remark"
    with pytest.raises(BadInput, match="cannot tell which column contains the texts; its columns are remark, note"):
        choose_text_column(["remark", "note"], None, Path("t.csv"))


@pytest.mark.parametrize("start", [0, 3, 4, 7])
def test_rows_of_parquet_are_numbered_from_the_first_of_the_file(start, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "PARQUET_ROWS", 3)
    pq.write_table(pa.table({"text": list("abcdefgh")}), tmp_path / "t.parquet", row_group_size=5)
    found = list(reader.parquet_rows(tmp_path / "t.parquet", lambda names: names, start))
    assert found == [(f"row {i}", (letter,)) for i, letter in enumerate("abcdefgh", 1)][start:]


def test_of_two_columns_that_may_be_meant_none_is_taken_in_silence(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("title,body\na,b\n")
    with pytest.raises(BadInput, match="cannot tell which column contains the texts.*title, body"):
        list(Texts(path))
    assert list(Texts(path, "body")) == ["b"]


STRAY = {
    "never closed": ('id,text\n1,one\n2,"unclosed\n3,three\n', 3),
    "in the first line": ('id,"text\n1,one\n', 1),
    "in the last field of a long row": ('id,text,more\n1,"a\nb ""c"" d\n,",x\n2,"e\nf","g\n', 5),
    "closed by a later quote": ('id,text\n1,"unclosed\n2,two\n3,"three, and more"\n', 2),
    "text behind it": ('id,text\n1,one\n2,"Yes," she said\n', 3),
    "backslashes": ('id,text\n1,"a \\"b\\" c"\n', 2),
}


@pytest.mark.parametrize("name", STRAY)
@pytest.mark.parametrize(("kind", "mark"), [(".csv", ","), (".tsv", "\t")])
def test_a_stray_quote_is_an_error_that_names_the_line_where_its_row_begins(name, kind, mark, tmp_path):
    written, line = STRAY[name]
    closes = {"closed by a later quote": 4, "text behind it": 3, "backslashes": 2}.get(name)
    told = f"a quote in the row on line {line} is never closed. Enclose a text"
    if closes:
        told = f"a quote in the row on line {line} closes on line {closes}, but {mark!r} or the end of the line"
    path = tmp_path / f"q{kind}"
    path.write_text(written if kind == ".csv" else written.replace(",", "\t"))
    for read in (lambda: list(Texts(path, "text")), lambda: len(Texts(path, "text")), lambda: Table.read(path, list)):
        with pytest.raises(BadInput, match=re.escape(f"{path}: {told}")):
            read()


def test_an_error_of_csv_that_is_unknown_is_passed_on(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise csv.Error("a new kind of error")
        yield

    monkeypatch.setattr("likewise.files.line_formats.csv.reader", broken)
    (tmp_path / "q.csv").write_text("text\na\n")
    with pytest.raises(BadInput, match="the row on line 1 cannot be read: a new kind of error$"):
        list(Texts(tmp_path / "q.csv", "text"))


def test_quotes_that_are_right_are_read(tmp_path):
    path = tmp_path / "q.csv"
    path.write_text('id,text\r\n1,"say ""no"", twice\r\nand go"\r\n2,5" pipe\r\n3,""\r\n"4",""""\r\n')
    assert list(Texts(path, "text")) == ['say "no", twice\r\nand go', '5" pipe', "", '"']


def test_reading_leaves_the_process_limit_on_fields_alone(tmp_path):
    path, before = tmp_path / "long.csv", csv.field_size_limit()
    path.write_text("id,text\n1," + "x" * 2 * before + "\n2,y\n")
    texts = iter(Texts(path, "text"))
    assert len(next(texts)) == 2 * before and csv.field_size_limit() == before
    assert list(texts) == ["y"] and csv.field_size_limit() == before


def test_the_frames_of_a_compressed_file_are_read_one_after_another_and_a_damaged_one_is_refused(tmp_path, monkeypatch):
    zstandard = pytest.importorskip("zstandard")
    path, frames = tmp_path / "a.txt.zst", [zstandard.compress(part) for part in (b"one\ntw", b"o\n", b"", b"three")]
    for size in (1, 30, 1 << 14):
        monkeypatch.setattr(lines, "READ_BYTES", size)
        path.write_bytes(b"".join(frames))
        assert list(Texts(path)) == ["one", "two", "three"]
        with lines.open_lines(path, lines.LinePlace(4, 1)) as read:
            read.skip()
            assert [*read] == ["two\n", "three"] and read.place == (13, 3)
        for damaged in (b"".join(frames)[:-1], frames[0] + bytes(20)):
            path.write_bytes(damaged)
            with pytest.raises(BadInput, match=r"a\.txt\.zst is truncated or damaged after line \d"):
                list(Texts(path))


def test_without_a_decompressor_the_error_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.txt.zst").write_bytes(b"(\xb5/\xfd")
    for name in ("zstandard", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match="reading a.txt.zst needs the package zstandard"):
        list(Texts(tmp_path / "a.txt.zst"))


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtra, match="reading a.parquet needs the package pyarrow"):
        list(Texts(tmp_path / "a.parquet"))


def test_the_limit_on_fields_is_a_gibibyte_while_a_row_is_read(tmp_path, monkeypatch):
    limits, set_limit = [], csv.field_size_limit
    monkeypatch.setattr(csv, "field_size_limit", lambda size: limits.append(size) or set_limit(size))
    (tmp_path / "short.csv").write_text("text\nx\n")
    assert list(Texts(tmp_path / "short.csv", "text")) == ["x"]
    assert {*limits} == {1 << 30, set_limit()}


def test_standard_input_that_is_closed_is_an_error(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(BadInput, match="standard input is closed"):
        list(standard_input())


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".parquet"])
def test_of_two_columns_of_one_name_neither_can_be_chosen_and_any_other_can(kind, tmp_path):
    path = tmp_path / f"twice{kind}"
    if kind == ".parquet":
        pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"]), pa.array(["c"])], ["x", "x", "y"]), path)
    else:
        path.write_text("\n".join(",\t"[kind == ".tsv"].join(row) for row in ("xxy", "abc")) + "\n")
    assert list(Texts(path, "y")) == ["c"]
    for read in (lambda: list(Texts(path, "x")), lambda: Table.read(path, lambda _: ["y", "x"])):
        with pytest.raises(BadInput, match="2 columns named 'x', so the name is ambiguous"):
            read()
