"""Conditions and renamed columns: what would be misread is refused."""

import re

import pytest

from likewise.data.column_names import ColumnNames, as_number, named_data, numbers_of, renaming_example, select_rows
from likewise.errors import BadInput, BadRow

ROWS = {"n": [4, 6, 8, 10], "text": ["a", "b > a", "b", "c and d"], "flag": [True, False, None, True]}


@pytest.mark.parametrize(
    "condition", ["n>5 and n<9", "n>5 && n==6", "n>5, n!=6", "text=='b' or text=='a'", "n>5 or n=6"]
)
def test_two_conditions_are_refused(condition):
    with pytest.raises(BadInput, match=r"expected a single comparison, COLUMN==VALUE .*; put quotes"):
        select_rows(ROWS, condition)


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("text=='b > a'", [6]),
        ('text == "b > a"', [6]),
        ("text==c and d", [10]),
        ("flag!=true", [6, 8]),
        ("flag==TRUE", [4, 10]),
        ("flag==False", [6]),
    ],
)
def test_quoted_signs_and_truth_values_are_compared(condition, kept):
    assert select_rows(ROWS, condition)["n"] == kept


def test_rows_are_selected_by_position_whatever_their_labels():
    pandas = pytest.importorskip("pandas")
    shuffled = pandas.DataFrame(ROWS).iloc[::-1]
    assert select_rows({name: shuffled[name] for name in ROWS}, "n>5")["n"] == [10, 8, 6]


def test_a_name_given_twice_is_refused():
    with pytest.raises(BadInput, match="sentence1=answer; expected each NAME only once"):
        ColumnNames.parse(["sentence1=question", "sentence1=answer"])


@pytest.mark.parametrize("pairs", [["anchor"], ["anchor="], ["=question"], ["a=b", " = question"]])
def test_a_pair_has_a_name_and_a_column(pairs):
    with pytest.raises(BadInput, match="expected NAME=COLUMN, such as anchor=question"):
        ColumnNames.parse(pairs)


CELLS = [None, "", " ", float("nan"), 4, "5", 6.5, "abc", "Zebra", True]


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("x==5", ["5"]),
        ("x!=5", [None, "", " ", float("nan"), 4, 6.5, "abc", "Zebra", True]),
        ("x<5", [4, True]),
        ("x<=5", [4, "5", True]),
        ("x>5", [6.5]),
        ("x>=5", ["5", 6.5]),
        ("x==1", [True]),
        ("x>=abc", ["abc", True]),
        ("x<abc", [4, "5", 6.5, "Zebra"]),
        ("x>True", ["abc", "Zebra"]),
        ("x==''", [""]),
    ],
)
def test_numbers_are_compared_as_numbers_texts_as_texts_and_nothing_missing_is_above_or_below(condition, kept):
    assert repr(select_rows({"x": CELLS}, condition)["x"]) == repr(kept)


def test_a_condition_on_no_column_or_that_no_row_satisfies_is_refused():
    with pytest.raises(BadInput, match="there is no column 'y'; found n, text, flag"):
        select_rows(ROWS, "y==1")
    with pytest.raises(BadInput, match="no row satisfies n>10; n of the first row is 4"):
        select_rows(ROWS, "n>10")


def test_whole_numbers_stay_exact_and_others_are_floats_if_they_have_a_value_as_one():
    found = [
        as_number(cell) for cell in (7, "9007199254740993", 5.75, " 1e3 ", True, "x", None, "", 10**400, "1" * 400)
    ]
    assert found == [7, 2**53 + 1, 5.75, 1000.0, 1, None, None, None, None, float("inf")]
    assert [type(number) for number in found[:4]] == [int, int, float, float]


