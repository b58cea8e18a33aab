"""Classifier: logistic regression on a frozen embedder's vectors, calibrated on held-out folds."""

import hashlib
import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from ..array_types import Bool, Float
from ..embedder import Embedder
from ..engine_registry import INT8, computation_of, mixes_int8
from ..errors import BadInput, BadModel
from ..evaluate.statistics.significance import Interval
from ..model_files.folder import write_json
from ..model_files.names import CLASSIFIER, DEFAULT_MODEL
from ..model_files.saving import ENTRY_FILES, atomic_folder
from ..runtime.arguments import real_number
from ..runtime.progress import Progress
from ..runtime.untrusted_files import read_object, regular_file_exists
from ..runtime.weight_files import WeightReader, write_safetensors
from .labels import Label, Targets, checked_rows, is_label, stratified_folds, targets
from .logistic import (
    HOTTEST,
    best_temperature,
    calibration_error,
    fit_path,
    log_loss,
    logits_of,
    probabilities,
    soft_targets,
)

FORMAT = "likewise-classifier-1"
WEIGHTS = "classifier.safetensors"
L2 = (1.0, 0.1, 0.01, 0.001, 0.0001)
"""Penalties to choose from, strongest first: each solution is the starting point of the next."""
MOST_CLASSES = 100_000


@dataclass(frozen=True)
class FitReport:
    """How well the classifier does on texts held out by cross-validation.

    The penalty and the temperature were chosen on the same held-out texts, so the figures are slightly optimistic.
    """

    texts: int
    folds: int
    l2: float
    temperature: float
    accuracy: float
    """The fraction of texts whose class (multi-label: whose set of labels) is correct, with Wilson's 95 % interval."""
    accuracy_low: float
    accuracy_high: float
    log_loss: float
    """In nats per text, calibrated."""
    calibration_error: float
    """Expected calibration error of the most probable class (multi-label: of all labels), calibrated, 0 to 1."""
    calibration_error_before: float


