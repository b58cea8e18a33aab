"""Which tasks a model's training touches."""

from collections.abc import Sequence

from ..model_files.provenance import Provenance
from .task import Task

INSIDE: dict[str, tuple[str, ...]] = {
    "flickr30k_captions": ("sts15", "stsb", "sick"),
    "stsb": ("sts12", "sts13", "sts14", "sts15", "sts16", "sick", "mrpc"),
    "mrpc": ("sts12", "stsb"),
    "sick": ("sts12", "stsb"),
    "nli": ("sts15", "stsb", "sick"),
}
"""Data sets of tasks that have sentences of another one's training split. Counted without case and punctuation, of the
distinct test sentences: Flickr30k has 1,210 of STS15, 260 of STS-B and 131 of SICK; STS-B between 363 and 3,346 of
each; MRPC 1,485 of STS12 and 276 of STS-B; SICK 269 of STS12 and 118 of STS-B; NLI 170, 87 and 81."""


def leak_note(model: str, known: Provenance, tasks: Sequence[Task]) -> str:
    """One line on the tasks whose data, or part of it, the model or its teacher was trained on; empty for none.

    Of data that were read less the tests' texts, only tasks that are made of these very data are touched.
    """
    touched = []
    for task in tasks:
        files = {name.split("/")[0] for name in task.data}
        seen = [name for name in known.trained_on if name in files or files & set(INSIDE.get(name, ()))]
        seen += [name for name in known.less_tests if name in files and name not in seen]
        if seen:
            touched.append(f"{task.name} ({', '.join(seen)})")
    who = f"{model}, or its teacher," if known.less_tests else model
    return (
        f"{who} has seen sentences of the published data of these tasks in training: {'; '.join(touched)}"
        if touched
        else ""
    )
