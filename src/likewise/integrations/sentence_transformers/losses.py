"""The supported losses of sentence-transformers, under their original names, with the same formulas and defaults.

Losses whose formula differs from that of our objective (false negatives, sums, scales) are implemented here.
Constructing an unsupported loss raises an error that says what to use instead.
"""

# ruff: noqa: ARG002, arguments of sentence-transformers that have no effect here

from collections.abc import Callable, Sequence
from copy import copy
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...errors import BadInput
from ...runtime.arguments import known_name
from ...train.objectives import (
    AnglE,
    BatchTriplets,
    Classification,
    Contrastive,
    CoSENT,
    Distillation,
    MarginMSE,
    MarginPairs,
    Matryoshka,
    Objective,
    Regression,
    ScoreDistillation,
    Triplet,
)
from ...train.objectives.contrastive import guide_vectors
from ...train.objectives.distillation import kl_divergence
from ...train.objectives.objective import Labels, Loss, Matrix, Vectors
from ...train.objectives.triplets import paired_distances
from .loading import refused_classes
from .util import cos_sim, pairwise_cos_sim, pairwise_dot_score

BOTH_WAYS: dict[str, Any] = {"directions": ("query_to_doc", "doc_to_query"), "partition_mode": "per_direction"}
"""The options of a symmetric contrastive loss."""


class TripletDistanceMetric(StrEnum):
    """The distances of `TripletLoss`."""

    COSINE = "cosine"
    EUCLIDEAN = "euclidean"
    MANHATTAN = "manhattan"


class SiameseDistanceMetric(StrEnum):
    """The distances of `ContrastiveLoss` and `OnlineContrastiveLoss`."""

    EUCLIDEAN = "euclidean"
    MANHATTAN = "manhattan"
    COSINE_DISTANCE = "cosine"


class BatchHardTripletLossDistanceFunction(StrEnum):
    """The distances of the losses that mine triplets in a batch."""

    cosine_distance = "cosine"
    euclidean_distance = eucledian_distance = "euclidean"


def refuse_option(loss: object, name: str, value: object, way: str) -> BadInput:
    """The error for an unsupported option of a loss."""
    return BadInput(f"{type(loss).__name__} does not take {name}={value!r:.80}; {way}")


def check_similarity(loss: object, function: Any, expected: Callable[..., Any]) -> None:
    """Reject a similarity other than the one that the objective computes."""
    name = expected.__name__
    if function is not expected and getattr(function, "__name__", "") != name:
        raise refuse_option(loss, "similarity_fct", function, f"it compares vectors by {name}")


class CosineSimilarityLoss(Regression):
    """Squared error between the cosine of two texts and their score."""

    def __init__(self, model: Any, loss_fct: Any = None, cos_score_transformation: Any = None) -> None:
        super().__init__()
        if not isinstance(loss_fct, nn.MSELoss | None):
            raise refuse_option(self, "loss_fct", loss_fct, "leave it out, or use CoSENTLoss")
        if not isinstance(cos_score_transformation, nn.Identity | None):
            raise refuse_option(self, "cos_score_transformation", cos_score_transformation, "scale the scores instead")


class CoSENTLoss(CoSENT):
    """Only the ranking of the scores matters, not their values."""

    def __init__(self, model: Any, scale: float = 20.0, similarity_fct: Any = pairwise_cos_sim) -> None:
        super().__init__(scale)
        check_similarity(self, similarity_fct, pairwise_cos_sim)


class AnglELoss(AnglE):
    """Like `CoSENTLoss`, over angles in complex space."""

    def __init__(self, model: Any, scale: float = 20.0) -> None:
        super().__init__(cosine_weight=0.0, angle_scale=scale)
        self.scale = scale


