"""LibraryTokenizer: Hugging Face's tokenizers library (extra `tokenizers`), for features that ours lacks."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import numpy as np

from ..errors import BadModel
from ..native.tokenizing import EncodedText, EncodedTexts
from ..runtime.installation import missing_extra


@contextmanager
def library_errors(what: str) -> Iterator[None]:
    """Turn whatever the library raises into a `BadModel`, including Rust panics, which are BaseExceptions."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, BadModel) or (
            not isinstance(error, Exception) and type(error).__name__ != "PanicException"
        ):
            raise
        raise BadModel(f"{what}: {error!s:.300}") from error


def library_object(description: str, why: str) -> Any:
    """The library's own tokenizer with this description.

    Raises:
        MissingExtra: the library is not installed; the message begins with `why`.
        BadModel: the library cannot read the description.
    """
    try:
        import tokenizers
    except ImportError:
        raise missing_extra("tokenizers", "tokenizers", why) from None
    with library_errors("the tokenizer cannot be read"):
        return tokenizers.Tokenizer.from_str(description)


class LibraryTokenizer:
    """A tokenizer from the tokenizers library, with the interface of `NativeTokenizer`."""

    def __init__(self, description: str, why: str) -> None:
        self._description, self._why = description, why
        self.library = library_object(description, why)
        model = self.library.model
        self._limit = getattr(model, "max_input_chars_per_word", None)
        self._unknown = None if self._limit is None else self.library.token_to_id(model.unk_token)
        self._run = re.compile(rf"[^ \t\n\r]{{{(self._limit or 0) + 1}}}")  # only texts with an over-long word match

    def __reduce__(self) -> tuple[type["LibraryTokenizer"], tuple[str, str]]:
        return type(self), (self._description, self._why)

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """The ids of texts, without special tokens around them."""
        for text in texts:
            text.encode()  # the caller must replace lone surrogates
        with library_errors("the model's tokenizer failed on these texts"):
            encoded = self.library.encode_batch_fast(texts, add_special_tokens=False)
        found = EncodedTexts.of(list(map(attrgetter("ids"), encoded)))
        return EncodedTexts(found.ids, found.lengths, self._long_words(texts, found))

    def encode_with_spans(self, text: str) -> EncodedText:
        """The ids of one text and, for each id, the span of characters that it comes from."""
        with library_errors("the model's tokenizer failed on this text"):
            (encoded,) = self.library.encode_batch([text], add_special_tokens=False)  # `encode` holds the GIL
        words = [-1 - i if word is None else word for i, word in enumerate(encoded.word_ids)]
        ids, spans = np.asarray(encoded.ids, np.int32), np.asarray(encoded.offsets, np.int64)
        return EncodedText(ids, spans.reshape(-1, 2), np.asarray(words, np.int32))

    def _long_words(self, texts: Sequence[str], found: EncodedTexts) -> np.ndarray:
        """Compute `EncodedTexts.long_words`; only texts with the unknown token are tokenized again."""
        words: list[tuple[int, int, int]] = []
        if self._limit is not None:
            places = np.flatnonzero(found.ids == self._unknown)
            for row in np.unique(np.searchsorted(found.ends, places, "right")).tolist():
                words += [(row, *word) for word in self._of_text(texts[row])]
        return np.asarray(words, np.int64).reshape(-1, 3)

    def _of_text(self, text: str) -> list[tuple[int, int]]:
        if not self._run.search(text) and not self._run.search(self._normalized(text)):
            return []
        (encoded,) = self.library.encode_batch([text], add_special_tokens=False)
        # not `encoded.offsets`, which builds a list of all offsets under the GIL
        places = [i for i, token in enumerate(encoded.ids) if token == self._unknown]
        spans = ((i, encoded.token_to_chars(i)) for i in places)
        lengths = ((i, len(self._normalized(text[slice(*span)]))) for i, span in spans if span)
        return [(i, length) for i, length in lengths if length > (self._limit or 0)]

    def _normalized(self, text: str) -> str:
        normalizer = self.library.normalizer
        return str(normalizer.normalize_str(text)) if normalizer else text
