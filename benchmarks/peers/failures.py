"""A contender that fails is a row with its error, and the others go on."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .process import ContenderFailed
from .progress import Progress


@dataclass
class FailureNote:
    """A context in which a contender's failure becomes part of its record."""

    record: dict[str, Any]
    name: str
    where: str
    progress: Progress

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        if not isinstance(error, ContenderFailed):
            return False
        if "error" not in self.record:  # the first one counts
            self.record.update(error=str(error), failed=self.where)
        self.progress.say(f"{self.name} failed {self.where}: {str(error)[:300]}")
        return True


def available_mb() -> float:
    """Free memory in MB; without bound where it is not known."""
    info = Path("/proc/meminfo")
    if not info.exists():
        return float("inf")
    line = next(line for line in info.read_text().splitlines() if line.startswith("MemAvailable:"))
    return int(line.split()[1]) * 1024 / 1e6
