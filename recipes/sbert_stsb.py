"""Sentence-BERT on the STS benchmark: cosine(u, v) to a person's score by mean squared error, four epochs (3.2).

`--objective cosent` learns the order of the pairs instead. The pooling is the model's own, of a plain encoder the mean.

STS-B's training split holds many pairs of STS12 to STS16, so those figures are not fair ones after it.
"""

from collections.abc import Sequence
from typing import Any

from likewise.train.objectives import CoSENT, Regression
from likewise.train.schedule import Course

from .recipe import Recipe, backbone, course, flags, run_of, start
from .sbert_nli import POOLINGS


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Trains, measures, records."""
    parser = flags(__doc__, epochs=4)
    parser.add_argument("--pooling", choices=POOLINGS, help="another than the model's own")
    parser.add_argument("--objective", choices=OBJECTIVES, default="regression", help="(%(default)s)")
    args = parser.parse_args(argv)
    parts = ["" if args.objective == "regression" else args.objective, "" if args.pooling == "mean" else args.pooling]
    name = "-".join(filter(None, ("sbert-stsb", *parts)))
    return Recipe(name, args).carry_out(backbone(args, args.pooling), [stsb(args, args.objective)], run_of(args))


OBJECTIVES = {"regression": Regression, "cosent": CoSENT}


def stsb(args: Any, objective: str = "regression") -> Course:
    """Pairs with their scores as cosines, 0 to 1."""
    return course("stsb/train", OBJECTIVES[objective](), args, names={"score": "score/5"})


if __name__ == "__main__":
    start(main)
