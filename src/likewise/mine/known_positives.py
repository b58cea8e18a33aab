"""What pairs say of texts: who is whose positive, and who belongs together through others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int

from ..arrays.connected_components import connected_components
from ..text.normalization import normalized


@dataclass(frozen=True, eq=False)
class KnownPositives:
    """Texts in plain form, numbered: those of the N rows and of the M candidates, F forms in all."""

    anchors: Int[np.ndarray, " N"]
    positives: Int[np.ndarray, " N"]
    candidates: Int[np.ndarray, " M"]
    forms: tuple[str, ...]

    @classmethod
    def of(cls, anchors: Sequence[str], positives: Sequence[str], candidates: Iterable[str]) -> "KnownPositives":
        number: dict[str, int] = {}
        ours, others, more = (
            np.array([number.setdefault(normalized(text), len(number)) for text in column], np.int64)
            for column in (anchors, positives, candidates)
        )
        return cls(ours, others, more, tuple(number))

    @cached_property
    def group(self) -> Int[np.ndarray, " F"]:
        """A number for each form, equal where declared pairs join them: a–b and b–c put a with c."""
        pairs = zip(self.anchors.tolist(), self.positives.tolist(), strict=True)
        number = {form: form for form in self.forms}
        for joined in connected_components((self.forms[a], self.forms[p]) for a, p in pairs):
            number.update(dict.fromkeys(joined, joined[0]))
        place: dict[str, int] = {}
        return np.array([place.setdefault(number[form], len(place)) for form in self.forms], np.int64)

    def joined(self, rows: Int[np.ndarray, " Q"], candidates: Int[np.ndarray, "Q d"]) -> Bool[np.ndarray, "Q d"]:
        """Whether each candidate is the anchor's own text or in its group."""
        return np.asarray(self.group[self.anchors[rows]][:, None] == self.group[self.candidates[candidates]])

    def paired(self, rows: Int[np.ndarray, " Q"], candidates: Int[np.ndarray, "Q d"]) -> Bool[np.ndarray, "Q d"]:
        """Whether each candidate is the anchor's own text or, in a row, beside it, in either order."""
        one, other = self.anchors[rows][:, None], self.candidates[candidates]
        return np.asarray(np.isin(one * len(self.forms) + other, self._codes) | (one == other))

    @cached_property
    def _codes(self) -> Int[np.ndarray, " P"]:
        a, p = self.anchors, self.positives
        return np.unique(np.concatenate([a * len(self.forms) + p, p * len(self.forms) + a]))

    @property
    def largest(self) -> int:
        """Texts of the largest group."""
        return int(np.bincount(self.group).max(initial=0))
