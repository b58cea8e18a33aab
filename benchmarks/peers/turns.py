"""Whose turn it is: one after the other where time is measured, two at a time where it is not."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from .process import processors

Job = TypeVar("Job")


def in_lanes(jobs: Sequence[Job], work: Callable[[Job, tuple[int, ...]], None]) -> None:
    """Two jobs at a time; `work` is given the processor to use, or none where processors are not known."""
    cpus = processors(2)

    def lane(number: int) -> None:
        for job in jobs[number::2]:
            work(job, cpus[number : number + 1])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lane, range(2)))


def rotated(names: list[str], by: int) -> list[str]:
    """The same names, beginning elsewhere."""
    by %= max(1, len(names))
    return names[by:] + names[:by]


def slug(name: str) -> str:
    """A name as part of a file's name."""
    return "".join(c if c.isalnum() else "-" for c in name).lower()
