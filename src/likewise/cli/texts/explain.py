"""`likewise explain`: which words make two texts similar; in colours, as a page, a picture or JSON."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..model_options import add_model, add_overflow, load_from_options
from ..output import print_json

if TYPE_CHECKING:
    from ...explain import PairExplanation, Word

EPILOG = """examples:
  likewise explain "A cat sleeps on the sofa." "The kitten naps on a couch."
  likewise explain "A cat sleeps." "A kitten naps." --html why.html --png why.png
  likewise explain "A cat sleeps." "A kitten naps." -m all-MiniLM-L6-v2 --json

The cosine is a sum over all pairs of a word of the first text and one of the second; what is shown are the parts of
this sum, × 100. A word's vector depends on its sentence, so its part says where the similarity is carried, not what
the word alone would do. [CLS] and other tokens that the model adds have their parts too.

This is exact for models whose pooling is mean, mean-sqrt-len, weighted-mean, SBERT-WK or a fusion of means, and whose
heads are linear; others are refused."""

PICTURES = (".png", ".pdf", ".svg")
PAGES = (".html", ".htm")
STRONGEST = 0.75  # of a colour's way from the background, for the greatest contribution
ADDS, TAKES = (213, 94, 0), (0, 114, 178)


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "explain",
        description="Divides the cosine of two texts among pairs of their words, exactly, and shows which words make "
        "them similar.",
        epilog=EPILOG,
    )
    parser.add_argument("first", metavar="TEXT", help="the first text")
    parser.add_argument("second", metavar="TEXT", help="the second text")
    parser.add_argument(
        "-k", type=int, default=8, metavar="N", help="number of word pairs to list (default: %(default)s)"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with colours and a table of word pairs")
    parser.add_argument("--png", type=Path, metavar="FILE", help="draw a heat map: .png, .pdf or .svg (extra: map)")
    parser.add_argument("--json", action="store_true", help="print words and all contributions as JSON")
    add_overflow(parser, ("warn", "error", "truncate"))
    add_model(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Explain the pair; print, draw and write."""
    from ...explain import explain_pair

    _check(args)
    embedder = load_from_options(args)
    explanation = explain_pair(embedder, args.first, args.second, overflow=args.overflow)
    if args.html is not None:
        _write_page(explanation, args)
    if args.png is not None:
        _heat_map().draw_explanation(explanation, args.png)
    if args.json:
        print_json({"model": args.model, "fingerprint": embedder.fingerprint, **explanation.as_json()})
        return 0
    show_explanation(explanation, args.k)
    for path in (args.html, args.png):
        if path is not None:
            print(f"written: {path}", file=sys.stderr)
    return 0


def _check(args: argparse.Namespace) -> None:
    """Find out before the work what cannot be done."""
    from ...errors import BadInput
    from ...runtime.atomic_files import check_ending, check_writable_file

    if args.k < 0:
        raise BadInput(f"-k is {args.k}; expected 0 or more word pairs")
    for path, endings in ((args.html, PAGES), (args.png, PICTURES)):
        if path is not None:
            check_ending(path, endings)
            check_writable_file(path)
    if args.png is not None:
        _heat_map()


def _heat_map() -> Any:
    from ...runtime.installation import missing_extra

    try:
        from ...explain import plots
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise missing_extra("matplotlib", "map", "drawing a heat map") from None
    return plots


def _write_page(explanation: "PairExplanation", args: argparse.Namespace) -> None:
    from ...explain.html_page import explanation_page
    from ...runtime.atomic_files import atomic_file

    with atomic_file(args.html) as partial:
        partial.write_text(explanation_page(explanation, args.model), "utf-8", "replace")


def show_explanation(explanation: "PairExplanation", most: int) -> None:
    """The cosine, both texts with coloured words, and the word pairs that contribute most."""
    from rich.console import Console

    from ..terminal_tables import escape, one_line, printable, table

    console = Console(highlight=False)
    console.print(f"cosine {explanation.cosine:.4f}\n")
    totals = explanation.word_totals
    greatest = max(float(abs(total).max()) for total in totals) or 1.0
    for words, total in zip(explanation.words, totals, strict=True):
        console.print(coloured_words(words, total, greatest))
    console.print()
    pairs = table(">×100", "first text", "second text")
    for pair in explanation.top_pairs(most):
        pairs.add_row(f"{100 * pair.contribution:+.1f}", *(escape(one_line(word)) for word in pair[:2]))
    printable(pairs)
    between = _between_words(explanation)
    special = explanation.cosine - between
    console.print(f"\nbetween words {100 * between:+.1f}, with special tokens {100 * special:+.1f}")


def coloured_words(words: "Sequence[Word]", totals: Any, greatest: float) -> Any:
    """Words on a background that is orange where they add to the cosine and blue where they take from it."""
    from rich.style import Style
    from rich.text import Text

    line = Text()
    for word, total in zip(words, totals.tolist(), strict=True):
        share = STRONGEST * min(1.0, abs(total) / greatest)
        red, green, blue = (round(255 + share * (tone - 255)) for tone in (ADDS if total > 0 else TAKES))
        style = Style(color="#777777" if word.special else "#000000", bgcolor=f"rgb({red},{green},{blue})")
        line.append(word.text, style)
        line.append(" ")
    return line


def _between_words(explanation: "PairExplanation") -> float:
    first, second = ([not word.special for word in words] for words in explanation.words)
    return float(explanation.contributions[first][:, second].sum())
