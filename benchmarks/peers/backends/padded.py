"""Code shared by the libraries that are called directly: our tokenizer, batches of similar lengths, mean pooling."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likewise.inference import plan_batches
from likewise.model_files import read_manifest
from likewise.text.tokenizer import Tokenizer

from ..process import Spec

BUDGETS = (256, 512, 1024, 2048, 4096)
"""The batch sizes in tokens that are tried for each library; the fastest is used."""
Ids = Sequence[list[int]]
Batch = tuple[list[int], np.ndarray, np.ndarray]
"""The indices of a batch's texts, their token ids padded to the longest text, and the attention mask."""


class Texts:
    """Converts texts to padded batches, and hidden states to vectors."""

    def __init__(self, spec: Spec) -> None:
        manifest = read_manifest(Path(spec.folder))
        heads = [head.kind for head in manifest.heads]
        if manifest.pooling != "mean" or heads not in ([], ["Normalize"]):
            raise ValueError(
                f"this model has the pooling {manifest.pooling} and the heads {heads}; expected mean pooling"
            )
        self.tokenizer = Tokenizer.load(manifest.encoder, manifest.max_seq_length or 512, manifest.lowercase)
        self.normalizes, self.budget = bool(heads), 2048

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, truncated and with special tokens."""
        room = self.tokenizer.max_content_length
        return [self.tokenizer.with_special_tokens(content[:room]) for content in self.tokenizer.token_ids(texts)]

    def batches(self, ids: Ids) -> Iterator[Batch]:
        """Yield batches of texts of similar length with at most `budget` tokens each."""
        for rows in plan_batches([len(row) for row in ids], self.budget):
            padded = np.zeros((len(rows), len(ids[rows[0]])), np.int64)
            mask = np.zeros_like(padded)
            for at, row in enumerate(rows):
                padded[at, : len(ids[row])], mask[at, : len(ids[row])] = ids[row], 1
            yield rows, padded, mask

    def pooled(self, states: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the mean over tokens, scaled to length 1 if the model normalizes its vectors."""
        weights = mask.astype(np.float32)
        vectors = np.matmul(weights[:, None], states)[:, 0] / weights.sum(1, keepdims=True)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True) if self.normalizes else vectors

    def gathered(self, count: int, blocks: Iterable[tuple[list[int], np.ndarray]]) -> np.ndarray:
        """Return the rows in the order of the texts."""
        found: dict[int, np.ndarray] = {}
        for rows, block in blocks:
            found.update(zip(rows, block, strict=True))
        return np.stack([found[i] for i in range(count)])


class ByHand:
    """A library that computes one padded batch at a time; `compute(ids, mask)` returns hidden states."""

    def __init__(self, spec: Spec) -> None:
        self.texts = Texts(spec)

    def compute(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        batches = self.texts.batches(self.texts.ids(texts))
        blocks = ((rows, self.texts.pooled(self.compute(ids, mask), mask)) for rows, ids, mask in batches)
        return self.texts.gathered(len(texts), blocks)

    def tune(self, texts: list[str]) -> dict[str, Any]:
        """Keep the batch size that is fastest on these texts."""
        return {"batch_tokens": fastest_budget(self.texts, lambda: self.encode(texts))}


def fastest_budget(texts: Texts, work: Callable[[], Any]) -> int:
    """Set and return the budget with which `work` is fastest; each is tried twice."""
    seconds = {}
    for budget in BUDGETS * 2:
        texts.budget, began = budget, time.perf_counter()
        work()
        seconds[budget] = min(seconds.get(budget, float("inf")), time.perf_counter() - began)
    texts.budget = min(seconds, key=lambda budget: seconds[budget])
    return texts.budget
