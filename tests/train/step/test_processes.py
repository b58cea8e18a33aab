"""Several processes train as one would with the joined batch."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file
from torch import distributed

from likewise.errors import BadInput
from likewise.train.data.batch import Batch, text_id
from likewise.train.objectives import OBJECTIVES
from likewise.train.step import processes as module
from likewise.train.step.processes import SINGLE_PROCESS, Processes, process_group
from tests.tiny import model_folder
from tests.train.run_trainer import load
from tests.train.torchrun_runs import whole
from tests.train.torchrun_step import gradient

ROOT = Path(__file__).parents[3]
SPECS = [name if name != "tsdae" else "tsdae:deletion_ratio=0" for name in OBJECTIVES]  # noise is each process's own
SPECS += ["cross/regression", "cross/ranking", "poly/regression:temperature=8", "poly/ranking", "poly/in-batch"]
SPECS += ["cross/scaled", "poly/scaled"]  # an objective with a parameter of its own
WHOLE = str(ROOT / "tests/train/torchrun_runs.py")
PATIENCE = 600  # seconds on a busy machine; a process that waits for another does so for processes.TIMEOUT, two hours
TWO = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"]


def _run(*command, fails=False):
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"}
    made = subprocess.run([*TWO, *command], env=env, capture_output=True, text=True, timeout=PATIENCE)
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
    _run(str(ROOT / "tests/train/torchrun_step.py"), folder, str(out), *SPECS)
    found = torch.load(out, weights_only=True)
    for name in SPECS:
        wanted = gradient(folder, name, SINGLE_PROCESS, None)
        assert found[name].keys() == wanted.keys() and ("objective.slope" in wanted) == name.endswith("/scaled")
        assert abs(float(found[name].pop("loss") - wanted.pop("loss"))) < 1e-6  # rerankers' are gathered in fp32
        for key, value in wanted.items():
            close = {"atol": 1e-12, "rtol": 1e-10}
            torch.testing.assert_close(found[name][key], value, **close, msg=lambda m, n=name: f"{n}: {m}")


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
    began = load(folder).state_dict()
    assert max(float((expected[key] - weight).abs().max()) for key, weight in began.items()) > 1e-3


def test_two_processes_stop_when_one_is_asked_and_go_on_to_the_same_weights_bit_for_bit(runs):
    """With dropout, which each draws for itself, and noise."""
    folder, place = runs
    found, _ = _found(place / "cut")
    assert found["interrupted"] and found["steps"] == 3
    assert [p.name for p in (place / "cut/checkpoints").iterdir()] == ["step-00000003"]
    with pytest.raises(BadInput, match="processes was 2 and is now 1"):
        whole(str(folder), place / "cut", "tsdae", dict(DRAWING))
    _run(WHOLE, json.dumps([[str(folder), str(place / "cut"), "tsdae", DRAWING]]))
    (resumed, weights), (straight, expected) = _found(place / "cut"), _found(place / "whole")
    assert resumed["same"] and [m["step"] for m in resumed["moments"]] == [4, 5, 6]
    assert resumed["moments"] == straight["moments"][3:]
    assert all(torch.equal(weights[n], w) for n, w in expected.items())


def test_where_one_process_dies_the_other_does_not_wait_for_it(runs, tmp_path):
    _run(WHOLE, json.dumps([[str(runs[0]), str(tmp_path), "contrastive", {"die": 3}]]), fails=True)
    assert (tmp_path / "checkpoints/step-00000002").is_dir() and not (tmp_path / "found.json").exists()


def test_a_batch_that_cannot_be_shared_out_is_refused():
    with pytest.raises(BadInput, match="7 rows cannot be divided evenly among 2"):
        Processes(0, 2).local_rows(7)
    assert [Processes(r, 2).local_rows(8) for r in (0, 1)] == [slice(0, 4), slice(4, 8)]


class InThreads:
    """Stands in for torch.distributed: its processes are threads of this one, so that each call can be looked at."""

    ReduceOp = distributed.ReduceOp

    def __init__(self, count):
        self.barrier, self.given, self.own = threading.Barrier(count), [None] * count, threading.local()

    def _exchange(self, tensor):
        assert tensor.is_contiguous()
        self.given[self.own.rank] = tensor.clone()
        self.barrier.wait(10)
        everyones = list(self.given)
        self.barrier.wait(10)
        return everyones

    def all_gather(self, parts, local):
        for part, value in zip(parts, self._exchange(local), strict=True):
            part.copy_(value)

    def all_reduce(self, tensor, op=distributed.ReduceOp.SUM):
        everyones = torch.stack(self._exchange(tensor))
        tensor.copy_(everyones.amax(0) if op == distributed.ReduceOp.MAX else everyones.sum(0))

    def broadcast(self, tensor, source):
        tensor.copy_(self._exchange(tensor)[source])


@pytest.fixture
def in_threads(monkeypatch):
    """What each of `count` processes returns."""

    def together(count, work):
        standing_in = InThreads(count)
        monkeypatch.setattr(module, "distributed", standing_in)

        def one(rank):
            standing_in.own.rank = rank
            try:
                return work(Processes(rank, count))
            except BaseException:
                standing_in.barrier.abort()
                raise

        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(one, range(count)))

    return together


def test_rows_of_all_processes_come_in_the_order_of_their_ranks(in_threads):
    wide = torch.arange(24.0).view(4, 6).T  # not contiguous
    found = in_threads(3, lambda processes: processes.gather(wide[processes.local_rows(6)]))
    assert all(torch.equal(rows, wide) for rows in found)
    assert SINGLE_PROCESS.gather(wide) is wide


def test_narrower_rows_are_padded_on_the_right_to_the_widest(in_threads):
    rows = [torch.tensor([[1, 2, 3]]), torch.tensor([[4], [5]])]
    found = in_threads(2, lambda processes: processes.pad_to_widest(rows[processes.rank], -1))
    assert [one.tolist() for one in found] == [[[1, 2, 3]], [[4, -1, -1], [5, -1, -1]]]
    assert SINGLE_PROCESS.pad_to_widest(rows[1], -1) is rows[1]


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_gradients_are_summed_where_one_process_has_them(scale, in_threads):
    """The first parameter has a gradient in both, the second in one, the third in none, the fourth is frozen."""

    def summed(processes):
        made = [torch.nn.Parameter(torch.zeros(shape)) for shape in ((2, 2), (3,), (1,), (1,))]
        made[0].grad = torch.full((2, 2), 1.0 + processes.rank)
        made[1].grad = torch.full((3,), 5.0) if processes.rank else None
        made[3].requires_grad_(False)
        made[3].grad = torch.full((1,), 7.0)
        processes.sum_gradients(made, scale)
        return [None if p.grad is None else p.grad.tolist() for p in made]

    wanted = [[[3 * scale] * 2] * 2, [5 * scale] * 3, None, [7.0]]
    assert in_threads(2, summed) == [wanted, wanted]


def test_without_a_gradient_anywhere_or_alone_nothing_is_done(in_threads):
    def none(processes):
        parameter = torch.nn.Parameter(torch.zeros(2))
        processes.sum_gradients([parameter])
        processes.sum_gradients([])
        return parameter.grad

    assert in_threads(2, none) == [None, None]
    alone = torch.nn.Parameter(torch.zeros(2))
    alone.grad = torch.ones(2)
    SINGLE_PROCESS.sum_gradients([alone], 0.5)
    assert alone.grad.tolist() == [1, 1]


@pytest.mark.parametrize("local", [[0, 0], [0, 1], [1, 1], [2, 3]])
def test_numbers_are_summed_and_one_that_is_true_is_enough(local, in_threads):
    found = in_threads(
        2, lambda processes: (processes.sum(local[processes.rank]), processes.any(local[processes.rank] > 0))
    )
    assert found == [(sum(local), any(local))] * 2
    assert SINGLE_PROCESS.sum(3) == 3 and SINGLE_PROCESS.any(True) and not SINGLE_PROCESS.any(False)


def test_the_main_processes_value_and_tensors_are_everybodys(in_threads):
    def shared(processes):
        tensors = [torch.full((2, 3), float(processes.rank)).T, torch.tensor(processes.rank)]
        versions = [t._version for t in tensors]
        processes.synchronize(tensors)
        newer = [t._version > v for t, v in zip(tensors, versions, strict=True)]
        return (
            processes.is_main,
            processes.broadcast({"a": [processes.rank, "é"]}),
            [t.tolist() for t in tensors],
            newer,
        )

    first, second = in_threads(2, shared)
    assert first == (True, {"a": [0, "é"]}, [[[0.0] * 2] * 3, 0], [True, True])
    assert second == (False, *first[1:])
    kept = torch.ones(2)
    SINGLE_PROCESS.synchronize([kept])
    assert SINGLE_PROCESS.broadcast({"a": 1}) == {"a": 1} and kept._version == 0 and SINGLE_PROCESS.is_main


def test_without_torchrun_there_is_one_process_and_its_group_is_begun_and_ended_once(monkeypatch):
    with process_group() as alone:
        assert alone is SINGLE_PROCESS
    calls = []

    standing_in = SimpleNamespace(
        is_initialized=lambda: bool(calls),
        init_process_group=lambda backends, timeout: calls.append(("begun", backends, timeout.total_seconds())),
        destroy_process_group=lambda: calls.append("ended"),
        get_rank=lambda: 1,
        get_world_size=lambda: 3,
    )
    monkeypatch.setenv("WORLD_SIZE", "3")
    monkeypatch.setattr(module, "distributed", standing_in)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with process_group() as outer, process_group() as inner:
        assert outer == inner == Processes(1, 3)
        assert calls == [("begun", "gloo", 2 * 3600)]
    assert calls[1:] == ["ended"]
    calls.clear()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with process_group():
        assert calls[0][1] == "cpu:gloo,cuda:nccl"
    monkeypatch.setenv("WORLD_SIZE", "1")
    with process_group() as alone:
        assert alone is SINGLE_PROCESS


def test_a_batch_is_joined_with_its_numbers_names_and_padded_ids(in_threads):
    ids = [torch.tensor([[1, 2, 3]]), torch.tensor([[4]])]
    parts = [Batch((("a",), ("b",)), {"score": torch.tensor([0.5]), "token_ids": ids[0]}),
             Batch((("c",), ("a",)), {"score": torch.tensor([0.25]), "token_ids": ids[1]})]  # fmt: skip
    for joined, part in zip(in_threads(2, lambda p: parts[p.rank].gather(p)), parts, strict=True):
        assert joined.texts == part.texts and joined.numbers["score"].tolist() == [0.5, 0.25]
        assert joined.numbers["token_ids"].tolist() == [[1, 2, 3], [4, -1, -1]]
        assert joined.names.tolist() == [[text_id("a"), text_id("b")], [text_id("c"), text_id("a")]]
    assert parts[0].gather(SINGLE_PROCESS) is parts[0]
