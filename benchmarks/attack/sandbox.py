"""Runs each attempt in a fork of this process, with a time limit, a memory limit and an empty folder.

A fork takes milliseconds, whereas imports take seconds; and a hang, a crash or a lack of memory ends only one attempt.
The parent has imported everything and started no threads, because threads do not survive a fork.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from likewise.errors import LikewiseError

from .attempt import Attempt, Failed, Result, changed, leftovers, listing
from .folders import remove_tree

SIGNS = ("Traceback (most recent call last)", "Exception ignored in", "PanicException")
"""Output that no user should see."""
NO_MEMORY = ("memory allocation of", "cannot allocate", "not enough memory", "can't allocate", "unable to allocate")
GIB = 1 << 30
TORCH_CACHE = "torch"
"""The name of a folder beside the attempts' folders."""
START = struct.Struct("<Q")
"""The format of the first thing that an attempt writes: its initial memory in bytes."""


@dataclass(frozen=True)
class Limits:
    """The limits of an attempt: seconds, and bytes of memory per process in addition to the parent's."""

    seconds: float = 20.0
    memory: int = 2 * GIB
    slack: int = GIB  # additional address space: thread stacks, arenas, mapped files


@dataclass
class _Running:
    attempt: Attempt
    pid: int
    folder: Path
    log: Path
    began: float
    received: bytearray = field(default_factory=bytearray)


def run(
    attempts: Sequence[Attempt], limits: Limits, jobs: int = 1, callback: Callable[[Result], None] = lambda _: None
) -> list[Result]:
    """Run the attempts; returns the results in the order in which the attempts end."""
    results: list[Result] = []
    stopped = contextlib.suppress(KeyboardInterrupt)  # the results so far are shown
    with tempfile.TemporaryDirectory(prefix="likewise-attack-") as place, stopped:
        Path(place).chmod(0o711)  # so that processes of other users can enter the attempts' folders
        (Path(place) / TORCH_CACHE).mkdir()
        for result in _results(attempts, Path(place), limits, jobs):
            results.append(result)
            callback(result)
    return results


def _results(attempts: Sequence[Attempt], place: Path, limits: Limits, jobs: int) -> Iterator[Result]:
    waiting, running = iter(enumerate(attempts)), dict[int, _Running]()
    while True:
        while len(running) < jobs and (following := next(waiting, None)) is not None:
            end, one = _started(following[1], place / str(following[0]), limits)
            running[end] = one
        if not running:
            return
        for end in _heard(running, limits):
            yield _ended(end, running.pop(end), limits)


def _heard(running: dict[int, _Running], limits: Limits) -> list[int]:
    """Return the pipes of attempts that have ended or run out of time."""
    now = time.monotonic()
    patience = min(one.began + limits.seconds for one in running.values()) - now
    ready, _, _ = select.select(list(running), [], [], max(0.0, patience))
    done = []
    for end in ready:
        data = os.read(end, 1 << 16)
        running[end].received.extend(data)
        if not data:
            done.append(end)
    late = [end for end, one in running.items() if time.monotonic() - one.began >= limits.seconds]
    return [*done, *(end for end in late if end not in done)]


def _started(attempt: Attempt, folder: Path, limits: Limits) -> tuple[int, _Running]:
    folder.mkdir(parents=True)
    log = folder.with_suffix(".log")
    end, far = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _live(attempt, folder, log, far, limits)
    os.close(far)
    with contextlib.suppress(OSError):  # the child does the same; whichever comes first
        os.setpgid(pid, pid)
    return end, _Running(attempt, pid, folder, log, time.monotonic())


def _ended(end: int, one: _Running, limits: Limits) -> Result:
    """Return the result of an attempt, after ending all its processes and removing its folder."""
    seconds = time.monotonic() - one.began
    hangs = seconds >= limits.seconds
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(one.pid, signal.SIGKILL) if hangs else None
    _, status, used = os.wait4(one.pid, 0)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(one.pid, signal.SIGKILL)  # end the processes that it left running
    os.close(end)
    log = one.log.read_text("utf-8", "replace") if one.log.exists() else ""
    received, grown = bytes(one.received[START.size :]), _grown(one.received, used.ru_maxrss * 1024)
    outcome, detail = _outcome(received, status, log, hangs, grown, limits)
    remove_tree(one.folder)
    one.log.unlink(missing_ok=True)
    return Result(one.attempt.name, outcome, detail, round(seconds, 3), round(grown / 2**20, 1))


def _grown(received: bytearray, peak: int) -> int:
    """Return how many bytes of memory an attempt used in addition to its initial memory."""
    start = START.unpack(received[: START.size])[0] if len(received) >= START.size else 0
    return max(0, peak - start)


