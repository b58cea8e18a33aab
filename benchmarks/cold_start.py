"""How long until the first vector, in a process that has just begun? And the import, and --help?"""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from likewise.model_files import locate
from likewise.model_files.names import RECOMMENDED_MODEL

from .record import save

FOLDER = str(locate(RECOMMENDED_MODEL))
COMMANDS = {
    "import likewise": [sys.executable, "-c", "import likewise"],
    "python alone": [sys.executable, "-c", "pass"],
    "likewise --help": [str(Path(sys.executable).parent / "likewise"), "--help"],
    "likewise: first vector": [
        sys.executable,
        "-c",
        "from likewise import Embedder; "
        "assert Embedder.load('all-MiniLM-L6-v2').encode(['A first text.']).shape == (1, 384)",
    ],
    "likewise-mini through NumPy: first vector": [
        sys.executable,
        "-c",
        "from likewise.engines.numpy.numpy_embedder import NumpyEmbedder as E; "
        "assert E.load('likewise-mini').encode(['A first text.']).shape == (1, 384)",
    ],
    "sentence-transformers: first vector": [
        sys.executable,
        "-c",
        "from sentence_transformers import SentenceTransformer as S; "
        f"assert S({FOLDER!r}, device='cpu').encode(['A first text.']).shape == (1, 384)",
    ],
}


def timed(command: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of a whole process."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command, check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"}, **quiet)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(rounds: int = 5) -> None:
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for round_ in range(rounds + 1):
        for name, command in COMMANDS.items():
            taken = timed(command)
            if round_:
                times[name].append(taken)
    result = {
        name: {"wall_s": median(w for w, _ in taken), "cpu_s": median(c for _, c in taken)}
        for name, taken in times.items()
    }
    for name, record in result.items():
        print(f"{name:38} {record['wall_s']:.3f} s wall, {record['cpu_s']:.3f} s CPU")
    save("cold_start", result)


if __name__ == "__main__":
    main()
