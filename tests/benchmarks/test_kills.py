"""Training, collections and `likewise index add` survive kills and a full disk: small runs of the tests by kills."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SMALL = [
    "kills --kills 4 --steps 16",
    "collection_kills --kills 5 --full-disk none --longest 0.15",
    "collection_kills --kills 0 --full-disk limit --step 9",
    "index_add_kills --kills 3 --small",
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("command", SMALL)
def test_nothing_is_lost_or_other_than_in_an_uninterrupted_run(command):
    own = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", *f"benchmarks.{command}".split()]
    reported = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=own)
    assert reported.returncode == 0, reported.stdout + reported.stderr
    assert any(f" 0 {what}\n" in reported.stdout for what in ("NOT THE SAME", "LOST OR TWICE", "LOST"))
