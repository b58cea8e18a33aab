"""Sets up a command's process (safe streams, signals that let it clean up), and restores everything at the end."""

import codecs
import io
import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TextIO, cast

from ..errors import BadInput

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
UNTOUCHED = (signal.SIG_DFL, signal.default_int_handler)
"""Handlers that are replaced; ignored signals (nohup) and signals with other handlers are left alone."""

RESEND_DELAY = 0.02  # seconds
READABLE = "likewise.readable"
"""The name of the codec error handler that replaces characters missing from a stream's encoding."""
PLAIN = str.maketrans("×·–—…−“”‘’ρ", "x--" + "-.-" + "\"\"''r")


class Terminated(BaseException):
    """SIGTERM or SIGHUP, raised as an exception so that half-written files are removed on the way out."""


@dataclass
class Stop:
    """The received signals that ask the command to end."""

    numbers: list[int] = field(default_factory=list)

    def __call__(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """End the command with an exception, but only once: a repeated SIGTERM must not interrupt the clean-up."""
        repeated = bool(self.numbers)
        self.numbers.append(number)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        if not repeated:
            raise Terminated


@contextmanager
def prepared() -> Iterator[Stop]:
    """Prepare streams, warnings and signals for a command, and yield the signals received."""
    with ExitStack() as stack:
        stack.enter_context(_streams())
        stack.enter_context(warnings.catch_warnings())  # restores what is replaced here
        warnings.showwarning = _note  # type: ignore[assignment]
        stop = stack.enter_context(_signals())
        stack.enter_context(_raised_again(stop))
        yield stop


@contextmanager
def _signals() -> Iterator[Stop]:
    """Turn SIGINT, SIGTERM and SIGHUP into exceptions; does nothing outside the main thread."""
    stop, before = Stop(), dict[int, Any]()
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in SIGNALS}
        before = {number: handler for number, handler in before.items() if handler in UNTOUCHED}
    try:
        for number in before:
            signal.signal(number, stop)
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _raised_again(stop: Stop) -> Iterator[None]:
    """Send a signal again a little later if it arrived while Python could not raise (a destructor, an import lock)."""
    before, ended = sys.unraisablehook, threading.Event()

    def send(number: int) -> None:
        if not ended.wait(RESEND_DELAY):
            os.kill(os.getpid(), number)

    def unraisable(what: Any) -> None:
        if what.exc_type not in (KeyboardInterrupt, Terminated) or not stop.numbers:
            before(what)
        else:
            threading.Thread(target=send, args=(stop.numbers.pop(),), daemon=True).start()

    sys.unraisablehook = unraisable
    try:
        yield
    finally:
        ended.set()
        sys.unraisablehook = before


def _note(message: Warning | str, category: type[Warning], *where: Any) -> None:  # noqa: ARG001
    print(f"likewise: note: {message}", file=sys.stderr)


@contextmanager
def _streams() -> Iterator[None]:
    """Make standard output and error safe for any text, even if they are closed, full, or limited in encoding."""
    before = sys.stdout, sys.stderr
    _occupy_descriptors()
    sys.stdout = cast(TextIO, _Closed() if before[0] is None else _Named(before[0]))
    sys.stderr = cast(TextIO, _Forgiving(before[1]))
    restores = [_readable(stream) for stream in before]
    try:
        yield
    finally:
        for restore in restores:
            restore()
        sys.stdout, sys.stderr = before


def _occupy_descriptors() -> None:
    """Open the null device in place of closed descriptors, so that messages do not end up in the next file opened."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number


def _readable(stream: Any) -> Callable[[], None]:
    """Make a stream replace characters that its encoding lacks, and return a function that restores it."""
    errors = getattr(stream, "errors", None)
    if errors not in ("strict", "backslashreplace") or not hasattr(stream, "reconfigure"):
        return lambda: None
    codecs.register_error(READABLE, _replaced)
    stream.reconfigure(errors=READABLE)

    def restore() -> None:
        with suppress(OSError, ValueError):  # the stream is full or closed
            stream.reconfigure(errors=errors)

    return restore


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Replace our own symbols with plain ones, and any other character with a JSON escape."""
    assert isinstance(error, UnicodeEncodeError)
    found = error.object[error.start : error.end].translate(PLAIN)
    return "".join(unit if unit.isascii() else json.dumps(unit)[1:-1] for unit in found), error.end


def silence(stream: Any) -> None:
    """Redirect an unwritable stream to the null device, so that flushing its buffer causes no error at exit."""
    with suppress(AttributeError, OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


class _Closed(io.TextIOBase):
    """Closed standard output: a command can still write files, but printing a result raises an error."""

    def write(self, text: str) -> int:  # noqa: ARG002
        raise BadInput("standard output is closed, so the result cannot be printed")


class _Named:
    """Standard output whose errors name it; a broken pipe remains a BrokenPipeError."""

    def __init__(self, stream: Any) -> None:  # any kind of TextIO
        self._stream = stream

    def write(self, text: str) -> int:
        with self._named_error():
            return int(self._stream.write(text))

    def flush(self) -> None:
        with self._named_error():
            self._stream.flush()

    @contextmanager
    def _named_error(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            silence(self._stream)
            raise BadInput(f"standard output cannot be written: {error.strerror}") from None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Forgiving:
    """Standard error that may fail: if it is closed, full or broken, messages are lost but the work continues."""

    def __init__(self, stream: Any) -> None:
        self._stream = io.StringIO() if stream is None else stream

    def write(self, text: str) -> int:
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._try(self._stream.flush)

    def _try(self, do: Callable[[], Any]) -> None:
        try:
            do()
        except (OSError, ValueError):
            silence(self._stream)
            self._stream = io.StringIO()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
