"""A filter that nothing can pass is explained: values of another kind, and relative paths."""

import os

import numpy as np
import pytest

from likewise.cli.index.filter_hints import filter_hints
from likewise.search.indexes import create_index
from likewise.search.records import Records

ROWS = [
    {"file": os.path.abspath("notes/cats.md"), "label": 3, "code": "7", "draft": True, "mixed": 1},  # noqa: PTH100
    {"file": os.path.abspath("notes/dogs.md"), "label": 4.5, "code": "x", "mixed": "a", "none": None},  # noqa: PTH100
]


@pytest.fixture(params=["memory:", ""])
def index(request, tmp_path):
    with create_index(f"{request.param}{tmp_path / 'hints'}", 2) as index:
        index.add(Records(["a", "b"], np.eye(2), ["a", "b"], ROWS))
        yield index


@pytest.mark.parametrize(
    ("condition", "hints"),
    [
        ("label = '3'", ["label contains numbers, not texts: write label = 3"]),
        ("label >= '4.5' and code = 7", [
            "label contains numbers, not texts: write label >= 4.5",
            'code contains texts, not numbers: write code = "7"',
        ]),
        ("label = 'three'", ["label contains numbers, not texts"]),
        ("label in ('3', '4')", ["label contains numbers, not texts"]),
        ("not label like '3%'", ["label contains numbers, not texts"]),
        ("draft = 'true'", ["draft contains true or false, not texts"]),
        ("code = true", ["code contains texts, not true or false"]),
        ("mixed = true", ["mixed contains texts and numbers, not true or false"]),
        ("mixed = 'b' or label = 9 or none = 1 or label is null", []),
        (f"file = '{ROWS[0]['file']}x' or file like '%/x.md'", []),
        ("file = 'notes/cats.md'", [f'file contains absolute paths: write "{ROWS[0]["file"]}"']),
        ("file in ('notes/cats.md', 'x')", [f'file contains absolute paths: write "{ROWS[0]["file"]}"']),
    ],
)  # fmt: skip
def test_what_no_record_can_pass_is_said_with_what_to_write(index, condition, hints):
    assert [*filter_hints(index, condition)] == hints


def test_a_relative_path_is_no_mistake_where_no_file_has_an_absolute_one(tmp_path):
    with create_index(str(tmp_path / "hints"), 2) as index:
        index.add(Records(["a"], np.eye(1, 2), ["a"], [{"file": "notes/cats.md"}]))
        assert [*filter_hints(index, "file = 'notes/dogs.md'")] == []


def test_what_a_hint_says_to_write_finds_something(index):
    for condition in ("label = '3'", "code = 7", "file = 'notes/dogs.md'"):
        [hint] = filter_hints(index, condition)
        written = hint.rpartition("write ")[2]
        assert index.count(condition) == 0
        assert index.count(written if " = " in written else f"file = {written}") == 1
