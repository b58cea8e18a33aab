"""Evaluate models on tasks or on your own data, with confidence intervals and significance tests.

>>> from likewise.evaluate import data_task, evaluate
>>> results = evaluate(["all-MiniLM-L6-v2", my_function], "sts")           # doctest: +SKIP
>>> results["all-MiniLM-L6-v2", "stsb"].value                              # doctest: +SKIP
>>> results = evaluate("all-MiniLM-L6-v2", data_task("pairs.csv"))         # doctest: +SKIP
>>> results = evaluate(with_baselines(["likewise-mini"]), collection_task("beir/scifact"))    # doctest: +SKIP

The names below are imported on first use, so that importing this package is cheap.
"""

from typing import TYPE_CHECKING

from ..runtime.lazy_imports import lazy_names

if TYPE_CHECKING:
    from .cache import Cache
    from .choice import Candidate, Choice, Variations, choose
    from .own_collection import collection_task
    from .own_data import data_task
    from .race import StoppingRule
    from .rankers import with_baselines
    from .reports.report import format_report
    from .results import Results
    from .runner import evaluate
    from .statistics.comparison import compare
    from .task import EvaluationSettings, Evidence, Result
    from .tasks.registry import SUITES, TASKS

__all__ = [
    "SUITES", "TASKS", "Cache", "Candidate", "Choice", "EvaluationSettings", "Evidence", "Result", "Results",
    "StoppingRule", "Variations", "choose", "collection_task", "compare", "data_task", "evaluate", "format_report",
    "with_baselines",
]  # fmt: skip

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "cache": ["Cache"],
        "choice": ["Candidate", "Choice", "Variations", "choose"],
        "own_collection": ["collection_task"],
        "own_data": ["data_task"],
        "race": ["StoppingRule"],
        "rankers": ["with_baselines"],
        "reports.report": ["format_report"],
        "results": ["Results"],
        "runner": ["evaluate"],
        "statistics.comparison": ["compare"],
        "task": ["EvaluationSettings", "Evidence", "Result"],
        "tasks.registry": ["SUITES", "TASKS"],
    },
)
