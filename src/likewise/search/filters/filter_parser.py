"""Parse a filter: a tokenizer, then a parser with one method per grammar rule."""

import math
import re
from typing import NamedTuple, NoReturn

from ...errors import BadInput
from ..records import check_storable
from .conditions import (
    AllOf,
    AnyOf,
    Compares,
    Condition,
    FilterValue,
    IsMissing,
    MatchesPattern,
    OneOf,
    Operator,
    opposite,
    pattern_parts,
    value_kind,
)

KEYWORDS = frozenset({"and", "or", "not", "in", "like", "is", "null", "true", "false"})
OPERATORS: dict[str, Operator] = {
    "=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
}  # fmt: skip
MAX_DEPTH = 50  # depth of nested parentheses and `not`
MAX_CONDITIONS = 500  # SQLite nests at most 1,000 expressions
MAX_VALUES = 10_000  # values in one `in (…)`
MAX_PATTERN = 1000  # characters in a `like` pattern

TOKEN = re.compile(
    r"""(?xs) \s* (?:
    (?P<number> [+-]? (?: [0-9]+ (?: \.[0-9]* )? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? (?!\w) )
    | (?P<string> "(?:[^"]|"")*" | '(?:[^']|'')*' )
    | (?P<name> [^\W\d]\w* | `[^`]*` )
    | (?P<mark> <= | >= | != | <> | == | [=<>(),] )
    | (?P<end> \Z ) )"""
)


class FilterToken(NamedTuple):
    """A word, number, string or symbol of a filter, and where it starts."""

    kind: str
    text: str
    start: int

    @property
    def keyword(self) -> str | None:
        """The keyword in lower case; None if the token is not a keyword."""
        return self.text.lower() if self.kind == "name" and self.text.lower() in KEYWORDS else None


def parse_filter(text: str) -> Condition:
    """Parse a filter into conditions (the grammar is in `likewise.search.filters`)."""
    if not isinstance(text, str):
        raise BadInput(f"the filter is a {type(text).__name__}; expected a string such as 'year >= 2020'")
    check_storable(text, "the filter")
    return FilterParser(text).parse()


class FilterParser:
    """Recursive descent: `parse` → `_either` → `_both` → `_negation` → `_condition`.

    The parser reads one token ahead, so input that exceeds a limit is rejected at that point, however much follows.
    """

    def __init__(self, text: str) -> None:
        self.text, self.depth, self.conditions = text, 0, 0
        self._last = self._next = self._token(0)

    def parse(self) -> Condition:
        condition = self._either()
        if self._next.kind != "end":
            self._fail("expected 'and', 'or' or the end of the filter")
        return condition

    def _either(self) -> Condition:
        parts = [self._both()]
        while self._accept("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _both(self) -> Condition:
        parts = [self._negation()]
        while self._accept("and"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _negation(self) -> Condition:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self._fail(f"expected at most {MAX_DEPTH} levels of nested parentheses and 'not'")
        condition = opposite(self._negation()) if self._accept("not") else self._operand()
        self.depth -= 1
        return condition

    def _operand(self) -> Condition:
        if not self._accept("("):
            return self._condition()
        condition = self._either()
        self._expect(")")
        return condition

    def _condition(self) -> Condition:
        self.conditions += 1
        if self.conditions > MAX_CONDITIONS:
            self._fail(f"expected at most {MAX_CONDITIONS} conditions")
        column = self._column()
        if self._accept("is"):
            negated = self._accept("not")
            self._expect("null")
            return IsMissing(column, negated)
        negated = self._accept("not")
        if self._accept("in"):
            return OneOf(column, self._list(), negated)
        if self._accept("like"):
            return MatchesPattern(column, self._pattern(), negated)
        if negated or self._next.text not in OPERATORS:
            self._fail("expected 'in' or 'like'" if negated else "expected =, !=, <, <=, >, >=, in, like, is or not")
        operator = OPERATORS[self._advance().text]
        if self._next.keyword in ("true", "false") and operator not in ("=", "!="):
            self._fail("expected a number or a string, since booleans have no order")
        return Compares(column, operator, self._value())

    def _list(self) -> tuple[FilterValue, ...]:
        self._expect("(")
        values = [self._value()]
        while self._accept(","):
            if value_kind(values[0]) != value_kind(value := self._value()):
                self._fail(f"expected a {value_kind(values[0])}, because the first value is one", self._last)
            if len(values) == MAX_VALUES:
                self._fail(f"expected at most {MAX_VALUES:,} values", self._last)
            values.append(value)
        self._expect(")")
        return tuple(values)

    def _pattern(self) -> str:
        if self._next.kind != "string":
            self._fail('expected a pattern in quotes, such as "docs/%"')
        pattern = str(self._value())
        if len(pattern) > MAX_PATTERN:
            self._fail(f"expected at most {MAX_PATTERN:,} characters in a pattern", self._last)
        try:
            pattern_parts(pattern)
        except ValueError as error:
            self._fail(str(error), self._last)
        return pattern

    def _column(self) -> str:
        token = self._next
        if token.kind != "name" or token.keyword:
            hint = " (put a column of that name in backticks)" if token.keyword else ""
            self._fail(f"expected a column name{hint}")
        name = token.text.strip("`")
        if not name.isidentifier():
            self._fail("expected a column name of letters, digits and underscores")
        self._advance()
        return name

    def _value(self) -> FilterValue:
        token = self._next
        if token.kind not in ("string", "number") and token.keyword not in ("true", "false"):
            hint = "; to test for null, use 'is null' or 'is not null'" if token.keyword == "null" else ""
            hint = "; put strings in quotes" if token.kind == "name" and not token.keyword else hint
            self._fail(f"expected a value{hint}")
        value = self._number(token.text) if token.kind == "number" else None
        self._advance()
        if token.kind == "string":
            return token.text[1:-1].replace(2 * token.text[0], token.text[0])
        return token.keyword == "true" if value is None else value

    def _number(self, text: str) -> int | float:
        value = float(text) if re.search("[.eE]", text) else int(text) if len(text) < 25 else math.inf
        if not math.isfinite(value) or (isinstance(value, int) and not -(1 << 63) <= value < 1 << 63):
            self._fail("expected a finite number (integers have at most 64 bits)")
        return value

    def _advance(self) -> FilterToken:
        self._last = self._next
        self._next = self._token(self._last.start + len(self._last.text))
        return self._last

    def _accept(self, word: str) -> bool:
        found = (self._next.keyword or (self._next.text if self._next.kind == "mark" else None)) == word
        if found:
            self._advance()
        return found

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            self._fail(f"expected {word}")

    def _token(self, start: int) -> FilterToken:
        found = TOKEN.match(self.text, start)
        if found is None or found.lastgroup is None:
            start += len(self.text[start:]) - len(self.text[start:].lstrip())
            self._refuse(start, "a quote is not closed" if self.text[start] in "\"'`" else "unknown symbol or number")
        return FilterToken(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup))

    def _fail(self, expected: str, token: FilterToken | None = None) -> NoReturn:
        token = token or self._next
        found = "the filter ends" if token.kind == "end" else f"found {token.text:.40}"
        self._refuse(token.start, f"{expected}; {found}")

    def _refuse(self, start: int, why: str) -> NoReturn:
        place = f"{self.text[max(0, start - 40) : start]}▸{self.text[start : start + 40]}"
        raise BadInput(f"the filter cannot be parsed at ▸ (character {start + 1}) in {place}: {why}")
