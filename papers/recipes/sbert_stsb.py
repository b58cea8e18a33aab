"""Sentence-BERT on the STS benchmark: cosine(u, v) to a person's score by mean squared error, four epochs (3.2).

`--objective cosent` learns the order of the pairs instead, at a `--scale` of cosines: a small one looks at all pairs, a
large one at the worst. The pooling is the model's own, of a plain encoder the mean.

STS-B's training split holds many pairs of STS12 to STS16, so those figures are not fair ones after it.
"""

from collections.abc import Sequence
from typing import Any

from likewise.train.data.schedule import DataSource
from likewise.train.objectives import CoSENT, Objective, Regression

from .flags import flags, paper_settings
from .recipe import Recipe, backbone, data_by_name, start
from .sbert_nli import POOLINGS


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, evaluate, record."""
    parser = flags(__doc__, epochs=4)
    parser.add_argument("--pooling", choices=POOLINGS, help="another than the model's own")
    parser.add_argument("--objective", choices=OBJECTIVES, default="regression", help="(%(default)s)")
    parser.add_argument("--scale", type=float, default=20.0, metavar="X", help="of CoSENT's cosines (%(default)g)")
    args = parser.parse_args(argv)
    parts = ["" if args.objective == "regression" else args.objective, "" if args.pooling == "mean" else args.pooling]
    name = "-".join(filter(None, ("sbert-stsb", *parts)))
    objective = CoSENT(args.scale) if args.objective == "cosent" else Regression()
    return Recipe(name, args).train(backbone(args, args.pooling), [stsb(args, objective)], paper_settings(args))


OBJECTIVES = ("regression", "cosent")


def stsb(args: Any, objective: Objective | None = None) -> DataSource:
    """Pairs with their scores as cosines, 0 to 1; by squared error unless told."""
    return data_by_name("stsb/train", objective or Regression(), args, names={"score": "score/5"})


if __name__ == "__main__":
    start(main)
