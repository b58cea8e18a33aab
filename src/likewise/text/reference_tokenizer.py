"""ReferenceTokenizer: the algorithms of native/text in plain Python, slow but easy to read.

It is the fallback if there is no compiled library, and the reference in tests. Characters are classified by Python's
own Unicode tables, so characters that are new in only one of the two Unicode versions may be tokenized differently.
A feature that native/text does not support either raises an error that names it.
"""

import base64
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadModel
from ..native.tokenizing import EncodedText, EncodedTexts
from .decoding import BYTE_LETTERS

Settings = Mapping[str, Any]


class Character(NamedTuple):
    """A character of a text being processed, and the span of the original text that it comes from."""

    letter: str
    start: int
    stop: int


Text = list[Character]


class Token(NamedTuple):
    """A token's id, the span of characters that it was read from, and the index of its word."""

    id: int
    start: int
    stop: int
    word: int


class ReferenceTokenizer:
    """A tokenizer in plain Python, with the interface of `NativeTokenizer`.

    Raises:
        BadModel: the description has a component that is not supported here; the message names it.
    """

    def __init__(self, description: str) -> None:
        self._description = description
        described = json.loads(description)
        self._normalizer = _step(described["normalizer"], NORMALIZERS, "normalizer")
        self._pre_tokenizer = _step(described["pre_tokenizer"], PRE_TOKENIZERS, "pre-tokenizer")
        self._model = _step(described["model"], MODELS, "model")
        self._limit = described["model"].get("max_input_chars_per_word", math.inf)
        self._trims = _trimming(described["post_processor"])
        self._raw, self._normalized = list[Settings](), list[Settings]()
        for added in filter(lambda one: one["content"], described["added_tokens"]):
            if not added["normalized"]:
                self._raw.append(added)
            elif content := normalize(added["content"], self._normalizer):
                self._normalized.append({**added, "content": content})

    def __reduce__(self) -> tuple[type["ReferenceTokenizer"], tuple[str]]:
        return type(self), (self._description,)

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        rows, long_words = list[list[int]](), list[tuple[int, int, int]]()
        for i, text in enumerate(texts):
            text.encode()  # the caller must replace lone surrogates
            ids = list[int]()
            for word, added in self._words(text):
                if added is None and len(word) > self._limit:
                    long_words.append((i, len(ids), len(word)))
                ids += [added] if added is not None else [token.id for token in self._model(word)]
            rows.append(ids)
        found = EncodedTexts.of(rows)
        return EncodedTexts(found.ids, found.lengths, np.asarray(long_words, np.int64).reshape(-1, 3))

    def encode_with_spans(self, text: str) -> EncodedText:
        tokens = list[Token]()
        for number, (word, added) in enumerate(self._words(text)):
            if added is not None:
                tokens.append(Token(added, *self._span(word, first=not tokens), number))
                continue
            for token, start, stop in self._model(word):
                tokens.append(Token(token, *self._span(word[start:stop], first=not tokens), number))
        columns = np.asarray(tokens, np.int64).reshape(-1, 4)
        return EncodedText(columns[:, 0].astype(np.int32), columns[:, 1:3].copy(), columns[:, 3].astype(np.int32))

    def _words(self, text: str) -> Iterator[tuple[Text, int | None]]:
        """Yield the words of a text, each with None, and the added tokens in it, each with its id."""
        characters = [Character(letter, i, i + 1) for i, letter in enumerate(text)]
        for part, added in _split_at_added(characters, self._raw):
            if added is not None:
                yield part, added
                continue
            normalized = self._normalizer(part)
            for piece, added_later in _split_at_added(normalized, self._normalized):
                if added_later is not None:
                    yield piece, added_later
                else:
                    yield from ((word, None) for word in self._pre_tokenizer([piece]) if word)

    def _span(self, token: Text, *, first: bool) -> tuple[int, int]:
        """The span of a token, excluding the spaces around a byte-level token. `first`: it is the first token."""
        start, stop = token[0].start, token[-1].stop
        if self._trims is None:
            return start, stop
        spaces = [one.letter == SPACE_LETTER or is_space(one.letter) for one in token]
        leading, trailing = (
            next((i for i, space in enumerate(some) if not space), len(some)) for some in (spaces, spaces[::-1])
        )
        if leading == 1 and (first or start == 0) and self._trims:
            leading = 0  # the space that was prepended to the text
        start = min(start + leading, stop)
        return start, max(stop - trailing, start) if stop >= trailing else stop


