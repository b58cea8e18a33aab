"""What the native engine has to reach, beside what was measured: a line for each promise."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .contenders import REFERENCE

Results = Mapping[str, Any]
OURS = "likewise native"
TORCH = "likewise torch"


@dataclass(frozen=True)
class Target:
    """A promise; `measured` is None where this run does not show it."""

    what: str
    wanted: str
    measured: str | None
    met: bool | None


def targets(found: Results) -> list[Target]:
    """Every promise that this run can be held to."""
    return [*speed_targets(found), *share_targets(found), *latency_targets(found), *quality_targets(found)]


def speed_targets(found: Results) -> list[Target]:
    """int8 against the reference and against other libraries' int8 in our batches; fp32 and bf16 against all."""
    one, int8 = str(found["threads"][0]), f"{OURS} int8"
    rivals = [n for n, row in found["contenders"].items() if row["same_batching"] and row["precision"] == "int8"]
    best = max((value for name in rivals if (value := rate(found, name, "sentences", one))), default=None)
    ours = rate(found, int8, "sentences", one)
    lines = [
        at_least("int8, sentences, × sentence-transformers fp32", 5.5, multiple(found, int8, "sentences", one)),
        at_least("int8, sentences, × the best other int8", 1.25, None if not (ours and best) else ours / best),
        at_least("int8, paragraphs, × sentence-transformers fp32", 4.0, multiple(found, int8, "paragraphs", one)),
    ]
    lines += [
        at_least(f"{precision}, × the next best, least of all rows", 1.0, lead(found, precision))
        for precision in ("fp32", "bf16")
    ]
    if len(found["threads"]) > 1:
        for precision in ("fp32", "bf16", "int8"):
            ratio = found["contenders"].get(f"{OURS} {precision}", {}).get("two_threads", {}).get("sentences")
            lines.append(at_least(f"{precision}, two threads × one, sentences", 1.85, ratio))
    return lines


def lead(found: Results, precision: str) -> float | None:
    """The least ratio to the fastest other contender of this precision (or our torch engine) over all rows."""
    ratios = []
    others = [n for n, r in found["contenders"].items() if r["precision"] == precision and not n.startswith(OURS)]
    for corpus in found["corpora"]:
        for threads in map(str, found["threads"]):
            ours = rate(found, f"{OURS} {precision}", corpus, threads)
            best = max((value for name in others if (value := rate(found, name, corpus, threads))), default=None)
            if ours and best:
                ratios.append(ours / best)
    return min(ratios, default=None)


def share_targets(found: Results) -> list[Target]:
    """Shares of the machine's limit on sentences, one thread."""
    one = str(found["threads"][0])
    return [
        at_least(
            f"{precision}, share of the product limit, sentences",
            wanted,
            _cell(found, f"{OURS} {precision}", "sentences", one).get("share_of_limit"),
        )
        for precision, wanted in (("fp32", 0.88), ("bf16", 0.85), ("int8", 0.78))
    ]


def latency_targets(found: Results) -> list[Target]:
    """One warm query, and the first vector of a process."""
    lines = []
    mini = found["model"] == "likewise-mini"
    for precision, wanted in (("int8", 1.0), ("fp32", 2.5)):
        row = found["contenders"].get(f"{OURS} {precision}", {})
        query = row.get("query") or {}
        lines.append(at_most(f"{precision}, one query, p50 ms", wanted, query.get("p50_ms")))
        ratio = query["p99_ms"] / query["p50_ms"] if query else None
        lines.append(at_most(f"{precision}, one query, p99 × p50", 2.0, ratio))
        cpu = (row.get("cold") or {}).get("cpu_s")
        lines.append(at_most(f"{precision}, first vector, CPU s", 0.35 if mini else 0.6, cpu))
    size = (found["contenders"].get(f"{OURS} fp32", {}).get("installed") or {}).get("mb")
    lines.append(at_most("installed, MB", 160, size))
    if mini:
        one = str(found["threads"][0])
        lines.append(at_least("likewise-mini int8, sentences/s", 4000, rate(found, f"{OURS} int8", "sentences", one)))
    return lines


def quality_targets(found: Results) -> list[Target]:
    """int8: cosines, and rank correlation beside the reference's; fp32 and bf16: cosines and differences."""
    quality = {p: found["contenders"].get(f"{OURS} {p}", {}).get("quality") or {} for p in ("fp32", "bf16", "int8")}
    cosine = {p: q.get("cosine", {}).get("all", {}) for p, q in quality.items()}
    reference = (found["contenders"].get(REFERENCE, {}).get("quality") or {}).get("spearman", {})
    lines = [
        at_least("int8, mean cosine", 0.997, cosine["int8"].get("mean")),
        at_least("int8, least cosine", 0.97, cosine["int8"].get("least")),
        at_least("bf16, least cosine", 0.9998, cosine["bf16"].get("least")),
        at_most("fp32, largest difference", 2e-6, quality["fp32"].get("largest_difference"), "{:.1e}"),
    ]
    for data, title in (("stsb", "STS-B"), ("sick", "SICK-R")):
        ours, theirs = quality["int8"].get("spearman", {}).get(data), reference.get(data)
        drop = None if ours is None or theirs is None else abs(ours - theirs)
        lines.append(at_most(f"int8, {title}, distance from fp32", 0.3, drop))
    return lines


def at_least(what: str, wanted: float, measured: float | None, form: str = "{:.4g}") -> Target:
    """More is better."""
    return _target(what, "≥", wanted, measured, form, lambda value: value >= wanted)


def at_most(what: str, wanted: float, measured: float | None, form: str = "{:.4g}") -> Target:
    """Less is better."""
    return _target(what, "≤", wanted, measured, form, lambda value: value <= wanted)


def _target(
    what: str, sign: str, wanted: float, measured: float | None, form: str, met: Callable[[float], bool]
) -> Target:
    shown = None if measured is None else form.format(measured)
    return Target(what, f"{sign} {wanted:g}", shown, None if measured is None else met(measured))


def rate(found: Results, name: str, corpus: str, threads: str) -> float | None:
    """Texts a second."""
    return _cell(found, name, corpus, threads).get("texts_per_s")


def multiple(found: Results, name: str, corpus: str, threads: str) -> float | None:
    """As a multiple of the reference's speed."""
    return _cell(found, name, corpus, threads).get("times_reference")


def _cell(found: Results, name: str, corpus: str, threads: str) -> Mapping[str, Any]:
    cell: Mapping[str, Any] = found["contenders"].get(name, {}).get("speed", {}).get(corpus, {}).get(threads, {})
    return cell