def _outcome(received: bytes, status: int, log: str, hangs: bool, used: int, limits: Limits) -> tuple[str, str]:
    if hangs:
        return "hang", f"not finished after {limits.seconds:g} s; {_last(log)}"
    if used > limits.memory:
        return "memory", f"{used / GIB:.2f} GiB, more than {limits.memory / GIB:g}; {_last(log)}"
    if not received:
        result = signal.Signals(-os.waitstatus_to_exitcode(status)).name if os.WIFSIGNALED(status) else str(status)
        starved = any(sign in log.lower() for sign in NO_MEMORY)
        return "memory" if starved else "crash", f"the process ended with {result}; {_last(log)}"
    outcome, detail = json.loads(received)
    sign = next((sign for sign in SIGNS if sign in log), None)
    if outcome in ("answered", "refused") and sign:
        return "traceback", log[log.index(sign) :][-1500:]
    return outcome, detail


def _last(log: str) -> str:
    return f"last output: {log.strip()[-300:]!r}" if log.strip() else "no output"


def _live(attempt: Attempt, folder: Path, log: Path, far: int, limits: Limits) -> None:
    """Run an attempt in the child; never returns."""
    try:
        os.write(far, START.pack(_pages(1)))
        _confine(folder, log, limits)
        if not attempt.keeps_rights:
            _drop_capabilities()
        outcome, detail = outcome_of(attempt, folder)
    except BaseException as error:
        outcome, detail = "traceback", f"the attack itself failed: {_described(error)}"
    with contextlib.suppress(Exception):
        sys.stderr.flush()
    os.write(far, json.dumps([outcome, detail[-4000:]]).encode())
    os._exit(0)


def outcome_of(attempt: Attempt, folder: Path) -> tuple[str, str]:
    """Do the work in the current folder, `folder`; returns the outcome and its details."""
    before = listing(folder)
    try:
        outcome, detail = attempt.work() or "answered", ""
    except Failed as error:
        return error.outcome, error.detail
    except LikewiseError as error:
        outcome, detail = "refused", f"{type(error).__name__}: {error}"[:300]
    except BaseException as error:
        if isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in NO_MEMORY):
            return "memory", _described(error)
        return "traceback", _described(error)
    left = leftovers(before, listing(folder), attempt.outputs)
    if left:
        return "leftover", f"{outcome}, but left behind: {', '.join(left[:5])}"
    lost = changed(before, listing(folder), attempt.outputs)
    return ("lost rows", f"{outcome}, but changed: {', '.join(lost[:5])}") if lost else (outcome, detail)


def _described(error: BaseException) -> str:
    """Return the end of the traceback, and a line with the error's type and the last likewise function in it."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/likewise/" in frame.filename] or frames
    file = ours[-1].filename.rpartition("/likewise/")[2] if ours else "nowhere"
    where = f"{file}:{ours[-1].name}" if ours else file
    trace = "".join(traceback.format_exception(error, limit=-6))
    return f"{trace[-2500:]}\n{type(error).__name__} at {where}: {str(error)[:200]!r}"


def _confine(folder: Path, log: Path, limits: Limits) -> None:
    """Give this process its own group, folder, output, temporary folder and cache, and limit its memory."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    for number, where in ((0, os.devnull), (1, log), (2, log)):
        handle = os.open(where, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        os.dup2(handle, number)
        os.close(handle)
    stdin, stdout, stderr = open(0, closefd=False), open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    sys.stdin, sys.stdout, sys.stderr = stdin, stdout, stderr
    (folder / "tmp").mkdir()
    cache = str(folder / "cache")
    os.environ |= {"TMPDIR": str(folder / "tmp"), "HOME": str(folder), "LIKEWISE_CACHE": cache}
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder.parent / TORCH_CACHE)  # torch's own, not a leftover of ours
    os.environ.pop("LIKEWISE_MODELS", None)
    os.environ.pop("LIKEWISE_DATA", None)
    tempfile.tempdir = None
    most = _pages(0) + limits.memory + limits.slack
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _pages(column: int) -> int:
    """Return the size of this process in bytes: its address space (0) or resident memory (1)."""
    return int(Path("/proc/self/statm").read_text().split()[column]) * resource.getpagesize()


def _drop_capabilities() -> None:
    """Drop capabilities, so that access rights of files and folders apply even to root."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None)
    for capability in range(41):
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP: not after an exec either
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this process
    libc.capset(header, (ctypes.c_uint32 * 6)())


def in_child(work: Callable[[], object]) -> None:
    """Do the work in a forked process, so that this one starts no threads; raises an error if it fails."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            work()
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        raise RuntimeError("the preparation failed; its traceback is above")


def distinct(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Check that the attempts have different names, because `--only` selects by name; returns them as a list."""
    result: dict[str, Attempt] = {}
    for attempt in attempts:
        if attempt.name in result:
            raise ValueError(f"two attempts have the name {attempt.name}")
        result[attempt.name] = attempt
    return list(result.values())
