"""How words move through the layers of a model, measured on plain text without labels; and what to make of it.

The measures are those of SBERT-WK (Wang and Kuo 2020: similarity of layers, novelty, alignment, importance) and of
Ethayarajh (2019: anisotropy, and how alike the words of one sentence are beyond it).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..arrays.correlation import spearman
from ..arrays.ragged import Ragged
from ..embedder import Embedder
from ..errors import BadInput
from ..pooling import Dissection
from ..pooling.dissection import cosines_between, rounding_noise, shares_in_sentence
from ..text.inputs import text_chunks
from ..text.packing import plan_batches

MAX_TOKENS = 2048  # tokens of one pass; their vectors at all layers are held at once
MIN_TEXTS = 20  # below, idf says nothing
MIN_OCCURRENCES = 3  # times that a word must occur to be listed
INVERTED_BELOW = -0.2  # rank correlations of importance and idf: below, function words rule;
SOUND_ABOVE = 0.2  # above, content words do
MAX_WORD_SHARE = 0.2  # of all importance in one word piece: too much
SIMILAR_LAYERS = 0.95  # cosine of neighbouring layers between which little happens
HIGH_ANISOTROPY = 0.5  # anisotropy above which a space is a narrow cone


@dataclass(frozen=True)
class WordImportance:
    """A word piece, the mean of its share in a sentence's importance (1 is an equal share), and its idf."""

    piece: str
    importance: float
    idf: float
    seen: int


