"""Which files of a folder belong to a model, and are removed when another is saved over it; others are kept."""

import re
from collections.abc import Iterator
from pathlib import Path

WEIGHTS = re.compile(r"model(-\d+-of-\d+)?\.safetensors(\.index\.json)?")  # one file, shards, index
LENGTH_FILES = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlnet", "xlm-roberta")
)
"""Files in which versions of sentence-transformers wrote the maximum input length, by the kind of encoder."""
ENTRY_FILES = ("modules.json", "config.json")
"""No library loads a folder without these files, so they are removed first and written last, in this order."""
NAMES = frozenset(
    {
        *ENTRY_FILES,
        *LENGTH_FILES,
        "config_sentence_transformers.json",
        "likewise.json",
        "unknown_words.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "added_tokens.json",
        "vocab.txt",
        "vocab.json",
        "merges.txt",
        "spiece.model",
        "sentencepiece.bpe.model",
        "tokenizer.model",
    }
)
"""Files that likewise, or a library that defines their format, reads a model from, except weights."""
MODULE_FOLDER = re.compile(r"\d+_(Transformer|Pooling|Dense|LayerNorm|Normalize|Dropout|PolyEncoder)")
"""Names of the sub-folders of a model's modules."""


def is_model_file(path: Path) -> bool:
    """Whether a path inside a model folder belongs to the model; pickles and model cards are left to the user."""
    *parts, name = path.parts
    inside = not parts or (len(parts) == 1 and MODULE_FOLDER.fullmatch(parts[0]))
    return bool(inside and (name in NAMES or WEIGHTS.fullmatch(name)))


def files_of_model(folder: Path) -> Iterator[Path]:
    """Every file of the folder that belongs to the model, and every sub-folder of a part that is a symbolic link."""
    inside = (path for part in parts_of_model(folder) for path in sorted(part.iterdir()))
    for path in [*sorted(folder.iterdir()), *inside]:
        link_to_part = path.is_symlink() and MODULE_FOLDER.fullmatch(path.name)
        if link_to_part or (is_model_file(path.relative_to(folder)) and not _is_folder(path)):
            yield path


def parts_of_model(folder: Path) -> list[Path]:
    """The sub-folders that hold the model's modules."""
    return [path for path in sorted(folder.iterdir()) if MODULE_FOLDER.fullmatch(path.name) and _is_folder(path)]


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
