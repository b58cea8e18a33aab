"""Does a run that is killed again and again, at any moment, end like an uninterrupted one? Compares weights and logs.

    python -m benchmarks.kills [--kills 50] [--seed 0] [--steps 40]

A tiny model is trained once without interruption, then again in processes that SIGKILL ends at random moments, even
while loading or writing checkpoints; each process resumes from what the last one left. The digests of the final weights
and of the logs without times are printed; the exit status is 1 if any differ. If a run ends before all kills are used
up, the next one starts in a new folder.

Each process is forked from this one, which has imported everything but trained nothing (autograd's threads do not
survive a fork), so that starting one takes milliseconds.
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
    """Kill runs, compare them with the uninterrupted one, and print the results."""
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
    """Kill runs until all kills are used up, then let the last one end; return whether each ended as expected."""
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
        f"{spent} kills over {rounds} runs of {steps} steps: {went_on} left a checkpoint to resume from, "
        f"{torn} an incomplete one"
    )
    return same


def live(root: Path, folder: Path, steps: int) -> None:
    """One process of the run: resumes from the state of the folder."""
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
    os.kill(child, signal.SIGKILL)  # a process that has ended still exists until it is waited for
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def finish(work: Callable[[], None]) -> None:
    """Do the work in a new process, to the end."""
    status = os.waitpid(forked(work), 0)[1]
    if status:
        raise SystemExit(f"a process that was not killed ended with status {status}")


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
    """The digests of the saved weights, and of the log without its times."""
    lines = [{k: v for k, v in line.items() if k not in TIMING_FIELDS} for line in read_log(folder / "log.jsonl")]
    return tuple(
        hashlib.sha256(data).hexdigest()[:16]
        for data in ((folder / "model/model.safetensors").read_bytes(), json.dumps(lines).encode())
    )


if __name__ == "__main__":
    sys.exit(main())
