"""SBERT-WK without torch: the settings that all engines share, and the arithmetic in NumPy.

The formulas are the same as in `likewise.pooling.dissection`, whose torch code also supports gradients. Layers are in
fp32; everything computed from their cosines is in fp64. The scores of a word and the weighted sum of a sentence do not
depend on the rest of the batch, down to the last bit.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args
from warnings import warn

import numpy as np

from ..array_types import Bool, Float, Int
from ..errors import BadModel

Array = np.ndarray
Settings = TypeVar("Settings", bound="DissectionSettings")
Boundary = Literal["reference", "symmetric"]
Alignment = Literal["code", "paper"]

NAME = "sbert-wk"
START = 4
LEAST_AGREEMENT = 0.05  # minimum mean cosine between a layer and its neighbours; below it, alignments would explode
NO_VARIANCE = 1e-12  # mean importance of a sentence's words; below it, all of them are equally important
NOISE = 16 * float(np.finfo(np.float32).eps)  # rounding error expected in cosines of fp32 vectors
CHUNK = 1 << 18  # bytes of vectors processed at once, chosen so that they and their copy fit in the cache


@dataclass(frozen=True)
class DissectionSettings:
    """The settings of SBERT-WK as a pooling method, written as `"sbert-wk:start=4,window=2"`.

    Args:
        start: the first layer to read; layer 0 is the embeddings.
        window: how many layers on each side count as a layer's neighbours.
        boundary: `"reference"` follows the authors' code: a layer with fewer than `window` layers before it has no
            neighbours on that side. `"symmetric"` uses as many layers as exist there.
        alignment: `"code"` is ρ / (2 (m + 1) c̄), as in the authors' code; `"paper"` is 1 / c̄.
        robust: keep c̄ at 0.05 or above, and use equal shares if the formulas give 0 / 0. False follows the reference
            exactly, infinities included.
    """

    start: int = START
    window: int = 2
    boundary: Boundary = "reference"
    alignment: Alignment = "code"
    robust: bool = True

    def __post_init__(self) -> None:
        for name, lowest in (("start", 0), ("window", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
                raise BadModel(f"{NAME} with {name}={value!r}; expected a whole number of at least {lowest}")
        for name, known in (("boundary", get_args(Boundary)), ("alignment", get_args(Alignment))):
            if getattr(self, name) not in known:
                raise BadModel(f"{NAME} with {name}={getattr(self, name)!r}; expected one of {', '.join(known)}")
        if not isinstance(self.robust, bool):
            raise BadModel(f"{NAME} with robust={self.robust!r}; expected true or false")

    @classmethod
    def parse(cls: type[Settings], spec: str, depth: int) -> Settings:
        """Parse the name of a pooling method for an encoder with `depth` blocks, and therefore `depth` + 1 layers.

        If the name gives no start, it is 4, or less if that would leave too few layers for the window.
        """
        name, _, text = spec.partition(":")
        parts = [part.partition("=") for part in text.split(",") if part]
        options = {key.strip(): _value(value.strip()) for key, _, value in parts}
        known = [field.name for field in fields(cls)]
        if name != NAME or len(options) < len(parts) or not set(options) <= set(known):
            raise BadModel(
                f"the pooling mode {spec!r} is unknown; expected {NAME}:key=value,… with keys from {', '.join(known)}"
            )
        built = cls(**options)
        if "start" not in options:
            built = cls(**options, start=max(0, min(START, depth - built.window)))
        built.check(depth + 1)
        return built

    @classmethod
    def read(cls: type[Settings], config: Mapping[str, Any], folder: Path, depth: int) -> Settings:
        """Read the SBERT-WK settings from a model folder, for a model with `depth` blocks."""
        settings = {field.name: config[field.name] for field in fields(cls) if field.name in config}
        try:
            built = cls(**settings)
            built.check(depth + 1)
        except BadModel as error:
            raise BadModel(f"{folder}: {error}") from None
        return built

    @property
    def config(self) -> Mapping[str, Any]:
        return asdict(self)

    @property
    def spec(self) -> str:
        """The name, in the form that `parse` accepts; it always includes the start."""
        settings = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name == "start" or getattr(self, f.name) != f.default
        }
        return f"{NAME}:{','.join(f'{name}={str(value).lower()}' for name, value in settings.items())}"

    def width(self, encoder_width: int) -> int:
        return encoder_width

    def check(self, layers: int) -> None:
        if layers - self.start <= self.window:
            raise BadModel(
                f"the pooling mode {self.spec} needs {self.start + self.window + 1} layers or more, but the encoder "
                f"has {layers} including the embeddings; use a smaller start or window"
            )

    def neighbours(self, layers: int) -> tuple[Int[Array, "S L"], Bool[Array, "S L"]]:
        """One column per layer: the indices of its neighbours, then its own; and which of these neighbours exist."""
        layer = np.arange(layers)
        offset = np.array([*range(-self.window, 0), *range(1, self.window + 1), 0])[:, None]
        at = layer + offset
        present = (at >= 0) & (at < layers)
        if self.boundary == "reference":
            present &= (offset >= 0) | (layer >= self.window)
        return at.clip(0, layers - 1), present


class WordMeasures(NamedTuple):
    """What SBERT-WK computes for each of T words over L layers."""

    novelty: Float[Array, "L T"]
    alignment: Float[Array, "L T"]
    weights: Float[Array, "L T"]
    importance: Float[Array, " T"]


def dissected_sums(
    settings: DissectionSettings, layers: Float[Array, "L T D"], lengths: Int[Array, " N"]
) -> Float[Array, "N D"]:
    """The SBERT-WK vector of each sentence, computed from the layers that SBERT-WK reads."""
    with np.errstate(invalid="ignore"):
        return weighted_sums(layers, dissection_weights(settings, layers, lengths), lengths)


def dissection_weights(
    settings: DissectionSettings, layers: Float[Array, "L T D"], lengths: Int[Array, " N"]
) -> Float[Array, "L T"]:
    """The weight of each word at each layer; a sentence's vector is the weighted sum over words and layers."""
    with np.errstate(divide="ignore", invalid="ignore"):  # if not robust, infinities are expected, as in the reference
        measured = measure_words(settings, layer_cosines(layers))
        shares = importance_shares(measured.importance, lengths, settings.robust)
        return np.asarray(np.where(shares != 0, measured.weights * shares, 0))


