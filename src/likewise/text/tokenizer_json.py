"""tokenizer.json as a checked object: read from old and new folders, and converted to a canonical form.

In this form, the parts named here equal, byte for byte, what Hugging Face's library (0.23) writes, so that fingerprints
depend neither on the program that wrote the file nor on whether that library is installed.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from ..errors import BadModel
from ..runtime.untrusted_files import bad_setting, boolean_setting, read_object, read_text, regular_file_exists

MAX_FILE_SIZE = 1 << 28  # maximum bytes of a tokenizer's file; the largest in use are an eighth of that
Described = dict[str, Any]
"""A tokenizer.json, or a part of it."""

PARTS = ("version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder")
MODEL_FIELDS: dict[str, Described] = {
    "WordPiece": {
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {},
    },
    "BPE": {
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": {},
        "merges": [],
    },
    "Unigram": {"unk_id": None, "vocab": [], "byte_fallback": False},
}
"""The fields of each model type in the order in which they are written; older files lack some of them."""
BYTE_LEVEL = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn an error caused by a malformed description of a tokenizer into a `BadModel`."""
    try:
        yield
    except BadModel:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, OverflowError) as error:
        raise BadModel(f"{what} cannot be read: {type(error).__name__}: {error!s:.300}") from error


def read_described(folder: Path) -> Described:
    """tokenizer.json, or the older vocab.txt (WordPiece) or vocab.json with merges.txt (byte-level BPE)."""
    whole, words, pairs = folder / "tokenizer.json", folder / "vocab.txt", folder / "vocab.json"
    with reading(f"the tokenizer in {folder}"):
        if regular_file_exists(whole, MAX_FILE_SIZE):
            return _loaded(whole)
        if regular_file_exists(words, MAX_FILE_SIZE):
            return _wordpiece(folder, words)
        if regular_file_exists(pairs, MAX_FILE_SIZE) and regular_file_exists(folder / "merges.txt", MAX_FILE_SIZE):
            return _byte_pairs(pairs, folder / "merges.txt")
    sentencepiece = (
        " (it has a SentencePiece model: convert it to tokenizer.json once, with a transformers fast tokenizer)"
    )
    hint = sentencepiece if list(folder.glob("*.model")) else ""
    raise BadModel(f"{folder} has no tokenizer.json, vocab.txt, or vocab.json with merges.txt{hint}")


def canonical(described: Mapping[str, Any]) -> str:
    """The description in canonical form: no truncation or padding, explicit defaults, and vocabulary sorted by id."""
    model = described["model"]
    model = {"type": model["type"], **MODEL_FIELDS.get(model["type"], {}), **model}
    if isinstance(model["vocab"], dict):
        model["vocab"] = dict(sorted(model["vocab"].items(), key=itemgetter(1)))
    if model.get("merges"):
        model["merges"] = [one.split(" ") if isinstance(one, str) else one for one in model["merges"]]
    whole = {**dict.fromkeys(PARTS), **described, "truncation": None, "padding": None, "version": "1.0"}
    whole["added_tokens"] = sorted(whole["added_tokens"] or [], key=itemgetter("id"))
    for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        whole[part] = _with_defaults(whole[part])
    ordered = {**{part: whole[part] for part in PARTS}, "model": model}
    return json.dumps(ordered, ensure_ascii=False, separators=(",", ":"))


