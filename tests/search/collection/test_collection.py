"""A collection on the disk: what it keeps, what it refuses, what it finds damaged and what it mends."""

import json
import multiprocessing
import shutil
import sqlite3
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.native.scanning import available
from likewise.runtime import atomic_files
from likewise.search.collection import Collection, compaction, journal, segments, verification
from likewise.search.collection.record_table import record_checksum
from likewise.search.records import Records
from tests.search.conformance import FILTERS, WIDTH, as_dict, assert_finds, assert_holds, some_records

pytestmark = pytest.mark.usefixtures("unchecked")
TOLERANCE = 1e-3


@pytest.fixture
def small_segments(monkeypatch):
    """Segments of 16 rows, wherever their size is known."""
    for name, module in list(sys.modules.items()):
        if name.startswith("likewise.search.collection") and hasattr(module, "SEGMENT_ROWS"):
            monkeypatch.setattr(module, "SEGMENT_ROWS", 16)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "collection"


def filled(folder: Path, count: int = 60, **options) -> Collection:
    collection = Collection.create(str(folder), WIDTH, **options)
    collection.add(some_records(count))
    return collection


def rows_files(folder: Path) -> list[Path]:
    return sorted((folder / "vectors").iterdir())


def flip(path: Path, place: int) -> None:
    """Change one bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


def execute(folder: Path, statements: str) -> None:
    """Change the journal behind the collection's back."""
    db = sqlite3.connect(folder / "collection.sqlite")
    db.executescript(statements)
    db.close()


def test_a_folder_can_be_copied_and_opened_elsewhere(folder, tmp_path):
    filled(folder).close()
    shutil.copytree(folder, tmp_path / "copy")
    with Collection.open(str(tmp_path / "copy")) as copy:
        assert_holds(copy, as_dict(some_records(60)), TOLERANCE)
        assert copy.verify().is_clean


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs Linux")
def test_a_closed_collection_maps_none_of_its_files(folder):
    collection = filled(folder)
    collection.search(some_records(1).vectors, 3)
    mapped = [str(folder) in Path("/proc/self/maps").read_text()]
    collection.close()
    assert [*mapped, str(folder) in Path("/proc/self/maps").read_text()] == [True, False]


def test_float32_keeps_every_digit_that_a_row_of_length_1_has(folder):
    records = some_records(20)
    with Collection.create(str(folder), WIDTH, dtype="float32") as collection:
        collection.add(records)
    with Collection.open(str(folder)) as collection:
        np.testing.assert_allclose(collection.get(records.ids).vectors, records.vectors, rtol=1e-6)
    with pytest.raises(BadInput, match="dtype is 'float64'; expected one of float16, float32"):
        Collection.create(str(folder) + "2", WIDTH, dtype="float64")


def test_vectors_beyond_float16_are_kept_at_their_length(folder):
    vectors = np.array([[1e30] * WIDTH, [1e-30] * WIDTH, [70_000] * WIDTH], np.float32)
    with Collection.create(str(folder), WIDTH) as collection:
        collection.add(Records(["a", "b", "c"], vectors))
        np.testing.assert_allclose(collection.get(["a", "b", "c"]).vectors, vectors, rtol=1e-3)
        assert [match.score for match in collection.search(vectors[:1])[0]] == pytest.approx([1, 1, 1], abs=1e-3)


def test_a_write_inside_a_block_of_one_state_is_refused(folder):
    with filled(folder) as collection:
        with collection.one_state(), pytest.raises(BadInput, match="cannot be written inside a one_state"):
            collection.add(some_records(1, start=900))
        assert len(collection) == 60 and collection.verify().is_clean
        collection.add(some_records(1, start=900))


def test_a_second_writer_is_refused_and_named_and_a_reader_is_not(folder):
    with filled(folder):
        with pytest.raises(BadInput, match=r"is being written by process \d+, and only one can write at a time"):
            Collection.open(str(folder))
        with Collection.open(str(folder), read_only=True) as reader:
            assert len(reader) == 60
    Collection.open(str(folder)).close()


