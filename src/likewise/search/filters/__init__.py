"""Filters over metadata: `year >= 2020 and lang = "en"`, parsed into a tree of conditions, never pasted into a query.

A condition compares a column with a value: `=  !=  <  <=  >  >=`, `in (…)`, `not in (…)`, `like "…"`, `not like "…"`
(`%` is any text, `_` any character, a backslash escapes either), `is null`, `is not null`; they are
combined by `and`, `or`, `not` and parentheses; `and` binds closer than `or`. Values are strings in either quotes (a
quote inside is doubled), numbers, `true` and `false`. A column named like one of these words is written in
backticks.

As in SQL, both a condition and its opposite are false if the record lacks the column, or its value is null or of
another kind (string, number, boolean) than the condition's: without a language, none of `lang = "en"`, `lang != "en"`
and `not lang = "en"` is true. `is null` is true of missing values and of null.
"""

from .conditions import Condition, matches, named_columns
from .filter_parser import parse_filter

__all__ = ["Condition", "matches", "named_columns", "parse_filter"]
