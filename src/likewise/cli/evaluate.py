"""Evaluates models on tasks or on your own data, and prints a table of scores with 95 % confidence intervals and a star
for each model that is significantly better than the next best.
"""

import argparse
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadInput
from ..model_files.names import DEFAULT_MODEL
from ..runtime.atomic_files import check_new_file, check_not_input, check_writable_file
from ..runtime.plot_style import PICTURES
from .model_options import add_running, prepare_runtime
from .output import note, plot_module, print_json
from .parser import options
from .process import Terminated
from .sources import input_files
from .terminal_tables import width as terminal_width

if TYPE_CHECKING:
    from ..evaluate.results import Results
    from ..evaluate.runner import EvaluationProgress
    from ..evaluate.statistics.comparison import Comparison
    from ..evaluate.task import Task

EPILOG = """examples:
  likewise evaluate all-MiniLM-L6-v2
  likewise evaluate all-MiniLM-L6-v2 ./my-model --tasks sts,trec --plot scores.png
  likewise evaluate ./before ./after --tasks stsb --compare
  likewise evaluate likewise-mini all-MiniLM-L6-v2 likewise-static --tasks all --compare
  likewise evaluate all-MiniLM-L6-v2 --data pairs.csv
  likewise evaluate --data faq.csv --columns anchor=question,positive=answer
  likewise evaluate --data rated.csv --columns sentence1=question,sentence2=answer,score=rating
  likewise evaluate all-MiniLM-L6-v2 --tasks supervised --faithful --json > scores.json
  likewise evaluate mine.models:encode --tasks stsb
  likewise evaluate all-MiniLM-L6-v2 --corpus docs.jsonl --queries queries.jsonl --qrels qrels.tsv
  likewise evaluate likewise-mini other-tool.trec --corpus beir/scifact --rerank ./my-reranker --compare
  likewise evaluate likewise-mini likewise-static --corpus docs.jsonl --plot queries.png
  likewise evaluate --list

models:
  A MODEL is a folder, a bundled model, a model on the Hugging Face hub, or an expression
  such as bert-cls(NAME), random(NAME), avg-glove or tf-idf (`likewise model list`
  lists them). package.module:function imports and runs your own code: a function
  that takes a list of texts and returns an array with one row per text, or an
  object with such an `encode` method. With --corpus, a TREC run file from any tool
  (FILE.trec or FILE.run) can take the place of a model.

your own data (--data):
  sentence1, sentence2, score      correlation of cosine with the scores
  sentence1, sentence2, label      1 or 0: average precision, best F1 and accuracy
  anchor, positive, negative       accuracy on triplets
  anchor, positive                 MRR@10 of finding the positive among all positives

your own documents (--corpus):
  documents (id, text, title), queries (id, text) and relevance judgements (query,
  document, grade) in .jsonl, .tsv, .csv or .parquet, or judgements in TREC format;
  or a folder in BEIR format, or a folder of such folders. Without judgements,
  queries are generated from the documents themselves. BM25 and each model combined
  with BM25 are evaluated too. --compare lists the queries that gained and lost most,
  and --json and --csv contain the values of every query.

cache:
  Data sets are read from the folder LIKEWISE_DATA. Vectors and results are stored
  in LIKEWISE_CACHE (default: the system's cache folder; at most 4 GB), so an
  interrupted run can be resumed. Results are recomputed if the model, a setting,
  the data set or the version of this program has changed, and always for your own
  data.

The exit code is 1 if a result could not be computed. If you stop a run early (Ctrl-C, SIGTERM), it prints the results
so far and exits with code 130 or 143."""

PLOT = "evaluate.reports.plot"


