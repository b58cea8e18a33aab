"""Is the output identical, byte for byte, if the process is killed and restarted again and again?

    python -m benchmarks.encode_kills [--kills 200] [--workers 1] [--seed 0] [--save]

`likewise encode` writes a folder of shards from a CSV, a JSONL, a compressed JSONL and a Parquet file. SIGKILL ends it
at random moments, and it is run again until the output is complete; then the output is compared with that of an
uninterrupted run and removed, and everything starts over, until there have been enough kills. After each kill, every
existing shard must be complete, with the same bytes as in the uninterrupted run. With several workers, which are
separate commands, sometimes a worker is killed instead. The exit status is 1 if anything differed.
"""

import argparse
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from likewise.distribute.encode import encode_to_folder, in_this_process
from likewise.distribute.plan import EncodeSettings
from likewise.distribute.sources.source_files import ChosenColumns
from likewise.files.vector_origin import VectorOrigin
from likewise.model_names import load_named_embedder

from .attack.kills import finished, forked
from .killing import KILLED, summary
from .options import options
from .record import save

MODEL = "likewise-mini"
WORDS = ["red", "green", "blue", "cat", "dog", "sun", "moon", "sea", "tree", "house", "river", "stone", "bread"]
ORPHANS_END = 5.0  # seconds within which workers must end after their command was killed


def main() -> int:
    args = options(__doc__, kills=200, rows=1200, shard_rows=50, workers=1, longest=0.5, seed=0, save=False)
    with tempfile.TemporaryDirectory() as place:
        run = Run(Path(place), args)
        began = time.perf_counter()
        counts = run.killed_again_and_again()
        seconds = time.perf_counter() - began
    print(f"{counts['kills']} kills in {seconds:.0f} s, {args.workers} workers")
    if args.save:
        figures = {"rows": args.rows, "shard_rows": args.shard_rows, "workers": args.workers, **counts}
        save(f"encode_kills-{args.workers}-workers", figures)
    return summary(counts)


def sources(place: Path, rows: int) -> list[Path]:
    """Write four files with a quarter of the rows each."""
    draw = random.Random(0)
    table = [{"id": f"d{i}", "text": " ".join(draw.choices(WORDS, k=draw.randint(3, 12))), "n": i} for i in range(rows)]
    parts = [table[start::4] for start in range(4)]
    csv, jsonl, packed, parquet = (place / name for name in ("a.csv", "b.jsonl", "c.jsonl.gz", "d.parquet"))
    csv.write_text("id,text,n\n" + "".join(f'{r["id"]},"{r["text"]}\n",{r["n"]}\n' for r in parts[0]))
    jsonl.write_text("".join(json.dumps(row) + "\n" for row in parts[1]))
    packed.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in parts[2]).encode()))
    pq.write_table(pa.Table.from_pylist(parts[3]), parquet, row_group_size=100)
    return [csv, jsonl, packed, parquet]


def content(folder: Path) -> dict[str, bytes]:
    """Return the files of an output, without the lock file left by a killed run."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(files)}


class Run:
    """Runs of one command, each killed at a random moment."""

    def __init__(self, place: Path, options: argparse.Namespace) -> None:
        self.place, self.options, self.moments = place, options, random.Random(options.seed)
        self.out, self.paths = place / "out", sources(place, options.rows)
        self.embedder = load_named_embedder(MODEL)
        self.settings = EncodeSettings(ChosenColumns("text", "id"), options.shard_rows)
        self.encode(place / "whole")
        self.expected = content(place / "whole")

    def killed_again_and_again(self) -> Counter[str]:
        """Count events; the counts with names in capitals must be 0."""
        counts = Counter[str]({"DIFFERENT": 0, "NOT WHOLE": 0})
        while counts["kills"] < self.options.kills:
            finished = self.life(counts)
            counts["NOT WHOLE"] += sum(self.expected[name] != data for name, data in self.shards().items())
            if finished:
                self.compare(counts)
        if self.out.exists():
            self.encode(self.out)
            self.compare(counts)
        return counts

    def compare(self, counts: Counter[str]) -> None:
        """Compare a complete output with the uninterrupted one."""
        counts["outputs completed"] += 1
        counts["DIFFERENT"] += content(self.out) != self.expected
        shutil.rmtree(self.out)

    def shards(self) -> dict[str, bytes]:
        """Check the existing shards, and return them."""
        return {name: data for name, data in content(self.out).items() if name.startswith("shards/")}

    def encode(self, folder: Path) -> None:
        """Do the work of `likewise encode`."""
        origin = VectorOrigin.of(self.embedder, MODEL)
        encode_to_folder(
            self.paths, folder, origin, in_this_process(self.embedder), self.settings, show_progress_bar=False
        )

    def life(self, counts: Counter[str]) -> bool:
        """Start one run and kill it at a random moment; return whether it had already ended."""
        process = self.start_command() if self.options.workers > 1 else forked(lambda: self.encode(self.out))
        children = list[int]()
        if self.options.workers > 1:
            time.sleep(self.moments.uniform(0.2, 2.0))
            children = workers_of(process)
            if children and self.moments.random() < 0.5:
                with suppress(ProcessLookupError):
                    os.kill(self.moments.choice(children), signal.SIGKILL)
                    counts["kills"] += 1
                    counts["kills of a worker"] += 1
        time.sleep(self.moments.uniform(0.01, self.options.longest))
        children = list({*children, *workers_of(process)})
        os.kill(process, signal.SIGKILL)  # the process exists until it has been waited for
        code = finished(process)
        if code not in (0, KILLED):
            raise SystemExit(f"a run ended with exit code {code} before it was killed")
        counts["kills"] += code != 0
        counts["WORKERS THAT OUTLIVE THEIR COMMAND"] += sum(not ended(child) for child in children)
        return code == 0

    def start_command(self) -> int:
        """Run as a command with several workers."""
        command = [sys.executable, "-m", "likewise", "encode", *map(str, self.paths), "-o", f"{self.out}/", "-q"]
        command += ["--column", "text", "--id", "id", "--shard-rows", str(self.options.shard_rows)]
        process = subprocess.Popen([*command, "--workers", str(self.options.workers), "-m", MODEL])
        process.returncode = 0  # this process waits for it, not subprocess
        return process.pid


def workers_of(process: int) -> list[int]:
    """The child processes of a process."""
    with suppress(OSError):
        return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def ended(process: int) -> bool:
    """Whether a process ends within a few seconds."""
    until = time.perf_counter() + ORPHANS_END
    while time.perf_counter() < until:
        with suppress(OSError):
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                time.sleep(0.02)
                continue
        return True
    return False


if __name__ == "__main__":
    sys.exit(main())