@dataclass(frozen=True, eq=False)
class Anatomy:
    """What was found about a model's layers; layer 0 is the embeddings. `advice` puts it into words.

    Attributes:
        similarity: cosine of a word at one layer with itself at another, mean over words.
        novelty: of each layer, what its neighbours do not span, with all layers read; mean over words.
        alignment: mean cosine of each layer with its neighbours (β_a of the paper); mean over words.
        anisotropy: mean cosine of words of different sentences, at each layer.
        context: mean cosine of words of one sentence, less the anisotropy: how much a word knows of its sentence.
        start, window: of the SBERT-WK that importance and correlation belong to.
        correlation: rank correlation of importance and idf, over the words of the texts.
        by_start: the same for SBERT-WK from any layer on.
        words: every piece seen often enough, the most important one first.
    """

    pooling: str
    texts: int
    tokens: int
    similarity: Float[np.ndarray, "L L"]
    novelty: Float[np.ndarray, " L"]
    alignment: Float[np.ndarray, " L"]
    anisotropy: Float[np.ndarray, " L"]
    context: Float[np.ndarray, " L"]
    start: int
    window: int
    correlation: float
    by_start: dict[int, float]
    words: tuple[WordImportance, ...]

    @property
    def advice(self) -> tuple[str, ...]:
        """Plain sentences: is SBERT-WK safe here, what the layers carry, which pooling to take."""
        return (self._on_importance(), *self._on_one_word(), *self._on_layers(), self._on_pooling())

    def as_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, for JSON."""
        told = {key: v.tolist() if isinstance(v, np.ndarray) else v for key, v in asdict(self).items()}
        return {**told, "advice": list(self.advice)}

    @property
    def verdict(self) -> str:
        """`"inverted"`, `"sound"` or `"unclear"`: what importance stands for in this model."""
        if self.correlation < INVERTED_BELOW:
            return "inverted"
        return "sound" if self.correlation > SOUND_ABOVE else "unclear"

    def _on_importance(self) -> str:
        found = f"the rank correlation of importance and idf is {self.correlation:+.2f} (from layer {self.start} on)"
        return {
            "inverted": f"SBERT-WK's word importance is inverted here: {found}, so common words weigh most. "
            "Do not use it.",
            "sound": f"SBERT-WK's word importance follows content here: {found}. It is worth a measurement.",
            "unclear": f"SBERT-WK's word importance says little here: {found}. Use it only where a measurement on "
            "your own pairs shows a gain.",
        }[self.verdict]

    def _on_one_word(self) -> list[str]:
        """A warning where one word piece, a full stop say, takes much of all importance there is."""
        top = max(self.words, key=lambda word: word.importance * word.seen, default=None)
        share = 0.0 if top is None else top.importance * top.seen / self.tokens
        if top is None or share < MAX_WORD_SHARE:
            return []
        return [
            f"One word piece, {top.piece!r}, takes {share:.0%} of all importance, {top.importance:.1f} times an equal "
            "share: sentences become alike because they share it."
        ]

    def _on_layers(self) -> list[str]:
        steps = np.diagonal(self.similarity, offset=1)
        largest = int(steps.argmin())
        told = [
            f"Words change most between layers {largest} and {largest + 1} (cosine {steps[largest]:.2f}), and layer "
            f"{int(self.novelty.argmax())} is the one that its neighbours explain least.",
            f"Words know most of their sentence at layer {int(self.context.argmax())} "
            f"(cosine {self.context.max():.2f} above that of unrelated words); what a word means alone is in layer 0.",
        ]
        still = [f"{k}–{k + 1}" for k in np.flatnonzero(steps > SIMILAR_LAYERS)]
        if still:
            told.append(
                f"Little happens in the steps {', '.join(still)} (cosine above {SIMILAR_LAYERS}): they may be spared."
            )
        crowded = [str(k) for k in np.flatnonzero(self.anisotropy > HIGH_ANISOTROPY)]
        if crowded:
            told.append(
                f"Any two words are alike (mean cosine above {HIGH_ANISOTROPY}) in layer {' and '.join(crowded)}: plain "
                "averages of such vectors compare badly before whitening or training."
            )
        return told

    def _on_pooling(self) -> str:
        own = "the model's own pooling" if self.pooling.startswith("sbert-wk") else f"the pooling {self.pooling}"
        if self.verdict == "sound" and not self._on_one_word():
            return f"Start from {own}, and measure sbert-wk:start={self.start} beside it on labelled pairs."
        return f"Take {own}."


def anatomy(embedder: Embedder, texts: Sequence[str], *, window: int = 2) -> Anatomy:
    """Measures a model on plain sentences, of which a few hundred are good. Special tokens are left out.

    Importance is that of the embedder's own pooling if this is SBERT-WK, and else of SBERT-WK with `window`.

    Raises:
        BadInput: fewer than 20 texts hold words; no idf can be had from them.
        BadModel: the encoder has too few layers for the window.
    """
    depth, own = embedder.encoder.depth, embedder.pooling
    pooling = own if isinstance(own, Dissection) else Dissection.parse(f"sbert-wk:window={window}", depth)
    tokenizer = embedder.tokenizer
    ids_of_texts = (ids for window_of_texts in text_chunks(texts) for ids in tokenizer.contents(window_of_texts))
    contents = [content[: tokenizer.room] for content in ids_of_texts if content]
    if len(contents) < MIN_TEXTS:
        raise BadInput(f"{len(contents)} texts hold words; wanted {MIN_TEXTS} or more, and a few hundred are good")
    found = [_measure(embedder, [contents[i] for i in batch], pooling.window) for batch in _batches(contents)]
    ids = np.concatenate([part.ids for part in found])
    shares = np.concatenate([part.shares for part in found], axis=1)
    idf = _idf(contents)
    rarity = np.array([idf[i] for i in ids.tolist()])
    by_start = {start: rank_correlation(row, rarity) for start, row in enumerate(shares)}
    anisotropy, inside = _anisotropy_and_context(found)
    return Anatomy(
        pooling=own.spec,
        texts=len(contents),
        tokens=len(ids),
        similarity=np.sum([part.similarity for part in found], axis=0) / len(ids),
        novelty=np.sum([part.novelty for part in found], axis=0) / len(ids),
        alignment=np.sum([part.alignment for part in found], axis=0) / len(ids),
        anisotropy=anisotropy,
        context=inside - anisotropy,
        start=pooling.start,
        window=pooling.window,
        correlation=by_start[pooling.start],
        by_start=by_start,
        words=_words(embedder, ids, shares[pooling.start], idf),
    )


def rank_correlation(a: Float[np.ndarray, " n"], b: Float[np.ndarray, " n"]) -> float:
    """Spearman's ρ; 0 where one side has a single value."""
    found = spearman(a, b)
    return 0.0 if np.isnan(found) else found


def _idf(contents: Sequence[Sequence[int]]) -> dict[int, float]:
    """log(texts / texts with this piece)."""
    having = Counter(i for content in contents for i in set(content))
    return {i: float(np.log(len(contents) / count)) for i, count in having.items()}


