"""Several processes train as one would with the joined batch."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from likewise import Embedder
from likewise.errors import BadInput
from likewise.train.objectives import OBJECTIVES
from likewise.train.step.processes import SINGLE_PROCESS, Processes
from tests.tiny import model_folder
from tests.train.together import gradient
from tests.train.whole_run import whole

ROOT = Path(__file__).parents[3]
SPECS = [name if name != "tsdae" else "tsdae:deletion_ratio=0" for name in OBJECTIVES]  # noise is each process's own
WHOLE = str(ROOT / "tests/train/whole_run.py")
TWO = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"]


def _run(*command, fails=False):
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"}
    made = subprocess.run([*TWO, *command], env=env, capture_output=True, text=True, timeout=240)
    assert (made.returncode != 0) == fails, made.stderr[-3000:]
    return made


JOINED = {"gradient_accumulation_steps": 2, "ema_decay": 0.5, "eval_steps": 2}
DRAWING = {"dropout": 1, "save_steps": 4, "early_stopping_patience": 50}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A model's folder, and where the runs of two processes over it lie: one launch, since that is what takes long."""
    place = tmp_path_factory.mktemp("two")
    folder = model_folder(place / "model")
    jobs = [
        *((name, name, JOINED) for name in ("contrastive:learn_temperature", "classification")),
        ("whole", "tsdae", DRAWING),
        ("cut", "tsdae", {**DRAWING, "stop": 3}),
    ]
    _run(WHOLE, json.dumps([[str(folder), str(place / out), name, how] for out, name, how in jobs]))
    return folder, place


def _found(out):
    return json.loads((out / "found.json").read_text()), load_file(out / "weights.safetensors")


def test_two_processes_have_the_loss_and_the_gradient_of_one(own, tmp_path):
    folder, out = str(own()), tmp_path / "found.pt"
    _run(str(ROOT / "tests/train/together.py"), folder, str(out), *SPECS)
    found = torch.load(out, weights_only=True)
    for name in SPECS:
        wanted = gradient(folder, name, SINGLE_PROCESS, None)
        assert found[name].keys() == wanted.keys()
        for key, value in wanted.items():
            torch.testing.assert_close(
                found[name][key], value, atol=1e-12, rtol=1e-10, msg=lambda m, n=name: f"{n}: {m}"
            )


@pytest.mark.parametrize("name", ["contrastive:learn_temperature", "classification"])
def test_a_run_of_two_processes_ends_with_the_weights_of_one(name, runs, tmp_path):
    """Over six steps of two batches each, gradients clipped, with a running mean of the weights and a measure."""
    folder, place = runs
    whole(str(folder), tmp_path / "one", name, dict(JOINED))
    (alone, expected), (found, weights) = _found(tmp_path / "one"), _found(place / name)
    assert found["same"] and found["steps"] == 6 and found["best_step"] == alone["best_step"]
    assert found["best_score"] == pytest.approx(alone["best_score"], rel=1e-4)
    assert found["initial_scores"] == pytest.approx(alone["initial_scores"], rel=1e-4)
    for a, b in zip(found["moments"], alone["moments"], strict=True):
        assert (a["rows"], a["tokens"], a["step"]) == (b["rows"], b["tokens"], b["step"])
        assert a["learning_rate"] == b["learning_rate"]
        assert b["gradient_norm"] > 0.5  # so that clipping is at work
        assert (a["loss"], a["gradient_norm"]) == pytest.approx((b["loss"], b["gradient_norm"]), rel=1e-3)
    for key, weight in expected.items():
        torch.testing.assert_close(weights[key], weight, atol=2e-5, rtol=1e-4)
    began = Embedder.load(folder, device="cpu").state_dict()
    assert max(float((expected[key] - weight).abs().max()) for key, weight in began.items()) > 1e-3


def test_two_processes_stop_when_one_is_asked_and_go_on_to_the_same_weights_bit_for_bit(runs):
    """With dropout, which each draws for itself, and noise."""
    folder, place = runs
    found, _ = _found(place / "cut")
    assert found["interrupted"] and found["steps"] == 3
    assert [p.name for p in (place / "cut/checkpoints").iterdir()] == ["step-00000003"]
    with pytest.raises(BadInput, match="processes was 2 and is 1"):
        whole(str(folder), place / "cut", "tsdae", dict(DRAWING))
    _run(WHOLE, json.dumps([[str(folder), str(place / "cut"), "tsdae", DRAWING]]))
    (resumed, weights), (straight, expected) = _found(place / "cut"), _found(place / "whole")
    assert resumed["same"] and [m["step"] for m in resumed["moments"]] == [4, 5, 6]
    assert resumed["moments"] == straight["moments"][3:]
    assert all(torch.equal(weights[n], w) for n, w in expected.items())


def test_where_one_process_dies_the_other_does_not_wait_for_it(runs, tmp_path):
    began = time.monotonic()
    _run(WHOLE, json.dumps([[str(runs[0]), str(tmp_path), "contrastive", {"die": 3}]]), fails=True)
    assert time.monotonic() - began < 60
    assert (tmp_path / "checkpoints/step-00000002").is_dir() and not (tmp_path / "found.json").exists()


def test_a_batch_that_cannot_be_shared_out_is_refused():
    with pytest.raises(BadInput, match="7 rows cannot be divided evenly among 2"):
        Processes(0, 2).local_rows(7)
    assert [Processes(r, 2).local_rows(8) for r in (0, 1)] == [slice(0, 4), slice(4, 8)]
