"""Small sources and outputs for the tests of this folder."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from likewise.distribute.encode import EncodeReport, encode_to_folder, in_this_process
from likewise.distribute.plan import EncodeSettings
from likewise.distribute.sources.source_files import ChosenColumns
from likewise.files.vector_origin import VectorOrigin

WORDS = "red green blue cat dog sun moon sea tree house river stone bread wine salt".split()  # noqa: SIM905


def sentence(number: int) -> str:
    """A text of a few words, another for each number."""
    return " ".join(WORDS[(number * step + step) % len(WORDS)] for step in range(1, 3 + number % 5)) + f" {number}"


def jsonl(path: Path, rows: Iterable[Any]) -> Path:
    """A file with an object on each line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def numbered(path: Path, count: int = 10, first: int = 0) -> Path:
    """A file of rows with id and text."""
    return jsonl(path, [{"id": f"n{i}", "text": sentence(i)} for i in range(first, first + count)])


def settings(shard_rows: int = 4, *, skip: bool = False, **columns: Any) -> EncodeSettings:
    """Small shards, and columns by the names of `ChosenColumns`."""
    return EncodeSettings(ChosenColumns(**columns), shard_rows, skips_bad_rows=skip)


def encoded(paths: Iterable[Path], folder: Path, embedder: Any, chosen: EncodeSettings, **options: Any) -> EncodeReport:
    """Encode in this process; `encode_shards` replaces how."""
    encode_shards = options.pop("encode_shards", None) or in_this_process(embedder)
    origin = options.pop("origin", None) or VectorOrigin.of(embedder, "static")
    options = {"show_progress_bar": False, **options}
    return encode_to_folder(list(paths), folder, origin, encode_shards, chosen, **options)


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """All rows of an output, in order, shard by shard."""
    files = sorted((folder / "shards").glob("*.parquet"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def content(folder: Path) -> dict[str, bytes]:
    """Every file of an output by its name, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