class Logless(sqlite3.Connection):
    """As for a user who may not create the missing log: only reading without locks is possible."""

    def __init__(self, location, **options):
        super().__init__(location, **options)
        self.is_refused = location.endswith("mode=ro")

    def execute(self, *arguments):
        if self.is_refused:
            error = sqlite3.OperationalError("unable to open database file")
            error.sqlite_errorname = "SQLITE_CANTOPEN"
            raise error
        return super().execute(*arguments)


def test_a_reader_without_locks_notices_a_writer_and_then_sees_the_new_state(folder, monkeypatch):
    filled(folder).close()
    logs = [folder / f"collection.sqlite{end}" for end in ("-wal", "-shm")]
    for log in logs:
        log.unlink()
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Logless))
    with Collection.open(str(folder), read_only=True) as reader:
        blocks = reader.records(block=7)
        assert len(next(blocks)) == 7
        with Collection.open(str(folder)) as writer:
            writer.delete(["id 0"])
        with pytest.raises(BadInput, match="was written by another process while it was being read"):
            next(blocks)
        assert reader.count() == 59
        with (
            pytest.raises(BadInput, match="was written by another process while it was being read"),
            reader.one_state(),
        ):
            with Collection.open(str(folder)) as writer:
                writer.delete(["id 1"])
            raise KeyError("an error that the other process may have caused")
        logs[0].write_bytes(b"a transaction")
        with pytest.raises(BadInput, match="it cannot be opened"):
            reader.count()


class Unready(sqlite3.Connection):
    """As while another process makes the log readable: the first two reads fail."""

    def __init__(self, location, **options):
        super().__init__(location, **options)
        self.reads = 0

    def execute(self, *arguments):
        self.reads += "sqlite_master" in arguments[0]
        if self.reads in (1, 2):
            error = sqlite3.OperationalError("attempt to write a readonly database")
            error.sqlite_errorname = "SQLITE_READONLY_RECOVERY"
            raise error
        return super().execute(*arguments)


def test_a_reader_waits_a_moment_for_a_log_that_another_process_makes_readable(folder, monkeypatch):
    filled(folder).close()
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Unready))
    with Collection.open(str(folder), read_only=True) as reader:
        assert reader.count() == 60
    monkeypatch.setattr(journal, "LOG_WAIT", 0)
    with pytest.raises(BadInput, match="a writer was killed; open it once as a user who may write"):
        Collection.open(str(folder), read_only=True)


def test_a_process_that_was_forked_neither_writes_nor_keeps_the_lock(folder):
    def child(queue):
        try:
            collection.add(some_records(1, start=900))
        except BadInput as error:
            queue.put(str(error))

    collection = filled(folder)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    assert "before it forked; open it again" in queue.get(timeout=20)
    process.join()
    assert_holds(collection, as_dict(some_records(60)), TOLERANCE)
    collection.close()


@pytest.mark.parametrize("other", ["notes.txt", "collection.sqlite.bak"])
def test_a_folder_with_other_files_is_not_made_a_collection(folder, other):
    folder.mkdir()
    (folder / other).write_text("mine")
    with pytest.raises(BadInput, match=f"contains other files, such as {other}"):
        Collection.create(str(folder), WIDTH)
    assert [path.name for path in folder.iterdir()] == [other]


@pytest.mark.parametrize("left", [(), ("-wal", "-shm"), ("-journal",)])
def test_what_a_killed_create_left_is_made_again_and_not_opened(folder, left):
    (folder / "vectors").mkdir(parents=True)
    for end in ("", *left):
        (folder / f"collection.sqlite{end}").touch()
    with pytest.raises(BadInput, match="its creation was interrupted; create it again"):
        Collection.open(str(folder))
    filled(folder).close()
    with pytest.raises(BadInput, match="is already a collection; open it"):
        Collection.create(str(folder), WIDTH)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("a file", "collection is a file; expected a new or an empty folder"),
        ("a broken link", "collection is a broken link; expected a new or an empty folder"),
        ("with a file of the name of its own folder", "collection cannot be written: File exists"),
    ],
)
def test_a_collection_is_not_created_where_a_file_or_a_broken_link_is(folder, kind, message):
    if kind == "a broken link":
        folder.symlink_to("nowhere")
    elif "name" in kind:
        folder.mkdir()
        (folder / "vectors").touch()
    else:
        folder.touch()
    with pytest.raises(BadInput, match=message):
        Collection.create(str(folder), WIDTH)


