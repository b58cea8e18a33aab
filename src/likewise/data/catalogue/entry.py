"""Catalogue entries: a data set's files with columns and sizes, its licence, and where to get it."""

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
"""The names of all text columns, besides negative_1, negative_2, …"""


@dataclass(frozen=True)
class HubFiles:
    """Where to download a file from the Hugging Face hub: patterns whose matches are read in this order.

    `filename_column` names a column to fill with each file's name without its suffix (qrels/test.tsv → "test").
    """

    repository: str
    revision: str
    files: tuple[str, ...]
    filename_column: str | None = None


@dataclass(frozen=True)
class DatasetFile:
    """A file of a data set: its expected columns, and how to verify it.

    `rows` and `sha256` describe the copy used for this project's scores, or are None if no copy was used. `published`
    is the number of rows its authors published, if known. `kind` says whether the copy with `rows` rows is complete.
    `aliases` maps an expected column to its name in published copies.
    """

    columns: tuple[str, ...]
    rows: int | None = None
    sha256: str | None = None
    published: int | None = None
    kind: Completeness = "complete"
    aliases: Mapping[str, str] = field(default_factory=dict)
    hub: HubFiles | None = None
    note: str = ""


@dataclass(frozen=True)
class Dataset:
    """A data set by name. Files are read as `name/file`; `licence` has at most 15 characters; `terms` gives details."""

    name: str
    title: str
    files: Mapping[str, DatasetFile]
    licence: str
    citation: str
    homepage: str
    obtain: str
    terms: str = ""
    note: str = ""
