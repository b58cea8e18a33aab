"""Sections of Wikipedia: a sentence is nearer to one of its own section than to one of another (sections 3.3 and 4.4).

Triplets with Euclidean distance and margin 1, one epoch. Dor et al. 2018 had 1.8 million; the set at hand is small, and
built the same way.
"""

from collections.abc import Sequence
from typing import Any

from likewise.train.objectives import Triplet

from .flags import flags, paper_settings
from .recipe import Recipe, backbone, data_by_name, start

DATA = "wiki_sections/triplets"


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Trains, measures (accuracy on articles that were not trained on, too), records."""
    args = flags(__doc__).parse_args(argv)
    recipe = Recipe("wiki-sections-triplets", args, dev=None, tasks=("wiki-sections",))
    triplets = data_by_name(DATA, Triplet(margin=1.0, distance="euclidean"), args, where="split==train")
    return recipe.train(backbone(args, "mean"), [triplets], paper_settings(args))


if __name__ == "__main__":
    start(main)
