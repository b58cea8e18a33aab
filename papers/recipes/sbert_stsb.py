"""Sentence-BERT on the STS benchmark: cosine(u, v) regresses human scores by mean squared error, four epochs (3.2).

`--objective cosent` learns the order of the pairs instead; with a small `--scale` for cosines, all pairs matter, with a
large one, only the worst. The pooling is the model's own, or the mean for a plain encoder.

STS-B's training split contains many pairs of STS12 to STS16, so scores on those are inflated after this training.
"""

from collections.abc import Sequence
from typing import Any

from likewise.train.data.schedule import DataSource
from likewise.train.objectives import CoSENT, Objective, Regression

from .flags import flags, paper_settings
from .recipe import Recipe, backbone, data_by_name, start
from .sbert_nli import POOLINGS


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, evaluate and record the model."""
    parser = flags(__doc__, epochs=4)
    parser.add_argument("--pooling", choices=POOLINGS, help="a pooling other than the model's own")
    parser.add_argument("--objective", choices=OBJECTIVES, default="regression", help="(%(default)s)")
    parser.add_argument(
        "--scale", type=float, default=20.0, metavar="X", help="CoSENT's factor for cosines (%(default)g)"
    )
    args = parser.parse_args(argv)
    parts = ["" if args.objective == "regression" else args.objective, "" if args.pooling == "mean" else args.pooling]
    name = "-".join(filter(None, ("sbert-stsb", *parts)))
    objective = CoSENT(args.scale) if args.objective == "cosent" else Regression()
    return Recipe(name, args).train(backbone(args, args.pooling), [stsb(args, objective)], paper_settings(args))


OBJECTIVES = ("regression", "cosent")


def stsb(args: Any, objective: Objective | None = None) -> DataSource:
    """Pairs with their scores scaled to 0 … 1; the default objective is squared error."""
    return data_by_name("stsb/train", objective or Regression(), args, names={"score": "score/5"})


if __name__ == "__main__":
    start(main)
