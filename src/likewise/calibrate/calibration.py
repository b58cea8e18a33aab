"""Calibration: what a model's cosines mean on one kind of text; computed from texts, saved as JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..array_types import Float
from ..embedder import Embedder
from ..errors import BadInput
from ..evaluate.statistics.significance import Interval
from ..runtime.arguments import whole_number
from ..runtime.atomic_files import atomic_file
from ..runtime.progress import Progress
from ..runtime.untrusted_files import read_object
from ..search.index import ModelIdentity
from ..search.texts.text_index import identity_of_embedder
from ..text.inputs import text_chunks
from ..text.truncation import Overflow
from .labelled_pairs import CRITERIA, IsotonicFit, LabelledFit
from .null_distribution import NullDistribution, chance_cosines

MOST_TEXTS = 20_000
"""The maximum number of texts to encode; more would add little information."""
PAIRS = 1_000_000  # random pairs to compare
FORMAT = "likewise-calibration-1"


@dataclass(frozen=True, eq=False)
class Calibration:
    """How often random pairs reach a cosine and, given labelled pairs, how often pairs at that cosine are positive."""

    model: ModelIdentity
    chance: NullDistribution
    texts: int
    """The number of distinct texts from which random pairs were drawn."""
    queries: int | None = None
    """The number of distinct queries, if random pairs consist of a query and a text."""
    labelled: LabelledFit | None = None

    def p_values(self, cosines: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        return self.chance.p_values(cosines)

    def scores(self, cosines: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """The fraction of pairs at these cosines that are positive, 0 to 1."""
        if self.labelled is None:
            raise BadInput(
                "this calibration has no labelled pairs, so it has no scores; to add them: likewise calibrate "
                "FILE --pairs labelled.csv"
            )
        return self.labelled.score(cosines)

    def check_model(self, model: ModelIdentity) -> None:
        """Raise if cosines are from another model, or mix int8 with another precision."""
        if difference := self.model.difference(model):
            raise BadInput(f"the calibration is for {difference}. To calibrate this model: likewise calibrate")

    def check_pairs(self, *, with_queries: bool) -> None:
        """Raise if the random pairs were pairs of texts but the cosines compare queries with texts, or vice versa."""
        if with_queries and self.queries is None:
            raise BadInput(
                "the calibration is for pairs of texts, but these are cosines of a query and a text, which are "
                "distributed differently. To calibrate them: likewise calibrate TEXTS --queries QUERIES"
            )
        if not with_queries and self.queries is not None:
            raise BadInput(
                "the calibration is for a query and a text (it was made with --queries), but these are cosines of two "
                "texts, which are distributed differently. To calibrate them: likewise calibrate TEXTS, without "
                "--queries"
            )

    def save(self, path: Path) -> None:
        with atomic_file(path) as partial:
            partial.write_text(json.dumps(self.as_json(), indent=1) + "\n", "utf-8")

    def as_json(self) -> dict[str, Any]:
        chance, labelled = self.chance, self.labelled
        return {
            "format": FORMAT,
            "model": self.model.as_json(),
            "texts": self.texts,
            "queries": self.queries,
            "chance": {
                "pairs": chance.pairs,
                "tail": {"from": chance.tail_from, "scale": chance.scale, "shape": chance.shape},
                "cosines": chance.cosines.tolist(),
                "shares": chance.shares.tolist(),
            },
            "labelled": None if labelled is None else _labelled_as_json(labelled),
        }

    @classmethod
    def load(cls, path: Path) -> "Calibration":
        """Load a calibration written by `save`."""
        if not path.is_file():
            raise BadInput(f"there is no calibration {path}; to create it: likewise calibrate FILE -o {path}")
        return cls.from_json(read_object(path), str(path))

    @classmethod
    def from_json(cls, found: dict[str, Any], source: str) -> "Calibration":
        """Restore a calibration from `as_json`; errors name the source."""
        if found.get("format") != FORMAT:
            raise BadInput(f"{source} has format {found.get('format')!r}; expected {FORMAT!r} (likewise calibrate)")
        try:
            null, labelled = found["chance"], found["labelled"]
            cosines, shares = (np.array(null[name], np.float64) for name in ("cosines", "shares"))
            scale, shape = (float(null["tail"][name]) for name in ("scale", "shape"))
            chance = NullDistribution(cosines, shares, int(null["pairs"]), scale, shape)
            model, queries = ModelIdentity.from_json(found["model"]), found["queries"]
            fit = None if labelled is None else _labelled_from_json(labelled)
            result = cls(model, chance, int(found["texts"]), None if queries is None else int(queries), fit)
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{source} is a damaged calibration: {error!r}; recreate it: likewise calibrate") from None
        sound = _is_curve(cosines, 1 - shares) and shares[-1] > 0 and 0 < scale < np.inf and 0 <= shape < np.inf
        if not sound or (fit and not _is_possible_fit(fit)):
            raise BadInput(f"{source} is a damaged calibration: it contains impossible values; recreate it: likewise "
                           "calibrate")  # fmt: skip
        return result


@dataclass(frozen=True)
class ChanceDraw:
    pairs: int = PAIRS
    seed: int = 0


def calibrate(
    embedder: Embedder,
    name: str,
    texts: Sequence[str],
    *,
    queries: Sequence[str] | None = None,
    draw: ChanceDraw = ChanceDraw(),
    overflow: Overflow = "warn",
    show_progress_bar: Progress = None,
) -> Calibration:
    """Encode a sample of texts and measure the cosines of random pairs; blank and repeated texts are skipped.

    A random pair is never a text with itself, nor a query with an equal text.

    Args:
        embedder: the model whose cosines are calibrated; messages refer to it as `name`.
        texts: unlabelled texts of the kind that will be compared, ideally thousands.
        queries: for search, texts like the queries you expect; random pairs then consist of a query and a text.
        draw: the number of random pairs to compare, and the seed for choosing the sample and the pairs.

    Raises:
        BadInput: there are fewer than 100 distinct texts or queries, or the model gives all texts the same vector.
    """
    pairs, seed = whole_number("pairs", draw.pairs, 1000), draw.seed
    sample = _sample(texts, seed)
    if queries is None:
        asked, vectors = None, embedder.encode(sample, overflow=overflow, show_progress_bar=show_progress_bar)
        cosines = chance_cosines(vectors, pairs, seed)
    else:
        asked = _sample(queries, seed)
        vectors = embedder.encode_document(sample, overflow=overflow, show_progress_bar=show_progress_bar)
        encoded = embedder.encode_query(asked, overflow=overflow, show_progress_bar=show_progress_bar)
        row = {text: i for i, text in enumerate(sample)}
        same = np.array([row.get(query, -1) for query in asked], np.int64)
        cosines = chance_cosines(vectors, pairs, seed, queries=encoded, same_text=same)
    chance = NullDistribution.of(cosines)
    return Calibration(identity_of_embedder(embedder, name), chance, len(sample), None if asked is None else len(asked))


def _sample(texts: Sequence[str], seed: int) -> list[str]:
    """Distinct, non-blank texts, at most 20,000, in the given order."""
    distinct = list(dict.fromkeys(text for chunk in text_chunks(texts) for text in chunk if text.strip()))
    rows = np.random.default_rng(seed).choice(len(distinct), min(len(distinct), MOST_TEXTS), replace=False)
    return [distinct[row] for row in np.sort(rows)]


def _labelled_as_json(fit: LabelledFit) -> dict[str, Any]:
    threshold = {"cosine": fit.threshold.value, "low": fit.threshold.low, "high": fit.threshold.high}
    counts = {"pairs": fit.pairs, "positives": fit.positives}
    curve = {"cosines": fit.score.x.tolist(), "scores": fit.score.y.tolist()}
    return {"threshold": threshold, "criterion": fit.criterion, "value": fit.value, **counts, **curve}


def _labelled_from_json(found: dict[str, Any]) -> LabelledFit:
    curve = IsotonicFit(np.array(found["cosines"], np.float64), np.array(found["scores"], np.float64))
    threshold = Interval(*(float(found["threshold"][key]) for key in ("cosine", "low", "high")))
    counts = int(found["pairs"]), int(found["positives"])
    return LabelledFit(curve, threshold, str(found["criterion"]), float(found["value"]), *counts)


def _is_possible_fit(fit: LabelledFit) -> bool:
    low, value, high = fit.threshold.low, fit.threshold.value, fit.threshold.high
    finite = bool(np.isfinite([low, value, high]).all())
    return finite and low <= high and fit.criterion in CRITERIA and _is_curve(fit.score.x, fit.score.y)


def _is_curve(x: Float[np.ndarray, "..."], y: Float[np.ndarray, "..."]) -> bool:
    """Whether y, a fraction at each x, never falls as x rises."""
    sound = x.ndim == 1 and x.shape == y.shape and len(x) > 0 and np.isfinite(x).all() and (np.diff(x) > 0).all()
    return bool(sound and (np.diff(y) >= 0).all() and ((y >= 0) & (y <= 1)).all())
