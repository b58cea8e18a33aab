"""Statistics of the records: medians over rounds, ratios within rounds, shares of the limit, and percentiles."""

from collections.abc import Mapping, Sequence
from math import ceil
from statistics import median
from typing import Any

from .contenders import REFERENCE, Contender
from .limit import Work

Record = Mapping[str, Any]
Turns = Sequence[Mapping[str, Any]]


def speeds(
    records: Mapping[str, Record],
    rows: Mapping[str, Contender],
    corpora: Mapping[str, Mapping[str, int]],
    limits: Sequence[Record],
    work: Work,
) -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """Return the speeds by contender, corpus and number of threads, including those measured before a failure."""
    found: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for name, record in records.items():
        for corpus, by_threads in record.get("turns", {}).items():
            for threads, turns in by_threads.items():
                if not turns:
                    continue
                reference = records.get(REFERENCE, {}).get("turns", {}).get(corpus, {}).get(threads, [])
                cell = speed(turns, corpora[corpus], rows[name].depth_factor)
                cell["times_reference"] = times(turns, reference, rows[name].depth_factor)
                known = limits_of(limits, corpus, int(threads), rows[name].precision)
                cell["share_of_limit"] = share(turns, corpora[corpus]["tokens"], known, work)
                found.setdefault(name, {}).setdefault(corpus, {})[threads] = cell
    return found


def speed(turns: Turns, corpus: Mapping[str, int], factor: float = 1.0) -> dict[str, Any]:
    """Return texts per second, as the median over rounds."""
    seconds = median(turn["seconds"] for turn in turns)
    return {
        "texts_per_s": factor * corpus["texts"] / seconds,
        "seconds": [turn["seconds"] for turn in turns],
    }


def times(turns: Turns, reference: Turns, factor: float = 1.0) -> float | None:
    """Return the speed relative to the reference, as the median over the rounds in which both were measured."""
    theirs = {turn["round"]: turn["seconds"] for turn in reference}
    ratios = [theirs[turn["round"]] / turn["seconds"] for turn in turns if turn["round"] in theirs]
    return factor * median(ratios) if ratios else None


def limits_of(limits: Sequence[Record], corpus: str, threads: int, precision: str) -> dict[int, float]:
    """Return the machine's limit in each round, in billions of multiply-adds per second."""
    same = [one for one in limits if one["corpus"] == corpus and one["threads"] == threads]
    return {one["round"]: one["g_per_s"][precision] for one in same if precision in one["g_per_s"]}


def share(turns: Turns, tokens: int, limits: Mapping[int, float], work: Work) -> float | None:
    """Return the model's multiply-adds as a share of the machine's limit in the same round; None if unknown."""
    if work.per_token is None:
        return None
    done = [(work.per_token * tokens / turn["seconds"], turn["round"]) for turn in turns if turn["round"] in limits]
    return median(rate / (limits[round_] * 1e9) for rate, round_ in done) if done else None


def limit_rows(
    limits: Sequence[Record], corpora: Mapping[str, Mapping[str, int]], work: Work
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return, by precision and number of threads, the limit and the texts per second that it allows on each corpus."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for precision in ("fp32", "bf16", "int8"):
        for threads in dict.fromkeys(one["threads"] for one in limits):
            known = [one["g_per_s"].get(precision) for one in limits if one["threads"] == threads]
            values = [value for value in known if value is not None]
            if values:
                cell: dict[str, Any] = {"g_per_s": median(values), "least": min(values), "most": max(values)}
                allowed = work.tokens_per_s(cell["g_per_s"])
                if allowed is not None:
                    cell["texts_per_s"] = {c: allowed * v["texts"] / v["tokens"] for c, v in corpora.items()}
                found.setdefault(precision, {})[str(threads)] = cell
    return found


def percentile(values: Sequence[float], share_below: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, ceil(share_below * len(ordered)) - 1)]


def queries(record: Record) -> dict[str, float] | None:
    """Return the latency of a single warm query in milliseconds: the median and the 99th percentile."""
    seconds = record.get("queries_s")
    if not seconds:
        return None
    return {"p50_ms": 1e3 * percentile(seconds, 0.5), "p99_ms": 1e3 * percentile(seconds, 0.99), "count": len(seconds)}


def cold(record: Record) -> dict[str, float] | None:
    """Return the medians over cold starts."""
    starts = record.get("cold")
    return {key: median(start[key] for start in starts) for key in ("wall_s", "cpu_s")} if starts else None
