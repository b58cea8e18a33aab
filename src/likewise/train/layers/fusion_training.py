"""Training of learned fusion: a linear map over cached layer vectors, regularized towards plain pooling.

The encoder is frozen, so each text is encoded once and training updates one small matrix. Let x be the concatenated
pooled vectors of all layers, and p the pooled vector of the last layer (plain pooling). The fused vector is

    y = p + a · (D x̃ + c),    x̃: x minus its mean, each layer scaled to unit size

and the loss is the objective's loss plus  regularization · |D x̃ + c|² / |p|²  (means over the batch), which penalizes
the distance from plain pooling relative to the vectors' size. The regularization strength, the number of epochs and the
interpolation 0 ≤ a ≤ 1 are chosen on held-out pairs, whose sentences do not occur in training; a = 0 is plain pooling.

A fusion that ends at a middle layer has no useful p, since middle layers are not trained as outputs. In that case, p is
an *imitation* of the whole model's vector: its ridge regression on x, which needs no labels and only one linear solve.
x̃ then also contains p. Everything is linear in x, so a single map expresses it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from ...array_types import Float
from ...arrays.correlation import spearman
from ...engines.torch.torch_embedder import TorchEmbedder
from ...errors import BadInput
from ...evaluate.statistics.significance import difference
from ...heads import Dense
from ...pooling import Fusion, Pooling, Reduce, Stack
from ..data.examples import Examples, split_without_overlap
from ..objectives.labelled_pairs import cosent

Cosines = Float[np.ndarray, " N"]
LayerVectors = Float[np.ndarray, "S F"]


@dataclass(frozen=True)
class FusionSettings:
    """Training settings; docs/logbook.md reports the results of other choices."""

    regularization: tuple[float, ...] = (1.0, 4.0)  # every value is tried
    interpolation: tuple[float, ...] = (0.5, 1.0)  # every value is tried after each epoch
    scale: float = 5.0  # multiplies the cosines
    learning_rate: float = 1e-3
    weight_decay: float = 1.0
    batch_size: int = 512
    epochs: int = 8
    patience: int = 3  # stop after this many epochs without improvement
    held_out: float = 0.15
    only_significant: bool = True  # keep plain pooling unless the gain on held-out pairs is significant
    seed: int = 0


@dataclass(frozen=True, eq=False)
class FusionInputs:
    """The input of a fusion, and the modules around it."""

    vectors: LayerVectors  # one row per text; columns as in `layer_vectors`, for the stack's layers
    stack: Stack
    encoder_width: int
    anchor: nn.Linear | None = None  # maps x to p if p is an `imitation`, not plain pooling
    heads: nn.Module | None = None  # the model's own heads, applied unchanged to the fused vectors

    @torch.no_grad()
    def tensor(self) -> Tensor:
        """x, followed by p if there is an anchor."""
        x = torch.from_numpy(np.ascontiguousarray(self.vectors))
        return x if self.anchor is None else torch.cat([x, self.anchor(x)], dim=1)


FUSION_DEFAULTS = FusionSettings()
RIDGE = 1e-3  # the ridge penalty of an imitation, relative to the mean variance


@dataclass(frozen=True)
class FusionResult:
    """A trained fusion, and the cosines of held-out pairs under the fusion and under plain pooling."""

    fusion: Fusion
    regularization: float  # 0 means that plain pooling is kept
    fused: Cosines
    baseline: Cosines
    gold: Float[np.ndarray, " N"]


def layer_vectors(embedder: TorchEmbedder, texts: Sequence[str]) -> LayerVectors:
    """The concatenated pooled vectors of all layers for each text: all that training needs from the encoder."""
    stack = Stack(last_layer_pooling(embedder), 0, embedder.encoder.depth)
    return TorchEmbedder(embedder.tokenizer, embedder.encoder, stack, nn.Sequential(), embedder.manifest).encode(texts)


def last_layer_pooling(embedder: TorchEmbedder) -> Reduce:
    """The model's pooling of its last layer, which a fusion applies to each layer."""
    pooling = embedder.pooling.stack.reduce if isinstance(embedder.pooling, Fusion) else embedder.pooling
    if not isinstance(pooling, Reduce):
        raise BadInput(f"a model with the pooling {pooling.spec} cannot be fused; expected cls, mean, max …")
    return pooling