def layer_cosines(layers: Float[Array, "L T D"]) -> Float[Array, "L L T"]:
    """The cosine between a word's vectors at each pair of layers; 0 for a zero vector."""
    count, words, width = layers.shape
    products = np.empty((words, count, count), np.float32)
    step = max(1, CHUNK // (count * width * layers.itemsize))
    for begin in range(0, words, step):
        paths = layers[:, begin : begin + step].transpose(1, 0, 2)
        # copied, since NumPy is slower at multiplying a matrix by itself
        np.matmul(paths, paths.copy().transpose(0, 2, 1), out=products[begin : begin + step])
    cosines = np.ascontiguousarray(products.transpose(1, 2, 0), np.float64)
    squares, lowest = np.diagonal(cosines).T, np.finfo(np.float32).tiny
    inverse = np.where(squares > lowest, 1 / np.sqrt(squares.clip(min=lowest)), 0)
    cosines *= inverse[:, None]
    cosines *= inverse
    return cosines


def measure_words(settings: DissectionSettings, cosines: Float[Array, "L L T"]) -> WordMeasures:
    """The novelty, alignment, weights and importance of words, from the cosines between their layers."""
    at, present = settings.neighbours(len(cosines))
    systems = cosines[at[:, None], at[None]]
    systems *= (present[:, None] & present[None])[..., None]
    count = present[:-1].sum(0)[:, None]
    agreement = neighbour_cosines(settings, cosines)
    if settings.robust:
        agreement = agreement.clip(min=LEAST_AGREEMENT)
    residual = _orthogonal_residual(systems)
    novelty = _root(residual)
    alignment = 1 / agreement if settings.alignment == "paper" else _root(1 - residual) / (2 * (count + 1) * agreement)
    weights = _layer_weights(novelty, alignment, settings.robust)
    steps = np.diagonal(cosines, offset=1).T
    return WordMeasures(novelty, alignment, weights, np.square(steps - steps.mean(0)).mean(0))


def neighbour_cosines(settings: DissectionSettings, cosines: Float[Array, "L L T"]) -> Float[Array, "L T"]:
    """The mean cosine between each layer and its neighbours: c̄, whose inverse scales the alignments."""
    at, present = (rows[:-1] for rows in settings.neighbours(len(cosines)))
    near = cosines[at, np.arange(len(cosines))] * present[..., None]
    return np.asarray(near.sum(0) / present.sum(0)[:, None])


def importance_shares(
    importance: Float[Array, " T"], lengths: Int[Array, " N"], robust: bool = True
) -> Float[Array, " T"]:
    """Each token's share of its sentence's importance: shares add up to 1, and the last token's share is 0."""
    if lengths.min(initial=2) < 2:
        warn(f"{NAME} leaves out a sentence's last token, so a one-token sentence has a zero vector", stacklevel=3)
    ends = np.cumsum(lengths)
    real = np.ones(len(importance), bool)
    real[ends[lengths > 0] - 1] = False
    left = np.where(real, importance, 0)
    sums = np.repeat([left[end - length : end].sum() for end, length in zip(ends, lengths, strict=True)], lengths)
    if not robust:
        return np.asarray(np.where(real, left / sums, 0))
    others = np.repeat(np.maximum(lengths - 1, 1), lengths)
    return np.asarray(np.where(sums > NO_VARIANCE * others, left / sums.clip(min=NO_VARIANCE), real / others))


def weighted_sums(
    layers: Float[Array, "L T D"], weights: Float[Array, "L T"], lengths: Int[Array, " N"]
) -> Float[Array, "N D"]:
    """The weighted sum over the words of a sentence and their layers."""
    sums = np.zeros((len(lengths), layers.shape[2]), np.float32)
    shares = weights.astype(np.float32)[..., None]
    ends = np.cumsum(lengths).tolist()
    for row, end, length in zip(sums, ends, lengths.tolist(), strict=True):
        for layer, share in zip(layers, shares, strict=True):
            row += (layer[end - length : end] * share[end - length : end]).sum(0)
    return sums


def _orthogonal_residual(systems: Float[Array, "S S L T"]) -> Float[Array, "L T"]:
    """The square of the last unknown once the other unknowns are eliminated: 1 − ρ².

    Gaussian elimination (Cholesky) without pivoting. A pivot at the level of rounding error means that this vector adds
    nothing to the earlier ones; skipping it gives the same result as a pseudo-inverse.
    """
    while len(systems) > 1:
        pivot, row = systems[0, 0], systems[0, 1:]
        scaled = np.where(pivot > NOISE, row / pivot.clip(min=NOISE), 0)
        systems = systems[1:, 1:] - row[:, None] * scaled
    return np.asarray(systems[0, 0])


def _layer_weights(novelty: Float[Array, "L T"], alignment: Float[Array, "L T"], robust: bool) -> Float[Array, "L T"]:
    if not robust:
        return np.asarray((novelty / novelty.sum(0) + alignment / alignment.sum(0)) / 2)
    new = _shares(novelty, len(novelty) * NOISE**0.5, np.float64(1 / len(novelty)))
    return np.asarray((new + _shares(alignment, NOISE, new)) / 2)


def _shares(x: Float[Array, "L T"], lowest: float, otherwise: Any) -> Float[Array, "L T"]:
    sums = x.sum(0)
    return np.asarray(np.where(sums > lowest, x / sums.clip(min=lowest), otherwise))


def _root(x: Float[Array, "L T"]) -> Float[Array, "L T"]:
    return np.asarray(np.sqrt(x.clip(min=0)))


def _value(text: str) -> Any:
    if text.isdecimal():
        return int(text)
    return {"true": True, "false": False}.get(text, text)
