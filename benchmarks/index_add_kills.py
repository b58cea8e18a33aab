"""Does `likewise index add` lose acknowledged records when killed, and does it end as if it had not been interrupted?

    python -m benchmarks.index_add_kills [--kills 60] [--seed 0]

SIGKILL ends `likewise index add INDEX FOLDER` at random moments, even while the model is loading, and the command is
repeated until it finishes. Then the files are changed, and the same is done with the same index. Then everything starts
over with a new index, until all kills are used up. Blocks and segments are small, so that there are many commits.

After every kill, all passages of the documents reported as done must be present, every record must equal that of an
uninterrupted run before or after the change, no record may occur twice, and `verify` must find no problem. At the end
of every run, the contents must equal those of an uninterrupted run. The exit status is 1 if anything differs.
"""

import io
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from likewise.cli import main as likewise
from likewise.files.documents import read_documents
from likewise.runtime import progress
from likewise.search.collection import Collection
from likewise.search.texts import adding

from .killing import Report, lived, summary, use_segments_of
from .options import options

MODEL = "likewise-static"
WORDS = ["cat", "dog", "rain", "falls", "sleeps", "barks", "the", "a", "on", "mat", "and", "night"]
FILES, SECTIONS, ROWS, LINES = 12, 8, 300, 300
BLOCKS = (16, 64)  # passages in the first block and in the largest one
PROMISES = ("LOST", "TWICE", "NOT CLEAN", "WITH ANOTHER CONTENT", "ANOTHER CONTENT AT THE END")
"""Counts that must stay 0."""
Place = tuple[str, int | None]
"""A document: its file and its row."""
Content = dict[str, tuple[str | None, dict, bytes]]
"""The text, metadata and vector bytes of each record, by id."""


class State(NamedTuple):
    """The files before or after the change, and the contents of an index after an uninterrupted run on them."""

    content: Content
    documents: list[Place]
    ids: dict[Place, set[str]]


class Reporter(progress.StatusLine):
    """Progress that is reported immediately."""

    report: Report

    def __call__(self, state: object) -> None:
        assert isinstance(state, progress.Meter)
        self.report(f"{state.texts:.0f}")


def main() -> int:
    args = options(__doc__, kills=60, seed=0, small=False)
    share = 6 if args.small else 1
    adding.FIRST_BLOCK, adding.LARGEST_BLOCK = BLOCKS
    use_segments_of(256)
    with tempfile.TemporaryDirectory() as place:
        return tortured(Path(place), args.kills, random.Random(args.seed), share)


def tortured(place: Path, kills: int, moments: random.Random, share: int) -> int:
    """Compare runs with and without kills, on one share of the files; return the exit status."""
    files, whole = place / "files", place / "whole"
    states, seconds = [], []
    for version in (0, 1):
        write_files(files, version, share)
        began = time.perf_counter()
        lived(partial(command, whole, files))
        seconds.append(time.perf_counter() - began)
        states.append(state_of(whole, files))
    assert min(len(state.content) for state in states) > 600 // share and states[0].content != states[1].content
    counts, began, runs = Counter(dict.fromkeys(PROMISES, 0)), time.perf_counter(), 0
    while goes_on(counts, kills):
        index = place / f"killed-{runs}"
        for version in (0, 1):
            write_files(files, version, share)
            one_run(index, files, (states, version), (seconds[version], moments, kills), counts)
        runs += 1
    taken, spent = time.perf_counter() - began, counts.pop("kills")
    print(f"{spent} kills in {taken:.0f} s, over {2 * runs} runs of {len(states[0].content):,} passages")
    return summary(counts)


def goes_on(counts: Counter[str], kills: int) -> bool:
    """Whether kills are left, or no kill came after an acknowledgement yet (on a busy machine, all may come early)."""
    return counts["kills"] < kills or not counts["documents acknowledged"]


