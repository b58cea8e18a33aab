"""Do the words that an explanation ranks first account for the similarity? Tested by deleting them.

    LIKEWISE_DATA=data python -m benchmarks.explanations [MODEL …]

For pairs in STS-B's test set with a score of 3 or more, the word of the first sentence that contributes most to the
cosine is deleted and the sentence is encoded again. The drop in the cosine is compared with the mean drop when any
other word is deleted (the expectation for a random word), and with the drop when the longest word is deleted, which
needs no model.
Intervals are for paired differences (bootstrap over pairs, 95 %).
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.record import data, save
from likewise import Embedder
from likewise.evaluate.statistics.significance import intervals
from likewise.explain import PairExplanation, explain_pair

PAIRS = 300
LEAST_WORDS = 4
LEAST_SCORE = 3.0
POOLINGS = {"likewise-mini": (None,), "all-MiniLM-L6-v2": (None, "sbert-wk")}


def main(names: Sequence[str]) -> None:
    """Measure each model and save the results; `python -m benchmarks.page_tables` draws them."""
    table = pq.read_table(data("stsb", "test.parquet"), columns=["sentence1", "sentence2", "score"]).to_pylist()
    rows = [(row["sentence1"], row["sentence2"]) for row in table if row["score"] >= LEAST_SCORE]
    order = np.random.default_rng(0).permutation(len(rows))
    results = {}
    for name in names:
        for pooling in POOLINGS.get(name, (None,)):
            embedder = Embedder.load(name, pooling=pooling)
            title = name if pooling is None else f"{name} ({embedder.pooling.spec})"
            results[title] = measure(embedder, [rows[i] for i in order])
            print(title, results[title], flush=True)
    save("explanations", results)


def measure(embedder: Embedder, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Measure the drops in the cosine, as means with intervals."""
    falls, gaps = [], []
    for first, second in pairs:
        explanation = explain_pair(embedder, first, second, overflow="truncate")
        words = [i for i, word in enumerate(explanation.words[0]) if not word.special]
        if len(words) < LEAST_WORDS:
            continue
        score = float(embedder.pair_scores([first], [second], show_progress_bar=False)[0])
        gaps.append(abs(explanation.cosine - score))
        falls.append(falls_of(embedder, explanation, words))
        if len(falls) == PAIRS:
            break
    top, other, longest = np.array(falls).T
    rows = {"top": top, "other": other, "longest": longest, "top - other": top - other, "top - longest": top - longest}
    found = {name: interval_of(row) for name, row in rows.items()}
    return {"pairs": len(falls), "largest error of a sum": float(max(gaps)), **found}


def falls_of(embedder: Embedder, explanation: PairExplanation, words: Sequence[int]) -> tuple[float, float, float]:
    """Return the drop in the cosine without the top word, without another word (mean), and without the longest word."""
    names = [word.text for word in explanation.words[0]]
    shortened = [" ".join(names[j] for j in words if j != i) for i in words]
    vectors = embedder.encode(
        [" ".join(names[j] for j in words), explanation.texts[1], *shortened], show_progress_bar=False
    )
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit[1]
    falls = cosines[0] - cosines[2:]
    top = int(explanation.word_totals[0][list(words)].argmax())
    longest = max(range(len(words)), key=lambda i: len(names[words[i]]))
    return float(falls[top]), float(np.delete(falls, top).mean()), float(falls[longest])


def interval_of(values: np.ndarray) -> list[float]:
    """Return the mean and the lower and upper ends of its interval."""
    found = intervals([values], statistic="mean")[0]
    return [round(x, 4) for x in (found.value, found.low, found.high)]


if __name__ == "__main__":
    main(sys.argv[1:] or list(POOLINGS))
