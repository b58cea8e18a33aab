"""A migration mixes and loses nothing, does not repeat finished work, and notices changes."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.evaluate.statistics.significance import Interval
from likewise.migrate import Migration, MigrationReport, VectorMap
from likewise.search.backends.memory_index import MemoryIndex, MemoryRecords
from likewise.search.index import ModelIdentity
from likewise.search.records import Records
from tests.search.conformance import as_dict

OLD, NEW, OTHER = (ModelIdentity(name, name * 8) for name in ("old", "new", "other"))
TEXTS = [f"text {i}" for i in range(25)]


def vector(text: str, width: int, model: int) -> np.ndarray:
    return np.random.default_rng([model, *text.encode()]).normal(size=width)


def encode_old(texts):
    return np.array([vector(text, 6, 0) for text in texts], np.float32)


class Encoder:
    """Encodes with the new model and counts texts; raises an error after `fails_after` texts, like a killed process."""

    def __init__(self, fails_after: float = np.inf, then=lambda: None) -> None:
        self.texts: list[str] = []
        self.fails_after, self.then = fails_after, then

    def __call__(self, texts):
        if len(self.texts) + len(texts) > self.fails_after:
            raise KeyboardInterrupt
        self.texts += texts
        self.then()
        return np.array([vector(text, 4, 1) for text in texts], np.float32)


def record(i: int, text: str) -> Records:
    return Records([f"id{i}"], encode_old([text]), [text], [{"number": i}])


@pytest.fixture
def old():
    index = MemoryIndex("old place", MemoryRecords(6, OLD))
    for i, text in enumerate(TEXTS):
        index.add(record(i, text))
    return index


@pytest.fixture
def new():
    return MemoryIndex("new place", MemoryRecords(4, NEW))


@pytest.fixture
def to_old():
    matrix = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
    return VectorMap(NEW, OLD, "procrustes", matrix, np.zeros(4), np.zeros(6), Interval(0.5, 0.4, 0.6), 100)


def test_every_record_is_encoded_once_with_its_text_and_metadata(old, new):
    encoder = Encoder()
    assert Migration(old, new, encoder).run(block=4, show_progress_bar=False) == MigrationReport(25, 0, 0, 2)
    assert encoder.texts == TEXTS and list(new.ids()) == list(old.ids())
    for name, (stored, text, metadata) in as_dict(*new.records()).items():
        np.testing.assert_allclose(stored, vector(text, 4, 1), atol=1e-6)
        assert (text, metadata) == old.contents([name])[name]


def test_records_without_metadata_are_migrated_too_and_known_again(old, new, monkeypatch):
    bare = (replace(records, metadata=None) for _ in range(4) for records in MemoryIndex.records(old))
    monkeypatch.setattr(old, "records", lambda block: iter([next(bare)]))
    encoder = Encoder()
    assert Migration(old, new, encoder).run(show_progress_bar=False) == MigrationReport(25, 0, 0, 2)
    assert encoder.texts == TEXTS and all(row == {} for records in new.records() for row in records.metadata)
    assert Migration(old, new, Encoder()).run(show_progress_bar=False) == MigrationReport(0, 25, 0, 1)


def test_queries_go_to_the_old_index_mapped_until_the_new_one_is_complete(old, new, to_old):
    queries, seen = encoder_rows(["text 3", "text 4"]), []
    migration = Migration(old, new, Encoder(then=lambda: seen.append(migration.search(queries, 3))), to_old)
    expected = old.search(to_old(queries), 3)
    assert migration.search(queries, 3) == expected
    migration.run(block=10, show_progress_bar=False)
    assert seen == [expected] * 3  # a search during the migration also finds only vectors of the old index
    assert [len(matches) for matches in migration.search(queries)] == [10, 10]
    assert [matches[0].id for matches in migration.search(queries, 3)] == ["id3", "id4"]
    assert migration.search(queries, 3) == new.search(queries, 3)


def encoder_rows(texts):
    return Encoder()(texts)


def test_without_a_map_there_is_no_search_before_the_end(old, new):
    migration = Migration(old, new, Encoder())
    with pytest.raises(BadInput, match="new place is not complete, and no map .* search old place with its own model"):
        migration.search(encoder_rows(["a"]))


def test_a_killed_migration_goes_on_where_it_was(old, new):
    with pytest.raises(KeyboardInterrupt):
        Migration(old, new, Encoder(fails_after=10)).run(block=5, show_progress_bar=False)
    assert len(new) == 10
    encoder = Encoder()
    assert Migration(old, new, encoder).run(block=5, show_progress_bar=False) == MigrationReport(15, 10, 0, 2)
    assert encoder.texts == TEXTS[10:]


def test_what_is_written_to_the_old_index_meanwhile_is_migrated_too(old, new):
    replaced, deleted = lambda: old.upsert(record(0, "another text")), lambda: old.delete(["id1", "id20"])
    changes = iter([replaced, deleted, lambda: old.add(record(99, "a new one"))])
    encoder = Encoder(then=lambda: next(changes, lambda: None)())
    report = Migration(old, new, encoder).run(block=5, show_progress_bar=False)
    assert new.contents([*new.ids()]) == old.contents([*old.ids()])
    np.testing.assert_allclose(new.get(["id0"]).vectors[0], vector("another text", 4, 1), atol=1e-6)
    assert report.deleted >= 1 and report.encoded == len(encoder.texts)


def test_a_changed_record_is_encoded_again_after_a_restart(old, new):
    Migration(old, new, Encoder()).run(show_progress_bar=False)
    old.upsert(record(7, "changed"))
    old.delete(["id8"])
    encoder = Encoder()
    assert Migration(old, new, encoder).run(show_progress_bar=False) == MigrationReport(1, 25, 1, 2)
    assert encoder.texts == ["changed"] and "id8" not in {*new.ids()}


def test_the_order_of_a_record_s_metadata_is_no_change(old, new):
    row = {"b": 1, "a": 2}
    for metadata in (row, dict(reversed(row.items()))):
        old.upsert(Records(["id0"], encode_old(["x"]), ["x"], [metadata]))
        report = Migration(old, new, Encoder()).run(show_progress_bar=False)
    assert report == MigrationReport(0, 25, 0, 1)


def test_an_index_that_rests_in_none_of_ten_passes_is_reported(old, new):
    left = iter(range(8))
    encoder = Encoder(then=lambda: [old.add(record(100 + i, "more")) for i in islice(left, 1)])
    assert Migration(old, new, encoder).run(show_progress_bar=False) == MigrationReport(33, 0, 0, 10)
    left = iter(range(8, 17))
    old.upsert(record(0, "changed"))
    with pytest.raises(BadInput, match="old place was written to during each of 10 passes"):
        Migration(old, new, encoder).run(show_progress_bar=False)


def test_a_record_without_a_text_is_named(old, new):
    old.upsert(Records(["id5"], encode_old(["x"])))
    with pytest.raises(BadInput, match="old place has no text for 'id5'"):
        Migration(old, new, Encoder()).run(show_progress_bar=False)


def test_an_empty_index_is_complete_at_once(new):
    empty = MemoryIndex("old place", MemoryRecords(6, OLD))
    assert Migration(empty, new, Encoder()).run(show_progress_bar=False) == MigrationReport(0, 0, 0, 1)


def test_indexes_and_maps_of_other_models_are_refused(old, new, to_old):
    for same in (old, MemoryIndex("old place", MemoryRecords(4, NEW))):
        with pytest.raises(BadInput, match="the new index is the old one, old place"):
            Migration(old, same, Encoder())
    with pytest.raises(BadInput, match="holds vectors of other .* got new"):
        Migration(old, MemoryIndex("new place", MemoryRecords(4, OTHER)), Encoder(), to_old)
    with pytest.raises(BadInput, match="holds vectors of other .* got old"):
        Migration(MemoryIndex("old place", MemoryRecords(6, OTHER)), new, Encoder(), to_old)


def test_progress_counts_every_record(old, new):
    meters = []
    Migration(old, new, Encoder()).run(
        block=10, show_progress_bar=lambda meter: meters.append((meter.texts, meter.tokens, meter.total))
    )
    assert meters == [(10, 0, 25), (20, 0, 25), (25, 0, 25)] * 2
