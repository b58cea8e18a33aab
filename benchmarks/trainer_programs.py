"""Compares the CPU time of sentence-transformers training programs with that of the same programs on the drop-in.

    python -m benchmarks.trainer_programs                          (needs the group parity)
    python -m benchmarks.trainer_programs in_batch_negatives --model all-MiniLM-L6-v2 --rounds 3

With few texts in a batch, most of the time goes to the optimizer, which updates the same weights in both libraries; so
the programs run with their own batch size and with 64.
The programs are in tests/parity/trainer_programs; a test compares their losses. Each run is a separate process with one
thread; its time is the CPU time beyond that of a process that stops after one step.
"""

import os
import re
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from likewise.data.datasets import data_folder
from likewise.model_files import locate
from tests.parity.test_trainer_programs import HERE, moved

from .options import options
from .pages import PageTables, draw
from .record import place, read, save

KINDS = ("sentence-transformers", "likewise")
BATCH_SIZES = (None, 64)
"""The batch sizes to run; None means the program's own."""


def cpu_seconds(source: str, model: Path, steps: int) -> float:
    """The CPU time of a process that runs the program for this many steps."""
    short = re.sub(r"(max_steps|num_train_epochs)=\d+", f"max_steps={steps}", source)
    with TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text(short, "utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, str(program), str(model), f"{folder}/output", str(data_folder())]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(name: str, model: Path, rounds: int, batch_size: int | None, steps: int = 20) -> dict[str, Any]:
    """Measure the seconds for `steps` steps with each library, as medians of alternating rounds, and their ratio."""
    program = (HERE / f"{name}.py").read_text("utf-8")
    if batch_size is not None:
        program = re.sub(r"(per_device_train_batch_size)=\d+", rf"\1={batch_size}", program)
    sources = dict(zip(KINDS, (program, moved(program)), strict=True))
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for kind, source in sources.items():
            times[kind].append(cpu_seconds(source, model, steps + 1) - cpu_seconds(source, model, 1))
    medians = {kind: statistics.median(one) for kind, one in times.items()}
    ratio = medians[KINDS[0]] / medians[KINDS[1]]
    print(
        name, batch_size or "", *(f"{kind} {one:.1f} s" for kind, one in medians.items()), f"{ratio:.2f} ×", flush=True
    )
    return {"seconds": medians, "ratio": ratio, "steps": steps, "model": model.name, "batch size": batch_size}


def table() -> Iterator[str]:
    """A line for each program and batch size."""
    stored = read("trainer_programs")
    yield "| program | rows in a batch | 20 steps, sentence-transformers | 20 steps, imports changed | speedup |"
    yield "|---|---|---|---|---|"
    for name, found in stored["results"].items():
        for one in found:
            seconds = " | ".join(f"{one['seconds'][kind]:.1f} s" for kind in KINDS)
            size = one["batch size"] or "8, as written"
            yield f"| {name.replace('_', ' ')} | {size} | {seconds} | {one['ratio']:.2f} × |"
    yield ""
    about = f"all-MiniLM-L6-v2 in fp32, CPU time of one thread; {place(stored['machine'])}"
    yield f"{about} ([script](../benchmarks/trainer_programs.py))."


TABLES: PageTables = {"docs/moving-from-sentence-transformers.md": {"trainer-programs": lambda: [*table()]}}


def main() -> None:
    """Measure the programs and record them."""
    programs = ["in_batch_negatives", "triplets"]  # the programs that do not evaluate
    args = options(__doc__, given={"programs": programs}, model="all-MiniLM-L6-v2", rounds=3)
    results = {
        name: [measure(name, Path(locate(args.model)), args.rounds, size) for size in BATCH_SIZES]
        for name in args.programs
    }
    save("trainer_programs", results)
    draw(TABLES)


if __name__ == "__main__":
    main()
