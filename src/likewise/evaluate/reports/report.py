"""Results as text: one table with intervals, what is surely best marked, and below it all that one should know."""

import csv
import io
from collections.abc import Iterator, Mapping

import numpy as np

from ...errors import BadInput
from ..results import Cell, Results
from ..statistics.comparison import ALPHA, Comparison, comparable, compare, holm_adjusted
from ..tasks.registry import SUITES
from .text_table import TextTable, fit_to_width, paragraph

MARKING = 2_000  # resamples of the test behind a mark
DASH = "–"
STAR = "*"
TESTS = ("williams", "mcnemar")


def format_report(results: Results, *, width: int = 100, bold: bool = False, published: bool = False) -> str:
    """Everything for a screen of this width.

    A star (and bold type) marks a model that is better than the next best one of the same task beyond chance.
    """
    tested = compare_best_two(results)
    marks = _sure(tested)
    wide, close = _grid(results, marks, " ± "), _grid(results, marks, "±")
    grid, gap = fit_to_width([(wide, 2), (close, 1), (_turned(wide), 2), (_turned(close), 1)], width)
    blocks = [grid.text(gap, lambda cell: bold and cell.rstrip().endswith(STAR))]
    blocks.append(paragraph(_legend(results, tested), width))
    if published:
        blocks.append(_published(results, width))
    return "\n\n".join([*blocks, *report_notes(results, width)])


def format_markdown(results: Results) -> str:
    """The table for a document; the best of each row in bold."""
    tested = compare_best_two(results)
    grid = _grid(results, _sure(tested), " ± ")
    return grid.markdown(lambda cell: cell.endswith("\\*")) + f"\n\n{_legend(results, tested)}\n"


