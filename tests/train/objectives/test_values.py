"""Each objective beside its formula, written as slow loops over rows, in fp64."""

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from likewise.train.objectives import (
    AnglE,
    BatchTriplets,
    Classification,
    CoSENT,
    Distillation,
    MarginMSE,
    MarginPairs,
    Regression,
    ScoreDistillation,
    SimilarityDistillation,
    Triplet,
)
from likewise.train.objectives.labelled_pairs import CONCATENATIONS

N, E = 9, 6
SAME = [0, 1, 0, 2, 1, 0, 3, 2, 2]  # labels; the 3 occurs once


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture
def three():
    return drawn(3, N, E)


def cos(a, b):
    a, b = a.tolist(), b.tolist()
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


APART = {
    "euclidean": lambda a, b: math.sqrt(sum((x - y) ** 2 for x, y in zip(a.tolist(), b.tolist(), strict=True))),
    "manhattan": lambda a, b: sum(abs(x - y) for x, y in zip(a.tolist(), b.tolist(), strict=True)),
    "cosine": lambda a, b: 1 - cos(a, b),
}


def near(found, expected):
    found = found.detach() if isinstance(found, torch.Tensor) else found
    assert float(found) == pytest.approx(expected, abs=1e-12, rel=1e-12)


def kl(teacher, student):
    """Of two lists of scores."""
    p, q = ([math.exp(s) / sum(map(math.exp, scores)) for s in scores] for scores in (teacher, student))
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


@pytest.mark.parametrize("parts", CONCATENATIONS, ids="+".join)
def test_classification_is_cross_entropy_of_a_linear_map_of_the_parts(parts, three):
    u, v, _ = three
    objective = Classification(4, parts)
    objective.initialize(E)
    objective.double()
    weight, bias = objective.classifier.weight.tolist(), objective.classifier.bias.tolist()
    losses = []
    for i in range(N):
        ways = {"u": u[i], "v": v[i], "|u-v|": (u[i] - v[i]).abs(), "u*v": u[i] * v[i]}
        seen = [x for part in parts for x in ways[part].tolist()]
        scores = [sum(w * x for w, x in zip(row, seen, strict=True)) + b for row, b in zip(weight, bias, strict=True)]
        losses.append(math.log(sum(map(math.exp, scores))) - scores[SAME[i]])
    near(objective(u, v, label=torch.tensor(SAME)), sum(losses) / N)


def test_regression_is_the_squared_error_of_cosines(three):
    u, v, _ = three
    scores = torch.linspace(-1, 1, N, dtype=torch.float64)
    near(Regression()(u, v, score=scores), sum((cos(u[i], v[i]) - float(scores[i])) ** 2 for i in range(N)) / N)


def test_cosent_compares_every_two_pairs(three):
    u, v, _ = three
    c = [cos(u[i], v[i]) for i in range(N)]
    terms = [math.exp(7 * (c[j] - c[i])) for i in range(N) for j in range(N) if SAME[i] > SAME[j]]
    near(CoSENT(7)(u, v, score=torch.tensor(SAME).double()), math.log(1 + sum(terms)))
    assert CoSENT()(u, v, score=torch.ones(N).double()) == 0


def test_angles_are_those_of_complex_numbers(three):
    u, v, _ = three
    half, like = E // 2, []
    for i in range(N):
        z, w = ([complex(x[k], x[k + half]) for k in range(half)] for x in (u[i].tolist(), v[i].tolist()))
        lengths = [math.sqrt(sum(abs(x) ** 2 for x in side)) for side in (z, w)]
        q = sum(a * b.conjugate() for a, b in zip(z, w, strict=True)) / (lengths[0] * lengths[1])
        like.append(abs(q.real + q.imag))
    cosines = [cos(u[i], v[i]) for i in range(N)]

    def order(values, scale):
        wrong = [math.exp(scale * (values[j] - values[i])) for i in range(N) for j in range(N) if SAME[i] > SAME[j]]
        return math.log(1 + sum(wrong))

    objective = AnglE(cosine_weight=0.3, angle_weight=2, cosine_scale=5, angle_scale=3)
    near(objective(u, v, score=torch.tensor(SAME).double()), 0.3 * order(cosines, 5) + 2 * order(like, 3))


