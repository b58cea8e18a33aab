"""A model's training data, if known: from likewise.json in its folder, or from its published model card."""

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
    """The data sets on which the model or its teacher was trained, under their names in likewise.

    `trained_on`: data sets used in full; `less_tests`: data sets used without the texts that also occur in a test set.
    """

    trained_on: tuple[str, ...] = ()
    less_tests: tuple[str, ...] = ()

    def after(self, trained_on: Iterable[str] = (), less_tests: Iterable[str] = ()) -> "Provenance":
        """The provenance after further training on these data sets; the split "stsb/train" counts as "stsb"."""
        sets = [[name.split("/")[0] for name in names] for names in (trained_on, less_tests)]
        all_of, less = ((*before, *new) for before, new in zip((self.trained_on, self.less_tests), sets, strict=True))
        return Provenance(tuple(dict.fromkeys(all_of)), tuple(dict.fromkeys(less)))


UNKNOWN_PROVENANCE = Provenance()
CARDS: dict[str, Provenance] = {"all-MiniLM-L6-v2": Provenance(("flickr30k_captions", "nli", "qqp_subset"))}
"""For each model, the data sets known to likewise that its published model card lists as training data. The card of
all-MiniLM-L6-v2 lists 1.17 billion pairs, including Flickr30k, SNLI and MultiNLI, and Quora's question triplets."""


def provenance(model: Any) -> Provenance:
    """The provenance of an embedder, from its folder or model card; `UNKNOWN_PROVENANCE` for anything else."""
    folder = getattr(getattr(model, "manifest", None), "encoder", None)
    if not isinstance(folder, Path):
        return UNKNOWN_PROVENANCE
    for place in (folder, folder.parent):  # the encoder may be in a sub-folder
        known = read_object(place / FILE)
        if known:
            return Provenance(**{key: _names(known.get(key, []), key, place) for key in ("trained_on", "less_tests")})
    packaged = (name for name in PACKAGED_MODELS if local_models().get(name) == folder)
    return CARDS.get(next(packaged, ""), UNKNOWN_PROVENANCE)


def readable_provenance(model: Any) -> Provenance:
    """Like `provenance`, but treats an unreadable record as unknown, so that a model can still be saved."""
    try:
        return provenance(model)
    except BadModel:
        return UNKNOWN_PROVENANCE


def write_provenance(folder: Path, known: Provenance) -> None:
    """Write likewise.json; if nothing is known, remove any file left by an earlier model."""
    lists = {key: names for key, names in vars(known).items() if names}
    if not lists:
        (folder / FILE).unlink(missing_ok=True)
        return
    with atomic_file(folder / FILE) as partial:
        partial.write_text(json.dumps(lists) + "\n", "utf-8")


def _names(value: Any, key: str, place: Path) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise BadModel(f"{place / FILE} has {key} = {value!r}; expected a list of names")
    return tuple(value)
