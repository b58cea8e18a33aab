"""Progress on stderr: texts, tokens, rates and time left; plain lines if stderr is not a terminal."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SHOW_AFTER = 1.5  # seconds of work before progress is shown
LINE_INTERVAL = 10.0  # seconds between lines if stderr is not a terminal


@dataclass
class Meter:
    """The current progress; a callable passed as `progress` receives one of these from time to time."""

    total: int | None
    texts: float = 0
    tokens: int = 0
    began: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @property
    def left(self) -> float | None:
        """The estimated number of seconds left at the current rate; None if the total is unknown."""
        return None if self.total is None or not self.texts else self.seconds * (self.total - self.texts) / self.texts

    def __str__(self) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        left = "" if self.left is None or self.texts == self.total else f" · {format_duration(self.left)} left"
        rates = (format_rate(self.texts, self.seconds, "texts"), format_rate(self.tokens, self.seconds, "tokens"))
        return f"{round(self.texts):,}{of} texts{''.join(f' · {rate}' for rate in rates if rate)}{left}"


Advance = Callable[[float, int], None]
Progress = bool | Callable[[Meter], None] | None
"""Whether to show progress (None: only on a terminal), or a callback that receives a `Meter`."""


def on_terminal() -> bool:
    """Whether stderr is a terminal; without a console it is None, and a logger in its place may lack `isatty`."""
    return bool(getattr(sys.stderr, "isatty", bool)())


@contextmanager
def show_progress(progress: Progress, total: int | None) -> Iterator[Advance]:
    """Yield `advance(texts, tokens)`. `None` shows progress only on a terminal, `True` always, and `False` never."""
    meter = Meter(total)
    if progress is None:
        progress = on_terminal()
    show = progress if callable(progress) else StatusLine() if progress else None

    def advance(texts: float, tokens: int) -> None:
        meter.texts += texts
        meter.tokens += tokens
        if show is not None:
            show(meter)

    try:
        yield advance
    finally:
        if isinstance(show, StatusLine):
            show.close(meter)


@dataclass
class StatusLine:
    """A status line on stderr, overwritten on a terminal or else reprinted from time to time; not shown at first."""

    live: bool = field(default_factory=on_terminal)
    began: float = field(default_factory=time.perf_counter)
    shown: float = 0.0
    wrote: bool = False

    def __call__(self, state: object) -> None:
        now = time.perf_counter()
        if now - self.began > SHOW_AFTER and now - self.shown > (0.1 if self.live else LINE_INTERVAL):
            self.shown, self.wrote = now, True
            if self.live:  # a line wider than the terminal could not be overwritten
                room = shutil.get_terminal_size().columns - 1
                _print(f"\r\x1b[K{str(state)[:room]}", end="")
            else:
                _print(str(state))

    def note(self, text: str) -> None:
        """Print a permanent line above the status line."""
        _print(f"\r\x1b[K{text}" if self.live else text)

    def close(self, state: object) -> None:
        if self.wrote:
            self.note(str(state))


def _print(text: str, end: str = "\n") -> None:
    if sys.stderr is not None:  # print would write to stdout instead
        print(text, end=end, file=sys.stderr, flush=True)


def format_rate(count: float, seconds: float, unit: str) -> str:
    """3 texts in 7.6 s → 0.39 texts/s; an empty string instead of a rate of 0."""
    rate = count / max(seconds, 1e-9)
    shown = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
    return f"{shown} {unit}/s" if rate >= 0.05 else ""


def format_duration(seconds: float) -> str:
    """75 → 1:15"""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