def test_a_collection_of_another_format_is_refused(folder):
    filled(folder).close()
    execute(folder, "UPDATE settings SET value = '3' WHERE name = 'format'")
    with pytest.raises(BadInput, match="of format 3; this version of likewise reads formats 1 and 2"):
        Collection.open(str(folder))


def test_the_full_text_of_an_earlier_format_is_made_again_by_a_writer_and_not_searched_before(folder):
    records = Records(["a", "b"], np.eye(2, WIDTH, dtype=np.float32), ["İstanbul", "other"])
    with Collection.create(str(folder), WIDTH) as collection:
        collection.add(records)
    execute(
        folder,
        """DROP TABLE words; DROP VIEW folded; DELETE FROM settings WHERE name = 'checksum';
            UPDATE settings SET value = '1' WHERE name = 'format';
            CREATE VIRTUAL TABLE words
            USING fts5(text, content='records', content_rowid='key', tokenize='unicode61 remove_diacritics 2');
            INSERT INTO words (words) VALUES ('rebuild')""",
    )
    with Collection.open(str(folder), read_only=True) as reader:
        assert reader.count() == 2 and reader.search(records.vectors[:1], 1)[0][0].id == "a"
        with pytest.raises(BadInput, match="was written by an earlier version.* open it once for writing"):
            reader.search_words("İstanbul")
        with Collection.open(str(folder)) as writer:
            assert [match.id for match in writer.search_words("İstanbul")] == ["a"] and writer.verify().is_clean
        assert [match.id for match in reader.search_words("istanbul")] == ["a"]
    Collection.open(str(folder)).close()


@pytest.mark.parametrize("value", ["9", "{"])
def test_settings_that_changed_on_the_disk_are_refused_and_cost_no_record(folder, value):
    filled(folder).close()
    execute(folder, f"UPDATE settings SET value = '{value}' WHERE name = 'width'")
    with pytest.raises(BadInput, match="the settings of this collection are damaged; restore the folder"):
        Collection.open(str(folder))


def test_something_else_in_the_place_of_the_journal_is_refused(folder):
    filled(folder).close()
    (folder / "collection.sqlite").write_bytes(b"not a database" * 1000)
    with pytest.raises(BadInput, match="it is damaged, or it is not a SQLite file"):
        Collection.open(str(folder))