def normalizer_of(settings: Settings | None) -> "Callable[[Text], Text]":
    normalizer: Callable[[Text], Text] = _step(settings, NORMALIZERS, "normalizer")
    return normalizer


def normalize(text: str, normalizer: "Callable[[Text], Text]") -> str:
    return "".join(character.letter for character in normalizer([Character(letter, 0, 0) for letter in text]))


def _step(settings: Settings | None, known: Mapping[str, Callable[[Settings], Any]], kind: str) -> Any:
    if settings is None:
        return lambda given: given
    make = known.get(str(settings["type"]))  # it may be a list, which cannot be looked up
    if make is None:
        raise BadModel(f"the {kind} {settings['type']!r:.80} is not supported in plain Python")
    return make(settings)


def _chain(steps: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(given: Any) -> Any:
        for step in steps:
            given = step(given)
        return given

    return run


def _trimming(processor: Settings | None) -> bool | None:
    """Whether a space was prepended to the text, if spans exclude spaces; None if they include them."""
    if processor is not None and processor["type"] == "Sequence":
        return next((found for one in processor["processors"] if (found := _trimming(one)) is not None), None)
    if processor is None or processor["type"] not in ("ByteLevel", "RobertaProcessing"):
        return None
    return bool(processor["add_prefix_space"]) if processor["trim_offsets"] else None


def _split_at_added(text: Text, tokens: Sequence[Settings]) -> Iterator[tuple[Text, int | None]]:
    """Yield the text between added tokens, and the added tokens with their ids; the longest match wins."""
    letters = [character.letter for character in text]
    whole, done, at = "".join(letters), 0, 0
    while tokens and at < len(text):
        here = [one for one in tokens if whole.startswith(one["content"], at)]
        if not here:
            at += 1
            continue
        token = max(here, key=lambda one: len(one["content"]))
        start, stop = at, at + len(token["content"])
        at = stop
        if token["single_word"] and any(map(_is_word_letter, (whole[start - 1 : start], whole[stop : stop + 1]))):
            continue
        while token["lstrip"] and start > done and is_space(whole[start - 1]):
            start -= 1
        while token["rstrip"] and stop < len(text) and is_space(whole[stop]):
            stop += 1
        start = max(start, done)
        if done < start:
            yield text[done:start], None
        yield text[start:stop], token["id"]
        done = max(done, stop)
    if done < len(text):
        yield text[done:], None


# Characters


def is_space(letter: str) -> bool:
    """Whether Unicode calls a character whitespace; Python's isspace includes four more control characters."""
    return letter.isspace() and letter not in "\x1c\x1d\x1e\x1f"


def _is_word_letter(letter: str) -> bool:
    """Whether regular expressions treat a character as part of a word (UTS #18): letter, mark, digit or connector."""
    circled = "\u24b6" <= letter <= "\u24e9"
    return bool(letter) and (circled or letter in "\u200c\u200d" or unicodedata.category(letter) in WORD_CATEGORIES)


WORD_CATEGORIES = ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "Pc")


def _is_punctuation(letter: str) -> bool:
    symbols = letter.isascii() and unicodedata.category(letter)[0] == "S"
    return symbols or unicodedata.category(letter)[0] == "P"


CHINESE = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)
"""The blocks that BERT splits into single characters; Hugging Face's library starts one of them at U+2B920."""


# Normalizers: from a text to a text


def _per_letter(change: Callable[[str], str]) -> Callable[[Text], Text]:
    """A normalizer that changes each character separately."""
    return lambda text: [one._replace(letter=letter) for one in text for letter in change(one.letter)]


Change = tuple[str, int]
"""A new character; 1 if it comes from the same character as the one before, else -(n - 1) if it replaces n of them."""


