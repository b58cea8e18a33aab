"""Results as text: a table with intervals and significance marks, followed by protocols and notes."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ...errors import BadInput
from ...wording import counted
from ..results import Cell, Results
from ..statistics.comparison import ALPHA, Comparison, comparable, compare, holm_adjusted
from ..tasks.registry import SUITES
from .text_table import TextTable, fit_to_width, paragraph

MARK_RESAMPLES = 2_000  # resamples in the test for a significance mark
BEYOND_RESAMPLES = "if no resample has the opposite sign"  # else p is too large for Holm's correction over many tasks
DASH = "–"
STAR = "*"
TESTS = {"williams": "Williams", "mcnemar": "McNemar"}


def format_report(results: Results, *, width: int = 100, bold: bool = False) -> str:
    """Format results as text of the given width: the table, its legend, protocols and notes.

    A star (and bold type) marks a model that is significantly better than the next best model on the same task.
    """
    compared = compare_best_two(results)
    marks = _significant_winners(compared)
    wide, narrow = _table(results, marks, " ± "), _table(results, marks, "±")
    whole = replace(wide, has_whole_names=True)
    layouts = [(whole, 2), (wide, 2), (narrow, 1), (_transposed(wide), 2), (_transposed(narrow), 1)]
    table, gap = fit_to_width(layouts, width)
    blocks = [table.text(gap, lambda cell: bold and cell.rstrip().endswith(STAR))]
    blocks.append(paragraph(_legend(results, compared), width))
    return "\n\n".join([*blocks, *report_notes(results, width)])


def format_csv(results: Results) -> str:
    """One CSV line per score of each cell, with scores as fractions of 1.

    On a collection, the value of each query follows on its own line, with METRIC/QUERY as the score and 1 as n.
    """
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["model", "task", "score", "value", "low", "high", "n", "seconds", "error"])
    for cell in results.cells.values():
        for score in cell.result.scores if cell.result else ():
            low, high = (score.interval.low, score.interval.high) if score.interval else ("", "")
            seconds = round(cell.seconds, 2)
            lines.writerow([cell.model, cell.task, score.name, score.value, low, high, score.n, seconds, ""])
        if cell.result and (rankings := cell.result.rankings):
            for metric, values in rankings.by_query.items():
                for query, value in zip(rankings.collection.query_ids, values.tolist(), strict=True):
                    lines.writerow([cell.model, cell.task, f"{metric}/{query}", value, "", "", 1, "", ""])
        if cell.error:
            lines.writerow([cell.model, cell.task, "", "", "", "", "", round(cell.seconds, 2), cell.error])
    return out.getvalue()


def winners(results: Results) -> Mapping[str, str]:
    """The model that is significantly better than the runner-up, by task, with Holm's correction across tasks."""
    return _significant_winners(compare_best_two(results))


def compare_best_two(results: Results) -> Mapping[str, tuple[str, Comparison]]:
    """For each task with at least two comparable models, the best model and its comparison with the runner-up."""
    best: dict[str, tuple[str, Comparison]] = {}
    resamples = min(MARK_RESAMPLES, results.settings.resamples)
    for task in results.tasks:
        cells = [results[model, task.name] for model in results.models]
        ranked = sorted((cell for cell in cells if np.isfinite(cell.value)), key=lambda cell: -cell.value)[:2]
        if len(ranked) == 2 and (one := _compare_cells(ranked[0], ranked[1], resamples)):
            best[task.name] = ranked[0].model, one
    corrected = holm_adjusted([one for _, one in best.values()])
    return {name: (model, one) for (name, (model, _)), one in zip(best.items(), corrected, strict=True)}


def _significant_winners(compared: Mapping[str, tuple[str, Comparison]]) -> Mapping[str, str]:
    return {name: model for name, (model, one) in compared.items() if one.significant and one.difference.value > 0}


def compare_two(results: Results, a: str, b: str) -> dict[str, Comparison]:
    """Model b minus model a on each comparable task, with Holm's correction: positive if b is better."""
    names = [task.name for task in results.tasks]
    compared = {name: _compare_cells(results[b, name], results[a, name], results.settings.resamples) for name in names}
    valid = {name: one for name, one in compared.items() if one}
    return dict(zip(valid, holm_adjusted(list(valid.values())), strict=True))


