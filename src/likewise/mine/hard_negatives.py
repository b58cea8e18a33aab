"""Hard negatives: for each anchor, texts that are similar to it but not known positives.

>>> result = mine_negatives(questions, answers, embedder, settings=MiningSettings(k=3))     # doctest: +SKIP
>>> rules = [ExcludeKnownPositives(), RankBetween(10, 100), BelowPositive(ratio=0.95)]
>>> settings = MiningSettings(k=5, strategy="random", rules=rules)
>>> result = mine_negatives(questions, answers, embedder, corpus=passages, settings=settings)  # doctest: +SKIP
>>> print(result.report)                                                                    # doctest: +SKIP
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import BadInput
from ..runtime.progress import Progress, show_progress
from ..text.inputs import describe_value, is_list_of_rows
from ..text.normalization import normalized
from .candidate_space import Precomputed, encode_space, first_occurrences, space_of_precomputed
from .negative_search import NegativeSearch, SearchState
from .result import MiningReport, MiningResult, RuleStats
from .rules import KnownPositives, RerankerFilter
from .settings import MiningPrompts, MiningSettings

DEFAULT_SETTINGS, NO_PROMPTS = MiningSettings(), MiningPrompts()
Rows = tuple[list[str], list[str]]


def mine_negatives(
    anchors: Sequence[str],
    positives: Sequence[str],
    model: Any,
    *,
    corpus: Sequence[str] | None = None,
    settings: MiningSettings = DEFAULT_SETTINGS,
    prompts: MiningPrompts = NO_PROMPTS,
    show_progress_bar: Progress = None,
) -> MiningResult:
    """Find k negatives for each row (an anchor with one positive). The search is exact and its memory is bounded.

    Args:
        anchors: N non-blank texts; an anchor may occur in several rows with different positives.
        positives: N non-blank texts.
        model: an `Embedder`, any object with `encode`, or precomputed vectors (`Precomputed`).
        corpus: the source of negatives; default: the positives. Texts that are equal after normalization count as one
            candidate, in the spelling of the first; blank texts are ignored.
        settings: the number of negatives, the rules, and how to choose among the remaining candidates.
        prompts: one prompt for the anchors and one for all other texts.
        show_progress_bar: same as in `Embedder.encode`.
    """
    if isinstance(model, str | type) or not (
        callable(getattr(model, "encode", None)) or isinstance(model, Precomputed)
    ):
        raise BadInput(f"model is {describe_value(model)}; expected an Embedder (Embedder.load(name)) or Precomputed")
    rows = _checked_texts("anchors", anchors), _checked_texts("positives", positives)
    if len(rows[0]) != len(rows[1]) or not rows[0]:
        raise BadInput(
            f"there are {len(rows[0]):,} anchors and {len(rows[1]):,} positives; expected the same number, at least 1"
        )
    given = None if corpus is None else _checked_texts("corpus", corpus)
    source = rows[1] if given is None else given
    kept = first_occurrences(source)
    candidates = [source[i] for i in kept]
    if isinstance(model, Precomputed):
        if prompts != NO_PROMPTS:
            raise BadInput("a prompt was given, but precomputed vectors are not encoded again; omit the prompt")
        space = space_of_precomputed(model, (*rows, given), kept, settings.metric)
    else:
        space = encode_space(model, rows, candidates, prompts, settings.metric, show_progress_bar)
    known = KnownPositives.of(*rows, candidates)
    search = NegativeSearch(space, known, RerankerFilter(*rows, candidates), settings)
    state = _search_all(search, len(rows[0]), show_progress_bar)
    return _result(rows, candidates, search, state, _report(search, state, len(source)))


def _search_all(search: NegativeSearch, rows: int, show_progress_bar: Progress) -> SearchState:
    state = SearchState.empty(rows, search.settings.k, len(search.settings.all_rules))
    with show_progress(show_progress_bar, rows) as advance:
        for first in range(0, rows, search.block):
            block = np.arange(first, min(first + search.block, rows))
            search.search(block, state)
            advance(len(block), 0)
    return state


def _checked_texts(name: str, given: Sequence[str]) -> list[str]:
    if not is_list_of_rows(given):
        raise BadInput(f"{name} is {describe_value(given)}; expected a list of texts")
    texts = list(given)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise BadInput(f"{name}, row {i}: {text!r:.40} is not a text")
        if name != "corpus" and not normalized(text):  # its vector would be meaningless; blank corpus texts are ignored
            raise BadInput(f"{name}, row {i}: the text is empty, so nothing is similar to it; remove the row")
    return texts


def _report(search: NegativeSearch, state: SearchState, texts: int) -> MiningReport:
    settings, known = search.settings, search.known
    per_rule = zip(settings.all_rules, state.removed, state.rows_short, strict=True)
    return MiningReport(
        rows=len(state.count),
        anchors=len(np.unique(known.anchors)),
        candidates=len(known.candidates),
        corpus_texts=texts,
        k=settings.k,
        examined=int(state.examined.sum()),
        rule_stats=tuple(RuleStats(str(rule), int(removed), int(short)) for rule, removed, short in per_rule),
        complete=int((state.count == settings.k).sum()),
        partial=int(((state.count > 0) & (state.count < settings.k)).sum()),
        empty=int((state.count == 0).sum()),
        filled=int(state.filled[state.complete].sum()),
        dropped=int((~state.complete).sum()),
        largest_group=int(np.bincount(known.group).max()) if settings.transitive else 0,
    )


def _result(
    rows: Rows, candidates: list[str], search: NegativeSearch, state: SearchState, report: MiningReport
) -> MiningResult:
    which = np.flatnonzero(state.complete)
    every = search.settings.missing == "error"
    if not len(which) or (every and len(which) < report.rows):
        expected = f"{report.k} negatives for each row" if every else "at least one row with negatives"
        raise BadInput(f"expected {expected}; found too few: {report}")
    known = search.known
    return MiningResult(
        anchors=[rows[0][i] for i in which],
        positives=[rows[1][i] for i in which],
        candidates=candidates,
        indices=state.indices[which],
        scores=state.scores[which],
        positive_scores=state.positive_scores[which],
        filled=state.filled[which],
        rows=which,
        groups=known.group[known.anchors[which]] if search.settings.transitive else None,
        report=report,
    )