def _applied(text: Text, changes: Sequence[Change]) -> Text:
    """The new characters, each with the span of the original text that it comes from."""
    found, at = Text(), 0
    for letter, change in changes:
        found.append(text[at - 1 if change > 0 and at else at]._replace(letter=letter))
        at += 1 - change if change <= 0 else 0
    return found


def _form(name: Any) -> Callable[[Text], Text]:
    """A Unicode normal form; as in the library, a reordered mark takes over the span of the mark it displaces."""
    decomposition: Any = "NFKD" if "K" in name else "NFD"

    def normalized(text: Text) -> Text:
        if all(one.letter.isascii() for one in text):
            return text
        parts = [unicodedata.normalize(decomposition, one.letter) for one in text]
        changes = _reordered([(letter, int(i > 0)) for part in parts for i, letter in enumerate(part)])
        return _applied(text, changes if name.endswith("D") else _recomposed(changes))

    return normalized


def _order(change: Change) -> int:
    return unicodedata.combining(change[0])


def _reordered(changes: Sequence[Change]) -> list[Change]:
    """Sort each run of marks by combining class (UAX #15, D109)."""
    runs = (list(run) for _, run in groupby(changes, key=lambda change: _order(change) > 0))
    return [change for run in runs for change in sorted(run, key=_order)]


def _recomposed(changes: Sequence[Change]) -> list[Change]:
    """Compose starters with the marks that no other mark blocks (UAX #15, D117)."""
    found, starter, last = list[Change](), -1, -1
    for letter, change in changes:
        order = unicodedata.combining(letter)
        blocked = starter < 0 or last >= order
        joined = "" if blocked else unicodedata.normalize("NFC", found[starter][0] + letter)
        if len(joined) == 1:
            found[starter] = joined, found[starter][1] + change - 1
            continue
        starter, last = (len(found), -1) if order == 0 else (starter, order)
        found.append((letter, change))
    return found


def _text_at(texts: bytes, begin: int) -> str:
    try:
        return texts[begin : texts.index(b"\0", begin)].decode()
    except UnicodeDecodeError:
        raise BadModel("the precompiled normalizer contains a text that is not UTF-8") from None


def _precompiled(settings: Settings) -> Callable[[Text], Text]:
    """SentencePiece's rules: the size of a double-array trie (as in darts-clone), the trie, and zero-terminated texts.

    A grapheme of fewer than 6 bytes is looked up whole, and the shortest match replaces all of it; a longer one is
    processed character by character.
    """
    given = settings.get("precompiled_charsmap")
    if not isinstance(given, str):
        raise BadModel(f"precompiled_charsmap is {given!r:.100}; expected a text")
    try:
        rules = base64.b64decode(given, validate=True)
    except ValueError:
        raise BadModel("the precompiled normalizer is not valid Base64") from None
    size = int.from_bytes(rules[:4], "little")
    if size % 4 or not 0 < size <= len(rules) - 4:
        raise BadModel("the precompiled normalizer is cut off")
    units, texts = np.frombuffer(rules, "<u4", size // 4, 4).tolist(), rules[4 + size :] + b"\0"

    @cache
    def replacement(letters: str) -> str | None:
        place = _offset(units[0])
        for byte in letters.encode():
            place ^= byte
            if not byte or place >= len(units) or units[place] & (1 << 31 | 0xFF) != byte:
                return None
            unit = units[place]
            place ^= _offset(unit)
            if unit >> 8 & 1:
                begin = units[place] & ~(1 << 31) if place < len(units) else len(texts)
                return _text_at(texts, begin) if begin < len(texts) else None
        return None

    def normalized(text: Text) -> Text:
        changes = list[Change]()
        for grapheme in _graphemes("".join(one.letter for one in text)):
            whole = replacement(grapheme) if len(grapheme.encode()) < 6 else None
            for part, new in (
                [(grapheme, whole)] if whole is not None else [(one, replacement(one)) for one in grapheme]
            ):
                _put(changes, new if new is not None else part, len(part))
        return _applied(text, changes)

    return normalized


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & (1 << 9)) >> 6)


