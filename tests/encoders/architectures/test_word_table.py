"""Tables of words, and the encoders that begin with one, beside loops over words and sentences."""

import pytest
import torch

from likewise.arrays.ragged import Ragged
from likewise.encoders.architectures.bilstm import BiLSTM, TimeMajor
from likewise.encoders.architectures.deep_averaging import DeepAveraging, pair_buckets
from likewise.encoders.architectures.word_table import WordTable
from likewise.encoders.layers import initialize_weights
from likewise.encoders.shapes import BiLSTMShape, DeepAveragingShape, WordShape
from tests.tiny import pack

SHAPE = WordShape(vocabulary=30, width=6, buckets=20)
SPELLED = Ragged.of([[3, 30, 51, 52, 4], [35], [0], [33, 53, 34], [7, 7]])
"""Words 3, an unknown of three n-grams, 4; an unknown of one; nothing; two unknowns; a word twice."""


def made(kind, shape=SHAPE, seed=0):
    torch.manual_seed(seed)
    return initialize_weights(kind(shape), 0.5).eval()


def test_a_word_is_its_row_or_the_mean_of_its_n_grams_rows():
    words = made(WordTable)
    table = words.table.weight
    rows = [[3], [30, 31, 32], [4], [35], [0], [33, 33], [34], [7], [7]]
    wanted = torch.stack([table[row].mean(0) for row in rows])
    torch.testing.assert_close(next(words(SPELLED)), wanted)
    assert words.units(SPELLED).lengths == (3, 1, 1, 2, 2)
    assert words.units(SPELLED).values.tolist() == [3, 30, 4, 35, 0, 33, 34, 7, 7]


def test_an_n_gram_at_the_beginning_of_a_text_begins_a_word_wherever_it_was_cut():
    words = made(WordTable)
    cut = Ragged.of([[51, 52], [53]])
    assert words.units(cut).lengths == (1, 1)
    torch.testing.assert_close(next(words(cut))[0], words.table.weight[[31, 32]].mean(0))


def test_the_unknown_words_row_is_zero_and_is_not_learned():
    words = made(WordTable)
    next(words(SPELLED)).sum().backward()
    assert not words.table.weight[0].any() and not words.table.weight.grad[0].any()
    assert words.table.weight.grad[[3, 30, 35]].abs().sum(1).all()


@pytest.mark.parametrize("lengths", [[5, 1, 3, 3, 8], [1], [4, 4, 4]])
def test_the_bilstm_reads_each_sentence_as_torchs_own_does_alone(lengths):
    encoder = made(BiLSTM, BiLSTMShape(WordShape(200, 6), 10))
    tokens = pack(lengths)
    alone = [encoder.lstm(encoder.words.table(ids))[0] for ids in tokens.split()]
    torch.testing.assert_close(next(encoder(tokens)), torch.cat(alone))


def test_words_are_walked_first_ones_first_and_longest_sentence_first():
    time = TimeMajor.of(Ragged.of([[10, 11], [20, 21, 22], [30]]))
    assert time.order.tolist() == [2, 0, 5, 3, 1, 4]
    assert time.sizes.tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    "kind",
    [(BiLSTM, BiLSTMShape(SHAPE, 10)), (DeepAveraging, DeepAveragingShape(SHAPE, 50))],
    ids=lambda k: k[0].__name__,
)
def test_spelled_words_are_words_to_the_encoders_above(kind):
    encoder = made(*kind)
    (layer,) = encoder(SPELLED)
    assert layer.shape == (9, encoder.width)
    alone = [next(encoder(Ragged.of([ids.tolist()]))) for ids in SPELLED.split()]
    torch.testing.assert_close(layer, torch.cat(alone))


def test_a_deep_averaging_networks_input_is_each_word_and_its_pair_with_the_next():
    encoder = made(DeepAveraging, DeepAveragingShape(WordShape(200, 6), 50))
    tokens = pack([4, 1, 2])
    wanted = []
    for ids in tokens.split():
        for i, word in enumerate(ids):
            vector = encoder.words.table.weight[word]
            if i + 1 < len(ids):
                pair = pair_buckets(ids[i : i + 1], ids[i + 1 : i + 2], 50)
                vector = vector + encoder.pairs.weight[int(pair)]
            wanted.append(vector)
    torch.testing.assert_close(next(encoder(tokens)), torch.stack(wanted))


def test_pairs_spread_over_their_buckets_and_know_their_order():
    left, right = torch.cartesian_prod(torch.arange(300), torch.arange(300)).unbind(1)
    counts = torch.bincount(pair_buckets(left, right, 1000), minlength=1000).double()
    assert ((counts - 90).square() / 90).sum() < 1300  # chi-squared with 999 degrees of freedom
    assert pair_buckets(torch.tensor([3]), torch.tensor([4]), 10**6) != pair_buckets(
        torch.tensor([4]), torch.tensor([3]), 10**6
    )


@pytest.mark.parametrize("buckets", [1, 500, 10**6, 2**30])
def test_the_bucket_of_a_pair_stays_what_it_was_since_saved_rows_are_for_it(buckets):
    ids = [(0, 0), (0, 1), (1, 0), (7, 7), (123, 45_678), (99_999_999, 100_000_000)]
    expected = []
    for left, right in ids:
        mixed = (left * 2654435761) ^ ((right + 1) * 2246822519)
        expected.append((mixed ^ mixed // 2**29) % buckets)
    assert pair_buckets(*torch.tensor(ids).unbind(1), buckets).tolist() == expected


@pytest.mark.parametrize(
    ("encoder", "frozen"),
    [
        (made(BiLSTM, BiLSTMShape(SHAPE, 10)), False),
        (made(BiLSTM, BiLSTMShape(SHAPE, 10)), True),
        (made(DeepAveraging, DeepAveragingShape(SHAPE, 50)), False),
    ],
    ids=["learned", "frozen", "dan"],
)
def test_gradients_reach_the_table_unless_it_is_frozen(encoder, frozen):
    encoder.words.requires_grad_(not frozen)
    next(encoder(SPELLED)).square().sum().backward()
    grad = encoder.words.table.weight.grad
    assert grad is None if frozen else bool(grad[[3, 30, 31, 35, 7]].abs().sum(1).all())
