"""How good vectors are, and how sure one may be of it.

>>> from likewise.evaluate import evaluate
>>> found = evaluate(["all-MiniLM-L6-v2", my_function], "sts")   # doctest: +SKIP
>>> found["all-MiniLM-L6-v2", "stsb"].value                      # doctest: +SKIP

Importing this package costs nothing: each name below arrives with its first use.
"""

from typing import TYPE_CHECKING

from ..lazy import arriving

if TYPE_CHECKING:
    from .adapter import for_mteb
    from .cache import Cache
    from .comparison import Comparison, compared, estimate
    from .datasets import read
    from .hypotheses import holm, mcnemar, over_seeds, steiger, williams
    from .results import Cell, Results
    from .runner import evaluate
    from .sheet import duel, report
    from .significance import Interval
    from .task import Evidence, Result, Score, Settings, Task, Vectors
    from .tasks import SUITES, TASKS

__all__ = [
    "SUITES",
    "TASKS",
    "Cache",
    "Cell",
    "Comparison",
    "Evidence",
    "Interval",
    "Result",
    "Results",
    "Score",
    "Settings",
    "Task",
    "Vectors",
    "compared",
    "duel",
    "estimate",
    "evaluate",
    "for_mteb",
    "holm",
    "mcnemar",
    "over_seeds",
    "read",
    "report",
    "steiger",
    "williams",
]

__getattr__, __dir__ = arriving(
    __name__,
    {
        "adapter": ("for_mteb",),
        "cache": ("Cache",),
        "comparison": ("Comparison", "compared", "estimate"),
        "datasets": ("read",),
        "hypotheses": ("holm", "mcnemar", "over_seeds", "steiger", "williams"),
        "sheet": ("duel", "report"),
        "results": ("Cell", "Results"),
        "runner": ("evaluate",),
        "significance": ("Interval",),
        "task": ("Evidence", "Result", "Score", "Settings", "Task", "Vectors"),
        "tasks": ("SUITES", "TASKS"),
    },
)