def _put(changes: list[Change], letters: str, replaced: int) -> None:
    """Append a replacement for `replaced` characters.

    Surplus characters at its end count as inserted; if it is shorter, its last character stands for the remaining ones.
    """
    more = len(letters) - replaced
    changes += [(letter, int(len(letters) - i <= more)) for i, letter in enumerate(letters)]
    if more < 0 and changes:
        changes[-1] = changes[-1][0], changes[-1][1] + more


def _graphemes(text: str) -> Iterator[str]:
    """Split a text into graphemes, by the rules that affect those of fewer than 6 bytes (UAX #29, GB3 to GB9b)."""
    start = 0
    for i in range(1, len(text) + 1):
        if i == len(text) or not _joined(text[i - 1], text[i]):
            yield text[start:i]
            start = i


def _joined(first: str, second: str) -> bool:
    if _is_control(first) or _is_control(second):
        return first + second == "\r\n"
    return first in PREPENDED or second in APPENDED or (unicodedata.category(second)[0] == "M" and second not in APART)


def _is_control(letter: str) -> bool:
    kinds = unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp")
    return kinds and letter not in PREPENDED and letter not in APPENDED


def _characters(*ranges: tuple[int, int]) -> frozenset[str]:
    return frozenset(chr(code) for first, last in ranges for code in range(first, last + 1))


PREPENDED = _characters(
    *((0x600, 0x605), (0x6DD, 0x6DD), (0x70F, 0x70F), (0x890, 0x891), (0x8E2, 0x8E2), (0xD4E, 0xD4E)),
    *((0x110BD, 0x110BD), (0x110CD, 0x110CD), (0x111C2, 0x111C3), (0x1193F, 0x1193F), (0x11941, 0x11941)),
    *((0x11A84, 0x11A89), (0x11D46, 0x11D46)),
)
"""Characters that form one grapheme with the character after them."""
APPENDED = _characters(
    *((0xE33, 0xE33), (0xEB3, 0xEB3), (0x200C, 0x200D), (0xFF9E, 0xFF9F), (0x1F3FB, 0x1F3FF), (0xE0020, 0xE007F))
)
"""Characters, other than marks, that form one grapheme with the character before them."""
APART = _characters(
    *((0x102B, 0x102C), (0x1038, 0x1038), (0x1062, 0x1064), (0x1067, 0x106D), (0x1083, 0x1083), (0x1087, 0x108C)),
    *((0x108F, 0x108F), (0x109A, 0x109C), (0x1A61, 0x1A61), (0x1A63, 0x1A64), (0xAA7B, 0xAA7B), (0xAA7D, 0xAA7D)),
    *((0x11720, 0x11721),),
)
"""Marks that begin a grapheme."""
NMT_REMOVED = _characters((0x1, 0x8), (0xB, 0xB), (0xE, 0x1F), (0x7F, 0x7F), (0x8F, 0x8F), (0x9F, 0x9F))
NMT_SPACES = frozenset("\t\n\x0c\r\u1680\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u2581\ufeff\ufffd")


def _nmt(letter: str) -> str:
    return "" if letter in NMT_REMOVED else " " if letter in NMT_SPACES else letter


def _bert(settings: Settings) -> Callable[[Text], Text]:
    strips = settings["lowercase"] if settings["strip_accents"] is None else settings["strip_accents"]
    steps = [_per_letter(_cleaned)] if settings["clean_text"] else []
    steps += [_per_letter(_apart)] if settings["handle_chinese_chars"] else []
    steps += [_form("NFD"), _per_letter(_unmarked)] if strips else []
    return _chain([*steps, _per_letter(str.lower)] if settings["lowercase"] else steps)


def _cleaned(letter: str) -> str:
    if letter in "\t\n\r":
        return " "
    if letter in "\0\ufffd" or unicodedata.category(letter) in ("Cc", "Cf", "Co"):
        return ""
    return " " if is_space(letter) else letter


def _apart(letter: str) -> str:
    return f" {letter} " if any(first <= ord(letter) <= last for first, last in CHINESE) else letter


def _unmarked(letter: str) -> str:
    return "" if unicodedata.category(letter) == "Mn" else letter