def train_fusion(inputs: FusionInputs, examples: Examples, settings: FusionSettings = FUSION_DEFAULTS) -> FusionResult:
    """Train the fusion of the stack's layers whose cosines best correlate with held-out gold scores (Spearman).

    Triplets are converted to scored pairs (`Examples.pairs`); the loss is CoSENT.
    """
    x, narrow = inputs.tensor(), inputs.stack.reduce.width(inputs.encoder_width)
    training, held_out = split_without_overlap(examples, settings.held_out, settings.seed)
    training = Examples(*training.pairs)
    scorer = _HeldOutScorer(x, inputs.heads or nn.Identity(), held_out)
    baseline = scorer.cosines(lambda rows: rows[:, -narrow:])
    best = plain = _Candidate(spearman(baseline, scorer.gold), 0.0, None)
    for strength in settings.regularization:
        change = _PoolingChange(x[np.unique(training.rows)], narrow)
        best = _train_candidates(scorer, change, training, strength, settings, best)
    fused = baseline if best.map is None else scorer.cosines(best.map)
    if best.map is not None and settings.only_significant and not difference(fused, baseline, scorer.gold).low > 0:
        best, fused = plain, baseline
    fusion = Fusion(inputs.stack, inputs.encoder_width)
    _write_map(fusion.map, best.map, inputs.anchor)
    return FusionResult(fusion.eval(), best.regularization, fused, baseline, scorer.gold)


def imitation(x: LayerVectors, whole: Float[np.ndarray, "S E"]) -> nn.Linear:
    """The map from the lower layers' vectors to the whole model's vectors, by ridge regression in fp64."""
    mean, target_mean = x.mean(0, dtype=np.float64), whole.mean(0, dtype=np.float64)
    centred = x - mean  # so `whole` need not be centred: the product below stays the same
    gram = centred.T @ centred
    gram[np.diag_indices(len(gram))] += RIDGE * np.trace(gram) / len(gram)
    weight = torch.from_numpy(np.linalg.solve(gram, centred.T @ whole).T)
    linear = nn.Linear(x.shape[1], whole.shape[1], device="meta").to_empty(device="cpu")
    bias = (torch.from_numpy(target_mean) - weight @ torch.from_numpy(mean)).float()
    linear.load_state_dict({"weight": weight.float(), "bias": bias})
    return linear.requires_grad_(False)


@torch.no_grad()
def _write_map(target: nn.Linear, trained: nn.Linear | None, anchor: nn.Linear | None) -> None:
    """Store the trained map (as a map of x alone) or, without one, the anchor; without either, keep plain pooling."""
    if anchor is not None and trained is not None:
        own, of_anchor = torch.split(trained.weight, [anchor.in_features, anchor.out_features], dim=1)
        target.weight.copy_(own + of_anchor @ anchor.weight)
        target.bias.copy_(trained.bias + of_anchor @ anchor.bias)
    elif trained is not None or anchor is not None:
        target.load_state_dict((trained or anchor).state_dict())  # type: ignore[union-attr]


def fused_embedder(embedder: TorchEmbedder, fusion: Fusion) -> TorchEmbedder:
    """The embedder with this fusion as its pooling, in the simplest equivalent form.

    A fusion that changes nothing becomes plain pooling, and one that reads only the last layer becomes plain pooling
    plus a dense head, so that every version of sentence-transformers can load both.
    """
    stack, narrow = fusion.stack, fusion.map.out_features
    pooling: Pooling = fusion
    heads = list(embedder.heads.children())
    if stack.last == embedder.encoder.depth and not fusion.map.weight[:, :-narrow].any():
        pooling = stack.reduce
        last_layer, bias = fusion.map.weight[:, -narrow:].detach(), fusion.map.bias.detach()
        if not torch.equal(last_layer, torch.eye(narrow)) or bias.any():
            dense = Dense(narrow, narrow, activation="Identity")
            dense.linear.load_state_dict({"weight": last_layer, "bias": bias})
            heads = [dense, *heads]
    fused = TorchEmbedder(embedder.tokenizer, embedder.encoder, pooling, nn.Sequential(*heads), embedder.manifest)
    return fused.to(embedder.device).eval()


