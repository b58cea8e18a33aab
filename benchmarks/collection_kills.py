"""Does a collection lose acknowledged writes when its process is killed or the disk is full?

    python -m benchmarks.collection_kills [--kills 200] [--seed 0] [--full-disk tmpfs|limit|none] [--step 1]

Kills: processes add, replace, delete and compact at random, and report each call before it begins and after it
returns, until SIGKILL ends them at a random moment. Then the collection must contain exactly the results of the calls
that returned and, at most, the complete result of the call in progress; every record must occur once, with its own
vector, and `verify` must find no problem.

Full disk: each kind of call is repeated on a copy of a small collection, with room for one more 4 KiB page each time,
from no room until the call succeeds. Until then it must fail with BadInput and change nothing, a reader must still see
every record, and the same call must succeed once there is room. `tmpfs` mounts a small disk in memory (which needs
permission); `limit` limits the size of files instead. The exit status is 1 if anything was lost.
"""

import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import numpy as np

from likewise.errors import BadInput
from likewise.search.collection import Collection
from likewise.search.records import Records

from .killing import Report, lived, summary, use_segments_of
from .options import options

WIDTH, BATCH, PAGE = 16, 20, 4096
DISK = 8 << 20  # size of the small disk, in bytes
ENOUGH = 3  # consecutive successes that show that there is enough room
State = dict[str, int]
"""The expected contents of a collection: for each id, the version, which determines the vector."""


def main() -> int:
    args = options(
        __doc__, kills=200, seed=0, longest=0.4, full_disk=("tmpfs", "limit", "none"), step=1, segment_rows=128
    )
    use_segments_of(args.segment_rows)
    with tempfile.TemporaryDirectory() as place:
        wrong = 0
        if args.kills:
            wrong = killed_again_and_again(Path(place), args.kills, args.longest, random.Random(args.seed))
        if args.full_disk == "tmpfs":
            with small_disk(Path(place) / "disk") as disk:
                wrong |= full_disk(disk, args.step, ballast)
        elif args.full_disk == "limit":
            wrong |= full_disk(Path(place) / "limited", args.step, size_limit)
    return wrong


def records_of(versions: State) -> Records:
    """Return records with these ids and versions, each with a different vector."""
    seeds = [int.from_bytes(name.encode(), "little") % 2**32 for name in versions]
    rows = [np.random.default_rng([s, v]).normal(size=WIDTH) for s, v in zip(seeds, versions.values(), strict=True)]
    return Records(
        [*versions],
        np.array(rows, np.float32).reshape(-1, WIDTH),
        [f"text {name} of version {version}" for name, version in versions.items()],
        [{"version": version} for version in versions.values()],
    )


def next_call(number: int, state: State, seed: int) -> tuple[str, State, list[str]]:
    """Choose a random call for the current state: its verb, and the records that it stores and deletes."""
    draw = random.Random(f"{seed} {number}")
    verb = draw.choice(["add", "add", "add", "upsert", "delete", "delete", "compact"])
    some = draw.sample(sorted(state), min(len(state), draw.randint(1, 2 * BATCH)))
    new = {f"{number}-{i}": 0 for i in range(draw.randint(1, BATCH))}
    if verb == "add":
        return verb, new, []
    if verb == "upsert":
        return verb, new | {name: state[name] + 1 for name in some}, []
    return verb, {}, some if verb == "delete" else []


def perform(collection: Collection, call: tuple[str, State, list[str]]) -> None:
    verb, stored, deleted = call
    if verb == "compact":
        collection.compact(show_progress_bar=False)
    elif verb == "delete":
        collection.delete(deleted)
    else:
        getattr(collection, verb)(records_of(stored))


def after(state: State, call: tuple[str, State, list[str]]) -> State:
    """Return the expected contents after a call."""
    _, stored, deleted = call
    return {name: version for name, version in (state | stored).items() if name not in deleted}


def held(collection: Collection) -> State:
    """Return the actual contents, after checking that no id occurs twice and that vectors match ids and versions."""
    found: State = {}
    for block in collection.records():
        assert not found.keys() & {*block.ids}, "an id occurs twice"
        versions = {name: int(row["version"]) for name, row in zip(block.ids, block.metadata or (), strict=True)}
        expected = records_of(versions)
        np.testing.assert_allclose(block.vectors, expected.vectors, atol=0.01)
        assert list(block.texts or ()) == list(expected.texts or ())
        found |= versions
    assert len(collection) == len(found)
    return found