def add(parser: argparse.ArgumentParser) -> None:
    options(parser)("MODEL", f"models to evaluate (default: {DEFAULT_MODEL})", dest="models", nargs="*")
    add = options(parser, "what to evaluate on")
    names = "tasks and suites, separated by commas: sts, multilingual, domains, all, or any name shown by --list "
    add("--tasks NAMES", f"{names}(default: sts, or none with --data)")
    data = "a .csv, .tsv, .jsonl or .parquet file with your own data; may be given several times"
    add("--data FILE", data, action="append")
    columns = "which columns of --data to use, such as sentence1=question,score=rating; score=rating/5 divides by 5"
    add("--columns NAME=COLUMN,…", columns)
    add("--corpus PATH", "documents to search: a file, or a folder in BEIR format", type=Path)
    add("--queries FILE", "queries for --corpus (default: the folder's, or generated from the documents)", type=Path)
    add("--qrels FILE", "relevance judgements for --corpus: the grades of documents for queries", type=Path)
    add("--rerank RERANKER", "reranker that reorders the results in --corpus: a folder or a name on the hub")
    add("--list", "list all tasks by suite, and any missing data")
    add = options(parser, "how to evaluate")
    slow = "train classifiers one by one with SentEval's own optimizer (slow; default: in batches)"
    add("--faithful", slow)
    add("--seed N", "random seed for folds and classifiers (default: 1111)")
    add("--fresh", "recompute everything and replace it in the cache")
    add("--no-cache", "neither read nor write the cache")
    add = options(parser, "output")
    add("--compare", "compare the first model with each of the others, task by task, with significance tests")
    add("--plot FILE", "plot the scores in a .png, .pdf or .svg file", type=Path)
    runs = "write the first model's results in --corpus, reordered by --rerank if given, as a TREC run file"
    add("--run FILE", runs, type=Path, dest="run_file")
    form = options(parser.add_mutually_exclusive_group())
    form("--json", "print all results as JSON")
    form("--csv", "print every score as CSV")
    add("-q --quiet", "show no progress")
    add_running(options(parser, "how models run"))


def run(args: argparse.Namespace) -> int:
    """Evaluate and print; returns 0, 1 if a result is missing, or 130 if interrupted (finished results are printed)."""
    if args.list:
        return _list_tasks(args.json)
    tasks = _checked_tasks(args)
    from ..evaluate.cache import Cache
    from ..evaluate.runner import evaluate
    from ..evaluate.task import EvaluationSettings
    from ..model_names import load_model
    from ..runtime.progress import StatusLine, format_duration

    prepare_runtime(args)
    seed = {} if args.seed is None else {"seed": args.seed}
    loading = {name: getattr(args, name) for name in ("precision", "device", "max_seq_length")}
    line, start = StatusLine(), time.perf_counter()
    reached: list[EvaluationProgress] = []

    def report(progress: "EvaluationProgress") -> None:
        reached[:] = [progress]
        if not args.quiet:
            line(progress)

    try:
        results = evaluate(
            _contenders(args, loading),
            tasks,
            settings=EvaluationSettings(mode="faithful" if args.faithful else "fast", **seed),
            cache=None if args.no_cache else Cache.of_user(recompute=args.fresh),
            load=lambda name: load_model(name, **loading),
            callback=report,
        )
    except (KeyboardInterrupt, Terminated) as ended:
        if line.wrote:
            note("")
        _show_finished(reached[0].so_far() if reached else None, args)
        if isinstance(ended, Terminated):
            raise
        return 128 + signal.SIGINT
    cached = sum(cell.cached for cell in results.cells.values())
    count, duration = len(results.cells), format_duration(time.perf_counter() - start)
    line.close(f"{count} of {count} in {duration}, {cached} from the cache")
    print_results(results, args)
    if args.run_file:
        _write_run(results, args)
    if args.plot:
        plot_module(PLOT).draw_results(results, args.plot)
        note(f"plot: {args.plot}")
    return 1 if results.failed else 0


def _contenders(args: argparse.Namespace, loading: "Mapping[str, Any]") -> Any:
    """The models, and with --corpus also the rankers evaluated with them."""
    models = args.models or [DEFAULT_MODEL]
    if not args.corpus:
        return models
    from ..evaluate.rankers import with_baselines
    from ..reranker import Reranker

    return with_baselines(models, rerank=args.rerank, load=lambda name: Reranker.load(name, **loading))


def _write_run(results: "Results", args: argparse.Namespace) -> None:
    from ..evaluate.rankers import RerankedRanker

    first, task = results.models[0], results.tasks[0].name
    model = RerankedRanker(first, args.rerank).name if args.rerank else first
    result = results[model, task].result
    if result is not None:
        result.rankings.write(args.run_file, model)
        note(f"run of {model}: {args.run_file}")


def _show_finished(so_far: "Results | None", args: argparse.Namespace) -> None:
    """Print the results of an interrupted run so far, and whether they have been stored."""
    if so_far is not None and len(so_far.failed) < len(so_far.cells):
        print_results(so_far, args)
    stored = "nothing was stored" if args.no_cache else "finished work is stored; to resume, repeat the same command"
    note(f"likewise: interrupted; {stored}")


