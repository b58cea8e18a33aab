"""How long does a collection of a million take to open, and a query with a filter to answer?

    python -m benchmarks.collection FOLDER [--rows 1000000] [--width 384] [--rounds 30] [--make]

`--make` fills the folder first, with random vectors, texts of ten words drawn by Zipf's law, and three columns of
metadata (minutes; adds are timed). Without it the folder is measured: opening and counting, in processes of their own;
then queries of one vector in this process, kinds in turn, medians: without a filter, with a new filter each time, and
by words. What is derived is made before, and timed by itself. Random vectors take as long as others; recall is measured
on real ones by benchmarks/search.py.
"""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.record import in_turn, save
from likewise.native.threads import thread_count
from likewise.search.collection import Collection
from likewise.search.records import Records

BLOCK = 20_000
WORDS = np.array([f"word{i}" for i in range(20_000)])
OPEN = """import sys, time
from likewise.search.collection import Collection
began = time.perf_counter()
collection = Collection.open(sys.argv[1], read_only=True)
opened = time.perf_counter()
count = len(collection)
print(opened - began, time.perf_counter() - began, count)"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--make", action="store_true")
    options = parser.parse_args()
    if options.make:
        make(options.folder, options.rows, options.width)
        return
    results = opening(options.folder) | searching(options.folder, options.rounds)
    for name, value in results.items():
        print(f"{name}: {value:,.4g}")
    save("collection", results)


def make(folder: Path, rows: int, width: int) -> None:
    """Fill the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    draw, seconds = np.random.default_rng(0), 0.0
    with Collection.create(str(folder), width) as collection:
        for start in range(0, rows, BLOCK):
            records = some_records(draw, start, min(BLOCK, rows - start), width)
            began = time.perf_counter()
            collection.add(records)
            seconds += time.perf_counter() - began
    print(f"{rows:,} records added in {seconds:.1f} s, {rows / seconds:,.0f} a second")


def some_records(draw: np.random.Generator, start: int, count: int, width: int) -> Records:
    numbers = range(start, start + count)
    texts = [" ".join(row) for row in WORDS[draw.zipf(1.3, (count, 10)) % len(WORDS)]]
    metadata = [
        {"year": 1990 + i % 35, "lang": ("en", "de", "fr")[i % 3], "source": f"{i // 100}.txt"} for i in numbers
    ]
    ids = [f"{i * 2654435761 % 2**32:08x}" for i in numbers]
    return Records(ids, draw.standard_normal((count, width), dtype=np.float32), texts, metadata)


def opening(folder: Path) -> dict[str, float]:
    """Medians of five processes."""
    runs = []
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", OPEN, str(folder)], capture_output=True, text=True, check=True)
        runs.append([float(word) for word in done.stdout.split()])
    opened, counted, rows = zip(*runs, strict=True)
    return {"rows": rows[0], "open, s": median(opened), "open and count, s": median(counted)}


def searching(folder: Path, rounds: int) -> dict[str, float]:
    """Medians of one query each, in milliseconds."""
    draw = np.random.default_rng(1)
    with Collection.open(str(folder)) as collection:
        query = draw.standard_normal((1, collection.width), dtype=np.float32)
        began = time.perf_counter()
        collection.search(query, 10, 'year >= 2000 and lang = "en" and source != "1.txt"')
        first = time.perf_counter() - began

        def filtered(share: str) -> None:
            number = int(draw.integers(0, 10**6))
            collection.search(query, 10, f'{share} and source != "{number}.txt"')

        seconds = in_turn(
            {
                "no filter": lambda: collection.search(query, 10),
                "filter that a quarter passes": lambda: filtered('year >= 1998 and lang = "en"'),
                "filter that a hundredth passes": lambda: filtered('year = 1998 and lang = "en"'),
                "words, rare": lambda: collection.search_words("word4711 word19999"),
            },
            rounds,
        )
    results = {"threads": float(thread_count()), "first search (reads or makes what is derived), s": first}
    return results | {f"{name}, ms": 1000 * median(times) for name, times in seconds.items()}


if __name__ == "__main__":
    main()
