"""Pairs read together, on the STS benchmark: a cross-encoder, or a poly-encoder between the two (table 2's comparison).

Sigmoid of the logit to a person's score by binary cross-entropy, four epochs, as Sentence-BERT's authors train theirs;
a poly-encoder's logits, dot products and large, are divided by a temperature (Humeau et al. 2020).
"""

from collections.abc import Sequence
from typing import Any

from likewise import Reranker
from likewise.reranker import PolyEncoder
from likewise.train.objectives import PairRegression

from .recipe import Recipe, backbone, course, flags, run_of, start


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Trains, measures, records."""
    parser = flags(__doc__, epochs=4)
    parser.add_argument("--kind", choices=("cross", "poly"), default="cross", help="(%(default)s)")
    parser.add_argument("--codes", type=int, default=16, metavar="N", help="of a poly-encoder (%(default)s)")
    parser.add_argument("--temperature", type=float, metavar="X", help="1, and 10 for a poly-encoder")
    args = parser.parse_args(argv)
    below, poly = backbone(args, "mean"), args.kind == "poly"
    model = PolyEncoder.start(below, args.codes, seed=args.seed) if poly else Reranker.start(below, seed=args.seed)
    usual = 10.0 if poly else 1.0
    objective = PairRegression(temperature=usual if args.temperature is None else args.temperature)
    data = course("stsb/train", objective, args, names={"score": "score/5"})
    note = f"{args.codes} codes" if poly else ""
    recipe = Recipe(f"{args.kind}-encoder-stsb", args, pairs=True, note=note, base=below.fingerprint)
    return recipe.carry_out(model, [data], run_of(args))


if __name__ == "__main__":
    start(main)
