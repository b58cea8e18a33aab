"""Does `likewise encode` into a folder need more memory for more texts? Compares 200,000 and 2,000,000 short texts.

python -m benchmarks.encode_memory [--counts 200000 2000000] [--model likewise-static] [--id]

Each count runs in its own process, whose memory is read every 50 ms. The peaks and the curves are written to
results/encode_memory.json; benchmarks/figures.py draws them.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .options import options
from .record import save

EVERY = 0.05  # seconds
PARTS = 100
"""Number of equal parts of a run; the curve keeps the highest reading in each part."""


def write_texts(path: Path, count: int) -> None:
    """Write distinct short texts as JSON Lines."""
    with path.open("w") as file:
        file.writelines(
            f'{{"id": "d{i}", "text": "the item of number {i} and shelf {i % 977:x}"}}\n' for i in range(count)
        )


def resident(process: int) -> float:
    """A process's resident memory in MB, excluding mapped files; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    found = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Rss")}
    return int(found.get("RssAnon", 0)) / 1e3 + int(found.get("RssFile", 0)) / 1e3


def memory_of(command: list[str]) -> list[tuple[float, float]]:
    """Run a command, and record seconds and MB over its lifetime."""
    began, curve = time.perf_counter(), list[tuple[float, float]]()
    process = subprocess.Popen(command)
    while process.poll() is None:
        curve.append((time.perf_counter() - began, resident(process.pid)))
        time.sleep(EVERY)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with exit code {process.returncode}")
    return curve


def highest(curve: list[tuple[float, float]]) -> list[float]:
    """Return the highest reading in MB for each part of the run that has any."""
    end, parts = curve[-1][0], dict[int, float]()
    for second, mb in curve:
        part = min(PARTS - 1, int(PARTS * second / end))
        parts[part] = max(mb, parts.get(part, 0.0))
    return [round(mb, 1) for mb in parts.values()]


def main() -> None:
    args = options(__doc__, counts=[200_000, 2_000_000], model="likewise-static", id=False)
    curves = {}
    for count in args.counts:
        with tempfile.TemporaryDirectory() as folder:
            write_texts(Path(folder, "texts.jsonl"), count)
            command = [sys.executable, "-m", "likewise", "encode", f"{folder}/texts.jsonl", "-o", f"{folder}/out/"]
            curves[count] = memory_of([*command, "-m", args.model, "-q", *(["--id", "id"] * args.id), "--keep", ""])
    peaks = {count: max(mb for _, mb in curve) for count, curve in curves.items()}
    few, many = (peaks[count] for count in args.counts)
    print({f"{count:,}": round(mb, 1) for count, mb in peaks.items()}, f"{many / few - 1:+.1%}")
    kept = {"peak_mb": peaks, "growth": many / few - 1, "curves_mb": {n: highest(curve) for n, curve in curves.items()}}
    save("encode_memory", {"model": args.model, "ids": args.id, **kept})


if __name__ == "__main__":
    main()
