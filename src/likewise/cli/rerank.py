"""`likewise rerank`: the documents of a file that go best with a query."""

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from .model_options import add_running, prepare_runtime
from .similarity import one_line

EXAMPLES = """examples:
  likewise rerank ./my-reranker --query "how long do cats sleep" documents.txt
  likewise rerank ./my-reranker --query "a man plays" --label entailment pairs.csv --column premise -k 3 --json
  grep -i cat notes.txt | likewise rerank ./my-reranker --query "how long do cats sleep" -

Documents come from .txt (a line each), .csv, .tsv, .jsonl or .parquet. MODEL is a reranker: a cross-encoder of
sentence-transformers, any Hugging Face sequence classifier, or a poly-encoder of likewise."""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "rerank",
        help="the documents that go best with a query",
        description="Reads the query together with each document, and prints the best with their scores.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="a reranker: a folder or a hub name")
    parser.add_argument("file", metavar="FILE", help="where the documents are; - reads lines from standard input")
    parser.add_argument("--query", required=True, help="what the documents are to go with")
    parser.add_argument("-k", type=int, default=10, help="how many to print (%(default)s)")
    parser.add_argument("--column", help="the column of the documents, where there are several")
    parser.add_argument("--label", help="whose probability is the score, where the model has several labels")
    parser.add_argument(
        "--overflow",
        choices=("warn", "error", "truncate"),
        default="warn",
        help="pairs longer than the model reads: cut and say so, refuse, cut (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    add_running(parser.add_argument_group("how it runs"))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints the best documents."""
    from .. import Reranker
    from ..files import Texts
    from ..files.read import standard_input

    source: Iterable[str] = standard_input() if args.file == "-" else Texts(Path(args.file), args.column)
    documents = list(source)
    prepare_runtime(args)
    reranker = Reranker.load(args.model, precision=args.precision, device=args.device, max_length=args.max_length)
    label = int(args.label) if args.label and args.label.isdigit() and args.label not in reranker.labels else args.label
    found = reranker.rank(args.query, documents, args.k, label=label, overflow=args.overflow)
    if args.json:
        rows = [{"index": i, "score": score, "text": documents[i]} for i, score in found]
        about = {"model": args.model, "fingerprint": reranker.fingerprint, "query": args.query}
        print(json.dumps({**about, "documents": len(documents), "best": rows}))
    else:
        show(found, documents)
    return 0


def show(found: Sequence[tuple[int, float]], documents: Sequence[str]) -> None:
    """Score, number (from 1, as lines are counted) and text, a line each."""
    wide = len(str(len(documents)))
    for i, score in found:
        print(f"{score:8.4f}  {i + 1:>{wide}}  {one_line(documents[i])}")
