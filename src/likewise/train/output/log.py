"""What happened at each step, as lines of JSON and as TensorBoard's events [extra: logs]."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...runtime.atomic_files import atomic_file
from ...runtime.installation import missing_extra
from ..run import StepState

TIMING_FIELDS = ("seconds", "rows_per_second", "tokens_per_second")
"""What differs between two runs that are otherwise the same."""
LogLine = Mapping[str, Any]


class Log:
    """Appends a line of JSON to a file every `every` steps, and at every measure and the last step.

    The first step it is told of may come after an interruption: lines of that step and later ones are taken away
    first, so that the log of a run that went on is that of one that was never stopped, but for `TIMING_FIELDS`.
    """

    def __init__(self, path: Path, every: int = 1) -> None:
        self.path, self.every = path, every
        self.begun = False
        self.before = 0.0
        self.rows = self.tokens = 0

    def __call__(self, moment: StepState) -> None:
        if not self.begun:
            self._cut(moment.step)
        self.rows, self.tokens = self.rows + moment.rows, self.tokens + moment.tokens
        if moment.step % self.every and not moment.scores and moment.step != moment.steps:
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self._line(moment)) + "\n")

    def _line(self, moment: StepState) -> LogLine:
        took = max(moment.seconds - self.before, 1e-9)
        line = {
            "step": moment.step,
            "epoch": round(moment.epoch, 6),
            "loss": moment.loss,
            "rate": moment.rate,
            "norm": moment.norm,
            "tokens": moment.tokens,
            "seconds": round(moment.seconds, 3),
            "rows_per_second": round(self.rows / took, 1),
            "tokens_per_second": round(self.tokens / took, 1),
        }
        self.before, self.rows, self.tokens = moment.seconds, 0, 0
        return line | ({"scores": dict(moment.scores)} if moment.scores else {})

    def _cut(self, step: int) -> None:
        """Keeps the lines of earlier steps."""
        self.begun = True
        kept = [line for line in read_log(self.path) if line["step"] < step]
        self.before = kept[-1]["seconds"] if kept else 0.0
        with atomic_file(self.path) as partial:
            partial.write_text("".join(json.dumps(line) + "\n" for line in kept), "utf-8")


def read_log(path: Path) -> list[LogLine]:
    """The lines of a log, up to where a killed process may have torn one; none if there is no log."""
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
    """Loss, rate, norm and scores as event files in a folder; what a resumed run writes again replaces the older."""

    def __init__(self, folder: Path) -> None:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise missing_extra("tensorboard", "logs", "writing TensorBoard's events") from None
        self.folder, self.make = folder, SummaryWriter
        self.writer: Any = None

    def __call__(self, moment: StepState) -> None:
        if self.writer is None:
            self.writer = self.make(str(self.folder), purge_step=moment.step)
        for name in ("loss", "rate", "norm", "epoch"):
            self.writer.add_scalar(f"train/{name}", getattr(moment, name), moment.step)
        for name, value in moment.scores.items():
            self.writer.add_scalar(f"dev/{name}", value, moment.step)
        if moment.scores or moment.step == moment.steps:
            self.writer.flush()