def comparison_lines(
    results: Results, a: str, b: str, comparisons: Mapping[str, Comparison], *, width: int = 100
) -> str:
    """The comparison of two models as a summary and a table; `comparison_method` explains the columns."""
    full, short = (_comparison_table(results, a, b, comparisons, classical) for classical in (True, False))
    table, gap = fit_to_width([(full, 2), (short, 2), (short, 1)], width)
    summary = f"A is {a}, B is {b}. {_wins_line(results, comparisons)}"
    return "\n\n".join([paragraph(summary, width), table.text(gap)])


def comparison_method(results: Results, width: int = 100) -> str:
    method = (
        "B − A, × 100 (positive if B is better), its 95 % interval and two-sided p-value from the paired bootstrap "
        f"({results.settings.resamples:,} resamples), or from a t test with the bootstrap standard error "
        f"{BEYOND_RESAMPLES}. Holm: the p-value corrected over the tasks; a verdict needs it below {ALPHA}. Williams: "
        "t test for two dependent correlations (on ranks, for Spearman). McNemar: exact test. The last two are not "
        "corrected."
    )
    return paragraph(method, width)


def _wins_line(results: Results, comparisons: Mapping[str, Comparison]) -> str:
    if not comparisons:
        return "They could not be compared on any task: no task has scores for both on the same items."
    better = sum(one.significant and one.difference.value < 0 for one in comparisons.values())
    worse = sum(one.significant and one.difference.value > 0 for one in comparisons.values())
    tasks = len(results.scored_tasks)
    left = tasks - len(comparisons)
    missing = f" On {left} of {tasks} tasks, they could not be compared." if left else ""
    equal = len(comparisons) - better - worse
    return (
        f"Of {counted(len(comparisons), 'task')}, A is better on {better} and B on {worse}; on {equal}, there is no "
        f"significant difference.{missing}"
    )


def report_notes(results: Results, width: int = 100) -> Iterator[str]:
    """The text below a table: the reasons for missing cells, the protocols, and the notes."""
    reasons: dict[str, list[Cell]] = {}
    for cell in results.failed:
        reasons.setdefault(cell.error, []).append(cell)
    if reasons:
        lines = (f"{DASH} {_where(results, cells)}: {reason}" for reason, cells in reasons.items())
        yield "\n".join(paragraph(line, width, "  ") for line in lines)
    if protocols := {cell.task: cell.result.protocol for cell in results.cells.values() if cell.result}:
        names = max(map(len, protocols))
        lines = (f"{name:{names}}  {protocol}" for name, protocol in protocols.items())
        yield "\n".join(paragraph(line, width, " " * (names + 2)) for line in lines)
    by_note: dict[str, list[Cell]] = {}
    for cell in results.cells.values():
        for note in cell.result.notes if cell.result else ():
            by_note.setdefault(note, []).append(cell)
    notes = [*(f"{_where(results, cells)}: {note}" for note, cells in by_note.items()), *results.notes]
    if notes:
        yield "\n".join(paragraph(f"· {note}", width, "  ") for note in notes)


def _where(results: Results, cells: list[Cell]) -> str:
    """The tasks of these cells, with their models unless all models are included."""
    models = list(dict.fromkeys(cell.model for cell in cells))
    tasks = list(dict.fromkeys(cell.task for cell in cells))
    same_kind = {cell.model for cell in results.cells.values() if bool(cell.error) == bool(cells[0].error)}
    shown = "all tasks" if len(tasks) == len(results.tasks) > 1 else ", ".join(tasks)
    return shown if len(models) == len(same_kind) else f"{', '.join(models)} · {shown}"


def _legend(results: Results, compared: Mapping[str, tuple[str, Comparison]]) -> str:
    parts = ["× 100"]
    if any(cell.result and cell.result.headline.interval for cell in results.cells.values()):
        parts.append(f"± half the 95 % interval ({results.settings.resamples:,} bootstrap resamples of the test items)")
    if len(results.models) > 1:
        parts.append(_significance_note(results, compared))
    return "; ".join(parts)


