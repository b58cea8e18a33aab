"""Hard negatives: for each anchor, texts that are near it and that nobody called like it.

>>> mined = negatives(questions, answers, embedder, k=3)                       # doctest: +SKIP
>>> mined = negatives(questions, answers, embedder, corpus=passages, k=5, choose="random",
...                   rules=[ExcludeKnownPositives(), RankBetween(10, 100), BelowPositive(share=0.95)])  # doctest: +SKIP
>>> print(mined.report)                                                        # doctest: +SKIP
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from ..arrays.similarity import SIMILARITIES
from ..errors import BadInput
from ..runtime.arguments import known_name
from ..runtime.progress import Progress, show_progress
from ..text.inputs import describe_value, is_list_of_rows
from ..text.normalization import normalized
from .candidate_space import CanEncode, Precomputed, encode_space, first_occurrences, space_of_precomputed
from .known_positives import KnownPositives
from .negative_search import NegativeSearch, SearchState, Wanted
from .reranker_filter import RerankerFilter
from .result import MiningReport, MiningResult, RuleStats
from .rules import BelowPositive, ExcludeKnownPositives, Rule
from .strategies import STRATEGIES

Missing = Literal["drop", "fill", "error"]
DEFAULT = (ExcludeKnownPositives(), BelowPositive(share=0.95))


def mine_negatives(
    anchors: Sequence[str],
    positives: Sequence[str],
    model: CanEncode | Precomputed,
    *,
    corpus: Sequence[str] | None = None,
    k: int = 1,
    rules: Sequence[Rule] = DEFAULT,
    choose: str = "top",
    among: int = 100,
    furthest: int = 1000,
    missing: Missing = "drop",
    metric: str = "cosine",
    prompt: str | None = None,
    prompt_name: str | None = None,
    corpus_prompt: str | None = None,
    corpus_prompt_name: str | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> MiningResult:
    """Finds k negatives for each row, which is an anchor with one positive. The search is exact, in bounded memory.

    Args:
        anchors: N texts, none of them blank; one may stand in several rows, each with another positive.
        positives: N texts, none of them blank.
        model: an `Embedder`, or vectors that are there already (`Precomputed`).
        corpus: what negatives are taken from; the positives where it is not given. Texts that are the same in plain
            form are one candidate, under the first spelling; blank ones are none.
        k: how many negatives a row.
        rules: applied in this order, each to what those before it left. `ExcludeKnownPositives()` comes
            first where no `ExcludeKnownPositives` is among them.
        choose: of what is left, `"top"` takes the nearest, `"random"` any, `"spread"` from near to far.
        among: how many that are left, the nearest, `"random"` and `"spread"` choose among.
        furthest: how many of the nearest candidates are looked at for one row, at most.
        missing: what becomes of rows with fewer than k: `"drop"` leaves them out; `"fill"` adds the least similar of
            the `furthest` nearest that are not said to be alike, whatever other rules say of them, and leaves out rows
            that have too few even so; `"error"` refuses. The report counts them.
        metric: one of `likewise.arrays.similarity.SIMILARITIES`.
        prompt: for anchors, and `corpus_prompt` for all other texts, a text, as `Embedder.encode` takes it;
            `prompt_name` and `corpus_prompt_name` are names of the model's own prompts, in its place.
        seed: of `"random"`; what a row draws depends on it and on the row's number alone.
        progress: as `Embedder.encode` takes it.

    Raises:
        BadInput: texts or vectors do not fit together, an option is unknown, or the rules leave nothing; the message
            then says which rule took how many.
    """
    rows = (_texts("anchors", anchors), _texts("positives", positives))
    given = None if corpus is None else _texts("corpus", corpus)
    source = rows[1] if given is None else given
    if len(rows[0]) != len(rows[1]) or not rows[0]:
        raise BadInput(
            f"there are {len(rows[0]):,} anchors and {len(rows[1]):,} positives; wanted one for one, not none"
        )
    wanted = Wanted(k, among, furthest, choose, missing == "fill", seed)
    known_name("choose", choose, STRATEGIES)
    known_name("missing", missing, get_args(Missing))
    known_name("metric", metric, SIMILARITIES)
    _check_model(model)
    _check_rules(rules)
    kept = first_occurrences(source)
    candidates = [source[i] for i in kept]
    prompts = (_prompt(prompt, prompt_name), _prompt(corpus_prompt, corpus_prompt_name))
    if isinstance(model, Precomputed):
        if any(prompts):
            raise BadInput("a prompt was given, and vectors that are there already are not encoded again; wanted none")
        space = space_of_precomputed(model, (*rows, given), kept, metric)
    else:
        space = encode_space(model, rows, candidates, prompts, metric, progress)
    said = KnownPositives.of(*rows, candidates)
    told = (
        tuple(rules)
        if any(isinstance(rule, ExcludeKnownPositives) for rule in rules)
        else (ExcludeKnownPositives(), *rules)
    )
    digging = NegativeSearch(space, said, RerankerFilter(*rows, candidates), told, wanted)
    found = SearchState.empty(len(rows[0]), k, len(told))
    with show_progress(progress, len(rows[0])) as advance:
        for first in range(0, len(rows[0]), digging.block):
            some = np.arange(first, min(first + digging.block, len(rows[0])))
            digging.dig(some, found)
            advance(len(some), 0)
    return _mined(
        rows, candidates, said if _through(told) else None, found, _report(said, told, found, len(source)), missing
    )


def _prompt(text: str | None, name: str | None) -> dict[str, str]:
    """Of a prompt's text and name those that were given, as `encode` takes them."""
    return {key: given for key, given in (("prompt", text), ("prompt_name", name)) if given is not None}


