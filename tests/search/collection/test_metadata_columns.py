"""Columns of codes pass what the reference passes, however rows came to them."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from likewise.search.collection.metadata_columns import as_arrays, coded, from_arrays, joined
from likewise.search.filters import matches, parse_filter
from tests.search.filters.test_filters import conditions, metadatas

pytestmark = pytest.mark.usefixtures("unchecked")


def columns_of(rows):
    return coded(len(rows), [(i, row) for i, row in enumerate(rows) if row])


@given(conditions, st.lists(metadatas, max_size=8))
def test_columns_pass_what_the_reference_passes(condition, rows):
    expected = [matches(condition, row) for row in rows]
    assert columns_of(rows).passing(condition).tolist() == expected


@example(parse_filter("a = 2"), [{"a": 2}], [{"a": 1}, {"a": 3}])  # the first part's codes change
@given(conditions, st.lists(metadatas, max_size=5), st.lists(metadatas, max_size=5))
def test_joined_columns_are_those_of_all_rows_and_come_back_from_arrays(condition, first, second):
    both = joined(columns_of(first), columns_of(second))
    expected = columns_of([*first, *second]).passing(condition)
    np.testing.assert_array_equal(both.passing(condition), expected)
    np.testing.assert_array_equal(from_arrays(as_arrays(both)).passing(condition), expected)


def test_more_than_255_values_are_told_apart():
    columns = columns_of([{"x": i} for i in range(700)])
    assert columns.columns["x"].codes.dtype == np.uint16
    assert columns.passing(parse_filter("x >= 256 and x != 300")).sum() == 443
