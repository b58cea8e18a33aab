"""A program's description of its model, for the head of the model card."""

from collections.abc import Sequence
from typing import Any

from .loading import refuse_argument


class SentenceTransformerModelCardData:
    """The licence, languages and name of a model, for the card that is saved with it after training."""

    def __init__(
        self,
        language: str | Sequence[str] | None = None,
        license: str | None = None,  # noqa: A002, sentence-transformers' name
        model_name: str | None = None,
        **others: Any,
    ) -> None:
        for name, value in others.items():
            refuse_argument(type(self).__name__, name, value, "edit README.md in the saved folder")
        given = {"language": language, "license": license, "model_name": model_name}
        self.metadata = {name: value for name, value in given.items() if value}
