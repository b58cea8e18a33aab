"""A migration in place: the new collection takes the old one's name once complete, whatever happens before that."""

import sqlite3
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.migrate import MigrationReport, in_place, migrate_in_place, migrate_into
from likewise.search.collection import Collection
from likewise.search.index import ModelIdentity
from likewise.search.records import Records

OLD, NEW, OTHER = (ModelIdentity(name, name * 8) for name in ("old", "new", "other"))
TEXTS = [f"text {i}" for i in range(7)]


def vector(text: str, width: int) -> np.ndarray:
    return np.random.default_rng([width, *text.encode()]).normal(size=width)


def encode(texts) -> np.ndarray:
    return np.array([vector(text, 4) for text in texts], np.float32)


def some(texts) -> Records:
    rows = np.array([vector(text, 6) for text in texts], np.float32)
    return Records([f"id of {text}" for text in texts], rows, texts, [{"title": "T", "row": 1} for _ in texts])


@pytest.fixture
def folder(tmp_path) -> Path:
    return filled(tmp_path / "notes", OLD)


def filled(place: Path, model: ModelIdentity) -> Path:
    with Collection.create(str(place), 6, model) as collection:
        collection.add(some(TEXTS))
    return place


def migrated(folder: Path, **options) -> MigrationReport:
    return migrate_in_place(folder, NEW, 4, encode, show_progress_bar=False, **options)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.parent.iterdir()}


def assert_migrated(folder: Path, texts=TEXTS, before: str = "") -> None:
    """Check that the collection holds only vectors of the new model, and all of them."""
    with Collection.open(str(folder)) as collection:
        found = next(collection.records())
        assert collection.model.fingerprint == NEW.fingerprint and collection.dimension == 4
        assert collection.verify().is_clean
    with sqlite3.connect(folder / "collection.sqlite") as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()
    assert sorted(found.texts) == sorted(texts) and found.metadata == [{"title": "T", "row": 1}] * len(texts)
    np.testing.assert_allclose(found.vectors, encode([before + text for text in found.texts]), atol=0.01)


@pytest.mark.parametrize("headings", [False, True])
def test_the_collection_is_the_new_model_s_and_nothing_lies_beside_it(tmp_path, headings):
    folder = filled(tmp_path / "notes", ModelIdentity("old", "f", (), headings))
    assert migrated(folder) == MigrationReport(7, 0, 0, 3)
    assert_migrated(folder, before="T: " if headings else "")
    assert names(folder) == {"notes"}
    with Collection.open(str(folder), read_only=True) as collection:
        assert collection.model.headings == headings


@pytest.mark.parametrize("keep_old", [False, True])
@pytest.mark.parametrize("step", ["encode", "leave_log", "rename old", "rename new", "last"])
def test_a_kill_at_any_step_leaves_what_the_same_call_completes(folder, step, keep_old, monkeypatch):
    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        rename = Path.rename
        if step == "encode":
            patch.setattr("tests.migrate.test_in_place.encode", killed)
        elif step == "leave_log":
            patch.setattr(in_place.journal.Journal, "leave_log", killed)
        elif step == "last" and not keep_old:
            patch.setattr(in_place.shutil, "rmtree", killed)
        else:
            endings = {"rename old": "", "rename new": in_place.BESIDE, "last": in_place.REPLACED}
            chosen = "notes" + endings[step]
            patch.setattr(Path, "rename", lambda path, to: killed() if path.name == chosen else rename(path, to))
        with pytest.raises(KeyboardInterrupt):
            migrated(folder, keep_old=keep_old)
    with Collection.open(str(folder)) if step == "last" else nullcontext():  # a writer cannot block this step
        report = migrated(folder, keep_old=keep_old)
    expected = {"encode": MigrationReport(7, 0, 0, 3), "last": MigrationReport(0, 7, 0, 0)}
    assert report == expected.get(step, MigrationReport(0, 7, 0, 2))
    assert_migrated(folder)
    assert names(folder) == ({"notes", "notes.before-migration"} if keep_old else {"notes"})


def test_the_data_type_stays_and_so_do_files_that_belong_to_no_collection(tmp_path):
    with Collection.create(str(tmp_path / "notes"), 6, OLD, dtype="float32") as collection:
        collection.add(some(TEXTS))
    (tmp_path / "notes" / "damaged-1.jsonl").write_text("{}")
    (tmp_path / "notes" / "a folder").mkdir()
    migrated(tmp_path / "notes")
    with Collection.open(str(tmp_path / "notes")) as collection:
        assert collection.dtype == "float32"
    assert {"damaged-1.jsonl", "a folder"} < {path.name for path in (tmp_path / "notes").iterdir()}
    assert names(tmp_path / "notes") == {"notes"}


def test_files_of_the_old_one_replace_none_of_the_new_one_s(folder, monkeypatch):
    def changed(*paths, change_names=in_place._change_names):
        change_names(*paths)
        for place, text in ((folder, "new"), (paths[-1], "old")):
            (place / "kept").mkdir()
            (place / "kept" / "file").write_text(text)
            (place / "damaged-1.jsonl").write_text(text)

    monkeypatch.setattr(in_place, "_change_names", changed)
    migrated(folder)
    for ending, text in (("", "new"), (in_place.KEPT, "old")):
        assert (folder / f"kept{ending}" / "file").read_text() == text
        assert (folder / f"damaged-1.jsonl{ending}").read_text() == text
    assert_migrated(folder)