def _words(
    embedder: Embedder, ids: Int[np.ndarray, " n"], shares: Float[np.ndarray, " n"], idf: dict[int, float]
) -> tuple[WordImportance, ...]:
    distinct, place, seen = np.unique(ids, return_inverse=True, return_counts=True)
    mean = np.bincount(place, weights=shares) / seen
    name = embedder.tokenizer.backend.id_to_token
    order = [k for k in np.argsort(-mean).tolist() if seen[k] >= MIN_OCCURRENCES]
    at = [(k, int(distinct[k])) for k in order]
    return tuple(WordImportance(name(i) or "", float(mean[k]), idf[i], int(seen[k])) for k, i in at)


def _batches(contents: Sequence[Sequence[int]]) -> list[list[int]]:
    return plan_batches([len(content) for content in contents], MAX_TOKENS)


@dataclass(frozen=True, eq=False)
class _BatchSums:
    """One batch, summed over its words; special tokens are no words."""

    ids: Int[np.ndarray, " n"]
    shares: Float[np.ndarray, "starts n"]
    similarity: Float[np.ndarray, "L L"]
    novelty: Float[np.ndarray, " L"]
    alignment: Float[np.ndarray, " L"]
    directions: Float[np.ndarray, "L D"]
    squares: Float[np.ndarray, " L"]
    lengths: Int[np.ndarray, " N"]


@torch.inference_mode()
def _measure(embedder: Embedder, contents: Sequence[Sequence[int]], window: int) -> _BatchSums:
    tokenizer = embedder.tokenizer
    tokens = Ragged.of([tokenizer.framed(content) for content in contents], embedder.device)
    layers = list(embedder.encoder(tokens))
    cosines = cosines_between(layers)
    word = (tokens.position >= len(tokenizer.prefix)) & (
        tokens.position < tokens.counts[tokens.sentence] - len(tokenizer.suffix)
    )
    steps = torch.diagonal(cosines, offset=1)
    shares = [_relative(steps[:, start:], tokens)[word] for start in range(len(layers) - window)]
    there = Dissection(0, window, "symmetric", "paper").dissect(cosines, rounding_noise(layers[0].dtype))
    by_sentence = [_directions(x, tokens.sentence, word, len(tokens)) for x in layers]
    return _BatchSums(
        ids=_array(tokens.values[word]),
        shares=np.stack([_array(share) for share in shares]),
        similarity=_array(cosines[..., word].sum(-1)),
        novelty=_array(there.novelty[:, word].sum(1)),
        alignment=_array((1 / there.alignment)[:, word].sum(1)),
        directions=np.stack([_array(sums.sum(0)) for sums in by_sentence]),
        squares=np.array([float(sums.square().sum()) for sums in by_sentence]),
        lengths=np.array([len(content) for content in contents]),
    )


def _relative(steps: Float[Tensor, "T l"], tokens: Ragged) -> Float[Tensor, " T"]:
    """A word's importance over the mean of its sentence: 1 is an equal share."""
    importance = (steps - steps.mean(1, keepdim=True)).square().mean(1)
    return shares_in_sentence(importance, tokens) * (tokens.counts[tokens.sentence] - 1)


def _directions(x: Tensor, sentence: Tensor, word: Tensor, count: int) -> Float[Tensor, "N D"]:
    """The sum of the words' vectors of length 1, by sentence."""
    unit = torch.nn.functional.normalize(x[word].double(), dim=1)
    return unit.new_zeros(count, x.shape[1]).index_add(0, sentence[word], unit)


def _anisotropy_and_context(parts: Sequence[_BatchSums]) -> tuple[Float[np.ndarray, " L"], Float[np.ndarray, " L"]]:
    """Mean cosine of words of different sentences, and of different words of one sentence, at each layer.

    The squared length of a sum of unit vectors is the sum of the cosines of all pairs.
    """
    lengths = np.concatenate([part.lengths for part in parts])
    words, within = lengths.sum(), (lengths**2).sum()
    everything = np.square(np.sum([part.directions for part in parts], axis=0)).sum(axis=1)
    inside = np.sum([part.squares for part in parts], axis=0)
    return (everything - inside) / (words**2 - within), (inside - words) / max(1, within - words)


def _array(x: Tensor) -> np.ndarray:
    return np.asarray(x.cpu().numpy())
