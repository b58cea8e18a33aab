"""python -m benchmarks.attack [--seed 0] [--quick] [--only NAME] [--jobs 3] [--json FILE]

Prints how the attempts of each kind ended and, for each failure (`attempt.FAILURES`), the command that repeats only
that attempt. The exit status is 1 if any attempt failed. Takes about nine minutes on two cores; `--quick` makes a tenth
of the attempts.
Needs the tests (for their tiny models) and their dependencies.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

os.environ |= {  # before any import
    **{"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"},
    **{"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"},
}

import torch

import likewise

from . import arguments, commands, configs, indexes, inputs, kills, models, servers, unicode_forms, writers
from .attempt import Attempt, Result, Setup
from .report import Progress, show, write
from .sandbox import Limits, distinct, in_child, run

KINDS = {
    **{"inputs": inputs, "arguments": arguments, "configs": configs, "commands": commands, "kills": kills},
    **{"unicode": unicode_forms, "indexes": indexes, "writers": writers, "servers": servers},
}
"""Modules that define `attempts(setup)`; their docstrings describe what they try."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the attempts, print the results, and return the exit status."""
    options = _arguments(argv)
    torch.set_num_threads(1)
    models.preload()
    with tempfile.TemporaryDirectory(prefix="likewise-models-") as place:
        setup = Setup(Path(place), options.seed, options.quick)
        for module in (models, indexes, servers):
            in_child(partial(module.make, setup.models))
        expected = _wanted(setup, options.only)
        if not expected:
            print(f"no attempt is named {options.only!r}; --list shows all", file=sys.stderr)
            return 2
        if options.list:
            print("\n".join(attempt.name for attempt in expected))
            return 0
        in_child(lambda: kills.prepare(setup, [attempt.name for attempt in expected]))
        print(f"{len(expected):,} attempts on {Path(likewise.__file__).parent}", flush=True)
        began = time.monotonic()
        progress = Progress(len(expected))
        results = run(expected, Limits(seconds=options.seconds), options.jobs, progress)
        progress.end()
    if not models.OTHERS:
        print("transformers is not installed; models that need it were left out")
    if len(results) < len(expected):
        print(f"stopped after {len(results):,} of {len(expected):,} attempts")
    failed = _conclude(results, options, time.monotonic() - began)
    return failed or int(len(results) < len(expected))


def _conclude(results: list[Result], asked: argparse.Namespace, seconds: float) -> int:
    show(results, f"--seed {asked.seed}{' --quick' * asked.quick}", seconds, whole=len(results) == 1)
    if asked.json:
        write(asked.json, results, asked.seed, seconds)
    return 1 if any(result.failed for result in results) else 0


def _wanted(setup: Setup, only: str | None) -> list[Attempt]:
    """Return the attempt with this name, the attempts that match a pattern, or all attempts."""
    built = distinct(attempt for module in KINDS.values() for attempt in module.attempts(setup))
    if only is None:
        return built
    exact = [attempt for attempt in built if attempt.name == only]
    return exact or [attempt for attempt in built if fnmatch(attempt.name, only)]


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attack", description=__doc__.split("\n\n")[1])
    parser.add_argument("--seed", type=int, default=0, help="seed for random texts, mutations and times (default: 0)")
    parser.add_argument("--quick", action="store_true", help="make about a tenth of the attempts")
    parser.add_argument(
        "--only",
        metavar="NAME",
        help="run only the attempt with this name, or the attempts that match a pattern such as 'kills/save*'",
    )
    parser.add_argument("--list", action="store_true", help="only print the names of the attempts")
    parser.add_argument("--jobs", type=int, default=3, help="number of attempts run at the same time (default: 3)")
    parser.add_argument("--seconds", type=float, default=20.0, help="time limit of an attempt in seconds (default: 20)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every result to this file")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