@pytest.mark.usefixtures("small_segments")
class TestManySegments:
    @pytest.mark.parametrize("where", [None, *FILTERS])
    def test_search_is_that_of_one(self, folder, where):
        with filled(folder, 40) as collection:
            collection.count(where)  # keeps columns, which the next rows continue
            collection.add(some_records(20, start=40))
            collection.delete([f"id {i}" for i in range(0, 60, 7)])
            every = as_dict(some_records(40), some_records(20, start=40))
            expected = {name: row for name, row in every.items() if int(name[3:]) % 7}
            assert_finds(collection, expected, where, TOLERANCE)
            assert_finds(collection, expected, where, TOLERANCE)  # of columns that were kept
        assert len(rows_files(folder)) == 4
        with Collection.open(str(folder), read_only=True) as reader:  # of columns that were read from their files
            assert_finds(reader, expected, where, TOLERANCE)

    def test_a_scan_of_int8_gives_the_scores_of_the_stored_vectors(self, folder, monkeypatch):
        expected = as_dict(some_records(60))
        filled(folder).close()
        with Collection.open(str(folder)) as collection:
            for where in (None, "lang = 'en'", "lang = 'en'"):
                assert_finds(collection, expected, where, TOLERANCE, k=3)
            made = sorted((folder / "derived").glob("*.int8"))
        assert len(made) == (3 if available() else 0)
        with Collection.open(str(folder), read_only=True) as collection, monkeypatch.context() as patch:
            patch.setattr("likewise.search.collection.snapshot.quantize_int8", None)  # they are read from their files
            assert_finds(collection, expected, None, TOLERANCE, k=3)
        if made:
            flip(made[0], 4096 + 3)
        with Collection.open(str(folder), read_only=True) as collection:
            assert_finds(collection, expected, None, TOLERANCE, k=3)
            assert collection.verify().stale == []

    def test_derived_files_are_computed_again_where_they_are_lost_or_damaged(self, folder):
        with filled(folder) as collection:
            count = collection.count("year >= 2010")
            derived = sorted((folder / "derived").iterdir())
            assert [path.name for path in derived] == ["00000001.columns", "00000002.columns", "00000003.columns"]
            derived[0].unlink()
            flip(derived[1], derived[1].stat().st_size - 70)
            derived[2].write_bytes(derived[2].read_bytes()[:-10])
            report = collection.verify()
            assert report.is_clean and report.stale == ["derived/00000002.columns", "derived/00000003.columns"]
        with Collection.open(str(folder)) as collection:
            assert collection.count("year >= 2010") == count and not collection.verify().stale
            flip(derived[0], derived[0].stat().st_size - 70)
            assert collection.repair().removed == {} and not derived[0].exists()
            assert collection.count("year >= 2010") == count

    def test_a_reader_does_not_compact(self, folder):
        filled(folder).close()
        with Collection.open(str(folder), read_only=True) as reader, pytest.raises(BadInput, match="read-only"):
            reader.compact()

    def test_compact_returns_the_space_of_the_dead_and_changes_nothing_else(self, folder):
        with filled(folder) as collection:
            with Collection.open(str(folder), read_only=True) as reader:
                collection.delete([f"id {i}" for i in range(60) if i % 3])
                expected = {name: row for name, row in as_dict(some_records(60)).items() if int(name[3:]) % 3 == 0}
                order = [name for block in collection.records() for name in block.ids]
                assert_finds(reader, expected, None, TOLERANCE)
                assert collection.compact() == 40
                assert_holds(collection, expected, TOLERANCE)
                assert_holds(reader, expected, TOLERANCE)
            assert order == [name for block in collection.records() for name in block.ids]
            assert sum(path.stat().st_size for path in rows_files(folder)) == 2 * 64 + 20 * WIDTH * 2
            assert collection.compact() == 0 and collection.verify().is_clean
            collection.add(some_records(20, start=500))
            assert_holds(collection, expected | as_dict(some_records(20, start=500)), TOLERANCE)
            assert collection.delete([*expected, *some_records(20, start=500).ids]) == 40
            assert collection.compact() == 40 and not rows_files(folder)
            assert sqlite3.connect(folder / "collection.sqlite").execute("SELECT * FROM segments").fetchall() == []

    @pytest.mark.parametrize("block", [1, 5, 15, 16])
    def test_blocks_of_any_size_are_checked_and_copied_and_progress_counts_their_records(
        self, folder, block, monkeypatch
    ):
        monkeypatch.setattr(verification, "BLOCK", block)
        monkeypatch.setattr(compaction, "BLOCK", block)
        seen = []
        how = {"show_progress_bar": lambda meter: seen.append((meter.texts, meter.tokens, meter.total))}
        with filled(folder) as collection:
            report = collection.verify(**how)
            assert report.is_clean and report.records == 60 and seen[-1] == (60, 0, 60)
            assert len(seen) == {1: 60, 5: 15, 15: 7, 16: 4}[block]  # of 16, 16, 16 and 12
            seen.clear()
            collection.delete([f"id {i}" for i in range(60) if i % 4])
            assert collection.compact(**how) == 45
            assert seen == [(15, 0, 15)]
            expected = {name: row for name, row in as_dict(some_records(60)).items() if int(name[3:]) % 4 == 0}
            assert_holds(collection, expected, TOLERANCE)
            assert collection.verify().is_clean
        last = rows_files(folder)[-1]
        flip(last, last.stat().st_size - 1)
        with Collection.open(str(folder), read_only=True) as collection:
            assert collection.verify().damaged == {"id 56": "vector"}

    @pytest.mark.parametrize(
        ("segments", "groups"),  # of how many live and how many rows each has
        [
            ([], []),
            ([(16, 16), (15, 15)], []),
            ([(16, 16), (15, 16)], [[15]]),
            ([(0, 16), (16, 16)], [[0]]),
            ([(8, 8), (16, 16), (8, 8)], [[8, 8]]),
            ([(8, 8), (9, 9)], []),
            ([(8, 8), (9, 10)], [[9]]),
            ([(3, 3), (4, 4), (10, 16)], [[3, 4], [10]]),
            ([(3, 3), (4, 4), (10, 10)], [[3, 4]]),
            ([(5, 6), (5, 5), (6, 6), (1, 1)], [[5, 5, 6]]),
        ],
    )
    def test_small_segments_are_joined_and_those_with_dead_rows_rewritten(self, segments, groups):
        given = [SimpleNamespace(living=living, rows=rows) for living, rows in segments]
        found = compaction.groups_to_rewrite(given)
        assert [[one.living for one in group] for group in found] == groups

    def test_a_reader_that_lists_while_all_is_replaced_and_compacted_sees_the_state_it_began_with(self, folder):
        with filled(folder) as collection:
            listing = collection.records(block=10)
            blocks = [next(listing)]
            collection.upsert(some_records(60, seed=1))
            collection.compact()
            assert as_dict(*blocks, *listing).keys() == as_dict(some_records(60)).keys()
            assert_holds(collection, as_dict(some_records(60, seed=1)), TOLERANCE)

    def test_a_reader_that_never_mapped_the_old_segments_finds_the_new_ones(self, folder):
        with filled(folder) as collection, Collection.open(str(folder), read_only=True) as reader:
            collection.delete(["id 0"])
            collection.compact()
            assert len(reader) == 59 and reader.search(np.ones((1, WIDTH), np.float32), 100)[0]

    def test_a_reader_reads_a_later_state_if_segments_are_compacted_before_it_maps_them(self, folder, monkeypatch):
        with filled(folder) as collection, Collection.open(str(folder), read_only=True) as reader:
            collection.delete(["id 0"])
            with monkeypatch.context() as patch:

                def compacted_first(*segment):
                    patch.undo()
                    collection.compact()
                    return segments.map_rows(*segment)

                patch.setattr("likewise.search.collection.snapshot.map_rows", compacted_first)
                assert len(reader.search(np.ones((1, WIDTH), np.float32), 100)[0]) == 59

    @pytest.mark.parametrize(("place", "ids"), [(64, ["id 16"]), (64 + 2 * WIDTH * 15 + 5, ["id 31"])])
    def test_a_damaged_vector_is_found_named_and_removed_and_the_rest_is_kept(self, folder, place, ids):
        filled(folder).close()
        flip(rows_files(folder)[1], place)
        with Collection.open(str(folder)) as collection:
            report = collection.verify()
            assert report.damaged == dict.fromkeys(ids, "vector") and not report.is_clean and report.records == 60
            with pytest.raises(BadInput, match="is damaged; verify"):
                collection.delete(["id 17"])
                collection.compact()
            assert_repaired(collection, folder, ids, gone=["id 17"])

    @pytest.mark.parametrize("rows", [5, 0, None, -1])
    def test_a_segment_that_is_short_missing_or_anothers_costs_its_own_records_alone(self, folder, rows):
        filled(folder).close()
        path = rows_files(folder)[1]
        if rows is None:
            path.unlink()
        elif rows < 0:
            shutil.copy(rows_files(folder)[0], path)
        else:
            path.write_bytes(path.read_bytes()[: 64 + rows * 2 * WIDTH])
        lost = [f"id {i}" for i in range(16 + max(rows or 0, 0), 32)]
        with Collection.open(str(folder)) as collection:
            report = collection.verify()
            assert [*report.damaged] == lost
            assert report.problems == [f"vectors/00000002.rows has {max(rows or 0, 0)} of 16 rows"]
            with pytest.raises(BadInput, match=r"00000002\.rows"):
                collection.search(np.ones((1, WIDTH), np.float32))
            assert_repaired(collection, folder, lost)

    def test_text_that_changed_on_the_disk_is_found_and_on_the_disk_again_before_it_is_removed(
        self, folder, monkeypatch
    ):
        synced = []
        monkeypatch.setattr(atomic_files, "sync_file", lambda path: synced.append(path.name))
        filled(folder).close()
        execute(folder, "UPDATE records SET text = 'other' WHERE id = 'id 4'")
        with Collection.open(str(folder)) as collection:
            report = collection.verify()
            assert report.damaged == {"id 4": "text, metadata or length"}
            assert_repaired(collection, folder, ["id 4"])
        assert synced == [path.name for path in folder.glob("damaged-*.jsonl")]

    @pytest.mark.parametrize(
        ("statement", "problem"),
        [
            ("DELETE FROM tombstones", "segment 1: 0 rows have both a record and a tombstone, and 1 have neither"),
            ("INSERT INTO tombstones (row) SELECT row FROM records WHERE id = 'id 9'", "1 rows have both"),
            ("UPDATE columns SET records = 3 WHERE name = 'year'", "the counts of metadata columns are wrong"),
            ("INSERT INTO words (words, rowid, text) VALUES ('delete', 3, 'text 0 2')", "index does not match"),
        ],
    )
    def test_counts_and_full_text_that_do_not_fit_are_found_and_mended(self, folder, statement, problem):
        with filled(folder) as collection:
            collection.delete(["id 0"])
        execute(folder, statement)
        with Collection.open(str(folder)) as collection:
            report = collection.verify()
            assert len(report.problems) == 1 and problem in report.problems[0] and not report.damaged
            assert_repaired(collection, folder, [], gone=["id 0"])

    def test_a_record_in_no_segment_is_named(self, folder):
        filled(folder).close()
        execute(folder, "UPDATE records SET row = 1000000 WHERE id = 'id 7'")
        with Collection.open(str(folder)) as collection:
            assert collection.verify().damaged == {"id 7": "row"}
            assert_repaired(collection, folder, ["id 7"])


