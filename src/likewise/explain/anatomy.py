"""How words change through the layers of a model, measured on plain text without labels, with advice.

The measures are those of SBERT-WK (Wang and Kuo 2020: layer similarity, novelty, alignment, importance) and of
Ethayarajh (2019: anisotropy, and how much more similar the words of one sentence are).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..array_types import Float, Int
from ..arrays.correlation import spearman
from ..arrays.dissection import (
    NAME,
    DissectionSettings,
    importance_shares,
    layer_cosines,
    measure_words,
    neighbour_cosines,
)
from ..embedder import Embedder
from ..errors import BadInput
from ..inference import plan_batches
from ..text.inputs import text_chunks

MAX_TOKENS = 2048  # tokens per batch; their vectors at all layers are in memory at once
MIN_TEXTS = 20  # with fewer texts, idf is meaningless
MIN_OCCURRENCES = 3  # minimum occurrences of a listed word
INVERTED_BELOW = -0.2  # rank correlation between importance and idf: below this, function words weigh most;
SOUND_ABOVE = 0.2  # above this, content words do
MAX_WORD_SHARE = 0.2  # warn if a single word piece has a larger fraction of all importance
SIMILAR_LAYERS = 0.95  # cosine between neighbouring layers above which they hardly differ
HIGH_ANISOTROPY = 0.5  # above this, the vectors lie in a narrow cone


@dataclass(frozen=True)
class WordImportance:
    """A word piece, its mean share of a sentence's importance (1 means an equal share), and its idf."""

    piece: str
    importance: float
    idf: float
    seen: int


