"""How much do a model's vectors differ between engines and precisions? The results decide which may share an index.

    python -m benchmarks.computations             measure, into results/computations.json, and draw the table

For each pair of computations, measures the largest 1 − cosine between a text's two vectors, and the largest change in
the cosine of two texts, over real sentences and all three kinds of model.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from jaxtyping import Float

from likewise import Embedder
from likewise.engine_registry import ENGINES, mixes_int8

from .options import options
from .pages import PageTables, draw, rows
from .real_sentences import real_sentences
from .record import place, read, save

MODELS = ["likewise-mini", "likewise-static", "all-MiniLM-L6-v2"]
PRECISIONS = {"native": ("fp32", "bf16", "int8"), "numpy": ("fp32",), "torch": ("fp32", "bf16", "fp16")}
TEXTS = 2000
KINDS = {
    "fp32 by two engines": lambda first, second: first == second == "fp32",
    "16 bits with fp32 or 16 bits": lambda first, second: not mixes_int8(first, second),
    "int8 with another precision": lambda _first, _second: True,
}
"""The rows of the table in docs: a pair of precisions belongs to the first kind that matches."""


def differences(model: str, texts: Sequence[str]) -> list[dict[str, object]]:
    """Return one row for each pair of installed computations."""
    vectors: dict[tuple[str, str], Float[np.ndarray, "N E"]] = {}
    for engine, precisions in PRECISIONS.items():
        for precision in precisions if ENGINES[engine].installed else ():
            embedder = Embedder.load(model, engine=engine, precision=precision, device="cpu")
            found = embedder.encode(texts, normalize_embeddings=True, overflow="truncate", show_progress_bar=False)
            vectors[engine, precision] = found.astype(np.float64)
    return [
        {
            "model": model,
            "first": first,
            "second": second,
            "text": float(1 - (vectors[first] * vectors[second]).sum(1).min()),
            "pair": float(np.abs(vectors[first] @ vectors[first].T - vectors[second] @ vectors[second].T).max()),
        }
        for first, second in combinations(vectors, 2)
    ]


def table() -> list[str]:
    """Return a table of the largest differences for each kind of pair."""
    found = read("computations")
    results, body = found["results"], []
    for kind in KINDS:
        pairs = [row for row in results["pairs"] if _kind(row) == kind]
        body.append([kind, *(f"{max(float(row[what]) for row in pairs):.1e}" for what in ("text", "pair"))])
    about = f"{results['texts']:,} real sentences, {', '.join(results['models'])}; {place(found['machine'])}"
    head = "compared | largest 1 − cosine of a text's vectors | largest change of a cosine"
    return rows(head, body, f"{about} ([script](../benchmarks/computations.py)).")


TABLES: PageTables = {"docs/indexes.md": {"computations": table}}


def _kind(row: dict[str, list[str]]) -> str:
    return next(kind for kind, fits in KINDS.items() if fits(row["first"][1], row["second"][1]))


def main() -> None:
    args = options(__doc__, texts=TEXTS, models=MODELS)
    texts = real_sentences(args.texts)
    pairs = [row for model in args.models for row in differences(model, texts)]
    for row in pairs:
        print(*row.values())
    save("computations", {"models": args.models, "texts": len(texts), "pairs": pairs})
    draw(TABLES)


if __name__ == "__main__":
    main()
