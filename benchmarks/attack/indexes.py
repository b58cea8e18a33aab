"""Indexes on a faulty disk, with hostile queries, and read by processes without write permission while others write.

A flipped bit anywhere in any file must be detected or change no result, and `repair` must leave a clean index; queries
and filters of any form must end soon; a reader without write permission must see only committed states.
"""

import json
import multiprocessing
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from likewise.errors import BadInput, LikewiseError
from likewise.search.collection import Collection
from likewise.search.records import Records

from ..killing import use_segments_of
from .attempt import Attempt, Setup, expect
from .bombs import QUERIES

WIDTH, COUNT, SEGMENT_ROWS = 8, 40, 16
RANGES = 60
"""Number of byte ranges per file; in each of a few copies, one bit of one range is flipped."""
FLIPS = 3
SECONDS = 3.0
"""The time limit of a query or a filter."""
NOBODY = 65534
FORK = multiprocessing.get_context("fork")


def make(models: Path) -> None:
    """Create a small index with several segments and every kind of file, and record its results."""
    use_segments_of(SEGMENT_ROWS)
    folder = models / "indexes/small"
    folder.parent.mkdir()
    with Collection.create(str(folder), WIDTH) as collection:
        collection.add(_records(0))
        collection.delete(["3"])
        (folder.parent / "answers.json").write_text(json.dumps(_answers(collection)))


def _records(number: int) -> Records:
    """Return records whose vectors, texts and metadata depend on `number`, and whose ids do not."""
    vectors = np.random.default_rng(number).normal(size=(COUNT, WIDTH)).astype(np.float32)
    about = [{"number": number, "lang": ("en", "fr")[i % 2], "year": 2000 + i} for i in range(COUNT)]
    return Records([f"{i}" for i in range(COUNT)], vectors, [f"number {number}"] * COUNT, about)


def attempts(setup: Setup) -> Iterator[Attempt]:
    """Yield attempts with damage, queries, filters and readers."""
    step = 10 if setup.quick else 1
    folder, outputs = setup.models / "indexes/small", ("copy", "copy/*")
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        for part in range(0, min(RANGES, max(1, path.stat().st_size)), step):
            yield Attempt(f"indexes/flip/{name}/{part}", partial(_flip, setup, name, part), outputs)
        for how in DAMAGE:
            yield Attempt(f"indexes/{how}/{name}", partial(_damage, setup, name, how), outputs)
    for name, query in [*QUERIES.items()][::step]:
        yield Attempt(f"indexes/words/{name}", partial(_ask, setup, lambda c, q=query: c.search_words(q)))
    for name, where in [*FILTERS.items()][::step]:
        yield Attempt(f"indexes/filter/{name}", partial(_ask, setup, lambda c, w=where: c.count(w)))
    if os.geteuid() == 0:  # only root can start processes of another user
        for name in [*WRITERS][::step]:
            for log in ("log", "no-log"):
                work = partial(_read_beside, name, log == "log")
                yield Attempt(f"indexes/reader/{name}/{log}", work, ("index", "index/*"), keeps_rights=True)


# damage


def _answers(collection: Collection) -> Any:
    """Return the results of every read operation as JSON values."""
    blocks = list(collection.records())
    rows = [
        [row for block in blocks for row in zip(block.ids, block.texts or (), block.metadata or (), strict=True)],
        np.concatenate([block.vectors for block in blocks]).tolist(),
        [collection.count(), collection.count("year >= 2010"), collection.count("lang = 'en'")],
        sorted(match.id for match in collection.search_words("number", COUNT)),
        [match.id for match in collection.search(np.ones((1, WIDTH), np.float32), COUNT)[0]],
    ]
    return json.loads(json.dumps(rows))


