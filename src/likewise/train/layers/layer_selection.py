"""Chooses which layers to average, using unlabelled texts.

A text with a few words removed should stay closer to the original than to any other text. Each text is therefore
encoded in full and with a fifth of its tokens left out. Layers are compared by how far the cosines of these pairs
exceed the cosines of different texts, relative to the spread of both: the sensitivity index d' of signal detection
(Green and Swets 1966),

    separation = (mean of same − mean of others) / √((variance of same + variance of others) / 2)

Treating a text and its copy with missing words as a positive pair comes from contrastive training without labels (Wu et
al. 2020, CLEAR); here nothing is trained, and the pairs serve only to choose layers. Candidates are the means of up to
three layers, including the last layer alone. Hosseini et al. (2023, "BERT Has More to Offer") showed that the best
choice depends on the model and data. docs/layers.md compares this criterion with others, on development data.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from ...array_types import Float
from ...arrays.layer_means import LayerMeanSettings
from ...arrays.reductions import reduce_sentences, reduction_names
from ...arrays.similarity import unit
from ...embedder import Embedder
from ...errors import BadInput, BadModel
from ...inference import plan_batches
from ...runtime.arguments import whole_number
from ...runtime.progress import Progress, show_progress
from ...text.inputs import text_chunks

LEFT_OUT = 0.2  # the share of a text's tokens to leave out
MIN_TOKENS = 4  # per text, without special tokens; removing a token from a shorter text changes its meaning
MIN_TEXTS = 50
MAX_TEXTS = 500  # because every pair is compared; more texts do not improve the choice
BATCH_TOKENS = 4096
LINEAR = ("cls", "mean", "mean-sqrt-len", "weighted-mean", "last-token")
"""Linear reductions: reducing a mean of layers gives the mean of the reduced layers."""

LayerVectors = Float[np.ndarray, "N L W"]


@dataclass(frozen=True)
class LayerScore:
    """A pooling method that averages a subset of the layers, and its separation; higher is better."""

    layers: tuple[int, ...]
    pooling: str
    separation: float


@dataclass(frozen=True)
class LayerSelection:
    """The result of a selection: every candidate, best first, including plain pooling of the last layer."""

    texts: int
    candidates: tuple[LayerScore, ...]
    last: LayerScore

    @property
    def best(self) -> LayerScore:
        return self.candidates[0]


def select_layers(
    embedder: Embedder, texts: Sequence[str], *, most: int = 3, seed: int = 0, show_progress_bar: Progress = None
) -> LayerSelection:
    """Compare the means of up to `most` layers on unlabelled texts.

    The first 500 distinct texts of four tokens or more are used; with 12 blocks there are 377 means of up to three
    layers. The embedder's token pooling and heads are kept; the embedder may use any engine.
    """
    most, reduce = whole_number("most", most), _linear_reduction(embedder)
    whole = _contents(embedder, texts)
    drawn = random.Random(seed)
    sequences = [embedder.tokenizer.with_special_tokens(c) for c in (*whole, *(_shortened(c, drawn) for c in whole))]
    vectors = layer_vectors_of(embedder, sequences, reduce, show_progress_bar)
    depth = embedder.encoder.depth
    scores = [_score(embedder, vectors, layers, reduce) for layers in layer_subsets(depth + 1, most)]
    ranked = sorted(scores, key=lambda score: -score.separation)
    last = next(score for score in scores if score.layers == (depth,))
    return LayerSelection(len(whole), tuple(ranked), last)


def layer_subsets(count: int, most: int) -> Iterator[tuple[int, ...]]:
    """All sets of up to `most` of `count` layers; the last layer alone comes first, so that it wins ties."""
    singles = [(layer,) for layer in reversed(range(count))]
    yield from singles
    for size in range(2, min(most, count) + 1):
        yield from combinations(range(count), size)


def layer_vectors_of(
    embedder: Embedder, sequences: Sequence[list[int]], reduce: Sequence[str], show_progress_bar: Progress = None
) -> LayerVectors:
    """For each sequence of token ids, every layer reduced to one vector, starting with the embeddings."""
    width = len(reduce) * embedder.encoder.width
    vectors = np.empty((len(sequences), embedder.encoder.depth + 1, width), np.float32)
    with show_progress(show_progress_bar, len(sequences)) as advance:
        for batch in plan_batches([len(sequence) for sequence in sequences], BATCH_TOKENS):
            for i, layers in zip(batch, embedder.layers_of([sequences[i] for i in batch]), strict=True):
                lengths = np.array([layers.shape[1]])
                vectors[i] = np.concatenate([reduce_sentences(x, lengths, reduce) for x in layers])
            advance(len(batch), sum(len(sequences[i]) for i in batch))
    return vectors


def separation(same: Float[np.ndarray, "N E"], changed: Float[np.ndarray, "N E"]) -> float:
    """How far the cosines between matching rows exceed those between different rows, relative to the spread of both.

    The separation is 0 if all cosines are equal, because such vectors do not distinguish texts.
    """
    cosines = (unit(same) @ unit(changed).T).astype(np.float64)
    own = np.diagonal(cosines)
    others = cosines[~np.eye(len(cosines), dtype=bool)]
    spread = float(np.sqrt((own.var() + others.var()) / 2))
    return float(own.mean() - others.mean()) / spread if spread > 1e-12 else 0.0


def _score(embedder: Embedder, vectors: LayerVectors, layers: tuple[int, ...], reduce: tuple[str, ...]) -> LayerScore:
    """The separation of a mean of layers; the first half of the rows are full texts, the second half their copies."""
    pooled = vectors[:, list(layers)].mean(1)
    whole, shortened = np.split(embedder.through_heads(pooled), 2)
    plain = layers == (embedder.encoder.depth,)
    name = "+".join(reduce) if plain else LayerMeanSettings(reduce, layers).spec
    return LayerScore(layers, name, separation(whole, shortened))


def _contents(embedder: Embedder, texts: Sequence[str]) -> list[list[int]]:
    tokenizer = embedder.tokenizer
    read = (ids for chunk in text_chunks(list(dict.fromkeys(texts))) for ids in tokenizer.token_ids(chunk))
    truncated = (ids[: tokenizer.max_content_length] for ids in read)
    contents = list(islice((ids for ids in truncated if len(ids) >= MIN_TOKENS), MAX_TEXTS))
    if len(contents) < MIN_TEXTS:
        raise BadInput(
            f"{len(contents)} distinct texts have {MIN_TOKENS} tokens or more; expected at least {MIN_TEXTS}, ideally "
            f"{MAX_TEXTS}, similar to the texts you will encode"
        )
    return contents


def _shortened(ids: list[int], drawn: random.Random) -> list[int]:
    left_out = {*drawn.sample(range(len(ids)), round(LEFT_OUT * len(ids)))}
    return [token for i, token in enumerate(ids) if i not in left_out]


def _linear_reduction(embedder: Embedder) -> tuple[str, ...]:
    """The model's token pooling, which must give the same vector whether layers are averaged before or after it."""
    pooling = embedder.pooling
    try:
        names = pooling.reduce if isinstance(pooling, LayerMeanSettings) else reduction_names(pooling.spec)
    except BadModel:  # SBERT-WK, a fusion
        names = ("",)
    if any(name not in LINEAR for name in names):
        raise BadInput(
            f"the pooling is {pooling.spec}; layer selection needs {', '.join(LINEAR)}, or several joined by +. For "
            "example, load the model with pooling='mean' or as NAME(pooling=mean)"
        )
    return names