def one_run(
    index: Path,
    files: Path,
    versions: tuple[list[State], int],
    torture: tuple[float, random.Random, int],
    counts: Counter[str],
) -> None:
    """Kill and repeat the command until it finishes, and check and count every state that it leaves."""
    (states, version), (seconds, moments, kills) = versions, torture
    while goes_on(counts, kills):
        code, lines = lived(partial(command, index, files), moments.uniform(0, 1.2 * seconds))
        if code == 0:
            break
        reported = int(lines[-1]) if lines else 0
        counts["kills"] += 1
        counts["killed before the index was made"] += not (index / "collection.sqlite").exists()
        counts["documents acknowledged"] += reported
        check(index, states, version, reported, counts)
    else:
        lived(partial(command, index, files))
    counts["ANOTHER CONTENT AT THE END"] += content_of(index) != states[version].content


def check(index: Path, states: list[State], version: int, reported: int, counts: Counter[str]) -> None:
    """Check the state that a killed run has left."""
    try:
        with Collection.open(str(index)) as collection:
            counts["NOT CLEAN"] += not collection.verify(show_progress_bar=False).is_clean
    except BaseException:
        counts["LOST, WITH THE WHOLE INDEX"] += reported > 0 or version > 0
        return
    found, state, before = content_of(index), states[version], states[0].content
    acknowledged = {name for place in state.documents[:reported] for name in state.ids[place]}
    stays = before.keys() & state.content.keys() if version else set()
    counts["LOST"] += not (acknowledged | stays <= found.keys())
    wrong = [name for name, row in found.items() if row not in (before.get(name), state.content.get(name))]
    counts["WITH ANOTHER CONTENT"] += len(wrong)
    texts = Counter(
        (row[1]["file"], row[1].get("row"), row[1].get("start")) for name, row in found.items() if name in acknowledged
    )
    counts["TWICE"] += any(times > 1 for times in texts.values())


def command(index: Path, files: Path, report: Report) -> None:
    """Run `likewise index add`, and report its progress immediately."""
    Reporter.report, messages = staticmethod(report), io.StringIO()
    progress.StatusLine = Reporter  # type: ignore[misc]
    with redirect_stderr(messages), redirect_stdout(io.StringIO()):
        code = likewise(["index", "add", str(index), str(files), "-m", MODEL, "--threads", "1"])
    if code:
        raise SystemExit(messages.getvalue())


def write_files(folder: Path, version: int, share: int) -> None:
    """Write Markdown files, tables and lines of text; in version 1, a few are changed, removed or new."""
    folder.mkdir(exist_ok=True)
    for i in range(FILES // share - version):
        sections = (f"## Part {j}\n\n{sentences(i, j, version * (j % 3 == 0))}\n" for j in range(SECTIONS))
        (folder / f"notes-{i}.md").write_text(f"# Notes {i}\n\n" + "\n".join(sections))
    rows = [f"{sentences(100, i, version * (i % 5 == 0))},{2000 + i % 20}" for i in range(ROWS // share + 40 * version)]
    (folder / "rows.csv").write_text("\n".join(["text,year", *rows[version * 7 :], ""]))
    lines = [sentences(200, i, 0) for i in range(LINES // share - 10 * version)]
    (folder / "lines.txt").write_text("\n".join([*lines, ""]))


def sentences(*seed: int) -> str:
    draw = random.Random(repr(seed))
    return " ".join(f"{' '.join(draw.choices(WORDS, k=7)).capitalize()} {draw.randint(0, 10**6)}." for _ in range(3))


def state_of(index: Path, files: Path) -> State:
    """Return the files, and the contents of their index."""
    content, ids = content_of(index), defaultdict[Place, set[str]](set)
    for name, (_, metadata, _) in content.items():
        ids[metadata["file"], metadata.get("row")].add(name)
    documents = [(document.file, document.row) for document in read_documents([str(files)])]
    return State(content, documents, ids)


def content_of(index: Path) -> Content:
    """All records."""
    with Collection.open(str(index), read_only=True) as collection:
        return dict(row for block in collection.records() for row in rows_of(block))


def rows_of(block) -> Iterator[tuple[str, tuple[str | None, dict, bytes]]]:
    vectors = np.asarray(block.vectors, np.float16)
    for name, text, metadata, vector in zip(block.ids, block.texts, block.metadata, vectors, strict=True):
        yield name, (text, dict(metadata), vector.tobytes())


if __name__ == "__main__":
    sys.exit(main())
