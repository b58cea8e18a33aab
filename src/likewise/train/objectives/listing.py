"""The tables of objectives as text for a terminal and as Markdown, and which objectives fit the columns of data."""

import inspect
import textwrap
from collections.abc import Iterable

from .objective import InputColumns, Objective
from .registry import OBJECTIVES, RERANKER_OBJECTIVES, WRAPPERS, ObjectiveEntry, ObjectiveTable
from .reranking import RerankerObjective

_SECTIONS: dict[str, tuple[ObjectiveTable, str]] = {
    "Objectives of embedders": (
        OBJECTIVES,
        f"Each also has the options {' and '.join(WRAPPERS)}: `dimensions=64+256` trains truncated vectors too "
        "(Matryoshka), `layers=3` the last three layers (for models that are cut to fewer).",
    ),
    "Objectives of rerankers": (RERANKER_OBJECTIVES, "For `--kind cross-encoder` and `--kind poly-encoder`."),
}
_HEADS = ("name", "columns", "for", "options", "paper", "in sentence-transformers")
_LABEL_WIDTH = 12


def objectives_text(width: int = 100) -> str:
    """All objectives for a terminal of this width: name, purpose, columns, options, paper, equivalent elsewhere."""
    parts = []
    for title, (table, note) in _SECTIONS.items():
        parts.append(f"{title}\n\n" + textwrap.fill(note.replace("`", ""), width))
        parts += ["\n".join(_lines(name, entry, width)) for name, entry in table.items()]
    note = "A column in brackets is optional; … stands for any number of further columns of texts."
    parts.append(textwrap.fill(note, width))
    return "\n\n".join(parts)


def objectives_markdown() -> str:
    """All objectives as Markdown tables."""
    parts = []
    for title, (table, note) in _SECTIONS.items():
        rows = [_HEADS, ("---",) * len(_HEADS), *(_row(name, entry) for name, entry in table.items())]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        parts.append(f"## {title}\n\n{note}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def fitting_objectives(columns: Iterable[str], table: ObjectiveTable = OBJECTIVES) -> list[str]:
    """The names of the objectives whose required columns are all among these."""
    names = set(columns)
    return [name for name, entry in table.items() if {*(reads := _reads(entry)).texts, *reads.numbers} <= names]


def fitting_hint(columns: Iterable[str], table: ObjectiveTable = OBJECTIVES) -> str:
    """One sentence for error messages: which objectives fit these columns."""
    names = list(columns)
    fitting = fitting_objectives(names, table)
    found = f"objectives that fit the columns {', '.join(names)}" if names else "objectives that fit no columns"
    listed = ", ".join(fitting) if fitting else "none"
    return f"{found}: {listed}; `likewise train --list-objectives` lists the columns of all"


def table_of(objective: Objective) -> ObjectiveTable:
    """The table that an objective belongs to: of embedders, or of rerankers."""
    return RERANKER_OBJECTIVES if isinstance(objective, RerankerObjective) else OBJECTIVES


def _reads(entry: ObjectiveEntry) -> InputColumns:
    return entry.build().reads()


def _row(name: str, entry: ObjectiveEntry) -> tuple[str, ...]:
    columns, options = _column_list(_reads(entry)), _option_list(entry)
    return f"`{name}`", columns, entry.purpose, options, entry.paper, entry.sentence_transformers or "–"


def _lines(name: str, entry: ObjectiveEntry, width: int) -> list[str]:
    _, columns, purpose, options, paper, elsewhere = _row(name, entry)
    facts = {"for": purpose, "columns": columns, "options": options, "paper": paper, "also called": elsewhere}
    lines = [f"  {name}"]
    for label, fact in facts.items():
        if fact != "–":
            start = "    " + label.ljust(_LABEL_WIDTH)
            lines.append(textwrap.fill(start + fact, width, subsequent_indent=" " * len(start)))
    return lines


def _column_list(reads: InputColumns) -> str:
    more = ["negative…" if reads.texts[0] == "anchor" else "further texts…"] if reads.more_texts else []
    return ", ".join([*reads.texts, *more, *reads.numbers, *(f"[{name}]" for name in reads.optional)])


def _option_list(entry: ObjectiveEntry) -> str:
    """The options as the command line spells them, with their defaults."""
    parameters = inspect.signature(entry.build).parameters
    defaults = [f"{name}={_spelled(p.default)}" for name, p in parameters.items() if p.default is not p.empty]
    return ", ".join(defaults) or "–"


def _spelled(value: object) -> str:
    if isinstance(value, tuple):
        return "+".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)
