"""How much memory does it take to encode a million short texts from an iterator into a .npy file?

Beyond the model and one window of texts and vectors, nothing should grow with the number of texts. To check this,
resident memory is recorded after every twentieth of the texts.
"""

import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from likewise import Embedder
from likewise.files import writer
from likewise.model_files.names import RECOMMENDED_MODEL

from .options import options
from .record import save

STEPS = 20


def texts(count: int) -> Iterator[str]:
    """Distinct short texts."""
    return (f"item {i:x}" for i in range(count))


def resident() -> float:
    """This process's resident memory in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def peak() -> float:
    """This process's peak resident memory in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> None:
    args = options(__doc__, count=1_000_000, precision="bf16")
    embedder = Embedder.load(RECOMMENDED_MODEL, engine="torch", precision=args.precision)
    embedder.encode(["one text, so that everything is loaded"])
    before, rows = resident(), 0
    recorded: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "vectors.npy"
        with writer(out, embedder.dimension, {}) as write:
            for block in embedder.encode_stream(texts(args.count), show_progress_bar=True):
                write([], block)
                rows += len(block)
                if rows * STEPS >= args.count * (len(recorded) + 1):
                    recorded[rows] = round(resident() - before, 1)
        rows = len(np.load(out, mmap_mode="r"))
    assert rows == args.count, rows
    half = min(n for n in recorded if 2 * n >= rows)
    growth = recorded[max(recorded)] - recorded[half]
    added = peak() - before
    print(f"{rows:,} texts: {before:.0f} MB with the model, {peak():.0f} MB at most, {added:.0f} MB more")
    print(f"memory beyond the model, by texts encoded: {recorded}; over the second half {growth:+.0f} MB")
    result = {"model_mb": before, "peak_mb": peak(), "added_mb": added, "added_mb_by_texts": recorded}
    save("memory", {"texts": rows, "precision": args.precision, **result, "second_half_mb": growth})


if __name__ == "__main__":
    main()
