"""Finds the passages that best answer a query."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import BadInput
from ...text.words import fold, folded_words, spans_of_words
from ...wording import counted
from .. import calibration_options
from ..model_options import add_allow, add_model
from ..output import note, print_json
from ..parser import options
from ..terminal_tables import fit_line, one_line, styled, width, wrap
from ..texts.rerank import label_of
from ..texts.text_file import given_text
from .filter_hints import filter_hints
from .opening import add_location, opened_with_model, shown_path

if TYPE_CHECKING:
    from ...calibrate import Calibration, CutOff
    from ...search.texts.passages import Passage
    from ...search.texts.text_index import SearchResult, TextIndex

EPILOG = """examples:
  likewise search notes.index "how long do cats sleep"
  likewise search papers.index "graph kernels" -k 5 --hybrid --filter 'year >= 2020 and lang = "en"'
  likewise search papers.index "graph kernels" --calibration papers.json --fdr 0.05
  likewise search papers.index "graph kernels" --rerank cross-encoder/ms-marco-MiniLM-L6-v2 --budget 500 --json

Filters compare metadata columns with values: =  !=  <  <=  >  >=, in ("a", "b"), like "a%", is null; combine conditions
with and, or, not and parentheses. likewise index info lists the columns.

--hybrid also searches by words (BM25) and combines both rankings by reciprocal rank fusion. --rerank passes the best
100 passages, or as many as --budget allows, to a reranker. More about rerankers: likewise rerank --help

--calibration reads a file written by likewise calibrate PASSAGES --queries QUERIES -o FILE, and adds p, the probability
that a random passage is at least this similar to a query. --fdr drops passages that are no more similar than chance.
Every passage searched counts as a comparison."""

LINES = 3
"""Terminal lines shown per passage."""
INDENT = 4
SHORTEST = 3  # a query's words are marked if they have this many characters; if none has, all words are marked
MARK = "bold green"


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add_location(add)
    add("QUERY", "question or words to search for; - reads them from standard input")
    add("-k N", "number of passages to print", 10)
    add("--filter CONDITION", "search only passages whose metadata satisfies a condition")
    add("--hybrid", "also search by words, and combine both rankings")
    add("--rerank RERANKER", "reranker for the best 100 passages, or the best N if -k is larger: a folder or a name")
    add("--label NAME", "label whose probability is the score, if the reranker has several")
    add("--budget MS", "time limit for the reranker in milliseconds (default: none)")
    calibration_options.add_calibration(add, "passages")
    add("--json", "print the result as JSON")
    add_allow(add)
    add_model(parser, "the index's own")


def run(args: argparse.Namespace) -> int:
    if args.rerank is None and (args.budget is not None or args.label is not None):
        raise BadInput("--budget and --label require --rerank")
    if args.budget is not None and not args.budget > 0:
        raise BadInput(f"--budget is {args.budget:g}; expected milliseconds above 0")
    calibration_options.check_calibration(args)
    if args.calibration is not None and (args.hybrid or args.rerank is not None):
        raise BadInput("--calibration cannot be combined with --hybrid or --rerank")
    args.query = given_text(args.query, "query")
    calibration, cut = calibration_options.load_calibration(args, with_queries=True), None
    with opened_with_model(args, read_only=True, allow=args.allow) as index:
        calibration_options.check_same_model(calibration, index.embedder, args.model)
        result = index.search(
            args.query,
            args.k,
            args.filter,
            hybrid=args.hybrid,
            reranker=_pair_scorer(args) if args.rerank else None,
            budget=args.budget and args.budget / 1000,
        )
        hints = [] if result.passages or args.filter is None else [*filter_hints(index.index, args.filter)]
        if calibration is not None:
            result, cut = _significant(result, calibration, index.index.count(args.filter), args.fdr)
        if args.json:
            print_json({**_as_json(args, index, result), **calibration_options.cut_off_as_json(cut)})
    if not args.json:
        _show(result, cut, args.query)
    for hint in hints:
        note(hint)
    return 0


def _show(result: "SearchResult", cut: "CutOff | None", query: str) -> None:
    show_passages(result.passages, query)
    if result.reranked is not None:
        note(f"{counted(result.reranked, 'passage')} reranked")
    if cut is not None:
        note(calibration_options.cut_off_in_words(cut, "passage"))


def _significant(
    result: "SearchResult", calibration: "Calibration", comparisons: int, fdr: float | None
) -> "tuple[SearchResult, CutOff | None]":
    """The passages with p-values; with --fdr, only passages more similar than chance, and the cut-off."""
    import numpy as np

    from ...calibrate import cut_off

    cosines = np.array([passage.scores["cosine"] for passage in result.passages], np.float64)
    passages = [
        passage._replace(scores={**passage.scores, "p": float(p)})
        for passage, p in zip(result.passages, calibration.p_values(cosines), strict=True)
    ]
    if fdr is None:
        return replace(result, passages=passages), None
    cut = cut_off(calibration, cosines, comparisons=comparisons, fdr=fdr)
    return replace(result, passages=passages[: cut.discoveries]), cut


def _pair_scorer(args: argparse.Namespace) -> Callable[[Sequence[tuple[str, str]]], Any]:
    from ... import Reranker

    reranker = Reranker.load(args.rerank, engine=args.engine, device=args.device)
    label = label_of(reranker, args.label)
    return lambda pairs: reranker.score(list(pairs), label=label, show_progress_bar=False, overflow="truncate")


def _as_json(args: argparse.Namespace, index: "TextIndex", result: "SearchResult") -> dict[str, Any]:
    fields = ("id", "key", "score", "scores", "text", "metadata")
    passages = [{name: getattr(one, name) for name in fields} for one in result.passages]
    about = {"query": args.query, "model": args.model, "fingerprint": index.embedder.fingerprint}
    return {**about, "searched": len(index.index), "reranked": result.reranked, "passages": passages}


def show_passages(passages: Sequence["Passage"], query: str) -> None:
    """Print the score and location on one line, then the part of the passage that contains the query's words."""
    is_terminal = sys.stdout.isatty()
    room = width() - INDENT
    words = query_words(query)
    for passage in passages:
        p = f"p={passage.scores['p']:.0e}  " if "p" in passage.scores else ""
        print(f"{passage.score:7.4f}  {p}{fit_line(place(passage), indent=9 + len(p))}")
        text = one_line(passage.text)
        lines = wrap(shown_excerpt(text, words, room * LINES), room) if is_terminal else [text]
        for line in lines:
            print(" " * INDENT * is_terminal + marked(line, words))
    if not passages:
        note("nothing was found")


