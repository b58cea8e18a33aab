"""Learned dissection on the STS benchmark: a map over all layers of a frozen model, trained to rank pairs.

Every text is encoded once, in fp32, and training takes seconds. The saved model can be trained further.
"""

import time
from collections.abc import Sequence
from typing import Any

from likewise.train.data.batch import TrainingRows
from likewise.train.data.examples import deduplicated
from likewise.train.layers.early_exit import try_exits
from likewise.train.layers.fusion_training import FusionSettings as How
from likewise.train.layers.fusion_training import layer_vectors
from likewise.train.objectives import CoSENT

from .flags import STEP_FLAGS, flags, parse_used
from .recipe import Recipe, backbone, data_by_name, start


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, evaluate, save and record the model."""
    parser = flags(__doc__, batch_size=How.batch_size, learning_rate=How.learning_rate, epochs=How.epochs)
    args = parse_used(parser, argv, STEP_FLAGS)
    if args.epochs < 1 or not float(args.epochs).is_integer():
        parser.error(
            f"--epochs is {args.epochs:g}; expected a whole number of at least 1, as this recipe trains whole passes"
        )
    passes, rate = int(args.epochs), args.learning_rate
    how = How(seed=args.seed, batch_size=args.batch_size, learning_rate=rate, epochs=passes, only_significant=False)
    embedder, data = backbone(args), data_by_name("stsb/train", CoSENT(), args, names={"score": "score/5"})
    rows, started = data.rows, time.perf_counter()
    assert isinstance(rows, TrainingRows)
    pairs = [rows.texts[name] for name in ("sentence1", "sentence2")]
    texts, examples = deduplicated(pairs, rows.numbers["score"].tolist())
    vectors, depths = layer_vectors(embedder, texts), [embedder.encoder.depth]
    (exit_result,) = try_exits(embedder, texts, vectors, examples, depths, how)
    recipe = Recipe("fusion-stsb", args, base=embedder.fingerprint, note=exit_result.embedder.pooling.spec)
    return recipe.evaluate(exit_result.embedder, [data], time.perf_counter() - started)


if __name__ == "__main__":
    start(main)
