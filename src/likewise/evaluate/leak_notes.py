"""Notes on tasks whose data a model was trained on."""

from collections.abc import Sequence

from ..model_files.provenance import Provenance
from .task import Task

OVERLAPPING_TASKS: dict[str, tuple[str, ...]] = {
    "flickr30k_captions": ("sts15", "stsb", "sick"),
    "stsb": ("sts12", "sts13", "sts14", "sts15", "sts16", "sick", "mrpc"),
    "mrpc": ("sts12", "stsb"),
    "sick": ("sts12", "stsb"),
    "nli": ("sts15", "stsb", "sick"),
}
"""For a training set, the data sets of tasks that share sentences with it. Distinct test sentences shared, compared
without case and punctuation: Flickr30k has 1,210 of STS15, 260 of STS-B and 131 of SICK; STS-B between 363 and 3,346 of
each; MRPC 1,485 of STS12 and 276 of STS-B; SICK 269 of STS12 and 118 of STS-B; NLI 170, 87 and 81."""


def leak_note(model: str, provenance: Provenance, tasks: Sequence[Task]) -> str:
    """One line on the tasks whose data (or part of it) the model or its teacher was trained on; empty if there is none.

    Training data from which test texts were removed only affects tasks built from the same data set.
    """
    affected = []
    for task in tasks:
        files = {name.split("/")[0] for name in task.data}
        seen = [name for name in provenance.trained_on if name in files or files & set(OVERLAPPING_TASKS.get(name, ()))]
        seen += [name for name in provenance.less_tests if name in files and name not in seen]
        if seen:
            affected.append(f"{task.name} ({', '.join(seen)})")
    subject = f"{model}, or its teacher," if provenance.less_tests else model
    if not affected:
        return ""
    return f"{subject} has seen sentences of the published data of these tasks in training: {'; '.join(affected)}"
