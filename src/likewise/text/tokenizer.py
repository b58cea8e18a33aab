"""Text to token ids through the model's own tokenizer.json, without truncation."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from jaxtyping import Int

from ..errors import BadInput, BadModel, NativeUnavailable
from ..native.tokenizing import NativeTokenizer
from ..runtime.untrusted_files import bad_setting, boolean_setting, read_object, read_text, regular_file_exists
from .tokenizer_checks import check_steps, library_errors, raise_library_error
from .unknown_words import FILE, UnknownWords

SETTINGS = "tokenizer_config.json"
Spans = Int[np.ndarray, "T 2"]  # start and stop of every token, in characters
OVERLAP = 8  # neighbouring windows of a long text overlap by an 8th
MAX_FILE_SIZE = 1 << 28  # maximum bytes of a tokenizer's files; the largest in use have an eighth of that


@dataclass(frozen=True)
class Tokenizer:
    """Texts to lists of ids, never truncated: the caller handles lengths.

    `prefix` and `suffix` are the special tokens that the model requires around a text, such as `[CLS]` and `[SEP]`;
    `max_seq_length` includes them. `vocabulary` is one more than the largest id. `companions` are the contents of the
    small files next to tokenizer.json. `unknown` describes how models of word vectors
    handle out-of-vocabulary words. No call changes any state, so threads may share one tokenizer.
    """

    backend: tokenizers.Tokenizer
    max_seq_length: int
    lowercase: bool
    vocabulary: int
    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    companions: Mapping[str, str]
    unknown: UnknownWords | None = None

    @classmethod
    def load(cls, folder: Path, max_seq_length: int, lowercase: bool = False) -> "Tokenizer":
        backend = _backend(folder)
        check_steps(backend, f"the tokenizer in {folder}")
        backend.no_truncation()
        backend.no_padding()
        with library_errors(f"the tokenizer in {folder} cannot read the letter 'a'"):
            probe, bare = backend.encode("a"), backend.encode("a", add_special_tokens=False)
        inside = [i for i, special in enumerate(probe.special_tokens_mask) if not special]
        if not inside:
            raise BadModel(f"the tokenizer in {folder} gives no token for the letter 'a', so it cannot read text")
        prefix, suffix = probe.ids[: inside[0]], probe.ids[inside[-1] + 1 :]
        if probe.ids[inside[0] : inside[-1] + 1] != bare.ids:
            raise BadModel(
                f"the tokenizer in {folder} inserts special tokens into a text; expected them around it only"
            )
        unknown = UnknownWords.read(folder)
        if unknown is not None:  # a mean of word or token vectors has no place for special tokens
            prefix, suffix = [], []
        specials = len(prefix) + len(suffix)
        if max_seq_length <= specials:
            raise BadModel(f"max_seq_length is {max_seq_length}, but {specials} special tokens leave no room for text")
        vocabulary = max(backend.get_vocab().values(), default=-1) + 1
        companions = _companions(folder) | ({} if unknown is None else {FILE: json.dumps(asdict(unknown))})
        return cls(backend, max_seq_length, lowercase, vocabulary, tuple(prefix), tuple(suffix), companions, unknown)

    def save(self, folder: Path) -> None:
        """Write tokenizer.json and its companions."""
        try:
            self.backend.save(str(folder / "tokenizer.json"))
        except Exception as error:  # the library raises bare Exception, e.g. for a component written in Python
            raise BadModel(f"the tokenizer of this model cannot be saved: {error}") from error
        for name, text in {SETTINGS: json.dumps(self.settings), **self.companions}.items():
            (folder / name).write_text(text, "utf-8")
        self._check_saved(folder)

    @property
    def settings(self) -> dict[str, Any]:
        """tokenizer_config.json: the folder's own, or the minimum that sentence-transformers needs to load and pad."""
        if SETTINGS in self.companions:
            return dict(json.loads(self.companions[SETTINGS]))
        pad = next((word for word in ("[PAD]", "<pad>") if self.backend.token_to_id(word) is not None), None)
        return {"tokenizer_class": "PreTrainedTokenizerFast", **({"pad_token": pad} if pad else {})}

    def _check_saved(self, folder: Path) -> None:
        """Reject a tokenizer that would not survive saving: if two tokens share an id, only one is written."""
        try:
            again = Tokenizer.load(folder, self.max_seq_length, self.lowercase)
            same = again.backend.get_vocab() == self.backend.get_vocab()
            why = "" if same else "it would be loaded with different tokens; two may share an id"
        except BadModel as error:
            why = f"it would not be loaded again: {error}"
        if why:
            raise BadModel(f"the tokenizer of this model cannot be saved: {why}")

    @cached_property
    def max_content_length(self) -> int:
        """Maximum number of tokens of text, special tokens not counted."""
        return self.max_seq_length - len(self.prefix) - len(self.suffix)

    @cached_property
    def native(self) -> NativeTokenizer | None:
        """The same tokenizer in the compiled library; None if that lacks a part of it, or was not built."""
        return _native(self.backend.to_str())

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each whole text, without special tokens."""
        cleaned = [self._clean(text) for text in texts] if self.lowercase or not "".join(texts).isascii() else texts
        try:
            if self.unknown is not None and self.unknown.buckets:
                encoded = self.backend.encode_batch(cleaned, add_special_tokens=False)
                return [self._with_ngrams(text, e, self.unknown) for text, e in zip(cleaned, encoded, strict=True)]
            if self.native is not None:
                ids = self.native.encode(cleaned).lists()
            else:
                ids = list(map(attrgetter("ids"), self.backend.encode_batch_fast(cleaned, add_special_tokens=False)))
        except BaseException as error:  # the library's panics are not Exceptions
            raise_library_error(error, "the model's tokenizer failed on these texts")
        if self.unknown is None:
            return ids
        skipped = self.unknown.id
        return [[i for i in content if i != skipped] for content in ids]

    def ids_and_spans(self, text: str) -> tuple[list[int], Spans]:
        """The ids of a whole text as `token_ids` gives them, and the characters that each was read from."""
        if self.unknown is not None and self.unknown.buckets:
            raise BadInput("this model spells unknown words by n-grams, which have no offsets into the text")
        cleaned = self._clean(text)
        ids, offsets, _ = self._encode_one(cleaned)
        spans = spans_in_original(text, cleaned, offsets, self.lowercase)
        if self.unknown is None:
            return ids, spans
        known = [position for position, i in enumerate(ids) if i != self.unknown.id]
        return [ids[position] for position in known], spans[known]

    def _encode_one(self, cleaned: str) -> tuple[list[int], Sequence[Sequence[int]], list[int]]:
        """The ids of a text, the characters that each was read from, and the number of its word."""
        if self.native is not None:
            found = self.native.encode_with_spans(cleaned)
            return found.ids.tolist(), found.spans.tolist(), found.words.tolist()
        with library_errors("the model's tokenizer failed on this text"):
            (encoded,) = self.backend.encode_batch([cleaned], add_special_tokens=False)  # `encode` holds the GIL
        return (
            encoded.ids,
            encoded.offsets,
            [-1 - i if word is None else word for i, word in enumerate(encoded.word_ids)],
        )

    @cached_property
    def longest_word(self) -> int | None:
        """Maximum characters of a word that is split into word pieces; a longer one is one unknown token. None: any."""
        model = self.backend.model
        if self.unknown is not None or not isinstance(model, tokenizers.models.WordPiece):
            return None
        return int(model.max_input_chars_per_word)

    def overlong_words(
        self, texts: Sequence[str], contents: Sequence[Sequence[int]]
    ) -> dict[int, list[tuple[int, int]]]:
        """Words that are too long for the tokenizer, by text index: the position of each word's token, and its length.

        `contents` are the ids of `texts`; only texts that contain the unknown token are tokenized again.
        """
        if self.longest_word is None:
            return {}
        unknown, limit = self.backend.token_to_id(self.backend.model.unk_token), self.longest_word
        rows = [i for i, ids in enumerate(contents) if unknown in ids]
        if self.native is None:
            return {i: words for i in rows if (words := self._long_words(texts[i], unknown, limit))}
        found: dict[int, list[tuple[int, int]]] = {}
        encoded = self.native.encode([self._clean(texts[i]) for i in rows])
        for row, position, length in encoded.long_words.tolist():
            found.setdefault(rows[row], []).append((position, length))
        return found

    def _long_words(self, text: str, unknown: int | None, limit: int) -> list[tuple[int, int]]:
        cleaned = self._clean(text)
        run = re.compile(rf"[^ \t\n\r]{{{limit + 1}}}")  # necessary for such a word, before or after normalization
        if not run.search(cleaned) and not run.search(self._normalized(cleaned)):
            return []
        (encoded,) = self.backend.encode_batch([cleaned], add_special_tokens=False)  # `encode` holds the GIL
        # not `encoded.offsets`, which builds a list of all offsets, again under the GIL
        spans = ((position, encoded.token_to_chars(position)) for position, i in enumerate(encoded.ids) if i == unknown)
        lengths = ((position, len(self._normalized(cleaned[slice(*span)]))) for position, span in spans if span)
        return [(position, length) for position, length in lengths if length > limit]

    def _clean(self, text: str) -> str:
        text = text.lower() if self.lowercase else text
        return text if text.isascii() else _valid_unicode(text)

    def _normalized(self, text: str) -> str:
        normalizer = self.backend.normalizer
        return str(normalizer.normalize_str(text)) if normalizer else text

    def with_special_tokens(self, content: Sequence[int]) -> list[int]:
        """The ids with special tokens around them; for a text without any known word, the unknown word's id."""
        if self.unknown is not None and not content:
            content = [self.unknown.id]
        return [*self.prefix, *content, *self.suffix]

    @cached_property
    def pair(self) -> "PairFrame":
        """The special tokens around two texts that are encoded as a pair."""
        return PairFrame.of(self.backend)

    def check(self, vocabulary: int) -> None:
        """Check that an encoder with this vocabulary size has vectors for special tokens and unknown words."""
        specials = (*self.prefix, *self.suffix)
        if max(specials, default=0) >= vocabulary:
            raise BadModel(
                f"the tokenizer adds the ids {specials} to every text, but the encoder has vectors for {vocabulary:,} "
                "ids only: they belong to different models"
            )
        if self.unknown is not None and self.unknown.largest >= vocabulary:
            raise BadModel(
                f"the tokenizer gives unknown words ids up to {self.unknown.largest:,}, but the encoder has vectors "
                f"for {vocabulary:,} ids only: they belong to different models"
            )

    def first_out_of_vocabulary(self, contents: Sequence[Sequence[int]], vocabulary: int) -> tuple[int, str] | None:
        """Index and token of the first text with an id beyond an encoder's vocabulary size; None if there is none."""
        for i, content in enumerate(contents if self.vocabulary > vocabulary else ()):
            if content and max(content) >= vocabulary:
                return i, self.backend.id_to_token(max(content)) or ""
        return None

    def tokens(self, content: Sequence[int]) -> list[str]:
        """The word pieces of a text, special tokens included; a word represented by its n-grams is one."""
        ids = self.with_special_tokens(content)
        if self.unknown is not None:
            ids = self.unknown.words(ids)
        return [self.backend.id_to_token(i) or "" for i in ids]

    def words(self, text: str) -> tuple[list[str], list[int]]:
        """The words of a text, as the tokenizer splits it, and the word that each token of `token_ids` belongs to.

        If the tokenizer does not split text into words, every token is a word. If unknown words are skipped or spelled
        by n-grams, tokens are words: `tokens` names them.
        """
        cleaned = self._clean(text)
        _, offsets, keys = self._encode_one(cleaned)
        spans: dict[int, tuple[int, int]] = {}
        for key, (begin, end) in zip(keys, offsets, strict=True):
            spans[key] = spans.get(key, (begin, end))[0], end
        numbers = {key: i for i, key in enumerate(spans)}
        return [cleaned[begin:end].strip() for begin, end in spans.values()], [numbers[key] for key in keys]

    def _with_ngrams(self, text: str, encoded: tokenizers.Encoding, unknown: UnknownWords) -> list[int]:
        ids: list[int] = []
        for i, (begin, end) in zip(encoded.ids, encoded.offsets, strict=True):
            if i != unknown.id:
                ids.append(i)
                continue
            ids += unknown.spelled(self._normalized(text[begin:end]))
        return ids

    def windows(self, content: Sequence[int], prompt: Sequence[int] = ()) -> list[list[int]]:
        """A long text as overlapping windows of equal length, evenly spread so that every token is in one.

        `prompt`, the ids of a prompt with which the text begins, is repeated at the start of each window.
        """
        if len(content) <= self.max_content_length:
            return [list(content)]
        prompt = list(prompt)
        body, width = list(content[len(prompt) :]), self.max_content_length - len(prompt)
        if width < 1:
            raise BadInput(
                f"the prompt has {len(prompt)} tokens, and the model reads {self.max_content_length}: "
                "no room is left for text"
            )
        return [prompt + body[s : s + width] for s in window_starts(len(body), width, OVERLAP)]


