"""Compares every text with every other one. Higher means more similar; distances are negated."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import BadInput
from ..model_options import add_model, load_from_options
from ..output import print_json
from ..parser import options
from ..terminal_tables import GAP, cut_to_width, fit_line, printable, styled, table
from .text_file import STDIN, given_texts

if TYPE_CHECKING:
    from ...embedder import Embedder

EPILOG = """examples:
  likewise similarity "A cat sleeps." "A kitten naps." "Shares fell."
  likewise similarity
  likewise similarity --metric euclidean --json "one" "two"
  likewise similarity - < lines.txt

Without texts, on a terminal, it asks for sentences one by one and shows how similar each one is to the earlier ones; an
empty line or ctrl-D ends the session. If standard input is not a terminal, it reads one text per line from it."""

LARGEST_MATRIX = 40  # texts
TEXT_COLUMNS = 60  # terminal columns for a text next to its row


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add("TEXT", "two or more texts; - reads one text per line from standard input", dest="texts", nargs="*")
    add("--metric", "how vectors are compared", "cosine", choices=("cosine", "dot", "euclidean", "manhattan"))
    add("--json", "print the texts and the matrix as JSON")
    add_model(parser)


def run(args: argparse.Namespace) -> int:
    asks = not args.texts and sys.stdin is not None and sys.stdin.isatty()
    if asks and not args.json:
        ask_and_compare(load_from_options(args), args.model, args.metric)
        return 0
    texts = list(asked_texts()) if asks else given_texts(args.texts or [STDIN])
    if len(texts) < 2:
        raise BadInput(f"expected two or more texts to compare; got {len(texts)}")
    if len(texts) > LARGEST_MATRIX and not args.json:
        raise BadInput(
            f"a matrix of {len(texts)} texts is unreadable (at most {LARGEST_MATRIX} are shown); --json prints it, "
            "and `likewise pairs FILE` shows the most similar pairs"
        )
    vectors = load_from_options(args).encode(texts)
    from ...arrays.similarity import SIMILARITIES

    matrix = SIMILARITIES[args.metric](vectors, vectors).tolist()
    if args.json:
        print_json({"metric": args.metric, "texts": texts, "matrix": matrix}, indent=None)
    else:
        show_matrix(texts, matrix)
    return 0


def show_matrix(texts: Sequence[str], matrix: Sequence[Sequence[float]]) -> None:
    """Print the matrix with the texts to its left; on a terminal, warmer colours mean more similar."""
    others = [x for i, row in enumerate(matrix) for j, x in enumerate(row) if i != j]
    low, high = min(others), max(others)
    rows = table(">", "", *(f">{j + 1}" for j in range(len(texts))))
    cells = [[f"{x:z.2f}" for x in row] for row in matrix]
    numbers = len(str(len(texts))) + GAP + sum(GAP + max(map(len, column)) for column in zip(*cells, strict=True))
    for i, row in enumerate(matrix):
        text = cut_to_width(texts[i], TEXT_COLUMNS + numbers, numbers)
        coloured = (styled(cells[i][j], _colour(x, low, high, i == j)) for j, x in enumerate(row))
        rows.add_row(styled(str(i + 1), "dim"), text, *coloured)
    printable(rows)


def _colour(x: float, low: float, high: float, same: bool) -> str:
    if same:
        return "dim"
    part = (x - low) / (high - low) if high > low else 1.0
    return ("blue", "cyan", "green", "yellow", "bold red")[min(4, int(part * 5))]


SHOWN = 10  # earlier sentences shown after each new one


def ask_and_compare(embedder: "Embedder", model: str, metric: str) -> None:
    """Ask for sentences; after each one, print the earlier ones, most similar first."""
    import numpy as np

    from ...arrays.similarity import SIMILARITIES

    print(f"{model}, {metric}. Type a sentence and press Enter; an empty line or ctrl-D ends the session.")
    texts: list[str] = []
    vectors = np.empty((0, embedder.dimension), np.float32)
    for text in asked_texts():
        vector = embedder.encode([text], show_progress_bar=False)
        similarities = SIMILARITIES[metric](vector, vectors)[0].tolist()
        ranked = sorted(enumerate(similarities), key=lambda one: -one[1])
        for i, similarity in ranked[:SHOWN]:
            print(f"{similarity:8.2f}  " + fit_line(f"{i + 1}: {texts[i]}", indent=10))
        texts.append(text)
        vectors = np.concatenate([vectors, vector])


def asked_texts() -> Iterator[str]:
    """The sentences typed on the terminal, until an empty line or ctrl-D."""
    with suppress(ImportError):
        import readline  # noqa: F401, which gives `input` line editing and a history
    number = 1
    while True:
        try:
            text = _ask(f"{number}: ").strip()
        except EOFError:
            print(file=sys.stderr)
            return
        if not text:
            return
        yield text
        number += 1


def _ask(prompt: str) -> str:
    """A line typed on the terminal; the prompt goes to stderr if the output is a file."""
    if sys.stdout.isatty():
        return input(prompt)
    print(prompt, end="", file=sys.stderr, flush=True)
    return input()
