"""Draws the measured tables of docs/similarity.md, docs/search.md and docs/scale.md from benchmarks/results.

    python -m benchmarks.page_tables

See benchmarks/pages.py.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .pages import PageTables, draw, rows
from .record import place, read

MODELS = ("likewise-mini", "all-MiniLM-L6-v2")
CLUSTERINGS = {
    "ward, k = 23": "ward, k = 23",
    "k-means, k = 23": "kmeans, k = 23",
    "average, k = 23": "average, k = 23",
    "complete, k = 23": "complete, k = 23",
    "HDBSCAN after t-SNE": "hdbscan",
    "average, default threshold": "average",
    "complete, default threshold": "complete",
    "communities, default threshold": "communities",
}
SEARCHES = {
    "words (BM25)": "BM25",
    "likewise-mini": "likewise-mini",
    "hybrid of likewise-mini": "hybrid of likewise-mini",
    "all-MiniLM-L6-v2": "all-MiniLM-L6-v2",
    "hybrid of all-MiniLM-L6-v2": "hybrid of all-MiniLM-L6-v2",
    "hybrid of likewise-mini, best 100 re-ranked by all-MiniLM-L6-v2's cosine": (
        "hybrid of likewise-mini, re-ranked by all-MiniLM-L6-v2"
    ),
}


def results(name: str) -> Any:
    """The figures in a result file, without its machine."""
    return read(name)["results"]


def fraction(value: float, digits: int = 3) -> str:
    """Format 0.0314 as .031, with a minus sign if negative."""
    text = f"{value:.{digits}f}"
    return re.sub(r"^(-?)0\.", r"\1.", text).replace("-", "−")


def signed(value: float) -> str:
    """Format a difference as +.031."""
    return ("+" if value >= 0 else "") + fraction(value)


def interval(values: Sequence[float], show: Callable[[float], str] = fraction) -> str:
    """Format a value and the ends of its interval as .031 [.020, .042]."""
    value, low, high = values
    return f"{show(value)} [{show(low)}, {show(high)}]"


def difference(values: Sequence[float]) -> str:
    """Format as +.110 [.099, .120]: only the difference and negative values get a sign."""
    value, low, high = values
    return f"{signed(value)} [{fraction(low)}, {fraction(high)}]"


def clustering() -> list[str]:
    """Clustering methods on the sentences of 23 articles."""
    methods = results("clustering_quality")["methods"]
    of = [(shown, methods[name]) for shown, name in CLUSTERINGS.items()]
    cells = (
        (shown, f"{m['clusters']}", f"{m['in none']:,}", fraction(m["V-measure"]), fraction(m["adjusted Rand"]))
        for shown, m in of
    )
    return rows("method | clusters | texts in no cluster | V-measure | adjusted Rand", cells)


def false_pairs() -> list[str]:
    """The share of false pairs among those found, at three stated rates."""
    kinds = (("planted copies", "diverse_text", "planted"), ("QQP", "qqp_subset", "mixed"))
    body = []
    for model in MODELS:
        for shown, data, part in kinds:
            of = results("calibration")[model][data][part]
            cells = [f"{fraction(of[rate]['observed'])} ± {fraction(of[rate]['standard error'])}" for rate in RATES]
            body.append([f"{model}, {shown}", *cells])
    return rows(" | stated .05 | .1 | .2", body)


RATES = ("0.05", "0.1", "0.2")


def deleted_words() -> list[str]:
    """How far the cosine falls when a word is deleted."""
    body = []
    for name, of in results("explanations").items():
        shown = "all-MiniLM-L6-v2, SBERT-WK" if "sbert-wk" in name else name
        top, other = fraction(of["top"][0]), fraction(of["other"][0])
        body.append([shown, top, other, difference(of["top - other"]), difference(of["top - longest"])])
    head = "model | the word ranked first | another word | difference | difference from the longest word"
    return rows(head, body)


def mapped() -> list[str]:
    """Search through a map between two models."""
    found, body = results("migration"), []
    small, large = MODELS
    for kind, shown in (("queries", "{0}'s queries in an index of {1}"), ("documents", "documents, {0} → {1}")):
        for source, target in ((small, large), (large, small)):
            of = found["mapped"][f"{source} -> {target}, 8000 texts"][kind]
            own = found["own"][target]["ndcg"][0]
            cells = interval(of["recall"]), fraction(of["ndcg"][0]), fraction(own)
            body.append([shown.format(source, target), *cells])
    return rows("used as | recall@10 kept | nDCG@10 | nDCG@10 of the index's own model", body)


def exact_search() -> list[str]:
    """Exact search compared with faiss."""
    speed = results("search-2-threads")["speed"]
    shown = {
        "faiss with BLAS": "faiss, BLAS",
        "float32": "float32",
        "int8, re-scored": "int8",
        "one bit, re-scored": "one bit",
    }
    body = []
    for row, name in shown.items():
        many, one = speed["100 queries"][name], speed["1 queries"][name]
        body.append([row, _ms(many["ms"]), f"{many['times_faiss']:.3g}", _ms(one["ms"])])
    return rows(" | 100 queries | × faiss with BLAS | one query", body)


def latency() -> list[str]:
    """One text on one thread and on the most that were measured."""
    found = read("latency")
    measured = found["results"]["milliseconds"]
    most = max((threads for texts in measured.values() for of in texts.values() for threads in of), key=int)
    body = []
    for model, texts in measured.items():
        cells = (f"{of['1']['ms']:.2f} → {of[most]['ms']:.2f} ms ({of[most]['times']:.2f} ×)" for of in texts.values())
        body.append([model, *cells])
    ratios = "Times are medians over rounds; ratios are medians of each round's ratio, so the two may differ slightly"
    below = f"{ratios}. {place(found['machine'])} ([script](../benchmarks/latency.py))."
    return rows(f"one text, 1 thread → {most} | a question | a page", body, below)


def _ms(value: float) -> str:
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.1f} ms"


def late_chunking() -> list[str]:
    """Chunks embedded alone, late, and with their title."""
    body = []
    for size, queries in results("late_chunking")["models"]["likewise-mini"].items():
        for k, (query, ways) in enumerate(queries.items()):
            for metric, shown in (("ndcg@10", "nDCG@10"), ("mrr@10", "MRR@10")):
                first = [f"{size} tokens" if not k else "", query] if metric == "ndcg@10" else ["", ""]
                body.append([*first, shown, *(_late(way[metric]) for way in ways.values())])
    return rows("chunks | query | metric | alone | late | title + chunk", body)


def _late(cell: Mapping[str, Any]) -> str:
    score, against = fraction(cell["score"][0]), cell["against_alone"]
    return score if against is None else f"{score} ({interval(against, signed)})"


def scifact() -> list[str]:
    """Searches on SciFact."""
    scores = results("scifact")["scores"]
    body = (
        [shown, interval(scores[name]["ndcg@10"]), fraction(scores[name]["recall@100"])]
        for shown, name in SEARCHES.items()
    )
    return rows("search | nDCG@10 | recall@100", body)


def shards() -> list[str]:
    """The cost of encoding into folders of shards, and the kills that it survives."""
    alone, workers = results("encode_kills-1-workers"), results("encode_kills-2-workers")
    for kills in (alone, workers):
        assert not any(kills[failure] for failure in FAILURES), kills
    peaks, growth = results("encode_memory")["peak_mb"], results("encode_memory")["growth"]
    small, large = (f"{value:.0f} MB" for value in peaks.values())
    one, two = (results(f"encode_overhead-{threads}-threads")["overhead"] for threads in (1, 2))
    pair, ray = results("encode_workers"), results("encode_ray")
    overhead = "-m benchmarks.encode_overhead"
    body = (
        (
            f"{alone['kills']} SIGKILLs at random moments, one process",
            "`python -m benchmarks.encode_kills`",
            f"{alone['outputs completed']} outputs completed, all identical to that of an uninterrupted run; every "
            "shard was complete after each kill",
        ),
        (
            f"{workers['kills']} kills of commands with two workers, or of a worker",
            f"`python -m benchmarks.encode_kills --workers 2 --kills {workers['kills']}`",
            "the same result, and no worker outlived its command",
        ),
        (
            "peak memory for 200,000 and 2,000,000 short texts, likewise-static, ids checked",
            "`python -m benchmarks.encode_memory --id`",
            f"{small} and {large}, {growth:+.1%}".replace("%", " %"),
        ),
        (
            "time to write a folder of shards instead of keeping vectors in memory, likewise-mini, one thread",
            f"`OMP_NUM_THREADS=1 python {overhead} --count 12000`",
            f"{one:+.1%}".replace("%", " %"),
        ),
        (
            "the same on two threads, on which encoding takes half the time",
            f"`OMP_NUM_THREADS=2 python {overhead} --count 16000`",
            f"{two:+.1%}".replace("%", " %"),
        ),
        (
            "speed of two workers compared with one, likewise-mini, one thread each",
            f"`python {overhead} --workers --count 12000 --shard-rows 500`",
            f"{pair['times_without_start']:.2f} ×; {pair['times']:.2f} × including the start of the workers",
        ),
        (
            "speed of two Ray actors compared with two workers, after the start",
            f"`python {overhead} --ray --count 12000 --shard-rows 500`",
            f"{ray['times_workers']:.2f} ×",
        ),
    )
    return rows("what | command | measured", body)


FAILURES = ("DIFFERENT", "NOT WHOLE", "WORKERS THAT OUTLIVE THEIR COMMAND")

TABLES: PageTables = {
    "docs/similarity.md": {
        "clustering": clustering,
        "false pairs": false_pairs,
        "deleted words": deleted_words,
        "mapped": mapped,
        "exact search": exact_search,
    },
    "docs/search.md": {"late chunking": late_chunking, "scifact": scifact},
    "docs/scale.md": {"shards": shards},
    "docs/speed.md": {"latency": latency},
}


if __name__ == "__main__":
    draw(TABLES)
