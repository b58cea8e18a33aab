"""The machine's limit: products a second in each precision, and the tokens a second that these allow."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).with_name("limit.cpp")
KINDS = ("bert", "roberta", "xlm-roberta", "camembert", "mpnet", "electra", "distilbert")
"""Models whose every layer has four square products and two of the feed-forward part."""


class Probe:
    """The compiled probe; `measure` gives thousand millions of multiplications and additions a second."""

    def __init__(self, folder: Path) -> None:
        self.notes: dict[str, str] = {}
        self.program: Path | None = folder / "limit"
        folder.mkdir(parents=True, exist_ok=True)
        compiler = os.environ.get("CXX", "c++").split()
        try:
            flags = ["-O2", "-std=c++17", "-pthread", str(SOURCE), "-o", str(self.program)]
            subprocess.run([*compiler, *flags], check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.program, self.notes["all"] = None, f"no limit known, since the probe was not compiled ({error})"

    def measure(self, threads: int, cpus: Sequence[int]) -> dict[str, float]:
        """By precision; those whose limit is not known are missing, and `notes` says why."""
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
    """The arithmetic of a model: multiplications and additions of its products for one token, and its layers."""

    per_token: int | None = None
    depth: int | None = None
    unknown: str = field(default="")

    def tokens_per_s(self, billions: float) -> float | None:
        """Tokens a second at this many thousand millions of multiplications and additions a second."""
        return None if self.per_token is None else billions * 1e9 / self.per_token


def work_of(config: Path) -> Work:
    """From config.json; attention is not counted, since its work depends on the lengths of the texts."""
    values = json.loads(config.read_text("utf-8")) if config.exists() else {}
    kind = values.get("model_type")
    if kind not in KINDS:
        return Work(unknown=f"no limit known, since the products of a model of type {kind!r} are not counted here")
    width = values.get("hidden_size", values.get("dim"))
    inner = values.get("intermediate_size", values.get("hidden_dim"))
    depth = values.get("num_hidden_layers", values.get("n_layers"))
    return Work(2 * depth * (4 * width * width + 2 * width * inner), depth)