def _with_defaults(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    kind, filled = part.get("type"), {**(BYTE_LEVEL if part.get("type") == "ByteLevel" else {}), **part}
    if kind == "Metaspace":
        scheme = "always" if part.get("add_prefix_space", True) else "never"
        defaults = {"replacement": "▁", "prepend_scheme": scheme, "split": True}
        filled = defaults | {name: part[name] for name in defaults if name in part}
    for name in ("normalizers", "pretokenizers", "processors", "decoders"):
        if name in filled:
            filled[name] = [_with_defaults(inner) for inner in filled[name]]
    if kind == "TemplateProcessing":
        filled["special_tokens"] = dict(sorted(filled["special_tokens"].items()))
    return filled if kind is None else {"type": kind, **{name: filled[name] for name in filled if name != "type"}}


def _loaded(path: Path) -> Described:
    described = json.loads(read_text(path, MAX_FILE_SIZE) or "", parse_float=_score, parse_constant=_not_finite)
    if not isinstance(described, dict) or not isinstance(described.get("model"), dict):
        raise BadModel(f"{path} cannot be read: expected an object with a model")
    model = described["model"]
    if "type" not in model:  # as in the oldest files
        signs = (("merges", "BPE"), ("unk_id", "Unigram"), ("continuing_subword_prefix", "WordPiece"))
        model["type"] = next((kind for sign, kind in signs if sign in model), "WordLevel")
    return described


def _score(digits: str) -> float:
    """Parse a number like the library: as many digits as fit in 64 bits, divided once, so the value is slightly off."""
    if "e" in digits.lower():
        return float(digits)
    whole, _, fraction = digits.lstrip("-").partition(".")
    while fraction and int(whole + fraction) >= 1 << 64:
        fraction = fraction[:-1]
    size = float(int(whole + fraction)) / float(f"1e{len(fraction)}")
    return -size if digits.startswith("-") else size


def _not_finite(name: str) -> float:
    raise ValueError(f"{name} is not a number in JSON")


def _wordpiece(folder: Path, path: Path) -> Described:
    settings = folder / "tokenizer_config.json"
    options = read_object(settings)
    text = read_text(path, MAX_FILE_SIZE) or ""
    words = [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]
    vocabulary = {word: i for i, word in enumerate(words)}
    begin, end = ("[CLS]", "[SEP]") if "[CLS]" in words else ("<s>", "</s>")
    if not {begin, end, "[UNK]"} <= set(words):
        raise BadModel(f"{path} lacks {begin}, {end} or [UNK]")
    lowercase, accents = boolean_setting(options, "do_lower_case", True, settings), options.get("strip_accents")
    special = dict.fromkeys(word for word in ("[UNK]", end, begin, "[PAD]", "[MASK]") if word in vocabulary)
    added = [_added_token(word, vocabulary[word], special=True) for word in special]
    return {
        "added_tokens": added + _more_tokens(folder / "added_tokens.json", vocabulary, special),
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": boolean_setting(options, "tokenize_chinese_chars", True, settings),
            "strip_accents": None
            if accents is None
            else boolean_setting(options, "strip_accents", lowercase, settings),
            "lowercase": lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "BertProcessing",
            "sep": [end, vocabulary[end]],
            "cls": [begin, vocabulary[begin]],
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", **MODEL_FIELDS["WordPiece"], "vocab": vocabulary},
    }


def _more_tokens(path: Path, vocabulary: Mapping[str, int], special: Mapping[str, None]) -> list[Described]:
    """The tokens in added_tokens.json, whose ids must be the next free ones."""
    added, known = read_object(path), dict(vocabulary)
    for token, i in added.items():
        if isinstance(i, bool) or not isinstance(i, int):
            raise bad_setting(path, token, i, "the token's id")
    for token in sorted(added, key=added.__getitem__):
        if known.setdefault(token, max(known.values()) + 1) != added[token]:
            raise BadModel(f"{path} gives {token!r} the id {added[token]}, which is not the next free id")
    return [_added_token(token, i, special=False) for token, i in added.items() if token not in special]


def _added_token(content: str, i: int, *, special: bool) -> Described:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": not special, "special": special}
    return {"id": i, "content": content, **flags}


def _byte_pairs(path: Path, merges: Path) -> Described:
    vocabulary = json.loads(read_text(path, MAX_FILE_SIZE) or "")
    begin, end = (vocabulary.get(token) for token in ("<s>", "</s>"))
    if begin is None or end is None:
        raise BadModel(f"{path} lacks <s> or </s>")
    lines = (read_text(merges, MAX_FILE_SIZE) or "").splitlines()
    pairs = [line.split(" ") for line in lines if not line.startswith("#version")]
    broken = next((pair for pair in pairs if len(pair) != 2), None)
    if broken is not None:
        raise BadModel(f"{merges} has the line {' '.join(broken)!r:.80}; expected two tokens separated by a space")
    byte_level = {"type": "ByteLevel", **BYTE_LEVEL}
    processor = {"type": "RobertaProcessing", "sep": ["</s>", end], "cls": ["<s>", begin]}
    affixes = {"continuing_subword_prefix": "", "end_of_word_suffix": ""}
    return {
        "pre_tokenizer": {**byte_level, "add_prefix_space": False},
        "post_processor": {**processor, "trim_offsets": True, "add_prefix_space": False},
        "decoder": byte_level,
        "model": {"type": "BPE", **MODEL_FIELDS["BPE"], **affixes, "vocab": vocabulary, "merges": pairs},
    }


Part = tuple[str | tuple[int, ...], int]
"""A part of a template: "A", "B" or the ids of a special token; and its segment."""


def template(processor: Any, *, pair: bool = False) -> list[Part]:
    """The tokens that a post-processor puts around a text, or around and between two.

    Raises:
        BadModel: the post-processor is unknown, or more than one in a sequence adds tokens.
    """
    bare: list[Part] = [("A", 0), ("B", 1)] if pair else [("A", 0)]
    if processor is None or processor["type"] == "ByteLevel":
        return bare
    kind = processor["type"]
    if kind == "Sequence":
        adding = [one for one in processor["processors"] if one["type"] != "ByteLevel"]
        if len(adding) > 1:
            raise BadModel("the tokenizer has several post-processors that add tokens; expected at most one")
        return template(adding[0] if adding else None, pair=pair)
    if kind == "TemplateProcessing":
        return [_template_part(one, processor["special_tokens"]) for one in processor["pair" if pair else "single"]]
    if kind not in ("BertProcessing", "RobertaProcessing"):
        raise BadModel(f"the tokenizer's post-processor {kind!r:.80} is not supported")
    (_, end), (_, begin) = processor["sep"], processor["cls"]
    second = int(kind == "BertProcessing")
    more: list[Part] = [*([] if second else [((end,), 0)]), ("B", second), ((end,), second)]
    return [((begin,), 0), ("A", 0), ((end,), 0), *(more if pair else [])]


def _template_part(part: Mapping[str, Any], special: Mapping[str, Any]) -> Part:
    ((kind, one),) = part.items()
    if kind == "Sequence":
        return one["id"], one["type_id"]
    return tuple(special[one["id"]]["ids"]), one["type_id"]


def around(parts: Sequence[Part]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ids that a template puts before and after a text."""
    places = [i for i, (part, _) in enumerate(parts) if isinstance(part, str)]
    if [parts[i][0] for i in places] != ["A"]:
        raise BadModel("the tokenizer inserts special tokens into a text; expected them only before and after it")
    return ids_of(parts[: places[0]]), ids_of(parts[places[0] + 1 :])


def ids_of(parts: Sequence[Part]) -> tuple[int, ...]:
    return tuple([i for part, _ in parts for i in part if isinstance(i, int)])


@dataclass(frozen=True)
class PairFrame:
    """The special tokens before, between and after two texts encoded as a pair, and the segment of every part."""

    prefix: tuple[int, ...]
    middle: tuple[int, ...]
    suffix: tuple[int, ...]
    segments: tuple[int, int, int, int, int]  # of prefix, first text, middle, second text, suffix

    @classmethod
    def of(cls, processor: Any) -> "PairFrame":
        """The frame that the tokenizer's own post-processor puts around a pair."""
        parts = template(processor, pair=True)
        texts = [i for i, (part, _) in enumerate(parts) if isinstance(part, str)]
        if [parts[i][0] for i in texts] != ["A", "B"]:
            raise BadModel(
                "the tokenizer's post-processor has no pair template with the first and the second text once each"
            )
        first, second = texts
        middle = ids_of(parts[first + 1 : second])
        if not middle:
            raise BadModel(
                "the tokenizer adds no token between two texts, so a model cannot tell where the first ends; its "
                "post_processor in tokenizer.json needs a template for a pair, such as [CLS] A [SEP] B [SEP]"
            )
        kinds = [kind for _, kind in parts]
        ends = (kinds[0], kinds[first], kinds[first + 1], kinds[second], kinds[-1])
        return cls(ids_of(parts[:first]), middle, ids_of(parts[second + 1 :]), ends)

    @property
    def specials(self) -> int:
        return len(self.prefix) + len(self.middle) + len(self.suffix)

    def ids(self, first: Sequence[int], second: Sequence[int]) -> list[int]:
        return [*self.prefix, *first, *self.middle, *second, *self.suffix]

    def kinds(self, first: int, second: int) -> list[int]:
        """The segment of every token of a pair whose texts have these numbers of tokens."""
        sizes = (len(self.prefix), first, len(self.middle), second, len(self.suffix))
        return [kind for kind, size in zip(self.segments, sizes, strict=True) for _ in range(size)]
