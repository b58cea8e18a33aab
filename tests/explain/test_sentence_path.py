"""A sentence through the layers: every measure equals the result of a loop over words and layers."""

import numpy as np
import pytest

from likewise import Embedder
from likewise.errors import BadInput
from likewise.explain import sentence_path
from likewise.explain.sentence_path import _mean_of_others

TEXT = "the quick cat and the dog"


@pytest.fixture(scope="module")
def embedder(folders) -> Embedder:
    return Embedder.load(folders("bert"), engine="numpy")


def cosine(a, b) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_movement_arrival_and_likeness_are_cosines_of_a_word_with_itself(embedder):
    found = sentence_path(embedder, TEXT)
    (layers,) = embedder.encode_layers([TEXT])
    count, words = layers.shape[:2]
    assert len(found.words) == words and found.special == (True, *[False] * (words - 2), True)
    for word in range(words):
        for layer in range(count):
            arrival = cosine(layers[layer, word], layers[-1, word])
            assert found.to_last[layer, word] == pytest.approx(arrival, abs=1e-5)
            if layer:
                moved = 1 - cosine(layers[layer, word], layers[layer - 1, word])
                assert found.movement[layer - 1, word] == pytest.approx(moved, abs=1e-5)
    between = np.mean([cosine(layers[0, word], layers[2, word]) for word in range(words)])
    assert found.between_layers[0, 2] == pytest.approx(between, abs=1e-5)
    others = [cosine(layers[1, a], layers[1, b]) for a in range(words) for b in range(words) if a != b]
    assert found.context[1] == pytest.approx(np.mean(others), abs=1e-5)


def test_shares_and_novelty_are_shares_and_everything_is_plain_json(embedder):
    found = sentence_path(embedder, TEXT)
    assert found.importance.sum() == pytest.approx(1, abs=1e-5)
    assert ((found.novelty >= 0) & (found.novelty <= 1 + 1e-6)).all()
    plain = found.as_json()
    assert plain["words"] == list(found.words)
    assert plain["special"] == list(found.special) and plain["text"] == TEXT
    for name in ("movement", "novelty", "places", "context"):
        assert plain[name] == np.round(getattr(found, name), 5).tolist()


def test_a_single_word_is_like_itself():
    assert _mean_of_others(np.array([[3.0, 4.0]])) == 1.0
    assert _mean_of_others(np.array([[3.0, 4.0], [4.0, 3.0]])) == pytest.approx(0.96)


def of_blocks(own, blocks: int) -> Embedder:
    return Embedder.load(own(changes={"num_hidden_layers": blocks}), engine="numpy")


def test_a_model_without_two_blocks_is_refused(own):
    with pytest.raises(BadInput, match="the model has 1 block; expected at least 2 to compare layers"):
        sentence_path(of_blocks(own, 1), "a cat")
    assert len(sentence_path(of_blocks(own, 2), "a cat").novelty) == 3


@pytest.mark.parametrize("blocks", [3, 4, 6])
def test_alignment_is_the_mean_cosine_with_the_layers_around_even_if_they_disagree(blocks, own, monkeypatch):
    embedder = of_blocks(own, blocks)
    (layers,) = embedder.encode_layers([TEXT])
    signs = (-1.0) ** np.arange(len(layers), dtype=np.float32)[:, None, None]
    monkeypatch.setattr(type(embedder), "encode_layers", lambda *_, **__: [layers * signs])
    path = sentence_path(embedder, TEXT)
    count = len(layers)
    window = min(2, (count - 1) // 2)
    for layer in range(count):
        near = [j for j in range(count) if 0 < abs(j - layer) <= window]
        wanted = np.mean([signs[j, 0, 0] * signs[layer, 0, 0] * cosine(layers[layer, 1], layers[j, 1]) for j in near])
        assert path.alignment[layer, 1] == pytest.approx(wanted, abs=1e-5)
        around = (layers * signs)[near, 1].T
        rest = layers[layer, 1] - around @ np.linalg.lstsq(around, layers[layer, 1])[0]
        assert path.novelty[layer, 1] == pytest.approx(
            np.linalg.norm(rest) / np.linalg.norm(layers[layer, 1]), abs=1e-3
        )


@pytest.mark.parametrize("text", [TEXT, "a cat", "rain falls on 7 dogs", "the query"])
def test_importance_is_the_variance_of_steps_and_places_are_the_main_directions_of_all_words(text, embedder):
    found = sentence_path(embedder, text)
    (layers,) = embedder.encode_layers([text])
    units = layers.astype(np.float64) / np.linalg.norm(layers, axis=2, keepdims=True)
    variance = np.var((units[1:] * units[:-1]).sum(2), axis=0)
    variance[-1] = 0  # the last token, which all texts have in common
    np.testing.assert_allclose(found.importance, variance / variance.sum(), atol=1e-4)
    flat = units.reshape(-1, units.shape[2])
    _, _, axes = np.linalg.svd(flat - flat.mean(0), full_matrices=False)
    assert all(
        axis[np.abs(axis).argmax()] > 0
        for axis in np.linalg.lstsq(flat - flat.mean(0), found.places.reshape(-1, 2))[0].T
    )
    expected = (flat - flat.mean(0)) @ axes[:2].T
    places = found.places.reshape(-1, 2)
    np.testing.assert_allclose(np.abs(places), np.abs(expected), atol=1e-6)
    np.testing.assert_allclose(np.abs(places.T @ expected), np.abs(expected.T @ expected), atol=1e-6)
