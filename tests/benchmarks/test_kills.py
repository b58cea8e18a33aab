"""Training, collections and `likewise index add` survive kills and a full disk: small runs of the tests by kills."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.killing import KILLED

ROOT = Path(__file__).parents[2]
SMALL = [
    "kills --kills 3 --steps 12",
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


def test_only_what_was_killed_counts_as_a_kill_and_none_is_refused(tmp_path, monkeypatch):
    from benchmarks import kills

    codes = iter([0, KILLED, 0])
    monkeypatch.setattr(kills, "lived", lambda *_: (next(codes), []))
    monkeypatch.setattr(kills, "digests", lambda _: "same")
    (tmp_path / "killed-0/checkpoints/step-1").mkdir(parents=True)
    counts = kills.tortured(tmp_path, 1, 4, 0.0, random.Random(0))
    assert counts["kills"] == counts["kills that left a checkpoint to resume from"] == 1
    monkeypatch.setattr(sys, "argv", ["kills", "--kills", "0"])
    with pytest.raises(SystemExit, match="--kills is 0; expected at least 1"):
        kills.main()
