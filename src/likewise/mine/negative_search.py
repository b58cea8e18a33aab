"""The search itself: nearest candidates of a block of rows, rules, and a choice; farther for rows that want more."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from ..errors import BadInput
from ..runtime.arguments import whole_number
from .candidate_space import CandidateSpace
from .known_positives import KnownPositives
from .reranker_filter import RerankerFilter
from .rules import CandidateBlock, ExcludeKnownPositives, Rule
from .strategies import STRATEGIES

MOST_NEGATIVES = 1 << 20  # of one row; room for all that are asked for is taken before the search
BLOCK = 1024  # rows that are searched for together
MAX_BLOCK_CANDIDATES = 1 << 22  # candidates of a block, at most: some 100 MB of numbers, scores and marks
FIRST_DEPTH = 64  # candidates looked at before any rule has spoken
DEPTH_FACTOR = 4  # times as many, for rows that want more


@dataclass(frozen=True)
class Wanted:
    """How many negatives, and how they are chosen; see `negatives`."""

    k: int
    among: int
    furthest: int
    choose: str
    fill: bool
    seed: int

    def __post_init__(self) -> None:
        for name in ("k", "among", "furthest"):
            whole_number(name, getattr(self, name))
        whole_number("seed", self.seed, least=0)
        if self.k > MOST_NEGATIVES:
            raise BadInput(f"k is {self.k:,}; wanted at most {MOST_NEGATIVES:,} negatives for a row")

    @property
    def enough(self) -> int:
        """Candidates to choose among: so many that rules leave, and the search ends."""
        return self.k if self.choose == "top" else max(self.k, self.among)


@dataclass(frozen=True, eq=False)
class SearchState:
    """Of all N rows, what has been found so far; −1 where there is nothing."""

    indices: Int[np.ndarray, "N k"]
    scores: Float[np.ndarray, "N k"]
    positive: Float[np.ndarray, " N"]
    count: Int[np.ndarray, " N"]  # found by the rules
    filled: Bool[np.ndarray, "N k"]
    looked_at: Int[np.ndarray, " N"]
    taken: Int[np.ndarray, " R"]  # by each rule
    short: Int[np.ndarray, " R"]  # rows that each rule left with fewer than k

    @classmethod
    def empty(cls, rows: int, k: int, rules: int) -> "SearchState":
        counts = [np.zeros(rows, np.int64), np.zeros((rows, k), bool), np.zeros(rows, np.int64)]
        per_rule = [np.zeros(rules, np.int64) for _ in range(2)]
        return cls(
            np.full((rows, k), -1),
            np.full((rows, k), np.nan, np.float32),
            np.zeros(rows, np.float32),
            *counts,
            *per_rule,
        )

    @property
    def whole(self) -> Bool[np.ndarray, " N"]:
        """Rows that have all their negatives."""
        return self.indices[:, -1] >= 0

    def note(self, row: int, indices: Int[np.ndarray, " c"], scores: Float[np.ndarray, " c"], count: int) -> None:
        """What was chosen for a row: the first `count` left by the rules, the others to fill it up; nearest first."""
        order = np.argsort(-scores, kind="stable")
        some = np.s_[row, : len(indices)]
        self.indices[some], self.scores[some], self.filled[some] = indices[order], scores[order], (order >= count)
        self.count[row] = count


@dataclass(frozen=True, eq=False)
class RuleOutcome:
    """What the rules said of the candidates of Q rows."""

    left: Bool[np.ndarray, "Q d"]
    unsaid: Bool[np.ndarray, "Q d"]  # left by `ExcludeKnownPositives` alone
    ended: Bool[np.ndarray, " Q"]  # nothing farther can be left
    taken: Int[np.ndarray, "R Q"]
    before: Int[np.ndarray, "R Q"]  # candidates that were left to each rule


@dataclass(frozen=True, eq=False)
class NegativeSearch:
    """What a search needs to know."""

    space: CandidateSpace
    said: KnownPositives
    judge: RerankerFilter
    rules: Sequence[Rule]
    wanted: Wanted

    @property
    def furthest(self) -> int:
        return min(self.wanted.furthest, len(self.space.pool))

    @property
    def block(self) -> int:
        """How many rows are searched for together."""
        return max(1, min(BLOCK, MAX_BLOCK_CANDIDATES // self.furthest))

    def dig(self, rows: Int[np.ndarray, " Q"], found: SearchState) -> None:
        """Fills in the negatives of these rows: deeper and deeper, until each has enough or there is no more."""
        depth = min(max(FIRST_DEPTH, 2 * self.wanted.enough), self.furthest)
        found.positive[rows] = self.space.positive(rows)
        while len(rows):
            hits = self.space.nearest(rows, depth)
            seen = CandidateBlock(
                rows,
                hits.indices,
                hits.scores,
                found.positive[rows],
                np.ones(hits.scores.shape, bool),
                self.said,
                self.judge,
            )
            ruled = self._ruled(seen)
            done = self._done(ruled, depth)
            for i in np.flatnonzero(done).tolist():
                places = np.flatnonzero(ruled.left[i])
                chosen = self._choose(int(rows[i]), places, np.flatnonzero(ruled.unsaid[i]))
                found.note(
                    int(rows[i]), hits.indices[i, chosen], hits.scores[i, chosen], min(len(places), self.wanted.k)
                )
            found.looked_at[rows[done]] = depth
            found.taken[:] += ruled.taken[:, done].sum(1)
            enough = ruled.before >= self.wanted.k
            found.short[:] += (enough & (ruled.before - ruled.taken < self.wanted.k))[:, done].sum(1)
            rows, depth = rows[~done], min(DEPTH_FACTOR * depth, self.furthest)
        self.judge.forget()

    def _ruled(self, seen: CandidateBlock) -> RuleOutcome:
        """All rules, one after another."""
        unsaid, ended = seen.left, np.zeros(len(seen.rows), bool)
        taken, before = [], []
        for rule in self.rules:
            keeps = rule.keeps(seen)
            ended |= rule.ends(seen)
            before.append(seen.left.sum(1))
            taken.append((seen.left & ~keeps).sum(1))
            seen = replace(seen, left=seen.left & keeps)
            if isinstance(rule, ExcludeKnownPositives):
                unsaid = unsaid & keeps
        return RuleOutcome(seen.left, unsaid, ended, np.array(taken), np.array(before))

    def _done(self, ruled: RuleOutcome, depth: int) -> Bool[np.ndarray, " Q"]:
        """Rows that have enough, or whose candidates are at an end."""
        count = ruled.left.sum(1)
        ended = ruled.ended & (count >= self.wanted.k) if self.wanted.fill else ruled.ended
        return np.asarray((count >= self.wanted.enough) | ended | (depth == self.furthest))

    def _choose(self, row: int, places: Int[np.ndarray, " p"], unsaid: Int[np.ndarray, " u"]) -> Int[np.ndarray, " c"]:
        """Places of up to k candidates, those of the rules before those that fill up."""
        wanted = self.wanted
        if len(places) >= wanted.k:
            draw = np.random.default_rng([wanted.seed, row])
            return np.asarray(STRATEGIES[wanted.choose](places[: wanted.enough], wanted.k, draw))
        if not wanted.fill:
            return places
        more = np.setdiff1d(unsaid, places)[-(wanted.k - len(places)) :]
        return np.concatenate([places, more])
