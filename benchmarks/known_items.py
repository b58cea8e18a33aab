"""Do queries made from the documents rank models as people's judgements do? Kendall's τ on SciFact.

    python -m benchmarks.known_items MODEL MODEL …

Every model is evaluated on SciFact's test queries, on its titles against bodies, and on sentences against the rest of
their documents. τ compares the order of the models' nDCG@10 with the order by judgements.
"""

import argparse
from dataclasses import replace
from itertools import combinations

from likewise.data.datasets import data_folder
from likewise.evaluate import collection_task, evaluate
from likewise.evaluate.cache import Cache
from likewise.evaluate.collection import read_collection
from likewise.evaluate.known_items import known_items

KINDS = ("judgements", "titles", "sentences")
ENOUGH = 0.7


def tasks():
    """SciFact as it is judged, and with queries from its titles and from its sentences."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("set LIKEWISE_DATA to the folder with scifact/")
    judged = read_collection(folder / "scifact")
    untitled = replace(judged, titles=("",) * len(judged.ids))
    collections = (judged, known_items(judged), known_items(untitled))
    return [collection_task(replace(one, name=kind)) for one, kind in zip(collections, KINDS, strict=True)]


def kendall(a, b) -> float:
    """Kendall's τ of two rows of numbers without ties."""
    signs = [(a[i] - a[j]) * (b[i] - b[j]) for i, j in combinations(range(len(a)), 2)]
    return sum((sign > 0) - (sign < 0) for sign in signs) / len(signs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    results = evaluate(parser.parse_args().models, tasks(), cache=Cache.of_user())
    values = {kind: [results[model, kind].value for model in results.models] for kind in KINDS}
    for i, model in enumerate(results.models):
        print(f"{model:32}", *(f"{kind} {100 * values[kind][i]:6.2f}" for kind in KINDS), sep="  ")
    for kind in KINDS[1:]:
        tau = kendall(values["judgements"], values[kind])
        verdict = "reaches" if tau >= ENOUGH else "does not reach"
        print(f"{kind}: τ = {tau:.2f} over {len(results.models)} models, which {verdict} {ENOUGH}")


if __name__ == "__main__":
    main()
