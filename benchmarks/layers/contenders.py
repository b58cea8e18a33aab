"""The pooling methods compared for one model: the mean, two variants of SBERT-WK, selected layers, and two fusions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from likewise import Embedder
from likewise.data.datasets import read_dataset
from likewise.engines.array_embedder import ArrayEmbedder
from likewise.engines.numpy.poolings_and_heads import ArrayFusion, ArrayPooling, array_pooling
from likewise.model_names import load_torch_embedder
from likewise.module_registry import FusionShape
from likewise.pooling import Reduce, Stack
from likewise.train.data.examples import Examples, deduplicated
from likewise.train.layers.fusion_training import FusionInputs, train_fusion
from likewise.train.layers.layer_selection import layer_vectors_of, select_layers

from .one_pass import token_ids

MEAN, WK, WK_SYMMETRIC = "mean", "SBERT-WK", "SBERT-WK, symmetric"
SELECTED, FUSED_NLI, FUSED_STSB = "layers without labels", "fusion, NLI", "fusion, STS-B"
CONTENDERS = (MEAN, WK, WK_SYMMETRIC, SELECTED, FUSED_NLI, FUSED_STSB)
TRIPLETS = 3000
SELECTION_TEXTS = 500
SEED = 0


@dataclass(frozen=True)
class Field:
    """A model, its contenders by name, and the results of selecting and training them."""

    embedder: ArrayEmbedder
    poolings: dict[str, ArrayPooling]
    about: dict[str, Any]


def field_of(name: str, work: Path) -> Field:
    """Return the contenders for a model; trained maps are stored in the folder `work`."""
    embedder = Embedder.load(name, engine="native", pooling="mean", precision="fp32")
    assert isinstance(embedder, ArrayEmbedder)
    selection = select_layers(embedder, selection_texts(), seed=SEED)
    depth = embedder.encoder.depth
    specs = {MEAN: "mean", WK: "sbert-wk", WK_SYMMETRIC: "sbert-wk:boundary=symmetric"}
    poolings: dict[str, ArrayPooling] = {title: array_pooling(spec, depth) for title, spec in specs.items()}
    poolings[SELECTED] = array_pooling(selection.best.pooling, depth)
    for title, read in {FUSED_NLI: nli_triplets, FUSED_STSB: stsb_pairs}.items():
        poolings[title] = _fusion(name, embedder, title, read, work)
    about = {
        "selected": selection.best.pooling,
        "separation": {"selected": selection.best.separation, "last layer": selection.last.separation},
        "poolings": {title: pooling.spec for title, pooling in poolings.items()},
        "kept as mean pooling": [t for t in (FUSED_NLI, FUSED_STSB) if _is_plain(poolings[t])],
    }
    return Field(embedder, poolings, about)


def selection_texts() -> list[str]:
    """Return premises of NLI data, without labels; a few of them occur in test sets, as single unscored sentences."""
    every = list(dict.fromkeys(read_dataset("nli/triplets")["anchor"]))
    return [every[i] for i in np.random.default_rng(SEED).permutation(len(every))[: 2 * SELECTION_TEXTS]]


def nli_triplets() -> tuple[list[str], Examples]:
    """Return anchors, each with an entailed and a contradicting sentence."""
    rows = read_dataset("nli/triplets")
    drawn = np.random.default_rng(SEED).permutation(len(rows["anchor"]))[:TRIPLETS]
    return deduplicated([[rows[column][i] for i in drawn] for column in ("anchor", "positive", "negative")], None)


def stsb_pairs() -> tuple[list[str], Examples]:
    """Return the scored pairs of STS-B's training split."""
    rows = read_dataset("stsb/train")
    return deduplicated([list(rows["sentence1"]), list(rows["sentence2"])], [float(score) for score in rows["score"]])


def _fusion(name: str, embedder: ArrayEmbedder, title: str, read: Any, work: Path) -> ArrayFusion:
    """Train a fusion on these examples as `likewise model fuse` does; it is kept only if held-out pairs improve."""
    shape = FusionShape(("mean",), 0, embedder.encoder.depth, embedder.encoder.width)
    kept = work / f"{Path(name).name} {title}.npz"
    if not kept.exists():
        texts, examples = read()
        fused = _trained(name, embedder, texts, examples)
        work.mkdir(parents=True, exist_ok=True)
        np.savez(kept, **fused)
    return ArrayFusion(shape, dict(np.load(kept)))


def _trained(name: str, embedder: ArrayEmbedder, texts: Sequence[str], examples: Examples) -> dict[str, np.ndarray]:
    width, depth = embedder.encoder.width, embedder.encoder.depth
    vectors = layer_vectors_of(embedder, token_ids(embedder, texts), ("mean",), show_progress_bar=True)
    heads = load_torch_embedder(name, pooling="mean", device="cpu").heads.requires_grad_(False)
    stack = Stack(Reduce.parse("mean"), 0, depth)
    inputs = FusionInputs(vectors.reshape(len(vectors), -1), stack, width, heads=heads)
    state = train_fusion(inputs, examples).fusion.state_dict()
    return {key: tensor.numpy() for key, tensor in state.items()}


def _is_plain(pooling: ArrayPooling) -> bool:
    """Whether a fusion changes nothing: the gain on held-out pairs was not significant."""
    weight = pooling.arrays["map.weight"]
    plain = np.zeros_like(weight)
    plain[:, -len(weight) :] = np.eye(len(weight))
    return bool(np.array_equal(weight, plain) and not pooling.arrays["map.bias"].any())
