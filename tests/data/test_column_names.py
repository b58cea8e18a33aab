"""Conditions and renamed columns: what would be misread is refused."""

import pytest

from likewise.data.column_names import ColumnNames, select_rows
from likewise.errors import BadInput

ROWS = {"n": [4, 6, 8, 10], "text": ["a", "b > a", "b", "c and d"], "flag": [True, False, None, True]}


@pytest.mark.parametrize(
    "condition", ["n>5 and n<9", "n>5 && n==6", "n>5, n!=6", "text=='b' or text=='a'", "n>5 or n=6"]
)
def test_two_conditions_are_refused(condition):
    with pytest.raises(BadInput, match="expected COLUMN==VALUE, .* a single comparison; put quotes"):
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