def format_csv(results: Results) -> str:
    """A line for every score of every cell, figures as shares."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["model", "task", "score", "value", "low", "high", "n", "seconds", "error"])
    for cell in results.cells.values():
        for score in cell.result.scores if cell.result else ():
            low, high = (score.interval.low, score.interval.high) if score.interval else ("", "")
            seconds = round(cell.seconds, 2)
            lines.writerow([cell.model, cell.task, score.name, score.value, low, high, score.n, seconds, ""])
        if cell.error:
            lines.writerow([cell.model, cell.task, "", "", "", "", "", round(cell.seconds, 2), cell.error])
    return out.getvalue()


def winners(results: Results) -> Mapping[str, str]:
    """Tasks and the model that is better there than the runner-up beyond chance, Holm over tasks."""
    return _sure(compare_best_two(results))


def compare_best_two(results: Results) -> Mapping[str, tuple[str, Comparison]]:
    """Each task on which two models could be compared: the best one, and its comparison with the next best."""
    best: dict[str, str] = {}
    tested: dict[str, Comparison] = {}
    for task in results.tasks:
        cells = [results[model, task.name] for model in results.models]
        ranked = sorted((cell for cell in cells if np.isfinite(cell.value)), key=lambda cell: -cell.value)[:2]
        if len(ranked) < 2:
            continue
        found = _tested(ranked[0], ranked[1], min(MARKING, results.resamples))
        if found is not None:
            best[task.name], tested[task.name] = ranked[0].model, found
    corrected = holm_adjusted(list(tested.values()))
    return {name: (best[name], one) for name, one in zip(tested, corrected, strict=True)}


def _sure(tested: Mapping[str, tuple[str, Comparison]]) -> Mapping[str, str]:
    return {name: model for name, (model, one) in tested.items() if one.sure and one.difference.value > 0}


def compare_two(results: Results, ours: str, theirs: str) -> dict[str, Comparison]:
    """Two models task by task, on the same items, Holm over tasks; a task on which that cannot be is left out."""
    names = [task.name for task in results.tasks]
    tested = {name: _tested(results[ours, name], results[theirs, name], results.resamples) for name in names}
    known = {name: one for name, one in tested.items() if one is not None}
    return dict(zip(known, holm_adjusted(list(known.values())), strict=True))


def comparison_lines(
    results: Results, ours: str, theirs: str, found: Mapping[str, Comparison], *, width: int = 100
) -> str:
    """The comparison of two models as a table and a sentence."""
    grids = [(_versus(results, ours, theirs, found, classical), gap) for classical, gap in ((True, 2), (False, 2))]
    grid, gap = fit_to_width([*grids, (grids[1][0], 1)], width)
    told = f"A is {ours}, B is {theirs}. {_score_line(results, found)}"
    method = (
        f"A − B × 100, its 95 % interval and two-sided p by the paired bootstrap ({results.resamples:,} resamples). "
        f"Holm: that p corrected over the tasks; a verdict wants it below {ALPHA}. Williams: t of two dependent "
        "correlations (on ranks, for Spearman's). McNemar: exact. The last two are not corrected."
    )
    return "\n\n".join([paragraph(told, width), grid.text(gap), paragraph(method, width)])


def _score_line(results: Results, found: Mapping[str, Comparison]) -> str:
    """How many tasks each of two models wins, and how many say nothing."""
    if not found:
        return "They could be compared on no task: none has figures of both on the same items."
    better = sum(one.sure and one.difference.value > 0 for one in found.values())
    worse = sum(one.sure and one.difference.value < 0 for one in found.values())
    left = len(results.tasks) - len(found)
    missing = f" On {left} of {len(results.tasks)} tasks they could not be compared." if left else ""
    return (
        f"Of {len(found)} tasks A is better in {better}, B in {worse}, and they are not "
        f"told apart in {len(found) - better - worse}.{missing}"
    )


def report_notes(results: Results, width: int = 100) -> Iterator[str]:
    """What stands below a table: reasons for dashes, protocols, notes."""
    reasons: dict[str, list[Cell]] = {}
    for cell in results.failed:
        reasons.setdefault(cell.error, []).append(cell)
    if reasons:
        told = (f"{DASH} {_where(results, cells)}: {reason}" for reason, cells in reasons.items())
        yield "\n".join(paragraph(line, width, "  ") for line in told)
    protocols = {cell.task: cell.result.protocol for cell in results.cells.values() if cell.result}
    names = max(map(len, protocols), default=0)
    if protocols:
        yield "\n".join(
            paragraph(f"{name:{names}}  {told}", width, " " * (names + 2)) for name, told in protocols.items()
        )
    notes = [*_notes(results), *results.notes]
    if notes:
        yield "\n".join(paragraph(f"· {note}", width, "  ") for note in notes)


def _notes(results: Results) -> list[str]:
    """Each note once, with the tasks and, where it is not of all, the models that it is of."""
    by_note: dict[str, list[Cell]] = {}
    for cell in results.cells.values():
        for note in cell.result.notes if cell.result else ():
            by_note.setdefault(note, []).append(cell)
    return [f"{_where(results, cells)}: {note}" for note, cells in by_note.items()]


def _where(results: Results, cells: list[Cell]) -> str:
    """The tasks of some cells, and their models where these are not all."""
    models = list(dict.fromkeys(cell.model for cell in cells))
    tasks = list(dict.fromkeys(cell.task for cell in cells))
    alike = {cell.model for cell in results.cells.values() if bool(cell.error) == bool(cells[0].error)}
    shown = "all tasks" if len(tasks) == len(results.tasks) > 1 else ", ".join(tasks)
    return shown if len(models) == len(alike) else f"{', '.join(models)} · {shown}"


def _legend(results: Results, tested: Mapping[str, tuple[str, Comparison]]) -> str:
    with_intervals = any(cell.result and cell.result.headline.interval for cell in results.cells.values())
    parts = ["× 100"]
    if with_intervals:
        parts.append(f"± half the 95 % interval ({results.resamples:,} bootstrap resamples of the test items)")
    if len(results.models) > 1:
        parts.append(_verdict(results, tested))
    return "; ".join(parts)


def _verdict(results: Results, tested: Mapping[str, tuple[str, Comparison]]) -> str:
    """What the tests of the best against the next best say; only of tasks on which there was such a test."""
    if not tested:
        return "no two models have figures on the same items, so none were compared"
    if _sure(tested):
        verdict = f"{STAR} better than the next best beyond chance (paired bootstrap, Holm over tasks, p < {ALPHA})"
    else:
        verdict = "no difference between the best two models is beyond chance (paired bootstrap, Holm over tasks)"
    if any(cell.task in tested for cell in results.failed):
        verdict += ", of the models that have a figure"
    left = [task.name for task in results.tasks if task.name not in tested]
    return f"{verdict}; not compared, for want of two figures on the same items: {', '.join(left)}" if left else verdict


def _grid(results: Results, marks: Mapping[str, str], plus: str) -> TextTable:
    """Tasks down, models across; averages of whole suites, and seconds, at the foot."""
    rows = [
        (
            task.name,
            [_figure(results[model, task.name], plus, marks.get(task.name) == model) for model in results.models],
        )
        for task in results.tasks
    ]
    averages = list(_averages(results))
    if averages:
        rows.append(("", [("", "")] * len(results.models)))
    rows += averages
    spent = [sum(results[model, task.name].seconds for task in results.tasks) for model in results.models]
    rows.append(("seconds", [(f"{seconds:,.0f}", "") for seconds in spent]))
    widths = [max(len(cells[j][1]) for _, cells in rows) for j in range(len(results.models))]
    aligned = ((name, *(x + rest.ljust(w) for (x, rest), w in zip(cells, widths, strict=True))) for name, cells in rows)
    return TextTable(results.models, tuple(aligned))


def _averages(results: Results) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    names = {task.name for task in results.tasks}
    for suite, members in SUITES.items():
        if len(members) > 1 and set(members) <= names:
            figures = [results.average(model, members) for model in results.models]
            if np.isfinite(figures).any():
                yield f"average {suite}", [(_number(x), "") for x in figures]


def _figure(cell: Cell, plus: str, best: bool) -> tuple[str, str]:
    """The figure, and what follows it."""
    if cell.result is None:
        return DASH, ""
    headline = cell.result.headline
    half = f"{plus}{100 * headline.interval.half:.2f}" if headline.interval else ""
    return _number(headline.value), half + (STAR if best else " ")


def _number(share: float) -> str:
    return f"{100 * share:.2f}" if np.isfinite(share) else DASH


def _turned(grid: TextTable) -> TextTable:
    """Rows as columns."""
    rows = [row for row in grid.rows if row[0]]
    cells = [row if any("±" in cell for cell in row) else [cell.rstrip() for cell in row] for row in rows]
    columns = tuple(row[0] for row in rows)
    return TextTable(columns, tuple((name, *(row[j] for row in cells)) for j, name in enumerate(grid.columns, 1)))


def _published(results: Results, width: int) -> str:
    models = tuple(dict.fromkeys(name for task in results.tasks for name in task.published))
    if not models:
        return "There are no published figures of these tasks."
    rows = [
        (task.name, *(f"{task.published[m]:.2f}" if m in task.published else DASH for m in models))
        for task in results.tasks
    ]
    for suite, members in SUITES.items():
        tasks = [task for task in results.tasks if task.name in members]
        if len(tasks) == len(members) > 1 and any(all(m in t.published for t in tasks) for m in models):
            means = [np.mean([t.published.get(m, np.nan) for t in tasks]) for m in models]
            rows.append((f"average {suite}", *(f"{x:.2f}" if np.isfinite(x) else DASH for x in means)))
    grid = TextTable(models, tuple(rows))
    grid, gap = fit_to_width([(_turned(grid), 2), (grid, 2), (_turned(grid), 1)], width)
    return "As printed in papers, not measured here:\n\n" + grid.text(gap)


def _versus(results: Results, ours: str, theirs: str, found: Mapping[str, Comparison], classical: bool) -> TextTable:
    columns = ("A", "B", "A − B [95 %]", "p", "Holm", *(["test"] if classical else []), "verdict")
    rows = []
    for task in results.tasks:
        figures = [_number(results[model, task.name].value) for model in (ours, theirs)]
        one = found.get(task.name)
        if one is None:
            rows.append((task.name, *figures, DASH, DASH, DASH, *([DASH] if classical else []), "not comparable"))
            continue
        d = one.difference
        lead = f"{100 * d.value:+.2f} [{100 * d.low:+.2f}, {100 * d.high:+.2f}]"
        tests = [f"{name.title().replace('Mcn', 'McN')} {_p(one.tests[name])}" for name in TESTS if name in one.tests]
        shown = [tests[0] if tests else DASH] if classical else []
        rows.append((task.name, *figures, lead, _p(one.p), _p(one.adjusted), *shown, one.verdict("A", "B")))
    return TextTable(columns, tuple(rows), words=frozenset({"verdict", "test"}))


def _p(p: float) -> str:
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def _tested(ours: Cell, theirs: Cell, resamples: int) -> Comparison | None:
    """Two headlines compared, where both have evidence, on the same items, from which a difference follows."""
    a, b = (cell.result.headline.evidence if cell.result else None for cell in (ours, theirs))
    if a is None or b is None or not comparable(a, b):
        return None
    try:
        found = compare(a, b, resamples=resamples)
    except BadInput:  # fewer than two items, or a number that is not finite
        return None
    return found if found.known else None
