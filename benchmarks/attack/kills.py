"""Kills every command that writes (encode, mine, save, train, fuse, evaluate) with four signals at random moments.

A moment is either a fraction of the command's running time, or its n-th call that changes the file system (Python's
audit events), so that every point between two files of a folder is tried. Afterwards, no unfinished file may have a
final name, and a folder must load as the old or the new model, or raise an error. Then the same command runs to its
end: it must succeed, with the results of an uninterrupted run, and leave no temporary files.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from likewise import Embedder
from likewise.errors import LikewiseError

from .attempt import Attempt, Failed, Setup, expect, leftovers, listing
from .command import IMPORTED_FROM, cli, stsb
from .tables import text

WRITING = (
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "shutil.rmtree",
)
KILLED = ("kills", "writers")
"""The kinds of attempts for which each command's running time and results must be known."""
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
SEEN = ["a cat sleeps", "the dog barks", "", "x y z"]
Before = Callable[[Setup], None]


@dataclass(frozen=True)
class Victim:
    """A command to kill: `before` fills the current folder, in which `work` then runs.

    `files` are compared byte by byte, and `folders` by the vectors of their models; `outputs` may exist afterwards.
    """

    work: Callable[[Setup], Any]
    before: Callable[[Setup], Any] = lambda _: None
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    moments: int = 2  # for each signal
    events: int = 6


def _run(*arguments: object) -> None:
    output = cli(*arguments)
    if output.code != 0:
        print(f"exit code {output.code}: {output.err[-2000:]}", file=sys.stderr)
        raise SystemExit(output.code)
    if "--json" in arguments:
        Path("said.json").write_text(output.out)


def _texts(_: Setup) -> None:
    rows = [(f"a cat {i} sleeps on the mat", f"the dog {i} barks", i % 5 + i / 100) for i in range(400)]
    for suffix in (".txt", ".csv"):
        Path(f"given{suffix}").write_text(text(suffix, rows))
    Path("small.csv").write_text(text(".csv", rows[:60]))
    Path("triplets.csv").write_text(
        text(".csv", [(a, b, f"rain {i}") for i, (a, b, _) in enumerate(rows)], ("anchor", "positive", "x"))
    )


def _old_file(name: str, setup: Setup) -> None:
    _texts(setup)
    Path(name).write_bytes(b"old" * 1000)


def _other(setup: Setup) -> None:
    """Save a model of another kind, with parts that the new model lacks, and an unrelated file."""
    shutil.copytree(setup.models / "ngrams", "out")
    Path("out/notes.md").write_text("mine\n")


def _dense(setup: Setup) -> None:
    shutil.copytree(setup.models / "dense", "out")


def _save(setup: Setup) -> None:
    warnings.simplefilter("ignore")
    Embedder.load(setup.models / "bert", engine="torch").save("out")


def _save_words(setup: Setup) -> None:
    Embedder.load(setup.models / "ngrams", engine="torch").save("out")


def _encode(out: str, setup: Setup) -> None:
    _run("encode", "given.txt", "-o", out, "-m", setup.models / "bert", "-q", "--batch-tokens", 256)


def _mine(setup: Setup) -> None:
    _run("data", "mine", setup.models / "bert", "triplets.csv", "-o", "m.csv", "--missing", "fill", "-q")


def _train(setup: Setup) -> None:
    _run("train", setup.models / "bert", "--data", "given.csv@cosent", "-o", "out", "--save-steps", 4,
         "--max-steps", 16,
         "--batch-size", 8, "--threads", 1)  # fmt: skip


def _fuse(setup: Setup) -> None:
    _run("model", "fuse", setup.models / "bert", "--pairs", "small.csv", "-o", "out")


def _evaluate(setup: Setup) -> None:
    _run("evaluate", setup.models / "bert", "--tasks", "stsb", "--json", "-q")


def _converted(_: Setup) -> None:
    Embedder.load("avg-glove(table.txt)").encode(SEEN)


def _table(_: Setup) -> None:
    draw = np.random.default_rng(0)
    lines = (f"word{i} " + " ".join(f"{x:.4f}" for x in draw.standard_normal(20)) + "\n" for i in range(3000))
    Path("table.txt").write_text("".join(lines))


def _listed(verb: str, *options: object) -> Before:
    return lambda setup: _run(verb, "given.txt", "-o", "o.csv", "-m", setup.models / "words", "-q", *options)


