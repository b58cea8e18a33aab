"""Threads: as many as affinity, the container's quota and OMP_NUM_THREADS allow."""

import os

import pytest

from likewise.native import threads as module
from likewise.native.threads import allowed_cpus, cpu_quota, thread_count


@pytest.mark.parametrize(
    ("quota", "most"), [("max 100000", None), ("100000 100000", 1), ("50000 100000", 1), ("x", None)]
)
def test_a_container_s_quota_bounds_the_cpus(quota, most, tmp_path):
    (tmp_path / "cpu.max").write_text(quota)
    free = allowed_cpus(tmp_path / "nowhere")
    assert allowed_cpus(tmp_path) == (most or free)
    assert 1 <= free <= (os.cpu_count() or 1)


def test_the_quota_of_either_version_of_control_groups_is_read(tmp_path):
    assert cpu_quota(tmp_path) is None
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert cpu_quota(tmp_path) == 1.5
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert cpu_quota(tmp_path) is None
    (tmp_path / "cpu.max").unlink()
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text("50000\n")
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000\n")
    assert cpu_quota(tmp_path) == 0.5


@pytest.mark.parametrize(
    ("environment", "threads"),
    [
        ({"OMP_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "4,2"}, 4),
        ({"OMP_NUM_THREADS": "3", "LOCAL_WORLD_SIZE": "2"}, 3),
        ({"OMP_NUM_THREADS": "0"}, allowed_cpus()),
        ({"OMP_NUM_THREADS": "many"}, allowed_cpus()),
        ({}, allowed_cpus()),
        ({"LOCAL_WORLD_SIZE": "1000"}, 1),
        ({"LOCAL_WORLD_SIZE": "0"}, allowed_cpus()),
    ],
)
def test_threads_are_those_of_the_environment_or_all_cpus(environment, threads):
    assert thread_count(environment) == threads


@pytest.mark.parametrize(
    ("environment", "threads"),
    [({"LOCAL_WORLD_SIZE": "3"}, 2), ({"LOCAL_WORLD_SIZE": "x"}, 8), ({"OMP_NUM_THREADS": " 2 "}, 2), ({}, 8),
     ({"LOCAL_WORLD_SIZE": "9"}, 1), ({"OMP_NUM_THREADS": "1"}, 1), ({"OMP_NUM_THREADS": "-2"}, 8)],
)  # fmt: skip
def test_processes_share_the_cpus_unless_threads_are_given(environment, threads, monkeypatch):
    monkeypatch.setattr(module, "_cpus_of_process", lambda: 8)
    assert thread_count(environment) == threads


@pytest.mark.parametrize(
    ("quota", "cpus"), [("250000 100000", 2), ("300000 100000", 3), ("900000 100000", 8), ("1 100000", 1), ("5 0", 8)]
)
def test_whole_cpus_of_a_quota_count(quota, cpus, monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    (tmp_path / "cpu.max").write_text(quota)
    assert allowed_cpus(tmp_path) == cpus


def test_minus_one_is_no_quota(tmp_path):
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text("-1\n")
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000\n")
    assert cpu_quota(tmp_path) is None


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_the_affinity_of_the_process_bounds_the_cpus(tmp_path):
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert allowed_cpus(tmp_path) == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(("counted", "cpus"), [(None, 1), (6, 6)])
def test_where_there_is_no_affinity_the_systems_count_holds(counted, cpus, tmp_path, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: counted)
    assert allowed_cpus(tmp_path) == cpus
