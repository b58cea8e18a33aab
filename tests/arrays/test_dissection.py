"""SBERT-WK in NumPy against torch's, over every option and odd paths; and the same bits in any company."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays import dissection
from likewise.arrays.dissection import (
    NOISE,
    DissectionSettings,
    dissected_sums,
    importance_shares,
    layer_cosines,
    measure_words,
)
from likewise.arrays.ragged import Ragged
from likewise.errors import BadModel
from likewise.pooling.dissection import Dissection, cosines_between, rounding_noise

OPTIONS = {
    "window": st.integers(1, 3),
    "boundary": st.sampled_from(["reference", "symmetric"]),
    "alignment": st.sampled_from(["code", "paper"]),
    "robust": st.booleans(),
}
ODDITIES = {
    "none": lambda paths, word: paths,
    "a word that never moves": lambda paths, word: _with(paths, word, paths[0, word]),
    "a zero layer": lambda paths, word: _with(paths, word, paths[:, word] * (np.arange(len(paths)) != 1)[:, None]),
    "a zero word": lambda paths, word: _with(paths, word, 0),
    "a layer twice": lambda paths, word: _with(paths, word, paths[[0, 0, *range(2, len(paths))], word]),
    "orthogonal layers": lambda paths, word: _with(paths, word, np.eye(*paths[:, word].shape)),
    "opposite layers": lambda paths, word: _with(paths, word, np.outer((-1) ** np.arange(len(paths)), paths[0, word])),
    "lengths far apart": lambda paths, word: (
        paths * np.geomspace(1e-3, 1e3, len(paths), dtype=np.float32)[:, None, None]
    ),
}


def _with(paths, word, vectors):
    paths[:, word] = vectors
    return paths


def _paths(layers, words, width, seed=0):
    """Vectors that share a direction, as those of neighbouring layers do: x = μ + 0.3 ε."""
    draw = np.random.default_rng(seed)
    return (draw.normal(size=(1, words, width)) + 0.3 * draw.normal(size=(layers, words, width))).astype(np.float32)


def _torch(settings, paths, lengths):
    pooling = Dissection(**settings.config)
    return pooling(iter(torch.from_numpy(paths).unbind()), Ragged(torch.zeros(paths.shape[1]), tuple(lengths))).numpy()


@st.composite
def cases(draw):
    settings = DissectionSettings(0, **{name: draw(values) for name, values in OPTIONS.items()})
    layers = draw(st.integers(settings.window + 1, 9))
    lengths = draw(st.lists(st.integers(0, 9), min_size=1, max_size=5).filter(any))
    paths = _paths(layers, sum(lengths), draw(st.sampled_from([12, 33, 384])), draw(st.integers(0, 9)))
    name = draw(st.sampled_from(list(ODDITIES)))
    return settings, ODDITIES[name](paths, draw(st.integers(0, sum(lengths) - 1))), lengths


@given(cases())
@pytest.mark.filterwarnings("ignore:sbert-wk leaves out")
def test_under_every_option_vectors_and_measures_are_those_of_torch(case):
    settings, paths, lengths = case
    cosines = cosines_between(list(torch.from_numpy(paths).unbind()))
    np.testing.assert_allclose(layer_cosines(paths), cosines, atol=NOISE / 2)
    with np.errstate(all="ignore"):
        ours = measure_words(settings, cosines.numpy())
    theirs = Dissection(**settings.config).dissect(cosines, rounding_noise(torch.float32))
    for name in theirs._fields:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-12, err_msg=name)
    if settings.robust:  # what rounding leaves of small variances and of 0 differs
        scale = max(1.0, float(np.abs(paths).max()))
        found = dissected_sums(settings, paths, np.array(lengths))
        np.testing.assert_allclose(found, _torch(settings, paths, lengths), atol=2e-4 * scale)


@pytest.mark.parametrize("boundary", ["reference", "symmetric"])
@pytest.mark.parametrize("alignment", ["code", "paper"])
def test_to_the_letter_it_is_torchs_too_infinities_included(boundary, alignment):
    settings = DissectionSettings(0, 2, boundary, alignment, robust=False)
    paths, lengths = _paths(6, 12, 48), [5, 4, 3]
    np.testing.assert_allclose(
        dissected_sums(settings, paths, np.array(lengths)), _torch(settings, paths, lengths), atol=1e-5
    )
    still = np.broadcast_to(np.eye(5, 32, dtype=np.float32), (4, 5, 32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(dissected_sums(settings, still, np.array([5]))).all()


@given(cases(), st.integers(0, 3))
@pytest.mark.filterwarnings("ignore:sbert-wk leaves out")
def test_a_sentence_has_the_same_bits_alone_and_in_company(case, seed):
    settings, paths, lengths = case
    settings = DissectionSettings(**{**settings.config, "robust": True})
    order = np.random.default_rng(seed).permutation(len(lengths))
    parts = np.split(paths, np.cumsum(lengths)[:-1], axis=1)
    turned = np.concatenate([parts[i] for i in order], axis=1)
    together = dissected_sums(settings, turned, np.array(lengths)[order])
    for row, i in zip(together, order, strict=True):
        assert dissected_sums(settings, parts[i], np.array([lengths[i]])).tobytes() == row.tobytes()


def test_many_words_are_what_a_few_at_a_time_are():
    """More bytes than are looked at in one go."""
    paths, lengths = _paths(13, 200, 768), [40, 3, 150, 2, 5]
    settings = DissectionSettings(0)
    found = dissected_sums(settings, paths, np.array(lengths))
    parts = np.split(paths, np.cumsum(lengths)[:-1], axis=1)
    alone = [dissected_sums(settings, part, np.array([part.shape[1]])) for part in parts]
    assert found.tobytes() == np.concatenate(alone).tobytes()
    np.testing.assert_allclose(found, _torch(settings, paths, lengths), atol=5e-5)


def test_a_sentence_of_no_or_one_token_becomes_zeros_and_is_told():
    paths = _paths(7, 5, 48)
    with pytest.warns(UserWarning, match="one-token sentence has a zero vector"):
        found = dissected_sums(DissectionSettings(0), paths, np.array([1, 0, 4]))
        assert not dissected_sums(DissectionSettings(0), paths[:, :0], np.array([0, 0])).any()
    assert not found[:2].any() and found[2].any()
    assert dissected_sums(DissectionSettings(0), paths[:, :0], np.array([], int)).shape == (0, 48)


def test_shares_add_up_to_one_in_every_sentence_and_leave_out_its_last_token():
    importance = np.array([1.0, 3, 9, 0, 0, 7, 2, 5])
    found = importance_shares(importance, np.array([3, 3, 2]))
    np.testing.assert_allclose(found, [0.25, 0.75, 0, 0.5, 0.5, 0, 1, 0])


def test_where_no_word_moves_all_but_the_last_share_alike_up_to_a_variance():
    limit = 2 * dissection.NO_VARIANCE  # of two words
    for total, first in ((0.0, 0.5), (limit, 0.5), (limit * 1.001, 1.0)):
        found = importance_shares(np.array([total, 0, 5]), np.array([3]))
        np.testing.assert_allclose(found, [first, 1 - first, 0])


@pytest.mark.parametrize("size", [1, 2 * 3 * 4 * 4, 10**6])
def test_words_are_looked_at_in_chunks_of_any_size_to_the_same_bits(size, monkeypatch):
    paths = _paths(3, 5, 4)
    whole = layer_cosines(paths)
    monkeypatch.setattr(dissection, "CHUNK", size)
    assert layer_cosines(paths).tobytes() == whole.tobytes()


def test_what_is_read_is_not_written_to():
    paths = _paths(5, 6, 16)
    before = paths.copy()
    dissected_sums(DissectionSettings(0), paths, np.array([6]))
    assert np.array_equal(paths, before)


def test_torchs_dissection_has_these_settings_and_no_others():
    assert issubclass(Dissection, DissectionSettings)
    assert Dissection().config == DissectionSettings().config
    assert Dissection.parse("sbert-wk:window=3", 12).spec == DissectionSettings.parse("sbert-wk:window=3", 12).spec
    with pytest.raises(BadModel, match="needs 7 layers or more, but the encoder has 5"):
        DissectionSettings(4).check(5)


@pytest.mark.parametrize(("text", "value"), [("4", 4), ("-4", "-4"), ("true", True), ("false", False), ("no", "no")])
def test_settings_of_a_name_are_numbers_booleans_or_texts(text, value):
    assert dissection._value(text) == value and type(dissection._value(text)) is type(value)
