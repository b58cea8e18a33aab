"""The anatomy of a model: measures compared with slow ones, verdicts on known models, and errors."""

import json
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from likewise import Embedder
from likewise.cli.models.dissect import sample
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput, BadModel
from likewise.explain import Anatomy, anatomy, sentence_path
from likewise.explain.anatomy import WordImportance, rank_correlation
from tests.tiny import LONG

TEXTS = sample(60)


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    return TorchEmbedder.load("all-MiniLM-L6-v2", device="cpu", precision="fp32")


@pytest.fixture(scope="module")
def found(minilm: Embedder) -> Anatomy:
    return anatomy(minilm, TEXTS)


def test_the_measures_are_what_loops_over_words_give(minilm: Embedder, found: Anatomy) -> None:
    paths = [layers[:, 1:-1].astype(np.float64) for layers in minilm.encode_layers(TEXTS)]
    units = [x / np.linalg.norm(x, axis=2, keepdims=True) for x in paths]
    words = sum(x.shape[1] for x in units)
    assert (found.texts, found.tokens, found.window) == (len(TEXTS), words, 2)
    similarity = sum(np.einsum("ltd,mtd->lm", x, x) for x in units) / words
    assert np.abs(found.similarity - similarity).max() < 1e-5
    near = [[j for j in range(max(0, k - 2), min(7, k + 3)) if j != k] for k in range(7)]
    assert np.abs(found.alignment - [np.mean(similarity[k, near[k]]) for k in range(7)]).max() < 1e-3
    last = np.concatenate([x[-1] for x in units])
    owner = np.repeat(np.arange(len(units)), [x.shape[1] for x in units])
    cosines, same = last @ last.T, owner[:, None] == owner
    assert found.anisotropy[-1] == pytest.approx(cosines[~same].mean(), abs=1e-5)
    inside = cosines[same & ~np.eye(words, dtype=bool)].mean()
    assert found.context[-1] == pytest.approx(inside - found.anisotropy[-1], abs=1e-5)


def test_importance_is_the_variance_of_steps_over_its_mean_in_the_sentence(minilm: Embedder, found: Anatomy) -> None:
    shares: dict[str, list[float]] = {}
    for layers, pieces in zip(minilm.encode_layers(TEXTS), minilm.pieces(TEXTS), strict=True):
        unit = layers[found.start :, :-1].astype(np.float64)
        unit /= np.linalg.norm(unit, axis=2, keepdims=True)
        variance = np.var((unit[1:] * unit[:-1]).sum(2), axis=0)
        for piece, value in zip(pieces[1:-1], (variance / variance.mean())[1:], strict=True):
            shares.setdefault(piece, []).append(value)
    often = {piece: np.mean(values) for piece, values in shares.items() if len(values) >= 3}
    assert {word.piece for word in found.words} == set(often)
    for word in found.words:
        assert word.importance == pytest.approx(often[word.piece], rel=1e-3)
        assert word.seen == len(shares[word.piece])
    assert list(found.words) == sorted(found.words, key=lambda word: -word.importance)


def test_on_a_tuned_encoder_importance_is_inverted_and_sbert_wk_advised_against(found: Anatomy) -> None:
    assert found.correlation < -0.3
    assert found.verdict == "inverted"
    assert "Do not use it" in found.advice[0]
    assert found.advice[-1] == "Use mean pooling."


def test_an_own_sbert_wk_is_the_one_that_is_judged(minilm: Embedder, found: Anatomy) -> None:
    chosen = TorchEmbedder.load("all-MiniLM-L6-v2", device="cpu", precision="fp32", pooling="sbert-wk:start=1,window=3")
    judged = anatomy(chosen, TEXTS)
    assert (judged.start, judged.window) == (1, 3)
    assert judged.correlation == judged.by_start[1]
    assert judged.by_start[1] == pytest.approx(found.by_start[1])


