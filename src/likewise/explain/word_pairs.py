"""Why two texts are similar: their cosine as a sum over pairs of their words.

For one text's vector u = Σᵢ aᵢ and another's v = Σⱼ bⱼ, the cosine is exactly Σᵢⱼ aᵢ · bⱼ / |u||v|. A word's part
includes what its context added, so contributions show where the similarity lies, not what a word would contribute in
another text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..array_types import Float, Int
from ..arrays.dissection import DissectionSettings, dissection_weights
from ..arrays.layer_means import LayerMeanSettings
from ..embedder import Embedder, HeadWeights
from ..errors import BadInput, BadModel
from ..module_registry import FusionShape
from ..text.truncation import Overflow

Array = np.ndarray
BIAS = "bias"


@dataclass(frozen=True, eq=False)
class TokenParts:
    """The parts that add up to a text's vector."""

    parts: Float[Array, "S t E"]
    sources: tuple[str, ...]
    """The source of each row of parts: a layer number, or `"bias"`."""
    shares: Float[Array, " t"]
    """How a bias is divided among the tokens: by their pooling weights, which add up to 1."""

    @property
    def vector(self) -> Float[Array, " E"]:
        """The vector of the text."""
        return np.asarray(self.parts.sum((0, 1)))


def token_parts(embedder: Embedder, layers: Float[Array, "L t D"], skip: int) -> TokenParts:
    """How much each token contributes to a text's vector, given the token vectors at every layer.

    The pooling ignores the first `skip` tokens, which belong to a prompt.
    """
    found = _pooled_parts(embedder, layers.astype(np.float64), min(skip, layers.shape[1] - 1))
    for head in embedder.head_weights():
        if head.kind not in FOLDED:
            raise BadInput(f"the model ends in a {head.kind} head, {REASON}; supported heads: {', '.join(FOLDED)}")
        found = FOLDED[head.kind](found, head)
    return found


REASON = "which is not linear, so its vectors cannot be divided exactly among words"


def _pooled_parts(embedder: Embedder, layers: Float[Array, "L t D"], skip: int) -> TokenParts:
    pooling, count = embedder.pooling, layers.shape[1]
    shape = getattr(pooling, "shape", None)
    if pooling.spec in TOKEN_WEIGHTS:
        weights = _after(TOKEN_WEIGHTS[pooling.spec], count, skip)
        return _parts(layers[-1:] * weights[:, None], [len(layers) - 1], weights)
    if isinstance(pooling, DissectionSettings):
        read = layers[pooling.start :, skip:]
        weights = np.zeros((len(read), count))
        weights[:, skip:] = dissection_weights(pooling, read.astype(np.float32), np.array([count - skip]))
        if not np.isfinite(weights).all():
            raise BadInput("SBERT-WK gives words in this text infinite weights; load the model with robust=true")
        return _parts(layers[pooling.start :] * weights[..., None], range(pooling.start, len(layers)), weights.sum(0))
    if isinstance(pooling, LayerMeanSettings) and "+".join(pooling.reduce) in TOKEN_WEIGHTS:
        weights = _after(TOKEN_WEIGHTS[pooling.reduce[0]], count, skip)
        read = layers[list(pooling.layers)] / len(pooling.layers)
        return _parts(read * weights[:, None], pooling.layers, weights)
    if isinstance(shape, FusionShape) and len(shape.reduce) == 1 and shape.reduce[0] in TOKEN_WEIGHTS:
        weights = _after(TOKEN_WEIGHTS[shape.reduce[0]], count, skip)
        return _fused_parts(shape, embedder.pooling_weights(), layers, weights)
    raise BadInput(
        f"the pooling is {pooling.spec}, which is not a weighted sum of all words; pooling methods that can be "
        f"explained: sbert-wk and, on one or several layers or in a fusion, {', '.join(TOKEN_WEIGHTS)}. If mean "
        "pooling suits the model, use --pooling mean"
    )


def _parts(parts: Float[Array, "S t E"], sources: Sequence[int], weights: Float[Array, " t"]) -> TokenParts:
    total = weights.sum()
    shares = weights / total if total else np.full(len(weights), 1 / len(weights))
    return TokenParts(parts, tuple(map(str, sources)), shares)


def _fused_parts(
    shape: FusionShape, stored: Mapping[str, Array], layers: Float[Array, "L t D"], weights: Float[Array, " t"]
) -> TokenParts:
    """The parts of a fused vector: each layer is multiplied by its own columns of the map."""
    arrays = {name: array.astype(np.float64) for name, array in stored.items()}
    numbers = range(shape.first, shape.last + 1)
    maps = np.split(arrays["map.weight"], len(numbers), axis=1)
    mapped = [layers[number] @ part.T for number, part in zip(numbers, maps, strict=True)]
    found = _parts(np.stack(mapped) * weights[:, None], numbers, weights)
    return _with_bias(found, arrays["map.bias"])


