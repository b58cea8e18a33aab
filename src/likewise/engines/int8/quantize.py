"""quantize: writes a model with int8 weights, and keeps it only if its vectors stay close to the originals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...array_types import Float
from ...arrays.correlation import spearman
from ...arrays.similarity import PAIRWISE, unit, unit_cosine
from ...embedder import Embedder
from ...errors import BadInput, BelowBar
from ...model_files import atomic_folder
from ...runtime.atomic_files import check_not_input, check_writable_folder, target_folder
from ...runtime.weight_files import weight_files
from ..description import read_description, tensors
from ..native.native_embedder import NativeEmbedder
from ..stored_weights import in_int8
from .smoothing import smoothed
from .texts import held_out_texts, odd_texts

Array = np.ndarray
ODD_SEED = 2
SENTENCES, ODD, OVERALL = "held-out sentences", "odd texts", "overall"
"""The texts on which a quantized model is evaluated; the bar applies to `OVERALL`, all of them together."""


@dataclass(frozen=True)
class Bar:
    """The minimum fidelity that a quantized model must reach over all evaluation texts."""

    mean_cosine: float = 0.997
    least_cosine: float = 0.97

    def __post_init__(self) -> None:
        if not all(-1 <= value <= 1 for value in (self.mean_cosine, self.least_cosine)):
            raise BadInput(f"the bar is {self.mean_cosine}, {self.least_cosine}; expected two cosines from −1 to 1")


@dataclass(frozen=True)
class Fidelity:
    """How close vectors stay: cosines before vs. after, and the rank correlation of all pairwise similarities."""

    texts: int
    mean_cosine: float
    least_cosine: float
    rank_correlation: float  # NaN if all similarities are equal

    def reaches(self, bar: Bar) -> bool:
        return self.mean_cosine >= bar.mean_cosine and self.least_cosine >= bar.least_cosine


def fidelity(before: Float[Array, "N E"], after: Float[Array, "N E"]) -> Fidelity:
    """Compare vectors before and after quantization, for two or more texts."""
    cosines = PAIRWISE["cosine"](before, after)
    cosines[~(before.any(1) | after.any(1))] = 1  # texts without known tokens, whose vectors are zero
    return Fidelity(
        len(before), float(cosines.mean()), float(cosines.min()), spearman(_of_pairs(before), _of_pairs(after))
    )


def _of_pairs(vectors: Float[Array, "N E"]) -> Float[Array, " P"]:
    rows = unit(vectors)
    return np.asarray(unit_cosine(rows, rows)[np.triu_indices(len(rows), 1)])


DEFAULT_BAR = Bar()


@dataclass(frozen=True)
class QuantizationResult:
    """The result of quantizing a model: fidelity on held-out text, and sizes."""

    folder: Path
    bar: Bar
    fidelity: Mapping[str, Fidelity]  # keyed by `SENTENCES`, `ODD` and `OVERALL`; the bar applies to `OVERALL`
    bytes_before: int
    bytes_after: int  # of the encoder's weight files
    smoothed: int
    """The number of matrix products whose inputs are smoothed."""

    @property
    def written(self) -> bool:
        """Whether the model met the bar, so that the folder was written."""
        return self.fidelity[OVERALL].reaches(self.bar)


def quantize(
    model: Embedder,
    folder: str | Path,
    *,
    bar: Bar = DEFAULT_BAR,
    callback: Callable[[str], None] = lambda _: None,
) -> QuantizationResult:
    """Write a model with int8 weights, which the native engine can run in int8 without converting them.

    Load it with `Embedder.load(folder, engine="native", precision="int8")`. Matrix products are smoothed as in the
    engine (`smoothing`). Then int8 vectors of held-out texts, computed from the written folder, are compared with the
    original model's fp32 vectors.

    Args:
        model: a model loaded by the native engine in fp32: `Embedder.load(name, engine="native")`.
        folder: where to write; a new folder appears complete or not at all.
        bar: the minimum fidelity.
        callback: called with a line of text about each step.

    Raises:
        BelowBar: the model missed the bar; nothing was written, and the error contains the result.
        BadInput: the model was not loaded by the native engine in fp32, or the folder is the
            model's own or is not writable.
    """
    target = target_folder(folder)
    source = _checked(model, target)
    description, count = smoothed(read_description(source.manifest.encoder))
    with atomic_folder(target) as partial:
        callback("writing weights in int8")
        stored = {tensor.name: tensor for tensor in tensors(description)}
        source.write_files(partial, in_int8(stored))
        found = _measured(source, Embedder.load(partial, engine="native", precision="int8"), callback)
        sizes = (_weight_bytes(source.manifest.encoder), _weight_bytes(partial))
        result = QuantizationResult(target, bar, found, *sizes, count)
        if not result.written:
            raise BelowBar(_refusal(result), result)
    return result


def _checked(model: Embedder, target: Path) -> NativeEmbedder:
    if not isinstance(model, NativeEmbedder) or model.precision != "fp32":
        found = f"a {type(model).__name__} in {model.precision}" if isinstance(model, Embedder) else f"{model!r:.100}"
        raise BadInput(f'the model is {found}; expected Embedder.load(name, engine="native", precision="fp32")')
    encoder = model.manifest.encoder
    check_not_input(target, [encoder, *([encoder.parent] if (encoder.parent / "modules.json").exists() else [])])
    check_writable_folder(target)
    return model


def _measured(before: Embedder, after: Embedder, callback: Callable[[str], None]) -> dict[str, Fidelity]:
    sentences, odd = held_out_texts(), odd_texts(ODD_SEED)
    callback(f"comparing vectors of {len(sentences) + len(odd)} held-out texts")
    x, y = (_vectors(one, sentences + odd) for one in (before, after))
    end = len(sentences)
    return {SENTENCES: fidelity(x[:end], y[:end]), ODD: fidelity(x[end:], y[end:]), OVERALL: fidelity(x, y)}


def _vectors(model: Embedder, texts: Sequence[str]) -> Float[Array, "N E"]:
    return model.encode(texts, overflow="truncate", show_progress_bar=False)


def _weight_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in weight_files(folder))


def _refusal(result: QuantizationResult) -> str:
    found, bar = result.fidelity[OVERALL], result.bar
    return (
        f"int8 changes this model's vectors too much: mean cosine {found.mean_cosine:.5f} and least cosine "
        f"{found.least_cosine:.5f} on {found.texts} held-out texts; the bar is {bar.mean_cosine} and "
        f"{bar.least_cosine}. Nothing was written to {result.folder}; bar=… sets another bar"
    )
