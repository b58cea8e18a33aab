"""Helpers for measurements: alternate between contenders, take medians, and record date, machine and commit."""

import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from likewise.source_commit import source_commit
from papers.measuring.sentence_rates import in_turn, ratio

__all__ = ["RESULTS", "data", "in_turn", "machine", "place", "ratio", "read", "save"]

RESULTS = Path(__file__).parent / "results"


def machine(device: str = "cpu") -> dict[str, Any]:
    """Return the date, machine and versions that a result depends on; `torch` is None for measurements without it."""
    machine: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": source_commit() or os.environ.get("LIKEWISE_COMMIT", "unknown"),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "torch": version("torch") if find_spec("torch") else None,
    }
    if device != "cpu":
        import torch

        machine["gpu"] = torch.cuda.get_device_name()
    return machine


def save(name: str, results: Any, device: str = "cpu") -> Path:
    """Write the results and the machine to benchmarks/results/NAME.json."""
    path = RESULTS / f"{name}.json"
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps({"machine": machine(device), "results": results}, indent=2) + "\n", "utf-8")
    print(f"written: benchmarks/results/{path.name}")
    return path


def read(name: str) -> Any:
    """Read benchmarks/results/NAME.json."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def place(machine: Mapping[str, Any]) -> str:
    """The machine, date and commit of a measurement, for the line below a table."""
    return f"{machine['cpu']}, {machine['date']}, commit {machine['commit']}"


def data(*parts: str) -> Path:
    """Return the path of a data set's file in the folder LIKEWISE_DATA."""
    root = os.environ.get("LIKEWISE_DATA")
    if not root or not Path(root, *parts).exists():
        raise SystemExit(f"{'/'.join(parts)} was not found; set LIKEWISE_DATA (now {root!r}) to the data folder")
    return Path(root, *parts)


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
