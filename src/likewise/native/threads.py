"""How many processors this process may use, and how many threads an engine should use."""

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
THREADS_VARIABLE = "OMP_NUM_THREADS"  # the environment variable that limits threads in most libraries


def allowed_cpus(cgroup: Path = CGROUP) -> int:
    """The number of CPUs that this process may use: its affinity, or the container's quota if that is lower."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota(cgroup)
    return cpus if quota is None else max(1, min(cpus, int(quota)))


def cpu_quota(cgroup: Path = CGROUP) -> float | None:
    """The CPU quota of the control group (version 2 or 1), as a number of processors; None if there is no limit."""
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        with suppress(OSError, ValueError, ZeroDivisionError):
            quota, period = " ".join((cgroup / name).read_text() for name in names).split()
            return None if quota in ("max", "-1") else int(quota) / int(period)
    return None


_cpus_of_process = cache(allowed_cpus)  # cached: it reads files, and engines need it for every batch


def thread_count(environment: Mapping[str, str] = os.environ) -> int:
    """Number of threads to use: OMP_NUM_THREADS if set, otherwise the allowed CPUs, divided by torchrun's processes."""
    given = environment.get(THREADS_VARIABLE, "").partition(",")[0].strip()
    if given.isdecimal() and int(given) > 0:
        return int(given)
    processes = environment.get("LOCAL_WORLD_SIZE", "1")
    return max(1, _cpus_of_process() // (int(processes) if processes.isdecimal() and int(processes) else 1))
