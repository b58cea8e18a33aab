"""A model's tokenizer, with the methods of transformers tokenizers that applications use to count and split tokens."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from ...errors import BadInput
from ...runtime.lazy_imports import has_torch
from ...text.library_tokenizer import library_object
from ...text.tokenizer import Tokenizer, truncate_longest_first

UNTRUNCATED = (False, None, "do_not_truncate")


class TokenizerView:
    """Converts between text, word pieces and ids with a model's tokenizer."""

    is_fast = True

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    @cached_property
    def backend_tokenizer(self) -> Any:
        """The same tokenizer from Hugging Face's library, which must be installed."""
        return library_object(self._tokenizer.description, "backend_tokenizer")

    @property
    def model_max_length(self) -> int:
        """The maximum number of input tokens, including special tokens."""
        return self._tokenizer.max_seq_length

    @property
    def vocab_size(self) -> int:
        """The number of tokens in the vocabulary."""
        return len(self._tokenizer.token_ids_by_name)

    def __len__(self) -> int:
        return self.vocab_size

    def get_vocab(self) -> dict[str, int]:
        """The id of each token."""
        return dict(self._tokenizer.token_ids_by_name)

    def tokenize(self, text: str) -> list[str]:
        """The word pieces of a text, without special tokens."""
        tokens: list[str] = self.convert_ids_to_tokens(self._tokenizer.token_ids([text])[0])
        return tokens

    def encode(
        self,
        text: str,
        add_special_tokens: bool = True,
        truncation: bool | str | None = False,
        max_length: int | None = None,
    ) -> list[int]:
        """The ids of a text, untruncated by default."""
        ids = self._tokenizer.token_ids([text])[0]
        if truncation not in UNTRUNCATED:
            specials = len(self._tokenizer.prefix) + len(self._tokenizer.suffix) if add_special_tokens else 0
            ids = ids[: max(0, (max_length or self.model_max_length) - specials)]
        return self._tokenizer.with_special_tokens(ids) if add_special_tokens else ids

    def __call__(self, text: str | Sequence[str], **options: Any) -> dict[str, Any]:
        """The `input_ids` and `attention_mask` of one or more texts, as lists; options as in `encode`."""
        for name in ("padding", "return_tensors"):
            if options.pop(name, None):
                raise BadInput(f"this tokenizer returns lists without {name}; to pad, use model.preprocess")
        ids: Any = self.encode(text, **options) if isinstance(text, str) else [self.encode(t, **options) for t in text]
        mask = [1] * len(ids) if isinstance(text, str) else [[1] * len(row) for row in ids]
        return {"input_ids": ids, "attention_mask": mask}

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        """Convert ids to text."""
        return self._tokenizer.decode([int(i) for i in ids], skip_special_tokens=skip_special_tokens)

    def convert_ids_to_tokens(self, ids: int | Sequence[int]) -> Any:
        """The token with this id, or the tokens with these ids."""
        if isinstance(ids, int):
            return self._tokenizer.id_to_token(ids)
        return [self._tokenizer.id_to_token(int(i)) for i in ids]

    def convert_tokens_to_ids(self, tokens: str | Sequence[str]) -> Any:
        """The id of a token, or the ids of several tokens; None for unknown tokens."""
        if isinstance(tokens, str):
            return self._tokenizer.token_ids_by_name.get(tokens)
        return [self._tokenizer.token_ids_by_name.get(token) for token in tokens]


def encoded_batch(tokenizer: Tokenizer, inputs: Sequence[Any], prompt: str) -> dict[str, Any]:
    """The ids of texts or text pairs, truncated and padded to equal length, with their masks and segments."""
    rows = [_ids_and_segments(tokenizer, text, prompt) for text in inputs]
    width = max((len(ids) for ids, _ in rows), default=0)
    known = (tokenizer.token_ids_by_name.get(name) for name in ("[PAD]", "<pad>", "<|endoftext|>"))
    pad = next((i for i in known if i is not None), 0)
    padded = {
        "input_ids": [ids + [pad] * (width - len(ids)) for ids, _ in rows],
        "attention_mask": [[1] * len(ids) + [0] * (width - len(ids)) for ids, _ in rows],
        "token_type_ids": [kinds + [0] * (width - len(kinds)) for _, kinds in rows],
    }
    arrays = {name: np.array(values, np.int64).reshape(len(rows), width) for name, values in padded.items()}
    return {name: import_module("torch").from_numpy(a) for name, a in arrays.items()} if has_torch() else arrays


def _ids_and_segments(tokenizer: Tokenizer, given: Any, prompt: str) -> tuple[list[int], list[int]]:
    if isinstance(given, str):
        ids = tokenizer.with_special_tokens(tokenizer.token_ids([prompt + given])[0][: tokenizer.max_content_length])
        return ids, [0] * len(ids)
    if isinstance(given, Mapping) or len(given) != 2 or not all(isinstance(text, str) for text in given):
        raise BadInput(f"one input is {given!r:.60}; expected a text or a pair of texts")
    first, second = tokenizer.token_ids([prompt + given[0], given[1]])
    kept = truncate_longest_first(len(first), len(second), tokenizer.max_seq_length - tokenizer.pair.specials)
    return tokenizer.pair.ids(first[: kept[0]], second[: kept[1]]), tokenizer.pair.kinds(*kept)
