"""Rerankers on the STS benchmark: a cross-encoder, as in table 2's comparison, or a poly-encoder.

They regress human scores on the sigmoid of the logit by binary cross-entropy for four epochs, as Sentence-BERT's
authors do. A poly-encoder's logits (Humeau et al. 2020) are dot products, large and all positive; before training, they
are standardized to mean 0 and standard deviation 1 on the first training pairs.
"""

from collections.abc import Sequence
from typing import Any

from likewise.data.datasets import read_dataset
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.reranker import PolyEncoder, Reranker
from likewise.train.evaluators import predict_scores
from likewise.train.objectives.reranking import PairRegression

from .flags import flags, paper_settings
from .recipe import Recipe, backbone, data_by_name, start

FIRST = 512
"""Number of pairs used to standardize the logits."""


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, evaluate and record the model."""
    parser = flags(__doc__, epochs=4)
    parser.add_argument("--kind", choices=("cross", "poly"), default="cross", help="(%(default)s)")
    parser.add_argument(
        "--codes", type=int, default=16, metavar="N", help="number of codes in a poly-encoder (%(default)s)"
    )
    args = parser.parse_args(argv)
    below, poly = backbone(args, "mean"), args.kind == "poly"
    model = PolyEncoder.start(below, args.codes, seed=args.seed) if poly else Reranker.start(below, seed=args.seed)
    objective = standardised(below, args.codes) if poly else PairRegression()
    data = data_by_name("stsb/train", objective, args, names={"score": "score/5"})
    note = f"{args.codes} codes" if poly else ""
    recipe = Recipe(f"{args.kind}-encoder-stsb", args, pairs=True, note=note, base=below.fingerprint)
    return recipe.train(model, [data], paper_settings(args))


def standardised(below: TorchEmbedder, codes: int) -> PairRegression:
    """Set the temperature and offset that standardize an untrained poly-encoder's logits to mean 0 and deviation 1.

    They are computed for one seed, so that runs with all seeds share the same settings.
    """
    pairs = {name: column[:FIRST] for name, column in read_dataset("stsb/train").items()}
    scores = predict_scores(PolyEncoder.start(below, codes), pairs)
    return PairRegression(temperature=float(scores.std()), offset=float(scores.mean() / scores.std()))


if __name__ == "__main__":
    start(main)
