"""Saving a model over another: the old model's files are removed, and the folder can never load as a mix of both."""

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ..errors import BadModel
from ..runtime.atomic_files import apply_umask, check_is_folder, followed, naming_full_disk, unwritable
from ..runtime.temporary_files import temporary_folder

WEIGHTS = re.compile(r"model(-\d+-of-\d+)?\.safetensors(\.index\.json)?")  # one file, shards, or index
LENGTH_FILES = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlnet", "xlm-roberta")
)  # files in which sentence-transformers has stored the maximum input length, by kind of encoder
ENTRY_FILES = ("modules.json", "config.json")
"""No library can load a folder without these files, so they are removed first and written last, in this order."""
_OTHERS = """config_sentence_transformers.json likewise.json unknown_words.json tokenizer.json tokenizer_config.json
    special_tokens_map.json added_tokens.json vocab.txt vocab.json merges.txt spiece.model sentencepiece.bpe.model
    tokenizer.model"""
NAMES = frozenset((*ENTRY_FILES, *LENGTH_FILES, *_OTHERS.split()))
"""The files other than weights that belong to a model, for likewise or for the library that defines their format."""
ADAPTER_SETTINGS = "adapter_config.json"
"""A file by which a folder with an adapter, rather than a whole model, is recognized (`adapters`)."""
MODULE_FOLDER = re.compile(r"\d+_(Transformer|StaticEmbedding|Pooling|Dense|LayerNorm|Normalize|Dropout|PolyEncoder)")
"""The names of the sub-folders that contain a model's modules."""

SAVING_MARK = ".saving"
"""Marks a folder into which a model is being saved, or was being saved when the process was killed."""


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder to write into; it becomes `folder` when the block ends, and is removed if the block fails.

    A new folder appears complete, by a single rename. If the folder exists, files are moved into it one by one; if they
    form a model, all files of the old model are removed (`files_of_model`), and until this is finished the folder is
    marked as one that must not be loaded (`check_saved`). Other files are kept.
    """
    whole = followed(folder)
    check_is_folder(folder)
    with ExitStack() as stack:
        try:
            partial = stack.enter_context(temporary_folder(whole, staging_parent(whole)))
        except OSError as error:
            raise unwritable(folder, error) from None
        with naming_full_disk(folder):
            yield partial
        for path in files_in(partial):
            apply_umask(path, partial)
        try:
            move_into(partial, whole)
        except OSError as error:
            raise unwritable(folder, error) from None


def check_saved(folder: Path) -> None:
    """Check that no save into the folder is running or was interrupted, since the folder may then mix two models."""
    if os.path.lexists(folder / SAVING_MARK):  # false without permissions; reading then fails later
        raise BadModel(
            f"{folder} may contain files from two models: a save was interrupted or is still running "
            f"(it contains {SAVING_MARK}). To repair the folder, save the model there again"
        )


@contextmanager
def reading_one_model(folder: Path) -> Iterator[Path]:
    """Check that no model was saved into the folder while the block was reading it.

    A save that is still running is noticed by `check_saved`, which reading the folder's manifest calls.
    """
    before = _entry_states(folder)
    try:
        yield folder
    finally:  # a mixture may also have been the cause of an error
        if _entry_states(folder) != before:
            raise BadModel(f"another model was saved into {folder} while it was being loaded; load it again")


def _entry_states(folder: Path) -> list[tuple[int, int]]:
    """The inodes and times of the folder's entry files, which every save removes and writes again."""
    states = []
    for name in ENTRY_FILES:
        with suppress(OSError):  # at any moment, a save may remove it
            state = (folder / name).stat()
            states.append((state.st_ino, state.st_mtime_ns))
    return states


def staging_parent(folder: Path) -> Path:
    """The folder in which files are prepared before they are moved: next to the target, or inside it if its parent is
    not writable or is on another file system, as with a container's volume.
    """
    beside = not folder.is_dir() or (os.access(folder.parent, os.W_OK) and not folder.is_mount())
    return folder.parent if beside else folder


def move_into(partial: Path, folder: Path) -> None:
    """Move the files of `partial` into the folder; a model in it can be loaded only once all files are there."""
    if not folder.exists():
        partial.rename(folder)
        return
    new = sorted(path.relative_to(partial) for path in files_in(partial))
    if any(name.name in ENTRY_FILES or WEIGHTS.fullmatch(name.name) for name in new):
        _replace_model(partial, folder, new)
    else:
        _move_files(partial, folder, new)


def _replace_model(partial: Path, folder: Path, new: Sequence[Path]) -> None:
    """Replace the files of the old model with the new ones. The folder is marked throughout; to protect libraries that
    do not know the mark, it has neither modules.json nor config.json until the end.
    """
    _check_room(folder, new)
    mark = folder / SAVING_MARK
    mark.write_text("a model is being saved into this folder, or was when the process was killed\n", "utf-8")
    entrances = [Path(name) for name in ENTRY_FILES]
    for name in entrances:
        (folder / name).unlink(missing_ok=True)
    for path in list(files_of_model(folder)):
        path.unlink()
    for part in parts_of_model(folder):
        if not any(part.iterdir()):
            part.rmdir()
    _move_files(partial, folder, [name for name in new if name not in entrances])
    _move_files(partial, folder, [name for name in entrances if name in new])
    mark.unlink()


def _check_room(folder: Path, new: Sequence[Path]) -> None:
    """Before anything is removed, check that no file has the name of a folder to be created, or vice versa."""
    for name in new:
        parents = [folder / parent for parent in name.parents]
        wrong = next((path for path in parents if path.exists() and not path.is_dir()), None)
        if wrong is not None:
            raise NotADirectoryError(
                errno.ENOTDIR, f"{wrong.name} is a file, but the model needs a folder with this name"
            )
        if (folder / name).is_dir():
            raise IsADirectoryError(errno.EISDIR, f"{name} is a folder, but the model needs a file with this name")


def _move_files(partial: Path, folder: Path, names: Sequence[Path]) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (partial / name).replace(folder / name)


def files_in(folder: Path) -> list[Path]:
    """Every file below the folder, at any depth."""
    return [path for path in folder.rglob("*") if path.is_file()]


def is_model_file(path: Path) -> bool:
    """Whether a path inside a model folder belongs to the model; pickles and model cards are left to the user."""
    *parts, name = path.parts
    inside = not parts or (len(parts) == 1 and MODULE_FOLDER.fullmatch(parts[0]))
    return bool(inside and (name in NAMES or WEIGHTS.fullmatch(name)))


def files_of_model(folder: Path) -> Iterator[Path]:
    """Every file in the folder that belongs to the model, and every module sub-folder that is a symbolic link."""
    inside = (path for part in parts_of_model(folder) for path in sorted(part.iterdir()))
    for path in [*sorted(folder.iterdir()), *inside]:
        link_to_part = path.is_symlink() and MODULE_FOLDER.fullmatch(path.name)
        if link_to_part or (is_model_file(path.relative_to(folder)) and not _is_folder(path)):
            yield path


def parts_of_model(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if MODULE_FOLDER.fullmatch(path.name) and _is_folder(path)]


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
