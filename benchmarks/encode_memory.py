"""Does `likewise encode` into a folder need more memory for more texts? Compares 200,000 and 2,000,000 short texts.

python -m benchmarks.encode_memory [--counts 200000 2000000] [--model likewise-static] [--id]

Each count runs in its own process, whose memory is read every 50 ms. The peaks are written to
results/encode_memory.json and the curves to docs/figures/encode_memory.png.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt

from likewise.runtime.plot_style import BLUE, ORANGE, STYLE

from .options import options
from .record import save

EVERY = 0.05  # seconds
FIGURE = Path(__file__).parent.parent / "docs" / "figures" / "encode_memory.png"


def write_texts(path: Path, count: int) -> None:
    """Distinct short texts, as rows of JSON."""
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
    """Seconds and MB over the lifetime of a command."""
    began, curve = time.perf_counter(), list[tuple[float, float]]()
    process = subprocess.Popen(command)
    while process.poll() is None:
        curve.append((time.perf_counter() - began, resident(process.pid)))
        time.sleep(EVERY)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with exit code {process.returncode}")
    return curve


def plot(curves: dict[int, list[tuple[float, float]]]) -> None:
    """Draw memory over the course of each run."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(5, 2.6))
        for (count, curve), colour in zip(sorted(curves.items()), (ORANGE, BLUE), strict=False):
            end = curve[-1][0]
            axes.plot(
                [100 * s / end for s, _ in curve], [mb for _, mb in curve], color=colour, label=f"{count:,} texts"
            )
        axes.set(xlabel="part of the run (%)", ylabel="memory (MB)", ylim=(0, None))
        axes.legend()
        FIGURE.parent.mkdir(exist_ok=True)
        figure.savefig(FIGURE, dpi=120)
        plt.close(figure)


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
    plot(curves)
    save("encode_memory", {"model": args.model, "ids": args.id, "peak_mb": peaks, "growth": many / few - 1})


if __name__ == "__main__":
    main()