@dataclass(frozen=True, eq=False)
class Anatomy:
    """Measurements of a model's layers; layer 0 is the embeddings. `advice` puts them into words.

    Attributes:
        similarity: cosine between a word's vectors at two layers, averaged over words.
        novelty: the part of each layer that its neighbouring layers do not span, averaged over words.
        alignment: mean cosine between each layer and its neighbours, unscaled, averaged over words.
        anisotropy: mean cosine between words of different sentences, at each layer.
        context: mean cosine between words of one sentence minus the anisotropy: how much a word reflects its sentence.
        start, window: settings of the SBERT-WK pooling to which importance and correlation refer.
        correlation: rank correlation between importance and idf, over the words of the texts.
        by_start: the same correlation for SBERT-WK starting at each layer.
        words: every word piece that occurs often enough, most important first.
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
        """Sentences on whether SBERT-WK is safe for this model, what the layers contain, and which pooling to use."""
        return (self._on_importance(), *self._on_one_word(), *self._on_layers(), self._on_pooling())

    def as_dict(self) -> dict[str, Any]:
        """The measurements as plain lists and numbers, for JSON."""
        values = {key: v.tolist() if isinstance(v, np.ndarray) else v for key, v in asdict(self).items()}
        return {**values, "advice": list(self.advice)}

    @property
    def verdict(self) -> str:
        """`"inverted"`, `"sound"` or `"unclear"`: whether importance reflects content in this model."""
        if self.correlation < INVERTED_BELOW:
            return "inverted"
        return "sound" if self.correlation > SOUND_ABOVE else "unclear"

    def _on_importance(self) -> str:
        measured = f"the rank correlation of importance with idf is {self.correlation:+.2f} (from layer {self.start})"
        return {
            "inverted": f"SBERT-WK's word importance is inverted in this model: {measured}, so common words weigh "
            "most. Do not use it.",
            "sound": f"SBERT-WK's word importance reflects content in this model: {measured}. It is worth evaluating.",
            "unclear": f"SBERT-WK's word importance is unclear in this model: {measured}. Use it only if an "
            "evaluation on your own pairs shows a gain.",
        }[self.verdict]

    def _on_one_word(self) -> list[str]:
        """A warning if a single word piece, such as a full stop, accounts for a large part of all importance."""
        shares = {word: word.importance * word.seen / self.tokens for word in self.words}
        top = max(shares, key=shares.__getitem__, default=None)
        if top is None or shares[top] < MAX_WORD_SHARE:
            return []
        return [
            f"One word piece, {top.piece!r}, accounts for {shares[top]:.0%} of all importance, {top.importance:.1f} "
            "times an equal share: sentences become similar because they share it."
        ]

    def _on_layers(self) -> list[str]:
        steps = np.diagonal(self.similarity, offset=1)
        largest = int(steps.argmin())
        lines = [
            f"Words change most between layers {largest} and {largest + 1} (cosine {steps[largest]:.2f}), and layer "
            f"{int(self.novelty.argmax())} is the one least explained by its neighbours.",
            f"Words reflect their sentence most at layer {int(self.context.argmax())} "
            f"(cosine {self.context.max():.2f} above unrelated words); layer 0 is what a word means on its own.",
        ]
        if still := [f"{k}–{k + 1}" for k in np.flatnonzero(steps > SIMILAR_LAYERS)]:
            shown = f"{', '.join(still)} (cosine above {SIMILAR_LAYERS})"
            lines.append(f"Little changes between layers {shown}: try omitting these blocks.")
        if crowded := [str(k) for k in np.flatnonzero(self.anisotropy > HIGH_ANISOTROPY)]:
            lines.append(
                f"Any two words are similar (mean cosine above {HIGH_ANISOTROPY}) in layer {' and '.join(crowded)}: "
                "plain averages of these vectors work poorly without whitening or training."
            )
        return lines

    def _on_pooling(self) -> str:
        own = "the model's own pooling" if self.pooling.startswith(NAME) else f"{self.pooling} pooling"
        if self.verdict == "sound" and not self._on_one_word():
            return f"Start from {own}, and compare it with sbert-wk:start={self.start} on labelled pairs."
        return f"Use {own}."


def anatomy(embedder: Embedder, texts: Sequence[str], *, window: int = 2) -> Anatomy:
    """Measure a model on plain sentences (a few hundred are enough). Special tokens are left out.

    Importance refers to the embedder's own pooling if it is SBERT-WK, otherwise to SBERT-WK with `window`.

    Raises:
        BadInput: fewer than 20 texts contain words, which is too few for idf.
        BadModel: the encoder has too few layers for the window.
    """
    depth, own = embedder.encoder.depth, embedder.pooling
    pooling = own if isinstance(own, DissectionSettings) else DissectionSettings.parse(f"{NAME}:window={window}", depth)
    tokenizer = embedder.tokenizer
    ids_of_texts = (ids for window_of_texts in text_chunks(texts) for ids in tokenizer.token_ids(window_of_texts))
    contents = [content[: tokenizer.max_content_length] for content in ids_of_texts if content]
    if len(contents) < MIN_TEXTS:
        raise BadInput(
            f"the number of texts that contain words is {len(contents)}; expected at least {MIN_TEXTS}, ideally a few "
            "hundred"
        )
    batches = plan_batches([len(content) for content in contents], MAX_TOKENS)
    parts = [_measure(embedder, [contents[i] for i in batch], pooling.window) for batch in batches]
    ids = np.concatenate([part.ids for part in parts])
    shares = np.concatenate([part.shares for part in parts], axis=1)
    texts_with = Counter(i for content in contents for i in set(content))
    idf = {i: float(np.log(len(contents) / count)) for i, count in texts_with.items()}
    rarity = np.array([idf[i] for i in ids.tolist()])
    by_start = {start: rank_correlation(row, rarity) for start, row in enumerate(shares)}
    anisotropy, inside = _anisotropy_and_context(parts)
    return Anatomy(
        pooling=own.spec,
        texts=len(contents),
        tokens=len(ids),
        **{name: np.sum([getattr(part, name) for part in parts], axis=0) / len(ids) for name in PER_WORD},
        anisotropy=anisotropy,
        context=inside - anisotropy,
        start=pooling.start,
        window=pooling.window,
        correlation=by_start[pooling.start],
        by_start=by_start,
        words=_words(embedder, ids, shares[pooling.start], idf),
    )


def rank_correlation(a: Float[np.ndarray, " n"], b: Float[np.ndarray, " n"]) -> float:
    """Spearman's ρ; 0 if either side has only one distinct value."""
    correlation = spearman(a, b)
    return 0.0 if np.isnan(correlation) else correlation


