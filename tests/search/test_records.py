"""Records that some index could not keep are refused by all, and the error names the place."""

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.search.records import Records, checked_records

pytestmark = pytest.mark.usefixtures("unchecked")

ONE = np.ones((1, 3), np.float32)

REFUSED = {  # the arguments of Records
    "of shape (N, 3), the width of this index; got (1, 2)": (["a"], ONE[:, :2]),
    "as many vectors as ids; got 1 and 2": (["a", "b"], ONE),
    "as many texts as ids; got 2 and 1": (["a"], ONE, ["x", "y"]),
    "as many metadata as ids; got 0 and 1": (["a"], ONE, None, []),
    "vectors[0] holds a number that is NaN": (["a"], ONE * np.nan),
    "vectors[1] holds a number that is NaN or infinite": (["a", "b"], np.array([[1, 2, 3], [1, 1e39, 1]])),
    "a list of ids; got the one string 'a'": ("a", ONE),
    "ids[0] is 7": ([7], ONE),
    "ids[0] is ''": ([""], ONE),
    "ids[0] is 'a\\x00'": (["a\0"], ONE),
    "ids[0] has half of a surrogate pair, at 1": (["a\ud800"], ONE),
    "ids[1] is 'a', which occurs before": (["a", "a"], np.ones((2, 3))),
    "texts[0] is 3": (["a"], ONE, [3]),
    "texts[0] has a null character, at 2": (["a"], ONE, ["no\0"]),
    "texts[0] has half of a surrogate pair": (["a"], ONE, ["\udfff"]),
    "metadata[0] is a list": (["a"], ONE, None, [[]]),
    "metadata[0] has the name 'a b'": (["a"], ONE, None, [{"a b": 1}]),
    "metadata[0]['x'] is a list": (["a"], ONE, None, [{"x": []}]),
    "metadata[0]['x'] is nan": (["a"], ONE, None, [{"x": float("nan")}]),
    "integer of at most 64 bits": (["a"], ONE, None, [{"x": 2**63}]),
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
