"""Compares pooling methods over several layers with mean pooling on every task, under the SBERT-WK and STS protocols.

    LIKEWISE_DATA=data LIKEWISE_MODELS=models python -m benchmarks.layers.measure [MODEL …] [--tasks sts,sbert-wk,…]

For each model and task, texts go through the encoder once for all pooling methods. The difference of each method from
mean pooling gets an interval and a p-value from a paired bootstrap on the same items. Classifiers have a hidden layer
of 50 units, as in SBERT-WK. Each result is a line of cells.jsonl in the folder `--work`, so that an interrupted run can
continue. All results and the selection of contenders are written to benchmarks/results/layers.json, from which
`python -m benchmarks.layers.page` draws the page.
"""

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from likewise.data.datasets import read_dataset
from likewise.evaluate.statistics.comparison import compare, estimate
from likewise.evaluate.task import EvaluationSettings, Result, Task
from likewise.evaluate.tasks.registry import select_tasks
from likewise.evaluate.tasks.sts import SBERT_WK_NAMES, STS_NAMES
from likewise.runtime.atomic_files import atomic_file
from likewise.runtime.progress import StatusLine

from ..options import options
from ..record import RESULTS, machine
from .contenders import CONTENDERS, FUSED_STSB, MEAN, field_of
from .one_pass import OnePass

MODELS = ("likewise-mini", "bert-tiny-splade", "all-MiniLM-L6-v2", "minilm-l6-h384-raw")
SENTEVAL = ("cr", "mrpc", "trec", "sick-e", "sst2", "mpqa", "mr", "subj")  # the cheapest first
TASKS = (*STS_NAMES, *SBERT_WK_NAMES, *SENTEVAL)
SETTINGS = EvaluationSettings(hidden=50)
OWN_RESAMPLES = 1000  # for a score's own interval; its difference from mean pooling has the usual 10,000
RESULT = RESULTS / "layers.json"
Cell = dict[str, Any]


def main() -> None:
    work = Path(tempfile.gettempdir()) / "likewise-layers"
    args = options(__doc__, given={"models": [*MODELS]}, tasks=",".join(TASKS), work=work)
    args.work.mkdir(parents=True, exist_ok=True)
    for name in args.models:
        measure(name, select_tasks(args.tasks), args.work)
    write_results(args.work)


def measure(name: str, tasks: Sequence[Task], work: Path) -> None:
    """Compute the missing cells of a model; several processes can share the work."""
    model, log = Path(name).name, work / "cells.jsonl"
    missing = [task for task in tasks if not is_done(model, task, log)]
    if not missing:
        return
    line = StatusLine()
    field = field_of(name, work)
    with atomic_file(work / f"{model}.json") as partial:
        partial.write_text(json.dumps({"machine": machine(), **field.about}), "utf-8")
    encodes = OnePass(field.embedder, field.poolings, lambda at, of: line(f"{model}: {at:,} of {of:,} texts"))
    for i, task in enumerate(missing):
        if i and folder(task) != folder(missing[i - 1]):
            encodes.forget()
        if is_done(model, task, log):  # computed by another process in the meantime
            continue
        cells = task_cells(model, task, encodes)
        with log.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(cell) + "\n" for cell in cells))
        line.note(f"{model} · {task.name}: " + ", ".join(f"{c['pooling']} {100 * c['value']:.2f}" for c in cells))


def is_done(model: str, task: Task, log: Path) -> bool:
    """Whether all cells of a model and task exist."""
    found = {cell["pooling"] for cell in read_cells(log) if (cell["model"], cell["task"]) == (model, task.name)}
    return {*allowed(task.name)} <= found


def task_cells(model: str, task: Task, encodes: OnePass) -> list[Cell]:
    """Score one task with every pooling method that may be scored on it."""
    results, seconds = dict[str, Result](), dict[str, float]()
    for title in allowed(task.name):
        began = time.perf_counter()
        results[title] = task.run(encodes.encoder_of(title), read_dataset, SETTINGS)
        seconds[title] = time.perf_counter() - began
    return [cell_of(model, title, results, seconds[title]) for title in results]


def allowed(task: str) -> tuple[str, ...]:
    """Return the contenders for a task, on STS12 to STS16 without the fusion trained on STS-B, which shares pairs."""
    return tuple(title for title in CONTENDERS if not (title == FUSED_STSB and task.startswith("sts1")))


def cell_of(model: str, title: str, results: Mapping[str, Result], seconds: float) -> Cell:
    """Return a score with its interval, and its difference from mean pooling on the same items."""
    score, plain = results[title].headline, results[MEAN].headline
    assert score.evidence is not None and plain.evidence is not None, "every headline here has evidence"
    own = estimate(score.evidence, resamples=OWN_RESAMPLES)
    cell = {"model": model, "task": results[title].task, "pooling": title, "score": score.name, "n": score.n}
    cell |= {"value": score.value, "interval": [own.low, own.high], "seconds": round(seconds, 1)}
    if title != MEAN:
        compared = compare(score.evidence, plain.evidence)
        difference = compared.difference
        cell |= {"difference": [difference.value, difference.low, difference.high], "p": compared.p}
    return cell


def folder(task: Task) -> str:
    """Return the folder of a task's data; tasks with the same folder share texts."""
    return task.data[0].partition("/")[0]


def read_cells(log: Path) -> list[Cell]:
    """Read the cells so far; a line truncated by a kill is ignored, so its cell is recomputed."""
    cells = []
    for text in log.read_text("utf-8").splitlines() if log.exists() else []:
        try:
            cells.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return cells


def write_results(work: Path) -> None:
    """Write all cells and the facts about models to benchmarks/results/layers.json, one cell per line."""
    cells = {(c["model"], c["task"], c["pooling"]): c for c in read_cells(work / "cells.jsonl")}
    names = dict.fromkeys(model for model, _, _ in cells)
    about = {name: json.loads((work / f"{name}.json").read_text("utf-8")) for name in names}
    lines = ",\n".join(json.dumps(cell) for cell in cells.values())
    with atomic_file(RESULT) as partial:
        partial.write_text(f'{{"models": {json.dumps(about, indent=1)},\n"cells": [\n{lines}\n]}}\n', "utf-8")
    print(f"written: {RESULT.name}, {len(cells)} cells")


if __name__ == "__main__":
    main()
