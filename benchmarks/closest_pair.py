"""How long does it take to find the most similar pair among 10,000 sentences, the whole process with its model?

Reimers and Gurevych (2019) give 65 hours for BERT on pairs, and 5 seconds for SBERT, on a V100.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import pyarrow.parquet as pq

from likewise.model_files.names import RECOMMENDED_MODEL

from .record import data, save

COUNT = 10_000
PROGRAM = """
import sys
from likewise import Embedder
from likewise.search.pairs import closest_pairs
name, engine, precision, path = sys.argv[1:]
texts = open(path, encoding="utf-8").read().split("\\n")
vectors = Embedder.load(name, engine=engine, precision=precision).encode(texts, progress=False)
[pair] = closest_pairs(vectors, 1)
print(texts[pair.i], "|", texts[pair.j], "|", pair.score)
"""


def sentences(count: int) -> list[str]:
    """Distinct sentences of STS-B's training set."""
    table = pq.read_table(data("stsb", "train.parquet")).to_pydict()
    texts = dict.fromkeys(" ".join(text.split()) for text in table["sentence1"] + table["sentence2"])
    return list(texts)[:count]


def timed(command: list[str]) -> tuple[float, float, str]:
    """Wall and CPU seconds of a whole process, and what it printed."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=RECOMMENDED_MODEL)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument(
        "engines", nargs="*", default=["native:int8", "native:fp32", "torch:fp32"], metavar="ENGINE:PRECISION"
    )
    args = parser.parse_args()
    taken: dict[str, list[tuple[float, float, str]]] = {name: [] for name in args.engines}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "texts.txt")
        path.write_text("\n".join(sentences(args.count)), "utf-8")
        for _ in range(args.rounds):
            for name in args.engines:
                engine, _, precision = name.partition(":")
                taken[name].append(timed([sys.executable, "-c", PROGRAM, args.model, engine, precision, str(path)]))
    found = {
        name: {"wall_s": median(t[0] for t in rows), "cpu_s": median(t[1] for t in rows), "pair": rows[0][2]}
        for name, rows in taken.items()
    }
    for name, row in found.items():
        print(f"{name:14} {row['wall_s']:.1f} s wall, {row['cpu_s']:.1f} s CPU: {row['pair']}")
    save("closest_pair", {"model": args.model, "sentences": args.count, "engines": found})


if __name__ == "__main__":
    main()