class MultipleNegativesRankingLoss(Contrastive):
    """In-batch negatives: all texts of other rows; unlike in `Contrastive`, duplicate texts are not masked.

    `batch_sampler="no_duplicates"` avoids duplicate texts within a batch.
    """

    def __init__(
        self,
        model: Any,
        scale: float = 20.0,
        similarity_fct: Any = cos_sim,
        gather_across_devices: bool = False,
        directions: Sequence[str] = ("query_to_doc",),
        partition_mode: str = "joint",
        hardness_mode: str | None = None,
        hardness_strength: float = 0.0,
    ) -> None:
        known_name("partition_mode", partition_mode, ("joint", "per_direction"))
        both_ways = {"directions": tuple(directions), "partition_mode": partition_mode} == BOTH_WAYS
        super().__init__(1 / scale, symmetric=both_ways)
        self.scale = scale
        check_similarity(self, similarity_fct, cos_sim)
        if tuple(directions) != ("query_to_doc",) and not both_ways:
            served = "('query_to_doc',), or ('query_to_doc', 'doc_to_query') with partition_mode='per_direction'"
            raise refuse_option(self, "directions", directions, f"expected {served}")
        if hardness_mode is not None and hardness_strength:
            raise refuse_option(self, "hardness_mode", hardness_mode, "mine hard negatives: likewise data mine")
        if gather_across_devices:
            raise refuse_option(self, "gather_across_devices", True, "torchrun -m likewise train always gathers")

    def forward(self, anchor: Vectors, positive: Vectors, *negatives: Vectors) -> Loss:  # type: ignore[override]
        rows, columns = len(anchor), 2 + len(negatives)
        distinct = torch.arange(rows * columns, device=anchor.device).view(columns, rows).T
        return super().forward(anchor, positive, *negatives, text_ids=distinct)


