"""Losses beside sentence-transformers', on the same vectors in fp64; where definitions differ, the test says how."""

from types import SimpleNamespace

import pytest
import torch
from sentence_transformers import util
from sentence_transformers.sentence_transformer import losses

from likewise.integrations.sentence_transformers import losses as our_losses
from likewise.train.objectives import (
    AnglE,
    BatchTriplets,
    Contrastive,
    CoSENT,
    Distillation,
    MarginMSE,
    MarginPairs,
    Regression,
    ScoreDistillation,
    Triplet,
)

N = 12
A, P, M = torch.randn(3, N, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
SCORES = torch.linspace(0, 1, N, dtype=torch.float64)[torch.randperm(N, generator=torch.Generator().manual_seed(1))]
ALIKE = torch.arange(N) % 3 // 2
LABELS = torch.arange(N) % 4
NAMES = torch.arange(3 * N).view(3, N).T
TEACHER = torch.randn(N, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
FAR = {
    "euclidean": losses.BatchHardTripletLossDistanceFunction.euclidean_distance,
    "cosine": losses.BatchHardTripletLossDistanceFunction.cosine_distance,
}
KINDS = {
    "hard": losses.BatchHardTripletLoss,
    "semi-hard": losses.BatchSemiHardTripletLoss,
    "all": losses.BatchAllTripletLoss,
}

GUIDE = torch.randn(3, N, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
OUR_GUIDED = our_losses.CachedGISTEmbedLoss
MODEL = SimpleNamespace(loaded=None, max_seq_length=8)
HOWS = [
    {"margin_strategy": "absolute"},
    {"margin_strategy": "absolute", "margin": 0.2, "contrast_anchors": False},
    {"margin_strategy": "relative", "margin": 0.3, "contrast_positives": False},
]


def their_guided(how):
    """Their loss of these vectors, without the models that its constructor wants."""
    loss = losses.CachedGISTEmbedLoss.__new__(losses.CachedGISTEmbedLoss)
    torch.nn.Module.__init__(loss)
    given = {"contrast_anchors": True, "contrast_positives": True, "margin": 0.0, **how, "temperature": 0.05}
    given |= {"mini_batch_size": 5, "show_progress_bar": False, "gather_across_devices": False}
    given |= {"similarity_fct": torch.nn.CosineSimilarity(dim=-1), "cross_entropy_loss": torch.nn.CrossEntropyLoss()}
    for name, value in given.items():
        setattr(loss, name, value)
    return loss.calculate_loss([[one] for one in (A, P, M)], [[one] for one in GUIDE])


CASES = {
    "in-batch contrast": (
        lambda: Contrastive(0.05)(A, P, M, text_ids=NAMES),
        lambda: losses.MultipleNegativesRankingLoss(None).compute_loss_from_embeddings([A, P, M], None),
    ),
    "in-batch contrast both ways": (
        lambda: Contrastive(0.05, symmetric=True)(A, P, text_ids=NAMES[:, :2]),
        lambda: losses.MultipleNegativesSymmetricRankingLoss(None).compute_loss_from_embeddings([A, P], None),
    ),
    **{
        f"guided, {how}": (
            lambda how=how: OUR_GUIDED(MODEL, MODEL, 0.05, **how)(A, P, M, guide=torch.cat([*GUIDE], dim=1)),
            lambda how=how: their_guided(how),
        )
        for how in HOWS
    },
    "cosent": (
        lambda: CoSENT()(A, P, score=SCORES),
        lambda: losses.CoSENTLoss(None).compute_loss_from_embeddings([A, P], SCORES),
    ),
    "angle": (
        lambda: AnglE(cosine_weight=0.0)(A, P, score=SCORES),
        lambda: losses.AnglELoss(None).compute_loss_from_embeddings([A, P], SCORES),
    ),
    "regression": (
        lambda: Regression()(A, P, score=SCORES),
        lambda: losses.CosineSimilarityLoss(None).compute_loss_from_embeddings([A, P], SCORES),
    ),
    "margin over pairs": (
        lambda: MarginPairs(0.9)(A, P, label=ALIKE),
        lambda: losses.ContrastiveLoss(None, margin=0.9).compute_loss_from_embeddings([A, P], ALIKE),
    ),
    "margin over hard pairs: theirs is the sum, ours half the mean": (
        lambda: 2 * N * MarginPairs(0.9, online=True)(A, P, label=ALIKE),
        lambda: losses.OnlineContrastiveLoss(None, margin=0.9).compute_loss_from_embeddings([A, P], ALIKE),
    ),
    "triplets": (
        lambda: Triplet(0.5, "cosine")(A, P, M),
        lambda: losses.TripletLoss(None, losses.TripletDistanceMetric.COSINE, 0.5).compute_loss_from_embeddings(
            [A, P, M], None
        ),
    ),
    **{
        f"{name} triplets of a batch, {distance}": (
            lambda name=name, distance=distance: BatchTriplets(name, 0.4, distance)(A, label=LABELS),
            lambda kind=kind, distance=distance: kind(None, FAR[distance], 0.4).compute_loss_from_embeddings(
                [A], LABELS
            ),
        )
        for name, kind in KINDS.items()
        for distance in FAR
    },
    "a teacher's vectors": (
        lambda: Distillation()(A, P, teacher=M),
        lambda: losses.MSELoss(None).compute_loss_from_embeddings([A, P], [M, M]),
    ),
    "margin mse": (
        lambda: MarginMSE()(A, P, M, margin=SCORES),
        lambda: losses.MarginMSELoss(None).compute_loss_from_embeddings([A, P, M], SCORES),
    ),
    "a teacher's scores": (
        lambda: ScoreDistillation(0.5, 0.5)(A, P, M, scores=TEACHER),
        lambda: (
            losses.DistillKLDivLoss(None, util.pairwise_cos_sim, 0.5).compute_loss_from_embeddings([A, P, M], TEACHER)
            / 0.25
        ),  # theirs is multiplied by the temperature's square
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_loss_is_that_of_sentence_transformers(case):
    ours, theirs = CASES[case]
    torch.testing.assert_close(ours(), theirs(), atol=1e-6, rtol=1e-6)
