"""On which tasks are likewise-mini and likewise-small significantly better or worse than all-MiniLM-L6-v2?

python -m benchmarks.model_comparisons
"""

from likewise.evaluate import evaluate
from likewise.evaluate.cache import Cache
from likewise.evaluate.reports.report import compare_two

from .record import save

OTHER = "all-MiniLM-L6-v2"


def main() -> None:
    found = {}
    for model in ("likewise-mini", "likewise-small"):
        compared = compare_two(evaluate([OTHER, model], "all", cache=Cache.of_user()), OTHER, model)
        found[model] = {
            name: {"difference": round(100 * one.difference.value, 2), "verdict": one.verdict(model, OTHER)}
            for name, one in compared.items()
        }
    save("model_comparisons", {"other": OTHER, "models": found})


if __name__ == "__main__":
    main()
