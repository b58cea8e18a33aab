"""Learned dissection, the training: a linear map over cached layer vectors, held close to plain pooling.

The encoder is frozen, so each text is encoded once, and training is one small matrix. With x the pooled vectors of
all layers side by side and p those of the last, which are plain pooling, the fused vector is

    y = p + a · (D x̃ + c),    x̃: x less its mean, each layer brought to unit size

and the loss is the objective's plus  strength · |D x̃ + c|² / |p|²  (means over the batch): what costs is how far
vectors leave plain pooling, in parts of their own size. How strong that is, when to stop, and which share 0 ≤ a ≤ 1
of the change is kept are chosen on held-out pairs, of which no sentence was trained on; a = 0 is plain pooling.

A fusion that ends early has no good p of its own: an encoder's middle layers were never meant to be read. Its p is an
*imitation* of the whole model's vector, the ridge regression of it on x, which needs no labels and is one solution of
a linear system. x̃ then holds p as well; all is linear in x, so one map says it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from ...engines.torch.torch_embedder import TorchEmbedder
from ...errors import BadInput
from ...heads import Dense
from ...pooling import Fusion, Pooling, Reduce, Stack
from ..data.examples import Examples, split_without_overlap
from ..objectives import contrastive, cosent

Cosines = Float[np.ndarray, " N"]
Gold = Float[np.ndarray, " N"]
FusionScore = Callable[[Cosines, Gold], float]
"""How well cosines agree with gold: Spearman's correlation, say."""
SignificanceTest = Callable[[Cosines, Cosines, Gold], bool]
"""Whether the first cosines agree with gold better than the second, beyond chance."""
LayerVectors = Float[np.ndarray, "S F"]


@dataclass(frozen=True)
class FusionSettings:
    """How to train; `benchmarks/fusion.py` and docs/logbook.md say what other choices gave."""

    strengths: tuple[float, ...] = (1.0, 4.0)
    scale: float = 5.0
    shares: tuple[float, ...] = (0.5, 1.0)
    rate: float = 1e-3
    decay: float = 1.0
    batch: int = 512
    epochs: int = 8
    patience: int = 3
    held_out: float = 0.15
    ordered: bool = True  # triplets are learned as an order of pairs (`Examples.pairs`); else by contrast in a batch
    seed: int = 0


FUSION_DEFAULTS = FusionSettings()
RIDGE = 1e-3  # of the mean variance, in an imitation


@dataclass(frozen=True)
class FusionResult:
    """A trained fusion, how it was chosen, and what cosines it and plain pooling gave the held-out pairs."""

    fusion: Fusion
    strength: float
    share: float
    epochs: int
    fused: Cosines
    plain: Cosines
    gold: Gold


def layer_vectors(embedder: TorchEmbedder, texts: Sequence[str]) -> LayerVectors:
    """The pooled vectors of every layer of every text, side by side: all that training needs of the encoder."""
    stack = Stack(last_layer_pooling(embedder), 0, embedder.encoder.depth)
    return TorchEmbedder(embedder.tokenizer, embedder.encoder, stack, nn.Sequential(), embedder.manifest).encode(texts)


def last_layer_pooling(embedder: TorchEmbedder) -> Reduce:
    """What the model does with its last layer, and the fusion with each."""
    pooling = embedder.pooling.stack.reduce if isinstance(embedder.pooling, Fusion) else embedder.pooling
    if not isinstance(pooling, Reduce):
        raise BadInput(f"a model whose pooling is {pooling.spec} cannot be fused; wanted cls, mean, max or their kin")
    return pooling


