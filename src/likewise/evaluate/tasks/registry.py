"""Every task by name, and the suites they make up. A task is added by a line here."""

from collections.abc import Sequence
from difflib import get_close_matches

from ...errors import BadInput
from ..task import Task
from . import probing, senteval
from .arguments import ARGUMENT_TASKS
from .clustering import CLUSTERING_TASKS
from .duplicates import DUPLICATE_TASKS
from .paraphrase_mining import MINING_TASKS
from .regressor import REGRESSOR_TASKS
from .retrieval import RETRIEVAL_TASKS
from .sts import STS_TASKS
from .triplets import TRIPLET_TASKS

_ALL: tuple[Task, ...] = (
    *(*STS_TASKS, *REGRESSOR_TASKS),
    *(*senteval.SENTEVAL_TASKS, *probing.PROBING_TASKS),
    *(*RETRIEVAL_TASKS, *DUPLICATE_TASKS, *MINING_TASKS, *CLUSTERING_TASKS),
    *(*TRIPLET_TASKS, *ARGUMENT_TASKS),
)
TASKS: dict[str, Task] = {task.name: task for task in _ALL}
SUITES: dict[str, tuple[str, ...]] = {
    suite: tuple(name for name, task in TASKS.items() if task.suite == suite)
    for suite in dict.fromkeys(task.suite for task in TASKS.values())
}


def select_tasks(wanted: str | Task | Sequence[str | Task]) -> tuple[Task, ...]:
    """Tasks by their names, by their suites, or all; each once, in the order asked for ("sts,senteval,stsb").

    Raises:
        BadInput: a name is neither a task nor a suite.
    """
    parts = [wanted] if isinstance(wanted, str | Task) else wanted
    found: dict[str, Task] = {}
    for part in parts:
        for task in [part] if isinstance(part, Task) else _named(part):
            found[task.name] = task
    if not found:
        raise BadInput(f"there is no task to run; there are the suites {', '.join(SUITES)}")
    return tuple(found.values())


def _named(names: str) -> list[Task]:
    found: list[Task] = []
    for name in filter(None, (part.strip().lower() for part in names.split(","))):
        if name == "all":
            found += TASKS.values()
        elif name in SUITES:
            found += (TASKS[one] for one in SUITES[name])
        elif name in TASKS:
            found.append(TASKS[name])
        else:
            near = get_close_matches(name, [*TASKS, *SUITES], n=3)
            meant = f"Did you mean {' or '.join(near)}? " if near else ""
            raise BadInput(
                f"there is no task or suite {name!r}. {meant}Suites are {', '.join(SUITES)}; tasks are "
                f"{', '.join(TASKS)}"
            )
    return found
