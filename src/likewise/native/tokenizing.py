"""The compiled library's tokenizers, which convert texts to ids as a tokenizer.json specifies (native/text)."""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..array_types import Int
from ..arrays.sequences import Sequences
from .library import MESSAGE, load_library, native_error


class _Tokens(ctypes.Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("ids", "ends", "long_words", "spans", "words")),
        *((name, c_int64) for name in ("texts", "tokens", "long_word_count")),
        ("memory", c_void_p),
    )


@dataclass(frozen=True, eq=False)
class EncodedTexts(Sequences):
    """The ids of several texts, without special tokens around them."""

    long_words: Int[np.ndarray, "W 3"] = field(default_factory=lambda: np.empty((0, 3), np.int64))
    """For each word too long to be read: the index of its text, its token's position in that text, and its length."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "EncodedTexts":
        tokens = Sequences.of(rows)
        return cls(tokens.ids, tokens.lengths)


class EncodedText(NamedTuple):
    """The ids of one text, and for each id the range of characters that it was read from and the index of its word."""

    ids: Int[np.ndarray, " T"]
    spans: Int[np.ndarray, "T 2"]
    words: Int[np.ndarray, " T"]


class NativeTokenizer:
    """A tokenizer of the compiled library; threads may share it.

    Raises:
        BadModel: the description is broken, or names a component that the library lacks; the message says which.
        NativeUnavailable: there is no compiled library.
    """

    def __init__(self, description: str) -> None:
        self._handle = None
        self._description = description
        self._c = _functions()
        source, code, message = description.encode(), c_int32(), ctypes.create_string_buffer(MESSAGE)
        self._handle = self._c.lw_tokenizer_create(source, len(source), ctypes.byref(code), message, MESSAGE)
        if code.value:
            raise native_error(code.value, message)

    def __reduce__(self) -> tuple[type["NativeTokenizer"], tuple[str]]:
        return type(self), (self._description,)

    def __del__(self) -> None:
        if self._handle:
            self._c.lw_tokenizer_free(self._handle)
            self._handle = None

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """The ids of texts, without special tokens around them. Texts must be valid Unicode."""
        with self._tokens(texts, spans=False) as tokens:
            return EncodedTexts(
                np.array((c_int32 * tokens.tokens).from_address(tokens.ids or 0)),  # null if there are none
                np.diff((c_int64 * tokens.texts).from_address(tokens.ends or 0), prepend=0),
                np.array((c_int64 * 3 * tokens.long_word_count).from_address(tokens.long_words or 0)),
            )

    def encode_with_spans(self, text: str) -> EncodedText:
        """The ids of one text, and the characters that each came from."""
        with self._tokens([text], spans=True) as tokens:
            return EncodedText(
                np.array((c_int32 * tokens.tokens).from_address(tokens.ids or 0)),
                np.array((c_uint32 * 2 * tokens.tokens).from_address(tokens.spans or 0), np.int64),
                np.array((c_int32 * tokens.tokens).from_address(tokens.words or 0)),
            )

    @contextmanager
    def _tokens(self, texts: Sequence[str], *, spans: bool) -> Iterator[_Tokens]:
        joined = "".join(texts).encode()
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        tokens, message = _Tokens(), ctypes.create_string_buffer(MESSAGE)
        request = (joined, len(joined), lengths.ctypes.data, len(texts), int(spans), ctypes.byref(tokens))
        if code := self._c.lw_tokenize(self._handle, *request, message, MESSAGE):
            raise native_error(code, message)
        try:
            yield tokens
        finally:
            self._c.lw_tokens_free(ctypes.byref(tokens))


def _functions() -> Any:
    c = load_library().functions
    c.lw_tokenizer_create.restype = c_void_p
    c.lw_tokenizer_create.argtypes = [c_char_p, c_size_t, POINTER(c_int32), c_char_p, c_size_t]
    c.lw_tokenizer_free.argtypes, c.lw_tokenizer_free.restype = [c_void_p], None
    c.lw_tokenize.argtypes = [
        *(c_void_p, c_char_p, c_size_t, c_void_p, c_int64, c_int32, POINTER(_Tokens), c_char_p, c_size_t)
    ]
    c.lw_tokens_free.argtypes, c.lw_tokens_free.restype = [POINTER(_Tokens)], None
    return c
