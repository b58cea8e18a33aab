"""Several processes train a reranker as one would with the joined batch."""

import os
import subprocess
import sys
from pathlib import Path

import torch

from likewise.train.step.processes import SINGLE_PROCESS
from tests.train.torchrun_reranker_step import gradient

ROOT = Path(__file__).parents[2]
SPECS = ["cross/regression", "cross/ranking", "poly/regression:temperature=8", "poly/ranking", "poly/in-batch"]
SPECS += ["cross/scaled", "poly/scaled"]  # an objective with a parameter of its own


def test_two_processes_have_the_loss_and_the_gradient_of_one(own, tmp_path):
    folder, out = str(own()), tmp_path / "found.pt"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"]
    built = subprocess.run(
        [*torchrun, str(ROOT / "tests/train/torchrun_reranker_step.py"), folder, str(out), *SPECS],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert built.returncode == 0, built.stderr[-2000:]
    result = torch.load(out, weights_only=True)
    for spec in SPECS:
        expected = gradient(folder, spec, SINGLE_PROCESS, None)
        assert ("objective.slope" in expected) == spec.endswith("/scaled")
        assert result[spec].keys() == expected.keys()
        assert abs(float(result[spec].pop("loss") - expected.pop("loss"))) < 1e-6  # losses are told in single precision
        for key, value in expected.items():
            torch.testing.assert_close(
                result[spec][key], value, atol=1e-12, rtol=1e-10, msg=lambda m, s=spec: f"{s}: {m}"
            )