@dataclass(frozen=True, eq=False)
class Classifier:
    """Classifies texts; create one with `fit` or `load`.

    `predict` abstains (returns None) for texts whose confidence is below `abstain_below`. Confidence is the probability
    of the most probable class or, with several labels per text, of the least certain decision about a label.
    """

    embedder: Embedder
    classes: list[Label]
    weights: Float[np.ndarray, "C D1"]
    temperature: float
    is_multi_label: bool
    abstain_below: float
    report: FitReport

    @classmethod
    def fit(
        cls,
        texts: Sequence[str],
        labels: Sequence[Any] | np.ndarray,
        model: str | Path | Embedder | None = None,
        *,
        abstain_below: float = 0.0,
        seed: int = 0,
        show_progress_bar: Progress = None,
    ) -> "Classifier":
        """Learn from labelled texts; the model's weights do not change. Two texts per class are enough to start.

        Args:
            texts: N texts.
            labels: a str or int per text; or, for multi-label classification, a list of labels per text, which may be
                empty.
            model: a name, a folder or an embedder; `likewise-mini` by default.
            abstain_below: the confidence below which to abstain, from 0 (never) to 1.
            seed: the random seed for the folds.
            show_progress_bar: shows progress while texts are encoded.

        Raises:
            BadInput: the texts or labels are unsuitable for training; the message names the row.
        """
        rows = checked_rows(texts)
        wanted, least = targets(len(rows), labels), real_number("abstain_below", abstain_below)
        if not 0 <= least <= 1:
            raise BadInput(f"abstain_below is {abstain_below}; expected a probability, 0 to 1")
        embedder = model if isinstance(model, Embedder) else Embedder.load(DEFAULT_MODEL if model is None else model)
        x = embedder.encode(rows, show_progress_bar=show_progress_bar)
        return fit_classifier(wanted, lambda _: (embedder, x), seed, least)

    def predict(self, texts: Sequence[str]) -> list[Any]:
        """For each text its class (multi-label: the list of labels with a probability of at least 0.5), or None."""
        return self.decide(self.predict_proba(texts))

    def predict_proba(self, texts: Sequence[str]) -> Float[np.ndarray, "N C"]:
        """The calibrated probability of each class, in the order of `classes`."""
        return self.probabilities(self.embedder.encode(texts, show_progress_bar=False))

    def probabilities(self, vectors: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N C"]:
        """Like `predict_proba`, for vectors that `embedder.encode` returned."""
        return probabilities(logits_of(self.weights, vectors) / self.temperature, self.is_multi_label)

    @cached_property
    def longest_label(self) -> int:
        return max(len(str(label)) for label in self.classes)

    def decide(self, chances: Float[np.ndarray, "N C"]) -> list[Any]:
        """The predictions for these probabilities."""
        sure = _confidence(chances, self.is_multi_label).min(1) >= self.abstain_below
        if self.is_multi_label:
            found = [[self.classes[c] for c in np.flatnonzero(row >= 0.5)] for row in chances]
            return [labels if yes else None for labels, yes in zip(found, sure, strict=True)]
        return [self.classes[c] if yes else None for c, yes in zip(chances.argmax(1), sure, strict=True)]

    def save(self, folder: str | Path) -> None:
        """Write classifier.json and classifier.safetensors into a model's folder, with the model if it is missing.

        Raises:
            BadInput: the folder contains another model.
        """
        folder = Path(folder)
        is_new = not any((folder / name).exists() for name in ENTRY_FILES)
        if is_new:
            self.embedder.save(folder)
        fingerprint = Embedder.load(folder).fingerprint  # it differs if torch saved int8 weights in fp32
        if not is_new:
            elsewhere = "save the classifier in another folder, or fit a classifier on the model in this folder"
            _check_fingerprint(self.embedder.fingerprint, fingerprint, folder, elsewhere)
        with atomic_folder(folder) as partial:
            write_safetensors(partial / WEIGHTS, {"weights": ("F32", np.ascontiguousarray(self.weights, "<f4"))})
            write_json(partial / CLASSIFIER, self._as_json(_digest(partial / WEIGHTS), fingerprint))

    def _as_json(self, digest: str, fingerprint: str) -> dict[str, Any]:
        computed = computation_of(self.embedder)._asdict()
        model = {"name": Path(self.embedder.manifest.encoder).name, "fingerprint": fingerprint, **computed}
        decisions = {"is_multi_label": self.is_multi_label, "abstain_below": self.abstain_below}
        numbers = {"dimension": self.weights.shape[1] - 1, "weights": digest, "report": asdict(self.report)}
        return {"format": FORMAT, "model": model, "classes": self.classes, **decisions, **numbers}

    @classmethod
    def load(cls, folder: str | Path, model: Embedder | None = None) -> "Classifier":
        """Load what `save` wrote, with the folder's model (in int8 if fitted in int8) unless that model is passed.

        A warning is issued if the model is in int8 and the classifier was fitted in another precision, or the other way
        round.

        Raises:
            BadInput: there is no classifier, or it belongs to another model.
            BadModel: its files are damaged.
        """
        folder = Path(folder)
        if not regular_file_exists(folder / CLASSIFIER):
            raise BadInput(f"{folder} has no {CLASSIFIER}; Classifier.fit(texts, labels).save(folder) writes it")
        found = _checked(read_object(folder / CLASSIFIER), folder)
        fitted_in = found["model"].get("precision")  # None: recorded by an earlier version
        embedder = Embedder.load(folder, precision=INT8 if fitted_in == INT8 else None) if model is None else model
        anew = f"fit a classifier on this model and save it there, or delete {CLASSIFIER} to use the model alone"
        _check_fingerprint(found["model"]["fingerprint"], embedder.fingerprint, folder, anew)
        if fitted_in is not None and mixes_int8(fitted_in, embedder.precision):
            warnings.warn(
                f"the classifier in {folder} was fitted in {fitted_in}, but its model was loaded in "
                f"{embedder.precision}: int8 changes vectors and thus probabilities; load the model in {fitted_in}",
                stacklevel=2,
            )
        weights = _read_weights(folder, found["weights"], (len(found["classes"]), embedder.dimension + 1))
        report = FitReport(**found["report"])
        decisions = bool(found["is_multi_label"]), float(found["abstain_below"])
        return cls(embedder, found["classes"], weights, report.temperature, *decisions, report)


Encoded = Callable[[Bool[np.ndarray, " N"]], tuple[Embedder, Float[np.ndarray, "N D"]]]
"""Maps a mask of rows to an embedder and its vectors of all rows; if the embedder is trained, it is trained only on the
selected rows."""


def fit_classifier(wanted: Targets, encoded: Encoded, seed: int, abstain_below: float = 0.0) -> Classifier:
    """Choose the penalty and the temperature on held-out rows, then fit on all rows."""
    truth, is_multi_label = wanted.truth, wanted.is_multi_label
    fold = stratified_folds(truth, seed)
    held_out = np.empty((len(L2), *truth.shape))
    for number in range(int(fold.max()) + 1):
        seen = fold != number
        x = _finite(encoded(seen)[1])
        for i, weights in enumerate(fit_path(x[seen], truth[seen], L2, is_multi_label)):
            held_out[i, ~seen] = logits_of(weights, x[~seen])
    target = soft_targets(truth, is_multi_label)
    temperatures = [best_temperature(logits, target, is_multi_label) for logits in held_out]
    losses = [
        log_loss(logits / t, target, is_multi_label) for logits, t in zip(held_out, temperatures, strict=True)
    ]  # calibrated, because predictions will be
    best = int(np.argmin(losses))
    report = _report(held_out[best], truth, is_multi_label, (L2[best], temperatures[best], int(fold.max()) + 1))
    embedder, x = encoded(np.ones(len(truth), bool))
    *_, weights = fit_path(_finite(x), truth, L2[: best + 1], is_multi_label)
    return Classifier(embedder, wanted.classes, weights, report.temperature, is_multi_label, abstain_below, report)


def _finite(x: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
    if not np.isfinite(x).all():
        raise BadInput(f"the vector of texts[{int(np.argmin(np.isfinite(x).all(1)))}] contains NaN or infinity")
    return x


def _report(
    logits: Float[np.ndarray, "N C"],
    truth: Float[np.ndarray, "N C"],
    is_multi_label: bool,
    chosen: tuple[float, float, int],
) -> FitReport:
    l2, temperature, count = chosen
    raw, calibrated = (probabilities(one, is_multi_label) for one in (logits, logits / temperature))
    accuracy = accuracy_interval(_right(calibrated, truth, is_multi_label).all(1))
    errors = [
        calibration_error(_confidence(p, is_multi_label).ravel(), _right(p, truth, is_multi_label).ravel())
        for p in (calibrated, raw)
    ]
    loss = log_loss(logits / temperature, truth, is_multi_label)
    scores = (accuracy.value, accuracy.low, accuracy.high)
    return FitReport(len(truth), count, l2, temperature, *scores, loss, *errors)


def accuracy_interval(right: Bool[np.ndarray, " N"]) -> Interval:
    """The fraction of correct answers with its 95 % interval (Wilson 1927).

    A bootstrap would give [1, 1] if there are only a few answers and all are correct.
    """
    n, share, z = len(right), float(right.mean()), NormalDist().inv_cdf(0.975)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half))


