"""Sentences of README and docs that tell measured figures, made from benchmarks/results; a test looks for them."""

import json
from collections.abc import Callable, Mapping
from statistics import median

from .page_tables import fraction, interval, results, signed
from .record import RESULTS


def clustering() -> list[str]:
    """Clustering beside scipy and fastcluster."""
    average, complete = (results(f"clustering_{linkage}") for linkage in ("average", "complete"))
    ours, theirs = average["seconds"], average["scipy from vectors, once"]
    return [
        f"{average['sentences']:,} sentences take {ours['likewise']:.2f} s from vectors to the average-linkage "
        "tree, where "
        f"scipy takes {theirs:.1f} s from vectors, and {ours['scipy, from distances']:.2f} s from ready distances "
        f"(fastcluster {ours['fastcluster, from distances']:.2f} s from ready distances); "
        f"complete linkage {complete['seconds']['likewise']:.2f} s."
    ]


def calibration() -> list[str]:
    """How often chance pairs of held-out texts are rejected."""
    small, large = (results("calibration")[model] for model in ("likewise-mini", "all-MiniLM-L6-v2"))
    own, other = (100 * of["diverse_text"]["held out"]["rejected at 0.05"] for of in (small, large))
    questions = {100 * of["qqp_subset"]["held out"]["rejected at 0.05"] for of in (small, large)}
    return [
        f"a Kolmogorov–Smirnov test at .05 rejects {own:g} % and {other:g} % on diverse_text, "
        f"{min(questions):g} % on QQP.",
        *([] if len(questions) == 1 else ["the two models differ on QQP"]),
    ]


def exact_search() -> list[str]:
    """Search beside faiss, its recall, and pairs."""
    found, recall, pairs = results("search-2-threads"), results("search-recall")["recall_at_10"], results("pairs")
    turns, whole = pairs["in_turn"], pairs["whole"]
    ours, theirs = (
        {kind: turns[f"{who}: {kind}"]["seconds"] for kind in ("pairs", "communities")}
        for who in ("likewise", "sentence-transformers")
    )
    bytes_read = found["rows"] * found["width"]
    return [
        f"faiss as shipped uses no BLAS for so few queries and takes "
        f"{found['speed']['100 queries']['faiss, as shipped']['ms'] / 1000:.1f} s.",
        f"int8 {recall['int8, 2 candidates']:.3f} with 2 candidates re-scored for each row asked for, one bit "
        f"{fraction(recall['one bit, 20 candidates'])} with 20. Reading {bytes_read / 1e6:.0f} MB of int8 from "
        "memory takes "
        f"{bytes_read / found['read_gb_per_s'] / 1e6:.0f} ms on that machine.",
        f"All {whole['found']:,} pairs of cosine .8 or more among 100,000 sentences take {whole['seconds']:.1f} "
        "s; among "
        f"{turns['sentences']:,} sentences {ours['pairs']:.2f} s, where sentence-transformers' "
        "`paraphrase_mining` takes "
        f"{theirs['pairs']:.1f} s, and communities {ours['communities']:.2f} s against {theirs['communities']:.1f} s",
        f"without a map the two models share {fraction(results('migration')['both models share'][0])} of their top 10",
    ]


def searching() -> list[str]:
    """Storing, opening and searching an index."""
    add, opened = results("index_add"), results("index_open")
    encode, whole = (median(add["seconds"][part]) for part in ("encode", "add"))
    seconds = opened["seconds"]
    return [
        f"encoding alone takes {encode:.1f} s, reading, cutting, encoding and storing them with full text, "
        "synced to the "
        f"disk, {whole:.1f} s: {100 * add['overhead']:.0f} % more",
        f"Opening an index of {opened['records']:,} passages takes {seconds['open']:.2f} s, counting them "
        f"{seconds['count']:.2f} s, the first search {seconds['first search']:.2f} s, the whole process with "
        "its imports "
        f"{seconds['process']:.1f} s",
        *scifact(),
    ]


def scifact() -> list[str]:
    """Differences between searches on SciFact."""
    of = {name: row["difference"] for name, row in results("scifact")["differences"].items()}
    small, large = "hybrid of likewise-mini", "hybrid of all-MiniLM-L6-v2(precision=int8)"
    both = (of[f"{small} − likewise-mini"], of[f"{large} − all-MiniLM-L6-v2(precision=int8)"])
    again = of[f"{small}, re-ranked by all-MiniLM-L6-v2(precision=int8) − {small}"]
    return [
        f"{interval(of[f'{small} − BM25'], signed)} against BM25 with likewise-mini, "
        f"{interval(of[f'{large} − BM25'], signed)} with all-MiniLM-L6-v2; it is above both models alone "
        f"({signed(both[0][0])} and {signed(both[1][0])}).",
        f"Re-ranking by a larger model's cosine gives nothing here ({interval(again, signed)}).",
    ]


def late_chunking() -> list[str]:
    """What a title before each chunk gives."""
    sizes = results("late_chunking")["models"]["likewise-mini"].values()
    gains = [query["title + chunk"]["ndcg@10"]["against_alone"][0] for size in sizes for query in size.values()]
    low, high = fraction(min(gains), 2), fraction(max(gains), 2)
    return [f"before each chunk raised nDCG@10 by {low} to {high} where it was measured"]


def first_paint() -> list[str]:
    """The server's page in Chromium."""
    found = results("serve_page")
    paint = {view: ms for view, ms in found["first_paint_ms"].items() if view != "slowest"}.values()
    keys = found["input_to_results_ms"]
    return [
        f"first paint {min(paint)} to {max(paint)} ms by view, results {keys['median']:.0f} ms after the key in "
        "the median, "
        f"{keys['slowest']:.0f} ms at the slowest of {found['inputs_with_results_of_their_own']}"
    ]


def readme() -> list[str]:
    """What SBERT-WK costs, and what a learned fusion gives."""
    dissection = json.loads((RESULTS / "dissection.json").read_text("utf-8"))["results"]
    costs = [row["overhead_percent"] for row in dissection if row["model"] == "all-MiniLM-L6-v2" and "texts" in row]
    fusion = json.loads((RESULTS / "fusion.json").read_text("utf-8"))["stsb"]
    gain = median(row["stsb test"]["gain"][0] for row in fusion)
    return [
        f"costs {min(costs):.0f} to {max(costs):.0f} % over mean pooling",
        f"{gain:.0f} points on STS-B test for all-MiniLM-L6-v2, trained in under 20 seconds",
        *(["training took longer"] if max(row["seconds"] for row in fusion) >= 20 else []),
    ]


def fine_tuning() -> list[str]:
    """What more rows give on claims of SciFact."""
    found = results("fine_tune_rows")["data"]["claims"]
    gains = [
        f"{100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]".replace("-", "−")
        for value, low, high in (row["gain"] for row in found["rows"].values())
    ]
    few, more, many, every = found["rows"]
    return [
        f"MRR@10 of {found['rows'][few]['items']} test claims is {100 * found['untrained'][0]:.1f} untrained; the gain "
        f"is {gains[0]} by {few} rows, {gains[1]} by {more}, {gains[2]} by {many} and {gains[3]} by all {every}"
    ]


SENTENCES: Mapping[str, Callable[[], list[str]]] = {
    "README.md": readme,
    "docs/how-to/fine-tune.md": fine_tuning,
    "docs/page.md": first_paint,
    "docs/search.md": lambda: [*searching(), *late_chunking()],
    "docs/similarity.md": lambda: [*clustering(), *calibration(), *exact_search()],
}
"""Pages, and the sentences that are to stand there, whatever their line breaks."""
