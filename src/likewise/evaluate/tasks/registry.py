"""All tasks by name, and the suites that group them. Add new tasks here."""

from collections.abc import Sequence
from difflib import get_close_matches

from ...errors import BadInput
from ..task import Task
from . import probing, senteval
from .arguments import ARGUMENT_TASKS
from .clustering import CLUSTERING_TASKS
from .duplicates import DUPLICATE_TASKS
from .languages import LANGUAGE_TASKS
from .regressor import REGRESSOR_TASKS
from .retrieval import RETRIEVAL_TASKS
from .sts import STS_TASKS
from .triplets import TRIPLET_TASKS

_ALL: tuple[Task, ...] = (
    *(*STS_TASKS, *REGRESSOR_TASKS),
    *(*senteval.SENTEVAL_TASKS, *probing.PROBING_TASKS),
    *(*RETRIEVAL_TASKS, *DUPLICATE_TASKS, *CLUSTERING_TASKS),
    *(*TRIPLET_TASKS, *ARGUMENT_TASKS, *LANGUAGE_TASKS),
)
TASKS: dict[str, Task] = {task.name: task for task in _ALL}
SUITES: dict[str, tuple[str, ...]] = {
    suite: tuple(name for name, task in TASKS.items() if task.suite == suite)
    for suite in dict.fromkeys(task.suite for task in TASKS.values())
}
SEPARATE = ("multilingual", "domains")
"""Suites left out of `all`, which is limited to the English tasks that the papers evaluate."""
ALIASES: dict[str, tuple[str, ...]] = {
    "supervised": ("mr", "cr", "subj", "mpqa", "sst2", "sst5", "trec", "mrpc", "sick-e")
}
"""Other names for groups of tasks: SBERT-WK's evaluation script uses this one for SentEval's classification tasks."""


def select_tasks(names: str | Task | Sequence[str | Task]) -> tuple[Task, ...]:
    """Select tasks by name or suite, or "all" ("sts,senteval,stsb"): each task once, in the given order."""
    selected: dict[str, Task] = {}
    for part in [names] if isinstance(names, str | Task) else names:
        for task in [part] if isinstance(part, Task) else _named(part):
            if selected.setdefault(task.name, task) is not task:
                raise BadInput(f"there are two different tasks named {task.name!r}; rename one of them")
    if not selected:
        raise BadInput(f"no task was given; the suites are {', '.join([*SUITES, *ALIASES, 'all'])}")
    return tuple(selected.values())


def _named(names: str) -> list[Task]:
    groups = {name: (name,) for name in TASKS} | ALIASES | SUITES
    groups["all"] = tuple(name for name, task in TASKS.items() if task.suite not in SEPARATE)
    tasks: list[Task] = []
    for name in filter(None, (part.strip().lower() for part in names.split(","))):
        if name not in groups:
            near = get_close_matches(name, [*TASKS, *SUITES, *ALIASES], n=3)
            meant = f"Did you mean {' or '.join(near)}? " if near else ""
            raise BadInput(
                f"there is no task or suite {name!r}. {meant}Suites are {', '.join([*SUITES, *ALIASES, 'all'])}; "
                f"tasks are {', '.join(TASKS)}"
            )
        tasks += (TASKS[one] for one in groups[name])
    return tasks
