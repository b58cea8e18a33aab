"""`likewise search`: the passages of an index that answer a query best."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import BadInput
from ...wording import counted
from .. import calibration_options
from ..model_options import add_model
from ..output import print_json
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

Filters compare columns of the metadata with values: =  !=  <  <=  >  >=, in ("a", "b"), like "a%", is null; combined by
and, or, not and parentheses. likewise index info lists the columns.

--hybrid searches words too (BM25) and fuses both rankings by reciprocal rank fusion. --rerank gives the best 100 to a
reranker, as many as there is time for. Rerankers: likewise rerank --help

--calibration (likewise calibrate PASSAGES --queries QUERIES -o FILE) adds p, the probability that a chance passage is
as similar to a query; --fdr leaves out what is not more similar than chance. Every passage that was searched counts as
a comparison."""

LINES = 3
"""Lines of the terminal that a passage gets."""
INDENT = 4


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser("search", description="Finds the passages that answer a query best.", epilog=EPILOG)
    add_location(parser)
    parser.add_argument("query", metavar="QUERY", help="a question, or words")
    parser.add_argument(
        "-k", type=int, default=10, metavar="N", help="number of passages to print (default: %(default)s)"
    )
    parser.add_argument("--filter", metavar="CONDITION", help="search only passages whose metadata meet a condition")
    parser.add_argument("--hybrid", action="store_true", help="search words too, and fuse both rankings")
    parser.add_argument("--rerank", metavar="RERANKER", help="reranker for the best 100: a folder or a name")
    parser.add_argument("--label", metavar="NAME", help="label whose probability is the score, if it has several")
    parser.add_argument("--budget", type=float, metavar="MS", help="milliseconds for the reranker (default: no limit)")
    calibration_options.add_calibration(parser, "passages")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_model(parser, "the index's own")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Search, and print the passages."""
    if args.rerank is None and (args.budget is not None or args.label is not None):
        raise BadInput("--budget and --label are the reranker's, and there is none; add --rerank")
    calibration_options.check_calibration(args)
    if args.calibration is not None and (args.hybrid or args.rerank is not None):
        raise BadInput("--calibration is of cosines, and hybrid and reranked scores are none; expected one of them")
    calibration, cut = calibration_options.load_calibration(args), None
    with opened_with_model(args, read_only=True) as index:
        calibration_options.check_same_model(calibration, index.embedder, args.model)
        result = index.search(
            args.query,
            args.k,
            args.filter,
            hybrid=args.hybrid,
            reranker=_pair_scorer(args) if args.rerank else None,
            budget=args.budget and args.budget / 1000,
        )
        if calibration is not None:
            result, cut = _significant(result, calibration, index.index.count(args.filter), args.fdr)
        if args.json:
            print_json({**_as_json(args, index, result), **calibration_options.cut_off_as_json(cut)})
            return 0
    show_passages(result.passages, args.query)
    if result.reranked is not None:
        print(f"{counted(result.reranked, 'passage')} reranked", file=sys.stderr)
    if cut is not None:
        print(calibration_options.cut_off_in_words(cut, "passage"), file=sys.stderr)
    return 0


def _significant(
    result: "SearchResult", calibration: "Calibration", comparisons: int, fdr: float | None
) -> "tuple[SearchResult, CutOff | None]":
    """The passages with their p-values; with a rate, those more similar than chance and the cut-off."""
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
    """The scores of a reranker, without progress."""
    from ... import Reranker

    reranker = Reranker.load(args.rerank, engine=args.engine, device=args.device)
    label = args.label
    if label is not None and label.isdigit() and label not in reranker.labels:
        label = int(label)
    return lambda pairs: reranker.score(list(pairs), label=label, show_progress_bar=False, overflow="truncate")


def _as_json(args: argparse.Namespace, index: "TextIndex", result: "SearchResult") -> dict[str, Any]:
    passages = [
        {
            "id": one.id,
            "key": one.key,
            "score": one.score,
            "scores": dict(one.scores),
            "text": one.text,
            "metadata": dict(one.metadata),
        }
        for one in result.passages
    ]
    about = {"query": args.query, "model": args.model, "fingerprint": index.embedder.fingerprint}
    return {**about, "searched": len(index.index), "reranked": result.reranked, "passages": passages}


def show_passages(passages: Sequence["Passage"], query: str) -> None:
    """Score and place on a line, then the part of the passage where the query's words stand."""
    from rich.console import Console

    from ..excerpts import marked_excerpt
    from ..terminal_tables import fit_line, width

    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    for passage in passages:
        p = f"p={passage.scores['p']:.0e}  " if "p" in passage.scores else ""
        print(f"{passage.score:7.4f}  {p}{fit_line(place(passage), indent=9 + len(p))}")
        room = (width() - INDENT) * LINES if sys.stdout.isatty() else len(passage.text) + 2
        console.print(_indented(marked_excerpt(passage.text, query, room)))
    if not passages:
        print("nothing was found", file=sys.stderr)


def _indented(text: Any) -> Any:
    from rich.padding import Padding

    return Padding(text, (0, 0, 0, INDENT)) if sys.stdout.isatty() else text


def place(passage: "Passage") -> str:
    """Where a passage stands: file, row or characters, title and headings."""
    found = passage.metadata
    place = shown_path(passage.file) or passage.id
    place += f", row {found['row']}" if "row" in found else ""
    place += f", characters {found['start']}–{found['stop']}" if "start" in found else ""
    names = [str(found[key]) for key in ("title", "headings") if found.get(key)]
    return " · ".join([place, *dict.fromkeys(names)])
