"""Compares the means of up to three layers of a model on unlabelled texts, and recommends the best pooling.

Compared with the mean of the last layer, the result is often better for encoders that were never trained for sentence
embeddings, but rarely for others.
"""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...wording import counted
from ..model_options import MODEL, add_threads, new_model_folder
from ..output import print_json
from ..parser import options
from ..sources import check_new_folder
from ..terminal_tables import aligned, printable, table
from .dissect import read_sample

if TYPE_CHECKING:
    from ...train.layers.layer_selection import LayerScore, LayerSelection

SHOWN = 10  # candidates shown in the table
EPILOG = """examples:
  likewise model select-layers all-MiniLM-L6-v2 --texts sentences.txt
  likewise model select-layers ./my-encoder --texts reviews.csv --column body -o my-encoder-layers
  likewise model select-layers './my-encoder(pooling=cls)' --texts sentences.txt --json
  likewise encode sentences.txt -m ./my-encoder --pooling mean:layers=0+1 -o vectors.npy

output column:
  separation  how much more similar texts are to copies of themselves without a fifth of the tokens than to other texts,
              in units of the spread of these cosines; higher is better

Layer 0 is the embeddings. No labels are used, and nothing is trained. Other kinds of text may favour other layers. With
labelled pairs, you can compare pooling methods (likewise evaluate) or train a map over all layers (likewise model
fuse)."""


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add("MODEL", MODEL)
    texts = "file of texts like the ones you will encode: at least 50; at most 500 are used"
    add("--texts FILE", texts, type=Path, required=True)
    add("--column NAME", "column that contains the texts, if there are several")
    add("--seed N", "seed for choosing the tokens to leave out", 0)
    add("-o --output FOLDER", "save the model with the best pooling here", type=new_model_folder)
    add("--json", "print all candidates as JSON")
    add_threads(add)


def run(args: argparse.Namespace) -> int:
    from ...model_names import load_named_embedder
    from ...train.layers.layer_selection import select_layers

    check_new_folder(args.output, args.model)
    texts = read_sample(args.texts, args.column)
    embedder = load_named_embedder(args.model)
    selection = select_layers(embedder, texts, seed=args.seed)
    if args.json:
        print_json(as_json(args.model, selection))
    else:
        show(Path(args.model).name, selection)
    if args.output:
        embedder.with_pooling(selection.best.pooling).save(args.output)
        if not args.json:
            print(f"\nsaved in {args.output} with the pooling {selection.best.pooling}")
    return 0


def as_json(model: str, selection: "LayerSelection") -> dict[str, Any]:
    return {
        "model": model,
        "texts": selection.texts,
        "best": selection.best.pooling,
        "last": asdict(selection.last),
        "candidates": [asdict(candidate) for candidate in selection.candidates],
    }


def show(name: str, selection: "LayerSelection") -> None:
    """Print the best candidates, including the last layer, and a recommendation."""
    first = selection.candidates[:SHOWN]
    rows = table("pooling", ">separation")
    for candidate in first if selection.last in first else (*first, selection.last):
        rows.add_row(candidate.pooling, f"{candidate.separation:.2f}")
    print(f"{name}: {counted(len(selection.candidates), 'mean')} of layers compared on {selection.texts:,} texts\n")
    printable(rows)
    aligned("\n" + advice(selection.best, selection.last))


def advice(best: "LayerScore", last: "LayerScore") -> str:
    """A recommendation about the best candidate, in one or two sentences."""
    if best == last:
        return f"Keep {last.pooling} of the last layer: no mean of other layers separates texts better."
    return (
        f"Try --pooling {best.pooling}: its separation is {best.separation:.2f}, compared with {last.separation:.2f} "
        f"for {last.pooling} of the last layer. No labels were used; if you have labelled pairs, check it on them."
    )
