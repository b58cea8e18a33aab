"""`likewise mine`: hard negatives for a file of pairs, and a report of how they were found."""

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..runtime.home_folder import expanded
from ..runtime.lazy_imports import require_torch
from ..wording import counted
from .model_options import MODEL, add_running, prepare_runtime

if TYPE_CHECKING:
    from ..mine import MiningPrompts, MiningReport, MiningResult, MiningSettings, Rule

EXAMPLES = """examples:
  likewise mine all-MiniLM-L6-v2 nli/triplets -k 3 -o mined.parquet
  likewise mine MODEL faq.csv --columns anchor=question,positive=answer --rank 10 100 --strategy random -o mined.csv
  likewise mine MODEL pairs.parquet --where label==1 --ratio 0.9 --reranker my-reranker --reranker-below 0.3 \\
    -o mined.jsonl
  likewise mine MODEL pairs.csv --corpus passages.txt --missing fill

Rules apply in this order, each to the candidates that those before it kept: known positives are excluded (also those
that pairs connect: a–b and b–c), then --rank, --score, --ratio, --margin, --reranker. Without any of them, --ratio
0.95. Without -o nothing is written, and the report shows what would be."""

EXAMPLE_ROWS = 5
LARGE_GROUP = 0.1  # of all texts: a group this large suggests pairs that connect texts that are not similar


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb and its options."""
    parser = verbs.add_parser(
        "mine",
        description="Find hard negatives: for each anchor, texts that a model holds similar and that are not known "
        "positives.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    parser.add_argument("data", metavar="DATA", help=".parquet, .csv, .tsv or .jsonl file, or the name of a data set")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help=".parquet, .csv, .tsv or .jsonl to write")
    _add_data(parser.add_argument_group("texts"))
    _add_rules(parser.add_argument_group("rules: which candidates are kept"))
    _add_choice(parser.add_argument_group("choice among the kept candidates"))
    parser.add_argument("--triplets", action="store_true", help="write one row per negative, instead of one column")
    parser.add_argument("--no-scores", action="store_true", help="leave out the columns of scores")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress and no report")
    add_running(parser.add_argument_group("how the model runs"))
    parser.set_defaults(run=run)


def _add_data(group: "argparse._ArgumentGroup") -> None:
    add = group.add_argument
    add(
        "--columns",
        metavar="NAME=COLUMN,…",
        help="which columns hold the anchor and the positive: anchor=question,positive=answer "
        "(default: columns of these names, or the first two columns of texts)",
    )
    add("--where", metavar="CONDITION", help="use only the rows for which this holds: label==1")
    add("--corpus", metavar="FILE", help="where negatives come from: a file or data set (default: the positives)")
    add("--corpus-column", metavar="NAME", help="the column of the corpus that holds the texts")
    add("--prompt", metavar="TEXT", help="prepended to every anchor (default: none)")
    add("--prompt-name", metavar="NAME", help="the model's prompt for anchors, by name (default: the model's default)")
    add("--corpus-prompt", metavar="TEXT", help="prepended to all other texts (default: none)")
    add("--corpus-prompt-name", metavar="NAME", help="the model's prompt for all other texts, by name")


def _add_rules(group: "argparse._ArgumentGroup") -> None:
    add, bounds = group.add_argument, ("LOW", "HIGH")
    add(
        "--direct",
        action="store_true",
        help="exclude only the positives of the anchor's own pairs, not what other pairs connect",
    )
    add("--rank", nargs=2, type=int, metavar=bounds, help="skip the LOW nearest, and everything after the first HIGH")
    add("--score", nargs=2, type=float, metavar=bounds, help="similarity to the anchor between LOW and HIGH")
    add("--ratio", type=float, metavar="X", help="similarity below X times the positive's (default: 0.95)")
    add("--margin", type=float, metavar="X", help="similarity below the positive's minus X")
    add("--reranker", metavar="MODEL", help="a reranker that scores the candidates that are left")
    add("--reranker-below", type=float, metavar="X", help="the reranker's score is at most X")
    add("--reranker-margin", type=float, metavar="X", help="the reranker's score is below the positive's minus X")
    add("--reranker-label", metavar="NAME", help="the label whose probability is the score, if there are several")


def _add_choice(group: "argparse._ArgumentGroup") -> None:
    add = group.add_argument
    add("-k", type=int, default=1, metavar="N", help="negatives per row (default: %(default)s)")
    add(
        "--strategy",
        default="top",
        choices=("top", "random", "spread"),
        help="the nearest, any, or evenly from near to far (default: %(default)s)",
    )
    add(
        "--pool-size",
        type=int,
        default=100,
        metavar="N",
        help="random and spread choose among the N nearest (default: %(default)s)",
    )
    add("--max-candidates", type=int, default=1000, metavar="N", help="examined per row (default: %(default)s)")
    add(
        "--missing",
        default="drop",
        choices=("drop", "fill", "error"),
        help="rows with fewer than N negatives: drop them, fill up with weaker ones, or stop (default: %(default)s)",
    )
    add("--metric", default="cosine", help="cosine, dot, euclidean or manhattan (default: %(default)s)")
    add("--seed", type=int, default=0, metavar="N", help="of the random strategy (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Mine, write and report."""
    require_torch("likewise mine")
    from ..files import check_table
    from ..mine import mine_negatives
    from ..model_names import load_named_embedder
    from .sources import input_files
    from .train.build import data_source
    from .train.config import DataOptions

    if args.output is not None:
        check_table(args.output, input_files(args.data, args.corpus))
    prepare_runtime(args)
    settings, prompts = _settings(args)
    columns = tuple(args.columns.split(",")) if args.columns else ()
    source = data_source(DataOptions(args.data, "contrastive", columns, where=args.where))
    texts = source.rows.texts  # type: ignore[union-attr]  # a file is not a stream
    corpus = _corpus(args.corpus, args.corpus_column) if args.corpus else None
    embedder = load_named_embedder(
        args.model, precision=args.precision, device=args.device, max_seq_length=args.max_seq_length
    )
    result = mine_negatives(
        texts["anchor"],
        texts["positive"],
        embedder,
        corpus=corpus,
        settings=settings,
        prompts=prompts,
        show_progress_bar=not args.quiet,
    )
    if args.output is not None:
        result.write(args.output, triplets=args.triplets, scores=not args.no_scores)
    _report(result, args, embedder.fingerprint)
    return 0


