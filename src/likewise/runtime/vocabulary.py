"""Vocabulary: the tokens and ids that a tokenizer.json lists."""

from collections.abc import Mapping
from typing import Any


class Vocabulary:
    """The tokens that a tokenizer.json describes: the model's own tokens and the added tokens."""

    def __init__(self, described: Mapping[str, Any]) -> None:
        vocabulary, added = described["model"]["vocab"], described.get("added_tokens") or []
        if isinstance(vocabulary, list):  # of tokens and scores
            vocabulary = {token: i for i, (token, _) in enumerate(vocabulary)}
        self.ids: dict[str, int] = {**vocabulary, **{one["content"]: one["id"] for one in added}}
        kinds = {*map(type, self.ids.values())} - {int}  # in C, since a vocabulary may have 250,000 tokens
        if kinds or not 0 <= min(self.ids.values(), default=0) <= max(self.ids.values(), default=0) < 1 << 31:
            raise ValueError("an id in its vocabulary is not a whole number from 0 to 2,147,483,647")
        self.names: dict[int, str] = {i: token for token, i in self.ids.items()}
        self.special = {one["content"] for one in added if one.get("special")}

    @property
    def size(self) -> int:
        """One more than the largest id."""
        return max(self.names, default=-1) + 1
