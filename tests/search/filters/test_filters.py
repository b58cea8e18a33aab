"""Filters: what is read, what passes, and that SQLite passes the same records as the reference."""

import json
import sqlite3

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from likewise.errors import BadInput
from likewise.search.filters import matches, named_columns, parse_filter
from likewise.search.filters.conditions import (
    COMPARE,
    AllOf,
    AnyOf,
    Compares,
    IsMissing,
    MatchesPattern,
    OneOf,
    opposite,
    pattern_parts,
)
from likewise.search.filters.languages import sqlite_where

pytestmark = pytest.mark.usefixtures("unchecked")  # beartype draws at random, which hypothesis refuses

YEAR, LANG = Compares("year", ">=", 2020), Compares("lang", "=", "en")

READ = {
    'year >= 2020 and lang = "en"': AllOf((YEAR, LANG)),
    "YEAR >= 2020": Compares("YEAR", ">=", 2020),
    "year>=2020 AND lang=='en'": AllOf((YEAR, LANG)),
    'year >= 2020 or lang = "en" and x is null': AnyOf((YEAR, AllOf((LANG, IsMissing("x"))))),
    '(year >= 2020 or lang = "en") and x is not null': AllOf((AnyOf((YEAR, LANG)), IsMissing("x", True))),
    'not (year < 2020 or not lang = "en")': AllOf((YEAR, LANG)),
    "not year >= 2020": Compares("year", "<", 2020),
    "x <> -1.5e3": Compares("x", "!=", -1500.0),
    "x = .5": Compares("x", "=", 0.5),
    "x in (1, 2.5, -3)": OneOf("x", (1, 2.5, -3)),
    "x not in ('a')": OneOf("x", ("a",), True),
    "not x not in ('a')": OneOf("x", ("a",)),
    "path like 'docs/%'": MatchesPattern("path", "docs/%"),
    "path not like 'docs/%'": MatchesPattern("path", "docs/%", True),
    "x = 'it''s \"so\"'": Compares("x", "=", 'it\'s "so"'),
    'x = "it\'s ""so"""': Compares("x", "=", 'it\'s "so"'),
    "x = ''": Compares("x", "=", ""),
    "draft = true and not final = FALSE": AllOf((Compares("draft", "=", True), Compares("final", "!=", False))),
    "`in` = 1": Compares("in", "=", 1),
    "größe > 1": Compares("größe", ">", 1),
    "x = 9223372036854775807": Compares("x", "=", 2**63 - 1),
    "x = -9223372036854775808": Compares("x", "=", -(2**63)),
}


@pytest.mark.parametrize("text", READ)
def test_a_filter_is_read_into_its_conditions(text):
    assert parse_filter(text) == READ[text]


UNREADABLE = {
    "": "▸ (character 1) in ▸: expected a column name; the filter ends",
    "   ": "the filter ends",
    "year": "expected =, !=, <, <=, >, >=, in, like, is or not; the filter ends",
    "year >= ": "expected a value; the filter ends",
    "year >= 2020 lang": "in year >= 2020 ▸lang: expected 'and', 'or' or the end of the filter; found lang",
    "year >= 2020 and": "expected a column name; the filter ends",
    "(year >= 2020": "expected ); the filter ends",
    "year >= 2020)": "found )",
    "lang = en": "expected a value; put strings in quotes; found en",
    "lang = null": "use 'is null' or 'is not null'",
    "lang = 'en": "a quote is not closed",
    "x = 1 ; drop table records": "▸ (character 7) in x = 1 ▸; drop table records: unknown symbol or number",
    "x = 1 -- and so on": "▸ (character 7)",
    "a = 1 and " * 9 + "? " + "b" * 50: f"(character 91) in {'a = 1 and ' * 4}▸? {'b' * 38}: unknown symbol",
    "2020 <= year": "expected a column name; found 2020",
    "'lang' = 'en'": "expected a column name",
    "and = 1": "in backticks",
    "`a b` = 1": "letters, digits and underscores",
    "x < true": "booleans have no order",
    "x in ()": "expected a value; found )",
    "x in (1, 'a')": "expected a number, because the first value is one; found 'a'",
    "x in (1, true)": "expected a number, because",
    "x in 1": "expected (",
    "x not = 1": "expected 'in' or 'like'",
    "x is 1": "expected null",
    "x like 1": "expected a pattern in quotes",
    r"x like 'a\b'": r"expected \%, \_ or \\ in a pattern",
    "x like '" + "a" * 1001 + "'": "at most 1,000 characters",
    "x = 9223372036854775808": "at most 64 bits",
    "x = -9223372036854775809": "at most 64 bits",
    "x = 1e999": "expected a finite number",
    "x = " + "9" * 10_000: "at most 64 bits",
    "x = 12abc": "unknown symbol or number",
    "x = '\0'": "null character",
    "x = '\ud800'": "surrogate",
    "(" * 60 + "x = 1" + ")" * 60: "at most 50 levels of nested parentheses and 'not'",
    "not " * 60 + "x = 1": "at most 50 levels of nested parentheses and 'not'",
    " and ".join(["x = 1"] * 501): "at most 500 conditions",
    "x in (" + ", ".join("1" * 10_001) + ") ;": "at most 10,000 values",  # what follows is not read
}


