"""Splits the cosine of two texts exactly into contributions from word pairs, to show which words make them similar."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import BadInput
from ...runtime.arguments import whole_number
from ...runtime.atomic_files import atomic_file, check_new_file
from ...runtime.plot_style import PICTURES
from ..model_options import add_model, add_overflow, load_from_options
from ..output import note, plot_module, print_json
from ..parser import options
from ..terminal_tables import background, one_line, printable, styled, table, width, wrap_words
from .text_file import given_texts

if TYPE_CHECKING:
    from ...explain import PairExplanation, Word

EPILOG = """examples:
  likewise explain "A cat sleeps on the sofa." "The kitten naps on a couch."
  likewise explain "A cat sleeps." "A kitten naps." -o why.html -o why.png
  likewise explain "A cat sleeps." "A kitten naps." -m all-MiniLM-L6-v2 --json

The cosine is a sum over all pairs of a word in the first text and a word in the second; the terms of this sum are shown
× 100. A word's vector depends on its sentence, so its term shows where the similarity comes from, not what the word
would contribute on its own. [CLS] and other tokens added by the model have their own terms.

The model needs linear heads and a pooling mode that can be split exactly: mean, mean-sqrt-len, weighted-mean, SBERT-WK
or a fusion of means."""

PLOT, HEAT_MAP = "explain.plots", "drawing a heat map"
STRONGEST = 0.75  # colour strength of the largest contribution; 0 is the background
BLACK, GREY = "38;5;16", "38;5;243"  # text colours of words and of special tokens, as SGR codes
ADDS, TAKES = (213, 94, 0), (0, 114, 178)


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add("TEXT", "two texts; - reads one text per line from standard input", dest="texts", nargs="+")
    add("-k N", "number of word pairs to list; 0 for none", 8)
    files = "file to write: .html for a page with coloured words and a table, .png, .pdf or .svg for a heat map "
    add("-o --output FILE", f"{files}(extra: map); may be given several times", type=Path, action="append", default=[])
    add("--json", "print the words and all contributions as JSON")
    add_overflow(add, ("warn", "error", "truncate"))
    add_model(parser)


def run(args: argparse.Namespace) -> int:
    from ...explain import explain_pair

    whole_number("-k", args.k, 0)
    for path in args.output:
        check_new_file(path, (".html", *PICTURES))
        if path.suffix.lower() != ".html":
            plot_module(PLOT, HEAT_MAP)
    texts = given_texts(args.texts)
    if len(texts) != 2:
        raise BadInput(f"expected two texts to explain; got {len(texts)}")
    embedder = load_from_options(args)
    explanation = explain_pair(embedder, *texts, overflow=args.overflow)
    for path in args.output:
        _write(explanation, path, args.model)
    if args.json:
        print_json({"model": args.model, "fingerprint": embedder.fingerprint, **explanation.as_json()})
        return 0
    show_explanation(explanation, args.k)
    for path in args.output:
        note(f"written: {path}")
    return 0


def _write(explanation: "PairExplanation", path: Path, model: str) -> None:
    from ...explain.html_page import explanation_page

    if path.suffix.lower() != ".html":
        plot_module(PLOT, HEAT_MAP).draw_explanation(explanation, path)
        return
    with atomic_file(path) as partial:
        partial.write_text(explanation_page(explanation, model), "utf-8", "replace")


def show_explanation(explanation: "PairExplanation", most: int) -> None:
    """Print the cosine, both texts with coloured words, and the word pairs that contribute most."""
    print(f"cosine {explanation.cosine:.4f}\n")
    totals = explanation.word_totals
    greatest = max(float(abs(total).max()) for total in totals) or 1.0
    for words, total in zip(explanation.words, totals, strict=True):
        print(*wrap_words(coloured_words(words, total, greatest), width(sys.maxsize)), sep="\n")
    if strongest := explanation.top_pairs(most):
        print()
        pairs = table(">×100", "first text", "second text")
        for pair in strongest:
            pairs.add_row(f"{100 * pair.contribution:+.1f}", *map(one_line, pair[:2]))
        printable(pairs)
    first, second = ([not word.special for word in words] for words in explanation.words)
    between = float(explanation.contributions[first][:, second].sum())
    special = explanation.cosine - between
    print(f"\nbetween words {100 * between:+.1f}, with special tokens {100 * special:+.1f}")


def coloured_words(words: "Sequence[Word]", totals: Any, greatest: float) -> Iterator[str]:
    """Words on an orange background if they increase the cosine, or on a blue one if they decrease it."""
    for word, total in zip(words, totals.tolist(), strict=True):
        share = STRONGEST * abs(total) / greatest
        colour = background(*(round(255 + share * (tone - 255)) for tone in (ADDS if total > 0 else TAKES)))
        yield styled(one_line(word.text), f"{GREY if word.special else BLACK} {colour}")