def window_starts(length: int, width: int, overlap: int) -> list[int]:
    """Starts of evenly spaced windows over a length; neighbours overlap by at least 1/`overlap` of the width."""
    if length <= width:
        return [0]
    stride = max(1, width - width // overlap)
    count, last = -(-(length - width) // stride) + 1, length - width
    return [round(i * last / (count - 1)) for i in range(count)]


@dataclass(frozen=True)
class PairFrame:
    """The special tokens before, between and after two texts encoded as a pair, and the segment of every part."""

    prefix: tuple[int, ...]
    middle: tuple[int, ...]
    suffix: tuple[int, ...]
    segments: tuple[int, int, int, int, int]  # of prefix, first text, middle, second text, suffix

    @classmethod
    def of(cls, backend: tokenizers.Tokenizer) -> "PairFrame":
        """The frame that the tokenizer's own post-processor gives a pair."""
        with library_errors("the model's tokenizer cannot read two texts"):
            probe = backend.encode("a", "a")
        first, second = ([i for i, text in enumerate(probe.sequence_ids) if text == side] for side in (0, 1))
        parts = (slice(first[0]), slice(first[-1] + 1, second[0]), slice(second[-1] + 1, None))
        prefix, middle, suffix = (tuple(probe.ids[part]) for part in parts)
        if not middle:
            raise BadModel(
                "the tokenizer adds no token between two texts, so a model cannot tell where the first ends; its "
                "post_processor in tokenizer.json needs a template for a pair, such as [CLS] A [SEP] B [SEP]"
            )
        kinds = probe.type_ids
        ends = (kinds[0], kinds[first[0]], kinds[first[-1] + 1], kinds[second[0]], kinds[-1])
        return cls(prefix, middle, suffix, ends)

    @property
    def specials(self) -> int:
        """The number of special tokens of a pair."""
        return len(self.prefix) + len(self.middle) + len(self.suffix)

    def ids(self, first: Sequence[int], second: Sequence[int]) -> list[int]:
        """The ids of two texts with special tokens before, between and after them."""
        return [*self.prefix, *first, *self.middle, *second, *self.suffix]

    def kinds(self, first: int, second: int) -> list[int]:
        """The segment of every token of a pair whose texts have these numbers of tokens."""
        sizes = (len(self.prefix), first, len(self.middle), second, len(self.suffix))
        return [kind for kind, size in zip(self.segments, sizes, strict=True) for _ in range(size)]


def max_input_length(requested: int | None, configured: int | None, limit: int) -> int:
    """Maximum tokens of an input: as requested, else as configured in the model's folder, else the encoder's limit."""
    if requested is not None and (not isinstance(requested, int) or not 1 <= requested <= limit):
        raise BadInput(f"max_seq_length is {requested!r}; this encoder reads 1 to {limit:,} tokens")
    return min(requested or configured or limit, limit)


def truncate_longest_first(first: int, second: int, limit: int) -> tuple[int, int]:
    """How many tokens of two texts to keep so that they have at most `limit`: the longer text is truncated first.

    As in Hugging Face's tokenizers, what the shorter text leaves of its half goes to the longer one; otherwise the
    longer text (the second, if both have the same length) gets the odd token.
    """
    if first + second <= limit:
        return first, second
    half, short = limit // 2, min(first, second)
    short = min(short, half)
    return (limit - short, short) if first > second else (short, limit - short)


@lru_cache(maxsize=4)
def _native(description: str) -> NativeTokenizer | None:
    try:
        return NativeTokenizer(description)
    except (BadModel, NativeUnavailable):
        return None


def _companions(folder: Path) -> dict[str, str]:
    read_object(folder / SETTINGS)  # raises if it is not a JSON object, which other libraries expect
    names = (SETTINGS, "special_tokens_map.json")
    return {name: text for name in names if (text := read_text(folder / name)) is not None}


def _valid_unicode(text: str) -> str:
    """The text with surrogate pairs joined, and lone surrogates (which UTF-8 cannot encode) as U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _backend(folder: Path) -> tokenizers.Tokenizer:
    """tokenizer.json, or the older vocab.txt (WordPiece) or vocab.json with merges.txt (byte-level BPE)."""
    whole, words, pairs = folder / "tokenizer.json", folder / "vocab.txt", folder / "vocab.json"
    with library_errors(f"the tokenizer in {folder} cannot be read"):
        if regular_file_exists(whole, MAX_FILE_SIZE):
            return tokenizers.Tokenizer.from_file(str(whole))
        if regular_file_exists(words, MAX_FILE_SIZE):
            return _wordpiece(folder, words)
        if regular_file_exists(pairs, MAX_FILE_SIZE) and regular_file_exists(folder / "merges.txt", MAX_FILE_SIZE):
            return _byte_pairs(pairs, folder / "merges.txt")
    sentencepiece = " (it has a SentencePiece model: save it as tokenizer.json once, with transformers' fast tokenizer)"
    hint = sentencepiece if list(folder.glob("*.model")) else ""
    raise BadModel(f"{folder} has no tokenizer.json, vocab.txt, or vocab.json with merges.txt{hint}")


def _wordpiece(folder: Path, vocabulary: Path) -> tokenizers.Tokenizer:
    settings = folder / "tokenizer_config.json"
    options = read_object(settings)
    text = read_text(vocabulary, MAX_FILE_SIZE) or ""
    words = [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]
    classes = ("[CLS]", "[SEP]") if "[CLS]" in words else ("<s>", "</s>")
    if not {*classes, "[UNK]"} <= set(words):
        raise BadModel(f"{vocabulary} lacks {classes[0]}, {classes[1]} or [UNK]")
    lowercase, accents = boolean_setting(options, "do_lower_case", True, settings), options.get("strip_accents")
    wordpiece = tokenizers.BertWordPieceTokenizer(
        vocab={w: i for i, w in enumerate(words)},
        lowercase=lowercase,
        strip_accents=None if accents is None else boolean_setting(options, "strip_accents", lowercase, settings),
        handle_chinese_chars=boolean_setting(options, "tokenize_chinese_chars", True, settings),
        cls_token=classes[0],
        sep_token=classes[1],
    )
    backend: tokenizers.Tokenizer = wordpiece._tokenizer
    _add_tokens(backend, folder / "added_tokens.json")
    return backend


def _add_tokens(backend: tokenizers.Tokenizer, path: Path) -> None:
    added = read_object(path)
    for token, i in added.items():
        if isinstance(i, bool) or not isinstance(i, int):
            raise bad_setting(path, token, i, "the token's id")
    backend.add_tokens(sorted(added, key=lambda token: added[token]))
    others = [token for token, i in added.items() if backend.token_to_id(token) != i]
    if others:
        raise BadModel(f"{path} gives {others[0]!r} the id {added[others[0]]}, which is not the next free id")


def _byte_pairs(vocabulary: Path, merges: Path) -> tokenizers.Tokenizer:
    byte_pairs = tokenizers.ByteLevelBPETokenizer(str(vocabulary), str(merges))
    begin, end = byte_pairs.token_to_id("<s>"), byte_pairs.token_to_id("</s>")
    if begin is None or end is None:
        raise BadModel(f"{vocabulary} lacks <s> or </s>")
    backend: tokenizers.Tokenizer = byte_pairs._tokenizer
    backend.post_processor = tokenizers.processors.RobertaProcessing(
        ("</s>", end), ("<s>", begin), add_prefix_space=False
    )
    return backend


def spans_in_original(text: str, cleaned: str, offsets: Sequence[Sequence[int]], lowercase: bool) -> Spans:
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
