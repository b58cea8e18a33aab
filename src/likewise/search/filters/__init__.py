"""Filters over metadata: `year >= 2020 and lang = "en"`, read into a tree of conditions and never pasted into a query.

A condition compares a column with a value: `=  !=  <  <=  >  >=`, `in (…)`, `not in (…)`, `like "…"`, `not like "…"`
(`%` is any text, `_` any character, a backslash before either takes it literally), `is null`, `is not null`; they are
combined by `and`, `or`, `not` and parentheses; `and` binds closer than `or`. Values are strings in either quotes (a
quote inside is doubled), numbers, `true` and `false`. A column whose name is one of these words is written in
backticks.

What a condition says of a column that a record lacks, or whose value is null or of another kind (string, number,
boolean) than the condition's, is false, and so is its opposite, as in SQL: neither `lang = "en"` nor `lang != "en"`
nor `not lang = "en"` is true without a language. `is null` is true of a missing value and of null.
"""

from .conditions import Condition, matches, named_columns
from .filter_parser import parse_filter

__all__ = ["Condition", "matches", "named_columns", "parse_filter"]