def _with_bias(found: TokenParts, bias: Float[Array, " E"]) -> TokenParts:
    """Add a constant to the vector as a separate source, divided among all tokens."""
    shared = (found.shares[:, None] * bias)[None]
    if BIAS not in found.sources:
        return replace(found, parts=np.concatenate([found.parts, shared]), sources=(*found.sources, BIAS))
    return replace(found, parts=np.concatenate([found.parts[:-1], found.parts[-1:] + shared]))  # the bias is last


def _after(weights_of: Callable[[int, Int[Array, " t"]], Float[Array, " t"]], count: int, skip: int) -> Array:
    """The weights of tokens, 0 for tokens that are left out; the remaining tokens keep their positions."""
    weights = np.zeros(count)
    weights[skip:] = weights_of(count - skip, np.arange(skip, count))
    return weights


TOKEN_WEIGHTS: dict[str, Callable[[int, Int[Array, " t"]], Float[Array, " t"]]] = {
    "mean": lambda count, position: np.full(len(position), 1 / count),
    "mean-sqrt-len": lambda count, position: np.full(len(position), count**-0.5),
    "weighted-mean": lambda count, position: (position + 1) / (position + 1).sum(),  # noqa: ARG005
}
"""The token weights of reductions that are weighted sums, computed from the number and positions of tokens."""


def _dense(found: TokenParts, head: HeadWeights) -> TokenParts:
    if head.activation != "Identity":
        raise BadInput(f"the model ends in a Dense head with the activation {head.activation}, {REASON}")
    mapped = replace(found, parts=found.parts @ head.arrays["linear.weight"].T.astype(np.float64))
    return _with_bias(mapped, head.arrays["linear.bias"]) if "linear.bias" in head.arrays else mapped


def _normalized(found: TokenParts, head: HeadWeights) -> TokenParts:  # noqa: ARG001, one signature for all
    return replace(found, parts=found.parts / max(float(np.linalg.norm(found.vector)), 1e-12))


FOLDED: dict[str, Callable[[TokenParts, HeadWeights], TokenParts]] = {"Dense": _dense, "Normalize": _normalized}
"""How the linear heads act on parts, keyed by their names in `module_registry.HEADS`."""


class Word(NamedTuple):
    """A word of a text; `special` if it is a token added by the model, such as [CLS]."""

    text: str
    special: bool


class WordPair(NamedTuple):
    """A word of the first text, one of the second, and their contribution to the cosine."""

    first: str
    second: str
    contribution: float


@dataclass(frozen=True, eq=False)
class PairExplanation:
    """The cosine of two texts, divided among pairs of their words."""

    texts: tuple[str, str]
    words: tuple[tuple[Word, ...], tuple[Word, ...]]
    contributions: Float[np.ndarray, "n m"]
    """The contribution of each word of the first text with each word of the second; they add up to the cosine."""
    layers: tuple[str, ...]
    """The layer numbers if the pooling reads several layers, and `"bias"` if a constant is added."""
    by_layer: Float[np.ndarray, "S S"]
    """The contribution of each layer of the first text with each layer of the second; they add up to the cosine too."""
    layer_contributions: Float[np.ndarray, "S n m"]
    """The contributions divided among layers: half of a layer's part comes from the first text's words at this layer
    with all of the second text, and half from the second text's words with all of the first. Over all layers, they add
    up to `contributions`."""

    @property
    def cosine(self) -> float:
        """The cosine of the two texts."""
        return float(self.contributions.sum())

    @property
    def word_totals(self) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " m"]]:
        """The contribution of each word of the first text, summed over the second text, and vice versa."""
        return self.contributions.sum(1), self.contributions.sum(0)

    def top_pairs(self, k: int = 10, *, special: bool = False) -> list[WordPair]:
        """The k word pairs with the largest contributions, positive or negative; special tokens only if requested."""
        sizes = np.abs(self.contributions)
        if not special:
            first, second = (np.array([word.special for word in words], bool) for words in self.words)
            sizes = np.where(first[:, None] | second[None], -1, sizes)
        order = [place for place in np.argsort(-sizes, axis=None, kind="stable")[:k] if sizes.flat[place] >= 0]
        places = [divmod(int(place), sizes.shape[1]) for place in order]
        one, other = self.words
        return [WordPair(one[i].text, other[j].text, float(self.contributions[i, j])) for i, j in places]

    def as_json(self) -> dict[str, Any]:
        """The explanation as plain lists and numbers."""
        sides = []
        for text, words, totals in zip(self.texts, self.words, self.word_totals, strict=True):
            texts, special = [word.text for word in words], [word.special for word in words]
            sides.append({"text": text, "words": texts, "special": special, "totals": totals.tolist()})
        by_layer = {"by_layer": self.by_layer.tolist(), "layer_contributions": self.layer_contributions.tolist()}
        found = {"cosine": self.cosine, "texts": sides, "contributions": self.contributions.tolist()}
        return found | ({"layers": list(self.layers), **by_layer} if self.layers else {})