def test_labels_are_numbered_by_their_positions_whatever_their_case_and_else_must_be_numbers():
    labels = ("no", "Yes")
    assert numbers_of("label", [" YES", "no ", "yes"], labels) == [1, 0, 1]
    assert numbers_of("label", ["1", 0, "0.5"], labels) == [1, 0, 0.5]
    assert numbers_of("label", [None, 2], labels) == [None, 2]
    with pytest.raises(BadInput, match="row 1: label is 'maybe'; expected a number or one of no, Yes$"):
        numbers_of("label", ["1", "maybe"], labels)
    with pytest.raises(BadInput, match="row 1: label is '2'; expected one of no, Yes, as in other rows$"):
        numbers_of("label", ["yes", "2"], labels)
    with pytest.raises(BadInput, match="the labels are no, Yes, yes; expected labels that differ in more than case"):
        ColumnNames(labels=("no", "Yes", "yes"))
    with pytest.raises(BadInput, match="row 0: label is 'yes'; expected a number$"):
        numbers_of("label", ["yes"])


def test_columns_are_scaled_renamed_and_left_and_those_that_apply_are_told():
    columns = {"a": [1, "4"], "b": ["x", "y"], "c/2": [8, 9]}
    renamed = ColumnNames({"score": "a / 2", "text": "b", "more": "a*-0.5", "kept": "c/2"}).rename(columns)
    assert renamed == {"score": [0.5, 2.0], "text": ["x", "y"], "more": [-0.5, -2.0], "kept": [8, 9]}
    assert ColumnNames({"a": "b", "b": "a"}).rename({"a": [1], "b": [2]}) == {"a": [2], "b": [1]}
    with pytest.raises(BadInput, match="--columns has d=e/5, but there is no column 'e'; found a, b, c/2"):
        ColumnNames({"d": "e/5"}).rename(columns)
    assert ColumnNames({"text": "d", "score": "n/2"}).rename({" d": ["x"], "n ": [4]}) == {
        "text": ["x"],
        "score": [2.0],
    }
    for scaled in ("a/0", "a*1e999", "a/1e-320"):
        with pytest.raises(
            BadInput, match=re.escape(f"--columns has score={scaled}; expected multiplication by a finite")
        ):
            ColumnNames({"score": scaled}).rename(columns)
    names = ColumnNames({"score": "a/5", "text": "b", "b": "a", "x": "nowhere"}, ["l"], "b==x")
    assert names.applicable(columns, ["text", "score", "b", "x", "other"]) == ColumnNames(
        {"text": "b", "score": "a/5"}, ["l"]
    )


def test_the_example_of_a_flag_names_two_columns_or_those_of_scored_pairs():
    assert renaming_example(["q", "a"]) == "--columns anchor=q,positive=a"
    for names in (["q"], ["q", "a", "n"]):
        assert renaming_example(names) == "--columns sentence1=NAME,sentence2=NAME,score=NAME"


def test_pairs_labels_and_a_condition_are_parsed_and_the_condition_s_column_is_known():
    names = ColumnNames.parse(["score = n/2", " t=text "], ["a", "B"], "flag==true")
    assert names == ColumnNames({"score": "n/2", "t": "text"}, ["a", "B"], "flag==true")
    assert names.rename(ROWS) == {"score": [2.0, 5.0], "t": ["a", "c and d"], "flag": [True, True]}
    assert ColumnNames.parse([]) == ColumnNames()
    assert [names.mentions(column) for column in ("flag", "n")] == [True, False]
    assert not ColumnNames().mentions("flag")


LINES = ["line 2", "line 3", "line 5", "line 6"]


@pytest.mark.parametrize(
    ("error", "data", "message"),
    [
        (BadRow(1, "is bad"), ("f.csv",), "f.csv, row 1: is bad"),
        (BadRow(1, "is bad"), ("f.csv", LINES), "f.csv, line 3: is bad"),
        (BadRow(1, "is bad"), ("f.csv", LINES, ROWS, "n>5"), "f.csv, line 5: is bad"),
        (BadRow(1, "is bad"), ("",), "row 1: is bad"),
        (BadInput("is bad"), ("f.csv", LINES), "f.csv: is bad"),
        (BadInput("f.csv is bad"), ("f.csv", LINES), "f.csv is bad"),
        (BadInput("is bad"), ("",), "is bad"),
    ],
)
def test_errors_name_the_data_and_the_place_of_the_row_in_the_file(error, data, message):
    with pytest.raises(BadInput) as raised, named_data(*data):
        raise error
    assert str(raised.value) == message
