"""BM25: rank texts by the words they share with a query, as a first stage before reranking.

The score of a text is the sum, over the words of the query, of idf · tf / (tf + k₁(1 − b + b · length / mean length))
(Robertson and Zaragoza 2009, equation 3.15), with Lucene's idf, ln(1 + (N − n + ½) / (n + ½)), which is never
negative. Words come from likewise.text.words; there is no stemming and no stop word list.
"""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..array_types import Float, Int
from ..runtime.arguments import whole_number
from ..text.words import folded_words

K1, B = 1.2, 0.75


@dataclass(frozen=True)
class BM25Index:
    """Inverted index of N texts: word w is in `texts[starts[w]:starts[w + 1]]` and adds `weights` to their scores."""

    ids: Mapping[str, int]
    starts: Int[np.ndarray, " W1"]
    texts: Int[np.ndarray, " P"]
    weights: Float[np.ndarray, " P"]
    size: int

    @classmethod
    def of(cls, texts: Sequence[str]) -> "BM25Index":
        ids: dict[str, int] = {}
        postings = array("q")  # flat triples: word, text, count
        lengths = np.zeros(len(texts))
        for i, counts in enumerate(Counter(folded_words(text)) for text in texts):
            lengths[i] = counts.total()
            for word, times in counts.items():
                postings.extend((ids.setdefault(word, len(ids)), i, times))
        word_of, text_of, tf_of = np.frombuffer(postings, np.int64).reshape(-1, 3).T
        order = np.argsort(word_of, kind="stable")
        holders = np.bincount(word_of, minlength=len(ids))
        where, tf = text_of[order], tf_of[order]
        idf = np.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
        mean = lengths.mean() if len(postings) else 1.0
        weights = np.repeat(idf, holders) * tf / (tf + K1 * (1 - B + B * lengths[where] / mean))
        return cls(ids, np.append(0, np.cumsum(holders)), where, weights, len(texts))

    def nearest(self, query: str, k: int) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """The k best texts that share a word with the query, best first, and their scores; earlier texts win ties.

        A word is counted each time it occurs in the query.
        """
        k = whole_number("k", k)
        scores = np.zeros(self.size)
        for word, times in Counter(folded_words(query)).items():
            if word in self.ids:
                here = np.s_[self.starts[self.ids[word]] : self.starts[self.ids[word] + 1]]
                scores[self.texts[here]] += times * self.weights[here]
        found = np.flatnonzero(scores)
        if k < len(found):  # common words match most texts, so only texts that reach the k-th best score are sorted
            found = found[scores[found] >= np.partition(scores[found], -k)[-k]]
        best = found[np.argsort(-scores[found], kind="stable")[:k]]
        return best, scores[best]
