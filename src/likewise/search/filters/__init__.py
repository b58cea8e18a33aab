"""Filters over metadata: `year >= 2020 and lang = "en"`, parsed into a tree of conditions, never pasted into a query.

A condition compares a column with a value: `=  !=  <  <=  >  >=`, `in (…)`, `not in (…)`, `like "…"`, `not like "…"`
(`%` stands for any text and `_` for any character; a backslash escapes either), `is null`, `is not null`. Conditions
are combined with `and`, `or`, `not` and parentheses; `and` binds more tightly than `or`. Values are strings in single
or double quotes (a quote inside is doubled), numbers, `true` and `false`. A column whose name is one of these words
is written in backticks.

As in SQL, both a condition and its opposite are false if the record lacks the column, or if its value is null or of a
different kind (string, number, boolean) from the value in the condition: for a record without `lang`, none of `lang =
"en"`, `lang != "en"` and `not lang = "en"` is true. `is null` is true for missing values and for null.
"""

from .conditions import Condition, matches, named_columns
from .filter_parser import parse_filter

__all__ = ["Condition", "matches", "named_columns", "parse_filter"]
