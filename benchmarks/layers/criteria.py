"""Which label-free criterion picks the layers that agree best with human scores? On development data only.

    LIKEWISE_DATA=data LIKEWISE_MODELS=models python -m benchmarks.layers.criteria [MODEL …]

Every set of layers is a candidate. Each criterion picks one, using 400 premises of inference data and altered copies of
them; its score is Spearman's correlation × 100 of the pick's cosines on STS-B's development split. Over all candidates,
the criterion's rank correlation with that score is computed too. Writes benchmarks/results/layer_criteria.json.
"""

import random
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float

from likewise import Embedder
from likewise.arrays.correlation import spearman
from likewise.arrays.similarity import unit
from likewise.data.datasets import read_dataset
from likewise.train.layers.layer_selection import layer_vectors_of, separation

from ..options import options
from ..record import save
from .contenders import SEED, selection_texts
from .measure import MODELS
from .one_pass import token_ids

TEXTS, TEMPERATURE = 400, 0.05
Vectors = Float[np.ndarray, "N W"]
Ids = list[int]


def main() -> None:
    results = {name: compared(name) for name in options(__doc__, given={"models": [*MODELS]}).models}
    for name, row in results.items():
        best = f"best of {row['candidates']} {row['best']:.2f} ({row['best layers']})"
        print(f"{name}: last layer {row['last']:.2f}, all layers {row['all layers']:.2f}, {best}")
        for criterion, found in row["criteria"].items():
            print(f"  {criterion:28} {found['dev']:6.2f}  {found['layers']:12} ρ {found['correlation']:+.2f}")
    save("layer_criteria", results)


def compared(name: str) -> dict[str, Any]:
    """The layers that each criterion picks in one model, and their scores."""
    embedder = Embedder.load(name, engine="native", pooling="mean")
    count = embedder.encoder.depth + 1
    subsets = [layers for size in range(1, count + 1) for layers in combinations(range(count), size)]
    dev = read_dataset("stsb/dev")
    sides = [_vectors(embedder, token_ids(embedder, dev[column])) for column in ("sentence1", "sentence2")]
    gold = np.asarray(dev["score"], float)
    worth = {layers: _spearman(sides[0], sides[1], layers, gold) for layers in subsets}
    views = _views(embedder)
    criteria = {}
    for criterion, (view, function) in CRITERIA.items():
        scores = {s: function(_mean(views["whole"], s), _mean(views[view], s)) for s in subsets}
        chosen = max(scores, key=lambda layers: scores[layers])
        correlation = spearman(np.array([worth[s] for s in subsets]), np.array([scores[s] for s in subsets]))
        criteria[criterion] = {"dev": worth[chosen], "layers": _name(chosen), "correlation": correlation}
    best = max(worth, key=lambda layers: worth[layers])
    summary = {"last": worth[count - 1,], "best": worth[best], "best layers": _name(best)}
    return {**summary, "all layers": worth[tuple(range(count))], "candidates": len(subsets), "criteria": criteria}


def _views(embedder: Embedder) -> dict[str, Float[np.ndarray, "N L W"]]:
    """Each text unchanged, and altered in each way."""
    tokenizer = embedder.tokenizer
    read = (ids[: tokenizer.max_content_length] for ids in tokenizer.token_ids(selection_texts()))
    contents = [ids for ids in read if len(ids) >= 6][:TEXTS]
    drawn = random.Random(SEED)
    changed = {view: [change(ids, drawn) for ids in contents] for view, change in CHANGES.items()}
    return {view: _vectors(embedder, [tokenizer.with_special_tokens(i) for i in ids]) for view, ids in changed.items()}


def _without(share: float) -> Callable[[Ids, random.Random], Ids]:
    def change(ids: Ids, drawn: random.Random) -> Ids:
        left_out = {*drawn.sample(range(len(ids)), max(1, round(share * len(ids))))}
        return [token for i, token in enumerate(ids) if i not in left_out]

    return change


CHANGES: dict[str, Callable[[Ids, random.Random], Ids]] = {
    "whole": lambda ids, _: ids,
    **{f"without {share:.0%}": _without(share) for share in (0.1, 0.2, 0.3, 0.5)},
    "shuffled": lambda ids, drawn: drawn.sample(ids, len(ids)),
    "first half": lambda ids, _: ids[: len(ids) // 2],
    "second half": lambda ids, _: ids[len(ids) // 2 :],
}


def contrast(whole: Vectors, changed: Vectors) -> float:
    """Negative InfoNCE: how reliably a text identifies its own altered copy."""
    logits = unit(whole) @ unit(changed).T / TEMPERATURE
    return float((np.diagonal(logits) - np.log(np.exp(logits).sum(1))).mean())


def uniformity(whole: Vectors, _: Vectors) -> float:
    """The negative uniformity loss of Wang and Isola (2020)."""
    return -float(np.log(np.exp(-4 + 4 * _different(whole)).mean()))


def isotropy(whole: Vectors, _: Vectors) -> float:
    """The negative mean cosine of different texts."""
    return -float(_different(whole).mean())


def effective_rank(whole: Vectors, _: Vectors) -> float:
    """The effective rank: exp of the entropy of the variances along the principal axes (Roy and Vetterli 2007)."""
    centred = unit(whole) - unit(whole).mean(0)
    variances = np.linalg.eigvalsh((centred.T @ centred).astype(np.float64)).clip(1e-12)
    shares = variances / variances.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def agreement(whole: Vectors, changed: Vectors) -> float:
    """Spearman's correlation of the cosines of different texts before and after the alteration."""
    return spearman(_different(whole).astype(np.float64), _different(changed).astype(np.float64))


def _different(x: Vectors) -> Float[np.ndarray, " P"]:
    return np.asarray((unit(x) @ unit(x).T)[np.triu_indices(len(x), 1)])


CRITERIA: dict[str, tuple[str, Callable[[Vectors, Vectors], float]]] = {
    **{f"separation, {view}": (view, separation) for view in CHANGES if view != "whole"},
    **{f"contrast, {view}": (view, contrast) for view in ("without 20%", "shuffled", "second half")},
    "agreement, without 50%": ("without 50%", agreement),
    "agreement, shuffled": ("shuffled", agreement),
    "uniformity": ("whole", uniformity),
    "isotropy": ("whole", isotropy),
    "effective rank": ("whole", effective_rank),
}
"""The altered copy that a text is compared with, and the function; greater is better."""


def _vectors(embedder: Embedder, ids: list[Ids]) -> Float[np.ndarray, "N L W"]:
    return layer_vectors_of(embedder, ids, ("mean",))


def _mean(vectors: Float[np.ndarray, "N L W"], layers: tuple[int, ...]) -> Vectors:
    return np.asarray(vectors[:, list(layers)].mean(1))


def _spearman(a: np.ndarray, b: np.ndarray, layers: tuple[int, ...], gold: Float[np.ndarray, " N"]) -> float:
    """Spearman's correlation × 100."""
    cosines = (unit(_mean(a, layers)) * unit(_mean(b, layers))).sum(1)
    return 100 * spearman(cosines.astype(np.float64), gold)


def _name(layers: tuple[int, ...]) -> str:
    return "+".join(map(str, layers))


if __name__ == "__main__":
    main()
