"""Two concurrent writers of every file: each must succeed or be refused, and nothing may be lost or mixed.

Two processes run the same command from `kills` while a third reads its output; then several processes change the same
API keys and indexes.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from likewise import Embedder
from likewise.errors import LikewiseError
from likewise.search.collection import Collection
from likewise.search.texts.text_index import TextIndex
from likewise.serve.api_keys import add_key, read_keys, remove_key

from .attempt import Attempt, Setup, expect, leftovers, listing
from .kills import VICTIMS, finished, forked, same, seen

ROUNDS = 3
PROCESSES = 6
"""Number of processes that change the same file."""
REFUSED = 2


def attempts(setup: Setup) -> Iterator[Attempt]:
    """Yield attempts with concurrent commands, and with concurrent changes to shared files."""
    for i in range(1 if setup.quick else ROUNDS):
        for name, victim in VICTIMS.items():
            outputs = ("given.*", "small.csv", "triplets.csv", "table.txt", "data", "data/*", *victim.outputs)
            yield Attempt(f"writers/{name}/{i}", partial(_try, setup, name, i), outputs)
        for name, work in CHANGES.items():
            yield Attempt(f"writers/{name}/{i}", partial(work, setup, i), ("keys.json", "x.index", "x.index/*"))


def _refusing(work: Callable[[], Any]) -> None:
    try:
        work()
    except LikewiseError as error:
        raise SystemExit(REFUSED) from error


def _at_once(works: Sequence[Callable[[], Any]], delay: float = 0.0) -> list[bool]:
    """Run each function in its own process; returns which of them succeed. All others must be refused."""
    children = []
    for work in works:
        children.append(forked(partial(_refusing, work)))
        time.sleep(delay)
    codes = [finished(child) for child in children]
    expect(set(codes) <= {0, 1, REFUSED}, "crash", f"the processes ended with {codes}")
    expect(0 in codes, "wrong answer", f"all {len(codes)} concurrent writers were refused: {codes}")
    return [code == 0 for code in codes]


def _try(setup: Setup, name: str, i: int) -> str:
    victim, whole = VICTIMS[name], setup.models / "kills" / name
    victim.before(setup)
    before, old = listing(Path()), {folder: seen(Path(folder)) for folder in victim.folders}
    seconds = float((whole / "seconds").read_text())
    delay = random.Random(f"{setup.seed} {name} {i}").uniform(0, 0.3 * seconds) if i else 0.0
    reader = forked(partial(_read, victim.folders, old, whole))
    succeeded = _at_once([partial(victim.work, setup)] * 2, delay)
    Path("done").touch()
    expect(
        finished(reader) == 0,
        "neither model",
        "a concurrent reader found a model that is neither the old nor the new one",
    )
    Path("done").unlink()
    left = leftovers(before, listing(Path()), ("*",))
    expect(not left, "leftover", f"left behind: {', '.join(left[:5])}")
    for file in victim.files:
        is_whole = Path(file).read_bytes() == (whole / file).read_bytes()
        expect(is_whole, "wrong answer", f"{file} differs from that of a single writer")
    for folder in victim.folders:
        found = seen(Path(folder))
        expect(same(found, seen(whole / folder)), "neither model", f"afterwards {folder} is {found!r:.200}")
    return "answered" if all(succeeded) else "refused"


def _read(folders: Sequence[str], old: Mapping[str, Any], whole: Path) -> None:
    """Check that a model that is read while it is being written is the old one, the new one, or an error."""
    new = {folder: seen(whole / folder) for folder in folders}
    while folders and not Path("done").exists():
        for folder in folders:
            found = seen(Path(folder))
            if not (isinstance(found, str) or same(found, old[folder]) or same(found, new[folder])):
                raise SystemExit(1)
        time.sleep(0.01)


# files that several processes change at the same time


def _add_keys(_: Setup, i: int) -> None:
    file = Path("keys.json")
    for number in range(i * PROCESSES):
        add_key(file, f"old {number}")
    succeeded = _at_once([partial(add_key, file, f"new {number}") for number in range(PROCESSES)])
    expected = {f"old {n}" for n in range(i * PROCESSES)} | {f"new {n}" for n in range(PROCESSES) if succeeded[n]}
    found = {key.name for key in read_keys(file)}
    expect(found == expected, "lost rows", f"keys {sorted(found)} instead of {sorted(expected)}")


def _change_keys(_: Setup, i: int) -> None:
    file = Path("keys.json")
    for number in range(PROCESSES):
        add_key(file, f"old {number}")
    works = [partial(remove_key if n % 2 else add_key, file, f"old {n}" if n % 2 else f"new {n} {i}") for n in range(6)]
    succeeded = _at_once(works)
    found = {key.name for key in read_keys(file)}
    for n, done in enumerate(succeeded):
        name = f"old {n}" if n % 2 else f"new {n} {i}"
        expect((name in found) == (done != bool(n % 2)), "lost rows", f"{name}: {done}, but found {sorted(found)}")


def _same_key(_: Setup, i: int) -> None:
    succeeded = _at_once([partial(add_key, Path("keys.json"), f"one {i}")] * PROCESSES)
    expect(sum(succeeded) == 1, "wrong answer", f"{sum(succeeded)} of {PROCESSES} created a key with the same name")
    expect(len(read_keys(Path("keys.json"))) == 1, "wrong answer", "the file contains several keys with the same name")


def _texts_of(number: int) -> list[str]:
    return [f"the cat {number} sleeps for {n} hours" for n in range(30)]


def _add_texts(setup: Setup, number: int) -> None:
    with TextIndex.open("x.index", Embedder.load(setup.models / "words", engine="numpy")) as index:
        index.add(_texts_of(number))


def _add_to_index(setup: Setup, i: int) -> None:
    """Let several writers add to a new index (in the first round) or to an existing index."""
    if i:
        _add_texts(setup, 99)
    succeeded = _at_once([partial(_add_texts, setup, number) for number in range(3)], 0.02 * i)
    expected = {text for n in range(3) if succeeded[n] for text in _texts_of(n)} | {*(_texts_of(99) if i else ())}
    _check_index(expected)
    for number in range(3):
        _add_texts(setup, number)
    _check_index({text for n in (0, 1, 2, *((99,) if i else ())) for text in _texts_of(n)})


def _compact_index(setup: Setup, i: int) -> None:
    """Let one process add, one compact, and one remove the derived files, which is allowed at any time."""
    _add_texts(setup, 99)

    def opened(do: Callable[[Collection], Any]) -> None:
        with Collection.open("x.index") as collection:
            do(collection)

    works = [
        partial(_add_texts, setup, 1),
        partial(opened, Collection.compact),
        lambda: [path.unlink(missing_ok=True) for path in Path("x.index/derived").glob("*.*")],
    ]
    succeeded = _at_once(works[i % 3 :] + works[: i % 3])
    added = succeeded[-i % 3]
    _check_index({*_texts_of(99), *(_texts_of(1) if added else ())})


def _check_index(expected: set[str]) -> None:
    with Collection.open("x.index") as collection:
        found = [text for block in collection.records() for text in block.texts or ()]
        expect(set(found) >= expected, "lost rows", f"{len(set(found))} texts of {len(expected)}")
        expect(sorted(found) == sorted(expected), "wrong answer", f"{len(found)} texts, expected {len(expected)}")
        expect(collection.verify().is_clean, "partial file", f"verify finds {collection.verify()}")


CHANGES: Mapping[str, Callable[[Setup, int], None]] = {
    "keys-add": _add_keys,
    "keys-change": _change_keys,
    "keys-same": _same_key,
    "index-add": _add_to_index,
    "index-compact": _compact_index,
}
