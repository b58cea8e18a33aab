"""Wikipedia sections: a sentence is closer to one from its own section than from another (sections 3.3 and 4.4).

Trains for one epoch on triplets, with Euclidean distances and a margin of 1. Dor et al. 2018 had 1.8 million triplets;
our data set is small, but built in the same way.
"""

from collections.abc import Sequence
from typing import Any

from likewise.train.objectives import Triplet

from .flags import flags, paper_settings
from .recipe import Recipe, backbone, data_by_name, start

DATA = "wiki_sections/triplets"


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, evaluate (including accuracy on articles not trained on) and record the model."""
    args = flags(__doc__).parse_args(argv)
    recipe = Recipe("wiki-sections-triplets", args, dev=None, tasks=("wiki-sections",))
    triplets = data_by_name(DATA, Triplet(margin=1.0, distance="euclidean"), args, where="split==train")
    return recipe.train(backbone(args, "mean"), [triplets], paper_settings(args))


if __name__ == "__main__":
    start(main)
