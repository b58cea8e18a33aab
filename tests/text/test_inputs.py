"""What may be encoded."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from likewise.errors import BadInput
from likewise.text import inputs
from likewise.text.inputs import count_texts, text_chunks

pytestmark = pytest.mark.usefixtures("unchecked")

TEXTS = ["a", "", "ccc", "d", "é😀"]


def _columns() -> dict[str, object]:
    return {
        "list": TEXTS,
        "tuple": tuple(TEXTS),
        "generator": (t for t in TEXTS),
        "numpy str": np.array(TEXTS),
        "numpy object": np.array(TEXTS, dtype=object),
        "pandas": pd.Series(TEXTS, index=[9, 8, 7, 6, 5]),
        "pandas string": pd.Series(TEXTS, dtype="string"),
        "arrow": pa.array(TEXTS),
        "arrow large": pa.array(TEXTS, pa.large_string()),
        "arrow chunked": pa.chunked_array([TEXTS[:2], [], TEXTS[2:]]),
        "arrow dictionary": pa.array(TEXTS).dictionary_encode(),
        "dict values": dict(enumerate(TEXTS)).values(),
    }


@pytest.mark.parametrize("kind", _columns())
def test_every_kind_of_column_is_the_same_texts(kind):
    assert [t for window in text_chunks(_columns()[kind]) for t in window] == TEXTS


@pytest.mark.parametrize("kind", _columns())
def test_lengths_are_known_where_they_can_be(kind):
    assert count_texts(_columns()[kind]) == (None if kind == "generator" else 5)


@pytest.mark.parametrize("wrong", [None, 5, 1.5, b"bytes", float("nan"), ["nested"], {"a": 1}, np.float64(2)], ids=repr)
def test_what_is_no_text_is_named_by_its_index(wrong):
    with pytest.raises(BadInput, match=r"texts\[2\] is .*; expected a str"):
        list(text_chunks(["a", "b", wrong, "c"]))


def test_a_missing_value_of_a_column_is_named_by_its_index():
    for column in (pd.Series(["a", None]), pd.Series(["a", None], dtype="string"), pa.array(["a", None])):
        with pytest.raises(BadInput, match=r"texts\[1\]"):
            list(text_chunks(column))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("one text", r"got a single str; put it in a list: \[text\]"),
        (b"one text", r"got a single bytes; put it in a list"),
        ({"a": "b"}, "got a dict; pass a list, which has an order"),
        ({"a", "b"}, "got a set; pass a list"),
        (frozenset("a"), "got a frozenset; pass a list"),
        (np.array([["a", "b"]]), "got a ndarray with 2 dimensions; select one column"),
        (np.array("a"), r"got array\('a', dtype='<U1'\) \(ndarray\)"),
        (pd.DataFrame({"a": ["b"]}), "got a DataFrame with 2 dimensions; select one column"),
        (None, r"got None \(NoneType\)"),
        (7, r"got 7 \(int\)"),
        (pa.table({"a": ["b"]}), "texts|table"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_column_of_texts_says_what_it_is(wrong, message):
    with pytest.raises(BadInput, match=message):
        list(text_chunks(wrong))


def test_an_error_shows_little_of_a_large_value():
    with pytest.raises(BadInput) as caught:
        list(text_chunks([list(range(10_000))]))
    assert len(str(caught.value)) < 120


def test_a_window_holds_few_texts_and_few_letters(monkeypatch):
    monkeypatch.setattr(inputs, "CHUNK_TEXTS", 3)
    monkeypatch.setattr(inputs, "CHUNK_CHARACTERS", 10)
    given = ["a"] * 7 + ["b" * 9, "c", "d" * 50, "e"]
    result = list(text_chunks(given))
    assert [t for window in result for t in window] == given
    assert [len(window) for window in result] == [3, 3, 2, 2, 1]


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        (["a"], True), ((), True), (iter("a"), True), ({"a": 1}.keys(), True), (np.zeros(3), True),
        ("a", False), (b"a", False), (bytearray(b"a"), False), (list, False), ({"a": 1}, False), ({1}, False),
        (3, False), (None, False), (np.array(3), False), (np.zeros((2, 2)), False),
    ],
)  # fmt: skip
def test_what_holds_rows_in_an_order(given, rows):
    assert inputs.is_list_of_rows(given) is rows


def test_an_array_of_rows_may_have_as_many_dimensions_as_asked_for():
    assert [inputs.is_list_of_rows(np.zeros((1,) * n), 2) for n in range(4)] == [False, True, True, False]


def test_a_value_is_shown_whole_up_to_forty_letters():
    assert inputs.describe_value("a" * 38) == f"'{'a' * 38}' (str)"
    assert inputs.describe_value("a" * 39) == f"'{'a' * 36}… (str)"
    assert inputs.count_texts(np.array("a")) is None and inputs.count_texts(iter("a")) is None