def _significance_note(results: Results, compared: Mapping[str, tuple[str, Comparison]]) -> str:
    method = f"paired bootstrap, t test {BEYOND_RESAMPLES}, Holm's correction over tasks, p < {ALPHA}"
    if not compared:
        return "no two models have scores on the same items, so none were compared"
    if _significant_winners(compared):
        note = f"{STAR} significantly better than the next best ({method})"
    else:
        note = f"no significant difference between the best two models ({method})"
    if any(cell.task in compared for cell in results.failed):
        note += ", among models that have a score"
    left = [task.name for task in results.scored_tasks if task.name not in compared]
    return f"{note}; not compared for lack of two scores on the same items: {', '.join(left)}" if left else note


def _table(results: Results, marks: Mapping[str, str], plus: str) -> TextTable:
    """A row per task and a column per model, with averages of complete suites and seconds at the bottom."""
    rows = []
    for task in results.scored_tasks:
        best = marks.get(task.name)
        rows.append(
            (task.name, [_score_cell(results[model, task.name], plus, best == model) for model in results.models])
        )
    if averages := list(_averages(results)):
        rows += [("", [("", "")] * len(results.models)), *averages]
    spent = [sum(results[model, task.name].seconds for task in results.tasks) for model in results.models]
    rows.append(("seconds", [(f"{seconds:,.0f}", "") for seconds in spent]))
    widths = [max(len(cells[j][1]) for _, cells in rows) for j in range(len(results.models))]
    aligned = ((name, *(x + rest.ljust(w) for (x, rest), w in zip(cells, widths, strict=True))) for name, cells in rows)
    return TextTable(results.models, tuple(aligned))


def _averages(results: Results) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    names = {task.name for task in results.tasks}
    for suite, members in SUITES.items():
        if len(members) > 1 and set(members) <= names:
            averages = [results.average(model, members) for model in results.models]
            if np.isfinite(averages).any():
                yield f"average {suite}", [(_percent(x), "") for x in averages]


def _score_cell(cell: Cell, plus: str, best: bool) -> tuple[str, str]:
    """The score, and the text that follows it (half the interval, mark)."""
    if cell.result is None:
        return DASH, ""
    headline = cell.result.headline
    half = f"{plus}{100 * headline.interval.half:.2f}" if headline.interval else ""
    return _percent(headline.value), half + (STAR if best else " ")


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2f}" if np.isfinite(fraction) else DASH


def _transposed(table: TextTable) -> TextTable:
    rows = [row for row in table.rows if row[0]]
    cells = [row if any("±" in cell for cell in row) else [cell.rstrip() for cell in row] for row in rows]
    columns = tuple(row[0] for row in rows)
    return TextTable(columns, tuple((name, *(row[j] for row in cells)) for j, name in enumerate(table.columns, 1)))


def _comparison_table(
    results: Results, a: str, b: str, comparisons: Mapping[str, Comparison], classical: bool
) -> TextTable:
    """One line per task: both scores, their difference, its interval and p-value, a classical test, the verdict."""
    columns = ["A", "B", "B − A [95 %]", "p", "Holm", "test", "verdict"]
    rows = []
    for task in results.scored_tasks:
        shown = [DASH, DASH, DASH, DASH, "not comparable"]
        if one := comparisons.get(task.name):
            tests = [f"{label} {_p(one.tests[name])}" for name, label in TESTS.items() if name in one.tests]
            shift, test = one.difference.format("+"), tests[0] if tests else DASH
            shown = [shift, _p(one.p), _p(one.adjusted), test, one.verdict("B", "A")]
        rows.append([task.name, *(_percent(results[model, task.name].value) for model in (a, b)), *shown])
    if not classical:
        for row in (columns, *rows):
            del row[-2]
    return TextTable(tuple(columns), tuple(map(tuple, rows)), left_aligned=frozenset({"verdict", "test"}))


def _p(p: float) -> str:
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def _compare_cells(ours: Cell, theirs: Cell, resamples: int) -> Comparison | None:
    """The comparison of two headline scores; None unless they cover the same items and their difference is finite."""
    a, b = (cell.result.headline.evidence if cell.result else None for cell in (ours, theirs))
    if a is None or b is None or not comparable(a, b):
        return None
    try:
        comparison = compare(a, b, resamples=resamples)
    except BadInput:  # fewer than two items, or a NaN or infinite value
        return None
    return comparison if comparison.valid else None
