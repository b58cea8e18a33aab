"""A reproduced table as a Markdown page, generated only from its results, so that no figure is typed by hand."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .claims import found_sentence
from .comparison_plot import comparison_chart
from .verdict import NOT_COMPARABLE, NOT_PRINTED, VERDICTS

Values = Mapping[str, Any]
RECORDED = "(recorded)"
INTERVAL = (
    "Each figure is followed by ± half the width of its 95 % interval, from a bootstrap over items for a single "
    "run or from Student's t over seeds for several runs. A verdict is *within noise* if the paper's figure lies in "
    "our interval; the paper gives no intervals."
)


def drawn_page(results: Values) -> str:
    """The results as a Markdown page."""
    return "\n".join(_lines(results)) + "\n"


def _lines(results: Values) -> Iterator[str]:
    yield f"# {results['title']}\n"
    yield f"{_found(results)}\n"
    yield "\n".join([*comparison_chart(results).picture(results["table"]), ""])
    if results["quick"] == "all":
        yield (
            "**Quick**: the settings column says `--quick` where fewer rows and steps were used than the protocol "
            "requires.\n"
        )
    elif results["quick"] == "training":
        yield (
            "**Quick training**: the settings column says `--quick` where fewer rows were used for training than the "
            "protocol requires.\n"
        )
    yield f"## Measured here\n\n{_measured(results)}\n"
    if any(row["system"].endswith(RECORDED) for row in results["rows"]):
        yield f"Rows marked {RECORDED} come from lists of earlier training runs, given by `--runs`.\n"
    yield f"## The paper's figures\n\n{_printed(results)}\n"
    if results["claims"]:
        yield f"## The papers' claims, tested on these figures\n\n{_claims(results['claims'])}\n"
    if results["missing"]:
        yield "## Not measured\n"
        yield from (f"- {one['system']}, {one['backbone']}: {one['why']}" for one in results["missing"])
        yield ""
    yield "## How it was measured\n"
    yield f"{results['citation']}. {results['protocol']} {INTERVAL} Figures are {results['unit']}.\n"
    yield _made(results)


def _found(results: Values) -> str:
    """How the claims and the figures turned out, in two sentences."""
    if not results["rows"]:
        return "Nothing could be measured; the reasons are below."
    texts = [text for row in results["rows"] for text in row["verdicts"].values()]
    counts = {verdict: sum(text.startswith(verdict) for text in texts) for verdict in VERDICTS}
    figures = f"Of {len(texts)} figures measured here, {', '.join(f'{n} are {v}' for v, n in counts.items() if n)}."
    if counts[NOT_COMPARABLE] == len(texts):
        figures = f"None of the {len(texts)} figures measured here is comparable with the paper's; each row says why."
    claims = [one["holds"] for one in results["claims"]]
    return f"{found_sentence(claims)} {figures}" if claims else figures


def _measured(results: Values) -> str:
    columns = results["columns"]
    heads = ("model", "settings", "seeds", *columns.values(), "compared with", "verdict", "time, s")
    rows = [
        (
            row["system"],
            row["backbone"],
            ", ".join(filter(None, [row["settings"], "--quick" * row["quick"]])),
            str(row["seeds"]),
            *(figure_text(row["figures"].get(column)) for column in columns),
            row["beside"] or "–",
            row_verdict(row, columns),
            f"{row['seconds']:,.0f}",
        )
        for row in results["rows"]
    ]
    return markdown_table("system", heads, rows, left=("model", "settings", "compared with", "verdict"))


def markdown_table(corner: str, columns: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] = ()) -> str:
    """A Markdown table of rows with a name and one text per column, right-aligned except for the columns in `left`."""
    ruler = [":--", *(":--" if name in left else "--:" for name in columns)]
    escaped = [[cell.replace("|", "\\|").replace("*", "\\*") for cell in row] for row in [(corner, *columns), *rows]]
    return "\n".join(f"| {' | '.join(row)} |" for row in [escaped[0], ruler, *escaped[1:]])


def figure_text(figure: Values | None) -> str:
    """A figure with ± half the width of its interval."""
    if figure is None:
        return "–"
    value = f"{figure['value']:,.2f}"
    return value if figure["low"] is None else f"{value} ± {(figure['high'] - figure['low']) / 2:,.2f}"


def row_verdict(row: Values, columns: Mapping[str, str]) -> str:
    """A row's verdicts, each with its columns; a verdict shared by all columns is given without them."""
    if row["beside"] is None:
        return "no counterpart"
    by_verdict: dict[str, list[str]] = {}
    for column, text in row["verdicts"].items():
        by_verdict.setdefault(text, []).append(columns[column])
    if len(by_verdict) == 1:
        return next(iter(by_verdict))
    shown = {text: names for text, names in by_verdict.items() if not text.endswith(NOT_PRINTED)}
    if len(shown) == 1:
        return next(iter(shown))
    return "; ".join(f"{text}: {', '.join(names)}" for text, names in shown.items()) or NOT_COMPARABLE


def _printed(results: Values) -> str:
    columns = results["columns"]
    rows = [(row["system"], *(_printed_text(row, column) for column in columns)) for row in results["paper"]]
    return markdown_table("system", tuple(columns.values()), rows)


def _printed_text(row: Values, column: str) -> str:
    value, spread = row["values"].get(column), row["spread"].get(column)
    return "–" if value is None else f"{value:,.2f}" + (f" ± {spread:.2f}" if spread is not None else "")


def _claims(claims: Sequence[Values]) -> str:
    keys = ("on", "measure", "seeds", "difference", "holds")
    rows = [(one["claim"], *(str(one[key]) for key in keys)) for one in claims]
    heads = ("on", "measure", "seeds", "difference", "holds?")
    return markdown_table("claim", heads, rows, left=("on", "measure", "holds?"))


def _made(results: Values) -> str:
    made = results["made"]
    return (
        f"{made['experiments']} experiments, {made['seconds']:,} s of computing on {' and '.join(made['machines'])}; "
        f"{made['from']} to {made['to']}; commits {', '.join(made['commits'])}. Command: `{made['command']}`."
    )
