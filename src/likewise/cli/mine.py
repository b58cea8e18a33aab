"""`likewise mine`: a file of pairs to the same pairs with hard negatives, and a report of how they were found."""

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..runtime.lazy_imports import require_torch
from .model_options import MODEL, add_running, prepare_runtime

if TYPE_CHECKING:
    from ..mine import MiningResult, Rule

EXAMPLES = """examples:
  likewise mine all-MiniLM-L6-v2 nli/triplets -k 3 -o mined.parquet
  likewise mine MODEL faq.csv --columns anchor=question,positive=answer --rank 10 100 --choose random -o mined.csv
  likewise mine MODEL pairs.parquet --where label==1 --share 0.9 --judge my-reranker --judge-below 0.3 -o mined.jsonl
  likewise mine MODEL pairs.csv --corpus passages.txt --missing fill

Rules speak in this order, each of what those before it left: never what a pair declares alike (nor what pairs join:
a–b and b–c), then --rank, --score, --share, --margin, --judge. Without any of them, --share 0.95. Without -o nothing is
written, and the report shows what would be."""

EXAMPLE_ROWS = 5
DEFAULT_SHARE = 0.95
LARGE_GROUP = 0.1  # of all texts: a group so large tells of pairs that join what is not alike


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "mine",
        help="pairs to pairs with hard negatives",
        description="Finds, for each anchor, texts that a model holds for near and that no pair declares alike.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    parser.add_argument("data", metavar="DATA", help=".parquet, .csv, .tsv, .jsonl, or the name of a data set")
    parser.add_argument("-o", "--out", metavar="OUT", type=Path, help=".parquet, .csv, .tsv or .jsonl to write")
    _add_data(parser.add_argument_group("the texts"))
    _add_rules(parser.add_argument_group("the rules"))
    _add_choice(parser.add_argument_group("the choice"))
    parser.add_argument("--triplets", action="store_true", help="a row for each negative, not a column")
    parser.add_argument("--no-scores", action="store_true", help="leave the columns of scores out")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress and no report")
    add_running(parser.add_argument_group("how the model runs"))
    parser.set_defaults(run=run)


def _add_data(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--columns",
        metavar="WANTED=FOUND,…",
        help="anchor=question,positive=answer; else these names, or the first two",
    )
    group.add_argument("--where", metavar="CONDITION", help="only rows like label==1")
    group.add_argument("--corpus", metavar="FILE", help="where negatives come from (the positives)")
    group.add_argument("--corpus-column", metavar="NAME", help="its column, where there are several")
    group.add_argument("--prompt", metavar="TEXT", help="a text to put before every anchor, as it is (default: none)")
    group.add_argument(
        "--prompt-name",
        metavar="NAME",
        help="for anchors, one of the model's own prompts (default: the model's default)",
    )
    group.add_argument("--corpus-prompt", metavar="TEXT", help="a text to put before all other texts (default: none)")
    group.add_argument(
        "--corpus-prompt-name", metavar="NAME", help="for all other texts, one of the model's own prompts, by name"
    )


def _add_rules(group: "argparse._ArgumentGroup") -> None:
    group.add_argument("--direct", action="store_true", help="only pairs themselves are alike, not what they join")
    group.add_argument(
        "--rank",
        nargs=2,
        type=int,
        metavar=("LOW", "HIGH"),
        help="not the LOW nearest, nor what follows the first HIGH",
    )
    group.add_argument("--score", nargs=2, type=float, metavar=("LOW", "HIGH"), help="similarity within these")
    group.add_argument("--share", type=float, metavar="X", help="similarity below X times the positive's (0.95)")
    group.add_argument("--margin", type=float, metavar="X", help="similarity below the positive's less X")
    group.add_argument("--judge", metavar="RERANKER", help="a reranker that reads what is left")
    group.add_argument("--judge-below", type=float, metavar="X", help="its score up to X")
    group.add_argument("--judge-margin", type=float, metavar="X", help="its score below the positive's less X")
    group.add_argument("--judge-label", metavar="NAME", help="whose probability the score is, of several labels")


