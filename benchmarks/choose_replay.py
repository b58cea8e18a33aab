"""Does `likewise choose` find the best candidate, and how much of the data does it need? Races replayed 200 times.

    python -m benchmarks.choose_replay

Every candidate is scored once on every item; each race then draws the items in a different random order. A race is
right if it chooses the candidate with the highest mean over all items, or one within the margin of it. An undecided
race has used all items; its leader counts as its choice. The table in docs/how-to/choose-a-model.md is drawn from the
results.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from likewise import Embedder
from likewise.data.datasets import data_folder
from likewise.evaluate.collection import read_collection
from likewise.evaluate.items import ItemSource, items_of_collection, items_of_data
from likewise.evaluate.race import StoppingRule, race

from .pages import PageTables, draw, rows
from .record import place, read, save

MODELS = ("likewise-mini", "likewise-static", "avg-glove")
DIMENSIONS = (None, 96)
DRAWS = 200
MARGINS = (0.01, 0.02, 0.05)


def sources() -> Mapping[str, ItemSource]:
    """Return three kinds of local data."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("set LIKEWISE_DATA to the folder of data sets")
    return {
        "NLI triplets": items_of_data("nli/triplets"),
        "Quora's question pairs": items_of_data("qqp_subset/pairs"),
        "SciFact": items_of_collection(read_collection(folder / "scifact")),
    }


def all_scores(source: ItemSource) -> dict[str, np.ndarray]:
    """Score every item with each candidate."""
    found = {}
    for name in MODELS:
        model = Embedder.load(name)

        def encode(texts: list[str], role: str | None = None, model: Embedder = model) -> np.ndarray:
            how = model.encode if role is None else getattr(model, f"encode_{role}")
            return np.asarray(how(texts, overflow="truncate", show_progress_bar=False))

        smaller = [dim for dim in DIMENSIONS if dim is None or dim < model.dimension]
        rows = source.scorer(encode)(np.arange(source.count), [(dim, None) for dim in smaller])
        found |= {f"{name} {dim or model.dimension}": row for dim, row in zip(smaller, rows, strict=True)}
    return found


def replayed(scores: np.ndarray, margin: float) -> dict[str, float]:
    """Run DRAWS races; returns the shares of right and of undecided races, and the fraction of the items they used."""
    means, right, undecided, used = scores.mean(1), 0, 0, []
    for seed in range(DRAWS):
        found = race(
            lambda alive, items: scores[np.ix_(alive, items)],
            *scores.shape,
            rule=StoppingRule(margin=margin, seed=seed),
        )
        right += bool(means.max() - means[found.best] < margin)
        undecided += found.verdict == "undecided"
        used.append(found.used.max() / scores.shape[1])
    return {"right": right / DRAWS, "undecided": undecided / DRAWS, "items": float(np.median(used)),
            "items of 95 %": float(np.quantile(used, 0.95))}  # fmt: skip


def measure() -> dict[str, Any]:
    """Replay races for every source and margin, and record the candidates' means."""
    results = {}
    for name, source in sources().items():
        scores = all_scores(source)
        rows = np.stack([*scores.values()])
        results[name] = {
            "metric": source.metric,
            "items": source.count,
            "means": {candidate: float(row.mean()) for candidate, row in scores.items()},
            "margins": {str(margin): replayed(rows, margin) for margin in MARGINS},
        }
        print(name, results[name], flush=True)
    return results


def table() -> list[str]:
    """A line for each data set and margin."""
    stored, body = read("choose_replay"), []
    for name, of in stored["results"].items():
        first, second = sorted(of["means"].values(), reverse=True)[:2]
        for margin, one in of["margins"].items():
            needed = f"{one['items']:.1%} ({one['items of 95 %']:.1%})"
            best = f"{100 * first:.2f}, {100 * second:.2f}"
            cells = f"{of['items']:,}", best, margin, f"{one['right']:.1%}", f"{one['undecided']:.1%}", needed
            body.append([name, *cells])
    head = "data | items | best, second | margin | right | undecided | items needed, median (95 %)"
    return rows(head, body, f"{place(stored['machine'])}.")


TABLES: PageTables = {"docs/how-to/choose-a-model.md": {"choose-replay": table}}

if __name__ == "__main__":
    save("choose_replay", measure())
    draw(TABLES)
