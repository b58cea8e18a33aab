"""Semantic textual similarity: correlations with human ratings on STS12 to STS16, STS-B, SICK-R and other languages.

Papers report three different numbers as the score on STS12–16, so each name says which one it is: `all` correlates the
pairs of all subsets at once (Reimers and Gurevych 2019, SimCSE, mteb), `mean` is the unweighted mean over subsets
(SBERT-WK), and `wmean` is the mean weighted by subset size (the older SentEval).
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...arrays.correlation import Numbers
from ...arrays.similarity import PAIRWISE
from ...text.normalization import normalized
from ..task import Encode, EvaluationSettings, ReadDataset, Result, Score, Task
from .sentence_pairs import CORRELATIONS, RatedPairs, correlation_score, correlations_by_group, read_pairs

HEADLINE, MEAN = "spearman/cosine/all", "spearman/cosine/mean"
STS_NAMES = ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sick-r")
"""The columns of Sentence-BERT's table 1, in order."""
SBERT_WK_NAMES = (*(f"{name}-mean" for name in STS_NAMES[:5]), "stsb-regressor", "sick-r-regressor")
"""The columns of SBERT-WK's table, as tasks that follow its protocol."""


@dataclass(frozen=True)
class StsSet:
    """A set of pairs: its file, the number of pairs reported in the literature, and a caveat about the score.

    `digest` identifies the published pairs: the caveat applies only to them, because a user's file may have the same
    name. `part` is the column that divides the pairs into subsets or languages, if there is one.
    """

    data: str
    pairs: int
    digest: str
    part: str | None = None
    caution: str = ""


def _in_stsb(count: int) -> str:
    return f"STS-B's training split contains {count:,} of these pairs: not a fair score for a model trained on it"


STS_SETS: dict[str, StsSet] = {
    "sts12": StsSet("sts12/test", 3108, "112beffc8ce8150b", "subset", _in_stsb(1002)),
    "sts13": StsSet(
        *("sts13/test", 1500, "24c9187c1ec1df14", "subset"),
        f"without SMT, whose licence forbids redistribution; {_in_stsb(597)}",
    ),
    "sts14": StsSet("sts14/test", 3750, "4ba40f7d62237431", "subset", _in_stsb(1861)),
    "sts15": StsSet("sts15/test", 3000, "3127bde883b9ad13", "subset", _in_stsb(1102)),
    "sts16": StsSet("sts16/test", 1186, "64e63e814d6d7926", "subset", _in_stsb(197)),
    "stsb": StsSet(
        *("stsb/test", 1379, "759c37928df8c1be", None),
        "257 of its 2,552 distinct sentences are in STS-B's training split too",
    ),
    "sick-r": StsSet(
        *("sick/test", 4927, "c72f42586c95c1f1", None),
        "SICK's training split contains 81 of these pairs, in either order",
    ),
    "stsb-dev": StsSet("stsb/dev", 1500, "3fa22c033e6022b6"),
    "stsb-multi-mt": StsSet(
        *("stsb_multi_mt/test", 15169, "9f73eaae76acb6f7", "lang"),
        "machine-translated from STS-B, with the same overlaps in every language",
    ),
    "jsts": StsSet(
        *("jsts/valid", 1457, "0faccf909c23d247", None),
        "the validation split, whose scores are reported in the literature; 182 of its 2,808 distinct sentences are in "
        "JSTS's training split too",
    ),
    "korsts": StsSet(
        *("korsts/test", 1379, "624929b4c2cdbc0f", None),
        "machine-translated from STS-B and corrected by people; 153 of its 2,514 distinct sentences are in KorSTS's "
        "training split too",
    ),
}


def sts_task(
    encode: Encode, read: ReadDataset, settings: EvaluationSettings, *, name: str, headline: str = HEADLINE
) -> Result:
    """The correlations of each similarity, over all pairs and over subsets, with `headline` first."""
    dataset = STS_SETS[name.removesuffix("-mean")]
    pairs = read_pairs(read, dataset.data, settings, part=dataset.part)
    result = correlate_pairs(encode, pairs, settings, name=name, headline=headline)
    return result.with_notes(*_cautions(dataset, pairs))


