"""Finds hard negatives: for each anchor, texts that a model considers similar but that are not known positives."""

import argparse
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import BadInput
from ...runtime.lazy_imports import require_torch
from ...wording import counted
from ..model_options import MODEL, add_running, prepare_runtime
from ..output import print_json
from ..parser import options
from ..sources import input_files
from ..terminal_tables import aligned, cut_to_width, printable, table
from ..texts.rerank import label_of
from ..texts.text_file import STDIN, read_texts

if TYPE_CHECKING:
    from ...mine import MiningReport, MiningResult, Rule

EPILOG = """examples:
  likewise data mine all-MiniLM-L6-v2 nli/triplets -k 3 -o mined.parquet
  likewise data mine MODEL faq.csv --columns anchor=question,positive=answer --rank 10 100 -o mined.csv
  likewise data mine MODEL pairs.parquet --where label==1 --ratio 0.9 --reranker my-reranker --reranker-below 0.3 \\
    -o mined.jsonl
  likewise data mine MODEL pairs.csv --corpus passages.txt --missing fill

First, known positives are excluded, including indirect ones: a–b and b–c make c a positive of a. Then --rank, --score,
--ratio, --margin and --reranker apply in this order, each to the candidates that are left. The default is --ratio 0.95.
Without -o, nothing is written, but the report shows what would be."""

EXAMPLE_ROWS = 5
LARGE_GROUP = 0.1  # as a fraction of all texts: a larger group suggests that some pairs connect dissimilar texts


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add("MODEL", MODEL)
    add("DATA", ".parquet, .csv, .tsv or .jsonl file, or the name of a data set")
    add("-o --output FILE", ".parquet, .csv, .tsv or .jsonl file to write", type=Path)
    add("--triplets", "write one row, instead of one column, per negative")
    add("--json", "print the report as JSON")
    add("-q --quiet", "print no progress and no report")
    add = options(parser, "texts")
    columns = "columns with the anchor and the positive: anchor=question,positive=answer (default: columns with these "
    add("--columns NAME=COLUMN,…", columns + "names, or the first two columns of texts)")
    add("--where CONDITION", "use only rows that satisfy this condition: label==1")
    add("--corpus FILE", "source of negatives: a file or data set (default: the positives)")
    add("--column NAME", "column of the corpus with the texts")
    add("--prompt TEXT", "text to prepend to every anchor (default: none)")
    add("--prompt-name NAME", "name of the model's prompt for anchors (default: the model's default)")
    add("--corpus-prompt-name NAME", "name of the model's prompt for all other texts")
    add = options(parser, "rules for keeping candidates")
    add("--direct", "exclude only positives that are paired with the anchor directly")
    add("--rank LOW HIGH", "skip the LOW nearest candidates, and all after the first HIGH", type=int)
    add("--score LOW HIGH", "require a similarity to the anchor between LOW and HIGH", type=float)
    add("--ratio X", "require a similarity below X times the positive's (default: 0.95)")
    add("--margin X", "require a similarity below the positive's minus X")
    add("--reranker MODEL", "reranker that scores the remaining candidates")
    add("--reranker-below X", "require a reranker score of at most X")
    add("--label NAME", "label whose probability is the reranker's score, if it has several")
    add = options(parser, "choosing among the kept candidates")
    add("-k N", "negatives per row", 1)
    strategies = ("top", "random", "spread")
    strategy = "top: take the nearest; random: any of the 100 nearest; spread: evenly from near to far"
    add("--strategy", strategy, "top", choices=strategies)
    missing = "what to do with rows that have fewer than N negatives: drop them, fill them up with weaker ones, or stop"
    add("--missing", missing, "drop", choices=("drop", "fill", "error"))
    add("--metric METRIC", "cosine, dot, euclidean or manhattan", "cosine")
    add("--seed N", "seed for the random strategy", 0)
    add_running(options(parser, "how the model runs"))


def run(args: argparse.Namespace) -> int:
    require_torch("likewise data mine")
    from ...data.column_names import ColumnNames
    from ...files import check_table
    from ...mine import MiningPrompts, MiningSettings, mine_negatives
    from ...model_names import load_named_embedder
    from ...train.data.sources import load_texts
    from ...train.objectives import Contrastive

    if args.output is not None:
        check_table(args.output, input_files(args.data, args.corpus))
    prepare_runtime(args)
    choice = {name: getattr(args, name) for name in ("k", "strategy", "missing", "metric", "seed")}
    columns = tuple(args.columns.split(",")) if args.columns else ()
    texts = load_texts(args.data, Contrastive(), ColumnNames.parse(columns, where=args.where))
    if args.column is not None and not args.corpus:
        raise BadInput("--column requires --corpus")
    corpus = _corpus(args.corpus, args.column) if args.corpus else None
    embedder = load_named_embedder(
        args.model, precision=args.precision, device=args.device, max_seq_length=args.max_seq_length
    )
    result = mine_negatives(
        texts["anchor"],
        texts["positive"],
        embedder,
        corpus=corpus,
        settings=MiningSettings(rules=_rules(args), **choice),
        prompts=MiningPrompts(args.prompt, args.prompt_name, None, args.corpus_prompt_name),
        show_progress_bar=not args.quiet,
    )
    if args.output is not None:
        result.write(args.output, triplets=args.triplets)
    if args.json:
        about = {"model": args.model, "fingerprint": embedder.fingerprint, "data": args.data}
        output = None if args.output is None else str(args.output)
        print_json({**about, "output": output, "kept": result.report.kept, **asdict(result.report)}, indent=None)
    elif not args.quiet:
        print_mining_report(result, args)
    return 0


