"""Sentence-BERT on natural language inference: softmax(W (u, v, |u − v|)), one epoch (Reimers and Gurevych 2019, 3.1).

`--objective contrastive` instead trains by in-batch ranking on triplets from the same data, as its authors now advise.
"""

from collections.abc import Sequence
from typing import Any

from likewise.train.data.schedule import DataSource
from likewise.train.objectives import Classification, Contrastive

from .flags import flags, paper_settings
from .recipe import Recipe, backbone, data_by_name, start

POOLINGS = ("mean", "cls", "max")


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, evaluate and record the model."""
    parser = flags(__doc__)
    parser.add_argument("--pooling", choices=POOLINGS, default="mean")
    parser.add_argument("--objective", choices=OBJECTIVES, default="classification")
    args = parser.parse_args(argv)
    plain = args.objective == "classification"
    parts = ["sbert-nli", *([] if plain else [args.objective]), *([] if args.pooling == "mean" else [args.pooling])]
    embedder = backbone(args, args.pooling)
    return Recipe("-".join(parts), args).train(embedder, [nli(args, args.objective)], paper_settings(args, **EVERY))


EVERY = {"eval_steps": 1000}  # steps, as the authors did; they evaluated on STS-B's development split and kept the best
OBJECTIVES = {"classification": ("nli/train", Classification), "contrastive": ("nli/triplets", Contrastive)}


def nli(args: Any, objective: str = "classification") -> DataSource:
    """The training data with their objective."""
    name, objective_class = OBJECTIVES[objective]
    return data_by_name(name, objective_class(), args)


if __name__ == "__main__":
    start(main)
