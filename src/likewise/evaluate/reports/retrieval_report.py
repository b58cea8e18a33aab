"""Results on collections as text: each ranker against the first, and the queries that gained and lost most."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...array_types import Float
from ..rankings import METRICS, Rankings
from ..results import Results
from ..statistics.comparison import ALPHA, Comparison, compare, holm_adjusted
from ..statistics.hypothesis_tests import randomisation
from ..task import Evidence
from .report import DASH, report_notes
from .text_table import TextTable, fit_to_width, paragraph

HEADLINE = METRICS[0]
LARGEST = 10  # number of gains and of losses listed


def ranked_tasks(results: Results) -> list[str]:
    """The tasks on collections."""
    return [task.name for task in results.tasks if task.rank is not None]


def compare_rankers(results: Results, task: str) -> dict[str, Comparison]:
    """Compare each ranker with the first: paired randomization test, with Holm's correction over the rankers."""
    first = _rankings(results, results.models[0], task)
    found = {}
    for model in results.models[1:] if first else ():
        other = _rankings(results, model, task)
        if first and other:
            a, b = (Evidence(one.by_query[HEADLINE]) for one in (other, first))
            one = compare(a, b, resamples=results.settings.resamples)
            p = randomisation(a.values, b.values, draws=results.settings.resamples).p
            found[model] = Comparison(one.difference, p, {"bootstrap": one.p}, p)
    return dict(zip(found, holm_adjusted(list(found.values())), strict=True))


def query_differences(results: Results, task: str) -> list[Float[np.ndarray, " Q"] | None]:
    """The first ranker's nDCG@10 by query, and the differences of the others from it; None if rankings are missing."""
    rankings = [_rankings(results, model, task) for model in results.models]
    values = [one.by_query[HEADLINE] if one else None for one in rankings]
    first = values[0]
    return [first, *(None if row is None or first is None else row - first for row in values[1:])]


def query_changes(before: Rankings, after: Rankings) -> tuple[list[int], list[int]]:
    """The indices of the queries with the largest gains and losses in nDCG@10 (up to LARGEST each), largest first."""
    shift = after.by_query[HEADLINE] - before.by_query[HEADLINE]
    order = np.argsort(-shift, kind="stable").tolist()
    return [i for i in order[:LARGEST] if shift[i] > 0], [i for i in order[::-1][:LARGEST] if shift[i] < 0]


def format_retrieval_report(results: Results, *, width: int = 100, queries: bool = False) -> str:
    """Format a table per collection, a legend and notes and, with `queries`, the largest gains and losses."""
    blocks = []
    for task in ranked_tasks(results):
        compared = compare_rankers(results, task)
        tables = [_table(results, task, compared, count) for count in (len(METRICS), 3, 1)]
        table, gap = fit_to_width([(one, space) for one in tables for space in (2, 1)], width)
        blocks += [task, table.text(gap)]
        if queries:
            blocks += _changes(results, task, width)
    legend = (
        f"× 100; ± half the 95 % interval over queries ({results.settings.resamples:,} bootstrap resamples); − 1st: "
        f"nDCG@10 minus that of {results.models[0]}, with its 95 % interval; p: paired randomization test over "
        f"queries, Holm's correction over the rows, * below {ALPHA}; up and down: number of queries with a higher "
        "and a lower nDCG@10; ms: median time of a single query"
    )
    return "\n\n".join([*blocks, paragraph(legend, width), *report_notes(results, width)])


def _table(results: Results, task: str, compared: dict[str, Comparison], count: int) -> TextTable:
    rows = []
    for model in results.models:
        cell, rankings = results[model, task], _rankings(results, model, task)
        if cell.result is None or rankings is None:
            rows.append((model, *[DASH] * (count + 5)))
            continue
        values = [f"{100 * cell.result[name]:.2f}" for name in METRICS[:count]]
        if half := cell.result.headline.interval:
            values[0] += f" ± {100 * half.half:.2f}"
        ms = rankings.median_seconds
        rows.append((model, *values, *_against_first(results, task, model, compared),
                     DASH if ms is None else f"{1000 * ms:.1f}"))  # fmt: skip
    return TextTable((*METRICS[:count], "− 1st [95 %]", "p", "up", "down", "ms"), tuple(rows))


def _against_first(results: Results, task: str, model: str, compared: dict[str, Comparison]) -> tuple[str, ...]:
    if model not in compared:
        return (DASH,) * 4
    one = compared[model]
    values = query_differences(results, task)[results.models.index(model)]
    assert values is not None
    p = f"{one.adjusted:.4f}{'*' if one.significant else ''}"
    return one.difference.format("+"), p, f"{int((values > 0).sum()):,}", f"{int((values < 0).sum()):,}"


def _changes(results: Results, task: str, width: int) -> Iterator[str]:
    first = _rankings(results, results.models[0], task)
    for model in results.models[1:]:
        other = _rankings(results, model, task)
        if first and other:
            old, new = (100 * one.by_query[HEADLINE] for one in (first, other))
            queries = zip(first.collection.query_ids, first.collection.queries, strict=True)
            texts = [f"{key}: {' '.join(text.split())}" for key, text in queries]
            for what, rows in zip(("gains", "losses"), query_changes(first, other), strict=True):
                lines = (f"  {old[i]:6.2f} → {new[i]:6.2f}  {texts[i]}" for i in rows)
                title = f"{model}: the largest {what} compared with {results.models[0]} (nDCG@10)"
                yield "\n".join([title, *(line[:width] for line in lines)] if rows else [f"{title}: none"])


def _rankings(results: Results, model: str, task: str) -> Any:
    cell = results[model, task]
    return cell.result.rankings if cell.result else None