def _report(result: "MiningResult", args: argparse.Namespace, fingerprint: str) -> None:
    if args.json:
        about = {"model": args.model, "fingerprint": fingerprint, "data": args.data}
        output = None if args.output is None else str(args.output)
        print(json.dumps({**about, "output": output, "kept": result.report.kept, **asdict(result.report)}))
    elif not args.quiet:
        print_mining_report(result, args)


def _settings(args: argparse.Namespace) -> "tuple[MiningSettings, MiningPrompts]":
    from ..mine import MiningPrompts, MiningSettings

    prompts = MiningPrompts(args.prompt, args.prompt_name, args.corpus_prompt, args.corpus_prompt_name)
    settings = MiningSettings(
        k=args.k,
        rules=_rules(args),
        strategy=args.strategy,
        pool_size=args.pool_size,
        max_candidates=args.max_candidates,
        missing=args.missing,
        metric=args.metric,
        seed=args.seed,
    )
    return settings, prompts


def _rules(args: argparse.Namespace) -> "list[Rule]":
    from ..mine import DEFAULT_RATIO, BelowPositive, ExcludeKnownPositives, RankBetween, ScoreBetween

    ratio = args.ratio
    if all(given is None for given in (args.rank, args.score, args.ratio, args.margin, args.reranker)):
        ratio = DEFAULT_RATIO
    rules: list[Rule] = [ExcludeKnownPositives(transitive=not args.direct)]
    rules += [RankBetween(*args.rank)] if args.rank else []
    rules += [ScoreBetween(*args.score)] if args.score else []
    rules += [BelowPositive(ratio=ratio)] if ratio is not None else []
    rules += [BelowPositive(margin=args.margin)] if args.margin is not None else []
    return rules + _reranker_rules(args)


def _reranker_rules(args: argparse.Namespace) -> "list[Rule]":
    from .. import Reranker
    from ..errors import BadInput
    from ..mine import BelowPositive, RerankerScoreBelow, ScoreBetween

    limits: list[Rule] = [ScoreBetween(-math.inf, args.reranker_below)] if args.reranker_below is not None else []
    limits += [BelowPositive(margin=args.reranker_margin)] if args.reranker_margin is not None else []
    if bool(args.reranker) != bool(limits):
        raise BadInput(
            "expected --reranker MODEL with --reranker-below or --reranker-margin; found one without the other"
        )
    if not limits:
        return []
    reranker = Reranker.load(args.reranker, precision=args.precision, device=args.device)
    return [RerankerScoreBelow(reranker, rule, args.reranker_label) for rule in limits]