def test_records_that_cannot_be_read_are_refused(folder):
    filled(folder).close()
    execute(folder, "UPDATE records SET length = 'long' WHERE id = 'id 4'; DELETE FROM records WHERE id = 'id 7'")
    with Collection.open(str(folder)) as collection:
        with pytest.raises(BadInput, match="is damaged; verify\\(\\) lists the damage"):
            collection.get(["id 4"])
        with pytest.raises(BadInput, match=f"row {(1 << 16) + 7} has no record, so the journal is damaged"):
            collection.search(np.ones((1, WIDTH), np.float32), 60)


def test_two_intact_records_of_one_id_are_beyond_repair(folder):
    with Collection.create(str(folder), WIDTH) as collection:
        collection.add(Records(["twin a", "twin b"], np.ones((2, WIDTH), np.float32)))
    db = sqlite3.connect(folder / "collection.sqlite")
    ((length,),) = db.execute("SELECT DISTINCT length FROM records")
    db.execute("UPDATE records SET checksum = ?", [record_checksum("twin a", None, None, length)])
    db.commit()
    db.close()
    path = folder / "collection.sqlite"
    path.write_bytes(path.read_bytes().replace(b"twin b", b"twin a"))
    with (
        Collection.open(str(folder)) as collection,
        pytest.raises(BadInput, match=r"UNIQUE constraint failed: records\.id"),
    ):
        collection.repair()


