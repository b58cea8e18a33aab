"""Does calibration hold on held-out texts? Tests p-values, false discovery rates and scores.

    LIKEWISE_DATA=data python -m benchmarks.calibration [MODEL …]

The settings of `likewise.calibrate` were chosen on part 0 of diverse_text and the first half of qqp_subset, and changed
once after looking at part 1; everything here uses part 2 and the second half. A pair counts as false as follows:

- held-out random pairs are false discoveries by definition, so their share is the true false discovery rate;
- among all pairs of a corpus with planted copies, every pair that was not planted counts as false, even if two texts
  of the corpus happen to say the same thing, so the share is an upper bound;
- pairs labelled as non-duplicates in qqp_subset were collected because they look alike, so they are not random pairs;
  their share has no bound, and is reported only to make this clear.
"""

import random
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.record import data, save
from likewise import Embedder
from likewise.calibrate import Calibration, NullDistribution, cut_off, fit_labelled_pairs, least_cosine
from likewise.calibrate.null_distribution import chance_cosines
from likewise.evaluate.metrics.binary_classification import binary_decisions
from likewise.search import closest_pairs
from likewise.search.texts.text_index import identity_of_embedder

TEXTS = 10_000  # number of texts for calibration; as many again are held out
HELD_OUT_P = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
RATES = (0.05, 0.1, 0.2)
CORPUS, COPIES = 4000, 400
DRAWS = 10  # number of random corpora and of random sets of pairs
PAIRINGS = 200
CHANCE, RELATED = 200_000, 1000
MOST = 1_000_000
BLOCK = 1000


def main(names: Sequence[str]) -> None:
    """Measure each model and save the results; `python -m benchmarks.page_tables` draws them."""
    results = {}
    for name in names:
        embedder = Embedder.load(name)
        results[name] = {"diverse_text": of_diverse_text(embedder, name), "qqp_subset": of_questions(embedder, name)}
        print(name, results[name], flush=True)
    save("calibration", results)


def of_diverse_text(embedder: Embedder, name: str) -> dict[str, Any]:
    """Test p-values on held-out texts, and the detection of planted copies; no text is used twice."""
    column = pq.read_table(data("diverse_text", "part-2.parquet"), columns=["text"])["text"].to_pylist()
    texts = [text for text in dict.fromkeys(column) if len(text.split()) >= 5]
    order = np.random.default_rng(0).permutation(len(texts))[: 2 * TEXTS + DRAWS * CORPUS]
    chosen = [texts[i] for i in order]
    vectors = encoded(embedder, chosen)
    developed, held_out = vectors[:TEXTS], vectors[TEXTS : 2 * TEXTS]
    calibration = calibrated(embedder, name, developed)
    starts = range(2 * TEXTS, len(chosen), CORPUS)
    corpora = [(chosen[start : start + CORPUS], vectors[start : start + CORPUS]) for start in starts]
    return {**of_p_values(calibration, held_out, developed), "planted": planted_copies(embedder, calibration, corpora)}


def of_questions(embedder: Embedder, name: str) -> dict[str, Any]:
    """Test held-out random pairs mixed with labelled duplicates, and scores fitted to labelled pairs."""
    table = pq.read_table(data("qqp_subset", "pairs.parquet")).to_pydict()
    half = len(table["label"]) // 2
    sides = [table["sentence1"], table["sentence2"]]
    early = {text for side in sides for text in side[:half]}
    rows = [i for i in range(half, len(table["label"])) if not {side[i] for side in sides} & early]
    labels = np.array(table["label"])
    shuffle = np.random.default_rng(0)
    developed = encoded(embedder, shuffle.permutation(sorted(early)).tolist()[:TEXTS])
    calibration = calibrated(embedder, name, developed)
    later = {side[i] for side in sides for i in rows}
    held_out = shuffle.permutation(sorted(later)).tolist()[:TEXTS]
    vectors = encoded(embedder, held_out)
    cosines = [
        embedder.pair_scores(*([side[i] for i in some] for side in sides), show_progress_bar=False)
        for some in (range(half), rows)
    ]
    positive = labels[rows] == 1
    return {
        **of_p_values(calibration, vectors, developed),
        "mixed": mixed(calibration, vectors, cosines[1][positive], cosines[1][~positive]),
        "all pairs": in_all_pairs(calibration, vectors),
        "labelled": of_labelled(cosines[0], labels[:half], cosines[1], labels[rows]),
    }


