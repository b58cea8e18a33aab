"""`likewise similarity`: a readable matrix of how alike texts are."""

import argparse
import json
import sys
from collections.abc import Sequence

from .model_options import add_model, load_from_options

EXAMPLES = """examples:
  likewise similarity "A cat sleeps." "A kitten naps." "Shares fell."
  likewise similarity --metric euclidean --json "one" "two"
  likewise similarity - < lines.txt"""

METRICS = ("cosine", "dot", "euclidean", "manhattan")
MOST = 40  # texts of one matrix on a screen


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "similarity",
        help="how alike texts are, as a matrix",
        description="Compares every text with every other one. More is more alike; distances have a minus before them.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("texts", nargs="+", metavar="TEXT", help="two or more texts; - reads lines from standard input")
    parser.add_argument("--metric", choices=METRICS, default="cosine", help="(%(default)s)")
    parser.add_argument("--json", action="store_true", help="print texts and matrix as JSON")
    add_model(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints the matrix."""
    from ..arrays.similarity import SIMILARITIES
    from ..errors import BadInput
    from ..files.read import standard_input

    texts = list(standard_input()) if args.texts == ["-"] else args.texts
    if len(texts) < 2:
        raise BadInput(f"to compare, two or more texts are wanted; got {len(texts)}")
    if len(texts) > MOST and not args.json:
        raise BadInput(f"{len(texts)} texts make no readable matrix (the most is {MOST}); --json prints them all")
    vectors = load_from_options(args).encode(texts, progress=False)
    matrix = SIMILARITIES[args.metric](vectors, vectors).tolist()
    if args.json:
        print(json.dumps({"metric": args.metric, "texts": texts, "matrix": matrix}))
    else:
        show(texts, matrix)
    return 0


def show(texts: Sequence[str], matrix: Sequence[Sequence[float]]) -> None:
    """The matrix under numbers, with the texts beside it; a warmer colour is more alike, on a terminal."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    values = [x for i, row in enumerate(matrix) for j, x in enumerate(row) if i != j]
    low, high = min(values), max(values)
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right", style="dim", no_wrap=True)
    table.add_column("", overflow="ellipsis", no_wrap=True, max_width=60)
    for j in range(len(texts)):
        table.add_column(str(j + 1), justify="right", no_wrap=True)
    for i, row in enumerate(matrix):
        cells = [f"[{_shade(x, low, high, i == j)}]{x:.2f}[/]" for j, x in enumerate(row)]
        table.add_row(str(i + 1), escape(one_line(texts[i])), *cells)
    width = None if sys.stdout.isatty() else 8 * len(texts) + 70
    Console(highlight=False, width=width).print(table)


def _shade(x: float, low: float, high: float, same: bool) -> str:
    if same:
        return "dim"
    part = (x - low) / (high - low) if high > low else 1.0
    return ("blue", "cyan", "green", "yellow", "bold red")[min(4, int(part * 5))]


def one_line(text: str) -> str:
    """The text without line breaks, as a terminal can show it."""
    return " ".join(text.encode("utf-8", "replace").decode().split())