def _words(
    embedder: Embedder, ids: Int[np.ndarray, " n"], shares: Float[np.ndarray, " n"], idf: dict[int, float]
) -> tuple[WordImportance, ...]:
    distinct, place, seen = np.unique(ids, return_inverse=True, return_counts=True)
    mean = np.bincount(place, weights=shares) / seen
    name = embedder.tokenizer.id_to_token
    order = [(k, int(distinct[k])) for k in np.argsort(-mean).tolist() if seen[k] >= MIN_OCCURRENCES]
    return tuple(WordImportance(name(i) or "", float(mean[k]), idf[i], int(seen[k])) for k, i in order)


PER_WORD = ("similarity", "novelty", "alignment")  # means over all words


@dataclass(frozen=True, eq=False)
class _BatchSums:
    """The measurements of one batch, summed over its words, excluding special tokens."""

    ids: Int[np.ndarray, " n"]
    shares: Float[np.ndarray, "starts n"]
    similarity: Float[np.ndarray, "L L"]
    novelty: Float[np.ndarray, " L"]
    alignment: Float[np.ndarray, " L"]
    directions: Float[np.ndarray, "L D"]
    squares: Float[np.ndarray, " L"]
    lengths: Int[np.ndarray, " N"]


def _measure(embedder: Embedder, contents: Sequence[Sequence[int]], window: int) -> _BatchSums:
    tokenizer = embedder.tokenizer
    ids = [tokenizer.with_special_tokens(content) for content in contents]
    layers = np.concatenate(embedder.layers_of(ids), axis=1)
    lengths = np.array([len(sequence) for sequence in ids])
    before, after = [False] * len(tokenizer.prefix), [False] * len(tokenizer.suffix)
    word = np.concatenate([np.array([*before, *[True] * len(content), *after]) for content in contents])
    cosines = layer_cosines(layers)
    steps = np.diagonal(cosines, offset=1).T
    shares = [_relative(steps[start:], lengths)[word] for start in range(len(layers) - window)]
    settings = DissectionSettings(0, window, "symmetric", "paper")
    inner = np.array([len(content) for content in contents])
    exact = layers[:, word].astype(np.float64)
    exact /= np.linalg.norm(exact, axis=2, keepdims=True).clip(min=1e-12)
    directions = np.add.reduceat(exact, np.cumsum(inner) - inner, axis=1)
    return _BatchSums(
        ids=np.concatenate(ids)[word],
        shares=np.stack(shares),
        similarity=cosines[..., word].sum(-1),
        novelty=measure_words(settings, cosines).novelty[:, word].sum(1),
        alignment=neighbour_cosines(settings, cosines)[:, word].sum(1),
        directions=directions.sum(1),
        squares=np.square(directions).sum((1, 2)),
        lengths=inner,
    )


def _relative(steps: Float[np.ndarray, "l T"], lengths: Int[np.ndarray, " N"]) -> Float[np.ndarray, " T"]:
    """A word's importance relative to the mean of its sentence: 1 means an equal share."""
    importance = np.square(steps - steps.mean(0)).mean(0)
    return np.asarray(importance_shares(importance, lengths) * np.repeat(lengths - 1, lengths))


def _anisotropy_and_context(parts: Sequence[_BatchSums]) -> tuple[Float[np.ndarray, " L"], Float[np.ndarray, " L"]]:
    """The mean cosine between words of different sentences, and between different words of one sentence, at each layer.

    The squared length of a sum of unit vectors equals the sum of the cosines of all pairs.
    """
    lengths = np.concatenate([part.lengths for part in parts])
    words, within = lengths.sum(), (lengths**2).sum()
    everything = np.square(np.sum([part.directions for part in parts], axis=0)).sum(axis=1)
    inside = np.sum([part.squares for part in parts], axis=0)
    return (everything - inside) / (words**2 - within), (inside - words) / max(1, within - words)
