"""Vectors of several pooling methods from one pass through the encoder, which computes each block once."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from jaxtyping import Float

from likewise.arrays.reductions import reduce_sentences
from likewise.arrays.sequences import Sequences
from likewise.engines.array_embedder import ArrayEmbedder
from likewise.engines.array_encoder import ArrayEncoder, Segments, Skips
from likewise.engines.numpy.poolings_and_heads import ArrayPooling
from likewise.inference import plan_batches

TOKENS = 4096  # number of tokens in a batch

Array = np.ndarray
Report = Callable[[int, int], None]
"""Called with the number of texts done and the total."""


class OnePass:
    """An embedder's `encode` with several pooling methods; the first request for a text computes its vectors for all.

    Texts are truncated to the model's limit, as by `encode(overflow="truncate")`, and the heads follow each pooling.
    """

    def __init__(self, embedder: ArrayEmbedder, poolings: Mapping[str, ArrayPooling], report: Report | None = None):
        self.embedder, self.poolings, self.report = embedder, dict(poolings), report or (lambda *_: None)
        self.rows: dict[str, tuple[Array, ...]] = {}

    def encoder_of(self, name: str) -> Callable[[Sequence[str]], Float[Array, "N E"]]:
        """Return a function from texts to their vectors with this pooling method."""
        at = list(self.poolings).index(name)

        def encode(texts: Sequence[str]) -> Float[Array, "N E"]:
            self._compute([text for text in dict.fromkeys(texts) if text not in self.rows])
            return np.stack([self.rows[text][at] for text in texts])

        return encode

    def forget(self) -> None:
        """Drop all vectors."""
        self.rows.clear()

    def _compute(self, texts: list[str]) -> None:
        ids, done = token_ids(self.embedder, texts), 0
        for batch in plan_batches([len(sequence) for sequence in ids], TOKENS):
            sequences = Sequences.of([ids[i] for i in batch])
            encoder = ComputedLayers(self.embedder.encoder, sequences)
            pooled = [pooling(encoder, sequences, None) for pooling in self.poolings.values()]
            vectors = [self.embedder.through_heads(rows) for rows in pooled]
            for i, *rows in zip(batch, *vectors, strict=True):
                self.rows[texts[i]] = tuple(rows)
            done += len(batch)
            self.report(done, len(texts))


class ComputedLayers:
    """The layers of one batch, computed once, behind the interface of an encoder that pooling methods expect."""

    def __init__(self, encoder: ArrayEncoder, tokens: Sequences) -> None:
        self.width, self.depth, self.longest = encoder.width, encoder.depth, encoder.longest
        self.vocabulary, self.parameters = encoder.vocabulary, encoder.parameters
        self.precision, self.threads = encoder.precision, encoder.threads
        self.tokens, self.every = tokens, encoder.layers(tokens, 0, encoder.depth)

    def layers(self, tokens: Sequences, first: int, last: int) -> Float[Array, "L T D"]:
        """Return the layers `first` to `last` of the batch."""
        assert tokens is self.tokens, "these layers belong to another batch"
        return self.every[first : last + 1]

    def pooled(
        self, tokens: Sequences, names: Sequence[str], skips: Skips, segments: Segments = None
    ) -> Float[Array, "N W"]:
        """Return these reductions of the last layer."""
        assert tokens is self.tokens and segments is None, "these layers belong to another batch"
        return reduce_sentences(self.every[-1], tokens.lengths, names, skips)


def token_ids(embedder: ArrayEmbedder, texts: Sequence[str]) -> list[list[int]]:
    """Return the token ids of each text that the model reads."""
    tokenizer = embedder.tokenizer
    return [
        tokenizer.with_special_tokens(content[: tokenizer.max_content_length])
        for content in tokenizer.token_ids(list(texts))
    ]