def encoded(embedder: Embedder, texts: Sequence[str]) -> np.ndarray:
    return embedder.encode(texts, normalize_embeddings=True, overflow="truncate", show_progress_bar=False)


def calibrated(embedder: Embedder, name: str, vectors: np.ndarray) -> Calibration:
    null = NullDistribution.of(chance_cosines(vectors, 1_000_000))
    return Calibration(identity_of_embedder(embedder, name), null, len(vectors))


def of_p_values(calibration: Calibration, vectors: np.ndarray, developed: np.ndarray) -> dict[str, Any]:
    """Test whether p-values are uniform, and how many of all pairs have small p-values."""
    levels = [calibration.chance.cosine_at(p) for p in HELD_OUT_P]
    counts = np.zeros(len(levels))
    for start in range(0, len(vectors), BLOCK):
        tile = vectors[start : start + BLOCK] @ vectors[start:].T
        upper = np.triu(np.ones(tile.shape, bool), 1)
        counts += [(tile[upper] >= level).sum() for level in levels]
    of = len(vectors) * (len(vectors) - 1) // 2
    expected = {f"{p:g}": round(float(c / of / p), 2) for p, c in zip(HELD_OUT_P, counts, strict=True)}
    return {
        "held out": uniformity(calibration, vectors),
        "own texts": uniformity(calibration, developed),
        "observed / expected": expected,
        "counted to p": calibration.chance.least_counted,
        "p of cosine 1": float(calibration.p_values(np.array([1.0]))[0]),
    }


def uniformity(calibration: Calibration, vectors: np.ndarray) -> dict[str, Any]:
    """Run the Kolmogorov–Smirnov test on pairs that share no text, repeated over many random pairings of the texts.

    If p-values are uniform, one in twenty tests rejects at 0.05.
    """
    from scipy.stats import kstest

    draw, half = np.random.default_rng(1), len(vectors) // 2
    tests = []
    for _ in range(PAIRINGS):
        order = draw.permutation(len(vectors))
        pairs = (vectors[order[:half]] * vectors[order[half : 2 * half]]).sum(1).astype(np.float64)
        tests.append(kstest(calibration.p_values(pairs), "uniform"))
    rejected = float(np.mean([test.pvalue < 0.05 for test in tests]))
    distance = float(np.median([test.statistic for test in tests]))
    return {"pairs": half, "rejected at 0.05": rejected, "median distance": round(distance, 4)}


def planted_copies(
    embedder: Embedder, calibration: Calibration, corpora: Sequence[tuple[Sequence[str], np.ndarray]]
) -> dict[str, Any]:
    """Average `copies_found` over corpora, and compute the standard error of the observed rates."""
    rows = [copies_found(embedder, calibration, *corpus, random.Random(seed)) for seed, corpus in enumerate(corpora)]
    found = {}
    for rate in RATES:
        found[f"{rate:g}"] = averaged([row[rate] for row in rows])
    return found


def averaged(rows: Sequence[tuple[float, ...]]) -> dict[str, float]:
    """Return the means over rows (cosine, observed rate, recall, and further values), and the rate's standard error."""
    error = float(np.std([row[1] for row in rows], ddof=1) / len(rows) ** 0.5)
    cosine, observed, recall, *others = np.mean(rows, axis=0).round(4).tolist()
    means = {"cosine": cosine, "observed": observed, "standard error": round(error, 4), "recall": recall}
    return means | dict(zip(("labelled non-duplicates above",), others, strict=False))