def train_fusion(
    vectors: LayerVectors,
    examples: Examples,
    stack: Stack,
    encoder_width: int,
    measure: FusionScore,
    *,
    anchor: nn.Linear | None = None,
    heads: nn.Module | None = None,
    sure: SignificanceTest | None = None,
    recipe: FusionSettings = FUSION_DEFAULTS,
) -> FusionResult:
    """The fusion of the stack's layers that agrees best with held-out gold.

    Args:
        vectors: a row a text, `layer_vectors` cut to the stack's layers.
        examples: rows of text numbers, with what is known of them.
        stack: which layers, and how each is pooled.
        encoder_width: D.
        measure: what is to be large on held-out pairs.
        anchor: x to p, where p is not plain pooling but an `imitation`.
        heads: the model's own heads, which the fused vectors will go through (and which stay as they are).
        sure: where given, the change is kept only if it is held-out better beyond chance, else plain pooling.
        recipe: how to train.
    """
    if vectors.shape[1] != stack.width(encoder_width):
        raise BadInput(f"vectors are {vectors.shape[1]} wide; the {stack.spec} make {stack.width(encoder_width)}")
    x, through = torch.from_numpy(np.ascontiguousarray(vectors)), heads or nn.Identity()
    if anchor is not None:
        with torch.no_grad():
            x = torch.cat([x, anchor(x)], dim=1)
    training, held = split_without_overlap(examples, recipe.held_out, recipe.seed)
    if recipe.ordered:
        training = Examples(*training.pairs)
    judge = _HeldOutScorer(x, through, held, measure)
    narrow = stack.reduce.width(encoder_width)
    best = _Candidate(judge(lambda rows: rows[:, -narrow:]), 0.0, 0.0, 0, None)
    for strength in recipe.strengths:
        change = _PoolingChange(x[np.unique(training.rows)], narrow)
        waited = 0
        for epoch in _train_epochs(change, x, through, training, strength, recipe):
            tried = [(judge(change.kept(share)), share) for share in recipe.shares]
            quality, share = max(tried)
            waited = 0 if quality > best.quality else waited + 1
            if quality > best.quality:
                best = _Candidate(quality, strength, share, epoch, change.folded(share))
            if waited > recipe.patience:
                break
    plain = judge.cosines(lambda rows: rows[:, -narrow:])
    fused_embedder = plain if best.map is None else judge.cosines(best.map)
    if best.map is not None and sure is not None and not sure(fused_embedder, plain, judge.gold):
        best, fused_embedder = _Candidate(best.quality, 0.0, 0.0, 0, None), plain
    fusion = Fusion(stack, encoder_width)
    _write_map(fusion.map, best.map, anchor)
    return FusionResult(fusion.eval(), best.strength, best.share, best.epochs, fused_embedder, plain, judge.gold)


def imitation(x: LayerVectors, whole: Float[np.ndarray, "S E"]) -> nn.Linear:
    """The map from lower layers' vectors to the whole model's: ridge regression, in fp64."""
    mean, aim = x.mean(0, dtype=np.float64), whole.mean(0, dtype=np.float64)
    centred = x - mean
    gram = centred.T @ centred
    gram[np.diag_indices(len(gram))] += RIDGE * np.trace(gram) / len(gram)
    weight = torch.from_numpy(np.linalg.solve(gram, centred.T @ (whole - aim)).T)
    made = nn.Linear(x.shape[1], whole.shape[1], device="meta").to_empty(device="cpu")
    made.load_state_dict(
        {"weight": weight.float(), "bias": (torch.from_numpy(aim) - weight @ torch.from_numpy(mean)).float()}
    )
    return made.requires_grad_(False)


@torch.no_grad()
def _write_map(to: nn.Linear, found: nn.Linear | None, anchor: nn.Linear | None) -> None:
    """The map that was found, as a map of x alone; without one, the anchor; without that, what is there."""
    if anchor is not None and found is not None:
        own, through = torch.split(found.weight, [anchor.in_features, anchor.out_features], dim=1)
        to.weight.copy_(own + through @ anchor.weight)
        to.bias.copy_(found.bias + through @ anchor.bias)
    elif found is not None or anchor is not None:
        to.load_state_dict((found or anchor).state_dict())  # type: ignore[union-attr]


def fused_embedder(embedder: TorchEmbedder, fusion: Fusion) -> TorchEmbedder:
    """The embedder with this fusion for its pooling, in the plainest words that say the same.

    A fusion that changes nothing is plain pooling, and one that reads only the last layer is plain pooling and a
    dense head: these every version of sentence-transformers reads.
    """
    stack, narrow = fusion.stack, fusion.map.out_features
    pooling: Pooling = fusion
    heads = list(embedder.heads.children())
    if stack.last == embedder.encoder.depth and not fusion.map.weight[:, :-narrow].any():
        pooling = stack.reduce
        if not torch.equal(fusion.map.weight[:, -narrow:], torch.eye(narrow)) or fusion.map.bias.any():
            dense = Dense(narrow, narrow, activation="Identity")
            dense.linear.load_state_dict(
                {"weight": fusion.map.weight[:, -narrow:].detach(), "bias": fusion.map.bias.detach()}
            )
            heads = [dense, *heads]
    made = TorchEmbedder(embedder.tokenizer, embedder.encoder, pooling, nn.Sequential(*heads), embedder.manifest)
    return made.to(embedder.device).eval()