MODEL = ("out", "out/*")
VICTIMS: Mapping[str, Victim] = {
    "encode-npy": Victim(partial(_encode, "v.npy"), _texts, files=("v.npy",), outputs=("v.npy", "v.npy.origin.json")),
    "encode-jsonl": Victim(
        partial(_encode, "v.jsonl"), _texts, files=("v.jsonl",), outputs=("v.jsonl", "v.jsonl.origin.json")
    ),
    "encode-parquet-over": Victim(
        partial(_encode, "v.parquet"), partial(_old_file, "v.parquet"), files=("v.parquet",), outputs=("v.parquet",)
    ),
    "mine": Victim(_mine, _texts, files=("m.csv",), outputs=("m.csv",)),
    **{
        verb: Victim(_listed(verb, *more), _texts, files=("o.csv",), outputs=("o.csv",), moments=1, events=3)
        for verb, more in (("pairs", ("--above", 0.5)), ("duplicates", ()), ("cluster", ("-k", 3)))
    },
    "save": Victim(_save, folders=("out",), outputs=MODEL, moments=1, events=12),
    "save-over": Victim(_save, _other, folders=("out",), outputs=MODEL, moments=1, events=18),
    "save-over-dense": Victim(_save_words, _dense, folders=("out",), outputs=MODEL, moments=1, events=18),
    "train": Victim(_train, _texts, folders=("out",), outputs=MODEL, events=12),
    "fuse": Victim(_fuse, _texts, folders=("out",), outputs=MODEL),
    "fuse-over": Victim(_fuse, lambda s: [_texts(s), _dense(s)], folders=("out",), outputs=MODEL),
    "evaluate": Victim(_evaluate, lambda _: stsb(), outputs=("said.json", "cache", "cache/*")),
    "convert": Victim(_converted, _table, outputs=("cache", "cache/*"), events=12),
}


def attempts(setup: Setup) -> Iterator[Attempt]:
    """Yield attempts at random moments and events for each command and signal, then interruptions at startup."""
    for name, victim in VICTIMS.items():
        draw = random.Random(f"{setup.seed} {name}")
        for number in SIGNALS:
            for moment in sorted(round(draw.random(), 3) for _ in range(1 if setup.quick else victim.moments)):
                yield _attempt(setup, name, number, f"at-{moment:.3f}")
        events = range(1, (2 if setup.quick else victim.events) + 1)
        for event in events:
            yield _attempt(setup, name, signal.SIGKILL, f"before-change-{event}")
        for event in list(events)[:: 2 if name.startswith("save") else 6]:
            yield _attempt(setup, name, signal.SIGTERM, f"before-change-{event}")
    draw = random.Random(setup.seed)
    for i in range(1 if setup.quick else 6):
        yield Attempt(f"kills/start/SIGINT/{i}", partial(_interrupt, setup, draw.uniform(0.02, 0.8)), ("v.npy*",))


def _attempt(setup: Setup, name: str, number: signal.Signals, moment: str) -> Attempt:
    outputs = ("given.*", "small.csv", "triplets.csv", "table.txt", "data", "data/*", *VICTIMS[name].outputs)
    work = partial(_try, setup, name, number, moment)
    return Attempt(f"kills/{name}/{number.name}/{moment}", work, outputs)


def prepare(setup: Setup, attempts: Sequence[str]) -> None:
    """Run every command that these attempts kill or run concurrently, and record its time and results."""
    parts = (attempt.split("/") for attempt in attempts)
    for name in dict.fromkeys(part[1] for part in parts if part[0] in KILLED and part[1] in VICTIMS):
        folder = setup.models / "kills" / name
        folder.mkdir(parents=True)
        os.chdir(folder)
        os.environ |= {"LIKEWISE_CACHE": str(folder / "cache")}
        VICTIMS[name].before(setup)
        began = time.monotonic()
        status = finished(forked(partial(VICTIMS[name].work, setup)))
        if status:
            raise RuntimeError(f"{name} fails without being killed, with status {status}")
        seconds = time.monotonic() - began
        (folder / "seconds").write_text(str(seconds))


def _try(setup: Setup, name: str, number: signal.Signals, moment: str) -> str:
    victim, whole = VICTIMS[name], setup.models / "kills" / name
    victim.before(setup)
    before = listing(Path())
    old = {folder: seen(Path(folder)) for folder in victim.folders}
    old_files = {file: Path(file).read_bytes() if Path(file).exists() else None for file in victim.files}
    kind, _, when = moment.rpartition("-")
    if kind == "at":
        status = _killed(partial(victim.work, setup), number, float(when) * float((whole / "seconds").read_text()))
    else:
        status = finished(forked(partial(_killing_before, int(when), number, partial(victim.work, setup))))
    _check(victim, whole, old, old_files, f"after {number.name} {moment}")
    _again(setup, victim, whole, before)
    return "answered" if status == 0 else "refused"


