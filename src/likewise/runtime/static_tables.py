"""Static models: a vector for each token, as StaticEmbedding (sentence-transformers) and model2vec store them.

`static_table` recognizes such a folder and describes its content; `StaticTable.rows` folds mapping and weights into one
row per token id. The engines then treat it like any table of word vectors: a text's vector is the mean of its rows.
"""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from ..array_types import Float
from ..errors import BadModel
from .untrusted_files import bad_setting, boolean_setting, read_json, read_object, regular_file_exists
from .vocabulary import Vocabulary
from .weight_files import FLOAT_TYPES, WeightReader, weight_files, widened

MODEL2VEC = "model2vec"
"""The `model_type` in the config.json of a model2vec folder; a StaticEmbedding folder has no config.json."""
MODEL2VEC_LENGTH = 512  # maximum tokens that model2vec reads from a text if its config gives none
MAX_TOKENIZER_BYTES = 1 << 28
MOST_NUMBERS = 1 << 30  # in a table once its mapping is applied: a small file may map many tokens to one long row
INTEGERS = ("I64", "I32", "I16", "U64", "U32", "U16")


@dataclass(frozen=True)
class StaticTable:
    """The content of a static model's folder, before its vectors are read.

    `unknown` is the row of zeros: the vector of a text without tokens. In a model2vec folder it is the row of the
    unknown token, which model2vec removes from every text; otherwise it is an extra row after the last token's.
    """

    folder: Path
    name: str
    tokens: int
    width: int
    unknown: int
    mapped: bool
    weighted: bool
    max_seq_length: int | None
    normalizes: bool

    @property
    def vocabulary(self) -> int:
        """The number of rows in the table: one for each token id, plus the row of zeros if it belongs to no token."""
        return max(self.tokens, self.unknown + 1)

    @property
    def config(self) -> dict[str, Any]:
        """The config.json that describes the same model as a table of word vectors."""
        sizes = {"vocab_size": self.vocabulary, "hidden_size": self.width, "unknown_row": self.unknown}
        return {"model_type": "words", **sizes}

    def rows(self) -> Float[np.ndarray, "V D"]:
        """The vector of each token id in fp32; int8 values are not scaled, because model2vec discards the scale.

        Raises BadModel if a value is NaN or infinite, or if the mapping points outside the table.
        """
        with ExitStack() as stack:
            reader = WeightReader(self.folder, stack, "numpy")
            if self.mapped:
                mapping = reader.tensor("mapping")[: self.tokens]
                stored = reader.kinds[self.name].shape[0]
                if len(mapping) and not (mapping.min() >= 0 and mapping.max() < stored):
                    raise BadModel(f"mapping in {self.folder} points outside the {stored:,} rows of {self.name}")
                found = _floats(reader, self.name)[mapping.astype(np.int64)]
            else:
                found = _floats(reader, self.name)[: self.tokens]
            if self.weighted:
                found = found * _floats(reader, "weights")[: self.tokens, None]
            if not np.isfinite(found).all():
                raise reader.not_finite(self.name)
        rows = np.zeros((self.vocabulary, self.width), np.float32)
        rows[: self.tokens] = found
        rows[self.unknown] = 0
        return rows


def static_table(folder: Path) -> StaticTable | None:
    """The static model in the folder; None if the folder contains another kind of model.

    Raises BadModel if its parts do not fit together: for example, if it has fewer rows than tokens.
    """
    config = read_json(folder / "config.json")
    own = isinstance(config, dict) and config.get("model_type") == MODEL2VEC
    files = [folder / "model.safetensors", folder / "tokenizer.json"]
    if not own and (config is not None or not all(map(regular_file_exists, files))):
        return None
    paths = [*weight_files(folder), *[path for path in (files[1], folder / "config.json") if regular_file_exists(path)]]
    state = tuple((str(path), found.st_size, found.st_mtime_ns) for path in paths for found in [path.stat()])
    return _read(folder, own, state)


def write_static_table(
    folder: Path, rows: Float[np.ndarray, "V D"], unknown: int, max_seq_length: int, normalizes: bool
) -> None:
    """Write the table next to the folder's tokenizer.json, in a format that model2vec or sentence-transformers loads.

    If the row of zeros belongs to a token, the format is that of model2vec; otherwise it is that of StaticEmbedding, in
    which tokenizer.json gives the maximum input length.
    """
    path = folder / "tokenizer.json"
    if unknown < token_facts(path).tokens:
        config = {"model_type": MODEL2VEC, "architectures": ["StaticModel"], "hidden_dim": rows.shape[1]}
        config |= {"normalize": normalizes, "max_length": max_seq_length}
        (folder / "config.json").write_text(json.dumps(config, indent=2), "utf-8")
        save_file({"embeddings": rows}, folder / "model.safetensors", {"format": "pt"})
        return
    cut = {"direction": "Right", "max_length": max_seq_length, "strategy": "LongestFirst", "stride": 0}
    described = read_object(path, MAX_TOKENIZER_BYTES)
    path.write_text(json.dumps({**described, "truncation": cut}, ensure_ascii=False), "utf-8")
    save_file({"embedding.weight": rows[:unknown]}, folder / "model.safetensors", {"format": "pt"})


