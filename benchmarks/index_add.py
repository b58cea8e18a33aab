"""What does storing 200,000 short texts cost beyond encoding them with likewise-static, and how fast is opening?

python -m benchmarks.index_add              times encoding alone and `index add` in turn, into results/index_add.json
python -m benchmarks.index_add --make DIR   creates a collection of 1,000,000 records (once; takes minutes)
python -m benchmarks.index_add --open DIR   times opening it and the first search, in new processes

`index add` reads a .txt file with one text per line, splits, hashes and encodes the texts, and stores ids, texts,
metadata, a full-text index and vectors, synced to disk.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow.parquet as pq

from likewise import Embedder, TextIndex
from likewise.files.documents import read_documents
from likewise.search.indexes import create_index
from likewise.search.records import Records

from .options import options
from .record import data, in_turn, save

MODEL = "likewise-static"
COUNT, MILLION, WIDTH, BLOCK = 200_000, 1_000_000, 384, 50_000
LONGEST = 200  # characters of a short text
PROGRAM = """
import sys, time
began = time.perf_counter()
from likewise.search.indexes import open_index
imported = time.perf_counter()
index = open_index(sys.argv[1], read_only=True)
opened = time.perf_counter()
print(index.count())
counted = time.perf_counter()
import numpy as np
index.search(np.ones((1, index.dimension), np.float32), 10)
print([imported - began, opened - imported, counted - opened, time.perf_counter() - counted])
"""


def short_texts(count: int) -> list[str]:
    """Distinct short texts from diverse_text."""
    found: dict[str, None] = {}
    for part in range(3):
        for text in pq.read_table(data("diverse_text", f"part-{part}.parquet"), columns=["text"])["text"].to_pylist():
            line = " ".join(text.split())
            if 0 < len(line) <= LONGEST:
                found[line] = None
            if len(found) == count:
                return list(found)
    raise SystemExit(f"the data contain only {len(found):,} texts of at most {LONGEST} characters")


def added(path: Path, embedder: Embedder) -> None:
    """Add the file to a new collection."""
    with tempfile.TemporaryDirectory() as folder, TextIndex.open(Path(folder, "index"), embedder) as index:
        report = index.add(read_documents([str(path)]), show_progress_bar=False)
        assert report.added == len(index.index)


def measure(count: int, rounds: int) -> None:
    """Time encoding alone and adding, in turn."""
    texts, embedder = short_texts(count), Embedder.load(MODEL)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "texts.txt")
        path.write_text("\n".join(texts) + "\n", "utf-8")
        work = {"encode": lambda: embedder.encode(texts, show_progress_bar=False), "add": lambda: added(path, embedder)}
        seconds = in_turn(work, rounds)
    overhead = median(b / a for a, b in zip(seconds["encode"], seconds["add"], strict=True)) - 1
    print({name: round(median(times), 2) for name, times in seconds.items()}, f"overhead {overhead:.1%}")
    save("index_add", {"model": MODEL, "texts": count, "seconds": seconds, "overhead": overhead})


def make(folder: Path) -> None:
    """Create a collection of a million records."""
    random = np.random.default_rng(0)
    with create_index(str(folder), WIDTH) as index:
        for start in range(0, MILLION, BLOCK):
            ids = [f"#{i}" for i in range(start, start + BLOCK)]
            vectors = random.standard_normal((BLOCK, WIDTH), np.float32)
            index.add(Records(ids, vectors, [f"text {i}" for i in range(start, start + BLOCK)]))


def measure_opening(folder: Path, rounds: int) -> None:
    """Measure the median seconds to import, open, count and search, over new processes."""
    rows = []
    for _ in range(rounds):
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(folder)], check=True, stdout=subprocess.PIPE, text=True
        )
        count, seconds = done.stdout.strip().split("\n")
        rows.append([*json.loads(seconds), time.perf_counter() - began])
    names = ("import", "open", "count", "first search", "process")
    found = {name: median(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    print(count, {name: round(value, 3) for name, value in found.items()})
    save("index_open", {"records": int(count), "seconds": found})


def main() -> None:
    args = options(__doc__, count=COUNT, rounds=3, make=Path, open=Path)
    if args.make:
        make(args.make)
    elif args.open:
        measure_opening(args.open, args.rounds)
    else:
        measure(args.count, args.rounds)


if __name__ == "__main__":
    main()
