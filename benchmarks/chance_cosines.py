"""What cosine do two unrelated texts have, and two that people call equal? By model, on STS-B's test sentences.

    python -m benchmarks.chance_cosines

Writes benchmarks/results/chance_cosines.json: quantiles of the cosines of all pairs of different sentences (chance), and of
the pairs that people gave 4 or more of 5 (equal). docs/concepts/how-high-is-high.md has the figure.
"""

from typing import Any

import numpy as np
import pyarrow.parquet as pq

from likewise import Embedder, similarity

from .record import data, save

MODELS = ("likewise-mini", "likewise-static", "all-MiniLM-L6-v2", "minilm-l6-h384-raw")
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
EQUAL = 4.0
"""The least score, of 0 to 5, of pairs that mean the same but for details."""


def cosines_of(model: str, pairs: dict[str, list[Any]]) -> dict[str, Any]:
    """The quantiles of a model's cosines, of chance pairs and of equal ones."""
    embedder = Embedder.load(model)
    texts = sorted({*pairs["sentence1"], *pairs["sentence2"]})
    vectors = embedder.encode(texts)
    chance = similarity.cosine(vectors, vectors)[np.triu_indices(len(texts), 1)]
    equal = [score >= EQUAL for score in pairs["score"]]
    scores = embedder.pair_scores(pairs["sentence1"], pairs["sentence2"])[equal]
    found = {"chance": chance, "equal": scores}
    return {kind: {"pairs": len(x), "quantiles": np.quantile(x, QUANTILES).tolist()} for kind, x in found.items()}


def main() -> None:
    """Measure every model, and save."""
    pairs = pq.read_table(data("stsb", "test.parquet")).to_pydict()
    save("chance_cosines", {"at": QUANTILES, "models": {model: cosines_of(model, pairs) for model in MODELS}})


if __name__ == "__main__":
    main()
