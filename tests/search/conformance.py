"""What every index promises: one suite for all of them, here and against servers (tests/integration).

A subclass of `IndexPromises`, and of `DurabilityPromises` where the row of INDEXES says so, whose fixture `place` gives
an empty `Place`, runs it.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from likewise.arrays.similarity import cosine
from likewise.errors import BadInput
from likewise.search.filters import matches, parse_filter
from likewise.search.index import Index, ModelIdentity
from likewise.search.indexes import IndexKind
from likewise.search.records import Records
from tests.search.index_process import BATCH, WIDTH, batch

ROOT = Path(__file__).parents[2]
MODEL = ModelIdentity("a-model", "f" * 40, (("query", "Q: "), ("document", "")))


@dataclass(frozen=True)
class Place:
    """Where an index can be made, of which kind, and by how much its scores may differ from exact ones."""

    kind: IndexKind
    location: str
    tolerance: float = 1e-3

    def create(self, width: int = WIDTH, model: ModelIdentity | None = None) -> Index:
        return self.kind.index_class().create(self.location, width, model)

    def open(self, *, read_only: bool = False) -> Index:
        return self.kind.index_class().open(self.location, read_only=read_only)

    def process(self, verb: str) -> subprocess.Popen:
        """`tests.search.index_process` on this index, which must be durable."""
        command = [sys.executable, "-m", "tests.search.index_process", verb, self.kind.home, self.location]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen(command, **pipes, text=True, cwd=ROOT, env={**environment, "OMP_NUM_THREADS": "1"})


@pytest.fixture
def index(place):
    with place.create(model=MODEL) as opened:
        yield opened


def some_records(count: int, seed: int = 0, start: int = 0) -> Records:
    """Records with metadata of every kind, some of it missing."""
    draw = np.random.default_rng(seed)
    vectors = draw.normal(size=(count, WIDTH)).astype(np.float32) * draw.uniform(0.1, 10, (count, 1)).astype(np.float32)
    return Records(
        [f"id {i}" for i in range(start, start + count)],
        vectors,
        [None if i % 7 == 3 else f"text {seed} {i}" for i in range(count)],
        [_metadata(i, seed) for i in range(count)],
    )


def _metadata(i: int, seed: int) -> dict:
    found = {"year": 2000 + (i + seed) % 30, "lang": ["en", "de", "fr"][i % 3], "draft": i % 2 == 0, "rate": i / 4}
    found |= {"year": None} if i % 11 == 5 else {"code": i if i % 2 else str(i)} if i % 5 == 0 else {}
    return {} if i % 13 == 12 else found


def as_dict(*blocks: Records) -> dict[str, tuple]:
    """Records by id: vector, text, metadata."""
    return {
        name: (vector, text, dict(metadata))
        for block in blocks
        for name, vector, text, metadata in zip(block.ids, block.vectors, block.texts, block.metadata, strict=True)
    }


def assert_holds(index: Index, expected: dict[str, tuple], tolerance: float) -> None:
    """The index holds these records and no others: listed, fetched, counted and found."""
    listed = as_dict(*index.records(block=7))
    assert sorted(listed) == sorted(expected)
    assert index.count() == len(index) == len(expected)
    assert sorted(index.ids()) == sorted(expected)
    fetched = as_dict(index.get(list(expected)))
    for found in (listed, fetched):
        for name, (vector, text, metadata) in expected.items():
            assert (found[name][1], found[name][2]) == (text, metadata)
            assert types_of(found[name][2]) == types_of(metadata)
            largest = tolerance * np.abs(vector).max()
            np.testing.assert_allclose(found[name][0], vector, rtol=2 * tolerance, atol=largest)
    assert_finds(index, expected, None, tolerance)


def types_of(metadata: Mapping[str, object]) -> dict[str, type]:
    """The type of each value; names have no order."""
    return {name: type(value) for name, value in metadata.items()}


def assert_finds(index: Index, expected: dict[str, tuple], where: str | None, tolerance: float, k: int = 5) -> None:
    """Search gives what comparing every record that passes with the queries gives."""
    queries = np.random.default_rng(1).normal(size=(3, WIDTH)).astype(np.float32)
    passing = {name: row for name, row in expected.items() if where is None or matches(parse_filter(where), row[2])}
    found = index.search(queries, k, where)
    assert len(found) == len(queries) and index.count(where) == len(passing)
    for query, row in zip(queries, found, strict=True):
        assert len(row) == min(k, len(passing)) and len({match.id for match in row}) == len(row)
        scores = {name: float(cosine(query[None], vector[None])[0, 0]) for name, (vector, _, _) in passing.items()}
        best = sorted(scores.values(), reverse=True)[:k]
        np.testing.assert_allclose([match.score for match in row], best, atol=tolerance)
        np.testing.assert_allclose([scores[match.id] for match in row], best, atol=tolerance)
        assert [match.score for match in row] == sorted((match.score for match in row), reverse=True)


FILTERS = [
    "year >= 2010",
    "year != 2003",
    "not (year >= 2010)",
    'lang = "en"',
    'lang != "en" and draft = true',
    "lang in ('de', 'fr') and not draft = true",
    "lang not in ('de', 'fr')",
    "lang like '_e'",
    "lang not like 'e%'",
    "year is null",
    "year is not null and rate < 3.5",
    "rate = 2.25 or rate = 3",
    "code = 5",
    "code = '10'",
    "code != '10'",
    "code is null or lang > 'de'",
    "lang >= 'e' and (year < 2005 or year > 2015)",
    "year = 9999",
]

ODD_IDS = [
    "' ; DROP TABLE records; --", '"', "\\", "%", "_", "a/b/../c", ".", "..", "null", "NULL", "0", "00", "0.0", " ",
    " a", "a ", "a", "A", "ß", "ss", "é", "e\N{COMBINING ACUTE ACCENT}", "😀", "\N{RIGHT-TO-LEFT OVERRIDE}abc",
    "日本語", "\n", "\t", "{}", "[1]", "$1", "?", ":id", "x" * 500, "\x7f", "\N{ZERO WIDTH SPACE}", "\U0010ffff",
]  # fmt: skip


REFUSED: dict[str, Callable[[Index], object]] = {
    "like those of this index": lambda index: index.add(Records(["a"], np.ones((1, WIDTH + 1), np.float32))),
    "NaN or infinity": lambda index: index.add(Records(["b", "a"], np.array([[1] * WIDTH, [np.nan] * WIDTH]))),
    "occurs earlier": lambda index: index.upsert(Records(["a", "b", "a"], np.ones((3, WIDTH), np.float32))),
    "got a single string,": lambda index: index.delete("id 0"),
    "got a single string, 'id 1'": lambda index: index.get("id 1"),
    "queries of shape": lambda index: index.search(np.ones((1, WIDTH - 1), np.float32)),
    "queries\\[0\\] contains": lambda index: index.search(np.full((1, WIDTH), np.inf, np.float32)),
    "k is 0": lambda index: index.search(np.ones((1, WIDTH), np.float32), 0),
    "no record in .* has the column 'yeer'": lambda index: index.search(np.ones((1, WIDTH), np.float32), 3, "yeer > 3"),
    "has the column 'x'": lambda index: index.count("year > 3 or x is null"),
    "the filter cannot be parsed at ▸": lambda index: index.count("1 = 1; DROP TABLE records"),
    "the filter ends": lambda index: index.count("year >="),
    "block is 0": lambda index: next(index.records(0)),
}


class IndexPromises:
    """Promises of adding, replacing, deleting, finding and keeping."""

    def test_what_is_added_is_listed_fetched_counted_and_found(self, place, index):
        records = some_records(40)
        index.add(records)
        assert_holds(index, as_dict(records), place.tolerance)

    def test_the_nearest_of_a_record_is_itself_whatever_its_length(self, place, index):
        records = some_records(20)
        index.add(records)
        for name, row in zip(records.ids, index.search(records.vectors * 7, 1), strict=True):
            assert row[0].id == name and row[0].score == pytest.approx(1, abs=place.tolerance)
        assert [len(row) for row in index.search(records.vectors[:2])] == [10, 10]

    @pytest.mark.parametrize("where", FILTERS)
    def test_a_filter_passes_what_the_reference_passes(self, place, index, where):
        records = some_records(60)
        index.add(records)
        assert_finds(index, as_dict(records), where, place.tolerance)

    def test_any_sequence_of_calls_leaves_what_a_dictionary_would_hold(self, place, index):
        draw, expected = np.random.default_rng(3), {}
        for step in range(25):
            records = some_records(int(draw.integers(1, 12)), step, int(draw.integers(0, 40)))
            verb = draw.choice(["add", "upsert", "delete"])
            if verb == "delete":
                assert index.delete(records.ids) == len(expected.keys() & {*records.ids})
                expected = {name: row for name, row in expected.items() if name not in records.ids}
            elif verb == "add" and expected.keys() & {*records.ids}:
                with pytest.raises(BadInput, match="already"):
                    index.add(records)
            else:
                getattr(index, verb)(records)
                expected |= as_dict(records)
            assert index.count() == len(expected)
        assert expected
        assert_holds(index, expected, place.tolerance)

    def test_an_id_that_is_there_is_not_added_again_and_nothing_of_the_call_is(self, place, index):
        index.add(some_records(5))
        with pytest.raises(BadInput, match="'id 4' is already in .*; upsert replaces it"):
            index.add(some_records(5, seed=1, start=4))
        assert_holds(index, as_dict(some_records(5)), place.tolerance)

    def test_upsert_replaces_vector_text_and_metadata(self, place, index):
        index.add(some_records(10))
        index.upsert(Records(["id 3", "new"], np.eye(2, WIDTH, dtype=np.float32), None, [{"only": "x"}, {}]))
        found = index.get(["id 3"])
        assert (found.texts, [dict(row) for row in found.metadata]) == ([None], [{"only": "x"}])
        contents = {name: (text, dict(row)) for name, (text, row) in index.contents(["new", "id 3"]).items()}
        assert contents == {"new": (None, {}), "id 3": (None, {"only": "x"})}
        assert index.search(np.eye(1, WIDTH, dtype=np.float32), 1)[0][0].id == "id 3"
        assert index.count("only = 'x'") == 1 and len(index) == 11

    def test_what_is_deleted_is_gone_and_can_come_back(self, place, index):
        records = some_records(12)
        index.add(records)
        assert index.delete(["id 1", "id 5", "unknown"]) == 2
        assert index.delete(["id 1"]) == 0
        left = {name: row for name, row in as_dict(records).items() if name not in ("id 1", "id 5")}
        assert_holds(index, left, place.tolerance)
        for read in (index.get, index.contents):
            with pytest.raises(BadInput, match="'id 5'"):
                read(["id 0", "id 5"])
        index.add(some_records(1, seed=9, start=5))
        assert_holds(index, left | as_dict(some_records(1, seed=9, start=5)), place.tolerance)

    def test_everything_can_be_deleted(self, place, index):
        index.add(some_records(9))
        assert index.delete(some_records(9).ids) == 9
        assert_holds(index, {}, place.tolerance)
        index.add(some_records(2))
        assert_holds(index, as_dict(some_records(2)), place.tolerance)

    def test_an_empty_index_finds_nothing(self, place, index):
        assert index.search(np.ones((2, WIDTH), np.float32)) == [[], []]
        assert index.count() == 0 and not [*index.records()] and index.get([]).ids == []
        nothing = Records([], np.empty((0, WIDTH), np.float32))
        index.add(nothing)
        index.upsert(nothing)
        assert index.delete([]) == 0 and index.search(nothing.vectors) == []

    def test_what_is_no_text_is_the_id_of_no_record(self, index):
        index.add(some_records(2))
        with pytest.raises(BadInput, match=r"b'id 1' is not in"):
            index.get([b"id 1"])

    def test_texts_and_metadata_may_be_missing(self, place, index):
        index.add(Records(["a", "b"], np.eye(2, WIDTH, dtype=np.float32)))
        found = index.get(["b", "a"])
        assert (found.ids, found.texts) == (["b", "a"], [None, None])
        assert [dict(row) for row in found.metadata] == [{}, {}]

    def test_values_come_back_as_they_are(self, place, index):
        values = dict(enumerate([1, 1.0, True, None, "", -(2**63), 2**63 - 1, 1e-300, 1e22, 2**53 + 1, -1.5]))
        values = {f"_{i}": value for i, value in values.items()}
        values |= {"text": "quotes \" ' and \\ and \n and 😀", "größe": 0.1 + 0.2, "select": 3}
        records = Records(["x"], np.ones((1, WIDTH), np.float32), ["a text\nof two lines\t😀 \x01"], [values])
        index.add(records)
        assert_holds(index, as_dict(records), place.tolerance)

    def test_ids_are_found_by_their_beginnings(self, index):
        ids = "a a# a#1 a#b#2 ab A#1 b ä#1 % _x \ud7ff# \ud7ff \ue000 \U0010ffff \U0010ffffa".split()  # noqa: SIM905
        index.add(Records(ids, np.ones((len(ids), WIDTH), np.float32)))
        one = [["a#"], ["\ud7ff"], ["\U0010ffff"], ["%"], ["_"], [""]]
        for beginnings in (*one, [], ["a", "b#"], ["a#", "a#b#", "x"]):
            expected = [name for name in ids if name.startswith(tuple(beginnings))]
            assert sorted(index.ids_beginning(beginnings)) == sorted(expected), beginnings
        assert sorted(index.ids_beginning(["a#"], exact=["b", "a#1", "nowhere"])) == ["a#", "a#1", "a#b#2", "b"]

    def test_odd_ids_are_told_apart_and_come_back(self, place, index):
        vectors = np.random.default_rng(0).normal(size=(len(ODD_IDS), WIDTH)).astype(np.float32)
        records = Records(ODD_IDS, vectors, ODD_IDS, [{"of": name} for name in ODD_IDS])
        index.add(records)
        assert_holds(index, as_dict(records), place.tolerance)
        assert index.count("of = 'a'") == 1 and index.count('of = "\' ; DROP TABLE records; --"') == 1
        assert index.delete(ODD_IDS[::2]) == len(ODD_IDS[::2])
        assert_holds(index, as_dict(Records(*(column[1::2] for column in _columns(records)))), place.tolerance)

    def test_a_zero_row_is_kept_and_has_the_cosine_0(self, place, index):
        index.add(Records(["zero", "one"], np.eye(2, WIDTH, k=-1, dtype=np.float32)))
        [found] = index.search(np.eye(1, WIDTH, dtype=np.float32))
        assert {match.id: round(match.score, 3) for match in found} == {"zero": 0, "one": 1}
        assert [m.score for m in index.search(np.zeros((1, WIDTH), np.float32))[0]] == [0, 0]
        assert not index.get(["zero"]).vectors.any()

    @pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32])
    def test_vectors_and_queries_of_any_number_type_are_taken(self, place, index, dtype):
        vectors = (np.arange(2 * WIDTH).reshape(2, WIDTH) % 5 + 1).astype(dtype)
        index.add(Records(["a", "b"], vectors))
        assert index.search(vectors, 1)[1][0].score == pytest.approx(1, abs=place.tolerance)
        np.testing.assert_allclose(index.get(["a", "b"]).vectors, vectors, rtol=2 * place.tolerance)

    def test_records_are_listed_in_blocks_and_in_one_order(self, index):
        index.add(some_records(25))
        blocks = [block.ids for block in index.records(block=10)]
        assert [len(ids) for ids in blocks] == [10, 10, 5]
        assert blocks == [block.ids for block in index.records(block=10)]

    @pytest.mark.parametrize("message", REFUSED)
    def test_what_cannot_be_done_is_refused_and_nothing_changes(self, place, index, message):
        index.add(some_records(4))
        with pytest.raises(BadInput, match=message):
            REFUSED[message](index)
        assert_holds(index, as_dict(some_records(4)), place.tolerance)

    def test_another_model_is_refused_and_both_are_named(self, place, index):
        index.check_model(MODEL)
        with pytest.raises(BadInput, match=r"of a-model \(fingerprint ffffffffffff\); got other \(000000"):
            index.check_model(ModelIdentity("other", "0" * 40))

    def test_what_was_stored_is_there_when_it_is_opened_again(self, place):
        with place.create(model=MODEL) as index:
            index.add(some_records(30))
            index.delete(["id 2"])
            index.upsert(some_records(3, seed=5, start=28))
        expected = as_dict(some_records(30)) | as_dict(some_records(3, seed=5, start=28))
        del expected["id 2"]
        with place.open() as again:
            assert (again.dimension, again.model, again.location) == (WIDTH, MODEL, place.location)
            assert_holds(again, expected, place.tolerance)
            again.add(some_records(1, seed=8, start=100))
        with place.open(read_only=True) as reader:
            assert_holds(reader, expected | as_dict(some_records(1, seed=8, start=100)), place.tolerance)
            again.close()

    def test_an_index_of_no_model_is_checked_against_none(self, place):
        place.create().close()
        with place.open() as index:
            assert index.model is None
            index.check_model(MODEL)

    def test_what_is_there_is_not_made_again_and_what_is_not_there_is_not_opened(self, place):
        with pytest.raises(BadInput):
            place.open()
        with place.create() as index:
            index.add(some_records(2))
        with pytest.raises(BadInput):
            place.create()
        with place.open() as index:
            assert len(index) == 2

    @pytest.mark.parametrize("width", [0, -1, 2.5, True])
    def test_an_impossible_width_is_refused(self, place, width):
        with pytest.raises(BadInput, match="dimension is"):
            place.create(width)

    @pytest.mark.parametrize("verb", ["add", "upsert", "delete"])
    def test_a_reader_does_not_write(self, place, index, verb):
        index.add(some_records(2))
        with place.open(read_only=True) as reader, pytest.raises(BadInput, match="read-only"):
            getattr(reader, verb)(["id 1"] if verb == "delete" else some_records(2))
        assert_holds(index, as_dict(some_records(2)), place.tolerance)

    def test_a_reader_sees_what_is_stored_after_it_was_opened(self, place, index):
        with place.open(read_only=True) as reader:
            assert_holds(reader, {}, place.tolerance)
            index.add(some_records(10))
            assert_holds(reader, as_dict(some_records(10)), place.tolerance)
            index.delete(some_records(9).ids)
            index.upsert(some_records(2, seed=4, start=9))
            assert_holds(reader, as_dict(some_records(2, seed=4, start=9)), place.tolerance)
            assert reader.count("lang = 'en'") == index.count("lang = 'en'") == 1


class DurabilityPromises:
    """Promises of an index that outlives its process."""

    def test_another_process_sees_what_is_stored_as_soon_as_it_is(self, place, index):
        with place.process("read") as reader:
            for number in range(4):
                index.add(batch(number))
                if number > 1:
                    index.delete(batch(number - 2).ids)
                found = _ask(reader)
                kept = range(max(0, number - 1), number + 1)
                assert found["ids"] == sorted(name for n in kept for name in batch(n).ids)
                assert found["count"] == len(found["ids"]) and len(found["nearest"]) == BATCH
                assert number > 1 or found["nearest"] == batch(0).ids
            reader.communicate()

    @pytest.mark.parametrize("calls", [1, 4, 9])
    def test_a_killed_writer_loses_no_call_that_returned_and_leaves_none_by_half(self, place, calls):
        place.create().close()
        with place.process("write") as writer:
            returned = [next(writer.stdout).split() for _ in range(calls)]
            writer.send_signal(signal.SIGKILL)
            returned += [line.split() for line in writer.stdout if line.endswith("\n")]
        with place.open() as index:
            assert_after_kill(index, returned)
            index.upsert(batch(0))
            assert index.search(batch(0).vectors[:1], 1)[0][0].id == "0-0"


def assert_after_kill(index: Index, returned: list[list[str]]) -> None:
    """Batches of `index_process.write` are there if the last call on them that returned added them; none is by half.

    One call may have been stored without having returned: the one that was killed.
    """
    added, deleted = ({int(number) for verb, number in returned if verb == kind} for kind in ("added", "deleted"))
    held: dict[int, int] = {}
    for block in index.records():
        for name in block.ids:
            held[int(name.split("-")[0])] = held.get(int(name.split("-")[0]), 0) + 1
    assert {*held.values()} <= {BATCH} and sum(held.values()) == index.count()
    expected, last = added - deleted, max(added)
    possible = [expected, expected | {last + 1}, expected - {last}]
    assert {*held} in possible
    for number in held:
        assert [dict(row) for row in index.get(batch(number).ids).metadata] == [{"batch": number}] * BATCH


def _ask(reader: subprocess.Popen) -> dict:
    reader.stdin.write("\n")
    reader.stdin.flush()
    return json.loads(reader.stdout.readline())


def _columns(records: Records) -> tuple:
    return records.ids, records.vectors, records.texts, records.metadata