def _corpus(name: str, column: str | None) -> Sequence[str]:
    """The texts of a file, or of a data set's column."""
    from ..data.datasets import load_dataset
    from ..errors import BadInput
    from ..files import READABLE, Texts

    path = expanded(name)
    if path.suffix.lower() in READABLE or path.exists():
        return list(Texts(path, column))
    columns = load_dataset(name).columns
    column = column or "text"
    if column not in columns:
        raise BadInput(f"{name} has the columns {', '.join(columns)}; choose one with --corpus-column")
    return list(columns[column])


def print_mining_report(result: "MiningResult", args: argparse.Namespace) -> None:
    """Candidates that each rule removed, what happened to the rows, similarities of the negatives, and examples."""
    from .terminal_tables import aligned

    report = result.report
    print(
        f"{counted(report.rows, 'row')} of {counted(report.anchors, 'anchor')}; "
        f"{counted(report.candidates, 'candidate')} of {counted(report.corpus_texts, 'text')}\n"
    )
    _print_rules(report)
    print()
    aligned(
        f"{counted(report.complete, 'row has', 'rows have')} {counted(report.k, 'negative')}, "
        f"{counted(report.partial, 'has', 'have')} fewer, "
        f"{report.empty:,} none. {_row_summary(report, args.missing)}"
    )
    if report.largest_group > max(100, LARGE_GROUP * (report.anchors + report.candidates)):
        aligned(
            f"The largest group that pairs connect has {report.largest_group:,} texts, and none of them is a negative "
            "of another; if pairs connect texts that are not similar, use --direct."
        )
    print()
    _print_scores(result)
    print()
    _print_rows(result)
    written = f"{args.output}: {_output_summary(result, args.triplets)}"
    print(f"\n{written}" if args.output else "\nNothing was written; -o FILE writes it.")


def _print_rules(report: "MiningReport") -> None:
    from .terminal_tables import escape, printable, table

    rules = table("rule", ">removed", ">of", ">rows left with too few")
    left = report.examined
    for stats in report.rule_stats:
        rules.add_row(escape(stats.rule), f"{stats.removed:,}", f"{left:,}", f"{stats.rows_short:,}")
        left -= stats.removed
    printable(rules)


def _row_summary(report: "MiningReport", missing: str) -> str:
    if not report.partial and not report.empty:
        return "All rows are kept."
    filled = (
        f"{counted(report.filled, 'negative was', 'negatives were')} filled up with weaker ones. "
        if report.filled
        else ""
    )
    dropped = f"{counted(report.dropped, 'row is', 'rows are')} left out" if report.dropped else "All rows are kept"
    return f"{filled}{dropped}{'; --missing fill keeps them.' if missing == 'drop' else '.'}"


def _output_summary(result: "MiningResult", triplets: bool) -> str:
    k = result.report.k
    return (
        counted(len(result) * k, "triplet")
        if triplets
        else f"{counted(len(result), 'row')}, {counted(k, 'negative')} each"
    )


def _print_scores(result: "MiningResult") -> None:
    import numpy as np

    from .terminal_tables import printable, table

    scores = table("similarity", *(f">{name}" for name in ("minimum", "10 %", "median", "90 %", "maximum")))
    quantiles = (0, 0.1, 0.5, 0.9, 1)
    difference = result.positive_scores[:, None] - result.scores
    rows = (("positives", result.positive_scores), ("negatives", result.scores), ("difference", difference))
    for name, values in rows:
        scores.add_row(name, *(f"{value:.3f}" for value in np.quantile(values, quantiles)))
    printable(scores)


def _print_rows(result: "MiningResult") -> None:
    """Examples, evenly from all rows."""
    from .terminal_tables import cut_to_width

    count = min(EXAMPLE_ROWS, len(result))
    for example in range(count):
        i = example * len(result) // count
        print(cut_to_width(result.anchors[i]))
        print(f"  + {result.positive_scores[i]:6.3f}  " + cut_to_width(result.positives[i], indent=12))
        negatives = zip(result.scores[i], result.negatives[i][:EXAMPLE_ROWS], result.filled[i], strict=False)
        for score, text, filled in negatives:
            print(f"  − {score:6.3f}  " + cut_to_width(text, indent=12) + ("  (filled up)" if filled else ""))
