"""Baselines without weights: made, saved, loaded and trained like any other model."""

import numpy as np
import pytest
import torch

from likewise import Ragged
from likewise.baselines.random_weights import random_weights
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput
from papers.baselines import deep_averaging, infersent, small_transformer
from tests.tiny import TRANSFORMERS

TEXTS = ["the cat sleeps", "a dog", "the dog barks on the cat", "cat cat"]


@pytest.fixture
def words(tmp_path, monkeypatch) -> str:
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "cache"))
    rows = np.random.default_rng(0).normal(size=(7, 5)).round(3)
    named = zip(["the", "a", "cat", "dog", "sleeps", "barks", "on"], rows, strict=True)
    (tmp_path / "w.txt").write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in named))
    return f"avg-glove({tmp_path / 'w.txt'})"


@pytest.fixture(params=["infersent", "dan", "transformer"])
def made(request, words, folders):
    bert = folders("bert")  # made here: the first call draws from torch's numbers
    return {
        "infersent": lambda seed=0: infersent(words, width=6, seed=seed),
        "dan": lambda seed=0: deep_averaging(words, pairs=40, layers=(9, 4), seed=seed),
        "transformer": lambda seed=0: small_transformer(bert, depth=2, width=8, heads=2, inner=12, seed=seed),
    }[request.param]


def test_it_is_saved_and_loaded_as_an_ordinary_folder(made, tmp_path):
    embedder = made()
    embedder.save(tmp_path / "saved")
    again = TorchEmbedder.load(tmp_path / "saved")
    assert again.fingerprint == embedder.fingerprint
    assert np.array_equal(again.encode(TEXTS), embedder.encode(TEXTS))


def test_its_weights_come_from_the_seed_and_no_other_draw_is_disturbed(made):
    torch.manual_seed(5)
    one = made().fingerprint
    drawn = torch.rand(1)
    torch.manual_seed(6)
    assert made().fingerprint == one != made(1).fingerprint
    torch.manual_seed(5)
    assert drawn == torch.rand(1)


def test_a_sentence_is_embedded_the_same_alone_and_in_company(made):
    embedder = made()
    alone = np.concatenate([embedder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(embedder.encode(TEXTS), alone, atol=1e-6)


def test_it_can_be_trained(made):
    embedder = made()
    tokens = Ragged.of([embedder.tokenizer.with_special_tokens(ids) for ids in embedder.tokenizer.token_ids(TEXTS)])
    goal = torch.eye(len(TEXTS), embedder.dimension)
    optimizer = torch.optim.Adam(embedder.parameters(), 0.02)
    losses = []
    for _ in range(30):
        loss = (embedder(tokens) - goal).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    idle = [name for name, p in embedder.named_parameters() if p.grad is None]
    assert idle == []


def test_infersent_is_the_maximum_over_a_bilstm_over_the_table(words):
    embedder, table = infersent(words, width=6), TorchEmbedder.load(words)
    assert embedder.dimension == 12 and embedder.pooling.spec == "max"
    assert torch.equal(embedder.encoder.words.table.weight, table.encoder.table.weight)
    ids = torch.tensor(table.tokenizer.token_ids([TEXTS[2]])[0])
    with torch.no_grad():
        wanted = embedder.encoder.lstm(table.encoder.table(ids))[0].amax(0)
    np.testing.assert_allclose(embedder.encode([TEXTS[2]])[0], wanted, atol=1e-6)


def test_a_frozen_table_stays_and_the_rest_learns(words):
    embedder = infersent(words, width=6)
    embedder.encoder.words.requires_grad_(False)
    embedder(Ragged.of([[1, 2]])).sum().backward()
    assert embedder.encoder.words.table.weight.grad is None
    assert all(p.grad is not None for p in embedder.encoder.lstm.parameters())


def test_a_deep_averaging_network_is_tanh_layers_over_a_sum_by_root_n(words):
    embedder = deep_averaging(words, pairs=40, layers=(9, 4))
    ids = embedder.tokenizer.token_ids([TEXTS[0]])
    with torch.no_grad():
        x = next(embedder.encoder(Ragged.of(ids))).sum(0) / 3**0.5
        for dense in embedder.heads:
            x = torch.tanh(x @ dense.linear.weight.T + dense.linear.bias)
    np.testing.assert_allclose(embedder.encode([TEXTS[0]])[0], x, atol=1e-6)
    assert embedder.dimension == 4


@pytest.mark.parametrize("family", [*TRANSFORMERS, "words", "bilstm", "dan"])
def test_random_weights_leave_no_weight_as_it_was(family, folders):
    before = TorchEmbedder.load(folders(family))
    after = random_weights(TorchEmbedder.load(folders(family)), seed=4)
    kept = [n for n, p in after.named_parameters() if torch.equal(p, before.get_parameter(n))]
    assert kept == []
    assert np.isfinite(after.encode(TEXTS)).all()
    assert random_weights(TorchEmbedder.load(folders(family)), seed=4).fingerprint == after.fingerprint


def test_random_weights_differ_from_what_was_encoded_before(folders):
    embedder = TorchEmbedder.load(folders("bert"))
    before = embedder.encode(TEXTS)
    assert np.abs(random_weights(embedder).encode(TEXTS) - before).max() > 1e-3, "no weight laid out for oneDNN stays"


@pytest.mark.parametrize("width", [0, -1, True, 2.5])
@pytest.mark.usefixtures("unchecked")
def test_a_width_that_is_none_is_refused(width, words):
    with pytest.raises(BadInput, match="width"):
        infersent(words, width=width)


@pytest.mark.parametrize(("pairs", "layers"), [(0, (3,)), (True, (3,)), (5, ()), (5, (3, 0))])
@pytest.mark.usefixtures("unchecked")
def test_a_network_without_pairs_or_layers_is_refused(pairs, layers, words):
    with pytest.raises(BadInput, match="pairs"):
        deep_averaging(words, pairs=pairs, layers=layers)


def test_what_is_no_table_of_words_is_refused(folders, words):
    with pytest.raises(BadInput, match="'bert' model; expected a table of word vectors"):
        infersent(folders("bert"))
    with pytest.raises(BadInput, match="word-piece"):
        small_transformer(words)
