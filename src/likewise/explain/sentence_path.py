"""The path of one sentence through a model's layers: what each layer adds to each word, and where each word ends up."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..array_types import Float
from ..arrays.dissection import DissectionSettings, importance_shares, layer_cosines, measure_words, neighbour_cosines
from ..arrays.similarity import unit
from ..embedder import Embedder
from ..errors import BadInput
from ..text.truncation import Overflow
from ..wording import counted


@dataclass(frozen=True, eq=False)
class SentencePath:
    """A sentence of t tokens passing through L layers, the first of which is the embeddings."""

    text: str
    words: tuple[str, ...]
    special: tuple[bool, ...]
    """Whether each token was added by the model, such as [CLS]."""
    movement: Float[np.ndarray, "S t"]
    """For each of the S = L - 1 steps, 1 minus the cosine between a word's vectors before and after it."""
    novelty: Float[np.ndarray, "L t"]
    """0 to 1: the fraction of a word's vector at this layer that its neighbouring layers do not span."""
    alignment: Float[np.ndarray, "L t"]
    """−1 to 1: the mean cosine between a word's vector at this layer and its vectors at neighbouring layers."""
    importance: Float[np.ndarray, " t"]
    """SBERT-WK's weight for each word in the sentence, by how much its path through the layers bends."""
    to_last: Float[np.ndarray, "L t"]
    """The cosine between a word's vector at this layer and its vector at the last layer."""
    between_layers: Float[np.ndarray, "L L"]
    """The mean cosine between words at one layer and the same words at another."""
    context: Float[np.ndarray, " L"]
    """The mean cosine between different words of the sentence; near 1, all words have become alike."""
    places: Float[np.ndarray, "L t 2"]
    """The position of each word at each layer, along the two directions in which all these vectors vary most."""

    def as_json(self) -> dict[str, Any]:
        """The path as plain lists and numbers."""
        arrays = ("movement", "novelty", "alignment", "importance", "to_last", "between_layers", "context", "places")
        named = {name: getattr(self, name).round(5).tolist() for name in arrays}
        return {"text": self.text, "words": list(self.words), "special": list(self.special), **named}


def sentence_path(embedder: Embedder, text: str, *, overflow: Overflow = "warn") -> SentencePath:
    """Follow one sentence through the layers.

    Raises:
        BadInput: the model has fewer than two blocks, so no layer has neighbours on both sides.
    """
    if embedder.encoder.depth < 2:
        raise BadInput(
            f"the model has {counted(embedder.encoder.depth, 'block')}; expected at least 2 to compare layers"
        )
    (layers,) = embedder.encode_layers([text], overflow=overflow)
    (pieces,) = embedder.pieces([text])
    before, after = len(embedder.tokenizer.prefix), len(embedder.tokenizer.suffix)
    special = tuple(not before <= i < len(pieces) - after for i in range(len(pieces)))
    cosines = layer_cosines(layers)
    settings = DissectionSettings(0, min(2, (len(layers) - 1) // 2), "symmetric", "paper")
    measured = measure_words(settings, cosines)
    return SentencePath(
        text=text,
        words=tuple(pieces),
        special=special,
        movement=1 - np.stack([cosines[i, i + 1] for i in range(len(layers) - 1)]),
        novelty=measured.novelty,
        alignment=neighbour_cosines(settings, cosines),
        importance=importance_shares(measured.importance, np.array([layers.shape[1]])),
        to_last=cosines[:, -1],
        between_layers=cosines.mean(2),
        context=np.array([_mean_of_others(layer) for layer in layers]),
        places=_places(layers),
    )


def _mean_of_others(words: Float[np.ndarray, "t D"]) -> float:
    """The mean cosine between different words; 1 for a single word."""
    count = len(words)
    total = float(np.square(unit(words.astype(np.float64)).sum(0)).sum())
    return (total - count) / (count * (count - 1)) if count > 1 else 1.0


def _places(layers: Float[np.ndarray, "L t D"]) -> Float[np.ndarray, "L t 2"]:
    """Project the words to two dimensions; only directions count, so vectors at each layer are scaled to length 1."""
    directions = unit(layers.reshape(-1, layers.shape[2]).astype(np.float64))
    centred = directions - directions.mean(0)
    _, axes = np.linalg.eigh(centred.T @ centred)  # largest variance last
    first = axes[:, :-3:-1]
    first = first * np.sign(first[np.abs(first).argmax(0), [0, 1]])  # makes the sign the same on every machine
    return np.asarray(centred @ first).reshape(*layers.shape[:2], 2)
