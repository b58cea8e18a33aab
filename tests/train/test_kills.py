"""A run that SIGKILL ends at any moment goes on as if nothing had been."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_run_killed_four_times_at_random_moments_ends_with_the_weights_and_the_log_of_one_never_killed():
    """Runs benchmarks.kills, which compares digests; its warnings of a model without pooling are no errors."""
    command = [sys.executable, "-m", "benchmarks.kills", "--kills", "4", "--steps", "16"]
    reported = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")},
    )
    assert reported.returncode == 0, reported.stdout + reported.stderr
    assert "4 kills" in reported.stdout and "NOT" not in reported.stdout
