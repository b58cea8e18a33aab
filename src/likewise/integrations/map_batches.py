"""EncodeBatches turns the texts of a distributed table into vectors, batch by batch, for Ray Data, Spark and Daft.

This module does not import these libraries: they call the object with their own batches, in their own processes. Each
process loads the model once, for its first batch.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from ..embedder import Embedder


class EncodeBatches:
    """Adds a column of vectors to batches of rows.

    Ray Data::

        table.map_batches(EncodeBatches, fn_constructor_kwargs={"model": "likewise-mini"}, concurrency=4)

    Spark, which needs the new column in its schema (`ArrayType(FloatType())`)::

        table.mapInPandas(EncodeBatches("likewise-mini").frames, schema)

    Every machine must be able to find the model by this name or folder. `vectors` names the new column; other options
    are passed to `Embedder.load`.
    """

    def __init__(self, model: str = "likewise-mini", column: str = "text", vectors: str = "vector", **options: Any):
        self.model, self.column, self.vectors, self.options = model, column, vectors, options

    @cached_property
    def embedder(self) -> Embedder:
        """The model, loaded on first use."""
        return Embedder.load(self.model, **self.options)

    def __getstate__(self) -> dict[str, Any]:
        """The state to pickle, without the model, because each process loads its own copy."""
        return {key: value for key, value in vars(self).items() if key != "embedder"}

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Add a float32 column (n, E) to a batch of columns, as in Ray Data and `datasets.map`."""
        return {**batch, self.vectors: self.encode(batch[self.column])}

    def frames(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Add a column of lists to each pandas frame, for Spark's `mapInPandas`."""
        for frame in frames:
            yield frame.assign(**{self.vectors: list(self.encode(frame[self.column]))})

    def encode(self, texts: Iterable[str]) -> Any:
        """The float32 vectors (n, E) of the texts."""
        return self.embedder.encode(list(texts), show_progress_bar=False)
