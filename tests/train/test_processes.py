"""Several processes train as one would with the joined batch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from likewise.errors import BadInput
from likewise.train.objectives import OBJECTIVES
from likewise.train.processes import ALONE, Processes
from tests.train.together import gradient

ROOT = Path(__file__).parents[2]
SPECS = [name if name != "tsdae" else "tsdae:noise=0" for name in OBJECTIVES]  # noise is each process's own


def test_two_processes_have_the_loss_and_the_gradient_of_one(own, tmp_path):
    folder, out = str(own()), tmp_path / "found.pt"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"]
    script = [str(ROOT / "tests/train/together.py"), folder, str(out), *SPECS]
    made = subprocess.run(
        [*torchrun, *script],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert made.returncode == 0, made.stderr[-2000:]
    found = torch.load(out, weights_only=True)
    for name in SPECS:
        wanted = gradient(folder, name, ALONE, None)
        assert found[name].keys() == wanted.keys()
        for key, value in wanted.items():
            torch.testing.assert_close(
                found[name][key], value, atol=1e-12, rtol=1e-10, msg=lambda m, n=name: f"{n}: {m}"
            )


def test_a_batch_that_cannot_be_shared_out_is_refused():
    with pytest.raises(BadInput, match="7 rows cannot be shared among 2"):
        Processes(0, 2).own(7)
    assert [Processes(r, 2).own(8) for r in (0, 1)] == [slice(0, 4), slice(4, 8)]
