"""What a command needs of its process: streams that can be written to, signals that let it clean up; all put back."""

import codecs
import io
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
"""Handlers that are replaced; who ignores a signal (nohup) or has a handler of their own keeps that."""

LATER = 0.02  # seconds
READABLE = "likewise.readable"
"""Name of how characters are written that a stream's encoding does not have."""
PLAIN = str.maketrans("×·–—…−“”‘’ρ", "x--" + "-.-" + "\"\"''r")


class Terminated(BaseException):
    """SIGTERM or SIGHUP, raised so that what is half written is removed on the way out."""


@dataclass
class Stop:
    """The signals that asked the command to end."""

    numbers: list[int] = field(default_factory=list)

    def __call__(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """End the command by an exception, once: what cleans up after the first is not interrupted by a SIGTERM."""
        repeated = bool(self.numbers)
        self.numbers.append(number)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        if not repeated:
            raise Terminated


@contextmanager
def prepared() -> Iterator[Stop]:
    """Streams, warnings and signals as a command needs them; gives the signals that came."""
    with ExitStack() as stack:
        stack.enter_context(_streams())
        stack.enter_context(_warnings())
        stop = stack.enter_context(_signals())
        stack.enter_context(_raised_again(stop))
        yield stop


@contextmanager
def _signals() -> Iterator[Stop]:
    """SIGINT, SIGTERM and SIGHUP as exceptions; in another thread than the main one nothing is changed."""
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
    """A signal that came where Python cannot raise (a destructor, an import's lock) comes once more, a little later."""
    before, ended = sys.unraisablehook, threading.Event()

    def send(number: int) -> None:
        if not ended.wait(LATER):
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


@contextmanager
def _warnings() -> Iterator[None]:
    before = warnings.showwarning
    warnings.showwarning = _note  # type: ignore[assignment]
    try:
        yield
    finally:
        warnings.showwarning = before


def _note(message: Warning | str, category: type[Warning], *where: Any) -> None:  # noqa: ARG001
    print(f"likewise: note: {message}", file=sys.stderr)


@contextmanager
def _streams() -> Iterator[None]:
    """Standard output and error for any text and any state: closed, full, or of an encoding that lacks characters."""
    before = sys.stdout, sys.stderr
    _occupy_descriptors()
    sys.stdout = cast(TextIO, _Closed() if before[0] is None else _Named(before[0]))
    sys.stderr = cast(TextIO, _Forgiving(before[1]))
    restore = [_readable(stream) for stream in before]
    try:
        yield
    finally:
        for put_back in restore:
            put_back()
        sys.stdout, sys.stderr = before


def _occupy_descriptors() -> None:
    """Give closed ones to nothing at all: else the next file that is opened would be one, and messages go into it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # which takes the lowest that is free


def _readable(stream: Any) -> Callable[[], None]:
    """Let a stream write what its encoding lacks; gives what puts it back."""
    errors = getattr(stream, "errors", None)
    if errors not in ("strict", "backslashreplace") or not hasattr(stream, "reconfigure"):
        return lambda: None
    codecs.register_error(READABLE, _replaced)
    stream.reconfigure(errors=READABLE)

    def put_back() -> None:
        with suppress(OSError, ValueError):  # it is full, or closed
            stream.reconfigure(errors=errors)

    return put_back


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Our own signs as their plain neighbours, anything else as JSON's escape."""
    assert isinstance(error, UnicodeEncodeError)
    found = error.object[error.start : error.end].translate(PLAIN)
    units = (found[i : i + 1] for i in range(len(found)))
    return "".join(unit if unit.isascii() else _escaped(unit) for unit in units), error.end


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def silence(stream: Any) -> None:
    """Lead a stream that cannot be written to into nothing, so that what it still holds is no error at exit."""
    with suppress(AttributeError, OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


class _Closed(io.TextIOBase):
    """Standard output that was closed: a command whose result is a file works, one that prints it says why not."""

    def write(self, text: str) -> int:
        if text:
            raise BadInput("standard output is closed, and the result goes there")
        return 0


class _Named:
    """Standard output whose errors say that it is what cannot be written; a reader that went away stays one."""

    def __init__(self, stream: Any) -> None:  # a TextIO, of whatever class
        self._stream = stream

    def write(self, text: str) -> int:
        with self._told():
            return int(self._stream.write(text))

    def flush(self) -> None:
        with self._told():
            self._stream.flush()

    @contextmanager
    def _told(self) -> Iterator[None]:
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
    """Standard error, without which the work goes on: closed, full or broken, what is said there is lost."""

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
