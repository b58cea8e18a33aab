"""What a model's thread computes: texts to vectors by an embedder, pairs of texts to logits by a reranker."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from ...embedder import Embedder
from ...errors import BadInput, TooLong
from ...reranker.joint_reranker import JointReranker
from .job import TokenizedInput

Array = np.ndarray


@runtime_checkable
class ModelWork(Protocol):
    """A model, as its thread sees it; inputs are tokenized once, and computed in whatever company."""

    def tokenize(self, inputs: Sequence[Any], prompt: str, first: int) -> list[TokenizedInput]:
        """The tokens of inputs; `first` is the number of the first one, for messages."""
        ...

    def compute(self, contents: Sequence[TokenizedInput]) -> Float[Array, "n E"]:
        """A row of results for each."""
        ...


class EmbedderWork:
    """Texts, or their token ids, to vectors."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def tokenize(self, inputs: Sequence[Any], prompt: str, first: int) -> list[TokenizedInput]:
        """The window of each text that the model reads: its beginning.

        Raises:
            BadInput: a token is not in the vocabulary; a text has no tokens where the model needs one.
        """
        texts, windows = self.embedder.windows(inputs, prompt, name=lambda i: f"input {first + i}")
        found = zip(windows, texts.lengths, texts.used, strict=True)
        return [TokenizedInput(window, len(window.ids), tokens, used) for window, tokens, used in found]

    def compute(self, contents: Sequence[TokenizedInput]) -> Float[Array, "n E"]:
        """The vectors, as the model gives them."""
        return self.embedder.encode_windows([content.sequence for content in contents])


class RerankerWork:
    """Pairs of a query and a document to a logit each."""

    def __init__(self, reranker: JointReranker) -> None:
        if len(reranker.labels) != 1:
            raise BadInput(f"a reranker with one score is served; this one has the labels {', '.join(reranker.labels)}")
        self.reranker = reranker

    def tokenize(self, inputs: Sequence[Any], prompt: str, first: int) -> list[TokenizedInput]:  # noqa: ARG002
        """The ids of both texts, cut to what the model reads."""
        pairs = [(prompt + query, document) for query, document in inputs]
        specials = self.reranker.tokenizer.pair.specials
        return [
            TokenizedInput(ids, len(ids[0]) + len(ids[1]) + specials, tokens, len(ids[0]) + len(ids[1]))
            for ids, tokens in self.reranker.counted_pairs(pairs)
        ]

    def compute(self, contents: Sequence[TokenizedInput]) -> Float[Array, "n E"]:
        """The logits, before the model's activation."""
        return self.reranker.logits_of([content.sequence for content in contents])


def too_long(index: int, tokens: int, used: int) -> TooLong:
    """The error for a text that would be truncated where the request refuses that."""
    return TooLong(
        f"input {index} has {tokens:,} tokens, and the model reads {used:,} of them. Allow truncation "
        '("truncate": true) or send less'
    )
