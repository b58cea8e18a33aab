"""The search for negatives: find the nearest candidates for a block of rows, apply the rules, choose, go deeper."""

from dataclasses import dataclass, replace

import numpy as np

from ..array_types import Bool, Float, Int
from .candidate_space import CandidateSpace
from .rules import CandidateBlock, ExcludeKnownPositives, KnownPositives, RerankerFilter
from .settings import STRATEGIES, MiningSettings

BLOCK = 1024  # rows per block
MAX_BLOCK_CANDIDATES = 1 << 22  # maximum candidates per block: about 100 MB of indices, scores and masks
FIRST_DEPTH = 64  # candidates examined in the first round
DEPTH_FACTOR = 4  # how much the depth grows for rows that need more candidates


@dataclass(frozen=True, eq=False)
class SearchState:
    """The negatives found so far for all N rows; −1 marks a missing negative."""

    indices: Int[np.ndarray, "N k"]
    scores: Float[np.ndarray, "N k"]
    positive_scores: Float[np.ndarray, " N"]
    count: Int[np.ndarray, " N"]  # negatives that passed the rules
    filled: Bool[np.ndarray, "N k"]
    examined: Int[np.ndarray, " N"]
    removed: Int[np.ndarray, " R"]  # candidates removed by each rule
    rows_short: Int[np.ndarray, " R"]  # rows that each rule left with fewer than k candidates

    @classmethod
    def empty(cls, rows: int, k: int, rules: int) -> "SearchState":
        """The state before the search begins."""
        counts = [np.zeros(rows, np.int64), np.zeros((rows, k), bool), np.zeros(rows, np.int64)]
        per_rule = [np.zeros(rules, np.int64) for _ in range(2)]
        scores = np.full((rows, k), np.nan, np.float32)
        return cls(np.full((rows, k), -1), scores, np.zeros(rows, np.float32), *counts, *per_rule)

    @property
    def complete(self) -> Bool[np.ndarray, " N"]:
        """Which rows already have k negatives."""
        return self.indices[:, -1] >= 0

    def record(self, row: int, indices: Int[np.ndarray, " c"], scores: Float[np.ndarray, " c"], count: int) -> None:
        """Store a row's negatives, nearest first: the first `count` passed the rules; the rest fill the row up."""
        order = np.argsort(-scores, kind="stable")
        cells = np.s_[row, : len(indices)]
        self.indices[cells], self.scores[cells], self.filled[cells] = indices[order], scores[order], (order >= count)
        self.count[row] = count


@dataclass(frozen=True, eq=False)
class RuleOutcome:
    """What the rules decided about the candidates for Q rows."""

    kept: Bool[np.ndarray, "Q d"]
    not_positive: Bool[np.ndarray, "Q d"]  # kept by `ExcludeKnownPositives`, regardless of other rules
    exhausted: Bool[np.ndarray, " Q"]  # no farther candidate can be kept
    removed: Int[np.ndarray, "R Q"]
    available: Int[np.ndarray, "R Q"]  # candidates that reached each rule


@dataclass(frozen=True, eq=False)
class NegativeSearch:
    """The vectors, known positives, reranker scores and settings of one search."""

    space: CandidateSpace
    known: KnownPositives
    reranker_filter: RerankerFilter
    settings: MiningSettings

    @property
    def max_candidates(self) -> int:
        """The maximum number of candidates per row, capped by how many candidates exist."""
        return min(self.settings.max_candidates, len(self.space.pool))

    @property
    def block(self) -> int:
        """The number of rows per block."""
        return max(1, min(BLOCK, MAX_BLOCK_CANDIDATES // self.max_candidates))

    def search(self, rows: Int[np.ndarray, " Q"], state: SearchState) -> None:
        """Find negatives for these rows at increasing depth, until each row has enough or no candidates remain."""
        depth = min(max(FIRST_DEPTH, 2 * self.settings.candidates_to_keep), self.max_candidates)
        state.positive_scores[rows] = self.space.positive_scores(rows)
        while len(rows):
            done = self._search_at(rows, depth, state)
            rows, depth = rows[~done], min(DEPTH_FACTOR * depth, self.max_candidates)
        self.reranker_filter.clear()

    def _search_at(self, rows: Int[np.ndarray, " Q"], depth: int, state: SearchState) -> Bool[np.ndarray, " Q"]:
        """Examine this many candidates per row, and record the rows that are finished."""
        block = self._nearest(rows, depth, state)
        outcome = self._apply_rules(block)
        done = self._is_done(outcome, depth)
        for i in np.flatnonzero(done).tolist():
            kept = np.flatnonzero(outcome.kept[i])
            chosen = self._choose(int(rows[i]), kept, np.flatnonzero(outcome.not_positive[i]))
            count = min(len(kept), self.settings.k)
            state.record(int(rows[i]), block.candidates[i, chosen], block.scores[i, chosen], count)
        state.examined[rows[done]] = depth
        state.removed[:] += outcome.removed[:, done].sum(1)
        had_enough = outcome.available >= self.settings.k
        has_fewer = outcome.available - outcome.removed < self.settings.k
        state.rows_short[:] += (had_enough & has_fewer)[:, done].sum(1)
        return done

    def _nearest(self, rows: Int[np.ndarray, " Q"], depth: int, state: SearchState) -> CandidateBlock:
        hits = self.space.nearest(rows, depth)
        kept = np.ones(hits.scores.shape, bool)
        positive_scores = state.positive_scores[rows]
        return CandidateBlock(rows, hits.indices, hits.scores, positive_scores, kept, self.known, self.reranker_filter)

    def _apply_rules(self, block: CandidateBlock) -> RuleOutcome:
        not_positive, exhausted = block.kept, np.zeros(len(block.rows), bool)
        removed, available = [], []
        for rule in self.settings.all_rules:
            keeps = rule.keeps(block)
            exhausted |= rule.ends(block)
            available.append(block.kept.sum(1))
            removed.append((block.kept & ~keeps).sum(1))
            block = replace(block, kept=block.kept & keeps)
            if isinstance(rule, ExcludeKnownPositives):
                not_positive = not_positive & keeps
        return RuleOutcome(block.kept, not_positive, exhausted, np.array(removed), np.array(available))

    def _is_done(self, outcome: RuleOutcome, depth: int) -> Bool[np.ndarray, " Q"]:
        count = outcome.kept.sum(1)
        may_end = count >= self.settings.k if self.settings.missing == "fill" else np.ones(len(count), bool)
        enough = count >= self.settings.candidates_to_keep
        return np.asarray(enough | (outcome.exhausted & may_end) | (depth == self.max_candidates))

    def _choose(
        self, row: int, kept: Int[np.ndarray, " p"], not_positive: Int[np.ndarray, " u"]
    ) -> Int[np.ndarray, " c"]:
        """Positions of up to k candidates: first those that passed the rules, then the ones used to fill up."""
        settings = self.settings
        if len(kept) >= settings.k:
            generator = np.random.default_rng([settings.seed, row])
            pool = kept[: settings.candidates_to_keep]
            return np.asarray(STRATEGIES[settings.strategy](pool, settings.k, generator))
        if settings.missing != "fill":
            return kept
        fill = np.setdiff1d(not_positive, kept)[-(settings.k - len(kept)) :]
        return np.concatenate([kept, fill])
