"""A deep averaging network: words and bigrams summed, then dense layers (Iyyer et al. 2015; Cer et al. 2018).

The Universal Sentence Encoder's smaller model is of this kind. Its training data and its sizes were not published,
except for 512 output dimensions; here it is trained on NLI alone, by softmax or by in-batch ranking.
"""

from collections.abc import Sequence
from typing import Any

from papers.baselines import deep_averaging

from ..flags import flags, paper_settings
from ..recipe import Recipe, placed, start
from ..sbert_nli import OBJECTIVES, nli


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, evaluate and record the model."""
    parser = flags(__doc__, backbone="avg-glove", epochs=4, batch_size=64, learning_rate=1e-3)
    parser.add_argument("--objective", choices=OBJECTIVES, default="classification")
    parser.add_argument(
        "--pairs", type=int, default=200_000, metavar="N", help="rows of the bigram table (%(default)s)"
    )
    parser.add_argument("--layers", type=int, nargs="+", default=[512, 512], metavar="N", help="(%(default)s)")
    args = parser.parse_args(argv)
    embedder = placed(deep_averaging(args.backbone, pairs=args.pairs, layers=args.layers, seed=args.seed), args)
    name = "deep-averaging" + ("" if args.objective == "classification" else f"-{args.objective}")
    note = f"layers of {' and '.join(map(str, args.layers))}, {args.pairs:,} bigram rows"
    return Recipe(name, args, note=note, random_weights=True).train(
        embedder, [nli(args, args.objective)], paper_settings(args)
    )


if __name__ == "__main__":
    start(main)
