"""Converting texts to token ids with the model's own tokenizer.json, without truncation."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from ..array_types import Int
from ..arrays.sequences import Sequences
from ..errors import BadInput, BadModel, MissingExtra, NativeUnavailable
from ..native.tokenizing import EncodedTexts, NativeTokenizer
from ..runtime.installation import install_hint
from ..runtime.untrusted_files import read_object, read_text
from ..runtime.vocabulary import Vocabulary
from .decoding import decoded
from .library_tokenizer import LibraryTokenizer
from .reference_tokenizer import ReferenceTokenizer, normalize, normalizer_of
from .tokenizer_checks import check_steps
from .tokenizer_json import Described, PairFrame, around, canonical, read_described, reading, template
from .unknown_words import FILE, UnknownWords

SETTINGS = "tokenizer_config.json"
Spans = Int[np.ndarray, "T 2"]  # start and stop of every token, in characters
OVERLAP = 8  # neighbouring windows of a long text overlap by 1/8
Engine = NativeTokenizer | ReferenceTokenizer | LibraryTokenizer


@dataclass(frozen=True)
class Tokenizer:
    """Converts texts to token ids and never truncates them: the caller handles lengths.

    `description` is the tokenizer.json in its canonical form: two tokenizers with the same description give all texts
    the same ids. `prefix` and `suffix` are the special tokens that the model requires around a text, such as `[CLS]`
    and `[SEP]`; `max_seq_length` includes them. `companions` are the contents of the small files next to
    tokenizer.json. `unknown` describes how word-vector models handle out-of-vocabulary words. No call changes any
    state, so threads may share one tokenizer.
    """

    description: str
    max_seq_length: int
    lowercase: bool
    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    companions: Mapping[str, str]
    unknown: UnknownWords | None = None

    def __post_init__(self) -> None:
        if self.max_content_length < 1:
            specials = len(self.prefix) + len(self.suffix)
            raise BadModel(
                f"max_seq_length is {self.max_seq_length}, but {specials} special tokens leave no room for text"
            )

    @classmethod
    def load(cls, folder: Path, max_seq_length: int, lowercase: bool = False) -> "Tokenizer":
        what, described = f"the tokenizer in {folder}", read_described(folder)
        with reading(what):
            described.setdefault("post_processor", None)
            check_steps(described, what)
            description = canonical(described)
            prefix, suffix = around(template(described["post_processor"]))
        unknown = UnknownWords.read(folder)
        if unknown is not None:  # models that average word or token vectors use no special tokens
            prefix, suffix = (), ()
        companions = _companions(folder) | ({} if unknown is None else {FILE: json.dumps(asdict(unknown))})
        tokenizer = cls(description, max_seq_length, lowercase, prefix, suffix, companions, unknown)
        with reading(what):
            vocabulary = Vocabulary(described)
        object.__setattr__(tokenizer, "vocabulary", vocabulary.size)  # to avoid computing it again from the description
        if not len(tokenizer.engine.encode(["a"]).ids):
            raise BadModel(f"{what} gives no token for the letter 'a', so it cannot encode text")
        return tokenizer

    def save(self, folder: Path) -> None:
        whole = json.dumps(json.loads(self.description), ensure_ascii=False, indent=2)
        files = {"tokenizer.json": whole, SETTINGS: json.dumps(self.settings), **self.companions}
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8")

    @property
    def settings(self) -> dict[str, Any]:
        """tokenizer_config.json: the folder's own, or the minimum that sentence-transformers needs to load and pad."""
        if SETTINGS in self.companions:
            return dict(json.loads(self.companions[SETTINGS]))
        pad = next((word for word in ("[PAD]", "<pad>") if word in self.token_ids_by_name), None)
        return {"tokenizer_class": "PreTrainedTokenizerFast", **({"pad_token": pad} if pad else {})}

    @cached_property
    def engine(self) -> Engine:
        """What computes ids: the compiled library, else plain Python, else the extra `tokenizers`."""
        return _engine(self.description)

    @cached_property
    def described(self) -> Described:
        """The description as an object, which must not be modified."""
        return dict(json.loads(self.description))

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(self.described)

    @cached_property
    def vocabulary(self) -> int:
        """The vocabulary size: one more than the largest id."""
        return self._vocabulary.size

    @property
    def token_ids_by_name(self) -> Mapping[str, int]:
        return self._vocabulary.ids

    def id_to_token(self, i: int) -> str | None:
        """The token with this id; None if no token has it."""
        return self._vocabulary.names.get(i)

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        names, special = self._vocabulary.names, self._vocabulary.special if skip_special_tokens else ()
        with reading("the tokenizer's decoder"):
            return decoded([names[i] for i in ids if i in names and names[i] not in special], self.described["decoder"])

    @cached_property
    def max_content_length(self) -> int:
        """Maximum number of tokens of text, excluding special tokens."""
        return self.max_seq_length - len(self.prefix) - len(self.suffix)

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that a text's ids depend on, as JSON values, for a model's fingerprint."""
        unknown, content = None if self.unknown is None else asdict(self.unknown), self._content_digest
        return {"content": content, "length": self.max_seq_length, "lowercase": self.lowercase, "unknown": unknown}

    @cached_property
    def _content_digest(self) -> str:
        """The digest of the description, whatever the order of the keys in its file."""
        return hashlib.sha256(json.dumps(self.described, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each whole text as lists, without special tokens."""
        return self.encode(texts).lists()

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """The ids of each whole text, without special tokens."""
        if self.unknown is not None and self.unknown.buckets:
            return self._with_ngrams([self._clean(text) for text in texts], self.unknown)
        try:
            encoded = self.engine.encode([text.lower() for text in texts] if self.lowercase else texts)
        except UnicodeEncodeError:  # a lone surrogate, or a pair of them
            encoded = self.engine.encode([self._clean(text) for text in texts])
        if self.unknown is None:
            return encoded
        known = encoded.where(encoded.ids != self.unknown.id)
        return EncodedTexts(known.ids, known.lengths)

    def ids_and_spans(self, text: str) -> tuple[list[int], Spans]:
        """The ids of a whole text, as `token_ids` returns them, and the span of characters each was read from."""
        if self.unknown is not None and self.unknown.buckets:
            raise BadInput("this model represents unknown words by n-grams, which have no offsets into the text")
        cleaned = self._clean(text)
        encoded = self.engine.encode_with_spans(cleaned)
        spans = spans_in_original(text, cleaned, encoded.spans, self.lowercase)
        known = slice(None) if self.unknown is None else encoded.ids != self.unknown.id
        return encoded.ids[known].tolist(), spans[known]

    @cached_property
    def longest_word(self) -> int | None:
        """Maximum characters of a word that is split into word pieces; a longer one becomes one unknown token.

        None means no limit.
        """
        longest = self.described["model"].get("max_input_chars_per_word")
        return None if self.unknown is not None or longest is None else int(longest)

    def _clean(self, text: str) -> str:
        text = text.lower() if self.lowercase else text
        return text if text.isascii() else _valid_unicode(text)

    def with_special_tokens(self, content: Sequence[int]) -> list[int]:
        """The ids with special tokens around them; for a text without any known word, the unknown word's id."""
        if self.unknown is not None and not content:
            content = [self.unknown.id]
        return [*self.prefix, *content, *self.suffix]

    def framed(self, contents: Sequences) -> Sequences:
        """Apply `with_special_tokens` to many texts."""
        if self.unknown is not None and not contents.lengths.all():
            empty = contents.ends[contents.lengths == 0]
            contents = Sequences(np.insert(contents.ids, empty, self.unknown.id), np.maximum(contents.lengths, 1))
        return contents.between(self.prefix, self.suffix)

    @cached_property
    def pair(self) -> PairFrame:
        """The special tokens around two texts that are encoded as a pair."""
        with reading("the tokenizer's post-processor"):
            return PairFrame.of(self.described["post_processor"])

    def check(self, vocabulary: int) -> None:
        """Check that an encoder with this vocabulary size has vectors for special tokens and unknown words."""
        largest = max(*self.prefix, *self.suffix, 0 if self.unknown is None else self.unknown.largest, 0)
        if largest >= vocabulary:
            raise BadModel(
                f"the tokenizer uses ids up to {largest:,} for special tokens or unknown words, but the encoder has "
                f"vectors for only {vocabulary:,} ids: they belong to different models"
            )

    def first_out_of_vocabulary(self, contents: Sequences, vocabulary: int) -> tuple[int, str] | None:
        """The index of the first text with an id beyond an encoder's vocabulary size, and that id's token.

        None if all ids are within the vocabulary.
        """
        for place in np.flatnonzero(contents.ids >= vocabulary)[:1]:
            token = self.id_to_token(int(contents.ids[place])) or ""
            return int(np.searchsorted(contents.ends, place, "right")), token
        return None

    def tokens(self, content: Sequence[int]) -> list[str]:
        """The word pieces of a text, including special tokens; a word represented by its n-grams counts as one."""
        ids = self.with_special_tokens(content)
        if self.unknown is not None:
            ids = self.unknown.words(ids)
        return [self.id_to_token(i) or "" for i in ids]

    def words(self, text: str) -> tuple[list[str], list[int]]:
        """The words into which the tokenizer splits a text, and the index of the word of each token of `token_ids`.

        If the tokenizer does not split text into words, every token is a word. If unknown words are skipped or
        represented by n-grams, use `tokens`, since tokens are words.
        """
        cleaned = self._clean(text)
        encoded = self.engine.encode_with_spans(cleaned)
        offsets, keys = encoded.spans.tolist(), encoded.words.tolist()
        spans: dict[int, tuple[int, int]] = {}
        for key, (begin, end) in zip(keys, offsets, strict=True):
            spans[key] = spans.get(key, (begin, end))[0], end
        numbers = {key: i for i, key in enumerate(spans)}
        return [cleaned[begin:end].strip() for begin, end in spans.values()], [numbers[key] for key in keys]

    def _with_ngrams(self, texts: Sequence[str], unknown: UnknownWords) -> EncodedTexts:
        """The ids of texts, with each unknown word replaced by the ids of its n-grams."""
        rows = []
        for text in texts:
            encoded, row = self.engine.encode_with_spans(text), list[int]()
            for i, (begin, end) in zip(encoded.ids.tolist(), encoded.spans.tolist(), strict=True):
                row += [i] if i != unknown.id else unknown.spelled(normalize(text[begin:end], self._normalizer))
            rows.append(row)
        return EncodedTexts.of(rows)

    @cached_property
    def _normalizer(self) -> Any:
        return normalizer_of(self.described["normalizer"])

    def windows(self, content: Sequence[int], prompt: Sequence[int] = ()) -> list[list[int]]:
        """A long text as overlapping windows of equal length, spread evenly so that they cover every token.

        `prompt`, the ids of a prompt with which the text begins, is repeated at the start of each window.
        """
        if len(content) <= self.max_content_length:
            return [list(content)]
        prompt, body, width = list(prompt), list(content[len(prompt) :]), self.room_after(prompt)
        return [prompt + body[s : s + width] for s in window_starts(len(body), width, OVERLAP)]

    def room_after(self, prompt: Sequence[int]) -> int:
        """Maximum number of tokens of text in a window that begins with the ids of a prompt."""
        if len(prompt) >= self.max_content_length:
            raise BadInput(
                f"the prompt has {len(prompt)} tokens, and the model reads {self.max_content_length}: "
                "no room is left for text; expected a shorter prompt"
            )
        return self.max_content_length - len(prompt)


