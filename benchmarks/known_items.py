"""Do queries generated from documents rank models as human relevance judgements do? Kendall's τ on SciFact.

    python -m benchmarks.known_items [MODEL …]

Every model is evaluated on SciFact's test queries, on titles as queries against the bodies, and on sentences as queries
against the rest of their documents. τ compares the ranking of the models by nDCG@10 with their ranking by relevance
judgements.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from likewise.data.datasets import data_folder
from likewise.evaluate import Cache, collection_task, evaluate
from likewise.evaluate.collection import read_collection
from likewise.evaluate.own_collection import known_items
from likewise.evaluate.task import Task

from .options import options
from .pages import PageTables, draw, rows
from .record import place, read, save

KINDS = ("judgements", "titles", "sentences")
MODELS = (
    *("likewise-mini", "likewise-static", "all-MiniLM-L6-v2", "e5-small-v2", "multilingual-e5-small-cut", "avg-glove"),
    *("bert-tiny-splade", "minilm-l6-h384-raw", "bert-cls(bert-tiny-splade)", "bert-cls(all-MiniLM-L6-v2)"),
)
"""Ten local models, good and bad: two are made worse by a pooling mode that is not their own."""


def tasks() -> list[Task]:
    """Return SciFact with its judged queries, with titles as queries, and with sentences as queries."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("set LIKEWISE_DATA to the folder with scifact/")
    judged = read_collection(folder / "scifact")
    untitled = replace(judged, titles=("",) * len(judged.ids))
    collections = (judged, known_items(judged), known_items(untitled))
    return [collection_task(replace(one, name=kind)) for one, kind in zip(collections, KINDS, strict=True)]


def kendall(a: Sequence[float], b: Sequence[float]) -> float:
    """Return Kendall's τ of two sequences of numbers without ties."""
    signs = [(a[i] - a[j]) * (b[i] - b[j]) for i, j in combinations(range(len(a)), 2)]
    return sum((sign > 0) - (sign < 0) for sign in signs) / len(signs)


def measure(models: Sequence[str]) -> dict[str, Any]:
    """Measure nDCG@10 for each model and kind of query, and τ between the judged queries and each other kind."""
    results = evaluate(list(models), tasks(), cache=Cache.of_user())
    if results.failed:
        raise SystemExit(f"{results.failed[0].model}: {results.failed[0].error}")
    values = {kind: {model: results[model, kind].value for model in results.models} for kind in KINDS}
    rows = {kind: [*of.values()] for kind, of in values.items()}
    return {"ndcg@10": values, "tau": {kind: kendall(rows[KINDS[0]], rows[kind]) for kind in KINDS[1:]}}


def table() -> list[str]:
    """Return a table with a row for each model, best first on judged queries, and τ."""
    stored = read("known_items")
    values, taus = stored["results"]["ndcg@10"], stored["results"]["tau"]
    models = sorted(values[KINDS[0]], key=values[KINDS[0]].get, reverse=True)
    body = [[model, *(f"{100 * values[kind][model]:.2f}" for kind in KINDS)] for model in models]
    body.append(["Kendall's τ with the order by judgements", "", *(f"{tau:.2f}" for tau in taus.values())])
    return rows("nDCG@10 on SciFact | judged claims | titles | sentences", body, f"{place(stored['machine'])}.")


TABLES: PageTables = {"docs/how-to/evaluate-on-your-documents.md": {"known-items": table}}


def main() -> None:
    """Measure the models, record them and draw the page's table."""
    args = options(__doc__, given={"models": [*MODELS]})
    save("known_items", measure(args.models))
    draw(TABLES)


if __name__ == "__main__":
    main()
