"""Filters in the languages of servers: no name or value leaves the quotes or parameters that it stands in."""

import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from likewise.errors import BadInput
from likewise.search.filters import languages as milvus_filters
from likewise.search.filters import parse_filter
from likewise.search.filters.conditions import Compares, MatchesPattern, OneOf
from likewise.search.filters.languages import milvus_expression, postgres_where
from tests.search.filters.test_filters import conditions, metadatas

pytestmark = pytest.mark.usefixtures("unchecked")

JSON_STRING = r'"(?:[^"\\]|\\.)*"'
MILVUS_WORDS = r"(?:kinds|exists|and|or|not|like|true|false|\d+(?:\.\d+)?|[-\[\]() =!<>])*"
POSTGRES_WORDS = (
    r"(?:jsonb_typeof|jsonb?|text|metadata|COLLATE \"C\"|AND|OR|NOT|IS|NULL|LIKE|ANY|ALL|->>?|%s|::|\[\]|"
    r"'(?:string|number|boolean)'|[() =!<>])*"
)


@given(conditions)
def test_outside_its_strings_an_expression_of_milvus_has_fixed_words_and_numbers(condition):
    try:
        text = milvus_expression(condition)
    except BadInput:
        assume(False)
    assert re.fullmatch(MILVUS_WORDS, re.sub(JSON_STRING, "", text, flags=re.DOTALL))


@given(conditions)
def test_an_expression_of_postgresql_has_fixed_words_and_a_parameter_for_each_mark(condition):
    text, values = postgres_where(condition)
    assert re.fullmatch(POSTGRES_WORDS, text) and text.count("%s") == len(values)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_string_is_one_literal_that_is_read_as_that_string(value):
    assert json.loads(milvus_filters.milvus_literal(value), strict=False) == value


@pytest.mark.parametrize("pattern", [r"50\%", r"a\_b", r"\\"])
def test_milvus_is_given_no_pattern_with_an_escape(pattern):
    with pytest.raises(BadInput, match="has a literal %, _ or backslash, which Milvus cannot match"):
        milvus_expression(MatchesPattern("a", pattern))


def test_what_is_written_can_be_read():
    condition = parse_filter('year >= 2020 and lang in ("en", "it\'s")')
    assert postgres_where(condition) == (
        "((jsonb_typeof(metadata -> %s) = 'number' AND (metadata -> %s) >= %s::jsonb) AND "
        "(jsonb_typeof(metadata -> %s) = 'string' AND (metadata ->> %s) COLLATE \"C\" = ANY(%s::text[])))",
        ["year", "year", "2020", "lang", "lang", ["en", "it's"]],
    )
    assert milvus_expression(condition) == (
        '((exists kinds["number"]["year"] and kinds["number"]["year"] >= 2020) and '
        '(exists kinds["string"]["lang"] and (kinds["string"]["lang"] == "en" or kinds["string"]["lang"] == "it\'s")))'
    )


@given(metadatas)
def test_every_value_is_stored_under_its_kind_once(metadata):
    nested = milvus_filters.values_by_kind(metadata)
    assert sorted(name for values in nested.values() for name in values) == sorted(metadata)
    assert {name for name, value in metadata.items() if value is None} == set(nested.get("null", {}))


def test_a_brace_in_a_value_is_only_a_brace():
    for value in ("{}", "{0}", "}{", "{column}"):
        assert value in milvus_expression(Compares("a", "=", value))
        assert value in milvus_expression(OneOf("a", (value,)))
        assert value in milvus_expression(MatchesPattern("a", value))