def test_every_engine_gives_the_same_anatomy(folders) -> None:
    torchs, numpys = (
        anatomy(Embedder.load(folders("bert"), engine=name), TEXTS, window=1) for name in ("torch", "numpy")
    )
    for name in ("similarity", "novelty", "alignment", "anisotropy", "context"):
        np.testing.assert_allclose(getattr(torchs, name), getattr(numpys, name), atol=1e-5)
    assert [word.piece for word in torchs.words] == [word.piece for word in numpys.words]
    assert (torchs.pooling, torchs.start, torchs.tokens) == (numpys.pooling, numpys.start, numpys.tokens)


def test_novelty_is_the_mean_over_words_of_their_own(folders) -> None:
    embedder = Embedder.load(folders("bert"), engine="numpy")
    own = np.concatenate(
        [sentence_path(embedder, text, overflow="truncate").novelty[:, 1:-1] for text in TEXTS], axis=1
    )
    np.testing.assert_allclose(anatomy(embedder, TEXTS, window=1).novelty, own.mean(1), atol=1e-6)


def test_in_texts_of_one_word_no_word_has_a_sentence_to_reflect(folders) -> None:
    found = anatomy(Embedder.load(folders("bert"), engine="numpy"), ["cat", "dog"] * 10, window=1)
    assert found.tokens == 20 and (found.context == -found.anisotropy).all()


def test_texts_without_words_are_left_out_and_too_few_refused(minilm: Embedder) -> None:
    assert anatomy(minilm, [*TEXTS[:20], "", " "]).texts == 20
    with pytest.raises(BadInput, match="the number of texts that contain words is 19; expected at least 20"):
        anatomy(minilm, [*TEXTS[:19], ""])
    with pytest.raises(BadInput, match="expected a list"):
        anatomy(minilm, "one text that is long enough to hold twenty letters")


def test_a_window_that_the_layers_cannot_bear_is_refused(minilm: Embedder) -> None:
    with pytest.raises(BadModel, match="layers or more"):
        anatomy(minilm, TEXTS, window=7)


