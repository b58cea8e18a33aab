"""SimCSE without labels: a sentence finds itself, read twice with other words dropped (Gao, Yao and Chen 2021).

Batch 64, rate 3e-5, one epoch, temperature 0.05, pooling CLS, as theirs; they had a million sentences of Wikipedia and
a dense layer above CLS while training, which is not made here.
"""

from collections.abc import Sequence
from typing import Any

from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.objectives import SimCSE

from .recipe import Recipe, backbone, flags, run_of, sentences, start


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Trains, measures, records."""
    parser = flags(__doc__, batch=64, rate=3e-5)
    parser.add_argument("--pooling", default="cls", help="(%(default)s)")
    parser.add_argument("--sentences", metavar="DATA", default="wiki_sections/sentences", help="(%(default)s)")
    args = parser.parse_args(argv)
    objective = SimCSE(temperature=0.05)
    course = DataSource(TrainingRows.of(sentences(args.sentences, args).texts, objective), objective, args.sentences)
    run = run_of(args, measure_every=125)  # steps, as theirs, on STS-B's development split
    return Recipe("simcse", args).carry_out(backbone(args, args.pooling), [course], run)


if __name__ == "__main__":
    start(main)
