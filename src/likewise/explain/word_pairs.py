"""Why these two: the cosine of two texts as a sum over pairs of their words.

For a text's vector u = Σᵢ aᵢ and another's v = Σⱼ bⱼ the cosine is Σᵢⱼ aᵢ · bⱼ / |u||v|, exactly. A word's part holds
what its context put into it, so that contributions say where the similarity is carried, not what a word would do
elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..embedder import Embedder
from ..errors import BadInput, BadModel
from ..text.truncation import Overflow
from .token_parts import TokenParts, check_explainable, token_parts

TOLERANCE = {"fp32": 1e-4}
LOW_PRECISION = 2e-2  # of bf16, fp16 and int8, whose products round differently from batch to batch


class Word(NamedTuple):
    """A word of a text; `special` where it is a token that the model adds, such as [CLS]."""

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
    """Of each word of the first text with each of the second; their sum is the cosine."""
    layers: tuple[str, ...]
    """Where the pooling reads several layers, their numbers, and `"bias"` where something constant is added."""
    by_layer: Float[np.ndarray, "S S"]
    """Of each layer of the first text with each of the second; their sum is the cosine too."""
    layer_contributions: Float[np.ndarray, "S n m"]
    """The contributions divided among layers: half of a layer's part comes from its words in the first text with all
    of the second, half the other way round. Their sum over layers is `contributions`."""

    @property
    def cosine(self) -> float:
        """The cosine of the two texts."""
        return float(self.contributions.sum())

    @property
    def word_totals(self) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " m"]]:
        """What each word of the first text contributes with the whole second one, and the other way round."""
        return self.contributions.sum(1), self.contributions.sum(0)

    def top_pairs(self, k: int = 10, *, special: bool = False) -> list[WordPair]:
        """The k pairs of words that contribute most, either way, greatest first; special tokens only on request."""
        sizes = np.abs(self.contributions)
        if not special:
            first, second = (np.array([word.special for word in words], bool) for words in self.words)
            sizes = np.where(first[:, None] | second[None], -1, sizes)
        order = [place for place in np.argsort(-sizes, axis=None, kind="stable")[:k] if sizes.flat[place] >= 0]
        places = [divmod(int(place), sizes.shape[1]) for place in order]
        first_words, second_words = self.words
        return [WordPair(first_words[i].text, second_words[j].text, float(self.contributions[i, j])) for i, j in places]

    def as_json(self) -> dict[str, Any]:
        """Plain lists and numbers."""
        totals = self.word_totals
        sides = [
            {
                "text": text,
                "words": [word.text for word in words],
                "special": [word.special for word in words],
                "totals": total.tolist(),
            }
            for text, words, total in zip(self.texts, self.words, totals, strict=True)
        ]
        by_layer = {
            "layers": list(self.layers),
            "by_layer": self.by_layer.tolist(),
            "layer_contributions": self.layer_contributions.tolist(),
        }
        found = {"cosine": self.cosine, "texts": sides, "contributions": self.contributions.tolist()}
        return found | (by_layer if self.layers else {})


def explain_pair(embedder: Embedder, first: str, second: str, *, overflow: Overflow = "warn") -> PairExplanation:
    """Divide the cosine of two texts among pairs of their words.

    Raises:
        BadInput: the model's vectors are no sum over words (its pooling or a head is not linear), or one is zero.
        BadModel: the parts do not add up to the model's own cosine, so that the explanation would be wrong.
    """
    check_explainable(embedder)
    texts = (first, second)
    own = float(embedder.pair_scores([first], [second], overflow=overflow, progress=False)[0])
    left, right = (_text_parts(embedder, text, overflow) for text in texts)
    lengths = [float(np.linalg.norm(parts.vector)) for parts, _, _ in (left, right)]
    if not min(lengths):
        raise BadInput("the vector of one of the texts is zero, so that there is no cosine to explain")
    scale = 1 / (lengths[0] * lengths[1])
    by_both = [_summed(parts.parts, word_of) for parts, _, word_of in (left, right)]
    by_word = [parts.sum(0) for parts in by_both]
    by_source = [parts.parts.sum(1) for parts, _, _ in (left, right)]
    several = len({*left[0].sources} - {"bias"}) > 1
    found = PairExplanation(
        texts,
        (tuple(left[1]), tuple(right[1])),
        by_word[0] @ by_word[1].T * scale,
        left[0].sources if several else (),
        by_source[0] @ by_source[1].T * scale,
        0.5 * scale * (by_both[0] @ by_word[1].T + by_word[0] @ by_both[1].transpose(0, 2, 1)),
    )
    _check_sum(found.cosine, own, embedder.precision)
    return found


def _text_parts(embedder: Embedder, text: str, overflow: Overflow) -> tuple[TokenParts, list[Word], list[int]]:
    """The parts of a text's tokens, its words, and the word that each token is of."""
    silent: Overflow = "truncate" if overflow == "warn" else overflow  # `pair_scores` has warned
    (layers,) = embedder.encode_layers([text], overflow=silent)
    words, word_of = _words(embedder, text, layers.shape[1])
    _, (window,) = embedder.windows([text], embedder.default_prompt)
    return token_parts(embedder, layers, window.hidden), words, word_of


def _words(embedder: Embedder, text: str, count: int) -> tuple[list[Word], list[int]]:
    """The words that the model reads, special tokens as words of their own, and for each of its tokens the word."""
    tokenizer = embedder.tokenizer
    (pieces,) = embedder.pieces([text])
    if len(pieces) != count:
        raise BadInput(f"the model reads {count} units in a text of {len(pieces)} tokens: words cannot be named")
    before, after = len(tokenizer.prefix), len(tokenizer.suffix)
    special = [Word(piece, True) for piece in pieces]
    if tokenizer.unknown is not None:  # words are tokens
        inside = [Word(piece, False) for piece in pieces[before : count - after]]
        return [*special[:before], *inside, *special[count - after :]], list(range(count))
    names, numbers = tokenizer.words(embedder.default_prompt + text)
    read = numbers[: count - before - after]
    kept = [Word(name, False) for name in names[: max(read, default=-1) + 1]]
    word_of = [*range(before), *(before + n for n in read), *(before + len(kept) + i for i in range(after))]
    return [*special[:before], *kept, *special[count - after :]], word_of


def _summed(parts: Float[np.ndarray, "S t E"], word_of: Sequence[int]) -> Float[np.ndarray, "S n E"]:
    """The parts of each word, from those of its tokens."""
    sums = np.zeros((len(parts), max(word_of) + 1, parts.shape[2]))
    for token, word in enumerate(word_of):
        sums[:, word] += parts[:, token]
    return sums


def _check_sum(cosine: float, own: float, precision: str) -> None:
    if abs(cosine - own) > TOLERANCE.get(precision, LOW_PRECISION):
        raise BadModel(
            f"the contributions add up to {cosine:.6f}, and the model's own cosine is {own:.6f} (in {precision}): this "
            "model computes more than its description says, and is not explained"
        )