def _again(setup: Setup, victim: Victim, whole: Path, before: dict[str, str]) -> None:
    """Run the same command to its end, and check that it leaves exactly the results of an uninterrupted run."""
    status = finished(forked(partial(victim.work, setup)))
    expect(status == 0, "wrong answer", f"running the same command again fails with status {status}")
    left = leftovers(before, listing(Path()), ("*",))
    expect(not left, "leftover", f"the next run leaves {', '.join(left[:5])}")
    for file in victim.files:
        expect(
            Path(file).read_bytes() == (whole / file).read_bytes(),
            "wrong answer",
            f"{file} differs from that of an uninterrupted run",
        )
    for folder in victim.folders:
        result, expected = seen(Path(folder)), seen(whole / folder)
        expect(same(result, expected), "neither model", f"after the next run, {folder} gives {result!r:.200}")
    if (whole / "said.json").exists():
        result, expected = (scores(json.loads(path.read_text())) for path in (Path("said.json"), whole / "said.json"))
        expect(result == expected, "wrong answer", f"the scores are {result}; expected {expected}")


def _check(victim: Victim, whole: Path, old: dict[str, Any], old_files: dict[str, Any], when: str) -> None:
    for file in victim.files:
        result = Path(file).read_bytes() if Path(file).exists() else None
        fine = result in (old_files[file], (whole / file).read_bytes())
        expect(fine, "partial file", f"{when}: {file} is neither the old nor the new file")
    for folder in victim.folders:
        result = seen(Path(folder))
        fine = isinstance(result, str) or same(result, old[folder]) or same(result, seen(whole / folder))
        expect(fine, "neither model", f"{when}: {folder} loads, but gives the vectors of neither model")


def seen(folder: Path) -> Any:
    """Return the vectors of the model in a folder, or the name of the error that loading raises."""
    try:
        return Embedder.load(folder.absolute()).encode([*SEEN, "unseenword catdog"])
    except LikewiseError as error:
        return type(error).__name__


def same(a: Any, b: Any) -> bool:
    return not isinstance(a, str) and not isinstance(b, str) and a.shape == b.shape and np.allclose(a, b, atol=1e-6)


def scores(results: Mapping[str, Any]) -> Any:
    return [(cell.get("task"), cell.get("scores")) for cell in results["cells"]]


# processes


def forked(work: Callable[[], Any]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # hooks of other libraries run when a process forks
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return child
    code, recorded = 1, _noting_signals()
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        work()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        if _interrupted(recorded):
            code = (
                130  # not in `main` of the command line, but as in a program; torch's code turns it into a ValueError
            )
        else:
            traceback.print_exc()
    with contextlib.suppress(BaseException):
        sys.stderr.flush()
    os._exit(code)


def _noting_signals() -> int:
    """Return the read end of a pipe that receives a byte for every signal from now on; handlers do not change."""
    end, far = os.pipe()
    os.set_blocking(end, False)
    os.set_blocking(far, False)
    signal.set_wakeup_fd(far, warn_on_full_buffer=False)
    return end


def _interrupted(recorded: int) -> bool:
    try:
        return signal.SIGINT in os.read(recorded, 1 << 10)
    except BlockingIOError:
        return False


def finished(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _killed(work: Callable[[], Any], number: signal.Signals, after: float) -> int:
    """Send this signal to a process after some time, then SIGKILL if it does not end; returns its status."""
    child, began = forked(work), time.monotonic()
    while time.monotonic() - began < after:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return finished(child)
        time.sleep(0.002)
    os.kill(child, number)
    return finished(child)


def _killing_before(event: int, number: signal.Signals, work: Callable[[], Any]) -> None:
    """Do the work, and send this process the signal before its n-th change to the file system."""
    left = event

    def hook(name: str, _: tuple[Any, ...]) -> None:
        nonlocal left
        if name in WRITING:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), number)

    sys.addaudithook(hook)
    work()


def _interrupt(setup: Setup, after: float) -> str:
    """Press Ctrl-C while a separate process starts."""
    import subprocess

    Path("given.txt").write_text(text(".txt"))
    command = [sys.executable, "-m", "likewise", "encode", "given.txt", "-o", "v.npy", "-m", str(setup.models / "bert")]
    env = {**os.environ, "PYTHONPATH": str(IMPORTED_FROM)}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        err = process.communicate()[1].decode("utf-8", "replace")
    Path("given.txt").unlink()
    expect("Traceback" not in err and "Exception" not in err, "traceback", f"SIGINT after {after:.2f} s: {err[-1000:]}")
    if process.returncode not in (0, 130, -signal.SIGINT):
        raise Failed("crash", f"exit code {process.returncode}: {err[-300:]}")
    return "answered" if process.returncode == 0 else "refused"
