"""Slips leave alone what no test should hold in place, and are put into the text where they belong."""

from dataclasses import replace

import pytest
from benchmarks.mutants.coverage_map import SOURCE, Map, joined
from benchmarks.mutants.slips import is_another, mutants

QUIET = '''"""A docstring with 1 < 2."""
Alias = dict[str, int] | None


def told(x: "tuple[int, 3]", n: int = 2) -> "float | None":
    """Another, 1 + 1."""
    raise ValueError(f"wanted {n + 1} and not {x}")


class Thing:
    def __repr__(self):
        return "a" * 3
'''


def changed(source, kind=None):
    made = [m for m in mutants("area", "file.py", source) if kind in (None, m.kind)]
    return [m.text(source.encode()).decode() for m in made]


def test_texts_types_and_messages_are_left_alone():
    found = {(m.kind, m.old, m.new) for m in mutants("area", "file.py", QUIET)}
    assert {(kind, new) for kind, _, new in found} == {("constant", "3"), ("constant", "1"), ("dropped", "pass")}
    assert {old for kind, old, _ in found if kind == "constant"} == {"2"}


@pytest.mark.parametrize(
    ("source", "kind", "wanted"),
    [
        ("a < b", "comparison", {"(a <= b)", "(a > b)"}),
        ("a is not b", "comparison", {"(a is b)"}),
        ("c - a * b", "arithmetic", {"c - (a / b)", "(c + a * b)"}),
        ("x -= 1", "arithmetic", {"x += 1"}),
        ("f(0.5, True)", "constant", {"f(1.0, True)", "f(0.5, False)"}),
        ("x[a:b]", "off by one", {"x[a + 1:b]", "x[a:b + 1]"}),
        ("range(n)", "off by one", {"range(n - 1)"}),
        ("f(a, b)", "swapped arguments", {"f(b, a)"}),
        ("max(a, b)", "swapped arguments", set()),
        ("not a", "condition", {"(a)"}),
        ("a and b", "condition", {"(a or b)"}),
        ("[x for x in y if x]", "condition", {"[x for x in y if (not (x))]"}),
        ("f(x)", "dropped", {"pass"}),
        ("f(x, k=1).g", "dropped", {"f(x).g"}),
        ("ä = 'ö'; é = a < b", "comparison", {"ä = 'ö'; é = (a <= b)", "ä = 'ö'; é = (a > b)"}),
    ],
)
def test_a_slip_is_what_one_might_have_typed(source, kind, wanted):
    assert set(changed(source, kind)) == wanted


def test_nearly_every_mutant_of_a_file_parses_and_is_another_program():
    source = (SOURCE / "likewise/text/packing.py").read_bytes()
    made = list(mutants("text", "packing.py", source.decode()))
    assert len(made) > 30 and sum(is_another(mutant, source) for mutant in made) == len(made)
    assert not is_another(replace(made[0], new=made[0].old), source)


def test_tests_of_a_line_come_fastest_first_and_move_with_it():
    file = "likewise/text/packing.py"
    text = (SOURCE / file).read_text("utf-8")
    line = next(i for i, one in enumerate(text.splitlines(), 1) if "batches.append([])" in one)
    older = "\n".join(text.splitlines()[3:])  # when it was read, three lines were missing above
    known = Map(["slow", "fast", "other"], [2.0, 1.0, 0.1], {file: {str(line - 3): [0, 1], "1": [2]}}, {file: older})
    assert [known.tests[i] for i in known.of_lines(file, [line])] == ["fast", "slow"]
    new = Map(["slow", "new"], [3.0, 0.5], {file: {str(line): [1]}}, {file: text})
    both = joined(new, known)
    assert [both.tests[i] for i in both.of_lines(file, [line])] == ["new", "fast"]
    assert {both.tests[i] for i in both.of_file(file)} == {"new", "fast", "other"}