def _check_model(model: object) -> None:
    """Refuses what neither encodes nor is vectors; a str has an `encode` too, and it is another."""
    if isinstance(model, str | type) or not isinstance(model, CanEncode | Precomputed):
        raise BadInput(f"model is {describe_value(model)}; wanted an Embedder (Embedder.load(name)), or Precomputed")


def _check_rules(rules: object) -> None:
    if not isinstance(rules, Sequence) or isinstance(rules, str | bytes):
        raise BadInput(f"rules are {describe_value(rules)}; wanted a list of rules, such as RankBetween(10, 50)")
    odd = next((rule for rule in rules if not isinstance(rule, Rule)), None)
    if odd is not None:
        raise BadInput(f"rules hold {describe_value(odd)}; wanted rules, such as RankBetween(10, 50)")


def _texts(name: str, given: Sequence[str]) -> list[str]:
    if not is_list_of_rows(given):
        raise BadInput(f"{name} is {describe_value(given)}; wanted a list of texts")
    texts = list(given)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise BadInput(f"{name}, row {i}: {text!r:.40} is no text")
        if name != "corpus" and not normalized(text):  # whose vector means nothing; a corpus's blank texts are left out
            raise BadInput(f"{name}, row {i}: the text is empty, so nothing is near it or far; leave the row out")
    return texts


def _through(rules: Sequence[Rule]) -> bool:
    return any(isinstance(rule, ExcludeKnownPositives) and rule.through for rule in rules)


def _report(said: KnownPositives, rules: Sequence[Rule], found: SearchState, given: int) -> MiningReport:
    k = found.indices.shape[1]
    return MiningReport(
        rows=len(found.count),
        anchors=len(np.unique(said.anchors)),
        candidates=len(said.candidates),
        given=given,
        k=k,
        looked_at=int(found.looked_at.sum()),
        took=tuple(RuleStats(str(r), int(t), int(s)) for r, t, s in zip(rules, found.taken, found.short, strict=True)),
        full=int((found.count == k).sum()),
        short=int(((found.count > 0) & (found.count < k)).sum()),
        none=int((found.count == 0).sum()),
        filled=int(found.filled[found.whole].sum()),
        dropped=int((~found.whole).sum()),
        largest=said.largest if _through(rules) else 0,
    )


def _mined(
    rows: tuple[list[str], list[str]],
    candidates: list[str],
    said: KnownPositives | None,
    found: SearchState,
    report: MiningReport,
    missing: Missing,
) -> MiningResult:
    """The rows that have k negatives.

    Raises:
        BadInput: there are none, or fewer than wanted.
    """
    which = np.flatnonzero(found.whole)
    if not len(which) or (missing == "error" and len(which) < report.rows):
        wanted = f"{report.k} negatives for each row" if missing == "error" else "a row or more"
        raise BadInput(f"wanted {wanted}; found too little: {report}")
    return MiningResult(
        anchors=[rows[0][i] for i in which],
        positives=[rows[1][i] for i in which],
        candidates=candidates,
        indices=found.indices[which],
        scores=found.scores[which],
        positive_scores=found.positive[which],
        filled=found.filled[which],
        rows=which,
        groups=None if said is None else said.group[said.anchors[which]],
        report=report,
    )
