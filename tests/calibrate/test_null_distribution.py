"""p-values: uniform on other random pairs, monotone, and with a tail that is never lighter than exponential."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from likewise.calibrate import null_distribution
from likewise.calibrate.null_distribution import COUNTED, NullDistribution, chance_cosines, fit_pareto_tail
from likewise.errors import BadInput

RANDOM = np.random.default_rng(0)
VECTORS = RANDOM.normal(size=(6000, 16)).astype(np.float32) + 0.5
DRAWN = chance_cosines(VECTORS[:3000], 100_000)
NULL = NullDistribution.of(DRAWN)


def independent_pairs(vectors: np.ndarray) -> np.ndarray:
    """Cosines of pairs that share no text."""
    half = len(vectors) // 2
    a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (vectors[:half], vectors[half:]))
    return (a * b).sum(1).astype(np.float64)


def test_p_values_of_other_chance_pairs_are_uniform():
    p = NULL.p_values(independent_pairs(VECTORS[3000:]))
    assert stats.kstest(p, "uniform").pvalue > 0.01
    shifted = NULL.p_values(independent_pairs(VECTORS[3000:]) + 0.05)  # shows that this test can fail
    assert stats.kstest(shifted, "uniform").pvalue < 1e-4


def test_where_they_are_counted_p_values_are_the_shares_that_counting_gives():
    for cosine in np.quantile(DRAWN, [0.01, 0.3, 0.5, 0.9, 0.99, 0.998]):
        counted = (1 + (cosine <= DRAWN).sum()) / (1 + len(DRAWN))
        assert NULL.p_values(np.array(cosine)) == pytest.approx(counted, rel=0.02)


def test_each_share_counts_the_pairs_that_reach_its_cosine_and_one_more():
    counts = [(cosine <= DRAWN).sum() for cosine in NULL.cosines]
    np.testing.assert_array_equal(NULL.shares, (1 + np.array(counts)) / (1 + len(DRAWN)))
    assert NULL.p_values(np.array([-1.0, DRAWN.min()])).tolist() == [1, 1] and NULL.pairs == len(DRAWN)


@pytest.mark.parametrize("pairs", [1000, 100_000])
def test_the_tail_is_fitted_to_the_most_similar_fiftieth_or_two_hundred(pairs):
    cosines = np.random.default_rng(0).pareto(5.0, pairs)
    null = NullDistribution.of(cosines)
    top = np.sort(cosines)[-max(200, pairs // 50) :]
    scale, shape = fit_pareto_tail(top - top[0])
    assert shape > 0
    assert (null.shape, null.scale) == (shape, pytest.approx(scale + shape * (null.tail_from - top[0])))


def test_only_what_too_few_pairs_reach_is_extrapolated():
    assert (NULL.tail_from <= DRAWN).sum() == COUNTED
    assert NULL.least_counted == pytest.approx(COUNTED / len(DRAWN), rel=0.02)


@pytest.mark.parametrize("shape", [0.0, 0.2])
def test_a_tail_is_extrapolated_with_its_scale_and_shape(shape):
    known = stats.genpareto(shape, scale=0.05)
    null = NullDistribution.of(known.rvs(200_000, random_state=1))
    for p in (1e-4, 1e-5, 1e-6):
        assert null.cosine_at(p) == pytest.approx(known.isf(p), rel=0.1)
        assert null.p_values(np.array(null.cosine_at(p))) == pytest.approx(p)


def test_a_light_tail_is_fitted_as_exponential_and_never_ends():
    null = NullDistribution.of(RANDOM.uniform(-1, 0.5, 100_000))
    assert null.shape == 0 and 0 < null.p_values(np.array(0.6)) < null.least_counted


@pytest.mark.parametrize("beyond", [np.array([0.0, 1.0]), np.sort(np.random.default_rng(0).pareto(3.0, 60))], ids=len)
def test_the_second_moment_is_half_the_mean_difference_of_all_pairs(beyond):
    differences = np.abs(beyond[:, None] - beyond[None])[np.triu_indices(len(beyond), 1)]
    scale, shape = fit_pareto_tail(beyond)
    assert (shape, scale) in [
        (pytest.approx(2 - beyond.mean() / (differences.mean() / 2)), pytest.approx(beyond.mean() * (1 - shape))),
        (0.0, pytest.approx(beyond.mean())),
    ]


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30))
def test_p_values_are_probabilities_that_fall_as_cosines_rise(cosines):
    p = NULL.p_values(np.sort(np.array(cosines)))
    assert ((p > 0) & (p <= 1)).all() and (np.diff(p) <= 0).all()


@given(st.floats(1e-12, 1.0))
def test_the_cosine_of_a_p_value_has_that_p_value(p):
    assert NULL.p_values(np.array(NULL.cosine_at(p))) == pytest.approx(p, rel=1e-6)


@pytest.mark.parametrize("block", [4949, 4950, 1 << 14])
def test_few_texts_are_compared_pair_by_pair(block, monkeypatch):
    monkeypatch.setattr(null_distribution, "BLOCK", block)
    vectors = RANDOM.normal(size=(100, 4))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = (unit @ unit.T)[np.triu_indices(100, 1)]
    np.testing.assert_allclose(np.sort(chance_cosines(vectors, 4950)), np.sort(expected), atol=1e-6)
    assert len(chance_cosines(vectors, 4949)) == 4949
    queries = RANDOM.normal(size=(120, 4))
    expected = queries / np.linalg.norm(queries, axis=1, keepdims=True) @ unit.T
    np.testing.assert_allclose(chance_cosines(vectors, 12_000, queries=queries), expected.ravel(), atol=1e-6)


@pytest.mark.parametrize("count", [5000, 40_000])
def test_a_chance_pair_is_never_a_text_with_itself(count):
    texts = np.eye(200)
    assert chance_cosines(texts, count).max() == 0
    same = np.r_[np.arange(100, 200), np.full(100, -1)]  # only the first hundred queries are also texts
    found = chance_cosines(texts, count, queries=np.roll(texts, -100, 0), same_text=same)
    assert (found == 1).mean() == pytest.approx(100 / 39_900, rel=0.5) and len(found) == min(count, 39_900)


def test_a_query_that_equals_the_first_text_is_never_compared_with_it():
    texts = np.eye(200)
    assert chance_cosines(texts, 15_000, queries=texts[[0] * 100], same_text=np.zeros(100, int)).max() == 0


def test_neighbouring_texts_are_drawn_as_often_as_others():
    angles = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    found = chance_cosines(np.stack([np.cos(angles), np.sin(angles)], 1), 4900)
    assert (found > np.cos(3 * np.pi / 100)).mean() == pytest.approx(2 / 99, rel=0.3)


def test_the_same_seed_draws_the_same_pairs_and_no_cosine_exceeds_one():
    vectors = VECTORS[:100]
    assert np.array_equal(chance_cosines(vectors, 1000), chance_cosines(vectors, 1000, 0))
    assert not np.array_equal(chance_cosines(vectors, 1000), chance_cosines(vectors, 1000, 1))
    opposite = chance_cosines(np.concatenate([vectors, vectors, -vectors, -vectors]), 80_000)
    assert (opposite.min(), opposite.max()) == (-1, 1)  # 1.0000001 before it is clipped


@pytest.mark.parametrize(
    ("cosines", "message"),
    [
        (np.zeros(50), "1,000 or more finite cosines of random pairs; got 50"),
        (np.full(2000, np.nan), "finite cosines"),
        (np.full(2000, 0.5), "every random pair has the cosine 0.5000"),
        (np.repeat([0.0, 0.5], [100, 1900]), "most similar random pairs all have the same cosine"),
        (np.repeat([0.0, 0.5], [1, 1999]), "most similar random pairs all have the same cosine"),
    ],
)
def test_what_has_no_distribution_is_refused(cosines, message):
    with pytest.raises(BadInput, match=message):
        NullDistribution.of(cosines)


def test_a_tail_of_one_pair_cannot_be_fitted():
    with pytest.raises(BadInput, match="no tail can be fitted"):
        fit_pareto_tail(np.array([0.3]))


def test_too_few_texts_and_impossible_numbers_are_refused():
    with pytest.raises(BadInput, match="99 distinct texts; expected at least 100"):
        chance_cosines(VECTORS[:99], 1000)
    with pytest.raises(BadInput, match="1 distinct queries; expected at least 100"):
        chance_cosines(VECTORS[:200], 1000, queries=VECTORS[:1])
    for p in (0, 1.1):
        with pytest.raises(BadInput, match=f"above 0 and at most 1; got {p}"):
            NULL.cosine_at(p)
    with pytest.raises(BadInput, match="NaN, which has no p-value"):
        NULL.p_values(np.array([0.1, np.nan]))
