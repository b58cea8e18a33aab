"""The machine: its CPU, and how many CPUs and how much memory this process may use."""

import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..native.threads import CGROUP, cpu_quota, thread_count
from .model_options import THREADS

CPUINFO, MEMINFO = Path("/proc/cpuinfo"), Path("/proc/meminfo")


def cpu(cpuinfo: Path = CPUINFO) -> str:
    return _fields(_text(cpuinfo)).get("model name") or platform.processor() or platform.machine()


def threads(environment: Mapping[str, str] = os.environ, cgroup: Path = CGROUP) -> dict[str, Any]:
    """The numbers of threads used and of CPUs, limits by affinity and container, and variables that set limits."""
    return {
        "used": thread_count(environment),
        "cpus": os.cpu_count(),
        "affinity": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "quota": cpu_quota(cgroup),
        "environment": {name: environment[name] for name in THREADS if name in environment},
    }


def memory(meminfo: Path = MEMINFO, cgroup: Path = CGROUP) -> dict[str, Any]:
    """Total and available gigabytes, and the container's limit; None for what the system does not report."""
    kilobytes = _fields(_text(meminfo))
    total, free = (_number(kilobytes.get(name, "")) for name in ("MemTotal", "MemAvailable"))
    limit, used = (_number(_text(cgroup / name)) for name in ("memory.max", "memory.current"))
    left = limit - used if limit is not None and used is not None else None
    if total is None and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:  # on macOS
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1024
    amounts = {
        "total_gb": total * 1024 if total else None,
        "free_gb": min([value for value in (free and free * 1024, left) if value is not None], default=None),
        "limit_gb": limit,
    }
    return {name: None if value is None else round(value / 1e9, 1) for name, value in amounts.items()}


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text("utf-8", "replace")
    return ""


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def _number(text: str) -> int | None:
    first = text.split()[:1]
    return int(first[0]) if first and first[0].isdecimal() else None
