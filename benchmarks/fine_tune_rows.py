"""How many rows does fine-tuning need? Trains likewise-mini on growing numbers of three kinds of pairs and tests it.

    LIKEWISE_DATA=data python -m benchmarks.fine_tune_rows

- claims: a scientific claim and the title of an abstract that supports or refutes it (SciFact); MRR@10 for test claims
  among the titles for all test claims. Training claims whose title is in the test data are left out.
- sections: a sentence, one from the same section, and one from another section of the same article (wiki_sections,
  split by article); accuracy on test triplets.
- questions: duplicate questions (Quora), which the model's teacher was also trained on; MRR@10 for 1,000 held-out
  questions.

Every run uses the settings of docs/how-to/fine-tune.md: contrastive, 3 epochs, a learning rate of 2e-4. Each gain is
relative to the untrained model, averaged over seeds for each test item, with a paired bootstrap interval over items
(95 %).
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.options import options
from benchmarks.record import save
from likewise import Embedder
from likewise.data.datasets import read_dataset
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.evaluate import EvaluationSettings, data_task
from likewise.evaluate.statistics.comparison import compare, estimate
from likewise.evaluate.task import Evidence
from likewise.train import TrainSettings, load_data, train

MODEL = "likewise-mini"
SIZES = (30, 100, 300)
Columns = dict[str, list[str]]


@dataclass(frozen=True)
class OwnData:
    """Data as a user would have it: training rows and test rows."""

    train: Columns
    test: Columns

    @property
    def rows(self) -> int:
        return len(self.train["anchor"])


def claims() -> OwnData:
    """Claims and titles from SciFact."""
    queries, corpus, qrels = (read_dataset(f"scifact/{name}") for name in ("queries", "corpus", "qrels"))
    texts = dict(zip(queries["query_id"], queries["text"], strict=True))
    titles = dict(zip(corpus["doc_id"], corpus["title"], strict=True))
    splits: dict[str, Columns] = {}
    for query, document, split in zip(qrels["query_id"], qrels["doc_id"], qrels["split"], strict=True):
        part = splits.setdefault(split, {"anchor": [], "positive": []})
        part["anchor"].append(texts[query])
        part["positive"].append(titles[document])
    held_out = set(splits["test"]["positive"])
    return OwnData(selected(splits["train"], lambda row: row["positive"] not in held_out), splits["test"])


def sections() -> OwnData:
    """Triplets from Wikipedia sections."""
    triplets = read_dataset("wiki_sections/triplets")
    columns = {name: list(triplets[name]) for name in ("anchor", "positive", "negative", "split")}
    return OwnData(*(selected(columns, lambda row, s=split: row["split"] == s) for split in ("train", "test")))


def questions() -> OwnData:
    """Duplicate questions; no test question occurs in the training rows."""
    pairs = read_dataset("qqp_subset/pairs")
    rows = [
        (a, b)
        for a, b, same in zip(pairs["sentence1"], pairs["sentence2"], pairs["label"], strict=True)
        if same and a != b
    ]
    order = np.random.default_rng(0).permutation(len(rows))
    test = [rows[i] for i in order[:1000]]
    held_out = {text for pair in test for text in pair}
    training = [rows[i] for i in order[1000:] if held_out.isdisjoint(rows[i])]
    return OwnData(*({"anchor": [a for a, _ in part], "positive": [b for _, b in part]} for part in (training, test)))


def selected(columns: Columns, keep: Callable[[dict[str, str]], bool]) -> Columns:
    """The selected rows, without the split column."""
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    kept = [row for row in rows if keep(row)]
    return {name: [row[name] for row in kept] for name in columns if name != "split"}


DATA: dict[str, Callable[[], OwnData]] = {"claims": claims, "sections": sections, "questions": questions}


def evidence(model: Embedder, data: OwnData, name: str) -> Evidence:
    """Return the model's score for each test item: the positive's reciprocal rank, or whether the triplet is right."""

    def encode(texts: Sequence[str]) -> np.ndarray:
        return model.encode(texts, show_progress_bar=False, overflow="truncate")

    found = data_task(data.test, name=name).run(encode, read_dataset, EvaluationSettings())
    assert found.headline.evidence is not None
    return found.headline.evidence


def trained(data: OwnData, size: int, seed: int) -> Embedder:
    """The model after training on a sample of the rows."""
    rows = np.random.default_rng(seed).permutation(data.rows)[:size]
    model = TorchEmbedder.load(MODEL, precision="fp32")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(pa.table({name: [values[i] for i in rows] for name, values in data.train.items()}), path)
        settings = TrainSettings(epochs=3, learning_rate=2e-4, seed=seed, show_progress_bar=False, save_steps=0)
        train(model, load_data(path, "contrastive"), settings)
    return model


def gain(before: Evidence, runs: Sequence[Evidence]) -> dict[str, Any]:
    """Return score and gain with intervals; each item's scores are averaged over the seeds."""
    after = Evidence(np.mean([run.values for run in runs], axis=0))
    score, difference = estimate(after), compare(after, Evidence(before.values)).difference
    return {
        "score": [score.value, score.low, score.high],
        "gain": [difference.value, difference.low, difference.high],
        "seeds": [float(run.values.mean()) for run in runs],
        "items": len(after.values),
    }


def main() -> None:
    args = options(__doc__, data=DATA, sizes=list(SIZES), seeds=3)
    results: dict[str, Any] = {}
    for name in args.data:
        data = DATA[name]()
        before = evidence(Embedder.load(MODEL), data, name)
        start = estimate(before)
        print(f"{name}: {data.rows:,} rows, {len(before.values):,} test items, untrained {start}", flush=True)
        results[name] = {"untrained": [start.value, start.low, start.high], "rows": {}}
        for size in [*(size for size in args.sizes if size < data.rows), data.rows][: len(args.sizes)]:
            runs = [evidence(trained(data, size, seed), data, name) for seed in range(args.seeds)]
            results[name]["rows"][str(size)] = row = gain(before, runs)
            print(f"  {size:5,} rows  {shown(row['score'])}  gain {shown(row['gain'])}", flush=True)
            save("fine_tune_rows", {"model": MODEL, "data": results})


def shown(values: Sequence[float]) -> str:
    value, low, high = (100 * number for number in values)
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"


if __name__ == "__main__":
    main()
