"""What does learned dissection gain over plain pooling, when does it lose, and how far can a model be pruned?

    python benchmarks/fusion.py [--cache FOLDER]

The model is all-MiniLM-L6-v2. If trained on STS-B train, it is measured on STS-B test and SICK-R test (never on
STS12–16, which share pairs with STS-B train); if trained on 10,000 NLI triplets, on all sets. Figures are Spearman ×
100 over all pairs of a set ("all"), with 95 % paired bootstrap intervals. Data are read from LIKEWISE_DATA.
"""

import json
import os
import platform
import subprocess
import tempfile
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from likewise import Embedder
from likewise.arrays.correlation import spearman
from likewise.evaluate.statistics.significance import difference, interval
from likewise.pooling import Reduce, Stack
from likewise.train.data.examples import Examples
from likewise.train.layers.early_exit import texts_per_second, with_lower_layers
from likewise.train.layers.fusion_training import (
    FUSION_DEFAULTS,
    FusionEvaluation,
    FusionInputs,
    fused_embedder,
    imitation,
    layer_vectors,
    train_fusion,
)

from .options import options

DATA = Path(os.environ["LIKEWISE_DATA"])
OUT = Path(__file__).parent / "results" / "fusion.json"
STS = tuple(f"sts{year}" for year in range(12, 17))
TRIPLETS = 10_000
MEAN = Reduce.parse("mean")


class Vectors:
    """Layer vectors for a group of data sets, computed once and kept in a folder."""

    def __init__(self, embedder: Embedder, cache: Path, name: str, texts: list[str]) -> None:
        texts = list(dict.fromkeys(texts))
        kept = cache / f"{name}.npy"
        if not kept.exists() or json.loads((cache / f"{name}.json").read_text()) != texts:
            np.save(kept, layer_vectors(embedder, texts))
            (cache / f"{name}.json").write_text(json.dumps(texts))
        self.rows = np.load(kept)
        self.number = {text: i for i, text in enumerate(texts)}

    def pairs(self, frame: pd.DataFrame) -> Examples:
        rows = [[self.number[a], self.number[b]] for a, b in zip(frame.sentence1, frame.sentence2, strict=True)]
        return Examples.checked(np.array(rows), frame.score.to_numpy(float))

    def triplets(self, frame: pd.DataFrame) -> Examples:
        return Examples.checked(np.array([[self.number[t] for t in row] for row in frame.itertuples(index=False)]))


def cosines(vectors: Vectors, examples: Examples, transform) -> np.ndarray:
    rows = torch.from_numpy(vectors.rows)
    with torch.no_grad():
        u, v = (transform(rows[side]) for side in torch.from_numpy(examples.rows).unbind(1))
        return torch.nn.functional.cosine_similarity(u, v).double().numpy()


def plain(x: torch.Tensor) -> torch.Tensor:
    return x[:, -384:]


def through(fusion, depth: int):
    return lambda x: fusion.map(x[:, : 384 * (depth + 1)])


def compared(vectors: Vectors, examples: Examples, ours, theirs=plain) -> dict:
    a, b, gold = cosines(vectors, examples, ours), cosines(vectors, examples, theirs), examples.scores
    described = {"n": len(gold), "plain": interval(b, gold), "fused": interval(a, gold), "gain": difference(a, b, gold)}
    return {
        name: value if name == "n" else [round(100 * x, 2) for x in (value.value, value.low, value.high)]
        for name, value in described.items()
    }


def texts(frames: list[pd.DataFrame], columns: tuple[str, ...] = ("sentence1", "sentence2")) -> list[str]:
    return [text for frame in frames for column in columns for text in frame[column]]


