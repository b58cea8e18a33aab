"""Migration in place: fill a collection for the new model next to the old one, then replace the old one.

    notes.index                      searched and written to while the new one is filled
    notes.index.migrating            the new model's, until it is complete
    notes.index.migrating-from       the old model's, once both are renamed; then it is removed, and files in it that do
                                     not belong to a collection, such as those of `repair`, are moved to notes.index
    notes.index.before-migration     the old model's if it is to be kept: renamed last, and never touched again

If the process is killed at any moment, the same call resumes the migration.
"""

import os
import shutil
from dataclasses import replace
from pathlib import Path

from ..errors import BadInput
from ..runtime.progress import Progress
from ..runtime.syncing import sync_folder
from ..runtime.writer_lock import WriterLock
from ..search.collection import Collection, journal
from ..search.collection.collection_folder import LEFT_BY_CREATE
from ..search.index import Index, ModelIdentity
from ..search.indexes import open_index, opened_or_created
from ..wording import counted
from .background import EncodeRecords, Migration, MigrationReport, record_signatures

BESIDE, REPLACED, KEPT = ".migrating", ".migrating-from", ".before-migration"


def migrate_in_place(
    folder: Path,
    model: ModelIdentity,
    dimension: int,
    encode: EncodeRecords,
    *,
    keep_old: bool = False,
    show_progress_bar: Progress = None,
) -> MigrationReport:
    """Embed the texts of a collection with another model, then replace the collection with the result.

    Other processes may search it and add to it until the last pass, which locks out writers.

    Args:
        model: the new model; headings are embedded if the collection embeds them.
        encode: converts the texts of passages to the new model's vectors.
        keep_old: whether to keep the old collection, as `FOLDER.before-migration`.

    Raises:
        BadInput: the vectors are already this model's; a collection kept by an earlier migration is in the way; or the
            collection is open elsewhere when it is about to be replaced.
    """
    folder = folder.resolve()
    beside, replaced, kept = (folder.with_name(folder.name + ending) for ending in (BESIDE, REPLACED, KEPT))
    is_migrated = folder.exists() and _is_migrated(folder, model, beside, replaced)
    if keep_old and os.path.lexists(kept):
        raise BadInput(f"{kept} was kept by an earlier migration, but its name is needed; move or remove it first")
    if is_migrated:
        with Collection.open(str(folder), read_only=True) as collection:
            return _cleared(replaced, folder, keep_old, MigrationReport(0, len(collection), 0, 0))
    old = folder if folder.exists() or not replaced.exists() else replaced  # killed between the two renames
    first = _fill(str(old), str(beside), model, dimension, encode, show_progress_bar)
    lock = WriterLock(old)
    try:
        last = _fill(str(old), str(beside), model, dimension, encode, show_progress_bar)
        _change_names(folder, beside, replaced)
    finally:
        lock.release()
    passes = first.passes + last.passes
    report = MigrationReport(first.encoded + last.encoded, first.kept, first.deleted + last.deleted, passes)
    return _cleared(replaced, folder, keep_old, report)


def migrate_into(
    old: str, new: str, model: ModelIdentity, dimension: int, encode: EncodeRecords, show_progress_bar: Progress = None
) -> MigrationReport:
    """Embed the records of an old index with the new model, with headings if the old index has them, into a new index.

    If the process is killed at any moment, the same call resumes.

    Raises:
        BadInput: the new index already contains records that are missing from the old one, or that have a different
            text or different metadata there. The migration would delete or replace them.
    """
    return _fill(old, new, model, dimension, encode, show_progress_bar, only_part=True)


def _fill(
    old: str,
    new: str,
    model: ModelIdentity,
    dimension: int,
    encode: EncodeRecords,
    show_progress_bar: Progress,
    only_part: bool = False,
) -> MigrationReport:
    """Migrate; with `only_part`, refuse a new index that has records which are not in the old one."""
    with open_index(old, read_only=True) as source:
        headings = source.model is not None and source.model.headings
        with opened_or_created(new, dimension, replace(model, headings=headings), like=source) as target:
            if only_part:
                _check_part_of(target, source)
            return Migration(source, target, encode).run(show_progress_bar=show_progress_bar)


def _check_part_of(new: Index, old: Index) -> None:
    """Raise if a record of the new index is not in the old one.

    An interrupted migration leaves such records only if the old index has changed since. The new index cannot then be
    told apart from an unrelated one that holds other passages.
    """
    others = {name: sign for records in new.records() for name, sign in record_signatures(records).items()}
    for records in old.records() if others else ():
        for name, sign in record_signatures(records).items():
            if others.get(name) == sign:
                del others[name]
    if others:
        raise BadInput(
            f"{new.location} already contains {counted(len(others), 'record')} that {old.location} does not have with "
            f"the same text and metadata, such as {min(others)!r}; a migration would delete or replace them. Give the "
            "location of a new index or, if an interrupted migration left this one and the old index has changed "
            "since, delete these records (likewise index delete) and migrate again"
        )


def _is_migrated(folder: Path, model: ModelIdentity, beside: Path, replaced: Path) -> bool:
    """Whether a killed call did everything except remove or keep the old collection."""
    with Collection.open(str(folder), read_only=True) as collection:
        found = collection.model
    same = found is not None and not found.difference(model)
    if not replaced.exists():
        if same:
            raise BadInput(f"{folder} already contains vectors from {model.name}; there is nothing to migrate")
        return False
    if not same or beside.exists():
        raise BadInput(
            f"{replaced} is the old index of an interrupted migration: run the command that was interrupted again or, "
            f"if {folder} was created since, move it away first"
        )
    return True


def _change_names(folder: Path, beside: Path, replaced: Path) -> None:
    """Rename the old collection, then the new one; no process may have the old one open."""
    if folder.exists():
        opened = journal.Journal(folder / journal.FILE)
        try:
            opened.leave_log()
        finally:
            opened.close()
        folder.rename(replaced)
    beside.rename(folder)
    sync_folder(folder.absolute().parent)


def _free(path: Path) -> Path:
    """The path or, if it is taken, the path with KEPT appended until it is free."""
    while os.path.lexists(path):
        path = path.with_name(path.name + KEPT)
    return path


def _cleared(replaced: Path, folder: Path, keep_old: bool, report: MigrationReport) -> MigrationReport:
    if keep_old:
        replaced.rename(folder.with_name(folder.name + KEPT))
        sync_folder(folder.parent)
        return report
    for path in replaced.iterdir():
        if path.name not in LEFT_BY_CREATE:  # such as the only copy of damaged records, which repair writes
            path.rename(_free(folder / path.name))
    shutil.rmtree(replaced)
    return report