def window_starts(length: int, width: int, overlap: int) -> list[int]:
    """Starts of evenly spaced windows over a length; neighbours overlap by 1/`overlap` (½ or less) of the width."""
    if length <= width:
        return [0]
    stride = width - width // overlap
    count, last = -(-(length - width) // stride) + 1, length - width
    return [round(i * last / (count - 1)) for i in range(count)]


def max_input_length(requested: int | None, configured: int | None, limit: int) -> int:
    """Maximum tokens of an input: as requested, else as configured in the model's folder, else the encoder's limit."""
    if requested is not None:
        whole = isinstance(requested, Integral) and not isinstance(requested, bool)
        if not whole or not 1 <= requested <= limit:
            raise BadInput(f"max_seq_length is {requested!r}; this encoder reads 1 to {limit:,} tokens")
        return int(requested)
    return min(configured or limit, limit)


def truncate_longest_first(first: int, second: int, limit: int) -> tuple[int, int]:
    """How many tokens of two texts to keep so that they have at most `limit`: the longer text is truncated first.

    As in Hugging Face's tokenizers, the part of its half that the shorter text does not need goes to the longer one. If
    both need more than half, the odd token goes to the longer text (the second, if both have the same length).
    """
    if first + second <= limit:
        return first, second
    half, short = limit // 2, min(first, second)
    short = min(short, half)
    return (limit - short, short) if first > second else (short, limit - short)


@lru_cache(maxsize=4)
def _engine(description: str) -> Engine:
    try:
        return NativeTokenizer(description)
    except NativeUnavailable:
        with suppress(BadModel):
            return ReferenceTokenizer(description)
        return LibraryTokenizer(description, "without the compiled library, this model's tokenizer")
    except BadModel as error:
        with suppress(MissingExtra):
            return LibraryTokenizer(description, str(error))
        hint = f"Hugging Face's tokenizers library may support it: {install_hint('tokenizers')}"
        raise BadModel(f"the tokenizer cannot be read: {error}. {hint}") from None


def _companions(folder: Path) -> dict[str, str]:
    read_object(folder / SETTINGS)  # raises if it is not a JSON object, which other libraries expect
    names = (SETTINGS, "special_tokens_map.json")
    return {name: text for name in names if (text := read_text(folder / name)) is not None}


def _valid_unicode(text: str) -> str:
    """The text with surrogate pairs joined, and lone surrogates (which UTF-8 cannot encode) as U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def spans_in_original(text: str, cleaned: str, offsets: Sequence[Sequence[int]] | Spans, lowercase: bool) -> Spans:
    """Offsets into a cleaned text as offsets into the text itself.

    Cleaning lower-cases, which turns İ into two characters, and joins or replaces halves of surrogate pairs.
    """
    spans = np.asarray(offsets, np.int64).reshape(-1, 2)
    if len(text) == len(cleaned) and not any(_is_half(character) for character in text):
        return spans
    starts, stops = [], []  # for each cleaned character, the offset of its original
    place = 0
    while place < len(text):
        pair = _is_half(text[place]) and text[place] < "\udc00" <= text[place + 1 : place + 2] <= "\udfff"
        stop = place + (2 if pair else 1)
        size = len(text[place].lower()) if lowercase else 1
        starts += [place] * size
        stops += [stop] * size
        place = stop
    assert len(starts) == len(cleaned), "the text was cleaned in an unexpected way"
    first, last = spans.T
    where_starts, where_stops = np.asarray([*starts, len(text)]), np.asarray([0, *stops])
    return np.stack([where_starts[first], np.maximum(where_starts[first], where_stops[last])], axis=1)


def _is_half(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"
