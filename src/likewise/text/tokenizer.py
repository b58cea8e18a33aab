"""Text to token ids through the model's own tokenizer.json, and what did not fit."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import tokenizers

from ..errors import BadInput, BadModel

OVERLAP = 8  # neighbouring windows of a long text share a window's 8th part


@dataclass(frozen=True)
class Tokenizer:
    """Texts to lists of ids, without ever cutting anything: lengths are the caller's business.

    `prefix` and `suffix` are the special tokens that the model wants around a text, `[CLS]` and `[SEP]` say, and
    `max_length` counts them in. `vocabulary` is one more than the largest id. `companions` are the texts of the
    small files that other libraries want beside tokenizer.json. No call changes any state, so threads may share one.
    """

    backend: tokenizers.Tokenizer
    max_length: int
    lowercase: bool
    vocabulary: int
    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    companions: Mapping[str, str]

    @classmethod
    def load(cls, folder: Path, max_length: int, lowercase: bool = False) -> "Tokenizer":
        backend = _backend(folder)
        backend.no_truncation()
        backend.no_padding()
        probe = backend.encode("a")
        inside = [i for i, special in enumerate(probe.special_tokens_mask) if not special]
        if not inside:
            raise BadModel(f"the tokenizer in {folder} makes no token of the letter 'a', so it cannot read text")
        prefix, suffix = probe.ids[: inside[0]], probe.ids[inside[-1] + 1 :]
        if max_length <= len(prefix) + len(suffix):
            raise BadModel(
                f"max_length is {max_length}, and {len(prefix) + len(suffix)} special tokens leave no room for text"
            )
        vocabulary = max(backend.get_vocab(with_added_tokens=True).values(), default=-1) + 1
        return cls(
            backend, max_length, lowercase, vocabulary, tuple(prefix), tuple(suffix), _companions(folder, backend)
        )

    def save(self, folder: Path) -> None:
        """tokenizer.json and its companions."""
        self.backend.save(str(folder / "tokenizer.json"))
        for name, text in self.companions.items():
            (folder / name).write_text(text, "utf-8")

    @property
    def room(self) -> int:
        """Tokens of text that fit beside the special ones."""
        return self.max_length - len(self.prefix) - len(self.suffix)

    def contents(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, whole, without special tokens."""
        if self.lowercase:
            texts = [text.lower() for text in texts]
        clean = [text if text.isascii() else _scalar(text) for text in texts]
        return [e.ids for e in self.backend.encode_batch_fast(clean, add_special_tokens=False)]

    def framed(self, content: Sequence[int]) -> list[int]:
        """Ids with the special tokens around them."""
        return [*self.prefix, *content, *self.suffix]

    @cached_property
    def pair(self) -> "PairFrame":
        """What stands around two texts that are read together."""
        return PairFrame.of(self.backend)

    def check(self, vocabulary: int) -> None:
        """An error where an encoder of this vocabulary has no vectors for the special tokens."""
        specials = (*self.prefix, *self.suffix)
        if max(specials, default=0) >= vocabulary:
            raise BadModel(
                f"the tokenizer puts the ids {specials} around every text, and the encoder has vectors for "
                f"{vocabulary:,} ids: they are of different models"
            )

    def strange(self, contents: Sequence[Sequence[int]], vocabulary: int) -> tuple[int, str] | None:
        """The first of the contents with an id that an encoder of this vocabulary has no vector for, and its token."""
        if self.vocabulary > vocabulary:  # only some tokenizers can give such an id at all
            for i, content in enumerate(contents):
                if content and max(content) >= vocabulary:
                    return i, self.backend.id_to_token(max(content)) or ""
        return None

    def tokens(self, content: Sequence[int]) -> list[str]:
        """The word pieces behind framed ids."""
        return [self.backend.id_to_token(i) or "" for i in self.framed(content)]

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


def longest_input(asked: int | None, told: int | None, most: int) -> int:
    """Tokens of the longest input: as asked for, or as the model's folder tells, or as many as its encoder can read."""
    if asked is not None and (not isinstance(asked, int) or not 1 <= asked <= most):
        raise BadInput(f"max_length is {asked!r}; wanted 1 to {most:,} tokens, which this encoder can read")
    return min(asked or told or most, most)


def longest_first(first: int, second: int, room: int) -> tuple[int, int]:
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
    names = ("tokenizer_config.json", "special_tokens_map.json")
    found = {name: (folder / name).read_text("utf-8") for name in names if (folder / name).is_file()}
    pad = next((word for word in ("[PAD]", "<pad>") if backend.token_to_id(word) is not None), None)
    least = {"tokenizer_class": "PreTrainedTokenizerFast", **({"pad_token": pad} if pad else {})}
    return {names[0]: json.dumps(least), **found}


def _scalar(text: str) -> str:
    """The text with surrogate pairs joined, and lone surrogates (which no UTF-8 can hold) as U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _backend(folder: Path) -> tokenizers.Tokenizer:
    """tokenizer.json, or the older vocab.txt (WordPiece) or vocab.json with merges.txt (byte-level BPE)."""
    whole, words, pairs = folder / "tokenizer.json", folder / "vocab.txt", folder / "vocab.json"
    try:
        if whole.is_file():
            return tokenizers.Tokenizer.from_file(str(whole))
        if words.is_file():
            return _wordpiece(folder, words)
        if pairs.is_file() and (folder / "merges.txt").is_file():
            return _byte_pairs(pairs, folder / "merges.txt")
    except BadModel:
        raise
    except Exception as error:  # the library raises bare Exception for any fault in these files
        raise BadModel(f"the tokenizer in {folder} cannot be read: {error}") from error
    hint = " (a SentencePiece model is there: save it once as tokenizer.json with transformers' fast tokenizer)"
    found = hint if list(folder.glob("*.model")) else ""
    raise BadModel(f"{folder} holds no tokenizer.json, vocab.txt, or vocab.json with merges.txt{found}")


def _wordpiece(folder: Path, vocabulary: Path) -> tokenizers.Tokenizer:
    settings = folder / "tokenizer_config.json"
    options = json.loads(settings.read_text("utf-8")) if settings.is_file() else {}
    words = [line.rstrip("\r") for line in vocabulary.read_text("utf-8").removesuffix("\n").split("\n")]
    classes = ("[CLS]", "[SEP]") if "[CLS]" in words else ("<s>", "</s>")
    if not {*classes, "[UNK]"} <= set(words):
        raise BadModel(f"{vocabulary} lacks {classes[0]}, {classes[1]} or [UNK]")
    made = tokenizers.BertWordPieceTokenizer(
        vocab={w: i for i, w in enumerate(words)},
        lowercase=bool(options.get("do_lower_case", True)),
        strip_accents=options.get("strip_accents"),
        handle_chinese_chars=bool(options.get("tokenize_chinese_chars", True)),
        cls_token=classes[0],
        sep_token=classes[1],
    )
    backend: tokenizers.Tokenizer = made._tokenizer
    _add_tokens(backend, folder / "added_tokens.json")
    return backend


def _add_tokens(backend: tokenizers.Tokenizer, path: Path) -> None:
    """The tokens that an older folder keeps beside its vocabulary, under the ids that they have there."""
    added = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    backend.add_tokens(sorted(added, key=lambda token: added[token]))
    wrong = [token for token, i in added.items() if backend.token_to_id(token) != i]
    if wrong:
        raise BadModel(f"{path} gives {wrong[0]!r} the id {added[wrong[0]]}, which is not the next one that is free")


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
