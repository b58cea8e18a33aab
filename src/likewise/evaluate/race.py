"""Which of several candidates is best? Items are scored in random order, and losers leave the race.

    race(score, candidates=5, items=300)     # score(alive, items) -> one row per candidate alive

The items are assumed to be a sample of the population that the user has in mind; verdicts are about its means.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..array_types import Bool, Float, Int
from ..errors import BadInput
from ..runtime.arguments import whole_number
from .statistics.anytime import BETS, PairedBets

FIRST, GROWTH = 16, 8
"""FIRST items are scored before the first look; each later look adds 1 / GROWTH of the items so far (FIRST or more)."""
ScoreItems = Callable[[Int[np.ndarray, " k"], Int[np.ndarray, " n"]], Float[np.ndarray, "k n"]]
"""Scores candidates on items; the betting test (`PairedBets`) needs scores from 0 to 1."""


@dataclass(frozen=True)
class StoppingRule:
    """When a race may stop, and the order of its items.

    Args:
        margin: differences in score below this do not matter.
        alpha: the maximum probability of a wrong winner or tie.
        seed: the seed for the order of the items.

    Raises:
        BadInput: margin or alpha is out of range.
    """

    margin: float = 0.01
    alpha: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.margin < 1:
            raise BadInput(f"margin is {self.margin}; expected a fraction from 0 to 1, such as 0.01")
        if not 0 < self.alpha < 1:
            raise BadInput(f"alpha is {self.alpha}; expected a probability between 0 and 1, such as 0.05")
        whole_number("seed", self.seed, least=0)


DEFAULT_RULE = StoppingRule()


@dataclass(frozen=True)
class Race:
    """The state of a race; `verdict` is "tie" if no remaining candidate is better than `best` by the margin."""

    verdict: str  # "winner", "tie" or "undecided"
    best: int  # the candidate with the highest mean among those still in the race
    alive: Bool[np.ndarray, " K"]  # which candidates are still in the race
    scores: Float[np.ndarray, "K n"]  # on the items so far, in the order drawn; NaN after a candidate has lost
    close: Bool[np.ndarray, "K K"]  # whether b (column) was shown not to be better than a (row) by the margin or more
    items: int  # in total

    @property
    def used(self) -> Int[np.ndarray, " K"]:
        """The number of items that each candidate was scored on."""
        return np.asarray(np.isfinite(self.scores).sum(1))

    def gains(self, candidate: int) -> Float[np.ndarray, " n"]:
        """The scores of the best candidate minus those of another, on the items that both were scored on."""
        return np.asarray((self.scores[self.best] - self.scores[candidate])[: self.used[candidate]])


def race(
    score: ScoreItems,
    candidates: int,
    items: int,
    *,
    rule: StoppingRule = DEFAULT_RULE,
    callback: Callable[[Race], None] = lambda _: None,
) -> Race:
    """Score items until one candidate is left, no rival is better than the leader by the margin, or items run out.

    With probability 1 − alpha, the best candidate is never eliminated, and the leader of a decided race is the best
    or worse by less than the margin, however the items are distributed (see `PairedBets`).
    """
    order = np.random.default_rng(rule.seed).permutation(items)
    bets, alive = PairedBets(candidates, rule.margin, rule.alpha), np.ones(candidates, bool)
    scores, done = np.full((candidates, items), np.nan), 0
    while True:
        drawn = order[done : done + max(FIRST, done // GROWTH)]
        rows = score(np.flatnonzero(alive), drawn)
        scores[alive, done : done + len(drawn)] = rows
        bets.update(alive, rows)
        done += len(drawn)
        left = alive & ~bets.better[alive].any(0)  # a candidate drops out if it has lost to one that is in the race
        alive = left if left.any() else alive
        best = int(np.argmax(np.where(alive, scores[:, :done].sum(1), -np.inf)))
        others = np.delete(bets.close[best], best)[np.delete(alive, best)]
        verdict = "undecided" if not others.all() else "tie" if len(others) else "winner"
        state = Race(verdict, best, alive, scores[:, :done], bets.close, items)
        callback(state)
        if verdict != "undecided" or done == items:
            return state


def items_needed(gains: Float[np.ndarray, " n"], candidates: int, rule: StoppingRule) -> int:
    """Estimate how many items would show that a leader with these gains over a rival is not worse by the margin.

    The estimate is 0 if no number of items would. The log capital of the best bet grows by (gain + margin)² /
    (2 variance) per item, and mixing G bets costs log G.
    """
    lead = float(gains.mean()) + rule.margin
    threshold = np.log(max(1, candidates - 1) * len(BETS) / rule.alpha)
    if lead <= 0:
        return 0
    spread = 2 * float((gains**2).mean()) / lead**2
    return int(np.ceil(threshold * max(spread, 1 / (BETS[-1] * lead))))  # no bet is larger than the last one
