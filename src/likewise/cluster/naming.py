"""Describe a cluster by its characteristic words and its most central texts."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from ..array_types import Float, Int
from ..arrays.similarity import unit
from ..errors import BadInput
from .clusterings import members

WORD = re.compile(r"[^\W\d_](?:[\w'’-]*\w)?")
"""Words start with a letter, which excludes numbers and symbols. Languages without spaces are not segmented."""
OVER_REPRESENTED = 2.0
"""How much more frequent a word must be in a cluster than elsewhere to appear in its name (this excludes "the")."""
COMMON_SHARE, SPREAD, LEAST_SPREAD = 0.05, 0.8, 3
"""A word counts as a stop word if it occurs in at least this fraction of the texts and in at least three clusters, and
in at least SPREAD times as many clusters as expected by chance."""
FUNCTION_WORDS = frozenset(
    WORD.findall("""
    about above after again against all also although always and another any anybody anyone anything are aren
    around because been before behind being below beneath beside between beyond both but can cannot could couldn did
    didn does doesn doing don done down during each either else enough even ever every everyone everything few for
    from had hadn has hasn have haven having hence her here hers herself him himself his how however into isn its
    itself just least less let many may might mine more most much must myself neither never nobody none nor not nothing
    off often once one only onto other others otherwise our ours ourselves out over own per perhaps quite rather really
    same shall she should shouldn since some somebody someone something sometimes still such than that the their theirs
    them themselves then there therefore these they this those though through thus too toward towards under unless until
    upon very via was wasn were weren what whatever when whenever where wherever whether which while who whoever whom
    whose why will with within without won would wouldn yes yet you your yours yourself yourselves
    ask asked asking bring brought came come comes coming gave get gets getting give given gives giving goes going gone
    got gotten keep keeps kept know known knows let like made make makes making need needed needs put said say says see
    seem seems seen take taken takes taking tell thing things told took tried try trying use used uses using want wanted
    wants way ways went
    one two three four five six seven eight nine ten first second""")
)
"""English words that never name a cluster (function words, common verbs, numerals), needed if there are few texts.

In other languages, stop words are found from the texts alone."""
SAME_BEGINNING = 0.6
"""If two words begin with the same letters (at least four, and this fraction of the shorter word), only one is used."""


@dataclass(frozen=True)
class ClusterSummary:
    """The description of a cluster; rows refer to `vectors`."""

    number: int
    size: int
    words: tuple[str, ...]
    central: tuple[int, ...]
    """The rows closest to the cluster's mean direction, closest first."""
    cosine: float
    """The mean cosine between the cluster's rows and its mean direction; 1 if all rows are copies."""

    @property
    def name(self) -> str:
        """The words on one line, or the cluster's number if it has no characteristic words."""
        return ", ".join(self.words) or f"cluster {self.number + 1}"


def describe_clusters(
    texts: Sequence[str],
    vectors: Float[np.ndarray, "N D"],
    labels: Int[np.ndarray, " N"],
    *,
    words: int = 3,
    central: int = 3,
) -> list[ClusterSummary]:
    """The words and the most central texts of each cluster, in order of cluster number."""
    texts = list(texts)
    if not len(texts) == len(vectors) == len(labels):
        raise BadInput(
            f"got {len(texts):,} texts, {len(vectors):,} vectors, {len(labels):,} labels; expected equal numbers"
        )
    summaries = []
    for rows, marks in zip(members(labels), c_tf_idf_words(texts, labels, words), strict=True):
        directions = unit(vectors[rows])
        cosines = directions @ unit(directions.sum(axis=0)[None])[0]
        nearest = rows[np.argsort(-cosines, kind="stable")[:central]]
        mean = min(1.0, float(cosines.mean()))
        number = int(labels[rows[0]])  # numbers may have gaps
        summaries.append(ClusterSummary(number, len(rows), marks, tuple(nearest.tolist()), mean))
    return summaries


def c_tf_idf_words(texts: Sequence[str], labels: Int[np.ndarray, " N"], count: int = 3) -> list[tuple[str, ...]]:
    """The `count` words with the highest class-based tf-idf in each cluster (Grootendorst 2022, equation 2).

    The weight of word t in cluster c is tf(t, c) · log(1 + A / f(t)), where tf(t, c) is its frequency in c, f(t) its
    frequency in all clusters, and A the mean number of words per cluster; unclustered texts count as one more cluster.
    Each word counts once per text. Words must be far more frequent in c than elsewhere (OVER_REPRESENTED). Stop words
    are excluded: FUNCTION_WORDS, and words that are common across clusters (COMMON_SHARE, SPREAD). Ties are broken
    alphabetically.
    """
    texts, clusters = list(texts), members(labels)
    bags = [Counter(word for row in rows.tolist() for word in _words(texts[row])) for rows in clusters]
    total = Counter(word for row in np.flatnonzero(labels < 0).tolist() for word in _words(texts[row]))
    for bag in bags:
        total.update(bag)
    mean = total.total() / max(1, len(bags) + int((labels < 0).any()))
    stop = _stop_words(bags, total, [len(rows) for rows in clusters], len(texts))
    return [tuple(_best(bag, total, mean, count, stop)) for bag in bags]


def _stop_words(bags: Sequence[Counter[str]], total: Counter[str], sizes: Sequence[int], texts: int) -> set[str]:
    """Frequent words that occur in nearly as many clusters as they would if spread at random."""
    stop = set()
    for word, frequency in total.items():
        if frequency >= COMMON_SHARE * texts:
            touched = sum(word in bag for bag in bags)
            by_chance = sum(1 - (1 - frequency / texts) ** size for size in sizes)
            if touched >= max(LEAST_SPREAD, SPREAD * by_chance):
                stop.add(word)
    return stop


def _best(bag: Counter[str], total: Counter[str], mean: float, count: int, stop: set[str]) -> list[str]:
    inside, outside = bag.total(), total.total() - bag.total()
    weights = {
        word: frequency * math.log(1 + mean / total[word])
        for word, frequency in bag.items()
        if word not in stop
        if frequency * outside > OVER_REPRESENTED * (total[word] - frequency) * inside or not outside
    }
    chosen: list[str] = []  # if a word occurs in several forms (header, headers), only the first form
    for word in sorted(weights, key=lambda word: (-weights[word], word)):
        if len(chosen) < count and not any(_alike(word, other) for other in chosen):
            chosen.append(word)
    return chosen


def _alike(a: str, b: str) -> bool:
    """Whether two words may be forms of one word: the shorter, or most of it, begins the other (parse, parsing)."""
    begin = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
    return begin == min(len(a), len(b)) or begin >= max(4, SAME_BEGINNING * min(len(a), len(b)))


def _words(text: str) -> set[str]:
    """The distinct words of a text, lower-cased, with at least three letters, minus function words (it's, don't)."""
    stems = {word: re.split("['’]", word)[0] for word in WORD.findall(text.lower())}
    return {word for word, stem in stems.items() if len(stem) > 2 and stem not in FUNCTION_WORDS}