def test_one_word_that_takes_everything_is_named(found: Anatomy) -> None:
    assert not any("One word piece" in line for line in found.advice)
    stop = replace(found.words[0], piece=".", importance=6.0, seen=found.tokens // 12)
    greedy = replace(found, words=(stop, *found.words[1:]), correlation=0.5)
    assert any("One word piece, '.', accounts for 50% of all importance" in line for line in greedy.advice)
    assert greedy.advice[-1] == "Use mean pooling."


@pytest.mark.parametrize(
    ("correlation", "verdict"),
    [(-0.21, "inverted"), (-0.2, "unclear"), (0.0, "unclear"), (0.2, "unclear"), (0.21, "sound")],
)
def test_importance_follows_idf_or_its_inverse_only_beyond_a_fifth(found: Anatomy, correlation, verdict) -> None:
    assert replace(found, correlation=correlation).verdict == verdict


@pytest.mark.parametrize("turning", [False, True])
def test_alignment_is_a_mean_cosine_0_of_noise_and_below_it_of_layers_that_turn_back(
    turning: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Embedder.load("likewise-mini", engine="numpy")
    depth = source.encoder.depth + 1
    signs = (-1.0) ** np.arange(depth, dtype=np.float32)[:, None, None]

    def layers_of(_: Embedder, ids: list[list[int]]) -> list[np.ndarray]:
        draw = np.random.default_rng(0)
        noise = [draw.normal(size=(depth, len(sequence), 64)).astype(np.float32) for sequence in ids]
        return [x[:1] * signs for x in noise] if turning else noise

    monkeypatch.setattr(type(source), "layers_of", layers_of)
    found = anatomy(source, TEXTS, window=1).alignment
    assert np.abs(found + turning).max() < 0.02


def test_the_plot_shows_alignments_below_0(found: Anatomy) -> None:
    from likewise.explain.plots import plot_path

    below = plot_path(replace(found, alignment=found.alignment - 1)).axes[0]
    assert below.get_ylim()[0] < (found.alignment - 1).min()
    assert [line.get_label() for line in below.lines] == ["novelty", "alignment (mean cosine)"]
    assert plot_path(found).axes[0].get_ylim() == (0, 1)


def test_a_side_with_one_value_has_a_rank_correlation_of_zero() -> None:
    assert rank_correlation(np.arange(9.0), np.ones(9)) == 0


def test_the_rank_correlation_is_spearmans_with_ties() -> None:
    draw = np.random.default_rng(0)
    a = draw.integers(0, 9, 200).astype(float)
    b = a + draw.integers(0, 9, 200)
    assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)
    assert rank_correlation(a, a) == pytest.approx(1)
    assert rank_correlation(a, np.ones(200)) == 0


def test_a_long_text_is_measured_as_far_as_the_model_reads_it(folders) -> None:
    embedder = Embedder.load(folders("bert"), engine="numpy")
    assert anatomy(embedder, [LONG] * 20, window=1).tokens == 20 * embedder.tokenizer.max_content_length


def by_hand(**changes: Any) -> Anatomy:
    """An anatomy with hand-written measures of four layers."""
    steps = (0.96, 0.5, 0.95)
    similarity = np.eye(4)
    for k, cosine in enumerate(steps):
        similarity[k, k + 1] = similarity[k + 1, k] = cosine
    words = (WordImportance("rare", 3.0, 2.0, 3), WordImportance(".", 2.0, 0.1, 10), WordImportance("cat", 1.0, 1.0, 9))
    measures = {
        "novelty": np.array([0.1, 0.2, 0.9, 0.3]),
        "alignment": np.array([0.5, 0.4, 0.3, 0.2]),
        "anisotropy": np.array([0.5, 0.51, 0.2, 0.9]),
        "context": np.array([0.0, 0.1, 0.2, 0.25]),
    }
    known: dict[str, Any] = {"pooling": "mean", "texts": 20, "tokens": 100, "similarity": similarity, **measures}
    known |= {"start": 1, "window": 2, "correlation": 0.3, "by_start": {0: 0.25, 1: 0.3}, "words": words}
    return Anatomy(**{**known, **changes})


ADVICE = (
    "SBERT-WK's word importance reflects content in this model: the rank correlation of importance with idf is +0.30 "
    "(from layer 1). It is worth evaluating.",
    "One word piece, '.', accounts for 20% of all importance, 2.0 times an equal share: sentences become similar "
    "because they share it.",
    "Words change most between layers 1 and 2 (cosine 0.50), and layer 2 is the one least explained by its neighbours.",
    "Words reflect their sentence most at layer 3 (cosine 0.25 above unrelated words); layer 0 is what a word means on "
    "its own.",
    "Little changes between layers 0–1 (cosine above 0.95): try omitting these blocks.",
    "Any two words are similar (mean cosine above 0.5) in layer 1 and 3: plain averages of these vectors work poorly "
    "without whitening or training.",
    "Use mean pooling.",
)


def test_advice_names_what_was_measured_and_what_to_do() -> None:
    assert by_hand().advice == ADVICE
    calm = by_hand(words=(), anisotropy=np.full(4, 0.5), similarity=np.full((4, 4), 0.95), correlation=-0.1)
    beginnings = (
        "SBERT-WK's word importance is unclear in this model: the rank correlation of importance with idf is -0.10",
        "Words change most between layers 0 and 1 (cosine 0.95)",
        "Words reflect their sentence most at layer 3",
        "Use mean pooling.",
    )
    assert len(calm.advice) == len(beginnings)
    assert all(line.startswith(beginning) for line, beginning in zip(calm.advice, beginnings, strict=True))
    start = "compare it with sbert-wk:start=1 on labelled pairs."
    assert by_hand(words=()).advice[-1] == f"Start from mean pooling, and {start}"
    assert (
        by_hand(words=(), pooling="sbert-wk:start=1").advice[-1] == f"Start from the model's own pooling, and {start}"
    )


def test_an_anatomy_is_plain_json() -> None:
    plain = json.loads(json.dumps(by_hand().as_dict()))
    assert plain["advice"] == list(ADVICE) and plain["similarity"][0] == [1, 0.96, 0, 0]
    assert plain["words"][1] == {"piece": ".", "importance": 2.0, "idf": 0.1, "seen": 10}
    assert {*plain} == {field.name for field in fields(Anatomy)} | {"advice"}
