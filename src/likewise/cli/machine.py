"""The machine: its CPU and instruction sets, and how many CPUs and how much memory this process may use."""

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..native.threads import CGROUP, cpu_quota, thread_count
from .model_options import THREADS

CPUINFO, MEMINFO = Path("/proc/cpuinfo"), Path("/proc/meminfo")
INSTRUCTION_SETS = {
    "AVX2": {"avx2"},
    "FMA": {"fma"},
    "F16C": {"f16c"},
    "AVX-512": {"avx512f", "avx512bw", "avx512vl"},
    "AVX-512 VNNI": {"avx512_vnni"},
    "AVX-512 BF16": {"avx512_bf16"},
    "AVX-VNNI": {"avx_vnni"},
    "AMX INT8": {"amx_int8"},
    "AMX BF16": {"amx_bf16"},
    "NEON": {"asimd"},
    "NEON dot product": {"asimddp"},
    "NEON BF16": {"bf16"},
    "NEON I8MM": {"i8mm"},
    "SVE": {"sve"},
}
"""Instruction sets that matter for matrix products, each with the kernel flags that together indicate it."""
APPLE = {"hw.optional.neon": "asimd", "hw.optional.arm.FEAT_DotProd": "asimddp", "hw.optional.arm.FEAT_BF16": "bf16"}
APPLE |= {"hw.optional.arm.FEAT_I8MM": "i8mm", "hw.optional.avx2_0": "avx2", "hw.optional.fma": "fma"}
"""The same flags under the names that macOS uses."""


def cpu(cpuinfo: Path = CPUINFO) -> dict[str, Any]:
    """The CPU's name and instruction sets; the sets are None if this system does not report them."""
    fields = _fields(_text(cpuinfo).split("\n\n", 1)[0])
    name = fields.get("model name") or _sysctl("machdep.cpu.brand_string") or platform.processor() or platform.machine()
    flags = {*(fields.get("flags") or fields.get("Features") or "").split()}
    flags = flags or {flag for name, flag in APPLE.items() if _sysctl(name) == "1"}
    sets = [name for name, needed in INSTRUCTION_SETS.items() if needed <= flags] if flags else None
    return {"name": name, "instruction_sets": sets}


def threads(environment: Mapping[str, str] = os.environ, cgroup: Path = CGROUP) -> dict[str, Any]:
    """The number of threads used, of CPUs, limits set by affinity and container, and variables that limit threads."""
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
    amounts = {
        "total_gb": total * 1024 if total else _number(_sysctl("hw.memsize")),
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


def _sysctl(name: str) -> str:
    """A value from macOS's sysctl; empty on other systems."""
    if sys.platform != "darwin":
        return ""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, timeout=5, check=False)
        return done.stdout.strip()
    return ""


def _number(text: str) -> int | None:
    first = text.split()[:1]
    return int(first[0]) if first and first[0].isdecimal() else None