def _add_choice(group: "argparse._ArgumentGroup") -> None:
    group.add_argument("-k", type=int, default=1, help="negatives for each row (%(default)s)")
    group.add_argument("--choose", default="top", choices=("top", "random", "spread"), help="of what is left (top)")
    group.add_argument("--among", type=int, default=100, metavar="N", help="the N nearest, for random and spread (100)")
    group.add_argument("--furthest", type=int, default=1000, metavar="N", help="look at N candidates at most (1000)")
    group.add_argument(
        "--missing", default="drop", choices=("drop", "fill", "error"), help="rows that find fewer than k (drop)"
    )
    group.add_argument("--metric", default="cosine", help="cosine, dot, euclidean or manhattan (cosine)")
    group.add_argument("--seed", type=int, default=0, help="of random (0)")


def run(args: argparse.Namespace) -> int:
    """Mines, writes and reports."""
    require_torch("likewise mine")
    from ..files import check_table
    from ..mine import mine_negatives
    from ..model_names import load_named_embedder
    from .sources import input_files
    from .train.build import data_source
    from .train.config import DataOptions

    if args.out is not None:
        check_table(args.out, input_files(args.data, args.corpus))
    prepare_runtime(args)
    rules = _rules(args)
    columns = tuple(args.columns.split(",")) if args.columns else ()
    source = data_source(DataOptions(args.data, "contrastive", columns, where=args.where))
    texts = source.rows.texts  # type: ignore[union-attr]  # a file is no stream
    corpus = _corpus(args.corpus, args.corpus_column) if args.corpus else None
    embedder = load_named_embedder(args.model, precision=args.precision, device=args.device, max_length=args.max_length)
    mined = mine_negatives(
        texts["anchor"],
        texts["positive"],
        embedder,
        corpus=corpus,
        k=args.k,
        rules=rules,
        choose=args.choose,
        among=args.among,
        furthest=args.furthest,
        missing=args.missing,
        metric=args.metric,
        prompt=args.prompt,
        prompt_name=args.prompt_name,
        corpus_prompt=args.corpus_prompt,
        corpus_prompt_name=args.corpus_prompt_name,
        seed=args.seed,
        progress=not args.quiet,
    )
    if args.out is not None:
        mined.write(args.out, triplets=args.triplets, scores=not args.no_scores)
    if args.json:
        about = {"model": args.model, "fingerprint": embedder.fingerprint, "data": args.data}
        out = None if args.out is None else str(args.out)
        print(json.dumps({**about, "out": out, "kept": mined.report.kept, **asdict(mined.report)}))
    elif not args.quiet:
        print_mining_report(mined, args)
    return 0


def _rules(args: argparse.Namespace) -> "list[Rule]":
    from .. import Reranker
    from ..errors import BadInput
    from ..mine import BelowPositive, ExcludeKnownPositives, RankBetween, RerankerScoreBelow, ScoreBetween

    share = args.share
    if all(given is None for given in (args.rank, args.score, args.share, args.margin, args.judge)):
        share = DEFAULT_SHARE
    found: list[Rule] = [ExcludeKnownPositives(through=not args.direct)]
    found += [RankBetween(*args.rank)] if args.rank else []
    found += [ScoreBetween(*args.score)] if args.score else []
    found += [BelowPositive(share=share)] if share is not None else []
    found += [BelowPositive(margin=args.margin)] if args.margin is not None else []
    judging: list[Rule] = [ScoreBetween(-math.inf, args.judge_below)] if args.judge_below is not None else []
    judging += [BelowPositive(margin=args.judge_margin)] if args.judge_margin is not None else []
    if bool(args.judge) != bool(judging):
        raise BadInput(
            "wanted --judge RERANKER together with --judge-below or --judge-margin; found one without the other"
        )
    if judging:
        judge = Reranker.load(args.judge, precision=args.precision, device=args.device)
        found += [RerankerScoreBelow(judge, rule, args.judge_label) for rule in judging]
    return found


