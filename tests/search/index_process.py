"""Processes beside the one that tests an index: one that writes until it is killed, and one that reads.

python -m tests.search.index_process write|read CLASS LOCATION
"""

import json
import sys
from importlib import import_module

import numpy as np

from likewise.search.records import Records

WIDTH, BATCH = 8, 5


def batch(number: int) -> Records:
    """The records of a call, the same in every process."""
    ids = [f"{number}-{i}" for i in range(BATCH)]
    vectors = np.random.default_rng(number).normal(size=(BATCH, WIDTH)).astype(np.float32)
    return Records(ids, vectors, [f"text {name}" for name in ids], [{"batch": number}] * BATCH)


def write(index) -> None:
    """Add a batch after another, delete every third again, and print the number of each call that has returned."""
    number = 0
    while True:
        index.add(batch(number))
        print("added", number, flush=True)
        if number % 3 == 0:
            index.delete(batch(number).ids)
            print("deleted", number, flush=True)
        number += 1


def read(index) -> None:
    """Print what is there for every line of input."""
    for _ in sys.stdin:
        ids = sorted(name for block in index.records() for name in block.ids)
        nearest = [matches[0].id for matches in index.search(batch(0).vectors, 1)] if ids else []
        print(json.dumps({"ids": ids, "count": index.count(), "nearest": nearest}), flush=True)


def main(verb: str, home: str, location: str) -> None:
    module, _, name = home.partition(":")
    kind = getattr(import_module(module), name)
    {"write": write, "read": read}[verb](kind.open(location, read_only=verb == "read"))


if __name__ == "__main__":
    main(*sys.argv[1:])
