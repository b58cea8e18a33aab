"""Live progress of a run on stderr: one line that rewrites itself on a terminal, a line now and then elsewhere."""

import time
from dataclasses import dataclass, field

from ...runtime.progress import Meter, StatusLine, format_duration
from ..step_state import StepState

SMOOTHING = 0.95  # of the loss shown: the weight of earlier steps
MIN_SECONDS = 0.1  # before that, rates per second are not shown


@dataclass
class StepRate(Meter):
    """Progress in steps; steps made before a run was resumed do not count for its speed."""

    first: int = 0  # steps made before
    rows: int = 0
    loss: float = 0.0
    weight: float = 0.0
    learning_rate: float = 0.0
    epoch: float = 0.0
    best: str = ""

    @property
    def left(self) -> float | None:
        done = self.texts - self.first
        return self.seconds * ((self.total or 0) - self.texts) / done if done else None

    def update(self, state: StepState) -> None:
        """Count one step."""
        self.texts, self.tokens, self.rows = state.step, self.tokens + state.tokens, self.rows + state.rows
        self.loss = SMOOTHING * self.loss + (1 - SMOOTHING) * state.loss
        self.weight = SMOOTHING * self.weight + 1 - SMOOTHING
        self.learning_rate, self.epoch = state.learning_rate, state.epoch

    def __str__(self) -> str:
        rates = [(self.rows, "rows/s"), (self.tokens, "tokens/s")] if self.seconds > MIN_SECONDS else []
        parts = [
            f"step {round(self.texts):,} of {self.total:,}" + (f" (epoch {self.epoch:.2f})" if self.epoch else ""),
            f"loss {self.loss / (self.weight or 1):.4f}",
            *([f"{format_duration(self.left)} left"] if self.left is not None and self.texts != self.total else []),
            *([self.best] if self.best else []),
            *(f"{count / self.seconds:,.0f} {name}" for count, name in rates),
            f"learning rate {self.learning_rate:.1e}",  # a narrow terminal cuts off the end
        ]
        return " · ".join(parts)


@dataclass
class ConsoleProgress:
    """Callback that shows each step; every evaluation has a line that stays."""

    line: StatusLine = field(default_factory=StatusLine)
    rate: StepRate | None = None
    best_score: float | None = None

    def __call__(self, state: StepState) -> None:
        scores = ", ".join(f"{name} {value:.4f}" for name, value in state.scores.items())
        if not state.step:
            self.line.note(f"before training: {scores}")
            return
        if self.rate is None:
            self.rate = _first_rate(state)
        else:
            self.rate.update(state)
        if state.scores:
            self.rate.best = "" if state.best_score is None else f"best {state.best_score:.4f}"
            is_best = next(iter(state.scores.values())) == state.best_score != self.best_score  # a tie is not better
            self.best_score = state.best_score
            self.line.note(f"step {state.step:,}: {scores}{', the best so far' if is_best else ''}")
        if state.step < state.max_steps:
            self.line(self.rate)
        else:
            self.close()

    def close(self) -> None:
        """Leave the last line as it is."""
        if self.rate is not None:
            self.line.close(self.rate)
            self.line.wrote = False


def _first_rate(state: StepState) -> StepRate:
    """The progress at the first step that is shown, whose duration is known only if it is the run's first too.

    In a resumed run `seconds` counts everything before, so its speed is measured from the second step shown.
    """
    is_first = state.step == 1
    began = time.perf_counter() - (state.seconds if is_first else 0.0)
    rate = StepRate(state.max_steps, began=began, first=0 if is_first else state.step)
    rate.update(state)
    if not is_first:
        rate.rows, rate.tokens = 0, 0
    return rate
