"""A transformer trained from scratch, similar to the Universal Sentence Encoder's larger model (Cer et al. 2018).

That model's sizes and data were not published; here the sizes are set by `--depth`, `--width`, `--heads` and `--inner`,
and only the backbone's tokenizer is used. The model is trained on NLI, by in-batch ranking or by softmax.
"""

from collections.abc import Sequence
from typing import Any

from likewise.model_files.names import RECOMMENDED_MODEL
from papers.baselines import small_transformer

from ..flags import flags, paper_settings
from ..recipe import Recipe, placed, start
from ..sbert_nli import OBJECTIVES, nli


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, evaluate and record the model."""
    parser = flags(__doc__, backbone=RECOMMENDED_MODEL, epochs=2, batch_size=64, learning_rate=3e-4)
    parser.add_argument("--objective", choices=OBJECTIVES, default="contrastive")
    sizes = {"depth": 2, "width": 256, "heads": 4, "inner": 1024}
    for name, size in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=size, metavar="N", help="(%(default)s)")
    args = parser.parse_args(argv)
    shape = {name: getattr(args, name) for name in sizes}
    embedder = placed(small_transformer(args.backbone, **shape, seed=args.seed), args)
    name = "small-transformer" + ("" if args.objective == "classification" else f"-{args.objective}")
    note = ", ".join(f"{key} {value}" for key, value in shape.items())
    origin = {"name": "random weights", "fingerprint": embedder.fingerprint, "local": True}
    return Recipe(name, args, note=note, origin=origin, random_weights=True).train(
        embedder, [nli(args, args.objective)], paper_settings(args)
    )


if __name__ == "__main__":
    start(main)