def print_results(results: "Results", args: argparse.Namespace) -> None:
    from ..evaluate.reports import report

    first, *others = results.models
    if args.corpus and not args.csv:
        _print_rankers(results, args)
        return
    comparisons = {other: report.compare_two(results, first, other) for other in others or [first] if args.compare}
    if args.json:
        print_json({**results.as_dict(), **_compared(comparisons)})
    elif args.csv:
        print(report.format_csv(results), end="")
    else:
        width = terminal_width(120)
        print(report.format_report(results, width=width, bold=sys.stdout.isatty()))
        for other, compared in comparisons.items():
            print("\n" + report.comparison_lines(results, first, other, compared, width=width))
        if comparisons:
            print("\n" + report.comparison_method(results, width))


def _print_rankers(results: "Results", args: argparse.Namespace) -> None:
    """Print results on collections, which are always compared with each other."""
    from ..evaluate.reports import retrieval_report

    if args.json:
        names = retrieval_report.ranked_tasks(results)
        compared = {name: retrieval_report.compare_rankers(results, name) for name in names}
        of_tasks = {name: {model: one.as_dict() for model, one in by.items()} for name, by in compared.items()}
        print_json({**results.as_dict(), "against_first": of_tasks})
    else:
        print(retrieval_report.format_retrieval_report(results, width=terminal_width(120), queries=args.compare))


def _compared(comparisons: "Mapping[str, Mapping[str, Comparison]]") -> dict[str, Any]:
    """With two models, the `comparison` on each task; with more, `comparisons`, keyed by the other model's name."""
    values = {other: {name: one.as_dict() for name, one in by_task.items()} for other, by_task in comparisons.items()}
    if len(values) > 1:
        return {"comparisons": values}
    return {"comparison": next(iter(values.values()))} if values else {}


def _checked_tasks(args: argparse.Namespace) -> "list[Task]":
    """The tasks, after checking everything that could otherwise fail after an hour of computation."""
    from ..evaluate.own_collection import collection_tasks
    from ..evaluate.own_data import data_task
    from ..evaluate.tasks.registry import select_tasks

    if args.columns and not args.data:
        raise BadInput("--columns requires --data FILE, which was not given")
    _check_corpus_options(args)
    names = args.tasks if args.tasks is not None or args.data or args.corpus else "sts"
    columns = args.columns.split(",") if args.columns else []
    tasks = [
        *(select_tasks(names) if names is not None else ()),
        *(data_task(file, columns) for file in dict.fromkeys(args.data or ())),
        *(collection_tasks(args.corpus, args.queries, args.qrels) if args.corpus else ()),
    ]
    if args.run_file and len(tasks) > 1:
        raise BadInput(f"--run writes the run of one collection, but {args.corpus} has {len(tasks)}")
    if args.compare and len(args.models) < 2 and not args.corpus:
        raise BadInput(f"--compare needs at least two models; got {len(args.models)}")
    if args.compare and args.csv:
        raise BadInput("--csv prints scores and no comparisons; expected --compare alone or with --json")
    if args.run_file:
        read = (str(path) for path in (args.corpus, args.queries, args.qrels) if path is not None)
        check_not_input(args.run_file, [*input_files(*args.models, *read), *args.corpus.rglob("*")])
        check_writable_file(args.run_file)
    if args.plot:
        plot_module(PLOT)
        check_new_file(args.plot, PICTURES)
    return tasks


def _check_corpus_options(args: argparse.Namespace) -> None:
    if args.corpus and (args.tasks is not None or args.data):
        raise BadInput("--corpus cannot be combined with --tasks or --data: rankers such as BM25 compute no vectors")
    for name in ("queries", "qrels", "rerank", "run_file"):
        if getattr(args, name) is not None and not args.corpus:
            raise BadInput(f"--{name.removesuffix('_file')} requires --corpus PATH, which was not given")


def _list_tasks(as_json: bool) -> int:
    from ..data.datasets import check_dataset
    from ..evaluate.tasks.registry import ALIASES, SEPARATE, SUITES, TASKS

    states = {name: {file: check_dataset(file).state for file in task.data} for name, task in TASKS.items()}
    if as_json:
        rows = [{"task": n, "suite": t.suite, "summary": t.summary, "data": states[n]} for n, t in TASKS.items()]
        print_json(rows)
        return 0
    for suite, names in SUITES.items():
        print(suite)
        for name in names:
            missing = {file: state for file, state in states[name].items() if state not in ("complete", "unchecked")}
            notes = "; ".join(f"{file} {state}" for file, state in missing.items())
            print(f"  {name:22} {TASKS[name].summary}" + (f"  [{notes}]" if notes else ""))
    for suite, names in ALIASES.items():
        print(f"{suite}\n  {', '.join(names)}")
    print(f"all\n  every task except those in {' and '.join(SEPARATE)}\n")
    print("To see which data is missing and how to get it: likewise data list")
    return 0