def _flip(setup: Setup, name: str, part: int) -> str:
    """Flip a bit in this range of the file, in one copy after another."""
    draw = random.Random(f"{setup.seed} {name} {part}")
    size = (setup.models / "indexes/small" / name).stat().st_size
    if size == 0:
        return _damage(setup, name, "noise")
    ranges = min(RANGES, size)
    found = set()
    for _ in range(FLIPS):
        place = draw.randrange(part * size // ranges, (part + 1) * size // ranges)
        found.add(_checked(setup, name, partial(_flipped, place, draw.randrange(8)), f"bit of byte {place}"))
    return min(found)


def _flipped(place: int, bit: int, data: bytes) -> bytes:
    return data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


DAMAGE: Mapping[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda _: None,
    "empty": lambda _: b"",
    "half": lambda data: data[: len(data) // 2],
    "short": lambda data: data[:-1],
    "long": lambda data: data + b"\0" * 8,
    "twice": lambda data: data + data,
    "zeros": lambda data: bytes(len(data)),
    "noise": lambda data: random.Random(7).randbytes(len(data) or 100),
    "zeros-in-the-middle": lambda data: (
        data[: len(data) // 3] + bytes(len(data) // 9) + data[len(data) // 3 + len(data) // 9 :]
    ),
    "noise-at-the-end": lambda data: data[: -len(data) // 8] + random.Random(7).randbytes(len(data) // 8),
}


def _damage(setup: Setup, name: str, how: str) -> str:
    return _checked(setup, name, DAMAGE[how], how)


def _checked(setup: Setup, name: str, change: Callable[[bytes], bytes | None], about: str) -> str:
    """Check that a damaged copy gives the same results or the damage is detected, and that `repair` cleans it."""
    use_segments_of(SEGMENT_ROWS)
    shutil.rmtree("copy", ignore_errors=True)
    shutil.copytree(setup.models / "indexes/small", "copy")
    path = Path("copy") / name
    changed = change(path.read_bytes())
    path.unlink()
    if changed is not None:
        path.write_bytes(changed)
    expected = json.loads((setup.models / "indexes/answers.json").read_text())
    try:
        with Collection.open("copy") as collection:
            return _noticed(collection, expected, f"{name}: {about}")
    except LikewiseError:
        return "refused"


def _noticed(collection: Collection, expected: Any, about: str) -> str:
    try:
        right = _answers(collection) == expected
    except LikewiseError:
        right = False
    clean = collection.verify().is_clean
    expect(right or not clean, "wrong answer", f"{about}: different results, but verify() reports no damage")
    if clean:
        return "answered"
    collection.repair()
    expect(collection.verify().is_clean, "wrong answer", f"{about}: the index is not clean after repair()")
    _answers(collection)
    return "refused"


# questions

FILTERS: Mapping[str, str] = {
    "parentheses": "(" * 5_000 + "year = 1" + ")" * 5_000,
    "open-parentheses": "(" * 10_000,
    "nots": "not " * 2_000 + "year = 1",
    "ors": " or ".join(["year = 1"] * 400),
    "many-ors": " or ".join(["year = 1"] * 100_000),
    "ands": " and ".join(["year >= 1"] * 400),
    "in": f"year in ({', '.join(map(str, range(10_000)))})",
    "large-in": f"year in ({', '.join(map(str, range(300_000)))})",
    "like": "lang like '" + "%a" * 400 + "%'",
    "like-underscores": "lang like '" + "%_" * 400 + "'",
    "like-long": "lang like '" + "%a" * 200_000 + "'",
    "columns": " or ".join(f"column{i} = 1" for i in range(400)),
    "number": "year = " + "9" * 100_000,
    "exponent": "year = 1e999999999",
    "fractions": "year = 0." + "1" * 100_000,
    "quotes": "lang = '" + "''" * 100_000 + "'",
    "open-quote": "lang = '" + "a" * 1_000_000,
    "sql": "year = 1; drop table records; --",
    "sql-union": "year = 1 union select 1",
    "nul": "year = 1\0",
    "surrogate": "lang = '\ud800'",
    "name": "`" + "a" * 100_000 + "` = 1",
    "name-quotes": "`a\"b'c` = 1",
    "blanks": " " * 1_000_000 + "year = 1",
    "empty": "",
}


def _ask(setup: Setup, question: Callable[[Collection], Any]) -> None:
    """Check that a query of a large index ends soon, with a result or an error."""
    with Collection.open(str(setup.models / "collections/many"), read_only=True) as collection:
        began = time.monotonic()
        try:
            question(collection)
        finally:
            seconds = time.monotonic() - began
            expect(seconds < SECONDS, "hang", f"answered after {seconds:.1f} s")


# readers without permission beside writers


def _upsert(collection: Collection, number: int) -> None:
    collection.upsert(_records(number))


WRITERS: Mapping[str, Callable[[Collection, int], Any]] = {
    "upserts": _upsert,
    "compacts": lambda c, n: [_upsert(c, n), c.compact()],
    "verifies": lambda c, n: [_upsert(c, n), c.verify()],
    "comes-and-goes": _upsert,
    "is-killed": _upsert,
}


def _read_beside(name: str, with_log: bool) -> None:
    """Read as another user for a while; each state that the process sees must be complete and current."""
    with Collection.create("index", WIDTH) as collection:
        collection.add(_records(0))
    if not with_log:
        for path in Path("index").glob("*.sqlite-*"):
            path.unlink()
    committed, results = FORK.Value("i", 0), FORK.Queue()
    reader = FORK.Process(target=_read, args=(committed, results))
    reader.start()
    while reader.is_alive() and results.empty():
        writer = FORK.Process(target=_write, args=(name, committed))
        writer.start()
        writer.join(0.3 if name == "is-killed" else SECONDS)
        writer.kill()
        writer.join()
    wrong, states = results.get(timeout=10)
    reader.join()
    expect(not wrong, "wrong answer", f"{wrong[:3]}")
    expect(states > 1, "wrong answer", f"the reader saw only {states} states: the attack itself failed")


def _write(name: str, committed: Any) -> None:
    with Collection.open("index") as collection:
        for _ in range(3 if name == "comes-and-goes" else 1_000):
            number = committed.value + 1
            WRITERS[name](collection, number)
            committed.value = number


def _read(committed: Any, results: Any) -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    wrong: list[str] = []
    states: set[int] = set()
    end, kept = time.monotonic() + 2.0, None
    while time.monotonic() < end and not wrong:
        try:
            kept = kept or Collection.open("index", read_only=True)
            _check_state(kept, committed, wrong, states)
            with Collection.open("index", read_only=True) as opened:
                _check_state(opened, committed, wrong, states)
        except BadInput as error:  # allowed between the end of one writer and the start of the next
            if "was written by another process while it was read" not in str(error):
                wrong.append(str(error))
        except Exception as error:
            wrong.append(repr(error))
    results.put((wrong, len(states)))


def _check_state(collection: Collection, committed: Any, wrong: list[str], states: set[int]) -> None:
    least = committed.value
    blocks = list(collection.records(block=7))
    numbers = {int(row["number"] or 0) for block in blocks for row in block.metadata or ()}
    texts = {text for block in blocks for text in block.texts or ()}
    if len(numbers) != 1 or texts != {f"number {n}" for n in numbers} or min(numbers) < least:
        wrong.append(f"numbers {numbers}, texts {texts}, at least {least} was committed")
    found = [collection.count(), len(collection.search_words("number", 99)), sum(map(len, blocks))]
    if found != [COUNT] * len(found):
        wrong.append(f"counts {found}")
    states |= numbers
