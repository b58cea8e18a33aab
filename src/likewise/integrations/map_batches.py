"""EncodeBatches: texts of a distributed table to vectors, a batch at a time, for Ray Data, Spark and Daft.

None of them is imported here: each calls the object with batches of its own kind, in processes of its own. The model is
loaded once in each process, when its first batch comes.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from ..embedder import Embedder


class EncodeBatches:
    """Adds a column of vectors to batches of rows.

    Ray Data::

        table.map_batches(EncodeBatches, fn_constructor_kwargs={"model": "likewise-mini"}, concurrency=4)

    Spark, whose schema needs the new column (`ArrayType(FloatType())`)::

        table.mapInPandas(EncodeBatches("likewise-mini").frames, schema)

    Args:
        model: its name or folder, found by every machine.
        column: the column of texts.
        vectors: the name of the new column.
        options: keyword arguments of `Embedder.load`: engine, precision …
    """

    def __init__(
        self, model: str = "likewise-mini", column: str = "text", vectors: str = "vector", **options: Any
    ) -> None:
        self.model, self.column, self.vectors, self.options = model, column, vectors, options

    @cached_property
    def embedder(self) -> Embedder:
        """The model, loaded when it is first used."""
        return Embedder.load(self.model, **self.options)

    def __getstate__(self) -> dict[str, Any]:
        """Without the loaded model: each process loads its own."""
        return {key: value for key, value in vars(self).items() if key != "embedder"}

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """A batch of columns, as Ray Data and `datasets.map` have them, with one more: (n, E), float32."""
        return {**batch, self.vectors: self.encode(batch[self.column])}

    def frames(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Frames of pandas, as Spark's `mapInPandas` has them, each with a column of lists more."""
        for frame in frames:
            yield frame.assign(**{self.vectors: list(self.encode(frame[self.column]))})

    def encode(self, texts: Iterable[str]) -> Any:
        """The vectors of texts, (n, E), float32."""
        return self.embedder.encode(list(texts), show_progress_bar=False)