def place(passage: "Passage") -> str:
    """The location of a passage: file, row or characters, title and headings."""
    found = passage.metadata
    place = shown_path(passage.file) or passage.id
    place += f", row {found['row']}" if "row" in found else ""
    place += f", characters {found['start']}–{found['stop']}" if {"start", "stop"} <= found.keys() else ""
    names = [str(found[key]) for key in ("title", "headings") if found.get(key)]
    return " · ".join([place, *dict.fromkeys(names)])


def query_words(query: str) -> frozenset[str]:
    """The words of a query that are marked in passages, case-folded."""
    words = frozenset(folded_words(query))
    return frozenset(word for word in words if len(word) >= SHORTEST) or words


def word_spans(text: str, words: frozenset[str]) -> list[tuple[int, int]]:
    return [(begin, end) for begin, end in spans_of_words(text) if not words.isdisjoint(folded_words(text[begin:end]))]


def best_excerpt(text: str, words: frozenset[str], size: int) -> tuple[int, int]:
    """The start and end of the excerpt of at most `size` characters with the most distinct query words, cut at spaces.

    Ties go to the first such excerpt; if no word occurs, the excerpt is the beginning of the text.
    """
    spans = word_spans(text, words)
    starts = (begin for begin, _ in spans)
    best = max(starts, key=lambda start: _distinct(text, spans, start, start + size), default=0)
    last = max((end for begin, end in spans if begin >= best and end <= best + size), default=best)
    start = max(0, min(best - (size - (last - best)) // 2, len(text) - size))
    return _at_blank(text, start, best), min(len(text), start + size)


def _distinct(text: str, spans: Sequence[tuple[int, int]], start: int, stop: int) -> int:
    return len({fold(text[begin:end]) for begin, end in spans if begin >= start and end <= stop})


def _at_blank(text: str, start: int, latest: int) -> int:
    """The start of the first whole word from `start` on, but at most `latest`."""
    if start == 0:
        return 0
    return max(start, text.find(" ", start - 1, latest) + 1)


def shown_excerpt(line: str, words: frozenset[str], size: int) -> str:
    """The excerpt of at most `size` characters, with … where the line was cut."""
    if len(line) <= size:
        return line
    start, stop = best_excerpt(line, words, max(1, size - 2))
    return ("…" if start else "") + line[start:stop] + ("…" if stop < len(line) else "")


def marked(line: str, words: frozenset[str]) -> str:
    """The line with these words marked, on a terminal."""
    parts, end = [], 0
    for start, stop in word_spans(line, words):
        parts += [line[end:start], styled(line[start:stop], MARK)]
        end = stop
    return "".join([*parts, line[end:]])
