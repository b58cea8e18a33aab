"""Sentence-BERT on natural language inference, then on the STS benchmark: table 2's best model (section 4.2).

The first stage, saved in FOLDER/nli, trains for one epoch; `--epochs` applies to the second. All other training flags,
such as `--learning-rate`, `--rows` and `--max-steps`, apply to each stage. With `--soup N`, each stage is the mean of N
runs, and the second stage starts from the mean of the first.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .flags import flags, paper_settings
from .recipe import Recipe, backbone, folder_of, start
from .sbert_nli import EVERY, OBJECTIVES, POOLINGS, nli
from .sbert_stsb import stsb

NAME = "sbert-nli-then-stsb"


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train both stages; evaluate and record the result."""
    parser = flags(__doc__, epochs=4)
    parser.add_argument("--pooling", choices=POOLINGS, default="mean")
    parser.add_argument(
        "--objective", choices=OBJECTIVES, default="classification", help="objective of the first stage"
    )
    args = parser.parse_args(argv)
    name = NAME + ("" if args.objective == "classification" else f"-{args.objective}")
    recipe = Recipe(name, args)
    folder = folder_of(recipe.name, args)
    first = replace(recipe, name="sbert-nli", folder=folder / "nli", stage=True)
    record = first.train(
        backbone(args, args.pooling), [nli(args, args.objective)], paper_settings(args, epochs=1, **EVERY)
    )
    second = replace(recipe, folder=folder, before=record["data"], origin=record["backbone"])
    return second.train(backbone(args, name=folder / "nli"), [stsb(args)], paper_settings(args))


if __name__ == "__main__":
    start(main)
