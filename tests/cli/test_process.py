"""No state of the process shows a user a traceback, or costs the work: closed streams, full disks, signals."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from likewise.__main__ import main as command
from likewise.cli import main, process
from likewise.cli.main import TRACEBACK, UNEXPECTED_ERROR
from likewise.cli.process import prepared

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="other signals and descriptors")


@pytest.fixture
def model(folders):
    return str(folders("bert"))


@pytest.fixture(autouse=True)
def default_signals():
    """As in a terminal's foreground; a shell starts what runs in the background with some signals ignored."""
    defaults = dict.fromkeys(process.SIGNALS, signal.SIG_DFL) | {signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, default) for number, default in defaults.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def verb(monkeypatch):
    """Makes `likewise model list` do something else."""

    def does(work):
        monkeypatch.setattr("likewise.cli.models.list_models.run", lambda args: work() or 0)

    return does


def shell(words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A light command of the command line, as a shell runs it."""
    command = f"{sys.executable} -m likewise {words}"
    environment = {**os.environ, "LIKEWISE_MODELS": "", **env}
    return subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("similarity - <&-", 2, "likewise: standard input is closed; expected one text per line"),
        ("model list >&-", 2, "likewise: standard output is closed, so the result cannot be printed"),
        ("model list >/dev/full", 2, "likewise: standard output cannot be written: No space left on device"),
        ("model list --json >/dev/full", 2, "likewise: standard output cannot be written: No space left on device"),
    ],
)
def test_a_stream_that_cannot_be_used_is_one_line(words, code, message):
    done = shell(words)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(message) and done.stderr.count("\n") == 1


@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full", "<&- 2>&-"])
def test_the_work_is_done_where_nothing_can_be_said(closed):
    done = shell(f"model list --json {closed}")
    assert done.returncode == 0 and json.loads(done.stdout)


def test_an_encoding_that_lacks_characters_is_written_readably():
    done = shell("similarity --help", PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and done.stdout.isascii()
    done = shell("encode héé…🙂.txt -o o.npy", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (2, "likewise: h\\u00e9\\u00e9.\\ud83d\\ude42.txt does not exist\n")


def test_a_closed_standard_error_is_not_written_into_the_output(model, tmp_path, monkeypatch):
    (tmp_path / "in.txt").write_text("a cat\n")
    monkeypatch.setattr("sys.stderr", None)
    assert main(["encode", str(tmp_path / "in.txt"), "-o", str(tmp_path / "o.npy"), "-m", model]) == 0
    assert np.load(tmp_path / "o.npy").shape == (1, 32) and sys.stderr is None


def test_closed_streams_are_not_replaced_by_the_next_files():
    program = (
        "import os; from likewise.cli.process import prepared\n"
        "with prepared(): print(os.read(0, 1), os.write(2, b'x'), os.open('/', os.O_RDONLY) > 2)"
    )
    done = subprocess.run(f'{sys.executable} -c "{program}" <&- 2>&-', shell=True, capture_output=True, text=True)
    assert done.stdout == "b'' 1 True\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
def test_messages_on_a_full_device_are_lost_and_closing_it_is_no_error():
    with open("/dev/full", "w", buffering=1) as full:  # noqa: PTH123
        stream = process._Forgiving(full)
        assert stream.write("one\n") == 4 and stream.write("two\n") == 4
        assert stream.getvalue() == "two\n"


def test_a_broken_pipe_stays_a_broken_pipe():
    reading, writing = os.pipe()
    os.close(reading)
    with pytest.raises(BrokenPipeError), open(writing, "w", buffering=1) as pipe:  # noqa: PTH123
        process._Named(pipe).write("one\n")


def test_nothing_of_the_process_stays_changed(verb, monkeypatch):
    def state():
        handlers = [signal.getsignal(number) for number in process.SIGNALS]
        return sys.stdout, sys.stderr, sys.stdout.errors, sys.unraisablehook, warnings.showwarning, handlers

    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
    before, within = state(), []
    verb(lambda: within.append(state()))
    assert main(["model", "list"]) == 0
    assert state() == before and all(a != b for a, b in zip(within[0], before, strict=True))


def test_an_unforeseen_error_is_one_line_that_says_how_to_see_more(verb, monkeypatch, capsys):
    def fail():
        raise TypeError("unheard of " * 50 + "\nin two lines")

    verb(fail)
    assert main(["model", "list"]) == UNEXPECTED_ERROR == 70
    output = capsys.readouterr().err
    message = (
        rf"{('unheard of ' * 50)[:300]} \(test_process\.py, line \d+\)\. This is a bug in likewise or in a package"
    )
    assert re.match(f"likewise: unexpected error: TypeError: {message}", output)
    assert f"again with {TRACEBACK}=1" in output and output.count("\n") == 1
    monkeypatch.setenv(TRACEBACK, "1")
    assert main(["model", "list"]) == UNEXPECTED_ERROR
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (MemoryError(), 2, "likewise: out of memory (no details available)\n"),
        (OSError(5, "told"), 2, "likewise: [Errno 5] told\n"),
        (BrokenPipeError(), 0, ""),
    ],
)
def test_errors_of_the_system_are_no_fault_of_the_program(error, code, message, verb, capsys):
    def fail():
        raise error

    verb(fail)
    assert main(["model", "list"]) == code
    assert capsys.readouterr().err == message


def test_a_reader_that_has_gone_is_no_error():
    done = shell("model list | true")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("number", process.SIGNALS)
def test_a_signal_lets_the_command_clean_up(number, verb, capsys, tmp_path):
    from likewise.runtime.atomic_files import atomic_file

    def work():
        with atomic_file(tmp_path / "v.npy"):
            signal.raise_signal(number)
            time.sleep(5)

    verb(work)
    assert main(["model", "list"]) == 128 + number
    assert capsys.readouterr().err.startswith(f"likewise: stopped by {number.name}")
    assert list(tmp_path.iterdir()) == []


def test_only_ctrl_c_interrupts_the_clean_up():
    stop = process.Stop()
    for number, error in ((signal.SIGTERM, process.Terminated), (signal.SIGINT, KeyboardInterrupt)):
        with pytest.raises(error):
            stop(number, None)
    stop(signal.SIGTERM, None)
    assert stop.numbers == [signal.SIGTERM, signal.SIGINT, signal.SIGTERM]


def test_an_interrupted_import_that_ends_in_another_error_is_an_interruption(verb, capsys):
    def work():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("initialisation failed") from None

    verb(work)
    assert main(["model", "list"]) == 128 + signal.SIGINT


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_that_comes_in_a_destructor_is_not_lost(verb, capsys):
    class Last:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)
            time.sleep(0)

    def work():
        Last()
        time.sleep(60)

    verb(work)
    began = time.perf_counter()
    assert main(["model", "list"]) == 128 + signal.SIGTERM
    assert time.perf_counter() - began < 20 and "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_a_destructor_that_is_no_signal_is_reported_as_before(error, verb, monkeypatch):
    class Last:
        def __del__(self):
            raise error

    reported = []
    monkeypatch.setattr("sys.unraisablehook", lambda what: reported.append(what.exc_type))
    verb(lambda: Last() and None)
    assert main(["model", "list"]) == 0 and reported == [error]


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with prepared() as stop:
            signal.raise_signal(signal.SIGHUP)
        assert stop.numbers == []
    finally:
        signal.signal(signal.SIGHUP, before)


def test_ctrl_c_while_the_command_line_is_loaded_shows_no_traceback():
    script = (
        "import os, signal, sys, importlib.abc\n"
        "class Slow(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'argparse': signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Slow())\n"
        "from likewise.__main__ import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "likewise: stopped by SIGINT before anything started\n")


def test_ctrl_c_interrupts_a_command_that_was_loaded_and_ends_one_that_is_done(monkeypatch):
    during = []
    monkeypatch.setattr("likewise.cli.main", lambda: during.append(signal.getsignal(signal.SIGINT)) or 3)
    assert command() == 3
    assert [*during, signal.getsignal(signal.SIGINT)] == [signal.default_int_handler, signal.SIG_DFL]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert command() == 3
    assert [during[1], signal.getsignal(signal.SIGINT)] == [signal.SIG_IGN, signal.SIG_IGN]


def test_the_installed_command_begins_where_ctrl_c_is_awaited():
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["scripts"] == {"likewise": "likewise.__main__:main"}
