"""What cosines do unrelated, related and equivalent texts have? Measured for each model on STS-B's test sentences.

    python -m benchmarks.chance_cosines

Writes benchmarks/results/chance_cosines.json: quantiles of the cosines of all pairs of different sentences (chance) and
of pairs that human annotators scored from 2 to 3 (related) or from 4 to 5 (equal) out of 5. The figure is in
docs/concepts/how-high-is-high.md.
"""

from typing import Any

import numpy as np
import pyarrow.parquet as pq

from likewise import Embedder, similarity

from .record import data, save

MODELS = (
    "likewise-mini",
    "likewise-small",
    "likewise-multi",
    "likewise-static",
    "all-MiniLM-L6-v2",
    "minilm-l6-h384-raw",
)
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
BANDS = {"related": (2.0, 3.0), "equal": (4.0, 5.0)}
"""Score ranges of pairs on the same subject that say different things, and of pairs that differ only in details."""


def cosines_of(model: str, pairs: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the quantiles of a model's cosines for random pairs and for each range of scores."""
    embedder = Embedder.load(model)
    texts = sorted({*pairs["sentence1"], *pairs["sentence2"]})
    vectors = embedder.encode(texts)
    chance = similarity.cosine(vectors, vectors)[np.triu_indices(len(texts), 1)]
    cosines, scores = embedder.pair_scores(pairs["sentence1"], pairs["sentence2"]), np.array(pairs["score"])
    bands = {kind: cosines[(scores >= low) & (scores <= high)] for kind, (low, high) in BANDS.items()}
    found = {"chance": chance, **bands}
    return {kind: {"pairs": len(x), "quantiles": np.quantile(x, QUANTILES).tolist()} for kind, x in found.items()}


def main() -> None:
    """Measure every model and save the results."""
    pairs = pq.read_table(data("stsb", "test.parquet")).to_pydict()
    save("chance_cosines", {"at": QUANTILES, "models": {model: cosines_of(model, pairs) for model in MODELS}})


if __name__ == "__main__":
    main()
