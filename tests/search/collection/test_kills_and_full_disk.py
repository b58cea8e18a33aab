"""What a collection has acknowledged survives kills and a full disk: a small run of benchmarks.collection_kills."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-m", "benchmarks.collection_kills"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize(
    "options",
    [["--kills", "5", "--full-disk", "none"], ["--kills", "0", "--full-disk", "limit", "--step", "9"]],
    ids=" ".join,
)
def test_nothing_is_lost_or_there_twice(options):
    reported = subprocess.run(
        [*COMMAND, *options, "--longest", "0.15"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")},
    )
    assert reported.returncode == 0, reported.stdout + reported.stderr
    assert "0 LOST OR TWICE" in reported.stdout and "0 NOT CLEAN" in reported.stdout
