"""Callbacks that log each step: lines of JSON, and TensorBoard events [extra: logs]."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...runtime.atomic_files import atomic_file
from ...runtime.installation import missing_extra
from ..step_state import StepState

TIMING_FIELDS = ("seconds", "rows_per_second", "tokens_per_second")
"""What differs between two runs that are otherwise equal."""
LogLine = Mapping[str, Any]


class Log:
    """Appends a line of JSON to a file every `every` steps, at every evaluation, and at the last step.

    The line of step 0 has the scores before training. The first step may come after an interruption: lines of that step
    and later ones are removed first, so that the log of a resumed run is that of one that was never stopped, except for
    `TIMING_FIELDS`.
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
        kept = [line for line in read_log(self.path) if line["step"] < step]
        self.last_seconds = kept[-1].get("seconds", 0.0) if kept else 0.0
        with atomic_file(self.path) as partial:
            partial.write_text("".join(json.dumps(line) + "\n" for line in kept), "utf-8")


def read_log(path: Path) -> list[LogLine]:
    """The lines of a log, up to one that a killed process left incomplete; none if there is no log."""
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
    """Loss, learning rate, gradient norm and scores as event files; a resumed run replaces what it writes again."""

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
        for name in ("loss", "learning_rate", "gradient_norm", "epoch") if state.step else ():
            self.writer.add_scalar(f"train/{name}", getattr(state, name), state.step)
        for name, value in state.scores.items():
            self.writer.add_scalar(f"dev/{name}", value, state.step)
        if state.scores or state.step == state.max_steps:
            self.writer.flush()
