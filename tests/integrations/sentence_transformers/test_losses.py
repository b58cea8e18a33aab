"""Losses of the drop-in beside their formulas, spelled out one number at a time."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from likewise.errors import BadInput
from likewise.integrations.sentence_transformers import cross_encoder_losses, losses, util
from likewise.train.objectives import AnglE, BatchTriplets, Distillation, MarginMSE


class Model:
    """As much of a model as losses ask for."""

    max_seq_length = 10

    def get_embedding_dimension(self):
        return 8


GUIDE = SimpleNamespace(loaded=None)


def vectors(count, rows=5, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(count, rows, 8))).float().unbind()


def unit(x):
    return (x / np.linalg.norm(x, axis=-1, keepdims=True)).astype(float)


def cross_entropy(rows):
    """Of the first score of each row."""
    return float(np.mean([math.log(sum(math.exp(x) for x in row)) - row[0] for row in rows]))


@pytest.mark.parametrize("negatives", [0, 2])
def test_every_other_text_of_a_batch_is_a_negative_even_an_equal_one(negatives):
    anchor, positive, *others = vectors(2 + negatives)
    positive[1] = positive[0]
    a, candidates = unit(anchor.numpy()), unit(np.concatenate([one.numpy() for one in (positive, *others)]))
    cosines = 7 * a @ candidates.T
    wanted = cross_entropy([[row[i], *np.delete(row, i)] for i, row in enumerate(cosines)])
    loss = losses.MultipleNegativesRankingLoss(Model(), scale=7)
    assert loss.scale == 7
    assert float(loss(anchor, positive, *others)) == pytest.approx(wanted, rel=1e-5)


def test_a_symmetric_loss_is_the_mean_of_both_directions():
    a, b = vectors(2)
    one_way = losses.MultipleNegativesRankingLoss(Model())
    for kind in (losses.MultipleNegativesSymmetricRankingLoss, losses.CachedMultipleNegativesSymmetricRankingLoss):
        assert float(kind(Model())(a, b)) == pytest.approx(float(one_way(a, b) + one_way(b, a)) / 2, rel=1e-5)


@pytest.mark.parametrize("kind", [losses.CachedMultipleNegativesRankingLoss, losses.CachedGISTEmbedLoss])
def test_parts_of_a_step_have_so_many_texts_or_tokens(kind):
    guide = [GUIDE] if kind is losses.CachedGISTEmbedLoss else []
    assert kind(Model(), *guide).max_tokens_per_step == 32 * 10
    assert kind(Model(), *guide, mini_batch_size=3).max_tokens_per_step == 30
    assert kind(Model(), *guide, mini_batch_num_tokens=7).max_tokens_per_step == 7


@pytest.mark.parametrize("labels", [[1, 0, 1, 0, 0, 1], [1] * 6, [0] * 6, [1], [0]])
@pytest.mark.parametrize("margin", [0.5, 1.2])
def test_hard_pairs_alone_count_each_in_full(labels, margin):
    a, b = vectors(2, rows=len(labels))
    distances = 1 - (unit(a.numpy()) * unit(b.numpy())).sum(1)
    near, far = distances[np.array(labels) == 1], distances[np.array(labels) == 0]
    least, most = far.min() if len(far) else near.mean(), near.max() if len(near) else far.mean()
    wanted = sum(x**2 for x in near if x > least) + sum(max(0, margin - x) ** 2 for x in far if x < most)
    loss = losses.OnlineContrastiveLoss(Model(), margin=margin)
    assert float(loss(a, b, label=torch.tensor(labels))) == pytest.approx(wanted, rel=1e-5)


def test_triplets_and_pairs_have_the_distance_and_margin_that_are_given():
    anchor, positive, negative = vectors(3)
    near, far = (1 - (unit(anchor.numpy()) * unit(one.numpy())).sum(1) for one in (positive, negative))
    triplets = losses.TripletLoss(Model(), "cosine", 0.25)
    assert float(triplets(anchor, positive, negative)) == pytest.approx(
        np.maximum(near - far + 0.25, 0).mean(), rel=1e-5
    )
    pairs, labels = losses.ContrastiveLoss(Model(), "cosine", 0.75), np.array([1, 0, 0, 1, 0])
    wanted = np.where(labels, near**2, np.maximum(0.75 - near, 0) ** 2).mean() / 2
    assert float(pairs(anchor, positive, label=torch.from_numpy(labels))) == pytest.approx(wanted, rel=1e-5)


LABELS = torch.tensor([0, 1, 0, 1, 1])
SCORES = torch.linspace(0, 1, 5)


@pytest.mark.parametrize(
    ("loss", "objective", "columns"),
    [
        (losses.AnglELoss(Model(), 7), AnglE(0.0, angle_scale=7), {"score": SCORES}),
        (losses.BatchHardTripletLoss(Model(), "cosine", 0.3), BatchTriplets("hard", 0.3, "cosine"), {"label": LABELS}),
        (losses.BatchAllTripletLoss(Model()), BatchTriplets("all", 5), {"label": LABELS}),
        (losses.MSELoss(Model(), 3), Distillation(3), {"teacher": torch.ones(5, 3)}),
        (losses.MarginMSELoss(Model()), MarginMSE("dot"), {"margin": SCORES}),
        (losses.MarginMSELoss(Model(), util.pairwise_cos_sim), MarginMSE("cosine"), {"margin": SCORES}),
    ],
    ids=lambda one: type(one).__name__,
)
@torch.no_grad()
def test_a_loss_that_only_renames_an_objective_passes_its_options_on(loss, objective, columns):
    texts = vectors(len(objective.reads().texts))
    for one in (loss, objective):
        torch.manual_seed(0)
        one.initialize(8)
    assert float(loss(*texts, **columns)) == float(objective(*texts, **columns))


def test_scales_and_margins_are_recorded():
    assert losses.AnglELoss(Model(), 7).describe() == {"objective": "AnglELoss", "scale": 7}
    assert losses.TripletLoss(Model(), "cosine", 2).describe() == {"objective": "TripletLoss", "triplet_margin": 2}


@pytest.mark.parametrize(
    ("options", "features"), [([], ["u", "v", "|u-v|"]), ([True, False, True], ["u", "v", "u*v"]), ([False], ["|u-v|"])]
)
def test_a_classifier_reads_the_features_that_are_chosen_and_keeps_its_weights(options, features):
    loss = losses.SoftmaxLoss(Model(), 8, 3, *options)
    weights = loss.classifier.weight
    loss.initialize(8)
    assert loss.concatenation == tuple(features)
    assert loss.classifier.weight is weights and weights.shape == (3, 8 * len(features))


@pytest.mark.parametrize(
    "options",
    [{}, {"temperature": 2.0}, {"student_temperature": 0.5}, {"teacher_temperature": 3.0, "temperature": 2.0}],
    ids=str,
)
def test_a_teachers_scores_are_compared_at_both_temperatures(options):
    anchor, *candidates = vectors(4)
    scores = torch.from_numpy(np.random.default_rng(1).normal(size=(5, 3))).float()
    both = options.get("temperature", 1.0)
    student, teacher = options.get("student_temperature", both), options.get("teacher_temperature", both)
    total = 0.0
    for i in range(5):
        p = np.exp(scores[i].numpy() / teacher)
        q = np.exp([float(anchor[i] @ one[i]) / student for one in candidates])
        p, q = p / p.sum(), q / q.sum()
        total += float((p * np.log(p / q)).sum()) / 5
    found = losses.DistillKLDivLoss(Model(), **options)(anchor, *candidates, scores=scores)
    assert float(found) == pytest.approx(total * student**2, rel=1e-4)


@pytest.mark.parametrize("weights", [None, [1, 0.25]])
def test_a_matryoshka_loss_is_the_weighted_sum_over_its_dimensions(weights):
    a, b = vectors(2)
    scores = torch.linspace(0, 1, 5)
    inner = losses.CosineSimilarityLoss(Model())
    whole = losses.MatryoshkaLoss(Model(), inner, [8, 3], weights)
    whole.initialize(8)
    parts = [inner(F.normalize(a[:, :n], dim=1), F.normalize(b[:, :n], dim=1), score=scores) for n in (8, 3)]
    wanted = sum(w * float(part) for w, part in zip(weights or (1, 1), parts, strict=True))
    assert float(whole(a, b, score=scores)) == pytest.approx(wanted, rel=1e-5)
    with pytest.raises(BadInput, match=r"matryoshka_dims are \[9, 3\], but the model has 8"):
        losses.MatryoshkaLoss(Model(), inner, [9, 3])
    with pytest.raises(BadInput, match="does not take n_dims_per_step=1"):
        losses.MatryoshkaLoss(Model(), inner, [8, 3], n_dims_per_step=1)
    cached = losses.CachedMultipleNegativesRankingLoss(Model(), mini_batch_size=3)
    assert losses.MatryoshkaLoss(Model(), cached, [8, 3]).max_tokens_per_step == 30


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"margin": 0.2},
        {"margin": 0.3, "margin_strategy": "relative"},
        {"contrast_anchors": False},
        {"contrast_positives": False, "temperature": 0.5},
    ],
    ids=str,
)
def test_what_a_guide_finds_more_similar_than_the_positive_is_no_negative(options):
    texts, guide = vectors(3), vectors(3, seed=1)
    a, p, n = (unit(one.numpy()) for one in texts)
    ga, gp, gn = (unit(one.numpy()) for one in guide)
    temperature, margin = options.get("temperature", 0.01), options.get("margin", 0.0)
    rows = []
    for i in range(5):
        own = float(ga[i] @ gp[i])
        limit = own - (abs(own) * margin if options.get("margin_strategy") == "relative" else margin)
        row = [a[i] @ p[i]] + [a[i] @ p[j] for j in range(5) if j != i and ga[i] @ gp[j] <= limit]
        if options.get("contrast_anchors", True):
            row += [a[i] @ a[j] for j in range(5) if ga[i] @ ga[j] <= limit]
        if options.get("contrast_positives", True):
            row += [p[i] @ p[j] for j in range(5) if gp[i] @ gp[j] <= limit]
        row += [a[i] @ n[j] for j in range(5) if ga[i] @ gn[j] <= limit]
        rows.append(np.array(row) / temperature)
    loss = losses.GISTEmbedLoss(Model(), GUIDE, **options)
    found = loss(*texts, guide=torch.cat(guide, dim=1))
    assert float(found) == pytest.approx(cross_entropy(rows), rel=1e-4)


def test_options_without_a_counterpart_are_refused_by_name():
    for make, name in (
        (lambda: losses.CosineSimilarityLoss(Model(), torch.nn.L1Loss()), "loss_fct"),
        (lambda: losses.CosineSimilarityLoss(Model(), None, torch.nn.Tanh()), "cos_score_transformation"),
        (
            lambda: losses.CoSENTLoss(Model(), similarity_fct=util.pairwise_dot_score),
            "similarity_fct=.*; it compares vectors by pairwise_cos_sim",
        ),
        (lambda: losses.MultipleNegativesRankingLoss(Model(), similarity_fct=util.dot_score), "similarity_fct"),
        (lambda: losses.MultipleNegativesRankingLoss(Model(), gather_across_devices=True), "gather_across_devices"),
        (
            lambda: losses.MultipleNegativesRankingLoss(Model(), hardness_mode="x", hardness_strength=1.0),
            "hardness_mode",
        ),
        (lambda: losses.GISTEmbedLoss(Model(), GUIDE, gather_across_devices=True), "gather_across_devices"),
        (lambda: losses.ContrastiveLoss(Model(), size_average=False), "size_average"),
        (lambda: losses.SoftmaxLoss(Model(), 8, 3, loss_fct=torch.nn.MSELoss()), "loss_fct"),
        (lambda: losses.SoftmaxLoss(Model(), 9, 3), "embedding_dimension=9; it is 8"),
        (lambda: losses.MarginMSELoss(Model(), util.pairwise_euclidean_sim), "similarity_fct"),
        (lambda: losses.DistillKLDivLoss(Model(), util.pairwise_cos_sim), "similarity_fct"),
    ):
        with pytest.raises(BadInput, match=f"does not take {name}"):
            make()
    with pytest.raises(BadInput, match="the guide is a Model; expected a SentenceTransformer"):
        losses.GISTEmbedLoss(Model(), Model())
    with pytest.raises(BadInput, match="margin_strategy is 'none'; expected one of absolute, relative"):
        losses.GISTEmbedLoss(Model(), GUIDE, margin_strategy="none")
    losses.CosineSimilarityLoss(Model(), torch.nn.MSELoss(), torch.nn.Identity())
    losses.MultipleNegativesRankingLoss(Model(), hardness_strength=1.0)
    losses.MultipleNegativesRankingLoss(Model(), hardness_mode="x")
    losses.MultipleNegativesRankingLoss(Model(), similarity_fct=type("Peer", (), {"__name__": "cos_sim"})())
    assert losses.MarginMSELoss(Model(), util.pairwise_cos_sim) and losses.SoftmaxLoss(Model(), 8, 3)


@pytest.mark.parametrize("name", ["BinaryCrossEntropyLoss", "CrossEntropyLoss", "MSELoss"])
def test_losses_of_cross_encoders_read_logits_and_average_them(name):
    make, model = getattr(cross_encoder_losses, name), type("Model", (), {"num_labels": 3})()
    make(model)
    make(model, torch.nn.Identity(), reduction="mean", weight=None)
    for options, told in (
        ({"activation_fn": torch.nn.Sigmoid()}, "activation_fn"),
        ({"reduction": "sum"}, "reduction"),
        ({"weight": torch.ones(3)}, "weight"),
    ):
        with pytest.raises(BadInput, match=f"{name} does not take {told}="):
            make(model, **options)
    if name == "BinaryCrossEntropyLoss":
        with pytest.raises(BadInput, match="repeat the rows with label 1 instead"):
            make(model, pos_weight=2.0)
