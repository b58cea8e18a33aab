"""InferSent: a max-pooled bidirectional LSTM over word vectors, trained on NLI (Conneau et al. 2017).

As in the paper, it has 2,048 units per direction, batches of 64, (u, v, |u − v|, u ∗ v) and frozen word vectors. The
authors added a hidden layer of 512 and used plain gradient descent with a learning rate of 0.1; this recipe has one
linear layer and Adam, and its own number of epochs.
"""

from collections.abc import Sequence
from typing import Any

from likewise.train.objectives import Classification
from papers.baselines import infersent

from ..flags import flags, paper_settings
from ..recipe import Recipe, data_by_name, placed, start

PARTS = ("u", "v", "|u-v|", "u*v")


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, evaluate and record the model."""
    parser = flags(__doc__, backbone="avg-glove", epochs=4, batch_size=64, learning_rate=1e-3)
    parser.add_argument("--width", type=int, default=2048, metavar="N", help="units per direction (%(default)s)")
    args = parser.parse_args(argv)
    embedder = placed(infersent(args.backbone, width=args.width, seed=args.seed), args)
    embedder.encoder.words.requires_grad_(False)
    data = data_by_name("nli/train", Classification(concatenation=PARTS), args)
    note = f"{args.width} units a direction"
    return Recipe("infersent", args, note=note, random_weights=True).train(embedder, [data], paper_settings(args))


if __name__ == "__main__":
    start(main)
