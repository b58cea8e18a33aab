"""A model's properties, and the scores and confidence intervals from its model card."""

import asyncio
import re
from pathlib import Path
from typing import Any

from ...errors import BadModel
from ...runtime.untrusted_files import read_text
from ..model_store import model_folder
from ..serve_settings import ServeSettings
from ..web.bodies import Body
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Reply
from .computing import ModelName, model_for

CARD = "README.md"
MOST_BYTES = 1 << 20
COLUMNS = ("× 100", "95 % interval", "items")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
INTERVAL = re.compile(rf"({NUMBER.pattern}) … ({NUMBER.pattern})")


class CardQuery(Body):
    model: ModelName = None


def model_card_routes(settings: ServeSettings) -> list[ApiRoute]:  # noqa: ARG001, one signature for all
    answer = {"type": "object", "required": ["model", "facts", "scores", "notes"]}
    return [ApiRoute("GET", "/card", show_card, "A model's properties and scores", query=CardQuery, answer=answer)]


async def show_card(exchange: Exchange) -> Reply:
    served = await model_for(exchange, exchange.query.model, "embedder")
    model, fingerprint = served.model, await served.fingerprint()
    text = await asyncio.to_thread(card_text, model_folder(model))
    facts = {
        **model.describe(),
        "numbers": model.dimension,
        "longest_input": model.tokenizer.max_seq_length,
        "vocabulary": model.tokenizer.vocabulary,
        "prompts": dict(model.manifest.prompts),
        "precision": model.precision,
        "fingerprint": fingerprint,
        **{field: front_value(text, field) for field in ("license", "language", "base_model")},
    }
    named = {"model": served.name, "about": about(text)}
    return Reply({**named, "facts": facts, "scores": card_scores(text), "notes": card_notes(text)})


def card_text(folder: Path) -> str:
    """Read the model card in a model's folder; returns an empty string if it is missing or unreadable."""
    try:
        return read_text(folder / CARD, MOST_BYTES) or ""
    except BadModel:
        return ""


def front_value(card: str, field: str) -> str | None:
    """Return a field's value from the YAML front matter of a card, as text."""
    if not card.startswith("---\n"):
        return None
    found = re.search(rf"^{field}: *(\S.*)$", card.partition("\n---\n")[0], re.MULTILINE)
    return found[1].strip() if found else None


def about(card: str) -> str | None:
    """Return the paragraph below a card's title, without backticks."""
    found = re.search(r"^# .+\n+([^#\n|`<\[!-].*)$", card, re.MULTILINE)
    return found[1].replace("`", "") if found else None


def section(card: str, title: str) -> str:
    """Return the text below a second-level heading."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", card, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def card_scores(card: str) -> list[dict[str, Any]]:
    """Parse the score table that likewise writes into cards: scores × 100 with the bounds of their 95 % intervals.

    Tables with other columns are ignored.
    """
    lines = [line for line in section(card, "Scores").splitlines() if line.startswith("|")]
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    if not table or not {*COLUMNS} <= {*table[0]}:
        return []
    places = [table[0].index(column) for column in COLUMNS]
    rows = [(row[0], *(row[place] for place in places)) for row in table[2:] if len(row) == len(table[0])]
    return [_score(*row) for row in rows if NUMBER.fullmatch(row[1])]


def _score(name: str, score: str, interval: str, items: str) -> dict[str, Any]:
    bounds = INTERVAL.fullmatch(interval)
    low, high = map(float, bounds.groups()) if bounds else (None, None)
    digits = items.replace(",", "")
    count = int(digits) if digits.isdecimal() else None
    return {"name": name, "score": float(score), "low": low, "high": high, "items": count}


def card_notes(card: str) -> list[str]:
    """Return a card's notes on its scores and on the model's limits, each a sentence or two long."""
    on_scores = section(card, "Scores").partition("|")[0].split("\n\n")
    limits = re.findall(r"^- (.+)$", section(card, "Limits"), re.MULTILINE)
    notes = (text.replace("`", "").strip() for text in (*on_scores, *limits))
    return [note for note in notes if note]
