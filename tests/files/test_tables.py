"""What is written as a table is read back as it was, whatever it holds."""

import json
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import BadInput
from likewise.files import TABLES, Table, write_table

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
NUMBER = st.floats(-1e6, 1e6, width=32)


@pytest.mark.parametrize("suffix", TABLES)
@given(rows=st.lists(st.tuples(TEXT, TEXT, NUMBER, st.integers(-(2**53), 2**53)), min_size=1, max_size=8))
def test_a_table_is_read_as_it_was_written(suffix, rows, tmp_path):
    columns = {name: [row[i] for row in rows] for i, name in enumerate(("anchor", "positive", "score", "group"))}
    path = tmp_path / f"table{suffix}"
    write_table(path, columns)
    read = Table.read(path, list)
    assert list(read.columns) == list(columns)
    assert [read.texts("anchor"), read.texts("positive")] == [columns["anchor"], columns["positive"]]
    assert read.numbers("score") == columns["score"]
    assert read.numbers("group") == columns["group"]


@pytest.mark.parametrize("suffix", [suffix for suffix in TABLES if suffix != ".jsonl"])
def test_half_of_a_surrogate_pair_is_refused_where_utf8_is_all_there_is(suffix, tmp_path):
    with pytest.raises(BadInput, match=r"write \.jsonl"):
        write_table(tmp_path / f"t{suffix}", {"text": ["fine", "x\ud800"]})
    assert list(tmp_path.iterdir()) == []


def test_json_lines_hold_it(tmp_path):
    write_table(tmp_path / "t.jsonl", {"text": ["é", "x\ud800"]})
    first, second = (tmp_path / "t.jsonl").read_bytes().splitlines()
    assert first == '{"text": "é"}'.encode()
    assert json.loads(second) == {"text": "x\ud800"}


MIXED = {
    "code": ([12, "A12", None], ["12", "A12", None]),
    "flag": ([True, 1, 0.5], ["true", "1", "0.5"]),
    "large": ([1 << 70, 1, None], [str(1 << 70), "1", None]),
    "empty": ([{}, None, {}], ["{}", None, "{}"]),
    "list": ([["a"], [], None], [["a"], [], None]),
    "date": ([date(2020, 1, 2)] * 3, [date(2020, 1, 2)] * 3),
}


def test_values_without_a_common_type_are_texts_in_parquet(tmp_path):
    write_table(tmp_path / "t.parquet", {name: given for name, (given, _) in MIXED.items()})
    assert Table.read(tmp_path / "t.parquet", list).columns == {name: found for name, (_, found) in MIXED.items()}


def test_dates_and_lists_are_written_as_text_and_as_json(tmp_path):
    columns = {"day": [date(2020, 1, 2)], "list": [["é", {"a": None}]]}
    for name in ("t.jsonl", "t.csv"):
        write_table(tmp_path / name, columns)
    assert json.loads((tmp_path / "t.jsonl").read_text()) == {"day": "2020-01-02", "list": ["é", {"a": None}]}
    assert Table.read(tmp_path / "t.csv", list).columns == {"day": ["2020-01-02"], "list": ['["é", {"a": null}]']}


NUMPY = [np.int64(3), np.float32(0.5), np.True_, [np.int32(1)], np.array([1, 2]), np.datetime64("2020-01-02")]


def test_numbers_of_numpy_are_numbers_in_json(tmp_path):
    write_table(tmp_path / "t.jsonl", {"x": NUMPY})
    found = [json.loads(line)["x"] for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert found == [3, 0.5, True, [1], [1, 2], "2020-01-02"] and found[2] is True


@pytest.mark.parametrize("value", [b"ab", {1}, [b"ab"]])
def test_a_value_without_a_form_in_json_is_refused(value, tmp_path):
    with pytest.raises(BadInput, match="cannot be written as JSON"):
        write_table(tmp_path / "t.jsonl", {"x": [value]})
    assert not list(tmp_path.iterdir())


def test_a_table_that_fails_leaves_the_file_that_was_there(tmp_path):
    (tmp_path / "t.csv").write_text("kept")
    with pytest.raises(BadInput):
        write_table(tmp_path / "t.csv", {"text": ["\udfff"]})
    assert (tmp_path / "t.csv").read_text() == "kept"


@pytest.mark.parametrize("columns", [{}, {"a": ["x"], "b": []}])
def test_columns_of_unequal_length_are_no_table(columns, tmp_path):
    with pytest.raises(BadInput, match="columns of equal length"):
        write_table(tmp_path / "t.csv", columns)
