"""A reader that may not write to the folder sees whole states only, and never an old one, while others write."""

import multiprocessing
import os
import shutil
import sqlite3
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.search.collection import Collection
from likewise.search.records import Records

pytestmark = [
    pytest.mark.usefixtures("unchecked"),
    pytest.mark.skipif(
        getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can start a process of another user"
    ),
]
FORK = multiprocessing.get_context("fork")
NOBODY, WIDTH, COUNT, SECONDS = 65534, 8, 20, 3.0
LOG_FILES = ("collection.sqlite-wal", "collection.sqlite-shm")


@pytest.fixture
def folder():
    """A folder in one that everybody may enter; pytest's own are private."""
    parent = Path(tempfile.mkdtemp())
    parent.chmod(0o755)
    yield parent / "collection"
    shutil.rmtree(parent)


def generation(number: int) -> Records:
    """The same ids each time, with other vectors, texts and metadata: whole states have those of one number."""
    vectors = np.random.default_rng(number).normal(size=(COUNT, WIDTH)).astype(np.float32)
    return Records([f"{i}" for i in range(COUNT)], vectors, [f"number {number}"] * COUNT, [{"number": number}] * COUNT)


def filled(folder: Path) -> None:
    with Collection.create(str(folder), WIDTH) as collection:
        collection.upsert(generation(0))


def write(folder: Path, committed, stop, calls: int) -> None:
    """Replace all records, again and again; the collection is opened anew after some calls."""
    while not stop.is_set():
        with Collection.open(str(folder)) as collection:
            for _ in range(calls):
                if stop.is_set():
                    return
                collection.upsert(generation(committed.value + 1))
                committed.value += 1
            collection.compact()


def read(folder: Path, committed, results) -> None:
    """As nobody: read by one collection that stays open and by new ones, and report what is not one recent state."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    wrong, refused, seen, end = [], [], set(), time.monotonic() + SECONDS
    kept = None
    while time.monotonic() < end:
        try:
            kept = kept or Collection.open(str(folder), read_only=True)
            check_reading(kept, committed, wrong, seen)
            with Collection.open(str(folder), read_only=True) as opened:
                check_reading(opened, committed, wrong, seen)
        except BadInput as error:
            refused.append(str(error))
        except Exception as error:
            wrong.append(repr(error))
    results.put((wrong[:5], refused, len(seen)))


def check_reading(collection: Collection, committed, wrong: list, seen: set) -> None:
    least = committed.value
    blocks = list(collection.records(block=7))
    numbers = {row["number"] for block in blocks for row in block.metadata}
    texts = {text for block in blocks for text in block.texts}
    if len(numbers) != 1 or texts != {f"number {number}" for number in numbers} or min(numbers) < least:
        wrong.append(f"numbers {numbers}, texts {texts}, at least {least}")
    seen |= numbers
    counts = [
        collection.count(),
        collection.count(f"number >= {least}"),
        len(collection.search(np.ones((1, WIDTH), np.float32), 99)[0]),
        len(collection.search_words("number", 99)),
        sum(len(block) for block in blocks),
    ]
    if counts != [COUNT] * 5:
        wrong.append(f"counts {counts}")


def read_beside_writer(folder: Path, calls: int) -> tuple[list[str], list[str], int]:
    """What the reader reports: errors, refusals, and how many states it saw."""
    committed, stop, results = FORK.Value("i", 0), FORK.Event(), FORK.Queue()
    writer = FORK.Process(target=write, args=(folder, committed, stop, calls))
    reader = FORK.Process(target=read, args=(folder, committed, results))
    reader.start()
    writer.start()
    try:
        return results.get(timeout=60)
    finally:
        stop.set()
        for process in (reader, writer):
            process.join(timeout=30)
            process.kill()


@pytest.mark.parametrize("calls", [10**9, 3])
def test_it_sees_whole_recent_states_beside_a_writer_that_stays_or_comes_and_goes(folder, calls):
    filled(folder)
    wrong, refused, states = read_beside_writer(folder, calls)
    assert (wrong, refused) == ([], []) and states > 3


@pytest.mark.parametrize("calls", [10**9, 3])
def test_without_the_files_of_the_log_it_is_refused_at_most_until_a_writer_has_made_them(folder, calls):
    filled(folder)
    for name in LOG_FILES:
        (folder / name).unlink()
    wrong, refused, states = read_beside_writer(folder, calls)
    assert wrong == [] and states > 3
    assert all("was written by another process while it was being read" in message for message in refused)


def test_it_reads_a_folder_that_nobody_writes_with_and_without_the_files_of_the_log(folder):
    filled(folder)
    assert [(folder / name).stat().st_size for name in LOG_FILES] == [0, 0]
    for names in ((), LOG_FILES):
        for name in names:
            (folder / name).unlink()
        results = FORK.Queue()
        reader = FORK.Process(target=read, args=(folder, FORK.Value("i", 0), results))
        reader.start()
        assert results.get(timeout=60) == ([], [], 1)
        reader.join()


def test_the_files_of_the_log_have_the_owner_and_the_mode_of_the_journal(folder):
    filled(folder)
    for name in LOG_FILES:
        (folder / name).unlink()
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    (folder / "collection.sqlite").chmod(0o640)
    Collection.open(str(folder)).close()
    states = [(folder / name).stat() for name in LOG_FILES]
    assert [(state.st_uid, state.st_gid, state.st_mode & 0o777) for state in states] == [(NOBODY, NOBODY, 0o640)] * 2


class Unready(sqlite3.Connection):
    """As beside a writer that was interrupted while it changed the log: the first statements cannot read."""

    left = 3

    def execute(self, *arguments):
        if self.left:
            self.left -= 1
            error = sqlite3.OperationalError("attempt to write a readonly database")
            error.sqlite_errorname = "SQLITE_READONLY_RECOVERY"
            raise error
        return super().execute(*arguments)


def test_the_first_statement_waits_for_a_log_that_is_not_ready(folder, monkeypatch):
    filled(folder)
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Unready))
    with Collection.open(str(folder), read_only=True) as collection:
        assert collection.count() == COUNT