def explain_pair(embedder: Embedder, first: str, second: str, *, overflow: Overflow = "warn") -> PairExplanation:
    """Divide the cosine of two texts among pairs of their words.

    Raises:
        BadInput: the model's vectors are not a sum over words (a non-linear pooling or head), or one vector is zero.
        BadModel: the parts do not add up to the model's own cosine, so the explanation would be wrong.
    """
    own = float(embedder.pair_scores([first], [second], overflow=overflow, show_progress_bar=False)[0])
    left, right = (_text_parts(embedder, text, overflow) for text in (first, second))
    lengths = [float(np.linalg.norm(parts.vector)) for parts, _, _ in (left, right)]
    if not min(lengths):
        raise BadInput("the vector of one of the texts is zero, so there is no cosine to explain")
    scale = 1 / (lengths[0] * lengths[1])
    by_both = [_summed(parts.parts, word_of) for parts, _, word_of in (left, right)]
    by_word = [parts.sum(0) for parts in by_both]
    by_source = [parts.parts.sum(1) for parts, _, _ in (left, right)]
    several = len({*left[0].sources} - {BIAS}) > 1
    found = PairExplanation(
        (first, second),
        (tuple(left[1]), tuple(right[1])),
        by_word[0] @ by_word[1].T * scale,
        left[0].sources if several else (),
        by_source[0] @ by_source[1].T * scale,
        0.5 * scale * (by_both[0] @ by_word[1].T + by_word[0] @ by_both[1].transpose(0, 2, 1)),
    )
    tolerance = 1e-4 if embedder.precision == "fp32" else 2e-2  # other precisions round differently from batch to batch
    if abs(found.cosine - own) > tolerance:
        raise BadModel(
            f"the contributions add up to {found.cosine:.6f}, but the model's own cosine is {own:.6f} (in "
            f"{embedder.precision}): this model does more than its configuration says, so it cannot be explained"
        )
    return found


def _text_parts(embedder: Embedder, text: str, overflow: Overflow) -> tuple[TokenParts, list[Word], list[int]]:
    silent: Overflow = "truncate" if overflow == "warn" else overflow  # `pair_scores` has already warned
    (layers,) = embedder.encode_layers([text], overflow=silent)
    words, word_of = _words(embedder, text, layers.shape[1])
    _, window = embedder.windows([text], embedder.default_prompt)
    return token_parts(embedder, layers, int(window.hidden[0])), words, word_of


def _words(embedder: Embedder, text: str, count: int) -> tuple[list[Word], list[int]]:
    """The words that the model reads (a special token is a word of its own), and the word of each of its tokens."""
    tokenizer = embedder.tokenizer
    (pieces,) = embedder.pieces([text])
    if len(pieces) != count:
        raise BadInput(f"the model reads {count} units in a text of {len(pieces)} tokens, so its words cannot be named")
    if tokenizer.unknown is not None:  # a model of whole words, without special tokens
        return [Word(piece, False) for piece in pieces], list(range(count))
    before, after = len(tokenizer.prefix), len(tokenizer.suffix)
    special = [Word(piece, True) for piece in pieces]
    names, numbers = tokenizer.words(embedder.default_prompt + text)
    read = numbers[: count - before - after]
    kept = [Word(name, False) for name in names[: max(read, default=-1) + 1]]
    word_of = [*range(before), *(before + n for n in read), *(before + len(kept) + i for i in range(after))]
    return [*special[:before], *kept, *special[count - after :]], word_of


def _summed(parts: Float[np.ndarray, "S t E"], word_of: Sequence[int]) -> Float[np.ndarray, "S n E"]:
    sums = np.zeros((len(parts), max(word_of) + 1, parts.shape[2]))
    for token, word in enumerate(word_of):
        sums[:, word] += parts[:, token]
    return sums
