"""InferSent: a bidirectional LSTM over word vectors, whose maximum is trained on inference (Conneau et al. 2017).

2,048 units a direction, batch 64, (u, v, |u − v|, u ∗ v), the words' vectors as they were. Theirs had a hidden layer
of 512 above these and plain gradient descent from a rate of 0.1; here are one linear layer and Adam, and the epochs
are ours.
"""

from collections.abc import Sequence
from typing import Any

from likewise.train.objectives import Classification
from papers.baselines import infersent

from ..flags import flags, paper_settings
from ..recipe import Recipe, data_by_name, placed, start

PARTS = ("u", "v", "|u-v|", "u*v")


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, evaluate, record."""
    parser = flags(__doc__, backbone="avg-glove", epochs=4, batch_size=64, learning_rate=1e-3)
    parser.add_argument("--width", type=int, default=2048, metavar="N", help="units a direction (%(default)s)")
    args = parser.parse_args(argv)
    embedder = placed(infersent(args.backbone, width=args.width, seed=args.seed), args)
    embedder.encoder.words.requires_grad_(False)
    data = data_by_name("nli/train", Classification(concatenation=PARTS), args)
    note = f"{args.width} units a direction"
    return Recipe("infersent", args, note=note, random_weights=True).train(embedder, [data], paper_settings(args))


if __name__ == "__main__":
    start(main)
