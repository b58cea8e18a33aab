"""Do the two modes of SentEval's classifiers agree, and how long does each take?

    LIKEWISE_DATA=data python -m benchmarks.senteval_agreement --model all-MiniLM-L6-v2 cr trec mrpc sick-e

Figures are accuracies × 100. Texts are encoded once, before the clock starts; `--vectors` keeps the vectors between
runs. `--fast-only` skips the faithful mode, which takes an hour or more for the large tasks.
"""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch

from likewise import Embedder
from likewise.evaluate.task import Encode, EvaluationSettings, Mode, Result, Task
from likewise.evaluate.tasks.senteval import SENTEVAL_NAMES, SENTEVAL_TASKS

from .options import options
from .record import RESULTS, data, machine, save

BY_NAME = {task.name: task for task in SENTEVAL_TASKS}
SUITE = (*SENTEVAL_NAMES, "sick-e")


def read(name: str) -> dict[str, list[Any]]:
    return dict(pq.read_table(data(f"{name}.parquet")).to_pydict())


class Remembered:
    """Encodes new texts and remembers their vectors, in a file if one is named."""

    def __init__(self, model: str, path: Path | None):
        self.model, self.path = model, path
        self.rows: dict[str, np.ndarray] = {}
        if path and path.exists():
            with np.load(path) as stored:
                self.rows = dict(zip(stored["texts"].tolist(), stored["vectors"], strict=True))

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        new = [text for text in texts if text not in self.rows]
        if new:
            self.rows |= zip(new, Embedder.load(self.model).encode(new), strict=True)
            if self.path:
                np.savez(self.path, texts=list(self.rows), vectors=np.stack(list(self.rows.values())))
        return np.stack([self.rows[text] for text in texts])


def timed(task: Task, encode: Encode, mode: Mode) -> tuple[Result, float, float]:
    """The result, with its wall-clock time and CPU time."""
    clock, processor = time.perf_counter(), time.process_time()
    result = task.run(encode, read, EvaluationSettings(mode=mode))
    return result, time.perf_counter() - clock, time.process_time() - processor


def measure(task: Task, encode: Encode, modes: Sequence[Mode]) -> tuple[dict[str, Any], Result]:
    """A task's accuracy in each mode, the items that differ, and the result of the first mode."""
    timed_results = {mode: timed(task, encode, mode) for mode in modes}
    row: dict[str, Any] = {"task": task.name}
    for mode, (result, clock, processor) in timed_results.items():
        row |= {mode: round(100 * result["accuracy"], 2), f"{mode}_chosen": result.notes[0]}
        row |= {f"{mode}_seconds": round(clock, 1), f"{mode}_cpu_seconds": round(processor, 1)}
    if len(modes) == 2:
        fast, faithful = (timed_results[mode][0].headline for mode in modes)
        row["difference"] = round(100 * (fast.value - faithful.value), 2)
        assert fast.evidence and faithful.evidence
        row["items_that_differ"] = int((fast.evidence.values != faithful.evidence.values).sum())
        row["items"] = fast.n
    return row, timed_results[modes[0]][0]


def main() -> None:
    given, threads = {"tasks": [*SUITE]}, os.cpu_count()
    args = options(__doc__, None, given, model="all-MiniLM-L6-v2", vectors=Path, fast_only=False, threads=threads)
    if unknown := set(args.tasks) - set(BY_NAME):
        raise SystemExit(f"unknown task {', '.join(sorted(unknown))}; expected one of {', '.join(BY_NAME)}")
    torch.set_num_threads(args.threads)
    modes: tuple[Mode, ...] = ("fast",) if args.fast_only else ("fast", "faithful")
    remembered, rows, results = Remembered(args.model, args.vectors), {}, []
    for name in args.tasks:
        task = BY_NAME[name]
        encode_ahead(task, remembered)
        row, result = measure(task, remembered, modes)
        rows[name] = {**row, "threads": args.threads, "commit": machine()["commit"], "date": machine()["date"]}
        results.append(result)
        print(row, flush=True)
        if not args.fast_only:  # an hour's work is saved after each task and merged with earlier runs
            save("senteval_agreement", {"model": args.model, "tasks": {**known(args.model), name: rows[name]}})
    if args.fast_only:
        computed: dict[str, Any] = {"model": args.model, "tasks": rows}
        if set(SENTEVAL_NAMES) <= set(args.tasks):
            computed["average_of_seven"] = round(
                100 * sum(r["accuracy"] for r in results if r.task in SENTEVAL_NAMES) / len(SENTEVAL_NAMES), 2
            )
        computed["fast_seconds"] = round(sum(row["fast_seconds"] for row in rows.values()), 1)
        print({key: value for key, value in computed.items() if key != "tasks"})
        save("senteval_fast", computed)


def known(model: str) -> dict[str, Any]:
    """The rows of earlier runs with this model."""
    path = RESULTS / "senteval_agreement.json"
    result = json.loads(path.read_text("utf-8"))["results"] if path.exists() else {}
    return dict(result["tasks"]) if result.get("model") == model else {}


def encode_ahead(task: Task, remembered: Remembered) -> None:
    """Encode a task's texts in advance, so that only the classifiers are timed."""

    class Enough(Exception):
        """Raised once the texts are encoded."""

    def listen(texts: Sequence[str]) -> np.ndarray:
        remembered(texts)
        raise Enough

    try:
        task.run(listen, read, EvaluationSettings())
    except Enough:
        return


if __name__ == "__main__":
    main()
