"""Lists of finished training runs, as recipes write them (a JSON object a line), and runs grouped over their seeds."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Line = Mapping[str, Any]
Group = Sequence[Line]
"""Runs that differ in nothing but the seed."""
UNTRAINED = "untrained"
"""The recipe of a backbone as it is."""
LATER = {"PairRegression": {"offset": 0.0}}
"""Options of objectives that lines from before do not have."""
IN_TWO_RUNS = ("sbert-nli, sbert-stsb", "sbert-nli-contrastive, sbert-stsb")
"""Recipes whose second run goes on from the first run of the same seed."""


def read_runs(path: Path) -> list[Line]:
    """The lines of a list of runs, of equal runs the last one."""
    return distinct_runs(json.loads(text) for text in path.read_text("utf-8").splitlines() if text.strip())


def distinct_runs(lines: Iterable[Line]) -> list[Line]:
    """Of runs with equal settings, data and seed the last one, each with the options that came after it."""
    completed = [_completed(line) for line in lines]
    return list({(*run_settings(line), line["seed"], tuple(line["data"])): line for line in completed}.values())


def over_the_seeds(runs: Iterable[Line]) -> list[list[Line]]:
    """Runs grouped so that those of a group differ in nothing but the seed."""
    result: dict[tuple[Any, ...], list[Line]] = {}
    for line in runs:
        result.setdefault(run_settings(line), []).append(line)
    return list(result.values())


def run_settings(line: Line) -> tuple[Any, ...]:
    """All that two runs of different seeds share."""
    settings = tuple(line[key] for key in ("recipe", "backbone", "pooling", "epochs", "batch", "rate", "rows", "steps"))
    settings += (line.get("precision", "fp32"), line.get("note", ""))
    return (
        *settings,
        json.dumps(line["objective"], sort_keys=True),
        tuple(line["data"]),
        line["whole"],
        tuple(line["other_data"]),
    )


def concatenation(line: Line) -> list[str]:
    """The parts that softmax reads, such as u, v and |u-v|; none for other objectives."""
    return list(line["objective"].get("concatenation", line["objective"].get("parts", ())))


def _completed(line: Line) -> Line:
    objective, note = line["objective"], line.get("note", "")
    if line["recipe"] in IN_TWO_RUNS:  # the first run's fingerprint tells its seed, and the line has that already
        note = re.sub(r" \([0-9a-f]{8}\)$", "", note)
    return {**line, "note": note, "objective": {**LATER.get(objective.get("objective"), {}), **objective}}
