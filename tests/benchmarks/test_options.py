"""Command lines of benchmarks: what the defaults of options accept, and what they refuse."""

import pytest

from benchmarks.options import options

GIVEN, FLAGS = {"models": [str]}, {"data": {"a": 1, "b": 2}, "only": (None, "x"), "label": str, "sizes": [3]}


def parsed(*words):
    return vars(options("What it does.", words, GIVEN, **FLAGS))


def test_defaults_determine_the_values():
    defaults = {"data": ["a", "b"], "only": None, "label": None, "sizes": [3]}
    assert parsed("m") == {"models": ["m"], **defaults}
    some = ["m", "n", "--data", "b", "--only", "x", "--label", "l", "--sizes", "1", "2"]
    assert parsed(*some) == {"models": ["m", "n"], "data": ["b"], "only": "x", "label": "l", "sizes": [1, 2]}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "the following arguments are required: models"),
        ("m --data c", "invalid choice: 'c' (choose from 'a', 'b')"),
        ("m --only None", "invalid choice: 'None' (choose from 'x')"),
    ],
)
def test_other_values_are_refused(words, message, capsys):
    with pytest.raises(SystemExit):
        parsed(*words.split())
    assert message in capsys.readouterr().err
