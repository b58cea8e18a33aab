"""Layers selected without labels: the separation beside a loop, the candidates, and what is refused."""

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from likewise import Embedder
from likewise.engine_registry import ENGINES
from likewise.errors import BadInput
from likewise.train.layers.layer_selection import (
    MAX_TEXTS,
    MIN_TEXTS,
    LayerSelection,
    layer_subsets,
    layer_vectors_of,
    select_layers,
    separation,
)
from tests.native_library import NATIVE

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "quick", "lazy", "brown", "fox", "jumps", "over", "house"]
ENGINES_HERE = [name for name in ENGINES if name != "native" or NATIVE]


def sentences(count: int, seed: int = 0) -> list[str]:
    drawn = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found[" ".join(drawn.choices(WORDS, k=drawn.randint(8, 12)))] = None
    return list(found)


def slow_separation(same: np.ndarray, changed: np.ndarray) -> float:
    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
        return float(a @ b) / lengths if lengths else 0.0

    own = [cosine(a, b) for a, b in zip(same, changed, strict=True)]
    others = [cosine(a, b) for i, a in enumerate(same) for j, b in enumerate(changed) if i != j]
    spread = np.sqrt((np.var(own) + np.var(others)) / 2)
    return float((np.mean(own) - np.mean(others)) / spread) if spread > 1e-12 else 0.0


VECTORS = arrays(np.float64, (5, 3), elements=st.integers(-4, 4).map(float))


@given(VECTORS, VECTORS)
def test_the_separation_is_that_of_a_loop(same, changed):
    assert separation(same, changed) == pytest.approx(slow_separation(same, changed), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("count", "most"), [(1, 1), (4, 1), (4, 2), (4, 9), (7, 3)])
def test_candidates_are_every_set_of_few_layers_once_and_the_last_layer_is_first(count, most):
    found = list(layer_subsets(count, most))
    wanted = {layers for size in range(1, min(most, count) + 1) for layers in combinations(range(count), size)}
    assert found[0] == (count - 1,) and len(found) == len(wanted) and {*found} == wanted


@pytest.mark.parametrize("engine", ENGINES_HERE)
@pytest.mark.parametrize("pooling", ["mean", "cls+mean"])
def test_every_candidate_has_the_separation_of_the_model_loaded_with_its_pooling(folders, engine, pooling):
    """The reference encodes whole and shortened texts under each pooling by its name."""
    embedder = Embedder.load(folders("bert"), engine=engine, pooling=pooling)
    texts = sentences(MIN_TEXTS)
    selection = select_layers(embedder, texts, most=2, seed=3)
    drawn, tokenizer = random.Random(3), embedder.tokenizer
    whole = tokenizer.token_ids(texts)
    kept = []
    for ids in whole:
        left_out = {*drawn.sample(range(len(ids)), max(1, round(0.2 * len(ids))))}
        kept.append([token for i, token in enumerate(ids) if i not in left_out])
    for candidate in selection.candidates:
        under = embedder.with_pooling(candidate.pooling)
        reduce = pooling.split("+")
        ids = [tokenizer.with_special_tokens(one) for one in (*whole, *kept)]
        vectors = layer_vectors_of(under, ids, reduce)[:, list(candidate.layers)].mean(1)
        a, b = np.split(under.through_heads(vectors), 2)
        assert candidate.separation == pytest.approx(slow_separation(a, b), rel=1e-4)
    assert [c.separation for c in selection.candidates] == sorted(
        (c.separation for c in selection.candidates), reverse=True
    )
    assert selection.last.pooling == pooling and selection.last in selection.candidates


def test_layer_vectors_are_those_of_the_poolings_by_name(tiny):
    texts = sentences(5)
    ids = [tiny.tokenizer.with_special_tokens(one) for one in tiny.tokenizer.token_ids(texts)]
    vectors = layer_vectors_of(tiny, ids, ["mean"])
    for layers in layer_subsets(4, 3):
        named = tiny.with_pooling(f"mean:layers={'+'.join(map(str, layers))}").encode(texts)
        np.testing.assert_allclose(tiny.through_heads(vectors[:, list(layers)].mean(1)), named, atol=1e-5)


def test_the_layer_in_which_texts_stay_themselves_wins(tiny, monkeypatch):
    """Layer 1 keeps a text's identity; the others are noise."""
    drawn = np.random.default_rng(0)

    def planted(embedder, sequences, reduce, show_progress_bar=None):
        half = len(sequences) // 2
        vectors = drawn.normal(size=(2 * half, 4, 32)).astype(np.float32)
        identity = drawn.normal(size=(half, 32)).astype(np.float32)
        vectors[:, 1] = np.concatenate([identity, identity]) + 0.05 * vectors[:, 1]
        return vectors

    monkeypatch.setattr("likewise.train.layers.layer_selection.layer_vectors_of", planted)
    selection = select_layers(tiny, sentences(MIN_TEXTS))
    assert selection.best.layers == (1,) and selection.best.pooling == "mean:layers=1"


def test_the_same_texts_and_seed_give_the_same_selection_and_a_few_texts_are_enough(tiny):
    texts, shown = sentences(MAX_TEXTS + 30), []
    first, again = (select_layers(tiny, texts, most=1) for _ in range(2))
    assert isinstance(first, LayerSelection) and first == again and first.texts == MAX_TEXTS
    assert select_layers(tiny, texts[:MAX_TEXTS], most=1, show_progress_bar=shown.append) == first
    assert shown[-1].texts == shown[-1].total == 2 * MAX_TEXTS and shown[-1].tokens > 8 * shown[-1].texts


def test_means_of_up_to_three_layers_are_compared_and_texts_truncated(tiny):
    most, texts = tiny.tokenizer.max_content_length, sentences(MIN_TEXTS)
    selection = select_layers(tiny, [*texts, "cat " * most])
    assert len(selection.candidates) == 4 + 6 + 4
    assert select_layers(tiny, [*texts, "cat " * (most + 9)], most=3, seed=0) == selection


def test_too_few_texts_are_refused_whatever_repeats_and_short_ones_there_are(tiny):
    with pytest.raises(BadInput, match="49 distinct texts have 4 tokens or more; expected at least 50"):
        select_layers(tiny, [*sentences(MIN_TEXTS - 1) * 2, *["a cat"] * 90])
    with pytest.raises(BadInput, match="most is 0"):
        select_layers(tiny, sentences(MIN_TEXTS), most=0)


@pytest.mark.parametrize("pooling", ["max", "cls+max", "sbert-wk:start=0"])
def test_poolings_whose_layers_cannot_be_averaged_after_pooling_are_refused(folders, pooling):
    embedder = Embedder.load(folders("bert"), engine="numpy", pooling=pooling)
    with pytest.raises(BadInput, match=r"layer selection needs cls, mean, .*NAME\(pooling=mean\)"):
        select_layers(embedder, sentences(MIN_TEXTS))


def test_a_mean_of_layers_is_selected_anew(folders):
    embedder = Embedder.load(folders("bert"), engine="numpy", pooling="mean:layers=0+1")
    plain = Embedder.load(folders("bert"), engine="numpy", pooling="mean")
    texts = sentences(MIN_TEXTS)
    assert select_layers(embedder, texts) == select_layers(plain, texts)
