"""On what a model was trained, where that is known, and which tasks that touches.

A model folder says it in likewise.json: {"trained_on": ["stsb", "nli"]}, by the names of data sets known here.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import BadModel
from ..store import CARRIED, available
from ..store.files import read_object
from .task import Task

FILE = "likewise.json"
CARDS: dict[str, tuple[str, ...]] = {
    "all-MiniLM-L6-v2": ("flickr30k_captions", "nli", "qqp_subset"),
}
"""Of models known by name: data sets at hand here that the published card lists among the training data. The card of
all-MiniLM-L6-v2 tells of 1.17 billion pairs, with Flickr30k, SNLI and MultiNLI, and Quora's question triplets."""
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


def trained_on(model: Any) -> tuple[str, ...]:
    """The data sets that an embedder's folder names, or its published card; nothing where neither is known."""
    folder = getattr(getattr(model, "manifest", None), "encoder", None)
    if not isinstance(folder, Path):
        return ()
    for place in (folder, folder.parent):  # the encoder may lie in a folder of its own
        told = read_object(place / FILE).get("trained_on", [])
        if not isinstance(told, list) or not all(isinstance(name, str) for name in told):
            raise BadModel(f"{place / FILE} says trained_on = {told!r}; wanted a list of names")
        if told:
            return tuple(told)
    carried = (name for name in CARRIED if available().get(name) == folder)
    return CARDS.get(next(carried, ""), ())


def leak_note(model: str, trained: Sequence[str], tasks: Sequence[Task]) -> str:
    """One line on the tasks whose data, or part of it, the model was trained on; empty where there is none."""
    touched = []
    for task in tasks:
        files = {name.split("/")[0] for name in task.data}
        seen = [name for name in trained if name in files or files & set(INSIDE.get(name, ()))]
        if seen:
            touched.append(f"{task.name} ({', '.join(seen)})")
    return f"{model} has seen sentences of these tasks in training: {'; '.join(touched)}" if touched else ""