@dataclass(frozen=True)
class _Candidate:
    quality: float
    strength: float
    share: float
    epochs: int
    map: nn.Linear | None


class _HeldOutScorer:
    """Held-out quality of a map."""

    def __init__(self, x: Tensor, heads: nn.Module, held: Examples, measure: FusionScore) -> None:
        rows, self.gold = held.pairs
        self.x, self.heads, self.measure = x, heads, measure
        self.left, self.right = torch.from_numpy(rows).unbind(1)

    @torch.no_grad()
    def cosines(self, transform: Callable[[Tensor], Tensor]) -> Cosines:
        sides = (self.heads(transform(self.x[side])) for side in (self.left, self.right))
        return np.asarray(cosine_similarity(*sides).double().numpy())

    def __call__(self, transform: Callable[[Tensor], Tensor]) -> float:
        return self.measure(self.cosines(transform), self.gold)


class _PoolingChange(nn.Module):
    """D x̃ + c of the file's head, in units of p's size; it begins at 0."""

    def __init__(self, x: Float[Tensor, "S F"], narrow: int) -> None:
        super().__init__()
        self.narrow = narrow
        self.center = x.mean(0)
        layers = ((x - self.center) ** 2).view(len(x), -1, narrow).mean((0, 2)).sqrt()
        self.size = layers.clamp(min=1e-12).repeat_interleave(narrow)
        self.unit = (x[:, -narrow:] ** 2).mean().sqrt()
        self.map = nn.Linear(x.shape[1], narrow, device="meta").to_empty(device="cpu")
        nn.init.zeros_(self.map.weight)
        nn.init.zeros_(self.map.bias)

    def forward(self, x: Float[Tensor, "N F"]) -> Float[Tensor, "N E"]:
        out: Tensor = self.map((x - self.center) / self.size)
        return out

    def kept(self, share: float) -> Callable[[Tensor], Tensor]:
        """The fused vectors with this share of the change."""
        return lambda x: x[:, -self.narrow :] + share * self.unit * self(x)

    @torch.no_grad()
    def folded(self, share: float) -> nn.Linear:
        """The same as one linear map of x."""
        weight = share * self.unit * self.map.weight / self.size
        bias = share * self.unit * self.map.bias - weight @ self.center
        weight[:, -self.narrow :] += torch.eye(self.narrow)
        made = nn.Linear(weight.shape[1], self.narrow, device="meta").to_empty(device="cpu")
        made.load_state_dict({"weight": weight, "bias": bias})
        return made


def _train_epochs(
    change: _PoolingChange, x: Tensor, heads: nn.Module, training: Examples, strength: float, recipe: FusionSettings
) -> Iterator[int]:
    """Trains; gives the number of passes after each."""
    optimizer = torch.optim.AdamW(change.parameters(), lr=recipe.rate, weight_decay=recipe.decay)
    order = np.random.default_rng(recipe.seed)
    batches = max(1, len(training) // recipe.batch)
    rate = torch.optim.lr_scheduler.LambdaLR(optimizer, _warmup_then_linear_decay(recipe.epochs * batches))
    for epoch in range(1, recipe.epochs + 1):
        for which in np.array_split(order.permutation(len(training)), batches):
            batch = training.take(which)
            rows = x[torch.from_numpy(batch.rows.T.reshape(-1))]
            moved = change(rows)
            vectors = heads(rows[:, -change.narrow :] + change.unit * moved)
            loss = _loss(vectors.chunk(batch.rows.shape[1]), batch, recipe.scale) + strength * moved.square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rate.step()
        yield epoch


def _loss(columns: Sequence[Tensor], batch: Examples, scale: float) -> Tensor:
    if batch.scores is None:
        anchors, positives, negatives = columns
        return contrastive(anchors, [positives, negatives], torch.from_numpy(batch.rows), scale)
    left, right = columns
    return cosent(left, right, torch.from_numpy(batch.scores).float(), scale)


def _warmup_then_linear_decay(steps: int) -> Callable[[int], float]:
    """Up in a tenth of the steps, then straight down to nothing."""
    return lambda step: min((step + 1) / (0.1 * steps + 1), 1) * (1 - step / steps)
