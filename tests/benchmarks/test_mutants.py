"""Slips leave alone what no test should hold in place, and are put into the text where they belong."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.mutants import __main__ as command
from benchmarks.mutants import native
from benchmarks.mutants.__main__ import AREAS, difference, draw, equivalents
from benchmarks.mutants.coverage_map import ROOT, SOURCE, Map, joined
from benchmarks.mutants.slips import is_another, mutants, of_folder, reach
from benchmarks.mutants.trial import breaks_collection, codes, functions_below, meaning, outcome_of

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
        ("x.transpose(1, 2)", "swapped arguments", set()),
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
    source = (SOURCE / "likewise/inference.py").read_bytes()
    made = list(mutants("text", "inference.py", source.decode()))
    assert len(made) > 30 and sum(is_another(mutant, source) for mutant in made) == len(made)
    assert not is_another(replace(made[0], new=made[0].old), source)


def test_tests_of_a_line_come_fastest_first_and_move_with_it():
    file = "likewise/inference.py"
    text = (SOURCE / file).read_text("utf-8")
    line = next(i for i, one in enumerate(text.splitlines(), 1) if "batches.append(order[start:stop])" in one)
    older = "\n".join(text.splitlines()[3:])  # when it was read, three lines were missing above
    known = Map(["slow", "fast", "other"], [2.0, 1.0, 0.1], {file: {str(line - 3): [0, 1], "1": [2]}}, {file: older})
    assert [known.tests[i] for i in known.of_lines(file, [line])] == ["fast", "slow"]
    new = Map(["slow", "new"], [3.0, 0.5], {file: {str(line): [1]}}, {file: text})
    both = joined(new, known)
    assert [both.tests[i] for i in both.of_lines(file, [line])] == ["new", "fast"]
    assert {both.tests[i] for i in both.of_file(file)} == {"new", "fast", "other"}


def test_a_line_that_runs_at_import_has_the_tests_of_what_it_has_an_effect_on():
    source = "LIMIT = 3\n\n\ndef f(n=2):\n    return n < LIMIT\n\n\nclass A:\n    x = 1\n\n"
    source += "    def g(self):\n        return 1\n"
    assert reach(source, 1) == {1, 5} and reach(source, 4) == {4, 5}
    assert reach(source, 9) == set(range(8, 13)) and reach(source, 12) == {11, 12}
    file = "likewise/inference.py"
    text = (SOURCE / file).read_text("utf-8")
    lines = text.splitlines()
    head = next(i for i, one in enumerate(lines, 1) if one.startswith("def plan_batches("))
    body = next(i for i, one in enumerate(lines, 1) if i > head and "batches.append(order[start:stop])" in one)
    tests = ["tests/test_inference.py::a", "tests/test_inference.py::b", "tests/cli/test_cli.py::c"]
    known = Map(tests, [1.0, 2.0, 3.0], {file: {str(body): [2]}}, {file: text})
    mutant = replace(next(m for m in mutants("text", file, text) if m.line > head), line=head, last=head)
    assert list(command.sets_of_tests(mutant, known, tests)) == [([tests[2]], 3.0), (tests[:2], 3.0)]
    new = "tests/test_inference.py::new"
    sets = [([tests[2]], 3.0), ([tests[0]], 1.0), ([new], command.UNKNOWN)]
    assert (
        list(command.sets_of_tests(mutant, known, [tests[0], tests[2], new, "tests/benchmarks/test_kills.py::new"]))
        == sets
    )


def test_every_slip_that_is_known_to_change_no_result_is_one_that_can_be_drawn():
    made = {}
    for one in equivalents():
        file = SOURCE / "likewise" / one["file"] if one["file"].endswith(".py") else ROOT / one["file"]
        if file not in made:
            drawable = of_folder("", file, SOURCE) if file.suffix == ".py" else native.slips(file)
            made[file] = {difference(m) for m in drawable}
        found = {(before, after) for before, after in made[file] if before == one["line"]}
        assert found, f"{one['file']} has no such line any more: {one['line']}"
        assert one.get("slip") is None or (one["line"], one["slip"]) in found, f"no such slip: {one['slip']}"
        assert one["why"]


def test_a_draw_is_that_of_its_seed_and_leaves_out_what_changes_no_result():
    first, again, other = (draw("search", 20, seed, []) for seed in (1, 1, 2))
    assert [m.name for m in first] == [m.name for m in again] != [m.name for m in other] and len(first) == 20
    before, after = difference(first[0])
    known = [{"file": first[0].file.removeprefix("likewise/"), "line": before, "slip": after, "why": "a test"}]
    assert first[0] not in draw("search", 20, 1, known)


def test_slips_are_drawn_of_every_file_of_the_package():
    drawn = {slip.file for area in AREAS if area != native.AREA for slip in command._slips_of(area)}
    every = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    assert drawn == {file for file, text in every.items() if any(mutants("area", file, text))}
    shares = command.shared_out(200, AREAS)
    assert sum(shares.values()) == 200 and max(shares.values()) - min(shares.values()) == 1


@pytest.mark.parametrize("is_made", [True, False])
def test_what_needs_other_packages_is_drawn_once_they_are_here_and_else_said(is_made, monkeypatch, tmp_path):
    monkeypatch.setattr(command, "INTEGRATION", Path(__file__) if is_made else tmp_path / "python")
    drawn = {slip.file for slip in command.drawable("search/backends")}
    assert any("/milvus" in file for file in drawn) == is_made and any("/faiss_index" in file for file in drawn)
    said = [*command.left_out(["search/backends", "text"])]
    why = "files of search/backends, because `make integration`"
    assert said == [] if is_made else len(said) == 1 and why in said[0]


def test_every_file_of_integration_tests_that_is_named_is_there():
    for place, tests in command.ELSEWHERE.items():
        assert (SOURCE / place).exists()
        assert all((SOURCE.parent / "tests/integration" / name).is_file() for name in tests)


COMPILED = """// a < b
#include "a + 1"
static_assert(1 < 2);
int f(int a, int b) {
    if (a < b && b != 10) g("c < d", 'x');
    a += b;  // 3
    return a + 0x10;
}
"""


def test_slips_in_cpp_leave_alone_comments_texts_and_what_is_known_when_it_is_compiled(tmp_path, monkeypatch):
    monkeypatch.setattr(native, "ROOT", tmp_path)
    (tmp_path / "a.cpp").write_text(COMPILED)
    made = [mutant.text(COMPILED.encode()).decode() for mutant in native.slips(tmp_path / "a.cpp")]
    changed = [{*text.splitlines()} - {*COMPILED.splitlines()} for text in made]
    assert {line.strip() for lines in changed for line in lines} == {
        "if (a <= b && b != 10) g(\"c < d\", 'x');",
        "if (a < b && b == 10) g(\"c < d\", 'x');",
        "if (a < b || b != 10) g(\"c < d\", 'x');",
        "if (a < b && b != 11) g(\"c < d\", 'x');",
        "if (a < b && b != 9) g(\"c < d\", 'x');",
        "if (a < b && b != 10) ;",
        "a -= b;  // 3",
        ";  // 3",
        "return a - 0x10;",
    }


def test_slips_in_cpp_go_on_until_so_many_compile_to_something_else(tmp_path):
    every, results = draw("search", 5, 0, []), command.Results(tmp_path / "results.jsonl")
    for mutant, outcome in zip(every, ["caught", "equal", "survived", "equal", "caught"], strict=True):
        results.add(mutant, outcome)
    again = command.Results(results.path)
    assert command.try_compiled(every, again, 2, tmp_path, float("inf")) == [every[0], every[2]]


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (0, "survived"),
        (1, "caught"),
        (2, "caught"),
        (3, "unclear"),
        (5, "unclear"),
        (-11, "caught"),
        (-24, "endless"),
        (-9, "unclear"),
    ],
)
def test_a_failed_test_and_a_crash_catch_a_slip_and_what_else_ends_a_process_is_unclear(code, outcome):
    assert outcome_of(code) == outcome


def test_tests_that_no_map_knows_of_count_if_their_file_imports_the_module():
    known = Map(["tests/test_inference.py::a"], [1.0], {}, {})
    collected = [
        f"{file}::b"
        for file in ("tests/cli/data/test_mine.py", "tests/test_inference.py", "tests/benchmarks/test_kills.py")
    ]
    assert known.unknown("likewise/inference.py", [*collected, *known.tests]) == collected[:2]


SLIPS = """def plain(x):
    return x + 1


