"""A line for each step, with the time so far and an estimate of what is left."""

import sys
import time
from dataclasses import dataclass, field


@dataclass
class Progress:
    """Counts seconds of work; `left` is known once the speed of every contender is."""

    began: float = field(default_factory=time.monotonic)
    left: float | None = None

    def say(self, text: str) -> None:
        """Prints a step."""
        passed = time.monotonic() - self.began
        left = "" if self.left is None else f", about {clock(self.left)} left"
        print(f"[{clock(passed)}{left}] {text}", file=sys.stderr, flush=True)

    def done(self, seconds: float) -> None:
        """So many seconds of what was estimated are over."""
        if self.left is not None:
            self.left = max(0.0, self.left - seconds)


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
