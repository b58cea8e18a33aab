"""A migration in place: the new collection takes the old one's name when it is complete, whatever happens before."""

import sqlite3
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.migrate import MigrationReport, in_place, migrate_in_place
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
    """All of it is the new model's, and nothing else is."""
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


@pytest.mark.parametrize("step", ["encode", "leave_log", "rename old", "rename new", "rmtree"])
def test_a_kill_at_any_step_leaves_what_the_same_call_completes(folder, step, monkeypatch):
    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        rename = Path.rename
        if step == "encode":
            patch.setattr("tests.migrate.test_in_place.encode", killed)
        elif step == "leave_log":
            patch.setattr(in_place.journal.Journal, "leave_log", killed)
        elif step == "rmtree":
            patch.setattr(in_place.shutil, "rmtree", killed)
        else:
            chosen = "notes" if step == "rename old" else "notes" + in_place.BESIDE
            patch.setattr(Path, "rename", lambda path, to: killed() if path.name == chosen else rename(path, to))
        with pytest.raises(KeyboardInterrupt):
            migrated(folder)
    with Collection.open(str(folder)) if step == "rmtree" else nullcontext():  # nothing is left that a writer hinders
        report = migrated(folder)
    expected = {"encode": MigrationReport(7, 0, 0, 3), "rmtree": MigrationReport(0, 7, 0, 0)}
    assert report == expected.get(step, MigrationReport(0, 7, 0, 2))
    assert_migrated(folder)
    assert names(folder) == {"notes"}


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
    for ending, text in (("", "new"), (in_place.REPLACED, "old")):
        assert (folder / f"kept{ending}" / "file").read_text() == text
        assert (folder / f"damaged-1.jsonl{ending}").read_text() == text
    assert_migrated(folder)


def test_what_a_writer_changes_meanwhile_is_migrated_too(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(in_place.journal.Journal, "leave_log", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            migrated(folder)
    writer, fill, more = Collection.open(str(folder)), in_place.migrate_into, iter([some(["later"])])
    writer.delete(["id of text 5"])

    def then_written(*how):
        report = fill(*how)
        for records in more:
            writer.add(records)
            writer.delete(["id of text 3"])
            writer.close()
        return report

    monkeypatch.setattr(in_place, "migrate_into", then_written)
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


def test_the_old_one_can_be_kept_and_is_not_overwritten(folder):
    migrated(folder, keep_old=True)
    kept = folder.with_name("notes.before-migration")
    with Collection.open(str(kept)) as old:
        assert old.model.fingerprint == OLD.fingerprint and len(old) == 7 and old.verify().is_clean
    assert_migrated(folder)
    with pytest.raises(BadInput, match="before-migration was kept by an earlier migration"):
        migrate_in_place(folder, OTHER, 4, encode, show_progress_bar=False)


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