def correlate_pairs(
    encode: Encode, pairs: RatedPairs, settings: EvaluationSettings, *, name: str, headline: str = HEADLINE
) -> Result:
    """The correlations of each similarity with the gold scores of these pairs, with `headline` first."""
    similarities, notes = pairs.similarities(encode, PAIRWISE)
    scores = [score for kind, numbers in similarities.items() for score in _scores(kind, numbers, pairs)]
    scores.sort(key=lambda score: score.name != headline)
    subsets = f" in {len(pairs.parts)} subsets ({', '.join(pairs.parts)})" if len(pairs.parts) > 1 else ""
    return Result(name, tuple(scores), f"{headline}, {settings.casing}, n = {len(pairs):,}{subsets}", notes)


def _scores(kind: str, similarities: Numbers, pairs: RatedPairs) -> Iterator[Score]:
    for statistic in CORRELATIONS:
        yield correlation_score(f"{statistic}/{kind}/all", similarities, pairs.gold, statistic, None, pairs.items)
        if len(pairs.parts) > 1:
            mean = f"{statistic}/{kind}/mean"
            yield correlation_score(mean, similarities, pairs.gold, statistic, pairs.group, pairs.items)
            correlations = correlations_by_group(similarities, pairs.gold, statistic, pairs.group)
            weighted = float(np.average(correlations, weights=np.bincount(pairs.group)))
            yield Score(f"{statistic}/{kind}/wmean", weighted, len(pairs))
    for number, part in enumerate(pairs.parts if kind == "cosine" and len(pairs.parts) > 1 else ()):
        rows = pairs.group == number
        name = f"spearman/cosine/{part}"
        yield correlation_score(name, similarities[rows], pairs.gold[rows], "spearman", None, pairs.items[rows])


def _cautions(dataset: StsSet, pairs: RatedPairs) -> Iterator[str]:
    if len(pairs) != dataset.pairs:
        yield f"{len(pairs):,} pairs; the set used in papers has {dataset.pairs:,}, so scores are not comparable"
    elif pairs_digest(pairs) != dataset.digest:
        yield f"these differ from the published pairs of {dataset.data}: scores may not be comparable"
    elif dataset.caution:
        yield dataset.caution


def pairs_digest(pairs: RatedPairs) -> str:
    """A digest of the distinct pairs that ignores order and punctuation, so that it is the same in every format."""
    form = partial(normalized, punctuation=False)
    distinct = {tuple(sorted((form(a), form(b)))) for a, b in zip(pairs.first, pairs.second, strict=True)}
    lines = "\n".join(sorted(f"{a} | {b}" for a, b in distinct))
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _task(name: str, suite: str, summary: str, headline: str = HEADLINE) -> Task:
    data, run = (STS_SETS[name.removesuffix("-mean")].data,), partial(sts_task, name=name, headline=headline)
    return Task(name, suite, data, summary, run)


_SBERT_WK_SUMMARY = "Pearson correlation of cosine, mean of subsets: SBERT-WK's protocol"
STS_TASKS: tuple[Task, ...] = (
    *(_task(name, "sts", "Spearman correlation of cosine with human ratings, all pairs at once") for name in STS_NAMES),
    _task("stsb-dev", "dev", "Spearman correlation of cosine on the development split"),
    *(_task(name, "sbert-wk", _SBERT_WK_SUMMARY, "pearson/cosine/mean") for name in SBERT_WK_NAMES[:5]),
    _task("stsb-multi-mt", "multilingual", "STS-B in eleven languages (mean of Spearman correlations)", MEAN),
    _task("jsts", "multilingual", "STS in Japanese (Spearman correlation of cosine)"),
    _task("korsts", "multilingual", "STS-B in Korean (Spearman correlation of cosine)"),
)
