"""Distils a model into a table of token vectors, a static model, in about a minute. It is hundreds of times as fast as
its teacher, but less accurate; sentence-transformers and model2vec can load it too.
"""

import argparse
from dataclasses import asdict
from pathlib import Path

from ..model_options import MODEL, add_threads, new_model_folder
from ..output import print_result
from ..parser import options
from ..texts.text_file import check_column, read_texts

EPILOG = """examples:
  likewise model distil-static all-MiniLM-L6-v2 -o minilm-static
  likewise model distil-static all-MiniLM-L6-v2 -o tickets-static --texts tickets.jsonl --column body
  likewise evaluate ./minilm-static --tasks stsb

The teacher encodes each token of its vocabulary alone. The first principal components of these vectors are kept, and
the vectors of frequent tokens are scaled down. Token frequencies are counted in your texts with --texts, and otherwise
estimated from the order of the vocabulary."""


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add("TEACHER", MODEL)
    add("-o --output FOLDER", "folder for the new model", type=new_model_folder, required=True)
    add("--truncate-dim DIM", "dimensions to keep (default: 256, or the teacher's if it has fewer)", type=int)
    add("--texts FILE", "texts from your domain, to count token frequencies", type=Path)
    add("--column NAME", "column that contains the texts, if there are several")
    add("--json", "print the results as JSON")
    add_threads(add)


def run(args: argparse.Namespace) -> int:
    from ...model_names import load_named_embedder
    from ...train.static_distillation import DIMENSIONS, distil_static

    check_column(args)
    texts = None if args.texts is None else read_texts(str(args.texts), args.column)
    teacher = load_named_embedder(args.teacher)
    dimensions = min(DIMENSIONS, teacher.dimension) if args.truncate_dim is None else args.truncate_dim
    result = distil_static(teacher, args.output, dimensions=dimensions, texts=texts)
    shown = (
        f"{result.tokens:,} tokens of {result.dimensions} dimensions ({result.explained_variance:.0%} of the variance) "
        f"in {result.seconds:.0f} s: {result.folder}"
    )
    print_result(args, {"teacher": args.teacher, **asdict(result), "folder": str(result.folder)}, shown, indent=None)
    return 0