def test_what_a_writer_changes_meanwhile_is_migrated_too(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(in_place.journal.Journal, "leave_log", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            migrated(folder)
    writer, fill, more = Collection.open(str(folder)), in_place._fill, iter([some(["later"])])
    writer.delete(["id of text 5"])

    def then_written(*how):
        report = fill(*how)
        for records in more:
            writer.add(records)
            writer.delete(["id of text 3"])
            writer.close()
        return report

    monkeypatch.setattr(in_place, "_fill", then_written)
    assert migrated(folder) == MigrationReport(1, 7, 2, 4)
    assert_migrated(folder, [text for text in TEXTS if text not in ("text 3", "text 5")] + ["later"])


def test_who_has_it_open_is_waited_for_by_nobody_and_nothing_is_embedded_again(folder):
    with Collection.open(str(folder), read_only=True) as reader:
        assert len(reader) == 7
        with pytest.raises(BadInput, match="notes is open in another process and cannot be moved"):
            migrated(folder)
        assert len(reader) == 7
    with Collection.open(str(folder)), pytest.raises(BadInput, match="is being written by process"):
        migrated(folder)
    assert migrated(folder).encoded == 0
    assert_migrated(folder)


def test_the_old_one_can_be_kept_and_is_never_overwritten_or_removed(folder):
    migrated(folder, keep_old=True)
    with Collection.open(str(folder)) as collection:
        collection.delete([*collection.ids()][1:])
    for keep_old in (False, True):
        with pytest.raises(BadInput, match="already contains vectors from new; there is nothing to migrate"):
            migrated(folder, keep_old=keep_old)
    with pytest.raises(BadInput, match="before-migration was kept by an earlier migration"):
        migrate_in_place(folder, OTHER, 4, encode, keep_old=True, show_progress_bar=False)
    assert migrate_in_place(folder, OTHER, 4, encode, show_progress_bar=False).encoded == 1
    assert names(folder) == {"notes", "notes.before-migration"}
    with Collection.open(str(folder.with_name("notes.before-migration"))) as old:
        assert old.model.fingerprint == OLD.fingerprint and len(old) == 7 and old.verify().is_clean


@pytest.mark.parametrize("kind", ["another model", "created since"])
def test_the_old_one_of_an_interrupted_migration_is_not_removed_by_another(folder, kind):
    folder.rename(old := folder.with_name("notes" + in_place.REPLACED))
    filled(folder, OTHER if kind == "another model" else NEW)
    if kind == "created since":
        filled(folder.with_name("notes" + in_place.BESIDE), NEW)
    with pytest.raises(BadInput, match="migrating-from is the old index of an interrupted migration"):
        migrated(folder)
    assert len(Collection.open(str(old))) == 7


@pytest.mark.parametrize("change", ["other record", "other text", "other metadata"])
def test_an_index_elsewhere_loses_nothing_that_another_source_gave_it(folder, tmp_path, change):
    elsewhere = str(tmp_path / "elsewhere")
    records = some(["text 3"])
    with Collection.create(elsewhere, 4, NEW) as target:
        target.add(Records(records.ids, encode(records.texts), records.texts, records.metadata))  # interrupted
    assert migrate_into(str(folder), elsewhere, NEW, 4, encode, False) == MigrationReport(6, 1, 0, 2)
    assert migrate_into(str(folder), elsewhere, NEW, 4, encode, False) == MigrationReport(0, 7, 0, 1)
    ids = ["mine"] if change == "other record" else records.ids
    texts = ["mine"] if change == "other text" else records.texts
    rows = [{"year": 1}] if change == "other metadata" else records.metadata
    with Collection.open(elsewhere) as target:
        target.upsert(Records(ids, encode(texts), texts, rows))
        before = repr([*target.records()])
    with pytest.raises(BadInput, match=rf"elsewhere already contains 1 record that .*notes .*such as '{ids[0]}'"):
        migrate_into(str(folder), elsewhere, NEW, 4, encode, False)
    with Collection.open(elsewhere) as target:
        assert repr([*target.records()]) == before
        target.delete(ids)
    assert migrate_into(str(folder), elsewhere, NEW, 4, encode, False).deleted == 0
    assert_migrated(Path(elsewhere))


def test_what_cannot_be_migrated_is_refused(folder, tmp_path):
    with pytest.raises(BadInput, match="already contains vectors from old; there is nothing to migrate"):
        migrate_in_place(folder, OLD, 6, encode)
    with pytest.raises(BadInput, match="nowhere is not a collection"):
        migrated(tmp_path / "nowhere")
    Collection.create(str(folder) + in_place.BESIDE, 4, OTHER).close()
    with pytest.raises(BadInput, match="migrating holds vectors of other .* got new"):
        migrated(folder)
    assert len(Collection.open(str(folder))) == 7


def test_a_link_goes_on_leading_to_the_collection(folder, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(folder)
    migrated(link)
    assert_migrated(link)
    assert names(folder) == {"notes", "link"}
