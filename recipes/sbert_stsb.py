"""Sentence-BERT on the STS benchmark: cosine(u, v) to a person's score by mean squared error, four epochs (3.2).

STS-B's training split holds many pairs of STS12 to STS16, so those figures are not fair ones after it.
"""

from collections.abc import Sequence
from typing import Any

from likewise.train.objectives import Regression
from likewise.train.schedule import Course

from .recipe import Recipe, backbone, course, flags, run_of, start
from .sbert_nli import POOLINGS


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Trains, measures, records."""
    parser = flags(__doc__, epochs=4)
    parser.add_argument("--pooling", choices=POOLINGS, default="mean")
    args = parser.parse_args(argv)
    name = "sbert-stsb" + ("" if args.pooling == "mean" else f"-{args.pooling}")
    return Recipe(name, args).carry_out(backbone(args, args.pooling), [stsb(args)], run_of(args))


def stsb(args: Any) -> Course:
    """Pairs with their scores as cosines, 0 to 1."""
    return course("stsb/train", Regression(), args, names={"score": "score/5"})


if __name__ == "__main__":
    start(main)
