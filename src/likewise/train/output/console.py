"""A run as it goes, on stderr: one line that rewrites itself on a terminal, a line now and then elsewhere."""

import time
from dataclasses import dataclass, field

from ...runtime.progress import Meter, StatusLine, format_duration
from ..run import StepState

SMOOTH = 0.95  # of the loss shown, what each step leaves of the steps before

SOON = 0.1  # seconds before which a rate is of nothing


@dataclass
class StepRate(Meter):
    """Progress in steps; what was done before a resumed run began is no part of its rate."""

    first: int = 0  # steps that were made before
    rows: int = 0
    loss: float = 0.0
    weight: float = 0.0
    rate: float = 0.0
    epoch: float = 0.0
    best: str = ""

    @property
    def left(self) -> float | None:
        done = self.texts - self.first
        return self.seconds * ((self.total or 0) - self.texts) / done if done else None

    def took(self, moment: StepState) -> None:
        self.texts, self.tokens, self.rows = moment.step, self.tokens + moment.tokens, self.rows + moment.rows
        self.loss, self.weight = SMOOTH * self.loss + (1 - SMOOTH) * moment.loss, SMOOTH * self.weight + 1 - SMOOTH
        self.rate, self.epoch = moment.rate, moment.epoch

    def __str__(self) -> str:
        rates = [(self.rows, "rows/s"), (self.tokens, "tokens/s")] if self.seconds > SOON else []
        parts = [
            f"step {round(self.texts):,} of {self.total:,}" + (f" (epoch {self.epoch:.2f})" if self.epoch else ""),
            f"loss {self.loss / (self.weight or 1):.4f}",
            *([f"{format_duration(self.left)} left"] if self.left is not None and self.texts != self.total else []),
            *([self.best] if self.best else []),
            *(f"{count / self.seconds:,.0f} {name}" for count, name in rates),
            f"rate {self.rate:.1e}",  # a narrow terminal cuts the end
        ]
        return " · ".join(parts)


@dataclass
class ConsoleProgress:
    """Shows each step as it is told; every measure has a line of its own that stays."""

    show: StatusLine = field(default_factory=StatusLine)
    pace: StepRate | None = None

    def __call__(self, moment: StepState) -> None:
        if self.pace is None:
            self.pace = _begun(moment)
        else:
            self.pace.took(moment)
        if moment.scores:
            self._measured(moment, self.pace)
        self.show(self.pace)
        if moment.step == moment.steps:
            self.close()

    def close(self) -> None:
        """Leaves the last line as it is."""
        if self.pace is not None:
            self.show.close(self.pace)
            self.show.wrote = False

    def _measured(self, moment: StepState, pace: StepRate) -> None:
        better = next(iter(moment.scores.values())) == moment.best
        pace.best = f"best {moment.best:.4f}"
        scores = ", ".join(f"{name} {value:.4f}" for name, value in moment.scores.items())
        self.show.note(f"step {moment.step:,}: {scores}{', the best so far' if better else ''}")


def _begun(moment: StepState) -> StepRate:
    """The progress at the first step that is shown, whose duration is known only if it is the run's first too.

    Of a resumed run `seconds` counts all that was done before, so its rate is measured from the second step shown on.
    """
    fresh = moment.step == 1
    began = time.perf_counter() - (moment.seconds if fresh else 0.0)
    pace = StepRate(moment.steps, began=began, first=0 if fresh else moment.step)
    pace.took(moment)
    if not fresh:
        pace.rows, pace.tokens = 0, 0
    return pace