@pytest.mark.parametrize("distance", APART)
@pytest.mark.parametrize("online", [False, True])
def test_margin_pairs_are_hadsells_formula_and_online_only_hard_ones_count(distance, online, three):
    u, v, _ = three
    labels = [1, 0, 0, 1, 1, 0, 1, 0, 0]
    margin = 0.8 if distance == "cosine" else 4.0
    d = [APART[distance](u[i], v[i]) for i in range(N)]
    losses = []
    for i, label in enumerate(labels):
        others = [d[j] for j in range(N) if labels[j] != label]
        hard = not online or (d[i] > min(others) if label else d[i] < max(others))
        losses.append(hard * (d[i] ** 2 if label else max(margin - d[i], 0) ** 2) / 2)
    near(MarginPairs(margin, distance, online=online)(u, v, label=torch.tensor(labels)), sum(losses) / N)


def test_online_a_pair_as_far_apart_as_the_nearest_or_farthest_of_the_other_kind_does_not_count():
    u, v = torch.zeros(4, 1), torch.tensor([[1.0], [1.0], [3.0], [3.0]])
    loss = MarginPairs(4.0, "manhattan", online=True)(u, v, label=torch.tensor([1, 0, 1, 0]))
    assert loss == (3**2 + (4 - 1) ** 2) / 4 / 2


def test_online_margin_pairs_of_one_kind_count_whole(three):
    u, v, _ = three
    for labels in (torch.ones(N).long(), torch.zeros(N).long()):
        near(MarginPairs(online=True)(u, v, label=labels), float(MarginPairs()(u, v, label=labels)))


@pytest.mark.parametrize("distance", APART)
def test_triplets_are_their_formula(distance, three):
    a, p, n = three
    d = APART[distance]
    losses = [max(d(a[i], p[i]) - d(a[i], n[i]) + 0.7, 0) for i in range(N)]
    near(Triplet(0.7, distance)(a, p, n), sum(losses) / N)


def _chosen(choose, d, labels, margin):
    """What each chosen triplet of a batch costs."""
    costs = []
    for a in range(N):
        positives = [p for p in range(N) if labels[p] == labels[a] and p != a]
        negatives = [n for n in range(N) if labels[n] != labels[a]]
        if not positives or not negatives:
            continue
        if choose == "hard":
            costs.append(max(d[a][p] for p in positives) - min(d[a][n] for n in negatives) + margin)
        for p in positives if choose != "hard" else []:
            farther = [d[a][n] for n in negatives if d[a][n] > d[a][p]]
            semi = [min(farther) if farther else max(d[a][n] for n in negatives)]
            costs += [
                d[a][p] - far + margin for far in (semi if choose == "semi-hard" else [d[a][n] for n in negatives])
            ]
    costs = [max(cost, 0) for cost in costs]
    return [cost for cost in costs if cost > 0] if choose == "all" else costs


@pytest.mark.parametrize("choose", ["hard", "semi-hard", "all"])
@pytest.mark.parametrize("distance", APART)
@pytest.mark.parametrize("seed", range(3))
def test_batch_triplets_are_chosen_as_one_would_by_hand(choose, distance, seed):
    x = drawn(N, E, seed=seed)
    margin = 0.3 if distance == "cosine" else 1.0
    d = [[APART[distance](a, b) for b in x] for a in x]
    costs = _chosen(choose, d, SAME, margin)
    result = BatchTriplets(choose, margin, distance)(x, label=torch.tensor(SAME))
    near(result, sum(costs) / len(costs))


@pytest.mark.parametrize("choose", ["hard", "semi-hard", "all"])
@pytest.mark.parametrize("seed", range(5))
def test_batch_triplets_of_a_grid_whose_distances_are_often_equal_are_chosen_as_by_hand(choose, seed):
    x = np.random.default_rng(seed).integers(0, 3, size=(N, 2)).astype(float)
    d = np.abs(x[:, None] - x[None]).sum(2).tolist()
    costs = _chosen(choose, d, SAME, 1.0)
    near(BatchTriplets(choose, 1.0, "manhattan")(torch.tensor(x), label=torch.tensor(SAME)), sum(costs) / len(costs))


@pytest.mark.parametrize("choose", ["hard", "semi-hard", "all"])
@pytest.mark.parametrize("labels", [[1] * 4, [1, 2, 3, 4], [5]])
def test_a_batch_without_a_triplet_costs_nothing(choose, labels):
    x = drawn(len(labels), E).requires_grad_()
    loss = BatchTriplets(choose)(x, label=torch.tensor(labels))
    loss.backward()
    assert loss == 0 and torch.equal(x.grad, torch.zeros_like(x))