def copies_found(
    embedder: Embedder, calibration: Calibration, texts: Sequence[str], vectors: np.ndarray, draw: random.Random
) -> dict[float, tuple[float, float, float]]:
    """Search all pairs of a corpus in which a tenth of the texts have a copy with a word dropped, moved or misspelt.

    Returns, for each stated rate, the cosine, the share of discoveries that are not copies, and the share of copies
    found.
    """
    copies = encoded(embedder, [damaged(text, draw) for text in texts[:COPIES]])
    corpus = np.concatenate([vectors, copies])
    comparisons = len(corpus) * (len(corpus) - 1) // 2
    found = {}
    for rate in RATES:
        bound = least_cosine(calibration, comparisons=comparisons, fdr=rate, most=MOST)
        pairs = closest_pairs(corpus, MOST, above=min(bound, 1.0)) if bound <= 1 else []
        cut = cut_off(calibration, np.array([p.score for p in pairs]), comparisons=comparisons, fdr=rate)
        true = sum(pair.j - CORPUS == pair.i for pair in pairs[: cut.discoveries])
        false = 1 - true / cut.discoveries if cut.discoveries else 0.0
        found[rate] = (cut.cosine if cut.discoveries else 1.0, false, true / COPIES)
    return found


def damaged(text: str, draw: random.Random) -> str:
    """Damage a text: drop a word, swap two adjacent words, or swap two letters of a word."""
    words = text.split()
    i = draw.randrange(len(words) - 1)
    kind = draw.choice(("drop", "move", "misspell"))
    if kind == "drop":
        del words[i]
    elif kind == "move":
        words[i], words[i + 1] = words[i + 1], words[i]
    else:
        longest = max(range(len(words)), key=lambda k: len(words[k]))
        word, at = words[longest], len(words[longest]) // 2
        words[longest] = word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :] if len(word) > 2 else word + "x"
    return " ".join(words)


def mixed(calibration: Calibration, vectors: np.ndarray, duplicates: np.ndarray, others: np.ndarray) -> dict[str, Any]:
    """Return the share of random pairs among discoveries in a mix of held-out random pairs and labelled duplicates."""
    found = {}
    for rate in RATES:
        rows = []
        for seed in range(DRAWS):
            chance = chance_cosines(vectors, CHANCE, 100 + seed)
            related = np.random.default_rng(seed).choice(duplicates, RELATED, replace=False)
            cut = cut_off(calibration, np.concatenate([chance, related]), comparisons=CHANCE + RELATED, fdr=rate)
            false = float((chance >= cut.cosine).sum()) / max(1, cut.discoveries)
            above = (float((cosines >= cut.cosine).mean()) for cosines in (related, others))
            rows.append((cut.cosine, false, *above))
        found[f"{rate:g}"] = averaged(rows)
    return found


def in_all_pairs(calibration: Calibration, vectors: np.ndarray) -> dict[str, Any]:
    """Return the discoveries among all pairs of the questions, many of which are related."""
    comparisons = len(vectors) * (len(vectors) - 1) // 2
    bound = least_cosine(calibration, comparisons=comparisons, fdr=0.05, most=MOST)
    pairs = closest_pairs(vectors, MOST, above=min(bound, 1.0)) if bound <= 1 else []
    cut = cut_off(calibration, np.array([p.score for p in pairs]), comparisons=comparisons, fdr=0.05)
    return {"comparisons": comparisons, "discoveries at 0.05": cut.discoveries}


def of_labelled(fitted: np.ndarray, labels: np.ndarray, cosines: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Fit scores and a threshold to one half of the labelled pairs, and test them on the other half."""
    fit = fit_labelled_pairs(fitted, labels)
    reached, _ = binary_decisions(cosines.astype(np.float64), truth, fit.threshold.value)
    scores = fit.score(cosines)
    return {
        "pairs": [len(labels), len(truth)],
        "threshold": [round(x, 4) for x in (fit.threshold.value, fit.threshold.low, fit.threshold.high)],
        "f1": round(fit.value, 4),
        "f1 held out": round(reached, 4),
        "calibration error": round(calibration_error(scores, truth), 4),
        "calibration error of the cosine itself": round(calibration_error(cosines.clip(0, 1), truth), 4),
    }


def calibration_error(scores: np.ndarray, truth: np.ndarray, bins: int = 10) -> float:
    """Return the expected calibration error over equal-width bins, weighted by number of pairs (Naeini et al. 2015)."""
    places = np.minimum((scores * bins).astype(int), bins - 1)
    gaps = [
        abs(float(scores[places == b].mean() - truth[places == b].mean())) * (places == b).mean() for b in {*places}
    ]
    return float(sum(gaps))


if __name__ == "__main__":
    main(sys.argv[1:] or ["likewise-mini", "all-MiniLM-L6-v2"])
