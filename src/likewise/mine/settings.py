"""Settings for mining: the number of negatives, the rules, how to choose among candidates, and the encoding prompts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ..array_types import Int
from ..arrays.similarity import SIMILARITIES
from ..errors import BadInput
from ..runtime.arguments import known_name, whole_number
from ..text.inputs import describe_value
from .rules import BelowPositive, ExcludeKnownPositives, Rule

Positions = Int[np.ndarray, " _"]


STRATEGIES: dict[str, Callable[[Positions, int, np.random.Generator], Positions]] = {
    "top": lambda positions, k, _: positions[:k],
    "random": lambda positions, k, generator: positions[np.sort(generator.choice(len(positions), k, replace=False))],
    "spread": lambda positions, k, _: positions[((np.arange(k) + 0.5) * len(positions) / k).astype(np.int64)],
}
"""Choose k of the given positions, keeping their order; `spread` takes the middle of each of k equal parts."""

Missing = Literal["drop", "fill", "error"]
DEFAULT_RATIO = 0.95  # relative to the positive's similarity (Moreira et al. 2024, NV-Retriever)

MAX_NEGATIVES = 1 << 20  # per row; the memory for all negatives is allocated before the search


@dataclass(frozen=True)
class MiningSettings:
    """How to mine negatives; the report counts the rows with fewer than k negatives, however `missing` handles them."""

    k: int = 1
    rules: Sequence[Rule] = (ExcludeKnownPositives(), BelowPositive(ratio=DEFAULT_RATIO))
    """Each rule sees what the earlier rules kept; `ExcludeKnownPositives()` is added in front if it is missing."""
    strategy: str = "top"
    """Which kept candidates to use: `"top"` (the nearest), `"random"`, or `"spread"` (evenly from near to far)."""
    pool_size: int = 100  # `"random"` and `"spread"` choose from this many nearest kept candidates
    max_candidates: int = 1000  # maximum candidates examined per row
    missing: Missing = "drop"
    """What to do with rows that have fewer than k negatives: `"drop"` leaves them out; `"fill"` ignores the other
    rules, adds the least similar of the `max_candidates` nearest candidates that are not known positives, and drops
    rows that still have too few; `"error"` raises."""
    metric: str = "cosine"  # a key of `likewise.arrays.similarity.SIMILARITIES`
    seed: int = 0  # for `"random"`; each row's draw depends only on the seed and the row number

    def __post_init__(self) -> None:
        for name in ("k", "pool_size", "max_candidates"):
            whole_number(name, getattr(self, name))
        whole_number("seed", self.seed, least=0)
        if self.k > MAX_NEGATIVES:
            raise BadInput(f"k is {self.k:,}; expected at most {MAX_NEGATIVES:,} negatives per row")
        wrong = (
            [rule for rule in self.rules if not isinstance(rule, Rule)]
            if isinstance(self.rules, list | tuple)
            else [self.rules]
        )
        if wrong:
            found = describe_value(wrong[0])
            raise BadInput(f"rules has {found}; expected a list of rules, such as [RankBetween(10, 50)]")
        known_name("strategy", self.strategy, STRATEGIES)
        known_name("missing", self.missing, get_args(Missing))
        known_name("metric", self.metric, SIMILARITIES)

    @property
    def all_rules(self) -> tuple[Rule, ...]:
        """The rules, including `ExcludeKnownPositives`."""
        excludes = any(isinstance(rule, ExcludeKnownPositives) for rule in self.rules)
        return tuple(self.rules) if excludes else (ExcludeKnownPositives(), *self.rules)

    @property
    def transitive(self) -> bool:
        """Whether known positives are followed transitively from one pair to the next."""
        return any(isinstance(rule, ExcludeKnownPositives) and rule.transitive for rule in self.all_rules)

    @property
    def candidates_to_keep(self) -> int:
        """How many candidates the rules must keep before the search for a row can end."""
        return self.k if self.strategy == "top" else max(self.k, self.pool_size)


@dataclass(frozen=True)
class MiningPrompts:
    """The prompts for anchors and for all other texts: literal prompts, or names of the model's own prompts."""

    anchor: str | None = None
    anchor_name: str | None = None
    corpus: str | None = None
    corpus_name: str | None = None

    @property
    def of_anchors(self) -> dict[str, str]:
        return _given(prompt=self.anchor, prompt_name=self.anchor_name)

    @property
    def of_corpus(self) -> dict[str, str]:
        return _given(prompt=self.corpus, prompt_name=self.corpus_name)


def _given(**prompts: str | None) -> dict[str, str]:
    return {name: prompt for name, prompt in prompts.items() if prompt is not None}