def killed_again_and_again(place: Path, kills: int, longest: float, moments: random.Random) -> int:
    folder, state, number = place / "collection", {}, 0
    Collection.create(str(folder), WIDTH).close()
    counts, seed, began = Counter[str](), moments.randint(0, 10**9), time.perf_counter()
    while counts["kills"] < kills:
        _, lines = lived(partial(live, folder, number, state, seed), moments.uniform(0.02, longest))
        counts["kills"] += 1
        finished = sum(line.startswith("end") for line in lines)
        for _ in range(finished):
            state, number = after(state, next_call(number, state, seed)), number + 1
        counts["calls that returned"] += finished
        going_on = next_call(number, state, seed) if len(lines) > 2 * finished else None
        with Collection.open(str(folder)) as collection:
            found = held(collection)
            report = collection.verify(show_progress_bar=False)
        if going_on is not None:
            counts[f"killed during {going_on[0]}"] += 1
            if found == after(state, going_on) != state or going_on[0] == "compact":
                counts["of these, stored as a whole"] += going_on[0] != "compact"
                state, number = after(state, going_on), number + 1
        counts["LOST OR TWICE"] += found != state
        counts["NOT CLEAN"] += not report.is_clean
        state = found
    print(f"{counts.pop('kills')} kills in {time.perf_counter() - began:.0f} s, {len(state):,} records at the end")
    return summary(counts)


def live(folder: Path, number: int, state: State, seed: int, report: Report) -> None:
    """Make calls endlessly in one process, and report each call before it begins and after it returns."""
    with Collection.open(str(folder)) as collection:
        while True:
            call = next_call(number, state, seed)
            report(f"begin {call[0]}")
            perform(collection, call)
            report(f"end {call[0]}")
            state, number = after(state, call), number + 1


def full_disk(place: Path, step: int, leaving: Callable[[Path, int], object]) -> int:
    """Try every kind of call with more and more free space."""
    place.mkdir(exist_ok=True)
    counts: Counter[str] = Counter()
    state = {f"{i}-0": 0 for i in range(4 * BATCH)}
    with Collection.create(str(place / "before"), WIDTH) as collection:
        collection.add(records_of(state))
        collection.delete([*state][:BATCH])
    state = dict([*state.items()][BATCH:])
    calls = [("add", {f"new {i}": 0 for i in range(BATCH)}, []), ("upsert", dict.fromkeys([*state][:9], 1), [])]
    calls += [("delete", {}, [*state][3:30]), ("compact", {}, [])]
    for call in calls:
        successes, pages = 0, 0
        while successes < ENOUGH:
            successes = successes + 1 if attempt(place, call, state, (leaving, pages), counts) else 0
            pages += step
    print(f"full disk: {counts.pop('attempts')} attempts, of which {counts.pop('failed')} failed for lack of room")
    return summary(counts)


def attempt(
    place: Path,
    call: tuple[str, State, list[str]],
    state: State,
    room: tuple[Callable[[Path, int], object], int],
    counts: Counter[str],
) -> bool:
    """Whether a call on a fresh copy succeeds with this many free pages; its result is checked and counted."""
    folder = place / "collection"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(place / "before", folder)
    leaving, pages = room
    counts["attempts"] += 1
    with leaving(place, pages):
        succeeded = bool(lived(partial(done, folder, call))[1])
    counts["failed"] += not succeeded
    expected = after(state, call) if succeeded else state
    with Collection.open(str(folder), read_only=True) as reader:
        counts["LOST OR TWICE"] += held(reader) != expected
    with Collection.open(str(folder)) as collection:
        if not succeeded:
            perform(collection, call)
        counts["LOST OR TWICE, ONCE THERE WAS ROOM"] += held(collection) != after(state, call)
        counts["NOT CLEAN"] += not collection.verify(show_progress_bar=False).is_clean
    return succeeded


def done(folder: Path, call: tuple[str, State, list[str]], report: Report) -> None:
    """Report whether there was room for the call; an error other than BadInput ends this process."""
    with suppress(BadInput), Collection.open(str(folder)) as collection:
        perform(collection, call)
        report("done")


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """Mount a disk in memory."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        raise SystemExit("no permission to mount a tmpfs; use --full-disk limit, which needs no permission")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@contextmanager
def ballast(place: Path, pages: int) -> Iterator[None]:
    """Fill the small disk until this many pages are free."""
    free = shutil.disk_usage(place).free - pages * PAGE
    path = place / "ballast"
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(free, 1))
    yield
    path.unlink()


@contextmanager
def size_limit(_: Path, pages: int) -> Iterator[None]:
    """Prevent files from growing beyond this many pages."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (pages * PAGE, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


if __name__ == "__main__":
    sys.exit(main())
