"""Sentence-BERT on natural language inference, and then on the STS benchmark: table 2's best (section 4.2).

The flags are those of the second stage; of the first, which lies in FOLDER/nli, epochs are one.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .recipe import Recipe, backbone, flags, folder_of, run_of, start
from .sbert_nli import EVERY, OBJECTIVES, POOLINGS, nli
from .sbert_stsb import stsb

NAME = "sbert-nli-then-stsb"


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Trains twice, measures, records."""
    parser = flags(__doc__, epochs=4)
    parser.add_argument("--pooling", choices=POOLINGS, default="mean")
    parser.add_argument("--objective", choices=OBJECTIVES, default="classification", help="of the first stage")
    args = parser.parse_args(argv)
    name = NAME + ("" if args.objective == "classification" else f"-{args.objective}")
    whole = Recipe(name, args)
    folder = folder_of(whole.name, args)
    first = replace(whole, name="sbert-nli", folder=folder / "nli", stage=True)
    made = first.carry_out(backbone(args, args.pooling), [nli(args, args.objective)], run_of(args, epochs=1, **EVERY))
    second = replace(whole, folder=folder, before=made["data"], origin=made["backbone"])
    return second.carry_out(backbone(args, name=folder / "nli"), [stsb(args)], run_of(args))


if __name__ == "__main__":
    start(main)
