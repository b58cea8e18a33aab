"""Unsupervised SimCSE: each sentence is its own positive, with different dropout (Gao, Yao and Chen 2021).

As in the paper: batch size 64, learning rate 3e-5, one epoch, temperature 0.05, CLS pooling. Unlike this
recipe, the authors used a million sentences from Wikipedia and a dense layer on top of CLS during training.
"""

from collections.abc import Sequence
from typing import Any

from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.objectives import SimCSE

from ..flags import flags, paper_settings
from ..recipe import Recipe, backbone, sentences, start


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, evaluate and record the model."""
    parser = flags(__doc__, batch_size=64, learning_rate=3e-5)
    parser.add_argument("--pooling", default="cls", help="(%(default)s)")
    parser.add_argument("--sentences", metavar="DATA", default="wiki_sections/sentences", help="(%(default)s)")
    args = parser.parse_args(argv)
    objective = SimCSE(temperature=0.05)
    source = DataSource(TrainingRows.of(sentences(args.sentences, args).texts, objective), objective, args.sentences)
    settings = paper_settings(args, eval_steps=125)  # as in the paper, on STS-B's development split
    return Recipe("simcse", args).train(backbone(args, args.pooling), [source], settings)


if __name__ == "__main__":
    start(main)