@pytest.mark.parametrize("text", UNREADABLE, ids=lambda text: text[:30].encode("ascii", "replace").decode())
def test_what_cannot_be_read_is_refused_with_the_place_and_what_was_expected(text):
    with pytest.raises(BadInput) as refused:
        parse_filter(text)
    assert UNREADABLE[text] in str(refused.value) and len(str(refused.value)) < 400


@pytest.mark.parametrize(
    "text",
    [
        "(" * 49 + "x = 1" + ")" * 49,
        "not " * 49 + "x = 1",
        " and ".join(["x = 1"] * 500),
        "x in (" + ", ".join("1" * 10_000) + ")",
        "x like '" + "a" * 1000 + "'",
    ],
    ids=lambda text: text[:20],
)
def test_what_just_keeps_to_the_limits_is_read(text):
    assert named_columns(parse_filter(text)) == ["x"]
    with pytest.raises(BadInput, match="at most"):
        more = {"(": f"({text})", "n": f"not {text}", "x = 1": f"{text} or x = 1", "x in ": text[:-1] + ", 1)"}
        parse_filter(next((longer for begins, longer in more.items() if text.startswith(begins)), text[:-1] + "a'"))


def test_a_filter_that_is_no_string_is_refused():
    with pytest.raises(BadInput, match="the filter is a dict; expected a string such as"):
        parse_filter({"year": 2020})


@given(st.text() | st.text("x12'\"`()=<> andortlik,"))
def test_any_text_is_read_or_refused(text):
    try:
        condition = parse_filter(text)
    except BadInput:
        return
    assert matches(condition, {}) in (True, False) and named_columns(condition)


PASSES = [
    ("year = 2020", {"year": 2020}, True),
    ("year = 2020", {"year": 2020.0}, True),
    ("year = 2020", {"year": "2020"}, False),
    ("year != 2020", {"year": "2020"}, False),
    ("flag = 1", {"flag": True}, False),
    ("flag = true", {"flag": True}, True),
    ("flag != true", {"flag": False}, True),
    ("flag != true", {"flag": 0}, False),
    ("year != 2020", {}, False),
    ("not year = 2020", {"year": None}, False),
    ("year != 2020 or year is null", {}, True),
    ("year is not null", {"year": None}, False),
    ("year is not null", {"year": 0}, True),
    ("x not in (1, 2)", {}, False),
    ("x not in (1, 2)", {"x": 3}, True),
    ("x not in (1, 2)", {"x": True}, False),
    ("x in (1, 2)", {"x": 2.0}, True),
    ("x < 'b'", {"x": "a"}, True),
    ("x < 'é'", {"x": "z"}, True),
    ("x like 'a%'", {"x": "Abc"}, False),
    ("x like 'a%'", {"x": "a\nbc"}, True),
    ("x like 'a_c'", {"x": "abc"}, True),
    ("x like 'a_c'", {"x": "ac"}, False),
    (r"x like '50\%'", {"x": "50%"}, True),
    (r"x like '50\%'", {"x": "50x"}, False),
    ("x like '%b%b'", {"x": "abb"}, True),
    ("x like '%b%b'", {"x": "ab"}, False),
    ("x like '%'", {"x": ""}, True),
    ("x like ''", {"x": ""}, True),
    ("x not like 'a%'", {"x": "b"}, True),
    ("x not like 'a%'", {"x": 1}, False),
]


@pytest.mark.parametrize(("text", "metadata", "expected"), PASSES, ids=str)
def test_a_record_passes_or_not(text, metadata, expected):
    assert matches(parse_filter(text), metadata) is expected
    assert in_sqlite(parse_filter(text), metadata) is expected


def in_sqlite(condition, metadata) -> bool:
    expression, values = sqlite_where(condition)
    statement = f"SELECT count(*) FROM (SELECT ? AS metadata) WHERE {expression}"
    text = json.dumps(metadata, ensure_ascii=False) if metadata else None
    return bool(DATABASE.execute(statement, [text, *values]).fetchone()[0])