def main() -> None:
    cache = options(__doc__, cache=Path(tempfile.gettempdir()) / "likewise-fusion").cache
    cache.mkdir(parents=True, exist_ok=True)
    embedder = Embedder.load("all-MiniLM-L6-v2", engine="torch")
    read = lambda name: pd.read_parquet(DATA / f"{name}.parquet")  # noqa: E731
    stsb = {part: read(f"stsb/{part}") for part in ("train", "dev", "test")}
    years = {name: read(f"{name}/test") for name in STS}
    sick = read("sick/test")
    columns = ("anchor", "positive", "negative")
    triplets = read("nli/triplets").sample(TRIPLETS, random_state=0)[list(columns)]
    b = Vectors(embedder, cache, "stsb", texts(list(stsb.values())))
    s = Vectors(embedder, cache, "sick", texts([sick]))
    y = Vectors(embedder, cache, "sts", texts(list(years.values())))
    n = Vectors(embedder, cache, "nli", texts([triplets], columns))
    seen = set(texts([stsb["train"]]))
    fresh = stsb["test"][~stsb["test"].sentence1.isin(seen) & ~stsb["test"].sentence2.isin(seen)]
    test, train = b.pairs(stsb["test"]), b.pairs(stsb["train"])
    result = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}, "
        f"{torch.get_num_threads()} threads",
        "date": str(date.today()),
        "commit": commit(),
        "recipe": str(FUSION_DEFAULTS),
    }

    def trained(seed: int, depth: int = 6):
        began = time.perf_counter()
        outcome = train_fusion(
            FusionInputs(b.rows[:, : 384 * (depth + 1)], Stack(MEAN, 0, depth), 384),
            train,
            FusionEvaluation(spearman),
            replace(FUSION_DEFAULTS, seed=seed),
        )
        return outcome, time.perf_counter() - began

    result["stsb"] = []
    for seed in range(3):
        outcome, seconds = trained(seed)
        ours = through(outcome.fusion, 6)
        row = {
            "seed": seed,
            "seconds": round(seconds, 1),
            "strength": outcome.regularization,
            "share": outcome.interpolation,
            "epochs": outcome.epochs,
            "stsb dev": compared(b, b.pairs(stsb["dev"]), ours),
            "stsb test": compared(b, test, ours),
            "stsb test, no sentence in train": compared(b, b.pairs(fresh), ours),
            "sick test": compared(s, s.pairs(sick), ours),
        }
        result["stsb"].append(row)
        print(row, flush=True)
        if seed == 0:
            whole = ours
    keep(result)
    began = time.perf_counter()
    outcome = train_fusion(
        FusionInputs(n.rows, Stack(MEAN, 0, 6), 384), n.triplets(triplets), FusionEvaluation(spearman)
    )
    nli = through(outcome.fusion, 6)
    row = {
        "seconds": round(time.perf_counter() - began, 1),
        "strength": outcome.regularization,
        "share": outcome.interpolation,
        "epochs": outcome.epochs,
        "stsb test": compared(b, test, nli),
        "sick test": compared(s, s.pairs(sick), nli),
    }
    row |= {name: compared(y, y.pairs(frame), nli) for name, frame in years.items()}
    sets = [row[name] for name in (*STS, "sick test")]
    row["mean of STS12-16 and SICK"] = {
        k: round(float(np.mean([r[k][0] for r in sets])), 2) for k in ("plain", "fused")
    }
    result["nli"] = row
    print(row, flush=True)
    keep(result)
    sample = list(stsb["test"].sentence1)[:500]
    result["depth"] = []
    labelled = np.unique(train.rows)
    unlabelled = np.concatenate([b.rows[labelled], n.rows])
    for depth in range(5, 1, -1):
        width, stack = 384 * (depth + 1), Stack(MEAN, 0, depth)
        row = {"depth": depth}
        for name, of in (("train texts", b.rows[labelled]), ("train and NLI texts", unlabelled)):
            anchor = imitation(of[:, :width], of[:, -384:])
            outcome = train_fusion(
                FusionInputs(b.rows[:, :width], stack, 384, anchor), train, FusionEvaluation(spearman)
            )
            ours, copied = through(outcome.fusion, depth), lambda x, a=anchor, w=width: a(x[:, :w])
            row[f"imitation of {name}"] = {
                "imitation alone, stsb test": compared(b, test, copied),
                "stsb test, beside plain 6": compared(b, test, ours),
                "stsb test, beside fused 6": compared(b, test, ours, whole)["gain"],
                "sick test": compared(s, s.pairs(sick), ours),
            }
        small = fused_embedder(with_lower_layers(embedder, depth), outcome.fusion)
        outcome = train_fusion(
            FusionInputs(n.rows[:, :width], stack, 384, anchor),
            n.triplets(triplets),
            FusionEvaluation(spearman),
            replace(FUSION_DEFAULTS, regularization=(1.0,), epochs=3),
        )
        ours = through(outcome.fusion, depth)
        row["trained on nli"] = {"stsb test": compared(b, test, ours), "sick test": compared(s, s.pairs(sick), ours)}
        row["trained on nli"] |= {name: compared(y, y.pairs(frame), ours) for name, frame in years.items()}
        rates = [(texts_per_second(small, sample, 1), texts_per_second(embedder, sample, 1)) for _ in range(5)]
        fast, full = (max(column) for column in zip(*rates, strict=True))
        row |= {"texts/s": round(fast), "times faster": round(fast / full, 2)}
        result["depth"].append(row)
        print(row, flush=True)
        keep(result)


def commit() -> str:
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()


def keep(found: dict) -> None:
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
