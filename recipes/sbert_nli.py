"""Sentence-BERT on natural language inference: softmax(W (u, v, |u − v|)), one epoch (Reimers and Gurevych 2019, 3.1).

`--objective contrastive` ranks in the batch instead, on triplets of the same data: what its authors advise since.
"""

from collections.abc import Sequence
from typing import Any

from likewise.train.data.schedule import DataSource
from likewise.train.objectives import Classification, Contrastive

from .recipe import Recipe, backbone, course, flags, run_of, start

POOLINGS = ("mean", "cls", "max")


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Trains, measures, records."""
    parser = flags(__doc__)
    parser.add_argument("--pooling", choices=POOLINGS, default="mean")
    parser.add_argument("--objective", choices=OBJECTIVES, default="classification")
    args = parser.parse_args(argv)
    plain = args.objective == "classification"
    parts = ["sbert-nli", *([] if plain else [args.objective]), *([] if args.pooling == "mean" else [args.pooling])]
    embedder = backbone(args, args.pooling)
    return Recipe("-".join(parts), args).carry_out(embedder, [nli(args, args.objective)], run_of(args, **EVERY))


EVERY = {"measure_every": 1000}  # the authors measured on STS-B's development split so often, and kept the best
OBJECTIVES = {
    "classification": ("nli/train", Classification),
    "contrastive": ("nli/triplets", Contrastive),
}


def nli(args: Any, objective: str = "classification") -> DataSource:
    """The data, with what is learned from them."""
    name, made = OBJECTIVES[objective]
    return course(name, made(), args)


if __name__ == "__main__":
    start(main)