def test_distillation_draws_a_text_and_its_translations_to_the_teachers_vector(three):
    u, v, t = three
    alone = [((u[i] - t[i]) ** 2).sum() for i in range(N)]
    near(Distillation()(u, teacher=t), float(sum(alone)) / u.numel())
    both = [((x[i] - t[i]) ** 2).sum() for x in (u, v) for i in range(N)]
    near(Distillation()(u, v, teacher=t), float(sum(both)) / (2 * u.numel()))


def test_a_teacher_of_another_width_is_met_through_a_linear_map(three):
    u, _, _ = three
    objective = Distillation(teacher_dimension=4)
    objective.initialize(E)
    objective.double()
    t = drawn(N, 4, seed=1)
    near(
        objective(u, teacher=t),
        float((u @ objective.projection.weight.T + objective.projection.bias - t).square().mean().detach()),
    )


def test_margin_mse_compares_differences_of_similarities(three):
    a, p, n = three
    margins = torch.linspace(-2, 3, N, dtype=torch.float64)
    dots = [float(a[i] @ p[i] - a[i] @ n[i] - margins[i]) ** 2 for i in range(N)]
    near(MarginMSE()(a, p, n, margin=margins), sum(dots) / N)
    cosines = [(cos(a[i], p[i]) - cos(a[i], n[i]) - float(margins[i])) ** 2 for i in range(N)]
    near(MarginMSE("cosine")(a, p, n, margin=margins), sum(cosines) / N)


def test_score_distillation_is_the_divergence_of_two_softmaxes(three):
    a, p, n = three
    scores = drawn(N, 2, seed=1)
    result = ScoreDistillation(0.2, 0.5)(a, p, n, scores=scores)
    rows = [kl((scores[i] / 0.5).tolist(), [cos(a[i], p[i]) / 0.2, cos(a[i], n[i]) / 0.2]) for i in range(N)]
    near(result, sum(rows) / N)


@pytest.mark.parametrize("measure", ["kl", "mse"])
def test_similarity_distillation_compares_each_text_with_all_others(measure, three):
    u, _, _ = three
    t = drawn(N, 11, seed=1)
    others = [[j for j in range(N) if j != i] for i in range(N)]
    ours, theirs = ([[cos(x[i], x[j]) for j in others[i]] for i in range(N)] for x in (u, t))
    if measure == "kl":
        rows = [kl([c / 0.3 for c in b], [c / 0.2 for c in a]) for a, b in zip(ours, theirs, strict=True)]
    else:
        rows = [
            sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) / (N - 1) for a, b in zip(ours, theirs, strict=True)
        ]
    temperatures = (0.2, 0.3) if measure == "kl" else ()
    near(SimilarityDistillation(measure, *temperatures)(u, teacher=t), sum(rows) / N)


@pytest.mark.parametrize("measure", ["kl", "mse"])
def test_of_one_text_there_is_nothing_to_compare(measure):
    x = drawn(1, E).requires_grad_()
    loss = SimilarityDistillation(measure)(x, teacher=drawn(1, 3))
    loss.backward()
    assert loss == 0 and torch.equal(x.grad, torch.zeros_like(x))


@pytest.mark.parametrize("distance", APART)
@pytest.mark.parametrize("make", [Triplet, MarginPairs, BatchTriplets], ids=lambda m: m.__name__)
def test_gradients_are_finite_between_equal_vectors(make, distance):
    x = normalize(drawn(4, E)).requires_grad_()
    same = x[[0, 0, 1, 1]]
    objective, labels = make(distance=distance), torch.tensor([0, 1, 0, 1])
    loss = {Triplet: lambda: objective(same, same, same), MarginPairs: lambda: objective(same, same, label=labels)}.get(
        make, lambda: objective(same, label=labels)
    )()
    loss.backward()
    assert torch.isfinite(loss) and torch.isfinite(x.grad).all()


def test_angles_are_1_between_equal_and_opposite_vectors_and_most_at_an_eighth_of_a_turn():
    from likewise.train.objectives.labelled_pairs import angles

    z = torch.tensor([[3.0, -1.0, 2.0, 0.5]]).double()
    turned = torch.view_as_complex(z.reshape(2, 2).T.contiguous()) * complex(0.5**0.5, -(0.5**0.5))
    eighth = torch.cat([turned.real, turned.imag])[None]
    assert angles(z, z).item() == pytest.approx(1) and angles(z, -z).item() == pytest.approx(1)
    assert angles(z, eighth).item() == pytest.approx(2**0.5)
