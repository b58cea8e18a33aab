"""`likewise index add` survives kills: a small run of benchmarks/index_add_kills.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_what_was_acknowledged_is_there_and_the_end_is_that_of_an_uninterrupted_run():
    reported = subprocess.run(
        [sys.executable, "-m", "benchmarks.index_add_kills", "--kills", "3", "--small"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")},
    )
    assert reported.returncode == 0, reported.stdout + reported.stderr
    for name in ("LOST", "TWICE", "NOT CLEAN", "WITH ANOTHER CONTENT", "ANOTHER CONTENT AT THE END"):
        assert f" 0 {name}\n" in reported.stdout
