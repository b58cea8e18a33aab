"""Filters are compiled for every server as the reference reads them, whatever names and values they hold."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings

from likewise.errors import BadInput
from likewise.search.filters import matches, named_columns
from likewise.search.filters.conditions import AllOf, Compares, MatchesPattern, OneOf
from likewise.search.indexes import INDEXES
from likewise.search.records import Records
from tests.search.filters.test_filters import conditions, metadatas, written

INJECTIONS = ["' OR 1=1 --", '" or true or "', "\\", "{}", "%s", "$1", "');DROP TABLE t;--", "\\' or ''='", "é\n\t{0}"]


@pytest.fixture(scope="module", params=["faiss", "pgvector", "milvus"])
def index(request, tmp_path_factory):
    kind = INDEXES[request.param]
    if request.param == "faiss":
        location = f"{kind.scheme}{tmp_path_factory.mktemp('filters') / 'index'}"
    else:
        server = request.getfixturevalue({"pgvector": "postgres", "milvus": "milvus"}[request.param])
        location = server.location("filters")
    with kind.index_class().create(location, 2) as opened:
        yield opened


def count(index, condition, metadata):
    """How many pass of a record with this metadata and one with nulls, so that every column is known."""
    nulls = dict.fromkeys(named_columns(condition))
    index.upsert(Records(["given", "nulls"], np.eye(2), None, [metadata, nulls]))
    try:
        return index.count(written(condition)), sum(matches(condition, row) for row in (metadata, nulls))
    except BadInput as error:
        assume("Milvus cannot" not in str(error))  # a pattern with an escape
        raise


@settings(max_examples=80)
@given(conditions, metadatas)
@example(Compares("a", "=", 0.1 + 0.2), {"a": 0.3})
@example(Compares("a", ">=", 2**53 + 1), {"a": 2**53})
@example(Compares("a", "<", "\U0001f600"), {"a": "￿"})
def test_a_filter_passes_what_the_reference_passes(index, condition, metadata):
    found, expected = count(index, condition, metadata)
    assert found == expected


@pytest.mark.parametrize("text", INJECTIONS)
def test_what_looks_like_the_servers_language_is_a_value(index, text):
    for condition in (Compares("a", "=", text), OneOf("a", (text, "x"))):
        assert count(index, condition, {"a": text}) == (1, 1)
        assert count(index, condition, {"a": "other"}) == (0, 0)
    both = AllOf((Compares("a", "!=", text), MatchesPattern("a", "o%")))
    assert count(index, both, {"a": "other"}) == (1, 1)


def test_a_pattern_that_milvus_does_not_read_everywhere_is_refused(milvus):
    with INDEXES["milvus"].index_class().create(milvus.location("patterns"), 2) as index:
        index.add(Records(["a"], np.eye(1, 2), None, [{"a": "50%"}]))
        with pytest.raises(BadInput, match="Milvus cannot match; other indexes can"):
            index.count(r"a like '50\%'")
