"""What do shards cost beyond encoding, and what do two workers gain? Encodes texts of diverse_text with likewise-mini.

python -m benchmarks.encode_overhead            encoding alone and into a folder, in turn
python -m benchmarks.encode_overhead --workers  one worker and two, each with one thread, in turn
python -m benchmarks.encode_overhead --ray      two workers and two actors of a Ray cluster on this machine, in turn

The results are in results/encode_overhead-N-threads.json (N: OMP_NUM_THREADS), encode_workers.json and encode_ray.json.
Encoding alone starts with the texts in memory. Encoding into a folder reads them from JSON twice, the first time to
check them, writes vectors, texts and ids to Parquet, syncs them to disk, and hashes them. Workers are timed with their
startup and without it, that is, from the first progress report to the last. Ray's startup is left out: its time runs
from the first finished shard to the last.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from likewise import Embedder
from likewise.distribute.encode import EncodeShards, encode_to_folder, in_this_process
from likewise.distribute.plan import EncodeSettings
from likewise.distribute.shards import EncodeJob, ModelChoice, ShardRecord
from likewise.distribute.sources.source_files import ChosenColumns
from likewise.distribute.workers.processes import in_workers
from likewise.files.vector_origin import VectorOrigin
from likewise.runtime.progress import Advance, Meter

from .index_add import short_texts
from .options import options
from .record import in_turn, ratio, save

MODEL = "likewise-mini"


def into_folder(path: Path, embedder: Embedder, shard_rows: int) -> None:
    """Encode the file into a new folder."""
    with tempfile.TemporaryDirectory() as folder:
        origin = VectorOrigin.of(embedder, MODEL)
        settings = EncodeSettings(ChosenColumns(id="id"), shard_rows)
        encode_to_folder(
            [path], Path(folder, "out"), origin, in_this_process(embedder), settings, show_progress_bar=False
        )


def seconds_of_workers(path: Path, embedder: Embedder, workers: int, shard_rows: int) -> tuple[float, float]:
    """Seconds for a whole run, and from its first reported progress."""
    reports, began = list[float](), time.perf_counter()
    settings = EncodeSettings(ChosenColumns(id="id"), shard_rows)
    model = ModelChoice(MODEL)

    def note(meter: Meter) -> None:
        if meter.total is not None:  # skip the progress of reading the file for the first time
            reports.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        origin = VectorOrigin.of(embedder, MODEL)
        encode_shards = in_workers(model, workers, workers)
        encode_to_folder([path], Path(folder, "out"), origin, encode_shards, settings, show_progress_bar=note)
    return time.perf_counter() - began, reports[-1] - reports[0]


def main() -> None:
    args = options(__doc__, count=20_000, shard_rows=EncodeSettings.shard_rows, rounds=3, workers=False, ray=False)
    texts, embedder = short_texts(args.count), Embedder.load(MODEL)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "texts.jsonl")
        path.write_text("".join(json.dumps({"id": f"d{i}", "text": text}) + "\n" for i, text in enumerate(texts)))
        measure = measure_ray if args.ray else measure_workers if args.workers else measure_overhead
        measure(path, texts, embedder, args)


def measure_overhead(path: Path, texts: list[str], embedder: Embedder, args: argparse.Namespace) -> None:
    work = {
        "encode": partial(embedder.encode, texts, show_progress_bar=False),
        "into a folder": partial(into_folder, path, embedder, args.shard_rows),
    }
    seconds = in_turn(work, args.rounds)
    overhead = 1 / ratio(seconds, "into a folder", "encode") - 1
    print({name: round(median(times), 2) for name, times in seconds.items()}, f"overhead {overhead:+.1%}")
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    save(
        f"encode_overhead-{threads}-threads",
        {"model": MODEL, "texts": len(texts), "threads": threads, "seconds": seconds, "overhead": overhead},
    )


def measure_workers(path: Path, texts: list[str], embedder: Embedder, args: argparse.Namespace) -> None:
    seconds = {1: list[tuple[float, float]](), 2: list[tuple[float, float]]()}
    for _ in range(args.rounds):
        for workers, runs in seconds.items():
            runs.append(seconds_of_workers(path, embedder, workers, args.shard_rows))
    whole, working = (
        median(one[part] / two[part] for one, two in zip(seconds[1], seconds[2], strict=True)) for part in (0, 1)
    )
    print(seconds, f"two workers: {whole:.2f}× with their start, {working:.2f}× without")
    figures = {"texts": len(texts), "shard_rows": args.shard_rows, "seconds": seconds}
    save("encode_workers", {"model": MODEL, **figures, "times": whole, "times_without_start": working})


def measure_ray(path: Path, texts: list[str], embedder: Embedder, args: argparse.Namespace) -> None:
    from likewise.distribute.workers.ray_cluster import in_ray

    model, seconds = ModelChoice(MODEL), {"workers": list[float](), "actors": list[float]()}
    contenders = {"workers": in_workers(model, 2, 2), "actors": in_ray(model, actors=2)}
    for _ in range(args.rounds):
        for name, encode_shards in contenders.items():
            seconds[name].append(seconds_between_shards(path, embedder, encode_shards, args.shard_rows))
    times = ratio(seconds, "actors", "workers")
    print(seconds, f"two actors: {times:.2f}× two workers")
    save("encode_ray", {"model": MODEL, "texts": len(texts), "seconds": seconds, "times_workers": times})


def seconds_between_shards(path: Path, embedder: Embedder, encode_shards: EncodeShards, shard_rows: int) -> float:
    """Seconds from the first finished shard to the last."""
    finished = list[float]()

    def noted(job: EncodeJob, numbers: Sequence[int], advance: Advance) -> Iterator[ShardRecord]:
        for record in encode_shards(job, numbers, advance):
            finished.append(time.perf_counter())
            yield record

    with tempfile.TemporaryDirectory() as folder:
        settings = EncodeSettings(ChosenColumns(id="id"), shard_rows)
        origin = VectorOrigin.of(embedder, MODEL)
        encode_to_folder([path], Path(folder, "out"), origin, noted, settings, show_progress_bar=False)
    return finished[-1] - finished[0]


if __name__ == "__main__":
    main()
