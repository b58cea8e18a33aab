"""Lists of finished training runs, as written by recipes (one JSON object per line), and runs grouped over seeds."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from likewise.errors import BadInput

Line = Mapping[str, Any]
Group = Sequence[Line]
"""Runs that differ in nothing but the seed."""
UNTRAINED = "untrained"
"""The recipe name of an unchanged backbone."""
LATER = {"PairRegression": {"offset": 0.0}}
"""Options of objectives that are missing from older lines."""
REQUIRED = (
    *("recipe", "backbone", "seed", "data", "rows", "steps", "seconds"),
    *("whole", "other_data", "pooling", "objective", "epochs", "batch", "rate"),
)
"""What every line has."""
IN_TWO_RUNS = ("sbert-nli, sbert-stsb", "sbert-nli-contrastive, sbert-stsb")
"""Recipes whose second run continues from the first run with the same seed."""


def read_runs(path: Path) -> list[Line]:
    """The lines of a list of runs; of equal runs, only the last."""
    lines = enumerate(path.read_text("utf-8", "replace").split("\n"), 1)
    return distinct_runs([_parsed(text, f"{path}, line {number}") for number, text in lines if text.strip()])


def distinct_runs(lines: Iterable[Line]) -> list[Line]:
    """The last of all runs with equal settings, data and seed, with defaults for options added since."""
    completed = [_completed(line) for line in lines]
    return list({(*run_settings(line), line["seed"], tuple(line["data"])): line for line in completed}.values())


def over_the_seeds(runs: Iterable[Line]) -> list[list[Line]]:
    """Runs grouped so that the runs in a group differ only in their seeds."""
    result: dict[tuple[Any, ...], list[Line]] = {}
    for line in runs:
        result.setdefault(run_settings(line), []).append(line)
    return list(result.values())


def run_settings(line: Line) -> tuple[Any, ...]:
    """Everything that runs differing only in their seeds share."""
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
    """The parts that the softmax classifier reads, such as u, v and |u-v|; empty for other objectives."""
    return list(line["objective"].get("concatenation", line["objective"].get("parts", ())))


def _parsed(text: str, where: str) -> Line:
    wanted = "expected a finished training run, as written by a recipe's --record"
    try:
        line = json.loads(text)
    except ValueError as error:
        raise BadInput(f"{where} is not JSON ({error}); {wanted}") from None
    if not isinstance(line, dict):
        raise BadInput(f"{where} is not a JSON object; {wanted}")
    if missing := [name for name in REQUIRED if name not in line]:
        raise BadInput(f"{where} has no {' or '.join(missing)}; {wanted}")
    if not isinstance(line["objective"], dict):
        raise BadInput(f"{where} has the objective {line['objective']!r:.80}; {wanted}")
    return line


def _completed(line: Line) -> Line:
    objective, note = line["objective"], line.get("note", "")
    if line["recipe"] in IN_TWO_RUNS:  # the first run's fingerprint depends on the seed, which the line already has
        note = re.sub(r" \([0-9a-f]{8}\)$", "", note)
    return {**line, "note": note, "objective": {**LATER.get(objective.get("objective"), {}), **objective}}
