import json

from hypothesis import example, given
from hypothesis import strategies as st

from likewise.search.backends.common import as_matches, json_value, metadata_json

VALUES = st.text() | st.integers(-(1 << 63), (1 << 63) - 1) | st.floats(allow_nan=False, allow_infinity=False)


@given(st.dictionaries(st.from_regex(r"\A[a-z_]+\Z"), VALUES | st.booleans() | st.none()))
@example({"large": 1e22, "small": 5e-324, "largest": 1.7976931348623157e308, "whole": 1e16, "zero": -0.0})
def test_metadata_is_read_again_with_the_same_values_and_types(metadata):
    read = json.loads(metadata_json(metadata))
    assert read == metadata and [type(value) for value in read.values()] == [type(value) for value in metadata.values()]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_written_with_a_point_and_no_exponent(value):
    assert "." in json_value(value) and "e" not in json_value(value)


def test_rounding_takes_no_score_beyond_1():
    assert as_matches([("a", 1.0000002), ("b", -1.5), ("c", 0.5)]) == [("a", 1.0), ("b", -1.0), ("c", 0.5)]
