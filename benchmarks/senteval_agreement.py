"""Do the two modes of SentEval's classifiers agree, and how long does each take?

    LIKEWISE_DATA=data python -m benchmarks.senteval_agreement --model all-MiniLM-L6-v2 cr trec mrpc sick-e

Figures are accuracies × 100. Texts are encoded once, before the clock starts. The faithful mode takes an hour or more
for the large tasks; each task is saved when it is done.
"""

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch

from likewise import Embedder
from likewise.evaluate.task import Encode, EvaluationSettings, Mode, Result, Task
from likewise.evaluate.tasks.senteval import SENTEVAL_NAMES, SENTEVAL_TASKS

from .options import options
from .record import RESULTS, data, machine, read, save

BY_NAME = {task.name: task for task in SENTEVAL_TASKS}
SUITE = (*SENTEVAL_NAMES, "sick-e")
MODES: tuple[Mode, ...] = ("fast", "faithful")


def columns_of(name: str) -> dict[str, list[Any]]:
    return dict(pq.read_table(data(f"{name}.parquet")).to_pydict())


class Remembered:
    """An encoder that caches vectors and encodes only new texts."""

    def __init__(self, model: str):
        self.model, self.rows = Embedder.load(model), dict[str, np.ndarray]()

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        if new := [text for text in texts if text not in self.rows]:
            self.rows |= zip(new, self.model.encode(new), strict=True)
        return np.stack([self.rows[text] for text in texts])


def timed(task: Task, encode: Encode, mode: Mode) -> tuple[Result, float, float]:
    """Run a task; returns the result, its wall-clock time and its CPU time."""
    clock, processor = time.perf_counter(), time.process_time()
    result = task.run(encode, columns_of, EvaluationSettings(mode=mode))
    return result, time.perf_counter() - clock, time.process_time() - processor


def measure(task: Task, encode: Encode) -> dict[str, Any]:
    """Measure a task's accuracy in each mode, and the items for which the modes differ."""
    timed_results = {mode: timed(task, encode, mode) for mode in MODES}
    row: dict[str, Any] = {"task": task.name}
    for mode, (result, clock, processor) in timed_results.items():
        row |= {mode: round(100 * result["accuracy"], 2), f"{mode}_chosen": result.notes[0]}
        row |= {f"{mode}_seconds": round(clock, 1), f"{mode}_cpu_seconds": round(processor, 1)}
    fast, faithful = (timed_results[mode][0].headline for mode in MODES)
    row["difference"] = round(100 * (fast.value - faithful.value), 2)
    assert fast.evidence and faithful.evidence
    row["items_that_differ"] = int((fast.evidence.values != faithful.evidence.values).sum())
    row["items"] = fast.n
    return row


def main() -> None:
    args = options(__doc__, None, {"tasks": [*SUITE]}, model="all-MiniLM-L6-v2", threads=os.cpu_count())
    if unknown := set(args.tasks) - set(BY_NAME):
        raise SystemExit(f"unknown task {', '.join(sorted(unknown))}; expected one of {', '.join(BY_NAME)}")
    torch.set_num_threads(args.threads)
    remembered = Remembered(args.model)
    for name in args.tasks:
        task = BY_NAME[name]
        encode_ahead(task, remembered)
        row, where = measure(task, remembered), machine()
        row |= {"threads": args.threads, "commit": where["commit"], "date": where["date"]}
        print(row, flush=True)
        save("senteval_agreement", {"model": args.model, "tasks": {**known(args.model), name: row}})


def known(model: str) -> dict[str, Any]:
    """Read the rows of earlier runs with this model."""
    result = read("senteval_agreement")["results"] if (RESULTS / "senteval_agreement.json").exists() else {}
    return dict(result["tasks"]) if result.get("model") == model else {}


def encode_ahead(task: Task, remembered: Remembered) -> None:
    """Encode a task's texts in advance, so that only the classifiers are timed."""

    class Enough(Exception):
        """Raised once the texts are encoded."""

    def listen(texts: Sequence[str]) -> np.ndarray:
        remembered(texts)
        raise Enough

    try:
        task.run(listen, columns_of, EvaluationSettings())
    except Enough:
        return


if __name__ == "__main__":
    main()