@dataclass(frozen=True)
class _Candidate:
    """A map and its held-out quality; no map means plain pooling."""

    quality: float
    regularization: float
    map: nn.Linear | None


class _HeldOutScorer:
    def __init__(self, x: Tensor, heads: nn.Module, held_out: Examples) -> None:
        rows, self.gold = held_out.pairs
        self.x, self.heads = x, heads
        self.left, self.right = torch.from_numpy(rows).unbind(1)

    @torch.no_grad()
    def cosines(self, transform: Callable[[Tensor], Tensor]) -> Cosines:
        sides = (self.heads(transform(self.x[side])) for side in (self.left, self.right))
        return np.asarray(cosine_similarity(*sides).double().numpy())

    def __call__(self, transform: Callable[[Tensor], Tensor]) -> float:
        return spearman(self.cosines(transform), self.gold)


class _PoolingChange(nn.Module):
    """D x̃ + c (see the module docstring) in units of p's size; initially 0."""

    def __init__(self, x: Float[Tensor, "S F"], narrow: int) -> None:
        super().__init__()
        self.narrow = narrow
        self.center = x.mean(0)
        layer_sizes = ((x - self.center) ** 2).view(len(x), -1, narrow).mean((0, 2)).sqrt()
        self.size = layer_sizes.clamp(min=1e-12).repeat_interleave(narrow)
        self.unit = (x[:, -narrow:] ** 2).mean().sqrt()
        self.map = nn.Linear(x.shape[1], narrow, device="meta").to_empty(device="cpu")
        nn.init.zeros_(self.map.weight)
        nn.init.zeros_(self.map.bias)

    def forward(self, x: Float[Tensor, "N F"]) -> Float[Tensor, "N E"]:
        out: Tensor = self.map((x - self.center) / self.size)
        return out

    def interpolated(self, a: float) -> Callable[[Tensor], Tensor]:
        """The fused vectors: p plus a times the change."""
        return lambda x: x[:, -self.narrow :] + a * self.unit * self(x)

    @torch.no_grad()
    def folded(self, a: float) -> nn.Linear:
        """The fused vectors, expressed as a single linear map of x."""
        weight = a * self.unit * self.map.weight / self.size
        bias = a * self.unit * self.map.bias - weight @ self.center
        weight[:, -self.narrow :] += torch.eye(self.narrow)
        linear = nn.Linear(weight.shape[1], self.narrow, device="meta").to_empty(device="cpu")
        linear.load_state_dict({"weight": weight, "bias": bias})
        return linear


def _train_candidates(
    scorer: _HeldOutScorer,
    change: "_PoolingChange",
    training: Examples,
    strength: float,
    settings: FusionSettings,
    best: _Candidate,
) -> _Candidate:
    """Train with one regularization strength; return the best candidate: the given one, or one from any epoch."""
    waited = 0
    for _ in _train_epochs(scorer, change, training, strength, settings):
        quality, a = max((scorer(change.interpolated(a)), a) for a in settings.interpolation)
        waited = 0 if quality > best.quality else waited + 1
        if quality > best.quality:
            best = _Candidate(quality, strength, change.folded(a))
        if waited >= max(1, settings.patience):
            break
    return best


def _train_epochs(
    scorer: _HeldOutScorer, change: _PoolingChange, training: Examples, strength: float, settings: FusionSettings
) -> Iterator[None]:
    optimizer = torch.optim.AdamW(change.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    generator = np.random.default_rng(settings.seed)
    batches = max(1, len(training) // settings.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _warmup_then_linear_decay(settings.epochs * batches))
    for _ in range(settings.epochs):
        for which in np.array_split(generator.permutation(len(training)), batches):
            pairs, scores = training.take(which).pairs
            rows = scorer.x[torch.from_numpy(pairs.T.reshape(-1))]
            moved = change(rows)
            vectors = scorer.heads(rows[:, -change.narrow :] + change.unit * moved)
            left, right = vectors.chunk(2)
            loss = cosent(left, right, torch.from_numpy(scores).float(), settings.scale)
            loss = loss + strength * moved.square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        yield


def _warmup_then_linear_decay(steps: int) -> Callable[[int], float]:
    """Learning-rate factors, rising over the first tenth of the steps, then decaying linearly to 0."""
    return lambda step: min((step + 1) / (0.1 * steps + 1), 1) * (1 - step / steps)
