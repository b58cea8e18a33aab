"""What every measurement needs: contenders in turn, medians, and a dated record of machine and commit."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

RESULTS = Path(__file__).parent / "results"


def in_turn(contenders: Mapping[str, Callable[[], Any]], rounds: int = 5) -> dict[str, list[float]]:
    """Seconds of each contender in each round: A B C, A B C, … after one round that is not counted.

    These machines are shared and their speed drifts; what happens to one contender in a round happens to the others.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for round_ in range(rounds + 1):
        for name, work in contenders.items():
            began = time.perf_counter()
            work()
            if round_:
                seconds[name].append(time.perf_counter() - began)
    return seconds


def ratio(seconds: Mapping[str, list[float]], of: str, to: str) -> float:
    """The median over rounds of how many times faster `of` was than `to` in that round."""
    return median(b / a for a, b in zip(seconds[of], seconds[to], strict=True))


def machine(device: str = "cpu") -> dict[str, Any]:
    """Where and when, as far as a figure depends on it; `torch` is None where a measurement does without."""
    machine: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
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
    """Writes benchmarks/results/NAME.json: the figures, and the machine they are from."""
    path = RESULTS / f"{name}.json"
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps({"machine": machine(device), "results": results}, indent=2) + "\n", "utf-8")
    print(f"written: benchmarks/results/{path.name}")
    return path


def data(*parts: str) -> Path:
    """A file of the data sets, found through LIKEWISE_DATA."""
    root = os.environ.get("LIKEWISE_DATA")
    if not root or not Path(root, *parts).exists():
        raise SystemExit(f"{'/'.join(parts)} is wanted in the folder of data sets; LIKEWISE_DATA is {root!r}")
    return Path(root, *parts)


def _commit() -> str:
    try:
        git = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True)
        return git.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return os.environ.get("LIKEWISE_COMMIT", "unknown")


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
