"""LibraryTokenizer: Hugging Face's tokenizers (the extra `tokenizers`) for what the compiled library lacks."""

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
    """Turn whatever the library raises into a `BadModel`; a panic of its Rust code is a BaseException."""
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
    """A tokenizer of the library, with the interface of `NativeTokenizer`; it does not report over-long words."""

    def __init__(self, description: str, why: str) -> None:
        self._description, self._why = description, why
        self.library = library_object(description, why)

    def __reduce__(self) -> tuple[type["LibraryTokenizer"], tuple[str, str]]:
        return type(self), (self._description, self._why)

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        for text in texts:
            text.encode()  # the caller must replace lone surrogates
        with library_errors("the model's tokenizer failed on these texts"):
            encoded = self.library.encode_batch_fast(texts, add_special_tokens=False)
        return EncodedTexts.of(list(map(attrgetter("ids"), encoded)))

    def encode_with_spans(self, text: str) -> EncodedText:
        with library_errors("the model's tokenizer failed on this text"):
            (encoded,) = self.library.encode_batch([text], add_special_tokens=False)  # `encode` holds the GIL
        words = [-1 - i if word is None else word for i, word in enumerate(encoded.word_ids)]
        ids, spans = np.asarray(encoded.ids, np.int32), np.asarray(encoded.offsets, np.int64)
        return EncodedText(ids, spans.reshape(-1, 2), np.asarray(words, np.int32))