def outer(x):
    def inner(y):
        return x * y
    return inner


LIMIT = [
    10,
]


class Thing:
    size = 3

    def method(self):
        return any(x < 2 for x in LIMIT)
"""


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("x + 1", "x - 1", {"plain"}),
        ("x * y", "x / y", {"outer", "outer.<locals>.inner"}),
        ("x < 2", "x < 3", {"Thing", "Thing.method", "Thing.method.<locals>.<genexpr>"}),
        ("[\n    10,\n]", "[11]", set()),
        ("size = 3", "size = 4", {"Thing"}),
    ],
)
def test_a_slip_changes_the_code_of_the_functions_around_it_and_of_no_others(old, new, names):
    before, after = (dict(codes(compile(text, "file", "exec"))) for text in (SLIPS, SLIPS.replace(old, new)))
    assert before.keys() == after.keys()
    assert {code.co_qualname for place, code in after.items() if meaning(code) != meaning(before[place])} == names


def test_functions_are_found_where_decorators_and_closures_hide_them(tmp_path):
    code = compile(
        "from functools import cache\n@cache\ndef f():\n    return lambda: 1", str(tmp_path / "a.py"), "exec"
    )
    names: dict[str, object] = {}
    exec(code, names)
    made = names["f"]()
    found = functions_below(str(tmp_path))
    assert found[str(tmp_path / "a.py"), "f.<locals>.<lambda>"] == [made]
    assert [one.__name__ for one in found[str(tmp_path / "a.py"), "f"]] == ["f"]


TESTS = """
import os
from likewise.inference import plan_batches
PARENT = os.getpid()