def assert_repaired(collection: Collection, folder: Path, lost: list[str], gone: tuple | list = ()) -> None:
    """Repair removes what is lost and nothing else, names it, and writes its texts to a file."""
    kept = {name: row for name, row in as_dict(some_records(60)).items() if name not in (*lost, *gone)}
    report = collection.repair()
    assert sorted(report.removed) == sorted(lost) and report.kept == len(kept)
    written = sorted(folder.glob("damaged-*.jsonl"))
    assert [report.file] == ([path.name for path in written] or [None])
    lines = [json.loads(line) for path in written for line in path.read_text("utf-8").splitlines()]
    assert [line["id"] for line in lines] == sorted(lost, key=lambda name: int(name[3:]))
    assert collection.verify().is_clean
    assert_holds(collection, kept, TOLERANCE)
    collection.close()
    with Collection.open(str(folder)) as again:
        assert_holds(again, kept, TOLERANCE)
        again.add(some_records(3, start=700))
        assert len(again) == len(kept) + 3 and again.search_words("text") and again.verify().is_clean


def test_numbers_of_the_file_format_are_not_changed_by_chance():
    layout = segments.RowFormat(384, np.dtype("<f2"))
    assert (segments.SEGMENT_ROWS, segments.HEADER_BYTES, layout.file_bytes(2)) == (65_536, 64, 64 + 2 * 768)
    assert layout.header(3)[:40] == b"likewise rows 1\n" + bytes([3, *[0] * 7, 128, 1, *[0] * 6]) + b"<f2     "


