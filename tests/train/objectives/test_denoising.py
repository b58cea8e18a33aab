"""TSDAE: what is deleted, what the decoder may see, and that padding costs nothing."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy

from likewise.errors import BadInput
from likewise.train.data.batch import TrainingRows
from likewise.train.objectives import TSDAE, denoising
from likewise.train.objectives.denoising import pad_token_ids
from likewise.train.step.embedder_step import tokenized_batch
from tests.train.objectives.test_values import drawn, near

ROWS = [[3, 5, 1], [2], [4, 4, 0, 1, 6], [3, 5, 1, 1]]


@pytest.fixture
def objective():
    torch.manual_seed(0)
    built = TSDAE(decoder_heads=2)
    built.initialize(6, 7)
    return built.double()


def test_three_fifths_of_the_tokens_are_deleted_in_order_and_one_is_left():
    torch.manual_seed(0)
    text = list(range(10_000))
    kept = TSDAE().add_noise(text)
    assert 3800 < len(kept) < 4200 and kept == sorted(kept)
    assert TSDAE(deletion_ratio=0.0).add_noise(text) == text
    assert TSDAE(deletion_ratio=1 - 2**-53).add_noise([7, 8]) == [7] and TSDAE().add_noise([]) == []


def test_the_model_is_shown_the_noise_and_the_decoder_the_whole_text(tiny):
    objective, texts = TSDAE(), ["the quick brown fox", "a cat and a dog"]
    batch = TrainingRows.of({"sentence": texts}, objective).take([0, 1])
    shown, result = tokenized_batch(tiny, objective, batch)
    whole, _ = tokenized_batch(tiny, TSDAE(deletion_ratio=0.0), batch)
    assert result.numbers["token_ids"].tolist() == pad_token_ids(whole, tiny.device).tolist()
    for some, every in zip(shown, whole, strict=True):
        assert (some[0], some[-1]) == (every[0], every[-1]) and 2 < len(some) < len(every)
    torch.manual_seed(5)
    once, _ = tokenized_batch(tiny, objective, batch)
    torch.manual_seed(5)
    assert once == tokenized_batch(tiny, objective, batch)[0]


def test_the_loss_is_the_mean_over_tokens_whatever_the_padding(objective):
    vectors, losses = drawn(4, 6), []
    for vector, row in zip(vectors, ROWS, strict=True):
        scores = objective.decoder(vector[None], torch.tensor([row]))
        losses += [cross_entropy(scores[0, i], torch.tensor(token)) for i, token in enumerate(row)]
    near(objective(vectors, token_ids=pad_token_ids(ROWS, vectors.device)), float(torch.stack(losses).mean().detach()))


@torch.no_grad()
def test_the_decoder_sees_the_vector_and_the_tokens_so_far_and_no_more(objective):
    ids = torch.tensor([[3, 5, 1, 2]])
    before = objective.decoder(drawn(1, 6), ids)
    for place in range(4):
        changed = ids.clone()
        changed[0, place] = 6
        after = objective.decoder(drawn(1, 6), changed)
        assert torch.equal(after[:, : place + 1], before[:, : place + 1])
        assert place == 3 or not torch.allclose(after[:, place + 1], before[:, place + 1])
    assert not torch.allclose(objective.decoder(drawn(1, 6, seed=1), ids)[:, 0], before[:, 0])


def test_settings_that_cannot_be_are_refused():
    for wrong in ({"deletion_ratio": 1.0}, {"deletion_ratio": -0.1}, {"decoder_layers": 0}, {"decoder_heads": 0}):
        with pytest.raises(BadInput, match="expected (0 or more, and below 1|a whole number, 1 or more)"):
            TSDAE(**wrong)
    with pytest.raises(BadInput, match="not divisible by decoder_heads=4"):
        TSDAE().initialize(6, 7)


@pytest.mark.parametrize("width", [6, 5])
def test_positions_are_vaswanis_waves_of_length_below_one(width):
    result = denoising._sinusoidal_positions(9, torch.zeros(1, width, dtype=torch.float64))
    for t in range(9):
        for i in range(width):
            angle = t / 10_000 ** ((i - i % 2) / width)
            near(result[t, i], (math.cos if i % 2 else math.sin)(angle) / math.sqrt(width))


def test_the_decoder_is_a_causal_transformer_with_tied_words_and_no_dropout():
    torch.manual_seed(0)
    built = TSDAE(decoder_layers=2, decoder_heads=3)
    built.initialize(6, 500)
    decoder = built.decoder
    assert decoder.words.weight.shape == (501, 6) and len(decoder.blocks) == 2
    assert float(decoder.words.weight.detach().std()) == pytest.approx(6**-0.5, rel=0.05)
    for block in decoder.blocks:
        assert block.linear1.out_features == 12 and block.self_attn.num_heads == 3 and block.norm_first
        assert (block.dropout.p, block.self_attn.dropout) == (0, 0) and block.activation is torch.nn.functional.gelu
    built.train()
    ids = torch.tensor([[3, 0, 5]])
    logits = built.double().decoder(drawn(1, 6), ids)
    previous = decoder.words(torch.tensor([[500, 3, 0]])) + denoising._sinusoidal_positions(3, drawn(1, 6))
    mask = torch.ones(3, 3).triu(1).bool()
    for block in decoder.blocks:
        previous = block(previous, drawn(1, 6)[:, None], tgt_mask=mask)
    torch.testing.assert_close(logits, decoder.norm(previous) @ decoder.words.weight[:500].T)


def test_ids_of_one_length_need_no_padding_and_shorter_ones_get_it_on_the_right():
    assert pad_token_ids([[1, 2, 3], [4]], torch.device("cpu")).tolist() == [[1, 2, 3], [4, -1, -1]]
