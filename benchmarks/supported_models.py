"""Draws the table of docs/supported-models.md from docs/supported-models.toml.

python -m benchmarks.supported_models
"""

import tomllib
from collections.abc import Mapping
from typing import Any

from .pages import ROOT, PageTables, draw, rows

FILE = ROOT / "docs" / "supported-models.toml"
ENGINES = {"native": "native, torch, numpy", "refused": "not supported"}


def supported_models() -> dict[str, dict[str, Any]]:
    """Read the rows by model name."""
    return tomllib.loads(FILE.read_text("utf-8"))


def table() -> list[str]:
    """Return a table with a row for each model, and a line with their counts."""
    models, body = supported_models(), []
    for name, row in models.items():
        parts = ", ".join([row["family"], *row.get("modules", [])])
        prompts = ", ".join(row.get("prompts", {})) or "–"
        cells = [
            name,
            row.get("kind", "embedder"),
            parts,
            str(row.get("max_seq_length", "any")),
            ENGINES[row["engine"]],
        ]
        body.append([*cells, prompts, row["licence"], _note(row)])
    counts = [sum(row["engine"] == engine for row in models.values()) for engine in ENGINES]
    below = f"{len(models)} models: {counts[0]} run with every engine, {counts[1]} are not supported."
    return rows("model | kind | components | tokens | engines | prompts in the folder | licence | note", body, below)


def _note(row: Mapping[str, Any]) -> str:
    return f"instead: {row['instead']}" if "instead" in row else row.get("note", "").replace("\n", "\\n")


TABLES: PageTables = {"docs/supported-models.md": {"supported": table}}


if __name__ == "__main__":
    draw(TABLES)