def _strip(settings: Settings) -> Callable[[Text], Text]:
    def stripped(text: Text) -> Text:
        spaces = [is_space(one.letter) for one in text]
        if all(spaces):
            return []
        start = spaces.index(False) if settings["strip_left"] else 0
        return text[start : len(text) - (spaces[::-1].index(False) if settings["strip_right"] else 0)]

    return stripped


def _prepend(settings: Settings) -> Callable[[Text], Text]:
    return lambda text: [*(text[0]._replace(letter=letter) for letter in settings["prepend"]), *text] if text else text


def _replace(settings: Settings) -> Callable[[Text], Text]:
    pattern = settings["pattern"]
    if pattern.get("Regex") not in (None, " {2,}") or not pattern.get("String", " "):
        raise BadModel(f"a Replace normalizer of {pattern!r:.80} is not supported in plain Python")
    searched = re.compile(pattern["Regex"] if "Regex" in pattern else re.escape(pattern["String"]))

    def replaced(text: Text) -> Text:
        whole, found, done = "".join(one.letter for one in text), Text(), 0
        for match in searched.finditer(whole):
            found += text[done : match.start()]
            found += [text[match.end() - 1]._replace(letter=letter) for letter in settings["content"]]
            done = match.end()
        return found + text[done:]

    return replaced


NORMALIZERS: dict[str, Callable[[Settings], Callable[[Text], Text]]] = {
    "BertNormalizer": _bert,
    "Lowercase": lambda _: _per_letter(str.lower),
    **{name: lambda settings: _form(settings["type"]) for name in ("NFC", "NFD", "NFKC", "NFKD")},
    "Nmt": lambda _: _per_letter(_nmt),
    "Precompiled": _precompiled,
    "Prepend": _prepend,
    "Replace": _replace,
    "Sequence": lambda settings: _chain([_step(one, NORMALIZERS, "normalizer") for one in settings["normalizers"]]),
    "Strip": _strip,
    "StripAccents": lambda _: _per_letter(lambda letter: "" if unicodedata.category(letter)[0] == "M" else letter),
}


# Pre-tokenizers: from parts of a text to its words

Words = list[Text]


def _grouped(kind: Callable[[str], Any], alone: Any = None) -> Callable[[Words], Words]:
    """Split where the kind of character changes; drop kind None, and make each character of kind `alone` a word."""

    def split(parts: Words) -> Words:
        words = Words()
        for part in parts:
            for of_kind, run in groupby(part, key=lambda one: kind(one.letter)):
                if of_kind is not None:
                    letters = list(run)
                    words += [[one] for one in letters] if of_kind == alone else [letters]
        return words

    return split


def _bert_kind(letter: str) -> str | None:
    return None if is_space(letter) else "mark" if _is_punctuation(letter) else "word"


def _whitespace_kind(letter: str) -> str | None:
    return None if is_space(letter) else "word" if _is_word_letter(letter) else "mark"


def _metaspace(settings: Settings) -> Callable[[Words], Words]:
    mark, scheme = settings["replacement"], settings["prepend_scheme"]

    def split(parts: Words) -> Words:
        words = Words()
        for part in parts:
            marked = [one._replace(letter=mark) if one.letter == " " else one for one in part]
            first = scheme == "always" or (scheme == "first" and bool(part) and part[0].start == 0)
            if first and marked and marked[0].letter != mark:
                marked.insert(0, marked[0]._replace(letter=mark))
            starts = [i for i, one in enumerate(marked) if i and one.letter == mark and settings["split"]]
            bounds = [0, *starts, len(marked)]
            words += [marked[a:b] for a, b in pairwise(bounds)]
        return words

    return split


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS = (
    GPT2,
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    CL100K % "{1,3}",
    CL100K % "",
    r"[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}]",
)
"""The patterns of GPT-2 (in two spellings), cl100k, Qwen and our word vector tables."""