def _corpus(name: str, column: str | None) -> Sequence[str]:
    """The texts of a file, or of a data set's column."""
    from ..data.datasets import load_dataset
    from ..errors import BadInput
    from ..files import READABLE, Texts

    path = Path(name).expanduser()
    if path.suffix.lower() in READABLE or path.exists():
        return list(Texts(path, column))
    columns = load_dataset(name).columns
    column = column or "text"
    if column not in columns:
        raise BadInput(f"{name} has the columns {', '.join(columns)}; choose one with --corpus-column")
    return list(columns[column])


def print_mining_report(mined: "MiningResult", args: argparse.Namespace) -> None:
    """What each rule took, what became of the rows, how near the negatives are, and some of them."""
    from .terminal_tables import aligned, escape, printable, table

    told = mined.report
    print(f"{told.rows:,} rows of {told.anchors:,} anchors; {told.candidates:,} candidates of {told.given:,} texts\n")
    rules = table("rule", ">took", ">of", ">rows left short")
    left = told.looked_at
    for took in told.took:
        rules.add_row(escape(took.rule), f"{took.taken:,}", f"{left:,}", f"{took.short:,}")
        left -= took.taken
    printable(rules)
    print()
    aligned(
        f"{told.full:,} rows found {told.k}, {told.short:,} fewer, {told.none:,} none. {_row_summary(mined, args.missing)}"
    )
    if told.largest > max(100, LARGE_GROUP * (told.anchors + told.candidates)):
        aligned(
            f"The largest group that pairs join has {told.largest:,} texts, and none of them is a negative of another; "
            "where pairs join what is not alike, --direct looks at pairs alone."
        )
    print()
    _print_scores(mined)
    print()
    _print_rows(mined)
    print(
        f"\n{args.out}: {_output_summary(mined, args.triplets)}"
        if args.out
        else "\nNothing was written; -o FILE writes it."
    )


def _row_summary(mined: "MiningResult", missing: str) -> str:
    told = mined.report
    if not told.short and not told.none:
        return "All rows are kept."
    filled = f"{told.filled:,} negatives were filled in with weaker ones. " if told.filled else ""
    left = f"{told.dropped:,} rows are left out" if told.dropped else "All rows are kept"
    return f"{filled}{left}{'; --missing fill keeps them.' if missing == 'drop' else '.'}"


def _output_summary(mined: "MiningResult", triplets: bool) -> str:
    k = mined.report.k
    return f"{len(mined) * k:,} triplets" if triplets else f"{len(mined):,} rows, {k} negative{'s' * (k > 1)} each"


def _print_scores(mined: "MiningResult") -> None:
    import numpy as np

    from .terminal_tables import printable, table

    shown = table("similarity", *(f">{name}" for name in ("least", "10 %", "median", "90 %", "greatest")))
    shares = (0, 0.1, 0.5, 0.9, 1)
    difference = mined.positive_scores[:, None] - mined.scores
    for name, values in (("positives", mined.positive_scores), ("negatives", mined.scores), ("difference", difference)):
        shown.add_row(name, *(f"{value:.3f}" for value in np.quantile(values, shares)))
    printable(shown)


def _print_rows(mined: "MiningResult") -> None:
    """Some rows, evenly from all."""
    from .terminal_tables import cut_to_width

    for place in range(min(EXAMPLE_ROWS, len(mined))):
        i = place * len(mined) // min(EXAMPLE_ROWS, len(mined))
        print(cut_to_width(mined.anchors[i]))
        print(f"  + {mined.positive_scores[i]:6.3f}  " + cut_to_width(mined.positives[i], indent=12))
        for score, text, filled in zip(
            mined.scores[i], mined.negatives[i][:EXAMPLE_ROWS], mined.filled[i], strict=False
        ):
            print(f"  − {score:6.3f}  " + cut_to_width(text, indent=12) + ("  (filled in)" if filled else ""))
