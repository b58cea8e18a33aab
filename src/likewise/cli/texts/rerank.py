"""Scores each document together with the query, and prints the best documents."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..model_options import add_engine, add_overflow, add_running, prepare_runtime
from ..output import print_json
from ..parser import options
from ..terminal_tables import fit_line
from .text_file import FORMATS, add_file, given_text, read_texts

if TYPE_CHECKING:
    from ... import Reranker

EPILOG = f"""examples:
  likewise rerank documents.txt -m cross-encoder/ms-marco-MiniLM-L6-v2 --query "how long do cats sleep"
  likewise rerank pairs.csv --column premise -m ./my-reranker --query "a man plays" --label entailment -k 3 --json
  grep -i cat notes.txt | likewise rerank - -m ./my-reranker --query "how long do cats sleep"

{FORMATS}

A reranker reads the query and one document together: a cross-encoder from sentence-transformers, any Hugging Face
sequence classifier, or one of likewise's own poly-encoders (which need torch). None of them is bundled. Rows are
counted from 1; the index in the JSON output is counted from 0."""


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add_file(add)
    add("--query TEXT", "query that the documents should answer; - reads it from standard input", required=True)
    add("-k N", "number of documents to print", 10)
    add("--label NAME", "label whose probability is the score, if the model has several")
    add_overflow(add, ("warn", "error", "truncate"), "pairs")
    add("--json", "print the result as JSON")
    add = options(parser, "model")
    add("-m --model RERANKER", "reranker: a folder, or a name on the Hugging Face hub", required=True)
    add_engine(add)
    add_running(add)


def run(args: argparse.Namespace) -> int:
    from ... import Reranker

    query = given_text(args.query, "query", args.file)
    documents = list(read_texts(args.file, args.column))
    prepare_runtime(args)
    loading = {"precision": args.precision, "device": args.device, "max_seq_length": args.max_seq_length}
    reranker = Reranker.load(args.model, engine=args.engine, **loading)
    label = label_of(reranker, args.label)
    ranking = reranker.rank(query, documents, args.k, label=label, overflow=args.overflow)
    if args.json:
        rows = [{"index": i, "score": score, "text": documents[i]} for i, score in ranking]
        about = {"model": args.model, "fingerprint": reranker.fingerprint, "query": query}
        print_json({**about, "documents": len(documents), "best": rows})
    else:
        show_ranking(ranking, documents)
    return 0


def label_of(reranker: "Reranker", name: str | None) -> str | int | None:
    return int(name) if name and name.isdecimal() and name not in reranker.labels else name


def show_ranking(ranking: Sequence[tuple[int, float]], documents: Sequence[str]) -> None:
    """Print the score, row and text of each document, one line per document."""
    digits = len(str(len(documents)))
    for i, score in ranking:
        print(f"{score:8.4f}  {i + 1:>{digits}}  {fit_line(documents[i], indent=digits + 12)}")