SPACES = r"\s"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern after replacing Unicode categories, which Python's `re` lacks, with character classes."""
    for name, ranges in _classes().items():
        parts = re.split(r"(\[[^\]]*\])", pattern)  # every second part is a class
        written = [part.replace(name, ranges if i % 2 else f"[{ranges}]") for i, part in enumerate(parts)]
        pattern = "".join(written)
    return re.compile(pattern.replace(r"\S", f"[^{_classes()[SPACES]}]").replace("(?i:", "(?ai:"))


@cache
def _classes() -> dict[str, str]:
    """Maps each major Unicode category that patterns use, and whitespace, to its character ranges."""
    kinds = [unicodedata.category(chr(code))[0] for code in range(0x110000)]
    found = {}
    for kind in "LMN":
        runs = [list(run) for of_kind, run in groupby(range(0x110000), key=lambda c: kinds[c]) if of_kind == kind]
        found[rf"\p{{{kind}}}"] = "".join(f"\\U{run[0]:08x}-\\U{run[-1]:08x}" for run in runs)
    found[SPACES] = "".join(f"\\U{code:08x}" for code in range(0x110000) if is_space(chr(code)))
    return found


def _split(settings: Settings) -> Callable[[Words], Words]:
    pattern, how = settings["pattern"].get("Regex"), (settings["behavior"], settings["invert"])
    if pattern not in PATTERNS or how not in (("Isolated", False), ("Removed", True)):
        raise BadModel(f"a Split pre-tokenizer of {settings['pattern']!r:.80} is not supported in plain Python")
    return _matches(pattern, keeps_between=how[0] == "Isolated")


def _matches(pattern: str, keeps_between: bool) -> Callable[[Words], Words]:
    def split(parts: Words) -> Words:
        words = Words()
        for part in parts:
            done = 0
            for match in _compiled(pattern).finditer("".join(one.letter for one in part)):
                words += [part[done : match.start()]] * keeps_between + [part[match.start() : match.end()]]
                done = match.end()
            words += [part[done:]] * keeps_between
        return [word for word in words if word]

    return split


def _byte_level(settings: Settings) -> Callable[[Words], Words]:
    def prefixed(parts: Words) -> Words:
        return [[part[0]._replace(letter=" "), *part] if part and part[0].letter != " " else part for part in parts]

    def in_bytes(words: Words) -> Words:
        return [
            [one._replace(letter=BYTE_LETTERS[byte]) for one in word for byte in one.letter.encode()] for word in words
        ]

    steps: list[Callable[[Words], Words]] = [prefixed] if settings["add_prefix_space"] else []
    steps += [_matches(GPT2, keeps_between=True)] if settings["use_regex"] else []
    return _chain([*steps, in_bytes])


SPACE_LETTER = BYTE_LETTERS[0x20]
PRE_TOKENIZERS: dict[str, Callable[[Settings], Callable[[Words], Words]]] = {
    "BertPreTokenizer": lambda _: _grouped(_bert_kind, "mark"),
    "ByteLevel": _byte_level,
    "Metaspace": _metaspace,
    "Sequence": lambda settings: _chain(
        [_step(one, PRE_TOKENIZERS, "pre-tokenizer") for one in settings["pretokenizers"]]
    ),
    "Split": _split,
    "Whitespace": lambda _: _grouped(_whitespace_kind),
    "WhitespaceSplit": lambda _: _grouped(lambda letter: None if is_space(letter) else "word"),
}


# Models: from a word to its pieces


class Subword(NamedTuple):
    """The id of a part of a word, and where the part begins and ends."""

    id: int
    start: int
    stop: int


Model = Callable[[Text], list[Subword]]


def _letters(word: Text) -> str:
    return "".join(one.letter for one in word)


def _wordpiece(settings: Settings) -> Model:
    """Repeatedly take the longest piece that the rest of a word begins with (Wu et al. 2016)."""
    vocabulary, prefix = settings["vocab"], settings["continuing_subword_prefix"]
    unknown, limit = vocabulary[settings["unk_token"]], settings["max_input_chars_per_word"]

    def pieces(word: Text) -> list[Subword]:
        letters, found, start = _letters(word), list[Subword](), 0
        while start < len(letters) <= limit:
            ends = range(len(letters), start, -1)
            known = (stop for stop in ends if (prefix if start else "") + letters[start:stop] in vocabulary)
            stop = next(known, None)
            if stop is None:
                break
            found.append(Subword(vocabulary[(prefix if start else "") + letters[start:stop]], start, stop))
            start = stop
        return found if start == len(letters) else [Subword(unknown, 0, len(letters))]

    return pieces


