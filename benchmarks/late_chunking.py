"""Does late chunking find passages of long documents better than embedding each chunk on its own?

The documents are the sentences of 60 Wikipedia articles (LIKEWISE_DATA/wiki_sections) without headings, split into the
same chunks for every method. The section boundaries are known, so the answer to a query is known by construction:

    title      "ARTICLE: SECTION"; answered by the chunks of the section
    sentence   the first sentence of a section, removed from the document; answered by the rest of the section

All chunks of all articles are searched. There are three methods: each chunk alone; late chunking (`encode_chunks`); and
each chunk prefixed with the article's title, a cheap way to give it context.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq

from likewise import Embedder
from likewise.evaluate.metrics.ranking import ranking_metric
from likewise.evaluate.statistics.comparison import compare, estimate
from likewise.evaluate.task import Evidence
from likewise.model_files.names import RECOMMENDED_MODEL
from likewise.search import search
from likewise.text.chunking import ChunkSettings, split_document

from .options import options
from .record import data, save

SIZES = (64, 128)
METRICS = ("ndcg@10", "mrr@10")
WAYS = ("alone", "late", "title + chunk")
LEAST = 4  # minimum number of sentences in a section that is queried


@dataclass(frozen=True)
class Article:
    """An article without headings, the end of each section in characters, and the queries for each section."""

    title: str
    text: str
    sections: list[tuple[int, int]]
    queries: dict[str, list[str]]


def articles() -> Iterator[Article]:
    """The articles, without the first sentence of each queried section."""
    rows = pq.read_table(data("wiki_sections", "sentences.parquet")).to_pylist()
    for title in dict.fromkeys(row["article"] for row in rows):
        own = [row for row in rows if row["article"] == title]
        names = dict.fromkeys(row["section"] for row in own)
        text, sections = "", []
        queries: dict[str, list[str]] = {"title": [], "sentence": []}
        for name in names:
            sentences = [row["text"] for row in own if row["section"] == name]
            asked = name and len(sentences) >= LEAST
            start = len(text)
            text += " ".join(sentences[1:] if asked else sentences) + " "
            if asked:
                sections.append((start, len(text)))
                queries["title"].append(f"{title}: {name}")
                queries["sentence"].append(sentences[0])
        yield Article(title, text, sections, queries)


def vectors_of(
    way: str, embedder: Embedder, found: Sequence[Article], spans: list[list[tuple[int, int]]]
) -> np.ndarray:
    """A vector for each chunk of each article."""
    if way == "late":
        documents = embedder.encode_chunks([article.text for article in found], chunks=spans, show_progress_bar=False)
        return np.concatenate([document.vectors for document in documents])
    before = [f"{article.title}: " if way == "title + chunk" else "" for article in found]
    texts = [
        title + article.text[start:stop]
        for title, article, own in zip(before, found, spans, strict=True)
        for start, stop in own
    ]
    return embedder.encode_document(texts, overflow="truncate", show_progress_bar=False)


def relevances(found: Sequence[Article], spans: list[list[tuple[int, int]]]) -> list[np.ndarray]:
    """Return, for each queried section, the chunks that lie in it by at least half of their length."""
    rows = []
    before, total = 0, sum(map(len, spans))
    for article, own in zip(found, spans, strict=True):
        for begin, end in article.sections:
            row = np.zeros(total)
            for i, (start, stop) in enumerate(own):
                row[before + i] = 2 * (min(stop, end) - max(start, begin)) >= stop - start
            rows.append(row)
        before += len(own)
    return rows


def scores(queries: np.ndarray, chunks: np.ndarray, relevant: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Compute each metric for each query; sections that contain no chunk are left out."""
    kept = [i for i, row in enumerate(relevant) if row.any()]
    hits = search(queries[kept], chunks, 10).indices
    judged = np.stack([np.sort(relevant[i])[::-1] for i in kept])
    ranked = np.stack([relevant[i][row] for i, row in zip(kept, hits, strict=True)])
    return {name: ranking_metric(name, ranked, judged) for name in METRICS}


def measured(name: str, size: int, found: Sequence[Article]) -> dict[str, dict]:
    """Compare the methods for one model and one chunk size."""
    embedder = Embedder.load(name)
    settings = ChunkSettings(size, headings=False)

    def count(texts: list[str]) -> list[int]:
        return [len(ids) for ids in embedder.tokenizer.token_ids(texts)]

    spans = [[(c.start, c.stop) for c in split_document(article.text, count, settings)] for article in found]
    relevant = relevances(found, spans)
    vectors = {way: vectors_of(way, embedder, found, spans) for way in WAYS}
    results = {}
    for kind in ("title", "sentence"):
        queries = embedder.encode_query([query for article in found for query in article.queries[kind]])
        by_way = {way: scores(queries, vectors[way], relevant) for way in WAYS}
        results[kind] = {way: _row(way, by_way) for way in WAYS}
        print(name, size, kind, results[kind], flush=True)
    return results


def _row(way: str, by_way: dict[str, dict[str, np.ndarray]]) -> dict[str, dict]:
    """Return each metric with its interval, and its difference from embedding chunks alone."""
    row = {}
    for metric in METRICS:
        evidence = Evidence(by_way[way][metric])
        interval, against = estimate(evidence), compare(evidence, Evidence(by_way["alone"][metric]))
        d = against.difference
        row[metric] = {
            "score": [interval.value, interval.low, interval.high],
            "against_alone": None if way == "alone" else [d.value, d.low, d.high],
            "p": None if way == "alone" else against.p,
            "queries": len(by_way[way][metric]),
        }
    return row


def main() -> None:
    args = options(__doc__, models=["likewise-mini", RECOMMENDED_MODEL], sizes=[*SIZES])
    found = list(articles())
    results = {name: {str(size): measured(name, size, found) for size in args.sizes} for name in args.models}
    save("late_chunking", {"articles": len(found), "models": results})


if __name__ == "__main__":
    main()