def _confidence(chances: Float[np.ndarray, "N C"], is_multi_label: bool) -> Float[np.ndarray, "N c"]:
    """The probability of each decision: one class per text, or yes or no for each label."""
    return np.asarray(np.maximum(chances, 1 - chances) if is_multi_label else chances.max(1, keepdims=True))


def _right(chances: Float[np.ndarray, "N C"], truth: Any, is_multi_label: bool) -> Any:
    return (chances >= 0.5) == truth if is_multi_label else (chances.argmax(1) == truth.argmax(1))[:, None]


def _check_fingerprint(fitted: str, found: str, folder: Path, remedy: str) -> None:
    if fitted != found:
        raise BadInput(
            f"the classifier was fitted on the model {fitted!r:.40}, but the model for {folder} is {found!r}: {remedy}"
        )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _checked(found: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The settings, if `save` could have written them; raises `BadModel` otherwise."""
    try:
        classes, report = found["classes"], found["report"]
        sound = found["format"] == FORMAT and type(classes) is list and len(classes) <= MOST_CLASSES
        sound = sound and all(map(is_label, classes)) and len({*map(type, classes)}) == 1
        sound = sound and len({*classes}) == len(classes) and type(found["is_multi_label"]) is bool
        sound = sound and 0 <= found["abstain_below"] <= 1 and isinstance(found["model"]["fingerprint"], str)
        sound = sound and isinstance(found["model"].get("precision"), str | None)
        sound = sound and {*report} == {one.name for one in fields(FitReport)} and isinstance(found["weights"], str)
        sound = sound and all(type(one) in (int, float) and math.isfinite(one) for one in report.values())
        sound = sound and 1 / HOTTEST <= report["temperature"] <= HOTTEST
    except (KeyError, TypeError, IndexError, AttributeError, OverflowError):
        sound = False
    if not sound:
        raise BadModel(f"{folder / CLASSIFIER} is not a classifier of format {FORMAT}; fit and save it again")
    return found


def _read_weights(folder: Path, digest: str, shape: tuple[int, int]) -> Float[np.ndarray, "C D1"]:
    path = folder / WEIGHTS
    with ExitStack() as stack:
        reader = WeightReader(folder, stack, "numpy", [path])
        kind = reader.kinds.get("weights")
        if kind is None or kind.type != "F32" or kind.shape != shape:
            raise BadModel(f"{path} holds {dict(reader.kinds)!r:.200}; expected F32 weights of shape {shape}")
        weights = reader.fp32("weights")
        if not np.isfinite(weights).all():
            raise reader.not_finite("weights")
    if _digest(path) != digest:
        raise BadModel(f"{path} does not match the {CLASSIFIER} beside it: saving was interrupted. Save it again")
    return np.asarray(weights, np.float64)  # as in `fit`: sums of fp32 weights cannot overflow in float64
