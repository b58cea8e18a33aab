"""An untrained baseline: a backbone with mean, CLS or max pooling, or its architecture with random weights.

It gives Table 1's averaged BERT and BERT CLS (Reimers and Gurevych 2019), and the control that a raw encoder must beat.
"""

from collections.abc import Sequence
from typing import Any

from likewise.baselines.random_weights import random_weights

from ..flags import STEP_FLAGS, flags, parse_used
from ..recipe import Recipe, backbone, start
from ..sbert_nli import POOLINGS


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Evaluate, record."""
    parser = flags(__doc__)
    parser.add_argument("--pooling", choices=POOLINGS, default="mean")
    parser.add_argument(
        "--random", action="store_true", help="replace the weights with random ones, drawn from the seed"
    )
    args = parse_used(parser, argv, ("rows", "epochs", "batch_size", "learning_rate", *STEP_FLAGS))
    embedder = backbone(args, args.pooling)
    if args.random:
        random_weights(embedder, args.seed)
    return Recipe("random" if args.random else "untrained", args).evaluate(embedder)


if __name__ == "__main__":
    start(main)
