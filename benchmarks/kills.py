"""Is a run that was killed, again and again, at any moment, the run that never was? Its weights and log say so.

    python -m benchmarks.kills [--kills 50] [--seed 0] [--steps 40]

A tiny model is trained whole once, then again in processes that SIGKILL ends at random moments, loading and the
writing of checkpoints among them, each going on from what the one before left. Printed are the digests of the final
weights and of the logs without times; the exit status is 1 where any differ. Where a run ends before all kills are
spent, the next one begins in a fresh folder.

Each life is forked from this process, which has imported everything and trained nothing (autograd's threads do not
survive a fork), so that a life costs milliseconds.
"""

import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
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

from .options import options

WORDS = ["cat", "dog", "rain", "falls", "sleeps", "barks", "the", "a", "on", "mat", "and", "night"]


def main() -> int:
    """Kills, compares, prints."""
    args = options(__doc__, kills=50, steps=40, seed=0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        model_folder(root / "model", plain=True)
        began = time.perf_counter()
        finish(lambda: live(root, root / "whole", args.steps))
        finish(lambda: live(root, root / "warm", args.steps))
        whole = (time.perf_counter() - began) / 2
        expected = digests(root / "whole")
        print(f"never killed: weights {expected[0]}, log {expected[1]}")
        same = torture(root, args.kills, args.steps, whole, random.Random(args.seed), expected)
    return 0 if same else 1


def torture(
    root: Path, kills: int, steps: int, whole: float, moments: random.Random, expected: tuple[str, str]
) -> bool:
    """Runs that are killed until all kills are spent, then left to end; whether each ended as expected."""
    spent, rounds, same, went_on, torn = 0, 0, True, 0, 0
    while spent < kills or rounds == 0:
        folder, here = root / f"killed-{rounds}", 0
        while spent < kills and not (folder / "done").exists():
            if killed(lambda folder=folder: live(root, folder, steps), moments.uniform(0, 0.7 * whole)):
                spent, here = spent + 1, here + 1
                went_on += any(folder.glob("checkpoints/step-*"))
                torn += any(folder.glob("checkpoints/.step-*"))
        finish(lambda folder=folder: live(root, folder, steps))
        result = digests(folder)
        same &= result == expected
        verdict = "the same" if result == expected else "NOT THE SAME"
        print(f"killed {here} times: weights {result[0]}, log {result[1]}: {verdict}")
        rounds += 1
    print(
        f"{spent} kills over {rounds} runs of {steps} steps: {went_on} left a checkpoint to go on from, "
        f"{torn} one half written"
    )
    return same


def live(root: Path, folder: Path, steps: int) -> None:
    """One life of the run: goes on from what lies in the folder."""
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


def killed(work: Callable[[], None], after: float) -> bool:
    """Whether the process that does the work was still running, to be killed, after this time."""
    child = forked(work)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)  # one that has ended is still there to be waited for
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def finish(work: Callable[[], None]) -> None:
    """Does the work in a new process, to its end."""
    status = os.waitpid(forked(work), 0)[1]
    if status:
        raise SystemExit(f"a life that nobody killed ended with status {status}")


def forked(work: Callable[[], None]) -> int:
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def digests(folder: Path) -> tuple[str, str]:
    """Of the saved weights, and of the log without what only tells time."""
    lines = [{k: v for k, v in line.items() if k not in TIMING_FIELDS} for line in read_log(folder / "log.jsonl")]
    return tuple(
        hashlib.sha256(data).hexdigest()[:16]
        for data in ((folder / "model/model.safetensors").read_bytes(), json.dumps(lines).encode())
    )


if __name__ == "__main__":
    sys.exit(main())