class CachedMultipleNegativesRankingLoss(MultipleNegativesRankingLoss):
    """The same loss for batches that exceed memory: at most `mini_batch_size` texts are encoded at once."""

    def __init__(
        self,
        model: Any,
        scale: float = 20.0,
        similarity_fct: Any = cos_sim,
        mini_batch_size: int = 32,
        mini_batch_num_tokens: int | None = None,
        gather_across_devices: bool = False,
        show_progress_bar: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(model, scale, similarity_fct, gather_across_devices, **options)
        self.max_tokens_per_step = mini_batch_num_tokens or mini_batch_size * model.max_seq_length


class MultipleNegativesSymmetricRankingLoss(MultipleNegativesRankingLoss):
    """The mean of both directions: anchor to positive, and positive to anchor."""

    def __init__(self, model: Any, scale: float = 20.0, *arguments: Any, **options: Any) -> None:
        super().__init__(model, scale, *arguments, **dict(**options, **BOTH_WAYS))


class CachedMultipleNegativesSymmetricRankingLoss(CachedMultipleNegativesRankingLoss):
    """The same loss in both directions."""

    def __init__(self, model: Any, scale: float = 20.0, *arguments: Any, **options: Any) -> None:
        super().__init__(model, scale, *arguments, **dict(**options, **BOTH_WAYS))


class GISTEmbedLoss(Objective):
    """In-batch negatives, except texts that a guide finds more similar than the positive (Solatorio 2024, GISTEmbed).

    The guide's vectors are computed once, before training.
    """

    def __init__(
        self,
        model: Any,
        guide: Any,
        temperature: float = 0.01,
        margin_strategy: str = "absolute",
        margin: float = 0.0,
        contrast_anchors: bool = True,
        contrast_positives: bool = True,
        gather_across_devices: bool = False,
    ) -> None:
        super().__init__()
        if not hasattr(guide, "loaded"):
            raise BadInput(f"the guide is a {type(guide).__name__}; expected a SentenceTransformer of this package")
        if gather_across_devices:
            raise refuse_option(self, "gather_across_devices", True, "torchrun -m likewise train always gathers")
        self._guide = (guide,)  # a tuple, so that the guide is not a submodule of the loss
        self.temperature, self.margin = temperature, margin
        self.margin_strategy = known_name("margin_strategy", margin_strategy, ("absolute", "relative"))
        self.contrast_anchors, self.contrast_positives = contrast_anchors, contrast_positives

    @property
    def guide(self) -> str:
        """The guide's fingerprint, for the record of the run."""
        return str(self._guide[0].loaded.fingerprint)

    def __deepcopy__(self, memo: dict[int, Any]) -> "GISTEmbedLoss":
        return copy(self)  # neither the guide nor the settings change

    def vectors_of(self, columns: Sequence[Sequence[str]]) -> np.ndarray:
        """The guide's vectors of all texts in each row, concatenated."""
        encode = partial(self._guide[0].loaded.encode, prompt="", show_progress_bar=False)
        return np.concatenate([encode(list(column)) for column in columns], axis=1)

    def forward(self, anchor: Vectors, positive: Vectors, *negatives: Vectors, guide: Matrix) -> Loss:
        vectors = [F.normalize(one, dim=1) for one in (anchor, positive, *negatives)]
        guides = guide_vectors(guide, len(vectors)).unbind(1)
        pairs = [(0, 1), *[(0, 0)] * self.contrast_anchors, *[(1, 1)] * self.contrast_positives]
        pairs += [(0, column) for column in range(2, len(vectors))]
        own = (guides[0] @ guides[1].T).diagonal()[:, None]
        limit = own - (self.margin if self.margin_strategy == "absolute" else own.abs() * self.margin)
        masks = [guides[a] @ guides[b].T > limit for a, b in pairs]
        masks[0].fill_diagonal_(False)
        scores = [
            (vectors[a] @ vectors[b].T).masked_fill(mask, -torch.inf) for (a, b), mask in zip(pairs, masks, strict=True)
        ]
        targets = torch.arange(len(anchor), device=anchor.device)
        return F.cross_entropy(torch.cat(scores, dim=1) / self.temperature, targets)


class CachedGISTEmbedLoss(GISTEmbedLoss):
    """The same loss; at most `mini_batch_size` texts are encoded at once."""

    def __init__(
        self,
        model: Any,
        guide: Any,
        temperature: float = 0.01,
        mini_batch_size: int = 32,
        mini_batch_num_tokens: int | None = None,
        show_progress_bar: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(model, guide, temperature, **options)
        self.max_tokens_per_step = mini_batch_num_tokens or mini_batch_size * model.max_seq_length


class TripletLoss(Triplet):
    """The anchor should be closer to the positive than to the negative, by a margin of 5."""

    def __init__(
        self, model: Any, distance_metric: str = TripletDistanceMetric.EUCLIDEAN, triplet_margin: float = 5
    ) -> None:
        super().__init__(triplet_margin, str(distance_metric))
        self.triplet_margin = triplet_margin


class ContrastiveLoss(MarginPairs):
    """Pairs labelled 1 should be close together, pairs labelled 0 farther apart than the margin."""

    def __init__(
        self,
        model: Any,
        distance_metric: str = SiameseDistanceMetric.COSINE_DISTANCE,
        margin: float = 0.5,
        size_average: bool = True,
    ) -> None:
        super().__init__(margin, str(distance_metric))
        if not size_average:
            raise refuse_option(self, "size_average", size_average, "multiply the learning rate instead")


class OnlineContrastiveLoss(MarginPairs):
    """The sum, not the mean, over hard pairs; if all labels are equal, the mean distance decides which are hard."""

    def __init__(
        self, model: Any, distance_metric: str = SiameseDistanceMetric.COSINE_DISTANCE, margin: float = 0.5
    ) -> None:
        super().__init__(margin, str(distance_metric), online=True)

    def forward(self, sentence1: Vectors, sentence2: Vectors, *, label: Labels) -> Loss:
        distances = paired_distances(sentence1, sentence2, self.distance)
        near, far = distances[label == 1], distances[label == 0]
        hard_near = near[near > (far.min() if len(far) else near.mean())]
        hard_far = far[far < (near.max() if len(near) else far.mean())]
        return hard_near.square().sum() + F.relu(self.margin - hard_far).square().sum()


class SoftmaxLoss(Classification):
    """A linear classifier over both vectors and their difference; its weights are created on construction."""

    def __init__(
        self,
        model: Any,
        embedding_dimension: int,
        num_labels: int,
        concatenation_sent_rep: bool = True,
        concatenation_sent_difference: bool = True,
        concatenation_sent_multiplication: bool = False,
        loss_fct: Any = None,
    ) -> None:
        chosen = {
            "u": concatenation_sent_rep,
            "v": concatenation_sent_rep,
            "|u-v|": concatenation_sent_difference,
            "u*v": concatenation_sent_multiplication,
        }
        super().__init__(num_labels, tuple(name for name, used in chosen.items() if used))
        if not isinstance(loss_fct, nn.CrossEntropyLoss | None):
            raise refuse_option(self, "loss_fct", loss_fct, "leave it out")
        if embedding_dimension != (found := model.get_embedding_dimension()):
            raise refuse_option(self, "embedding_dimension", embedding_dimension, f"it is {found}")
        super().initialize(embedding_dimension)

    def initialize(self, dimension: int, vocabulary: int = 0) -> None:
        """Keep the weights that the constructor created."""


class BatchHardTripletLoss(BatchTriplets):
    """Triplets of each anchor's farthest positive and nearest negative in the batch."""

    strategy_name = "hard"

    def __init__(self, model: Any, distance_metric: str = "euclidean", margin: float = 5) -> None:
        super().__init__(self.strategy_name, margin, str(distance_metric))


class BatchSemiHardTripletLoss(BatchHardTripletLoss):
    """For each pair with the same label, the nearest negative that is farther away than the positive."""

    strategy_name = "semi-hard"


class BatchAllTripletLoss(BatchHardTripletLoss):
    """Every triplet in the batch that violates the margin."""

    strategy_name = "all"


class MSELoss(Distillation):
    """Squared error between the vector of each text in a row and the row's label, which is a teacher's vector."""

    def __init__(self, model: Any, projection_dim: int | None = None) -> None:
        super().__init__(projection_dim)


class MarginMSELoss(MarginMSE):
    """Squared error between the margin of the dot products and the label, which is a teacher's margin."""

    def __init__(self, model: Any, similarity_fct: Any = pairwise_dot_score) -> None:
        super().__init__("cosine" if similarity_fct is pairwise_cos_sim else "dot")
        if similarity_fct is not pairwise_cos_sim:
            check_similarity(self, similarity_fct, pairwise_dot_score)


class DistillKLDivLoss(ScoreDistillation):
    """KL divergence from a teacher's scores for the candidates, times the student's squared temperature."""

    def __init__(
        self,
        model: Any,
        similarity_fct: Any = pairwise_dot_score,
        temperature: float = 1.0,
        student_temperature: float | None = None,
        teacher_temperature: float | None = None,
    ) -> None:
        student = temperature if student_temperature is None else student_temperature
        super().__init__(student, temperature if teacher_temperature is None else teacher_temperature)
        check_similarity(self, similarity_fct, pairwise_dot_score)

    def forward(self, anchor: Vectors, positive: Vectors, *negatives: Vectors, scores: Matrix) -> Loss:
        student = torch.stack([(anchor * candidate).sum(1) for candidate in (positive, *negatives)], dim=1)
        divergence = kl_divergence(scores / self.teacher_temperature, student / self.temperature)
        return divergence * self.temperature**2


class MatryoshkaLoss(Matryoshka):
    """Any of these losses on vectors that are truncated to several dimensions and renormalized."""

    def __init__(
        self,
        model: Any,
        loss: Objective,
        matryoshka_dims: Sequence[int],
        matryoshka_weights: Sequence[float] | None = None,
        n_dims_per_step: int = -1,
    ) -> None:
        found = model.get_embedding_dimension()
        if any(dimension > found for dimension in matryoshka_dims):
            raise BadInput(f"matryoshka_dims are {list(matryoshka_dims)}, but the model has {found}")
        super().__init__(loss, matryoshka_dims, matryoshka_weights)
        self.max_tokens_per_step = getattr(loss, "max_tokens_per_step", None)
        if n_dims_per_step != -1:
            raise refuse_option(self, "n_dims_per_step", n_dims_per_step, "every step trains all dimensions")

    def forward(self, *vectors: Tensor, **numbers: Tensor) -> Loss:
        losses = [
            weight * copy(*(F.normalize(v[:, view], dim=1) for v in vectors), **numbers)
            for weight, copy, view in zip(self.weights, self.copies, self.views, strict=True)
        ]
        total: Tensor = sum(losses[1:], losses[0])
        return total


REFUSED = {
    "AdaptiveLayerLoss": "likewise train --objective contrastive:layers=3 trains the last three layers",
    "Matryoshka2dLoss": "likewise train --objective contrastive:layers=3,dimensions=64+256",
    "MegaBatchMarginLoss": "CachedMultipleNegativesRankingLoss with a large batch",
    "BatchHardSoftMarginTripletLoss": "BatchHardTripletLoss, which uses a hard margin",
    "EmbedDistillLoss": "MSELoss with a teacher's vectors as labels",
    "DenoisingAutoEncoderLoss": "likewise train --objective tsdae",
    **dict.fromkeys(
        ("ContrastiveTensionLoss", "ContrastiveTensionLossInBatchNegatives", "ContrastiveTensionDataLoader"),
        "likewise train --objective simcse or tsdae",
    ),
    "GlobalOrthogonalRegularizationLoss": "leave it out",
}
"""Maps each unsupported loss to what to use instead."""


__getattr__ = refused_classes(__name__, REFUSED)
