"""Text to token ids through the model's own tokenizer.json, and what did not fit."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import tokenizers

from ..errors import BadInput, BadModel
from ..runtime.untrusted_files import bad_setting, boolean_setting, read_object, read_text, regular_file_exists
from .tokenizer_checks import check_steps, library_errors
from .unknown_words import FILE, UnknownWords

OVERLAP = 8  # neighbouring windows of a long text share a window's 8th part
LARGEST_FILE = 1 << 28
"""Bytes of a tokenizer's own files; the largest in use have an eighth of that."""


@dataclass(frozen=True)
class Tokenizer:
    """Texts to lists of ids, without ever cutting anything: lengths are the caller's business.

    `prefix` and `suffix` are the special tokens that the model wants around a text, `[CLS]` and `[SEP]` say, and
    `max_length` counts them in. `vocabulary` is one more than the largest id. `companions` are the texts of the
    small files that lie beside tokenizer.json. `unknown` says what becomes of words that the vocabulary lacks, in
    models that leave them out or spell them. No call changes any state, so threads may share one.
    """

    backend: tokenizers.Tokenizer
    max_length: int
    lowercase: bool
    vocabulary: int
    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    companions: Mapping[str, str]
    unknown: UnknownWords | None = None

    @classmethod
    def load(cls, folder: Path, max_length: int, lowercase: bool = False) -> "Tokenizer":
        backend = _backend(folder)
        check_steps(backend, f"the tokenizer in {folder}")
        backend.no_truncation()
        backend.no_padding()
        with library_errors(f"the tokenizer in {folder} cannot read the letter 'a'"):
            probe, bare = backend.encode("a"), backend.encode("a", add_special_tokens=False)
        inside = [i for i, special in enumerate(probe.special_tokens_mask) if not special]
        if not inside:
            raise BadModel(f"the tokenizer in {folder} makes no token of the letter 'a', so it cannot read text")
        prefix, suffix = probe.ids[: inside[0]], probe.ids[inside[-1] + 1 :]
        if probe.ids[inside[0] : inside[-1] + 1] != bare.ids:
            raise BadModel(f"the tokenizer in {folder} puts special tokens into a text, not around it")
        if max_length <= len(prefix) + len(suffix):
            raise BadModel(
                f"max_length is {max_length}, and {len(prefix) + len(suffix)} special tokens leave no room for text"
            )
        vocabulary = max(backend.get_vocab(with_added_tokens=True).values(), default=-1) + 1
        companions, unknown = _companions(folder, backend), UnknownWords.read(folder)
        return cls(backend, max_length, lowercase, vocabulary, tuple(prefix), tuple(suffix), companions, unknown)

    def save(self, folder: Path) -> None:
        """tokenizer.json and its companions."""
        try:
            self.backend.save(str(folder / "tokenizer.json"))
        except Exception as error:  # the library raises bare Exception, of a part that is written in Python say
            raise BadModel(f"the tokenizer of this model cannot be saved: {error}") from error
        for name, text in self.companions.items():
            (folder / name).write_text(text, "utf-8")
        self._check_saved(folder)

    def _check_saved(self, folder: Path) -> None:
        """Refuses a tokenizer that a folder would give back as another: of two tokens of one id, only one is written.

        Raises:
            BadModel: it is one.
        """
        try:
            again = Tokenizer.load(folder, self.max_length, self.lowercase)
            same = again.backend.get_vocab(with_added_tokens=True) == self.backend.get_vocab(with_added_tokens=True)
            why = "" if same else "it would have other tokens when it is loaded again; two may have one id"
        except BadModel as error:
            why = f"it would not be loaded again: {error}"
        if why:
            raise BadModel(f"the tokenizer of this model cannot be saved: {why}")

    @property
    def room(self) -> int:
        """Tokens of text that fit beside the special ones."""
        return self.max_length - len(self.prefix) - len(self.suffix)

    def contents(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, whole, without special tokens."""
        clean = [self._clean(text) for text in texts]
        with library_errors("the model's tokenizer gave up on these texts"):
            return self._encoded(clean)

    def _encoded(self, clean: list[str]) -> list[list[int]]:
        if self.unknown is not None and self.unknown.buckets:
            encoded = self.backend.encode_batch(clean, add_special_tokens=False)
            return [self._spelled(text, e, self.unknown) for text, e in zip(clean, encoded, strict=True)]
        found: list[list[int]] = [e.ids for e in self.backend.encode_batch_fast(clean, add_special_tokens=False)]
        if self.unknown is None:
            return found
        skipped = self.unknown.id
        return [[i for i in ids if i != skipped] for ids in found]

    @cached_property
    def longest_word(self) -> int | None:
        """Characters of the longest word that is split into pieces; a longer one is one unknown token. None: any."""
        model = self.backend.model
        if self.unknown is not None or not isinstance(model, tokenizers.models.WordPiece):
            return None
        return int(model.max_input_chars_per_word)

    def unread(self, texts: Sequence[str], contents: Sequence[Sequence[int]]) -> dict[int, list[tuple[int, int]]]:
        """Words that are too long to be read, by the text's number: each word's place among the tokens and its length.

        `contents` are the ids of `texts`; only texts with the unknown token among them are looked at again.
        """
        if self.longest_word is None:
            return {}
        unknown = self.backend.token_to_id(self.backend.model.unk_token)
        looked = ((i, self._long_words(texts[i], unknown)) for i, ids in enumerate(contents) if unknown in ids)
        return {i: words for i, words in looked if words}

    def _long_words(self, text: str, unknown: int | None) -> list[tuple[int, int]]:
        """The place and the characters of each word of more than `longest_word`, as the tokenizer itself finds them."""
        limit, clean = self.longest_word or 0, self._clean(text)
        run = re.compile(rf"[^ \t\n\r]{{{limit + 1}}}")  # without one there is no such word; normalising may make it
        if not run.search(clean) and not run.search(self._normal(clean)):
            return []
        encoded = self.backend.encode(clean, add_special_tokens=False)
        spans = [
            (place, begin, end)
            for place, (i, (begin, end)) in enumerate(zip(encoded.ids, encoded.offsets, strict=True))
            if i == unknown
        ]
        lengths = ((place, len(self._normal(clean[begin:end]))) for place, begin, end in spans)
        return [(place, length) for place, length in lengths if length > limit]

    def _clean(self, text: str) -> str:
        """The text as the tokenizer is given it."""
        text = text.lower() if self.lowercase else text
        return text if text.isascii() else _scalar(text)

    def _normal(self, text: str) -> str:
        """A piece of text as the tokenizer's normaliser leaves it."""
        normal = self.backend.normalizer
        return str(normal.normalize_str(text)) if normal else text

    def framed(self, content: Sequence[int]) -> list[int]:
        """Ids with the special tokens around them; of a text without a known word, the unknown word's."""
        if self.unknown is not None and not content:
            content = [self.unknown.id]
        return [*self.prefix, *content, *self.suffix]

    @cached_property
    def pair(self) -> "PairFrame":
        """What stands around two texts that are read together."""
        return PairFrame.of(self.backend)

    def check(self, vocabulary: int) -> None:
        """An error where an encoder of this vocabulary has no vectors for special tokens or unknown words."""
        specials = (*self.prefix, *self.suffix)
        if max(specials, default=0) >= vocabulary:
            raise BadModel(
                f"the tokenizer puts the ids {specials} around every text, and the encoder has vectors for "
                f"{vocabulary:,} ids: they are of different models"
            )
        if self.unknown is not None and self.unknown.largest >= vocabulary:
            raise BadModel(
                f"the tokenizer gives unknown words ids up to {self.unknown.largest:,}, and the encoder has vectors "
                f"for {vocabulary:,} ids: they are of different models"
            )

    def strange(self, contents: Sequence[Sequence[int]], vocabulary: int) -> tuple[int, str] | None:
        """The first of the contents with an id that an encoder of this vocabulary has no vector for, and its token."""
        if self.vocabulary > vocabulary:  # only some tokenizers can give such an id at all
            for i, content in enumerate(contents):
                if content and max(content) >= vocabulary:
                    return i, self.backend.id_to_token(max(content)) or ""
        return None

    def tokens(self, content: Sequence[int]) -> list[str]:
        """The word pieces behind framed ids; a word spelled by n-grams is one."""
        ids = self.framed(content)
        if self.unknown is not None:
            ids = self.unknown.words(ids)
        return [self.backend.id_to_token(i) or "" for i in ids]

    def _spelled(self, text: str, encoded: tokenizers.Encoding, unknown: UnknownWords) -> list[int]:
        """The ids of one text, with those of n-grams in the places of words that the vocabulary lacks."""
        found: list[int] = []
        for i, (begin, end) in zip(encoded.ids, encoded.offsets, strict=True):
            if i != unknown.id:
                found.append(i)
                continue
            found += unknown.spelled(self._normal(text[begin:end]))
        return found

    def windows(self, content: Sequence[int], lead: Sequence[int] = ()) -> list[list[int]]:
        """A long text as overlapping windows of equal length, evenly spread so that every token is in one.

        `lead`, the ids of a prompt with which the text begins, stands before each window.
        """
        if len(content) <= self.room:
            return [list(content)]
        lead = list(lead)
        body, room = list(content[len(lead) :]), self.room - len(lead)
        if room < 1:
            raise BadInput(f"the prompt takes {len(lead)} tokens of {self.room} and leaves no room for text")
        stride = max(1, room - room // OVERLAP)
        count = -(-(len(body) - room) // stride) + 1
        last = len(body) - room
        starts = [round(i * last / (count - 1)) for i in range(count)] if count > 1 else [0]
        return [lead + body[s : s + room] for s in starts]


@dataclass(frozen=True)
class PairFrame:
    """The special tokens before, between and behind two texts read together, and the segment of every part."""

    prefix: tuple[int, ...]
    middle: tuple[int, ...]
    suffix: tuple[int, ...]
    segments: tuple[int, int, int, int, int]  # of prefix, first text, middle, second text, suffix

    @classmethod
    def of(cls, backend: tokenizers.Tokenizer) -> "PairFrame":
        """As the tokenizer's own post-processor frames them."""
        with library_errors("the model's tokenizer cannot read two texts"):
            probe = backend.encode("a", "a")
        first, second = ([i for i, text in enumerate(probe.sequence_ids) if text == side] for side in (0, 1))
        parts = (slice(first[0]), slice(first[-1] + 1, second[0]), slice(second[-1] + 1, None))
        prefix, middle, suffix = (tuple(probe.ids[part]) for part in parts)
        if not middle:
            raise BadModel(
                "the tokenizer puts nothing between two texts, so a model cannot tell where the first ends; its "
                "post_processor in tokenizer.json wants a template for a pair ([CLS] A [SEP] B [SEP], say)"
            )
        kinds = probe.type_ids
        ends = (kinds[0], kinds[first[0]], kinds[first[-1] + 1], kinds[second[0]], kinds[-1])
        return cls(prefix, middle, suffix, ends)

    @property
    def specials(self) -> int:
        """How many special tokens there are."""
        return len(self.prefix) + len(self.middle) + len(self.suffix)

    def ids(self, first: Sequence[int], second: Sequence[int]) -> list[int]:
        """Two texts and what stands around them."""
        return [*self.prefix, *first, *self.middle, *second, *self.suffix]

    def kinds(self, first: int, second: int) -> list[int]:
        """The segment of every token of two texts of so many tokens."""
        sizes = (len(self.prefix), first, len(self.middle), second, len(self.suffix))
        return [kind for kind, size in zip(self.segments, sizes, strict=True) for _ in range(size)]


def max_input_length(asked: int | None, told: int | None, most: int) -> int:
    """Tokens of the longest input: as asked for, or as the model's folder tells, or as many as its encoder can read."""
    if asked is not None and (not isinstance(asked, int) or not 1 <= asked <= most):
        raise BadInput(f"max_length is {asked!r}; wanted 1 to {most:,} tokens, which this encoder can read")
    return min(asked or told or most, most)


def truncate_longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """How many tokens of two texts are kept so that both fit into `room`: the longer one gives first.

    As Hugging Face's tokenizers do it: what the shorter one leaves of its half goes to the longer, and of two halves
    the text that is longer (the second, where they are alike) has the odd token.
    """
    if first + second <= room:
        return first, second
    half, short = room // 2, min(first, second)
    short = min(short, half)
    return (room - short, short) if first > second else (short, room - short)


def _companions(folder: Path, backend: tokenizers.Tokenizer) -> dict[str, str]:
    """The folder's own files, or the little without which sentence-transformers does not load and pad."""
    names = ("tokenizer_config.json", "special_tokens_map.json", FILE)
    read_object(folder / names[0])  # a JSON object, since others read it
    found = {name: text for name in names if (text := read_text(folder / name)) is not None}
    pad = next((word for word in ("[PAD]", "<pad>") if backend.token_to_id(word) is not None), None)
    least = {"tokenizer_class": "PreTrainedTokenizerFast", **({"pad_token": pad} if pad else {})}
    return {names[0]: json.dumps(least), **found}


def _scalar(text: str) -> str:
    """The text with surrogate pairs joined, and lone surrogates (which no UTF-8 can hold) as U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _backend(folder: Path) -> tokenizers.Tokenizer:
    """tokenizer.json, or the older vocab.txt (WordPiece) or vocab.json with merges.txt (byte-level BPE)."""
    whole, words, pairs = folder / "tokenizer.json", folder / "vocab.txt", folder / "vocab.json"
    with library_errors(f"the tokenizer in {folder} cannot be read"):
        if regular_file_exists(whole, LARGEST_FILE):
            return tokenizers.Tokenizer.from_file(str(whole))
        if regular_file_exists(words, LARGEST_FILE):
            return _wordpiece(folder, words)
        if regular_file_exists(pairs, LARGEST_FILE) and regular_file_exists(folder / "merges.txt", LARGEST_FILE):
            return _byte_pairs(pairs, folder / "merges.txt")
    hint = " (a SentencePiece model is there: save it once as tokenizer.json with transformers' fast tokenizer)"
    found = hint if list(folder.glob("*.model")) else ""
    raise BadModel(f"{folder} holds no tokenizer.json, vocab.txt, or vocab.json with merges.txt{found}")


def _wordpiece(folder: Path, vocabulary: Path) -> tokenizers.Tokenizer:
    settings = folder / "tokenizer_config.json"
    options = read_object(settings)
    text = read_text(vocabulary, LARGEST_FILE) or ""
    words = [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]
    classes = ("[CLS]", "[SEP]") if "[CLS]" in words else ("<s>", "</s>")
    if not {*classes, "[UNK]"} <= set(words):
        raise BadModel(f"{vocabulary} lacks {classes[0]}, {classes[1]} or [UNK]")
    lowercase, accents = boolean_setting(options, "do_lower_case", True, settings), options.get("strip_accents")
    made = tokenizers.BertWordPieceTokenizer(
        vocab={w: i for i, w in enumerate(words)},
        lowercase=lowercase,
        strip_accents=None if accents is None else boolean_setting(options, "strip_accents", lowercase, settings),
        handle_chinese_chars=boolean_setting(options, "tokenize_chinese_chars", True, settings),
        cls_token=classes[0],
        sep_token=classes[1],
    )
    backend: tokenizers.Tokenizer = made._tokenizer
    _add_tokens(backend, folder / "added_tokens.json")
    return backend


def _add_tokens(backend: tokenizers.Tokenizer, path: Path) -> None:
    """The tokens that an older folder keeps beside its vocabulary, under the ids that they have there."""
    added = read_object(path)
    for token, i in added.items():
        if isinstance(i, bool) or not isinstance(i, int):
            raise bad_setting(path, token, i, "the token's id")
    backend.add_tokens(sorted(added, key=lambda token: added[token]))
    others = [token for token, i in added.items() if backend.token_to_id(token) != i]
    if others:
        raise BadModel(f"{path} gives {others[0]!r} the id {added[others[0]]}, which is not the next one that is free")


def _byte_pairs(vocabulary: Path, merges: Path) -> tokenizers.Tokenizer:
    made = tokenizers.ByteLevelBPETokenizer(str(vocabulary), str(merges))
    begin, end = made.token_to_id("<s>"), made.token_to_id("</s>")
    if begin is None or end is None:
        raise BadModel(f"{vocabulary} lacks <s> or </s>")
    backend: tokenizers.Tokenizer = made._tokenizer
    backend.post_processor = tokenizers.processors.RobertaProcessing(
        ("</s>", end), ("<s>", begin), add_prefix_space=False
    )
    return backend