def test_a_torn_tail_is_cut_off_by_the_next_writer_and_not_seen_by_readers(folder):
    filled(folder).close()
    path = rows_files(folder)[0]
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b"half a row")
    (folder / "vectors" / "00000002.rows").write_bytes(b"a segment that was never committed")
    with Collection.open(str(folder), read_only=True) as reader:
        assert_holds(reader, as_dict(some_records(60)), TOLERANCE)
        assert path.stat().st_size > size
    with Collection.open(str(folder)) as collection:
        assert rows_files(folder) == [path] and path.stat().st_size == size
        assert_holds(collection, as_dict(some_records(60)), TOLERANCE)


def test_a_call_that_fails_leaves_no_rows_behind(folder, monkeypatch):
    with filled(folder) as collection:
        size = rows_files(folder)[0].stat().st_size

        def fail(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr("likewise.search.collection.collection.insert", fail)
        with pytest.raises(KeyboardInterrupt):
            collection.add(some_records(5, start=100))
        monkeypatch.undo()
        assert rows_files(folder)[0].stat().st_size == size
        collection.add(some_records(5, start=100))
        assert_holds(collection, as_dict(some_records(60)) | as_dict(some_records(5, start=100)), TOLERANCE)
        assert collection.verify().is_clean


TEXTS = ["the cat sat", "a dog and a cat", "Größe der Straße", "NEAR(cat dog) OR *", None, "cat cat cat cat"]


@pytest.mark.parametrize(
    ("query", "where", "expected"),
    [
        ("cat", None, ["5", "0", "1", "3"]),
        ("CAT dog", None, ["1", "3"]),
        ("cat", "odd = true", ["5", "1", "3"]),
        ("grosse strasse größe", None, ["2"]),
        ('"NEAR(" AND * text:cat ^ -', None, ["3"]),
        ("'; DROP TABLE records; --", None, []),
        ("", None, []),
        ("?!", None, []),
        ("unicorn", None, []),
    ],
)
def test_words_are_found_and_never_read_as_syntax(folder, query, where, expected):
    with Collection.create(str(folder), 2) as collection:
        ids = [str(i) for i in range(len(TEXTS))]
        metadata = [{"odd": bool(i % 2)} for i in range(len(TEXTS))]
        collection.add(Records(ids, np.ones((len(ids), 2), np.float32), TEXTS, metadata))
        found = collection.search_words(query, where=where)
        assert {match.id for match in found[: len(expected)]} == {*expected}
        assert [match.score for match in found] == sorted((match.score for match in found), reverse=True)
        assert [match.id for match in collection.search_words(query, 1, where)] == [m.id for m in found[:1]]
        collection.delete(["5"])
        collection.upsert(Records(["0"], np.ones((1, 2), np.float32), ["a unicorn"]))
        assert [match.id for match in collection.search_words("unicorn")] == ["0"]
        assert "5" not in {match.id for match in collection.search_words("cat")}


def test_columns_are_known_until_the_last_record_that_has_them_is_gone(folder):
    with Collection.create(str(folder), 2) as collection:
        collection.add(Records(["a", "b"], np.ones((2, 2), np.float32), None, [{"x": 1}, {"x": None, "y": 2}]))
        assert (collection.count("x = 1"), collection.count("x is null"), collection.count("y = 2")) == (1, 1, 1)
        collection.delete(["b"])
        with pytest.raises(BadInput, match="has the column 'y' used in the filter; its columns are x"):
            collection.count("y = 2")
        collection.upsert(Records(["a"], np.ones((1, 2), np.float32)))
        with pytest.raises(BadInput, match="its records have no metadata"):
            collection.count("x = 1")
