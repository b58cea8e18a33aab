"""Decoding tokens to text, with the decoder described in a tokenizer.json."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import BadModel

Decoder = Callable[[Mapping[str, Any], list[str]], list[str]]
"""A function from a decoder's settings and a list of tokens to the parts of a text."""

_VISIBLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_HIDDEN = [byte for byte in range(256) if byte not in _VISIBLE]
BYTE_LETTERS = {byte: chr(byte) for byte in _VISIBLE} | {byte: chr(256 + i) for i, byte in enumerate(_HIDDEN)}
"""The character that stands for each byte in byte-level tokens: its own if visible, else one from U+0100 on (GPT-2)."""


def decoded(tokens: Sequence[str], decoder: Mapping[str, Any] | None) -> str:
    """Decode tokens to text; without a decoder, join them with spaces.

    Raises:
        BadModel: the decoder is not supported.
    """
    return " ".join(tokens) if decoder is None else "".join(_decoded(decoder, list(tokens)))


def _decoded(decoder: Mapping[str, Any], tokens: list[str]) -> list[str]:
    known = DECODERS.get(decoder["type"])
    if known is None:
        raise BadModel(f"the decoder {decoder['type']!r:.80} is not supported; expected one of {', '.join(DECODERS)}")
    return known(decoder, tokens)


def _sequence(decoder: Mapping[str, Any], tokens: list[str]) -> list[str]:
    for step in decoder["decoders"]:
        tokens = _decoded(step, tokens)
    return tokens


SPACES = ((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m"))
CLEANED = (*SPACES, (" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"))


def _wordpiece(decoder: Mapping[str, Any], tokens: list[str]) -> list[str]:
    prefix, parts = decoder["prefix"], []
    for i, token in enumerate(tokens):
        part = token if i == 0 else token.removeprefix(prefix) if token.startswith(prefix) else f" {token}"
        for searched, replacement in CLEANED if decoder["cleanup"] else ():
            part = part.replace(searched, replacement)
        parts.append(part)
    return parts


def _metaspace(decoder: Mapping[str, Any], tokens: list[str]) -> list[str]:
    mark, prepends = decoder["replacement"], decoder["prepend_scheme"] != "never"
    return [token.replace(mark, "" if i == 0 and prepends else " ") for i, token in enumerate(tokens)]


def _byte_level(decoder: Mapping[str, Any], tokens: list[str]) -> list[str]:  # noqa: ARG001, it has no settings here
    values = {letter: value for value, letter in BYTE_LETTERS.items()}
    found = [
        bytes(map(values.__getitem__, token)) if values.keys() >= {*token} else token.encode("utf-8")
        for token in tokens
    ]
    return [b"".join(found).decode("utf-8", "replace")]


def _byte_fallback(decoder: Mapping[str, Any], tokens: list[str]) -> list[str]:  # noqa: ARG001
    parts, pending = list[str](), bytearray()
    for token in [*tokens, ""]:
        if BYTE.fullmatch(token):
            pending.append(int(token[3:5], 16))
            continue
        try:
            parts += [pending.decode("utf-8")] if pending else []
        except UnicodeDecodeError:
            parts += ["\ufffd"] * len(pending)
        pending.clear()
        parts.append(token)
    return parts


BYTE = re.compile("<0x[0-9A-Fa-f]{2}>")


def _bpe(decoder: Mapping[str, Any], tokens: list[str]) -> list[str]:
    last = len(tokens) - 1
    return [token.replace(decoder["suffix"], " " if i < last else "") for i, token in enumerate(tokens)]


def _replace(decoder: Mapping[str, Any], tokens: list[str]) -> list[str]:
    searched = decoder["pattern"].get("String")
    if searched is None:
        raise BadModel("a Replace decoder with a regular expression is not supported")
    return [token.replace(searched, decoder["content"]) for token in tokens]


def _strip(decoder: Mapping[str, Any], tokens: list[str]) -> list[str]:
    mark, parts = decoder["content"], []
    for token in tokens:
        start = min(len(token) - len(token.lstrip(mark)), decoder["start"])
        stop = len(token) - min(len(token) - len(token.rstrip(mark)), decoder["stop"])
        parts.append(token[start:stop])
    return parts


DECODERS: dict[str, Decoder] = {
    "BPEDecoder": _bpe,
    "ByteFallback": _byte_fallback,
    "ByteLevel": _byte_level,
    "Fuse": lambda _, tokens: ["".join(tokens)],
    "Metaspace": _metaspace,
    "Replace": _replace,
    "Sequence": _sequence,
    "Strip": _strip,
    "WordPiece": _wordpiece,
}
"""The supported decoders, keyed by their type in tokenizer.json."""
