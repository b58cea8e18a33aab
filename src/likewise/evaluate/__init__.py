"""Evaluation of models on tasks or your own data, with confidence intervals and significance tests.

>>> from likewise.evaluate import data_task, evaluate
>>> results = evaluate(["all-MiniLM-L6-v2", my_function], "sts")           # doctest: +SKIP
>>> results["all-MiniLM-L6-v2", "stsb"].value                              # doctest: +SKIP
>>> results = evaluate("all-MiniLM-L6-v2", data_task("pairs.csv"))         # doctest: +SKIP

The names below are imported on first use, so that importing this package is cheap.
"""

from typing import TYPE_CHECKING

from ..runtime.lazy_imports import lazy_names

if TYPE_CHECKING:
    from .cache import Cache
    from .own_data import data_task
    from .reports.report import compare_two, format_report
    from .results import Cell, Results
    from .runner import evaluate
    from .statistics.comparison import Comparison, compare, estimate
    from .statistics.hypothesis_tests import holm, mcnemar, over_seeds, steiger, williams
    from .statistics.significance import Interval
    from .task import EvaluationSettings, Evidence, Result, Score, Task, TaskVectors
    from .tasks.registry import SUITES, TASKS

__all__ = [
    "SUITES",
    "TASKS",
    "Cache",
    "Cell",
    "Comparison",
    "EvaluationSettings",
    "Evidence",
    "Interval",
    "Result",
    "Results",
    "Score",
    "Task",
    "TaskVectors",
    "compare",
    "compare_two",
    "data_task",
    "estimate",
    "evaluate",
    "format_report",
    "holm",
    "mcnemar",
    "over_seeds",
    "steiger",
    "williams",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "cache": ("Cache",),
        "statistics.comparison": ("Comparison", "compare", "estimate"),
        "statistics.hypothesis_tests": ("holm", "mcnemar", "over_seeds", "steiger", "williams"),
        "reports.report": ("compare_two", "format_report"),
        "results": ("Cell", "Results"),
        "runner": ("evaluate",),
        "statistics.significance": ("Interval",),
        "task": ("Evidence", "Result", "Score", "EvaluationSettings", "Task", "TaskVectors"),
        "own_data": ("data_task",),
        "tasks.registry": ("SUITES", "TASKS"),
    },
)