def some(part):
    return st.lists(part, min_size=2, max_size=3).map(tuple)


DATABASE = sqlite3.connect(":memory:")

numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-2, 2)
strings = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6) | st.text("ab%_\\*[")
values = numbers | strings | st.booleans()
columns = st.sampled_from(["a", "b", "größe", "in"])
patterns = st.lists(st.sampled_from(["%", "_", r"\%", r"\_", r"\\", "a", "b", "[", "]", "*", "?", "é"])).map("".join)
leaf = st.one_of(
    st.builds(Compares, columns, st.sampled_from(["=", "!="]), values),
    st.builds(Compares, columns, st.sampled_from([*COMPARE]), numbers | strings),
    *(
        st.builds(OneOf, columns, st.lists(kind, min_size=1, max_size=4).map(tuple), st.booleans())
        for kind in (numbers, strings, st.booleans())
    ),
    st.builds(MatchesPattern, columns, patterns, st.booleans()),
    st.builds(IsMissing, columns, st.booleans()),
)
conditions = st.recursive(leaf, lambda part: st.builds(AllOf, some(part)) | st.builds(AnyOf, some(part)), max_leaves=6)
metadatas = st.dictionaries(columns, values | st.none())


@given(conditions, metadatas)
@example(Compares("a", "=", 0.1 + 0.2), {"a": 0.3})
@example(Compares("a", "<", 2.0**53), {"a": 2**53 + 1})
@example(Compares("a", "=", -(2**63)), {"a": -(2**63)})
def test_sqlite_passes_what_the_reference_passes(condition, metadata):
    assert in_sqlite(condition, metadata) is matches(condition, metadata)


@example(MatchesPattern("a", "x%", False), {"a": "xy"})
@example(OneOf("a", (1,), False), {"a": 1})
@example(IsMissing("a", False), {})
@given(conditions, metadatas)
def test_the_opposite_never_passes_with_it_and_always_one_does_where_every_column_has_a_value_of_the_kind(
    condition, metadata
):
    both = matches(condition, metadata), matches(opposite(condition), metadata)
    assert both != (True, True) and opposite(opposite(condition)) == condition


@given(st.sampled_from([*COMPARE]), numbers, numbers)
def test_of_numbers_a_comparison_or_its_opposite_is_true(operator, wanted, value):
    condition = Compares("a", operator, wanted)
    assert matches(condition, {"a": value}) is not matches(opposite(condition), {"a": value})


@given(conditions, metadatas)
def test_a_tree_that_is_written_out_is_read_back(condition, metadata):
    assert matches(parse_filter(written(condition)), metadata) is matches(condition, metadata)


def written(condition) -> str:
    """The filter as a person would write it."""
    match condition:
        case AllOf(parts) | AnyOf(parts):
            joint = " and " if isinstance(condition, AllOf) else " or "
            return "(" + joint.join(map(written, parts)) + ")"
        case Compares(column, operator, value):
            return f"`{column}` {operator} {literal(value)}"
        case OneOf(column, choices, negated):
            return f"`{column}` {'not ' * negated}in ({', '.join(map(literal, choices))})"
        case MatchesPattern(column, pattern, negated):
            return f"`{column}` {'not ' * negated}like {literal(pattern)}"
        case IsMissing(column, negated):
            return f"`{column}` is {'not ' * negated}null"


def literal(value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


@given(patterns, strings)
def test_the_parts_of_a_pattern_are_what_a_simple_matcher_needs(pattern, text):
    assert matches(MatchesPattern("a", pattern), {"a": text}) is simple_match(pattern_parts(pattern), text)


def simple_match(parts, text) -> bool:
    """Slow and obvious: every way to spend the text."""
    if not parts:
        return not text
    (wild, piece), rest = parts[0], parts[1:]
    if not wild:
        return text.startswith(piece) and simple_match(rest, text[len(piece) :])
    if piece == "_":
        return bool(text) and simple_match(rest, text[1:])
    return any(simple_match(rest, text[i:]) for i in range(len(text) + 1))


def test_no_pattern_takes_long():
    assert not matches(parse_filter("x like '" + "%a" * 400 + "b'"), {"x": "a" * 5000})


def test_columns_are_named_once_each():
    assert named_columns(parse_filter("b = 1 and (a = 2 or not b is null)")) == ["a", "b"]


def test_sql_in_a_value_or_a_name_stays_a_value():
    expression, parameters = sqlite_where(parse_filter('x = "\'; drop table records; --"'))
    assert "drop" not in expression and "'; drop table records; --" in parameters
    assert not {*'";'} & {*expression}
