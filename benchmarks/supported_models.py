"""Draws the table of docs/supported-models.md from docs/supported-models.toml.

python -m benchmarks.supported_models
"""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from .pages import ROOT, PageTables, draw

FILE = ROOT / "docs" / "supported-models.toml"
ENGINES = {"native": "native, torch, numpy", "refused": "refused"}


def supported_models() -> dict[str, dict[str, Any]]:
    """The rows by the models' names."""
    return tomllib.loads(FILE.read_text("utf-8"))


def table() -> Iterator[str]:
    """A row for each model, and a line that counts them."""
    rows = supported_models()
    yield "| model | kind | built of | tokens | computed by | prompts in the folder | licence | note |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, row in rows.items():
        parts = ", ".join([row["family"], *row.get("modules", [])])
        prompts = ", ".join(row.get("prompts", {})) or "–"
        cells = [
            name,
            row.get("kind", "embedder"),
            parts,
            str(row.get("max_seq_length", "any")),
            ENGINES[row["engine"]],
        ]
        yield f"| {' | '.join([*cells, prompts, row['licence'], _note(row)])} |"
    counts = [sum(row["engine"] == engine for row in rows.values()) for engine in ENGINES]
    yield ""
    yield f"{len(rows)} models: {counts[0]} computed by every engine, {counts[1]} refused."


def _note(row: Mapping[str, Any]) -> str:
    return f"instead: {row['instead']}" if "instead" in row else row.get("note", "").replace("\n", "\\n")


TABLES: PageTables = {"docs/supported-models.md": {"supported": lambda: [*table()]}}


if __name__ == "__main__":
    draw(TABLES)
