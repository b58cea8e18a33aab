"""Run by torchrun: whole runs over a folder's model; the leader writes weights, moments and what it found.

torchrun … tests/train/torchrun_runs.py '[["MODEL", "OUT", "OBJECTIVE", {"accumulate": 2}], …]'
"""

import hashlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save_file

from likewise import Embedder
from likewise.encoders.layers import without_dropout
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.objectives import parse_objective
from likewise.train.settings import TrainSettings
from likewise.train.step.processes import process_group
from tests.train.columns import columns_for
from tests.train.run_trainer import run_trainer

STEADY = {"learning_rate": 1e-3, "max_grad_norm": 0.5}


def whole(folder: str, out: Path, name: str, how: dict[str, float]) -> None:
    """`how`: dropout=1 keeps it; stop=N stops after step N, die=N ends the second process there; others: settings."""
    out.mkdir(exist_ok=True)
    torch.manual_seed(5 + int(os.environ.get("RANK", "0")))  # what a process draws before is its own affair
    dropout, stop, die = (int(how.pop(key, 0)) for key in ("dropout", "stop", "die"))
    embedder = TorchEmbedder.load(folder, device="cpu")
    if not dropout:  # how rows are shared out then makes no difference
        without_dropout(embedder)
    objective = parse_objective(name)
    rows = TrainingRows.of(columns_for(objective, 24), objective)
    run = TrainSettings(**{"max_steps": 6, "batch_size": 8, "save_steps": 2, **STEADY, **how})
    moments, built, before = [], [0], torch.get_rng_state()

    def asked() -> bool:
        built[0] += 1
        if die and built[0] == die and os.environ.get("RANK") == "1":
            os._exit(9)
        return built[0] == stop and os.environ.get("RANK", "1") == "1"  # the second alone is asked

    def spread(model: Embedder) -> dict[str, float]:
        assert os.environ.get("RANK", "0") == "0"
        return {"spread": float(model.encode(["a", "dogs bark"]).std())}

    with process_group() as processes:
        outcome = run_trainer(
            embedder,
            [DataSource(rows, objective)],
            run,
            checkpoint_folder=out / "checkpoints",
            evaluator=spread,
            callbacks=[moments.append],
            stop=asked,
        )
        assert torch.equal(before, torch.get_rng_state())
        assert bool(moments) == processes.is_main
        weights = {**embedder.state_dict(), **{f"objective.{n}": t for n, t in objective.state_dict().items()}}
        digest = hashlib.sha256(b"".join(t.numpy().tobytes() for t in weights.values())).hexdigest()
        same = not processes.any(digest != processes.broadcast(digest))
        if processes.is_main:
            save_file({n: t.contiguous() for n, t in weights.items()}, out / "weights.safetensors")
            reported = [{k: v for k, v in asdict(m).items() if k != "seconds"} for m in moments if m.step]
            result = {**asdict(outcome), "same": same, "moments": reported}
            (out / "found.json").write_text(json.dumps(result), "utf-8")


def threads_of_groups() -> list[str]:
    """The threads of torch.distributed that are alive, where the system tells of threads."""
    names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    return [name for name in names if "gloo" in name]


if __name__ == "__main__":
    torch.set_num_threads(1)
    with process_group():
        for model, place, objective, how in json.loads(sys.argv[1]):
            whole(model, Path(place), objective, how)
    assert not threads_of_groups()  # one that outlives its group can abort the process that ends