def test_batches():
    assert [list(rows) for rows in plan_batches([1, 1, 1], 2)] == [[0, 1], [2]]

def test_that_fails_in_every_fork():
    assert os.getpid() == PARENT
"""
TRIAL = """
import sys
from pathlib import Path
from benchmarks.mutants.slips import SOURCE, mutants
from benchmarks.mutants.trial import Copy, Suite

def work(suite):
    file = "likewise/inference.py"
    every = [*mutants("", file, (SOURCE / file).read_text("utf-8"))]
    for new in ("(totals[start] - budget)", "(budget <= 1)", "63", "start:stop + 1"):
        slip = next(m for m in every if m.new == new)
        assert suite.outcome(slip, [], 60, fresh=True) == "survived"
        print(*(suite.outcome(slip, list(suite.items), 60, fresh=fresh) for fresh in (False, True)), file=answers)

folder = Path(sys.argv[1])
with (folder / "answers").open("w") as answers:
    Suite(Copy(folder / "source"), work).run(str(folder / "test_it.py"), "--rootdir", str(folder))
"""


def test_a_trial_counts_only_tests_that_pass_in_a_fork_without_a_slip(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", TRIAL, str(tmp_path)], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "answers").read_text().split() == [
        *("caught", "caught"),
        *("survived", "survived"),
        *("survived", "survived"),
        *("caught", "caught"),
    ]


def test_a_slip_with_which_a_test_file_cannot_be_imported_is_known(tmp_path):
    for name, text in (("fine.py", "x = 1"), ("broken.py", "x = 1 // 0")):
        (tmp_path / name).write_text(text)
        (tmp_path / f"test_{name}").write_text(f"from {name[:-3]} import x\ndef test_it(): pass")
    tests = [[f"{tmp_path}/test_{name}.py::test_it"] for name in ("fine", "broken")]
    assert [breaks_collection(tmp_path, one, Path(sys.executable)) for one in tests] == [False, True]
