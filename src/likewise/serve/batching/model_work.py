"""What a model's thread computes: texts to vectors by an embedder, pairs of texts to logits by a reranker."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from ...embedder import Embedder
from ...errors import BadInput, TooLong
from ...reranker.joint_reranker import JointReranker
from ...text.windows import TextWindow, first_windows
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
        self._hides_prompt = not embedder.manifest.include_prompt

    def tokenize(self, inputs: Sequence[Any], prompt: str, first: int) -> list[TokenizedInput]:
        """The window of each text that the model reads: its beginning.

        Raises:
            BadInput: a token is not in the vocabulary; a text has no tokens where the model needs one.
        """
        tokenizer, limit = self.embedder.tokenizer, self.embedder.tokenizer.max_content_length
        contents, lost = self._contents(inputs, prompt, first)
        skip = tokenizer.token_ids([prompt])[0] if prompt and self._hides_prompt else ()
        found = []
        for i, (content, window) in enumerate(zip(contents, first_windows(tokenizer, contents, skip), strict=True)):
            self._check(content, window, first + i)
            used = min(len(content), limit) - lost.get(i, 0)
            found.append(TokenizedInput(window, len(window.ids), len(content), used))
        return found

    def compute(self, contents: Sequence[TokenizedInput]) -> Float[Array, "n E"]:
        """The vectors, as the model gives them."""
        pieces = [
            TextWindow(one.ids, i, one.content_length, one.prefix_length)
            for i, one in enumerate(content.sequence for content in contents)
        ]
        return self.embedder.encode_windows(pieces, hides_prompt=self._hides_prompt)

    def _contents(self, inputs: Sequence[Any], prompt: str, first: int) -> tuple[list[list[int]], dict[int, int]]:
        """Ids without special tokens, and how many of those read stand for words that are too long to be read."""
        tokenizer = self.embedder.tokenizer
        texts = [prompt + text for text in inputs if isinstance(text, str)]
        tokenized = tokenizer.token_ids(texts)
        words = tokenizer.overlong_words(texts, tokenized)
        in_order = iter(enumerate(tokenized))
        contents, lost = [], {}
        for i, given in enumerate(inputs):
            if not isinstance(given, str):
                contents.append(self._without_special_tokens(given, first + i))
                continue
            position, ids = next(in_order)
            contents.append(ids)
            if position in words:
                lost[i] = sum(at < tokenizer.max_content_length for at, _ in words[position])
        return contents, lost

    def _without_special_tokens(self, ids: Sequence[int], index: int) -> list[int]:
        """The ids of a text that came as ids, without the special ones around them if they have these already."""
        tokenizer = self.embedder.tokenizer
        known = min(tokenizer.vocabulary, self.embedder.encoder.vocabulary)
        unknown = next((i for i in ids if not 0 <= i < known), None)
        if unknown is not None:
            raise BadInput(f"input {index} has the token id {unknown}; this model has the ids 0 to {known - 1:,}")
        before, after, content = tokenizer.prefix, tokenizer.suffix, list(ids)
        framed = tuple(content[: len(before)]) == before and tuple(content[len(content) - len(after) :]) == after
        if framed and len(content) >= len(before) + len(after):
            return content[len(before) : len(content) - len(after)]
        return content

    def _check(self, content: Sequence[int], window: TextWindow, index: int) -> None:
        """Refuses a text without tokens, and ids that the encoder has no vector for."""
        if not window.ids:
            raise BadInput(f"input {index} has no tokens, and this model puts no special ones around a text")
        unknown = self.embedder.tokenizer.first_out_of_vocabulary([content], self.embedder.encoder.vocabulary)
        if unknown is not None:
            raise BadInput(f"input {index} holds the token {unknown[1]!r}, for which the encoder has no vector")


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
