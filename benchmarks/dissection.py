"""What does SBERT-WK cost? CPU time of encoding, compared with mean pooling and with a word-by-word implementation.

    python benchmarks/dissection.py

Mean pooling and SBERT-WK alternate in one process on one thread; figures are medians of the process's CPU time and of
the ratios of neighbouring runs. The texts are the first sentences of 1,024 docstrings in Python's standard library, and
both cases include tokenization.
"""

import json
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

import numpy as np
import torch

from likewise import Embedder
from likewise.arrays.ragged import Ragged
from likewise.cli.models.dissect import sample
from likewise.encoders.architectures.bert import Bert
from likewise.encoders.layers import initialize_weights
from likewise.encoders.shapes import BertShape
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.heads import Normalize
from likewise.inference import plan_batches
from likewise.model_files import Manifest
from likewise.pooling import pooling_of

RESULTS = Path(__file__).parent / "results" / "dissection.json"
BASE = BertShape(vocabulary=30_522, width=768, depth=12, heads=12, inner=3072, positions=512, eps=1e-12)


@dataclass(frozen=True)
class Overhead:
    """CPU seconds for encoding the same texts with two poolings."""

    model: str
    pooling: str
    layers: int
    texts: int
    tokens: int
    mean_seconds: float
    dissection_seconds: float
    overhead_percent: float
    lowest_percent: float
    highest_percent: float


@dataclass(frozen=True)
class SpeedUp:
    """CPU seconds for pooling alone, from precomputed layers."""

    model: str
    pooling: str
    tokens: int
    word_by_word_seconds: float
    dissection_seconds: float
    times: float
    largest_difference: float


def overhead(name: str, embedder: Embedder, spec: str, texts: list[str], rounds: int) -> Overhead:
    mean = pooling_of("mean", embedder.encoder.depth)
    dissection = pooling_of(spec, embedder.encoder.depth)
    pairs = []
    for turn in range(rounds + 1):
        pair = []
        for pooling in (mean, dissection) if turn % 2 else (dissection, mean):
            embedder.pooling = pooling
            pair.append(cpu_seconds(lambda: embedder.encode(texts, show_progress_bar=False)))
        pairs.append(pair if turn % 2 else pair[::-1])
    ratios = [100 * (b / a - 1) for a, b in pairs[1:]]  # the first round warms up
    return Overhead(
        model=name,
        pooling=dissection.spec,
        layers=embedder.encoder.depth + 1 - dissection.start,  # type: ignore[attr-defined]
        texts=len(texts),
        tokens=int(embedder.encode_report(texts).used.sum()) + 2 * len(texts),
        mean_seconds=statistics.median(a for a, _ in pairs[1:]),
        dissection_seconds=statistics.median(b for _, b in pairs[1:]),
        overhead_percent=statistics.median(ratios),
        lowest_percent=min(ratios),
        highest_percent=max(ratios),
    )


@torch.inference_mode()
def speed_up(name: str, embedder: Embedder, spec: str, texts: list[str]) -> SpeedUp:
    pooling = pooling_of(spec, embedder.encoder.depth)
    ids = [embedder.tokenizer.with_special_tokens(content) for content in embedder.tokenizer.token_ids(texts)]
    batches = [Ragged.of([ids[i] for i in batch]) for batch in plan_batches([len(i) for i in ids], 2048)]
    layers = [list(embedder.encoder(tokens)) for tokens in batches]
    fast = [pooling(iter(x), tokens) for x, tokens in zip(layers, batches, strict=True)]
    quick = statistics.median(
        cpu_seconds(lambda: [pooling(iter(x), tokens) for x, tokens in zip(layers, batches, strict=True)])
        for _ in range(5)
    )
    slow: list[np.ndarray] = []
    start = pooling.start  # type: ignore[attr-defined]
    elapsed = cpu_seconds(lambda: slow.extend(word_by_word(x[start:], t) for x, t in zip(layers, batches, strict=True)))
    gap = max(float(np.abs(a.numpy() - b).max()) for a, b in zip(fast, slow, strict=True))
    tokens = sum(len(batch.values) for batch in batches)
    return SpeedUp(name, pooling.spec, tokens, elapsed, quick, elapsed / quick, gap)


def word_by_word(layers: list[torch.Tensor], tokens: Ragged, window: int = 2) -> np.ndarray:
    """The published procedure: one QR factorisation for every word and layer, in fp32 as published."""
    paths = torch.stack(layers, dim=1).numpy()
    vectors, start = [], 0
    for length in tokens.lengths:
        words = [dissect_word(path, window) for path in paths[start : start + length - 1]]
        importance = np.array([variance for _, variance in words])
        vectors.append(importance / importance.sum() @ np.stack([vector for vector, _ in words]))
        start += length
    return np.stack(vectors)


def dissect_word(path: np.ndarray, window: int) -> tuple[np.ndarray, float]:
    count = len(path)
    novelty, alignment = np.empty(count), np.empty(count)
    for k in range(count):
        near = [*(range(k - window, k) if k >= window else ()), *range(k + 1, min(count, k + window + 1))]
        r = np.linalg.qr(path[[*near, k]].T, mode="r")
        own, others = r[:, -1], r[:-1, :-1]
        novelty[k] = abs(own[-1]) / np.linalg.norm(own)
        directions = others / np.linalg.norm(others, axis=0)
        alignment[k] = 1 / (2 * len(r) * (directions.mean(1) @ own[:-1] / np.linalg.norm(own[:-1])))
    unit = path / np.linalg.norm(path, axis=1, keepdims=True)
    weights = (alignment / alignment.sum() + novelty / novelty.sum()) / 2
    return weights @ path, float(np.var((unit[:-1] * unit[1:]).sum(1)))


def cpu_seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def random_base(like: Embedder) -> Embedder:
    """A model with BERT-base's shape, random weights, and the other model's tokenizer."""
    torch.manual_seed(0)
    encoder = initialize_weights(Bert(BASE)).eval()
    heads = torch.nn.Sequential(Normalize())
    return TorchEmbedder(like.tokenizer, encoder, pooling_of("mean", BASE.depth), heads, Manifest(Path())).eval()  # type: ignore[arg-type]


def save(results: list[Overhead | SpeedUp]) -> None:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    described = {
        "date": str(date.today()),
        "commit": commit.strip(),
        "machine": {"processor": processor(), "threads": torch.get_num_threads(), "torch": torch.__version__},
        "results": [asdict(result) for result in results],
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(described, indent=2) + "\n", "utf-8")


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor())


def main() -> None:
    torch.set_num_threads(1)
    texts = sample(1024)
    minilm = Embedder.load("all-MiniLM-L6-v2", engine="torch", device="cpu", precision="fp32")
    base = random_base(minilm)
    results: list[Overhead | SpeedUp] = []
    for name, embedder, spec, share, rounds in (
        ("all-MiniLM-L6-v2", minilm, "sbert-wk:start=4", 1, 15),
        ("all-MiniLM-L6-v2", minilm, "sbert-wk:start=0", 1, 15),
        ("BERT-base shape, random", base, "sbert-wk:start=4", 8, 9),
    ):
        some = texts[::share]
        for result in (overhead(name, embedder, spec, some, rounds), speed_up(name, embedder, spec, some[:128])):
            results.append(result)
            print(json.dumps(asdict(result)), flush=True)
    save(results)


if __name__ == "__main__":
    main()
