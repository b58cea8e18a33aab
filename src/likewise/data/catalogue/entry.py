"""What is known of a data set: its files, their columns and sizes, its licence, and where it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Completeness = Literal["complete", "partial", "look-alike"]

SCORED = ("sentence1", "sentence2", "score")
LABELLED = ("sentence1", "sentence2", "label")
TEXT = ("text", "label")
TRIPLETS = ("anchor", "positive", "negative")
CAPTIONS = ("caption1", "caption2", "caption3", "caption4", "caption5")
TEXT_COLUMNS = ("text", "sentence1", "sentence2", *TRIPLETS, *CAPTIONS)
"""The columns that hold texts, wherever they occur."""


@dataclass(frozen=True)
class HubFiles:
    """Where a file is on the Hugging Face hub: patterns of files, read one after the other.

    `stem` names a column to be filled with each file's name without its ending (qrels/test.tsv → "test").
    """

    repository: str
    revision: str
    files: tuple[str, ...]
    stem: str | None = None


@dataclass(frozen=True)
class DatasetFile:
    """A file of a data set: the columns wanted of it, and how to know it.

    `rows` and `sha256` are those of the copy that this project's figures were measured on, None where it had none.
    `published` is the number of rows its authors published, where that is known. `kind` says what the copy with
    `rows` is. `called` maps a wanted column to the name that published copies use.
    """

    columns: tuple[str, ...]
    rows: int | None = None
    sha256: str | None = None
    published: int | None = None
    kind: Completeness = "complete"
    called: Mapping[str, str] = field(default_factory=dict)
    hub: HubFiles | None = None
    note: str = ""


@dataclass(frozen=True)
class Dataset:
    """A data set by name. `files` are found as `name/file`; `licence` in at most 15 letters, `terms` for the rest."""

    name: str
    title: str
    files: Mapping[str, DatasetFile]
    licence: str
    citation: str
    homepage: str
    obtain: str
    terms: str = ""
    note: str = ""
