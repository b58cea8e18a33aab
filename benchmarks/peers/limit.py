"""The machine's limit: multiply-adds per second in each precision, and the tokens per second that they allow."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).with_name("limit.cpp")
KINDS = ("bert", "roberta", "xlm-roberta", "camembert", "mpnet", "electra", "distilbert")
"""Models whose layers have four square matrix multiplications and two in the feed-forward network."""


class Probe:
    """The compiled probe; `measure` returns billions of multiply-adds per second."""

    def __init__(self, folder: Path) -> None:
        self.notes: dict[str, str] = {}
        self.program: Path | None = folder / "limit"
        folder.mkdir(parents=True, exist_ok=True)
        compiler = os.environ.get("CXX", "c++").split()
        try:
            flags = ["-O2", "-std=c++17", "-pthread", str(SOURCE), "-o", str(self.program)]
            subprocess.run([*compiler, *flags], check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.program, self.notes["all"] = (
                None,
                f"the limit is unknown, because the probe could not be compiled ({error})",
            )

    def measure(self, threads: int, cpus: Sequence[int]) -> dict[str, float]:
        """Measure the limits by precision; unknown limits are missing, and `notes` says why."""
        if self.program is None:
            return {}
        pin = (lambda: os.sched_setaffinity(0, cpus)) if cpus else None
        done = subprocess.run(
            [str(self.program), str(threads)], check=True, capture_output=True, text=True, preexec_fn=pin
        )
        return self._read(done.stdout)

    def _read(self, text: str) -> dict[str, float]:
        found = {}
        for line in text.splitlines():
            precision, value, note = line.split(" ", 2)
            if note:
                self.notes[precision] = note
            if value != "unknown":
                found[precision] = float(value)
        return found


@dataclass(frozen=True)
class Work:
    """A model's work: the multiply-adds of its matrix multiplications per token, and its number of layers."""

    per_token: int | None = None
    depth: int | None = None
    unknown: str = field(default="")

    def tokens_per_s(self, billions: float) -> float | None:
        """Return the tokens per second at this many billion multiply-adds per second."""
        return None if self.per_token is None else billions * 1e9 / self.per_token


def work_of(config: Path) -> Work:
    """Compute the work from config.json, without attention, whose work depends on text lengths."""
    values = json.loads(config.read_text("utf-8")) if config.exists() else {}
    kind = values.get("model_type")
    if kind not in KINDS:
        return Work(unknown=f"the limit is unknown, because multiply-adds of model type {kind!r} are not counted")
    width = values.get("hidden_size", values.get("dim"))
    inner = values.get("intermediate_size", values.get("hidden_dim"))
    depth = values.get("num_hidden_layers", values.get("n_layers"))
    return Work(2 * depth * (4 * width * width + 2 * width * inner), depth)