@lru_cache(maxsize=8)
def _read(folder: Path, own: bool, state: object) -> StaticTable | None:  # noqa: ARG001, the key of the cache
    with ExitStack() as stack:
        reader = WeightReader(folder, stack, "numpy")
        name = next((name for name in ("embedding.weight", "embeddings") if name in reader.kinds), None)
        if name is None and not own:
            return None
        if name is None:
            raise BadModel(f"{folder} lacks the tensor embeddings, the table of a static model")
        kind = reader.kinds[name]
        if kind.type not in (*FLOAT_TYPES, "I8") or len(kind.shape) != 2 or not all(kind.shape):
            raise BadModel(f"{name} in {folder} is {kind.type} of shape {kind.shape}; expected a matrix of numbers")
        rows, width = kind.shape
        mapped, weighted = "mapping" in reader.kinds, "weights" in reader.kinds
        tokenizer = token_facts(folder / "tokenizer.json")
        for one, types in (("mapping", INTEGERS), ("weights", FLOAT_TYPES)):
            found = reader.kinds.get(one)
            if found and (found.type not in types or len(found.shape) != 1 or found.shape[0] < tokenizer.tokens):
                raise BadModel(
                    f"{one} in {folder} is {found.type} of shape {found.shape}; expected one of {', '.join(types)} for "
                    f"each of the tokenizer's {tokenizer.tokens:,} tokens"
                )
    if not mapped and rows < tokenizer.tokens:
        raise BadModel(f"{name} in {folder} has {rows:,} rows, but the tokenizer has {tokenizer.tokens:,} tokens")
    if (tokenizer.tokens + 1) * width > MOST_NUMBERS:
        raise BadModel(
            f"{folder} needs {tokenizer.tokens:,} rows of {width:,} numbers; expected at most {MOST_NUMBERS:,} in all"
        )
    config = read_object(folder / "config.json") if own else {}
    return StaticTable(
        folder,
        name,
        tokenizer.tokens,
        width,
        tokenizer.unknown if own and tokenizer.unknown is not None else tokenizer.tokens,
        mapped,
        weighted,
        _limit(config, folder) if own else tokenizer.truncation,
        boolean_setting(config, "normalize", False, folder / "config.json"),
    )


def _floats(reader: WeightReader, name: str) -> Float[np.ndarray, "..."]:
    if reader.kinds[name].type == "BF16":
        return np.asarray(widened(reader.bfloat16(name)))
    return np.asarray(reader.tensor(name), np.float32)


def _limit(config: Mapping[str, Any], folder: Path) -> int | None:
    """The maximum input length in tokens; null in the config means that there is no maximum."""
    value = config.get("max_length", MODEL2VEC_LENGTH)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise bad_setting(folder / "config.json", "max_length", value, "a whole number of tokens above 0, or null")
    return value


@dataclass(frozen=True)
class TokenFacts:
    """A tokenizer's token ids, the id of the unknown token, and the length that texts are truncated to, if any."""

    ids: Mapping[str, int]
    tokens: int  # one more than the largest id
    unknown: int | None
    truncation: int | None


def token_facts(path: Path) -> TokenFacts:
    """The tokens in tokenizer.json; everything else in it is read by `likewise.text.tokenizer`."""
    described = read_json(path, most=MAX_TOKENIZER_BYTES)
    try:
        model, vocabulary = described["model"], Vocabulary(described)
        unknown = model.get("unk_id") if model.get("type") == "Unigram" else vocabulary.ids.get(model.get("unk_token"))
        cut = described.get("truncation")
        facts = (vocabulary.size, unknown, None if cut is None else cut["max_length"])
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise BadModel(f"{path} cannot be read as a tokenizer: {error!r:.200}") from None
    if any(isinstance(n, bool) or not isinstance(n, int | None) for n in facts) or not vocabulary.size:
        raise BadModel(f"{path} cannot be read as a tokenizer: its ids and lengths are not all whole numbers")
    if unknown is not None and not 0 <= unknown < vocabulary.size:
        raise BadModel(f"{path} gives unknown tokens the id {unknown}, but has only {vocabulary.size:,} tokens")
    return TokenFacts(vocabulary.ids, *facts)
