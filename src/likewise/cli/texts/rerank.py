"""`likewise rerank`: the documents of a file that answer a query best, as a reranker scores them."""

import argparse
from collections.abc import Sequence

from ..model_options import add_engine, add_overflow, add_running, prepare_runtime
from ..output import print_json
from .text_file import FORMATS, add_file, read_texts

EPILOG = f"""examples:
  likewise rerank documents.txt -m cross-encoder/ms-marco-MiniLM-L6-v2 --query "how long do cats sleep"
  likewise rerank pairs.csv --column premise -m ./my-reranker --query "a man plays" --label entailment -k 3 --json
  grep -i cat notes.txt | likewise rerank - -m ./my-reranker --query "how long do cats sleep"

{FORMATS}

A reranker reads the query and one document together: a cross-encoder of sentence-transformers, any Hugging Face
sequence classifier, or a poly-encoder of likewise (which needs torch). None is bundled. Rows are counted from 1; the
index in the JSON is counted from 0."""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "rerank",
        description="Scores each document together with the query, and prints the best.",
        epilog=EPILOG,
    )
    add_file(parser)
    parser.add_argument("--query", required=True, metavar="TEXT", help="what the documents should answer")
    parser.add_argument(
        "-k", type=int, default=10, metavar="N", help="number of documents to print (default: %(default)s)"
    )
    parser.add_argument(
        "--label", metavar="NAME", help="label whose probability is the score, if the model has several"
    )
    add_overflow(parser, ("warn", "error", "truncate"), "pairs")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    group = parser.add_argument_group("model")
    group.add_argument(
        "-m", "--model", required=True, metavar="RERANKER", help="reranker: a folder, or a name on the Hugging Face hub"
    )
    add_engine(group)
    add_running(group)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the best documents."""
    from ... import Reranker

    documents = list(read_texts(args.file, args.column))
    prepare_runtime(args)
    options = {"precision": args.precision, "device": args.device, "max_seq_length": args.max_seq_length}
    reranker = Reranker.load(args.model, engine=args.engine, **options)
    label = int(args.label) if args.label and args.label.isdigit() and args.label not in reranker.labels else args.label
    ranking = reranker.rank(args.query, documents, args.k, label=label, overflow=args.overflow)
    if args.json:
        rows = [{"index": i, "score": score, "text": documents[i]} for i, score in ranking]
        about = {"model": args.model, "fingerprint": reranker.fingerprint, "query": args.query}
        print_json({**about, "documents": len(documents), "best": rows})
    else:
        show_ranking(ranking, documents)
    return 0


def show_ranking(ranking: Sequence[tuple[int, float]], documents: Sequence[str]) -> None:
    """Score, row and text, a line each."""
    from ..terminal_tables import fit_line

    digits = len(str(len(documents)))
    for i, score in ranking:
        print(f"{score:8.4f}  {i + 1:>{digits}}  {fit_line(documents[i], indent=digits + 12)}")
