"""Does a run that is killed again and again, at any moment, end like an uninterrupted one? Compares weights and logs.

    python -m benchmarks.kills [--kills 50] [--seed 0] [--steps 40]

A tiny model is trained once without interruption, then again in processes that SIGKILL ends at random moments, even
while loading or writing checkpoints; each process resumes from the state that the last one left. The digests of the
final weights and of the logs without times are compared; the exit status is 1 if any digest differs. If a run finishes
before all kills are used up, the next one starts in a new folder. The parent process trains nothing itself, because
autograd's threads do not survive a fork.
"""

import hashlib
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch

from likewise import Embedder
from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.objectives import OBJECTIVES
from likewise.train.output.callbacks import TIMING_FIELDS, Log, read_log
from likewise.train.settings import TrainSettings
from likewise.train.trainer import Trainer
from tests.tiny import model_folder

from .killing import KILLED, lived, summary
from .options import options

WORDS = ["cat", "dog", "rain", "falls", "sleeps", "barks", "the", "a", "on", "mat", "and", "night"]


def main() -> int:
    """Kill runs, compare them with the uninterrupted one, and print the results."""
    args = options(__doc__, kills=50, steps=40, seed=0)
    if args.kills < 1:
        raise SystemExit(f"--kills is {args.kills}; expected at least 1, because only killed runs are compared")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        model_folder(root / "model", plain=True)
        began = time.perf_counter()
        for name in ("whole", "warm"):
            lived(lambda _, name=name: live(root, root / name, args.steps))
        return summary(
            tortured(root, args.kills, args.steps, (time.perf_counter() - began) / 2, random.Random(args.seed))
        )


def tortured(root: Path, kills: int, steps: int, whole: float, moments: random.Random) -> Counter[str]:
    """Kill runs until all kills are used up, and let the last run finish; count the runs with different results."""
    counts = Counter({"kills": 0, "NOT THE SAME": 0})
    while counts["kills"] < kills:
        folder = root / f"killed-{counts['runs']}"
        while counts["kills"] < kills and not (folder / "done").exists():
            code, _ = lived(lambda _, folder=folder: live(root, folder, steps), moments.uniform(0, 0.7 * whole))
            if code == KILLED:
                counts["kills"] += 1
                counts["kills that left a checkpoint to resume from"] += any(folder.glob("checkpoints/step-*"))
                counts["kills that left an incomplete checkpoint"] += any(folder.glob("checkpoints/.step-*"))
        lived(lambda _, folder=folder: live(root, folder, steps))
        counts["NOT THE SAME"] += digests(folder) != digests(root / "whole")
        counts["runs"] += 1
    return counts


def live(root: Path, folder: Path, steps: int) -> None:
    """Train in one process of a run, resuming from the state of the folder."""
    embedder = Embedder.load(root / "model", engine="torch", device="cpu", pooling="mean")
    objective = OBJECTIVES["classification"].build(2)
    pick = np.random.default_rng(0)
    texts = [[" ".join(pick.choice(WORDS, 6)) for _ in range(64)] for _ in range(2)]
    columns = {"sentence1": texts[0], "sentence2": texts[1], "label": [i % 2 for i in range(64)]}
    torch.manual_seed(0)
    settings = TrainSettings(
        max_steps=steps, batch_size=8, save_steps=2, ema_decay=0.9, gradient_accumulation_steps=2, learning_rate=1e-3
    )
    Trainer(
        model=embedder,
        data=[DataSource(TrainingRows.of(columns, objective), objective)],
        settings=settings,
        evaluator=lambda model: {"spread": float(model.encode(texts[0][:8]).std())},
        callbacks=[Log(folder / "log.jsonl")],
        checkpoint_folder=folder / "checkpoints",
    ).run()
    embedder.save(folder / "model")
    (folder / "done").touch()


def digests(folder: Path) -> tuple[str, str]:
    """Return the digests of the saved weights and of the log without its times."""
    lines = [{k: v for k, v in line.items() if k not in TIMING_FIELDS} for line in read_log(folder / "log.jsonl")]
    return tuple(
        hashlib.sha256(data).hexdigest()[:16]
        for data in ((folder / "model/model.safetensors").read_bytes(), json.dumps(lines).encode())
    )


if __name__ == "__main__":
    sys.exit(main())
