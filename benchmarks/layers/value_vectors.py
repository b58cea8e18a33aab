"""Do attention's value vectors make better sentence vectors than hidden states? An experiment on development data.

    LIKEWISE_DATA=data LIKEWISE_MODELS=models python -m benchmarks.layers.value_vectors [MODEL …]

Zhang et al. (2026, "LLM-based Embeddings: Attention Values Encode Sentence Semantics Better Than Hidden States") report
that they do in decoders. Here, in encoders: the mean over tokens of the values of one block, or of all blocks
(concatenated or averaged), and of attention's output (values weighted by attention and projected back). The score is
Spearman's correlation × 100 of cosines on STS-B's development split. Writes benchmarks/results/value_vectors.json.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from likewise import Embedder
from likewise.arrays.correlation import spearman
from likewise.arrays.reductions import reduce_sentences
from likewise.arrays.sequences import Sequences
from likewise.arrays.similarity import unit
from likewise.data.datasets import read_dataset
from likewise.engines.description import read_description
from likewise.engines.numpy.encoders import NumpyEncoder
from likewise.inference import plan_batches

from ..options import options
from ..record import save
from .measure import MODELS
from .one_pass import TOKENS, token_ids

Array = np.ndarray
KINDS = ("hidden states", "values", "attention's output")


def main() -> None:
    results = {name: compared(name) for name in options(__doc__, given={"models": [*MODELS]}).models}
    for name, row in results.items():
        for kind, found in row.items():
            blocks = " ".join(f"{value:.2f}" for value in found["by layer"])
            several = f"mean of all {found['mean of all']:.2f}, side by side {found['side by side']:.2f}"
            print(f"{name} · {kind}: {several}; by layer {blocks}")
    save("value_vectors", results)


class RecordingEncoder(NumpyEncoder):
    """The NumPy encoder, recording each block's value vectors and attention output."""

    def __init__(self, description: Any) -> None:
        super().__init__(description)
        self.values: list[Array] = []
        self.outputs: list[Array] = []

    def _attention(self, x: Array, block: Any, tokens: Sequences) -> Array:
        weight, bias = block.qkv
        self.values.append(np.split(x @ weight + bias, 3, axis=1)[2])
        self.outputs.append(super()._attention(x, block, tokens))
        return self.outputs[-1]

    def recorded(self, tokens: Sequences) -> dict[str, Float[Array, "N L D"]]:
        """The mean over tokens of hidden states (the embeddings first), values and attention's output, by layer."""
        self.values, self.outputs = [], []
        states = list(self.states(tokens))
        kinds = zip(KINDS, (states, self.values, self.outputs), strict=True)
        return {
            kind: np.stack([reduce_sentences(x, tokens.lengths, ["mean"]) for x in every], 1) for kind, every in kinds
        }


def compared(name: str) -> dict[str, dict[str, Any]]:
    """The scores of each kind of vector in one model, by layer and over all layers."""
    embedder = Embedder.load(name, engine="numpy", pooling="mean")
    encoder = RecordingEncoder(read_description(embedder.manifest.encoder))
    dev = read_dataset("stsb/dev")
    sides = [vectors(encoder, token_ids(embedder, dev[column])) for column in ("sentence1", "sentence2")]
    gold = np.asarray(dev["score"], float)
    return {kind: _worth(sides[0][kind], sides[1][kind], gold) for kind in KINDS}


def vectors(encoder: RecordingEncoder, ids: list[list[int]]) -> dict[str, Float[Array, "N L D"]]:
    """The recorded means of all texts."""
    batches = plan_batches([len(sequence) for sequence in ids], TOKENS)
    parts = [encoder.recorded(Sequences.of([ids[i] for i in batch])) for batch in batches]
    order = np.argsort(np.concatenate(batches))
    return {kind: np.concatenate([part[kind] for part in parts])[order] for kind in KINDS}


def _worth(a: Float[Array, "N L D"], b: Float[Array, "N L D"], gold: Float[Array, " N"]) -> dict[str, Any]:
    """Spearman's correlation × 100 of each layer, their mean, and their concatenation, each layer at unit length."""

    def score(u: Array, v: Array) -> float:
        return 100 * spearman((unit(u) * unit(v)).sum(1).astype(np.float64), gold)

    def beside(x: Float[Array, "N L D"]) -> Array:
        return np.concatenate([unit(x[:, i]) for i in range(x.shape[1])], axis=1)

    return {
        "by layer": [score(a[:, i], b[:, i]) for i in range(a.shape[1])],
        "mean of all": score(a.mean(1), b.mean(1)),
        "side by side": score(beside(a), beside(b)),
    }


if __name__ == "__main__":
    main()