def _word_level(settings: Settings) -> Model:
    vocabulary, unknown = settings["vocab"], settings["vocab"][settings["unk_token"]]
    return lambda word: [Subword(vocabulary.get(_letters(word), unknown), 0, len(word))]


def _byte_pairs(settings: Settings) -> Model:
    """Merge neighbouring parts in the order in which the merges were learned (Sennrich et al. 2016)."""
    affixes = (settings["continuing_subword_prefix"], settings["end_of_word_suffix"])
    if settings["byte_fallback"] or any(affixes) or settings["unk_token"]:
        raise BadModel("BPE with byte_fallback, an affix or an unknown token is not supported in plain Python")
    vocabulary: dict[str, int] = settings["vocab"]
    ranks = {tuple(pair): rank for rank, pair in reversed(list(enumerate(settings["merges"])))}

    def pieces(word: Text) -> list[Subword]:
        letters, parts = _letters(word), [(letter, i, i + 1) for i, letter in enumerate(_letters(word))]
        if settings["ignore_merges"] and letters in vocabulary:
            return [Subword(vocabulary[letters], 0, len(letters))]
        parts = [part for part in parts if part[0] in vocabulary]
        while True:
            neighbours = enumerate(pairwise(part for part, *_ in parts))
            rank, i = min(((ranks.get(pair, math.inf), i) for i, pair in neighbours), default=(math.inf, 0))
            if rank == math.inf:
                return [Subword(vocabulary[part], start, stop) for part, start, stop in parts]
            (a, start, _), (b, _, stop) = parts[i : i + 2]
            parts[i : i + 2] = [(a + b, start, stop)]

    return pieces


def _unigram(settings: Settings) -> Model:
    """Find the pieces with the largest sum of scores (Kudo 2018); adjacent unknown characters form one piece."""
    if settings["byte_fallback"] or settings["unk_id"] is None:
        raise BadModel("a Unigram model with byte_fallback, or without an unknown token, is not supported")
    unknown, vocabulary = settings["unk_id"], settings["vocab"]
    known = {token: (score, i) for i, (token, score) in enumerate(vocabulary)}
    longest = max(map(len, known))
    unknown_score = min(score for _, score in vocabulary) - 10.0

    def pieces(word: Text) -> list[Subword]:
        letters = _letters(word)
        best: list[tuple[float, Subword] | None] = [None] * (len(letters) + 1)
        for start in range(len(letters)):
            total = best[start][0] if best[start] else 0.0  # type: ignore[index]
            stops = range(start + 1, min(len(letters), start + longest) + 1)
            steps = [(stop, *known[letters[start:stop]]) for stop in stops if letters[start:stop] in known]
            for stop, score, i in [*steps, (start + 1, unknown_score, unknown)]:
                before = best[stop]
                if before is None or total + score > before[0]:
                    best[stop] = total + score, Subword(i, start, stop)
        return _joined_unknown(_path(best), unknown)

    return pieces


def _path(best: Sequence[tuple[float, Subword] | None]) -> list[Subword]:
    found, at = list[Subword](), len(best) - 1
    while at:
        step = best[at]
        assert step is not None  # every place can be reached, at least with the unknown piece
        found.append(step[1])
        at = step[1].start
    return found[::-1]


def _joined_unknown(pieces: Sequence[Subword], unknown: int) -> list[Subword]:
    joined = list[Subword]()
    for piece in pieces:
        if piece.id == unknown and joined and joined[-1].id == unknown:
            joined[-1] = joined[-1]._replace(stop=piece.stop)
        else:
            joined.append(piece)
    return joined


MODELS: dict[str, Callable[[Settings], Model]] = {
    "BPE": _byte_pairs,
    "Unigram": _unigram,
    "WordLevel": _word_level,
    "WordPiece": _wordpiece,
}
