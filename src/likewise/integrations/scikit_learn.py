"""A scikit-learn transformer from texts to vectors, for pipelines and grid searches [extra: scikit-learn].

make_pipeline(EmbeddingTransformer("likewise-mini"), LogisticRegression()).fit(texts, labels)
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from ..array_types import Float
from ..embedder import Embedder
from ..model_files import DEFAULT_MODEL
from ..runtime.installation import missing_extra

try:
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError:
    raise missing_extra("scikit-learn", "scikit-learn", "EmbeddingTransformer") from None

LOAD = lru_cache(4)(Embedder.load)  # so that a grid search loads each model once


class EmbeddingTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns texts into vectors; its parameters select the model and can be varied in a grid search.

    `GridSearchCV(pipeline, {"embeddingtransformer__pooling": ["mean", "cls", "max"]})` compares pooling methods.
    """

    def __init__(
        self,
        model: Any = DEFAULT_MODEL,
        *,
        pooling: str | None = None,
        engine: str | None = None,
        precision: str | None = None,
        max_seq_length: int | None = None,
        overflow: str = "warn",
        normalize_embeddings: bool = False,
    ) -> None:
        """See `Embedder.load` and `Embedder.encode`; `model` may also be an embedder, which is used unchanged."""
        self.model, self.pooling, self.engine, self.precision = model, pooling, engine, precision
        self.max_seq_length, self.overflow, self.normalize_embeddings = max_seq_length, overflow, normalize_embeddings

    def fit(self, texts: Iterable[str], y: Any = None) -> "EmbeddingTransformer":  # noqa: ARG002
        """Load the model, so that a wrong name raises an error early; nothing is learned."""
        self.n_features_out_ = self.embedder.dimension
        return self

    def transform(self, texts: Iterable[str]) -> Float[np.ndarray, "N E"]:
        """A vector for each text."""
        options: Any = {"overflow": self.overflow, "normalize_embeddings": self.normalize_embeddings}
        return self.embedder.encode(texts, **options, show_progress_bar=False)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:  # noqa: ARG002
        """The name of each dimension."""
        return np.array([f"embedding{i}" for i in range(self.embedder.dimension)], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        """Always True, because texts can be transformed without fitting."""
        return True

    @property
    def embedder(self) -> Embedder:
        """The embedder selected by the parameters."""
        if isinstance(self.model, Embedder):
            return self.model
        names = ("pooling", "engine", "precision", "max_seq_length")
        return LOAD(self.model, **{name: getattr(self, name) for name in names})