def _rules(args: argparse.Namespace) -> "list[Rule]":
    from ...mine import DEFAULT_RATIO, BelowPositive, ExcludeKnownPositives, RankBetween, ScoreBetween

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
    from ... import Reranker
    from ...mine import RerankerScoreBelow, ScoreBetween

    if (args.reranker is None) != (args.reranker_below is None):
        raise BadInput("--reranker MODEL and --reranker-below X must be used together; found only one")
    if args.reranker is None:
        if args.label is not None:
            raise BadInput("--label requires --reranker and --reranker-below")
        return []
    reranker = Reranker.load(args.reranker, precision=args.precision, device=args.device)
    return [RerankerScoreBelow(reranker, ScoreBetween(-math.inf, args.reranker_below), label_of(reranker, args.label))]


def _corpus(name: str, column: str | None) -> Sequence[str]:
    from ...data.datasets import file_path, load_dataset

    path = file_path(name)
    if name == STDIN or path is not None:
        return list(read_texts(str(path or name), column))
    columns = load_dataset(name).columns
    column = column or "text"
    if column not in columns:
        raise BadInput(f"{name} has the columns {', '.join(columns)}; choose one with --column")
    return list(columns[column])


def print_mining_report(result: "MiningResult", args: argparse.Namespace) -> None:
    """Print how many candidates each rule removed, what happened to each row, the similarities, and examples."""
    report = result.report
    rows, anchors = counted(report.rows, "row"), counted(report.anchors, "anchor")
    candidates, texts = counted(report.candidates, "candidate"), counted(report.corpus_texts, "text")
    print(f"{rows} for {anchors}; {candidates} from {texts}\n")
    _print_rules(report)
    print()
    complete, partial = counted(report.complete, "row has", "rows have"), counted(report.partial, "has", "have")
    number = counted(report.k, "negative")
    aligned(f"{complete} {number}, {partial} fewer, {report.empty:,} none. {_row_summary(report, args.missing)}")
    if report.largest_group > max(100, LARGE_GROUP * (report.anchors + report.candidates)):
        aligned(
            f"The largest group of connected texts has {report.largest_group:,} texts, none of which can be a negative "
            "for another; if some pairs connect dissimilar texts, use --direct."
        )
    print()
    _print_scores(result)
    print()
    _print_rows(result)
    k, rows = report.k, counted(len(result), "row")
    written = counted(len(result) * k, "triplet") if args.triplets else f"{rows}, {counted(k, 'negative')} each"
    print(f"\n{args.output}: {written}" if args.output else "\nNothing was written; use -o FILE to write the rows.")


def _print_rules(report: "MiningReport") -> None:
    rules = table("rule", ">removed", ">of", ">rows left with too few")
    left = report.examined
    for stats in report.rule_stats:
        rules.add_row(stats.rule, f"{stats.removed:,}", f"{left:,}", f"{stats.rows_short:,}")
        left -= stats.removed
    printable(rules)


def _row_summary(report: "MiningReport", missing: str) -> str:
    if not report.partial and not report.empty:
        return "All rows are kept."
    negatives = counted(report.filled, "negative was", "negatives were")
    filled = f"{negatives} filled in with weaker ones. " if report.filled else ""
    dropped = f"{counted(report.dropped, 'row is', 'rows are')} left out" if report.dropped else "All rows are kept"
    return f"{filled}{dropped}{'; --missing fill keeps them.' if missing == 'drop' else '.'}"


def _print_scores(result: "MiningResult") -> None:
    import numpy as np

    scores = table("similarity", *(f">{name}" for name in ("minimum", "10 %", "median", "90 %", "maximum")))
    difference = result.positive_scores[:, None] - result.scores
    rows = {"positives": result.positive_scores, "negatives": result.scores, "difference": difference}
    for name, values in rows.items():
        scores.add_row(name, *(f"{value:.3f}" for value in np.quantile(values, (0, 0.1, 0.5, 0.9, 1))))
    printable(scores)


def _print_rows(result: "MiningResult") -> None:
    count = min(EXAMPLE_ROWS, len(result))
    for i in (example * len(result) // count for example in range(count)):
        print(cut_to_width(result.anchors[i]))
        print(f"  + {result.positive_scores[i]:6.3f}  " + cut_to_width(result.positives[i], indent=12))
        negatives = zip(result.scores[i], result.negatives[i][:EXAMPLE_ROWS], result.filled[i], strict=False)
        for score, text, filled in negatives:
            print(f"  − {score:6.3f}  " + cut_to_width(text, indent=12) + ("  (filled in)" if filled else ""))
