"""The attack notices what it is there to notice: each kind of failure, planted, is found and ends it with 1."""

import json
import os
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from benchmarks.attack import commands, kills
from benchmarks.attack.attempt import FAILURES, GOOD, Attempt, Failed, Result, Setup, changed, leftovers
from benchmarks.attack.command import CommandOutput, outcome_of
from benchmarks.attack.report import show, table
from benchmarks.attack.sandbox import GIB, Limits, distinct, run
from likewise.errors import BadInput

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),  # of threads, which the parent may have
]
LIMITS = Limits(seconds=20.0, memory=GIB, slack=GIB // 4)
SHORT = Limits(seconds=0.3)


def tried(work, outputs=(), limits=LIMITS):
    """How one attempt ends."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run([Attempt("planted/one", work, outputs)], limits)[0]


def _raise(error):
    raise error


def _hog():
    return str(len(np.empty(1 << 30)))  # 8 GiB


def _fill():
    held = np.ones(12 << 20)  # 96 MiB, which the address space may hold
    return "answered" if held[0] else None


def _prints_a_traceback():
    print("Traceback (most recent call last):\n  …", file=sys.stderr)


def _leaves(name):
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("x")


PLANTED = {
    "an answer": (lambda: None, "answered"),
    "an error of ours": (lambda: _raise(BadInput("no")), "refused"),
    "a raw exception": (lambda: _raise(KeyError("x")), "traceback"),
    "an exception that ends programs": (lambda: _raise(SystemExit(3)), "traceback"),
    "a traceback on standard error": (_prints_a_traceback, "traceback"),
    "a hang": (lambda: time.sleep(30), "hang"),
    "a hang that ignores signals": (lambda: [signal.signal(signal.SIGTERM, signal.SIG_IGN), time.sleep(30)], "hang"),
    "too much memory at once": (_hog, "memory"),
    "a crash": (lambda: os.kill(os.getpid(), signal.SIGKILL), "crash"),
    "a silent end": (lambda: os._exit(0), "crash"),
    "a temporary file": (lambda: _leaves(".v.npy.x1"), "leftover"),
    "a file in the folder of temporary files": (lambda: _leaves("tmp/x"), "leftover"),
    "a file nobody asked for": (lambda: _leaves("w.npy"), "leftover"),
    "a failure by name": (lambda: _raise(Failed("lost rows", "3 of 4")), "lost rows"),
}


@pytest.mark.parametrize("what", PLANTED)
def test_what_is_planted_is_found(what):
    work, outcome = PLANTED[what]
    result = tried(work, ("v.npy",), SHORT if outcome == "hang" else LIMITS)
    assert result.outcome == outcome, result
    assert result.failed == (outcome not in GOOD)


def test_an_output_that_was_asked_for_is_no_leftover_and_a_hidden_one_is():
    assert tried(lambda: _leaves("v.npy"), ("v.npy",)).outcome == "answered"
    assert leftovers({}, {"out": "", "out/a.json": "", "out/.a.x": ""}, ("out", "out/*")) == ["out/.a.x"]


def test_memory_that_is_used_and_given_back_counts():
    fits, full = (tried(_fill, limits=Limits(memory=most)) for most in (8 * GIB, 64 << 20))
    assert fits.outcome == "answered"
    assert full.outcome == "memory" and "GiB" in full.detail


def test_memory_of_the_process_that_it_was_forked_from_does_not_count():
    least = 48 << 20
    assert int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") > 2 * least
    assert tried(lambda: None, limits=Limits(memory=least)).outcome == "answered"


def test_a_file_that_was_there_and_is_another_is_lost():
    before = {"p.csv": "100 abc"}
    assert changed(before, {"p.csv": "7 abd"}, ()) == ["p.csv"] == changed(before, {}, ())
    assert changed(before, {}, ("p.csv",)) == changed(before, before, ()) == []


def _half_by_half(name, between):
    """A file under its final name, unfinished for as long as `between` takes."""
    Path(name).write_text("half")
    between()
    Path(name).write_text("half and half")


VICTIMS = {
    "a file in two halves": (
        lambda _: _half_by_half("v.txt", lambda: Path("out").mkdir(exist_ok=True)),
        "partial file",
    ),
    "what the next run leaves": (
        lambda _: [Path(f".v.{os.getpid()}").touch(), Path("v.txt").exists() or Path("out").mkdir(),
                   Path("v.txt").write_text("half and half"), Path(f".v.{os.getpid()}").unlink()],
        "leftover",
    ),
    "a next run that fails": (
        lambda _: [Path("out").mkdir(), Path("w").mkdir(), Path("v.txt").write_text("half and half")],
        "wrong answer",
    ),
    "a file at once": (
        lambda _: [Path("out").mkdir(exist_ok=True), Path("v.txt").write_text("half and half")],
        "refused",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", VICTIMS)
def test_what_a_kill_leaves_is_found(what, tmp_path, monkeypatch):
    work, outcome = VICTIMS[what]
    (tmp_path / "kills/planted").mkdir(parents=True)
    (tmp_path / "kills/planted/v.txt").write_text("half and half")
    monkeypatch.setitem(kills.VICTIMS, "planted", kills.Victim(work, files=("v.txt",), outputs=("v.txt", "out", "w")))
    event = 2 if what == "a next run that fails" else 1
    attempt = kills._attempt(Setup(tmp_path), "planted", signal.SIGKILL, f"before-change-{event}")
    result = tried(attempt.work, attempt.outputs)
    assert result.outcome == outcome, result


def test_a_folder_that_loads_as_neither_model_is_found(tmp_path, monkeypatch):
    old, new, mixed = np.zeros((5, 3)), np.ones((5, 3)), np.full((5, 3), 0.5)
    seen = {"out": mixed, str(tmp_path / "out"): new}
    monkeypatch.setattr(kills, "seen", lambda folder: seen[str(folder)])
    victim = kills.Victim(lambda _: None, folders=("out",))
    with pytest.raises(Failed, match="neither model"):
        kills._check(victim, tmp_path, {"out": old}, {}, "after a kill")
    for fine in (old, new, "BadModel"):
        seen["out"] = fine
        kills._check(victim, tmp_path, {"out": old}, {}, "after a kill")


@pytest.mark.parametrize(
    ("name", "rows", "outcome"),
    [
        ("good", 40, "answered"),
        ("good", 39, "lost rows"),
        ("good", 41, "wrong answer"),
        ("open-quote", 11, "lost rows"),
    ],
)
def test_rows_that_a_command_loses_are_found(name, rows, outcome, tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "cli", lambda *_: CommandOutput(0, "", ""))
    reading = commands.Reading("", (".csv",), rows=lambda _: rows)
    monkeypatch.setitem(commands.READINGS, "planted", reading)
    result = tried(lambda: commands._try_file(Setup(tmp_path), "planted", ".csv", name), ("*.csv",))
    assert result.outcome == outcome, result


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        (CommandOutput(0, "", "Traceback (most recent call last):\n"), "traceback"),
        (CommandOutput(7, "", "what"), "crash"),
        (CommandOutput(2, "", ""), "wrong answer"),
    ],
)
def test_the_outcome_of_a_command_is_that_of_its_output(message, outcome):
    with pytest.raises(Failed, match=outcome):
        outcome_of(message)
    assert outcome_of(CommandOutput(1, "a task failed", "")) == "refused"
    assert (
        outcome_of(CommandOutput(0, "", "")) == "answered"
        and outcome_of(CommandOutput(2, "", "likewise: no")) == "refused"
    )


def test_several_at_once_end_each_as_alone_and_names_differ():
    works = {"a": lambda: time.sleep(0.2), "b": lambda: _raise(KeyError(1)), "c": lambda: None}
    attempts = [Attempt(f"planted/{name}", work) for name, work in works.items()]
    results = {result.name: result.outcome for result in run(attempts, LIMITS, jobs=3)}
    assert results == {"planted/a": "answered", "planted/b": "traceback", "planted/c": "answered"}
    with pytest.raises(ValueError, match="two attempts have the name planted/a"):
        distinct([*attempts, attempts[0]])


def test_the_table_counts_and_each_failure_has_the_command_that_repeats_it(capsys):
    results = [Result("a/1", "answered"), Result("a/2", "hang", "not done"), Result("b/1", "refused")]
    show(results, "--seed 3", 1.0, whole=False)
    output = capsys.readouterr().out
    assert "python -m benchmarks.attack --seed 3 --only 'a/2'" in output
    assert "3 attempts in 1 s" in output and "1 failed" in output
    assert table(results).splitlines()[-1].split()[:4] == ["all", "3", "1", "1"]
    assert all(name in table(results).splitlines()[0] for name in FAILURES)


def test_a_route_has_bombs_by_its_schema_and_a_schema_without_a_bomb_is_an_error():
    bombs = pytest.importorskip("benchmarks.attack.bombs", reason="the extra `serve` is not installed")
    for route in bombs.ROUTES:
        requests = bombs.requests_of(route)
        assert requests and (route.body is None or len(requests) > 4)
        assert all(len(json.dumps(body or {})) < 2 * bombs.LARGEST for _, body in requests.values())
    with pytest.raises(TypeError, match="there is no bomb for <object"):
        [*bombs.values(object())]


@pytest.mark.parametrize(
    ("answers", "is_clean", "outcome"),
    [
        ([1], True, "answered"),
        ([2], False, "refused"),
        ([2], True, "wrong answer"),
        ([2, "stays"], False, "wrong answer"),
    ],
)
def test_damage_of_an_index_that_is_not_noticed_is_found(answers, is_clean, outcome, monkeypatch):
    indexes = pytest.importorskip("benchmarks.attack.indexes")
    monkeypatch.setattr(indexes, "_answers", lambda _: answers[:1])
    index = PlantedIndex(is_clean, "stays" in answers)
    assert tried(lambda: indexes._noticed(index, [1], "a bit")).outcome == outcome


class PlantedIndex:
    """An index whose damage verify() notices or not, and repair() mends or not."""

    def __init__(self, is_clean, stays):
        self.is_clean, self.stays = is_clean, stays

    def verify(self):
        return self

    def repair(self):
        self.is_clean = not self.stays
