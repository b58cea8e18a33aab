"""Records that some index could not keep are refused by all, and the error names the place."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from likewise.errors import BadInput
from likewise.search import records
from likewise.search.records import Records, checked_records

pytestmark = pytest.mark.usefixtures("unchecked")

ONE = np.ones((1, 3), np.float32)

REFUSED = {  # the arguments of Records
    "of shape (N, 3), like those of this index; got (1, 2)": (["a"], ONE[:, :2]),
    "as many vectors as ids; got 1 and 2": (["a", "b"], ONE),
    "as many texts as ids; got 2 and 1": (["a"], ONE, ["x", "y"]),
    "as many metadata as ids; got 0 and 1": (["a"], ONE, None, []),
    "vectors[0] contains NaN": (["a"], ONE * np.nan),
    "vectors[1] contains NaN or infinity": (["a", "b"], np.array([[1, 2, 3], [1, 1e39, 1]])),
    "a list of ids; got a single string, 'a'": ("a", ONE),
    "ids[0] is 7": ([7], ONE),
    "ids[0] is ''": ([""], ONE),
    "ids[0] is 'a\\x00'": (["a\0"], ONE),
    "ids[0] has half of a surrogate pair at position 1": (["a\ud800"], ONE),
    "ids[1] is 'a', which already occurs earlier": (["a", "a"], np.ones((2, 3))),
    "texts[0] is 3": (["a"], ONE, [3]),
    "texts[0] has a null character at position 2": (["a"], ONE, ["no\0"]),
    "texts[0] has half of a surrogate pair": (["a"], ONE, ["\udfff"]),
    "metadata[0] is a list": (["a"], ONE, None, [[]]),
    "metadata[0] has the key 'a b'": (["a"], ONE, None, [{"a b": 1}]),
    "metadata[0]['x'] is a list": (["a"], ONE, None, [{"x": []}]),
    "metadata[0]['x'] is nan": (["a"], ONE, None, [{"x": float("nan")}]),
    "metadata[0]['x'] is 9223372036854775808; expected an integer that fits in 64 bits": (
        ["a"],
        ONE,
        None,
        [{"x": 2**63}],
    ),
    "metadata[1]['x'] is -9223372036854775809": (
        ["a", "b"],
        np.ones((2, 3)),
        None,
        [{"x": -(2**63)}, {"x": -(2**63) - 1}],
    ),
    "metadata[0]['x'] is -inf; expected a finite number": (["a"], ONE, None, [{"x": -float("inf")}]),
    "metadata[0]['x'] has a null character": (["a"], ONE, None, [{"x": "\0"}]),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_some_index_cannot_keep_is_refused_with_its_place(message):
    with pytest.raises(BadInput) as refused:
        checked_records(Records(*REFUSED[message]), 3)
    assert message in str(refused.value)


def test_good_records_come_back_in_float32_with_all_their_columns():
    good = Records(["a", "ß"], np.ones((2, 3)), ["x", None], [{"größe": 1, "b": True, "c": None}, {}])
    checked = checked_records(good, 3)
    assert checked.vectors.dtype == np.float32 and (checked.ids, checked.texts) == (good.ids, good.texts)
    assert [block.ids for block in checked.blocks(1)] == [["a"], ["ß"]]
    assert [block.metadata for block in checked.blocks(1)] == [[good.metadata[0]], [{}]]


def test_rows_are_chosen_and_cut_with_all_columns_or_with_those_there_are():
    bare = Records(["a", "b", "c"], np.eye(3))
    full = Records(bare.ids, bare.vectors, ["x", None, "z"], [{"n": 1}, {}, {"n": 3}])
    for given_records, contents in ((bare, [(None, {})] * 3), (full, [("x", {"n": 1}), (None, {}), ("z", {"n": 3})])):
        assert given_records.contents == contents
        blocks, chosen = list(given_records.blocks(2)), given_records.select([2, 0])
        assert [block.ids for block in blocks] == [["a", "b"], ["c"]] and chosen.ids == ["c", "a"]
        assert np.array_equal(np.concatenate([block.vectors for block in blocks]), np.eye(3))
        assert np.array_equal(chosen.vectors, np.eye(3)[[2, 0]])
        assert [*blocks[0].contents, *blocks[1].contents] == contents
        assert chosen.contents == [contents[2], contents[0]]
        assert {block.texts is None for block in (*blocks, chosen)} == {given_records is bare}


def test_a_date_of_numpy_does_not_become_its_nanoseconds():
    with pytest.raises(BadInput, match=r"metadata\[0\]\['when'\] is a datetime64"):
        checked_records(Records(["a"], ONE, None, [{"when": np.datetime64("2020-01-01", "ns")}]), 3)


def test_columns_and_values_may_be_numpy_s():
    columns = Records(np.array(["a", "b"]), np.ones((2, 3)), np.array(["x", "y"]), np.array([{"n": np.int64(1)}, {}]))
    checked = checked_records(columns, 3)
    assert columns.contents == checked.contents == [("x", {"n": 1}), ("y", {})]
    assert (checked.ids, type(checked.metadata[0]["n"])) == (["a", "b"], int)


STRINGS = st.text(st.sampled_from("aß\0\ud800\udc00 "), max_size=3)
VALUES = STRINGS | st.integers(-(2**64), 2**64) | st.floats() | st.booleans() | st.none() | st.just([])
ROWS = st.lists(st.dictionaries(st.sampled_from(["a", "b c", "größe", ""]), VALUES, max_size=2) | st.none(), max_size=3)


@example([], [{"a": -(2**63)}, {"a": 2**63 - 1}])
@example([], [{"a": 2**63}])
@example([], [{"a": -(2**63) - 1}])
@given(st.lists(STRINGS | st.none() | st.just(3), max_size=5), ROWS)
def test_what_is_found_in_one_pass_is_what_is_found_one_by_one(texts, rows):
    assert records.are_storable(texts) == (not any(refuses(records._check_text, text) for text in texts))
    assert records.metadata_is_storable(rows) == (not any(refuses(records.check_metadata, row) for row in rows))


def refuses(check, value) -> bool:
    try:
        check(value, 0)
    except BadInput:
        return True
    return False


def test_texts_beyond_the_first_that_are_joined_are_checked_too(monkeypatch):
    monkeypatch.setattr(records, "AT_ONCE", 2)
    assert records.are_storable(["a", None, "b", "c"]) and not records.are_storable(["a", "b", "c", "\0"])
