"""Known positives: which texts the given pairs declare similar, directly or through other pairs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int

from ..arrays.connected_components import connected_components
from ..text.normalization import normalized


@dataclass(frozen=True, eq=False)
class KnownPositives:
    """Normalized texts, numbered: those of the N rows and of the M candidates, F distinct forms in all."""

    anchors: Int[np.ndarray, " N"]
    positives: Int[np.ndarray, " N"]
    candidates: Int[np.ndarray, " M"]
    forms: tuple[str, ...]

    @classmethod
    def of(cls, anchors: Sequence[str], positives: Sequence[str], candidates: Iterable[str]) -> "KnownPositives":
        """Number the texts of the rows and of the candidates."""
        number: dict[str, int] = {}
        columns = (
            np.array([number.setdefault(normalized(text), len(number)) for text in column], np.int64)
            for column in (anchors, positives, candidates)
        )
        anchor_numbers, positive_numbers, candidate_numbers = columns
        return cls(anchor_numbers, positive_numbers, candidate_numbers, tuple(number))

    @cached_property
    def group(self) -> Int[np.ndarray, " F"]:
        """A number for each form, equal where pairs connect them: a–b and b–c put a and c into one group."""
        pairs = zip(self.anchors.tolist(), self.positives.tolist(), strict=True)
        representative = {form: form for form in self.forms}
        for group in connected_components((self.forms[a], self.forms[p]) for a, p in pairs):
            representative.update(dict.fromkeys(group, group[0]))
        number: dict[str, int] = {}
        return np.array([number.setdefault(representative[form], len(number)) for form in self.forms], np.int64)

    def connected(self, rows: Int[np.ndarray, " Q"], candidates: Int[np.ndarray, "Q d"]) -> Bool[np.ndarray, "Q d"]:
        """Whether each candidate is the anchor's own text or in its group."""
        return np.asarray(self.group[self.anchors[rows]][:, None] == self.group[self.candidates[candidates]])

    def paired(self, rows: Int[np.ndarray, " Q"], candidates: Int[np.ndarray, "Q d"]) -> Bool[np.ndarray, "Q d"]:
        """Whether each candidate is the anchor's own text or forms a pair with it in some row, in either order."""
        anchor, candidate = self.anchors[rows][:, None], self.candidates[candidates]
        codes = anchor * len(self.forms) + candidate
        return np.asarray(np.isin(codes, self._pair_codes) | (anchor == candidate))

    @cached_property
    def _pair_codes(self) -> Int[np.ndarray, " P"]:
        """A number for each pair, in either order."""
        a, p = self.anchors, self.positives
        return np.unique(np.concatenate([a * len(self.forms) + p, p * len(self.forms) + a]))

    @property
    def largest_group(self) -> int:
        """Texts of the largest group."""
        return int(np.bincount(self.group).max())
