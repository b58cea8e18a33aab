"""Reproduces tables: finds local models, measures, and writes each table's results, page and plot."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from likewise.model_files.names import local_models
from likewise.runtime.atomic_files import atomic_file

from .paper_table import Effort, PaperTable
from .reporting.comparison_plot import comparison_chart
from .reporting.page import drawn_page
from .reporting.run_lines import read_runs
from .reporting.summary import summarized
from .run_tables import run_tables

BACKBONES = ("bert-tiny-splade", "minilm-l6-h384-raw")
"""Small encoders not tuned for sentences; with --quick, only the first one is trained."""
MODELS = ("all-MiniLM-L6-v2", "likewise-mini", "likewise-static")
"""Models tuned for sentences."""


def local_effort(
    backbones: Sequence[str] = (), seeds: int = 3, *, quick: bool = False, quick_training: bool = False
) -> Effort:
    """The models to measure with: the given backbones, or the local ones in `BACKBONES`."""
    local = {name for name, folder in local_models().items() if folder is not None}
    chosen = tuple(backbones) or tuple(name for name in BACKBONES if name in local)
    return Effort(chosen, tuple(name for name in MODELS if name in local), seeds, quick, quick or quick_training)


def reproduce_tables(
    tables: Sequence[PaperTable],
    effort: Effort,
    folder: Path,
    *,
    runs: Sequence[Path] = (),
    callback: Callable[[object], None] | None = None,
) -> dict[str, dict[str, Any]]:
    """Measure the tables and write each one's results (JSON), page (Markdown) and plot; a run resumes in its folder.

    `runs` are lists of finished training runs, which become rows next to the systems trained here.
    """
    lines = [line for path in runs for line in read_runs(path)]
    run = run_tables(tables, effort, folder, callback=callback)
    results = {}
    for table in tables:
        finished, missing = run.finished.get(table.name, []), run.missing.get(table.name, [])
        results[table.name] = summarized(table, effort, finished, missing, lines)
        write_results(results[table.name], folder)
    return results


def write_results(results: dict[str, Any], folder: Path) -> None:
    """Write a table's results, NAME.json, and from them NAME.md and the plot, NAME.svg and NAME-dark.svg."""
    with atomic_file(folder / f"{results['table']}.json") as partial:
        partial.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    with atomic_file(folder / f"{results['table']}.md") as partial:
        partial.write_text(drawn_page(results), "utf-8")
    comparison_chart(results).save(folder / results["table"])
