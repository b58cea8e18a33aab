"""On what a model was trained, where that is known: its folder says so in likewise.json, or its published card."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import BadModel
from ..runtime.atomic_files import atomic_file
from ..runtime.untrusted_files import read_object
from .names import PACKAGED_MODELS, local_models

FILE = "likewise.json"


@dataclass(frozen=True)
class Provenance:
    """Data sets by the names known here, of the model itself or of its teacher.

    trained_on: read with all that they have; less_tests: read but for those texts that a test has.
    """

    trained_on: tuple[str, ...] = ()
    less_tests: tuple[str, ...] = ()

    def after(self, trained_on: Iterable[str] = (), less_tests: Iterable[str] = ()) -> "Provenance":
        """What is known once these have been read too; of a file's name ("stsb/train") the data set counts."""
        sets = [[name.split("/")[0] for name in names] for names in (trained_on, less_tests)]
        whole, less = ((*before, *new) for before, new in zip((self.trained_on, self.less_tests), sets, strict=True))
        return Provenance(tuple(dict.fromkeys(whole)), tuple(dict.fromkeys(less)))


UNKNOWN_PROVENANCE = Provenance()
CARDS: dict[str, Provenance] = {
    "all-MiniLM-L6-v2": Provenance(("flickr30k_captions", "nli", "qqp_subset")),
}
"""Of models known by name: data sets at hand here that the published card lists among the training data. The card of
all-MiniLM-L6-v2 tells of 1.17 billion pairs, with Flickr30k, SNLI and MultiNLI, and Quora's question triplets."""


def provenance(model: Any) -> Provenance:
    """What is known of an embedder; nothing of what is none, or where neither folder nor card says anything.

    Raises:
        BadModel: the folder says it in another form.
    """
    folder = getattr(getattr(model, "manifest", None), "encoder", None)
    if not isinstance(folder, Path):
        return UNKNOWN_PROVENANCE
    for place in (folder, folder.parent):  # the encoder may lie in a folder of its own
        told = read_object(place / FILE)
        if told:
            return Provenance(**{key: _names(told.get(key, []), key, place) for key in ("trained_on", "less_tests")})
    carried = (name for name in PACKAGED_MODELS if local_models().get(name) == folder)
    return CARDS.get(next(carried, ""), UNKNOWN_PROVENANCE)


def write_provenance(folder: Path, told: Provenance) -> None:
    """What is known, into a folder; no file where nothing is, nor one that tells of a model that was there before."""
    lists = {key: names for key, names in vars(told).items() if names}
    if not lists:
        (folder / FILE).unlink(missing_ok=True)
        return
    with atomic_file(folder / FILE) as partial:
        partial.write_text(json.dumps(lists) + "\n", "utf-8")


def _names(told: Any, key: str, place: Path) -> tuple[str, ...]:
    if not isinstance(told, list) or not all(isinstance(name, str) for name in told):
        raise BadModel(f"{place / FILE} says {key} = {told!r}; expected a list of names")
    return tuple(told)
