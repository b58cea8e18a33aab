"""Objectives: vectors and numbers to a loss. None knows a model."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import cosine_similarity, cross_entropy, normalize

SCALE = 20.0  # a cosine's differences are small beside what a softmax wants


def cosent(
    u: Float[Tensor, "N E"], v: Float[Tensor, "N E"], scores: Float[Tensor, " N"], scale: float = SCALE
) -> Float[Tensor, ""]:
    """log(1 + Σ exp(scale (cos_j − cos_i))) over the pairs i, j of pairs with score_i > score_j (Su 2022, CoSENT).

    Only the order of the scores matters, as in Spearman's correlation.
    """
    cosines = scale * cosine_similarity(u, v)
    wrong = (cosines[None] - cosines[:, None]).masked_fill(scores[:, None] <= scores[None], -torch.inf)
    return torch.cat([wrong.new_zeros(1), wrong.flatten()]).logsumexp(0)


def contrastive(
    anchors: Float[Tensor, "N E"],
    positives: Float[Tensor, "N E"],
    negatives: Float[Tensor, "N E"],
    names: Int[Tensor, "N 3"],
    scale: float = SCALE,
) -> Float[Tensor, ""]:
    """Each anchor is to find its positive among all positives and negatives of the batch (InfoNCE).

    `names` numbers the texts. What is no wrong answer is left out: the positive's text again, the anchor's own text,
    and other positives of the same anchor.
    """
    candidates = normalize(torch.cat([positives, negatives]), dim=1)
    likeness = scale * normalize(anchors, dim=1) @ candidates.T
    right = torch.arange(len(anchors), device=anchors.device)
    return cross_entropy(likeness.masked_fill(_no_answer(names), -torch.inf), right)


def _no_answer(names: Int[Tensor, "N 3"]) -> Bool[Tensor, "N 2N"]:
    anchors, positives, negatives = names.unbind(1)
    texts = torch.cat([positives, negatives])
    same_text = (texts[None] == positives[:, None]) | (texts[None] == anchors[:, None])
    same_anchor = anchors[None] == anchors[:, None]
    masked = same_text | torch.cat([same_anchor, torch.zeros_like(same_anchor)], dim=1)
    own = torch.arange(len(anchors), device=names.device)
    masked[own, own] = False
    return masked
