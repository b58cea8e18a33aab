"""Callbacks for each step: live progress on stderr, a log in JSON lines, TensorBoard events [extra: logs], wandb."""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ...errors import BadInput
from ...runtime.atomic_files import atomic_file
from ...runtime.installation import missing_extra
from ...runtime.progress import Meter, StatusLine, format_duration
from ..step_state import StepState

TIMING_FIELDS = ("seconds", "rows_per_second", "tokens_per_second")
"""The fields that differ between two otherwise identical runs."""
LogLine = Mapping[str, Any]


class Log:
    """Appends a line of JSON to a file every `every` steps, at every evaluation, and at the last step.

    The line for step 0 contains the scores before training. A resumed run first removes the lines of the steps that it
    will repeat, so that the log equals that of an uninterrupted run, except for `TIMING_FIELDS`.
    """

    def __init__(self, path: Path, every: int = 1) -> None:
        self.path, self.every = path, every
        self.started = False
        self.last_seconds = 0.0
        self.rows = self.tokens = 0

    def __call__(self, state: StepState) -> None:
        if not self.started:
            self._remove_from(state.step)
        self.rows, self.tokens = self.rows + state.rows, self.tokens + state.tokens
        if state.step % self.every and not state.scores and state.step != state.max_steps:
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self._line(state)) + "\n")

    def _line(self, state: StepState) -> LogLine:
        if not state.step:
            return {"step": 0, "scores": dict(state.scores)}
        seconds = max(state.seconds - self.last_seconds, 1e-9)
        line = {
            "step": state.step,
            "epoch": round(state.epoch, 6),
            "loss": state.loss,
            "learning_rate": state.learning_rate,
            "gradient_norm": state.gradient_norm,
            "tokens": state.tokens,
            "seconds": round(state.seconds, 3),
            "rows_per_second": round(self.rows / seconds, 1),
            "tokens_per_second": round(self.tokens / seconds, 1),
        }
        self.last_seconds, self.rows, self.tokens = state.seconds, 0, 0
        return line | ({"scores": dict(state.scores)} if state.scores else {})

    def _remove_from(self, step: int) -> None:
        self.started = True
        kept = [line for line in read_log(self.path) if line["step"] < step] if step > 1 else []  # step 1 starts a run
        self.last_seconds = kept[-1].get("seconds", 0.0) if kept else 0.0
        with atomic_file(self.path) as partial:
            partial.write_text("".join(json.dumps(line) + "\n" for line in kept), "utf-8")


def read_log(path: Path) -> list[LogLine]:
    """The lines of a log, without a last line left incomplete by a killed process; empty if there is no log."""
    lines: list[LogLine] = []
    if not path.exists():
        return lines
    for text in path.read_text("utf-8", "replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            break
        if not isinstance(line, dict) or not isinstance(line.get("step"), int):
            break
        lines.append(line)
    return lines


class TensorBoard:
    """Writes loss, learning rate, gradient norm and scores as event files; a resumed run replaces repeated steps."""

    def __init__(self, folder: Path) -> None:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise missing_extra("tensorboard", "logs", "writing TensorBoard events") from None
        self.folder, self.writer_class = folder, SummaryWriter
        self.writer: Any = None

    def __call__(self, state: StepState) -> None:
        if self.writer is None:
            self.writer = self.writer_class(str(self.folder), purge_step=state.step)
        for name, value in _scalars(state).items():
            self.writer.add_scalar(name, value, state.step)
        if state.scores or state.step == state.max_steps:
            self.writer.flush()


class WeightsAndBiases:
    """Reports the same values to Weights & Biases (wandb, installed separately); pass it in `callbacks`.

    The options are passed to `wandb.init`: `WeightsAndBiases(project="search", name="first")`. The wandb run starts at
    the first step and finishes at the last; to continue it when training resumes, pass its id and resume="allow".
    """

    def __init__(self, **options: Any) -> None:
        try:
            self.wandb: Any = import_module("wandb")
        except ImportError:
            raise BadInput("reporting to Weights & Biases needs the package wandb: pip install wandb") from None
        self.options = options
        self.run: Any = None

    def __call__(self, state: StepState) -> None:
        if self.run is None:
            self.run = self.wandb.init(**self.options)
        self.run.log(_scalars(state), step=state.step)
        if state.step == state.max_steps:
            self.run.finish()
            self.run = None


def _scalars(state: StepState) -> dict[str, float]:
    """The values of a step by name; step 0 has only scores."""
    names = ("loss", "learning_rate", "gradient_norm", "epoch") if state.step else ()
    of_training = {f"train/{name}": float(getattr(state, name)) for name in names}
    return of_training | {f"dev/{name}": value for name, value in state.scores.items()}


SMOOTHING = 0.95  # the weight of earlier steps in the displayed loss
MIN_SECONDS = 0.1  # rates per second are shown only after this time


@dataclass
class StepRate(Meter):
    """Progress in steps; steps from before a run was resumed do not count towards its speed."""

    first: int = 0  # steps done before the run was resumed
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
        self.texts, self.tokens, self.rows = state.step, self.tokens + state.tokens, self.rows + state.rows
        self.loss = SMOOTHING * self.loss + (1 - SMOOTHING) * state.loss
        self.weight = SMOOTHING * self.weight + 1 - SMOOTHING
        self.learning_rate, self.epoch = state.learning_rate, state.epoch

    def __str__(self) -> str:
        rates = [(self.rows, "rows/s"), (self.tokens, "tokens/s")] if self.rows and self.seconds > MIN_SECONDS else []
        parts = [
            f"step {round(self.texts):,} of {self.total:,}" + (f" (epoch {self.epoch:.2f})" if self.epoch else ""),
            f"loss {self.loss / (self.weight or 1):.4f}",
            *([f"{format_duration(self.left)} left"] if self.left is not None and self.texts != self.total else []),
            *([self.best] if self.best else []),
            *(f"{count / self.seconds:,.0f} {name}" for count, name in rates),
            f"learning rate {self.learning_rate:.1e}",  # last, since a narrow terminal cuts off the end
        ]
        return " · ".join(parts)


@dataclass
class ConsoleProgress:
    """Callback that shows each step; every evaluation gets a permanent line."""

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
        """Leave the last line on the screen."""
        if self.rate is not None:
            self.line.close(self.rate)
            self.line.wrote = False


def _first_rate(state: StepState) -> StepRate:
    """The progress at the first step shown, whose duration is known only if it is also the run's first step.

    In a resumed run, `seconds` includes all earlier steps, so its speed is measured from the second step shown.
    """
    is_first = state.step == 1
    began = time.perf_counter() - (state.seconds if is_first else 0.0)
    rate = StepRate(state.max_steps, began=began, first=0 if is_first else state.step)
    rate.update(state)
    if not is_first:
        rate.rows, rate.tokens = 0, 0
    return rate
