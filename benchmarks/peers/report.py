"""The arena's tables, generated from the JSON results: the same lines for the terminal and for docs/speed.md."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .texts import TITLES

Results = Mapping[str, Any]
Row = list[str]
NOTHING = "–"


def tables(found: Results) -> list[str]:
    """Return all tables as lines of Markdown."""
    lines: list[str] = []
    for threads in found["threads"]:
        lines += [
            f"**{threads} thread{'s' * (threads > 1)}**, texts per second",
            "",
            *speed_table(found, str(threads)),
            "",
        ]
    lines += [f"**One query, start, memory, size** ({found['threads'][0]} thread)", "", *cost_table(found), ""]
    lines += ["**Quality**", "", *quality_table(found), ""]
    if found.get("left_out"):
        lines += ["**Left out**", "", *(f"- {name}: {why}" for name, why in found["left_out"].items()), ""]
    notes = {name: row["note"] for name, row in found["contenders"].items() if row.get("note")}
    lines += [f"- {name}: {note}" for name, note in notes.items()]
    return lines + [""] * bool(notes) + provenance(found)


def ordered(found: Results) -> list[str]:
    """Sort the contenders by speed on the first corpus, fastest first; contenders without a speed come last."""
    threads = str(found["threads"][0])

    def key(name: str) -> float:
        cells = found["contenders"][name].get("speed", {}).get("sentences", {})
        return -float(cells.get(threads, {}).get("texts_per_s", 0))

    return sorted(found["contenders"], key=key)


def speed_table(found: Results, threads: str) -> list[str]:
    """Return a table of texts/s, relative to the reference and as a share of the machine's limits, which come last."""
    head = ["", *(f"{TITLES[corpus]}" for corpus in found["corpora"])]
    rows = []
    for name in ordered(found):
        cells = [_speed_cell(found["contenders"][name], corpus, threads) for corpus in found["corpora"]]
        if any(cell != NOTHING for cell in cells):
            rows.append([_named(name, found), *cells])
    for precision, by_threads in found["limits"].items():
        allowed = by_threads.get(threads, {}).get("texts_per_s")
        if allowed:
            rows.append([f"*limit of {precision} arithmetic*", *(f"*{allowed[c]:,.0f}*" for c in found["corpora"])])
    notes = [f"{precision}: {note}." for precision, note in found["limit_notes"].items()]
    return [*markdown(head, rows), *(["", *notes] if notes else [])]


def _speed_cell(row: Mapping[str, Any], corpus: str, threads: str) -> str:
    cell = row.get("speed", {}).get(corpus, {}).get(threads)
    if cell is None:
        return NOTHING
    parts = [f"{cell['texts_per_s']:,.0f}" if cell["texts_per_s"] >= 20 else f"{cell['texts_per_s']:.1f}"]
    if cell["times_reference"] is not None:
        parts.append(f"{cell['times_reference']:.2f} ×")
    if cell["share_of_limit"] is not None:
        parts.append(f"{cell['share_of_limit']:.0%}")
    return " · ".join(parts)


def cost_table(found: Results) -> list[str]:
    """Return a table of latency, cold start, memory and size."""
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "query p50 / p99": lambda row: _pair(row.get("query"), "p50_ms", "p99_ms", "{:.2f}", " ms"),
        "first vector, wall / CPU": lambda row: _pair(row.get("cold"), "wall_s", "cpu_s", "{:.2f}", " s"),
        "memory, loaded / peak": lambda row: _pair(row.get("memory"), "loaded_mb", "peak_mb", "{:,.0f}", " MB"),
        "installed": lambda row: _single(row.get("installed"), "mb"),
    }
    rows = [
        [_named(name, found), *(show(found["contenders"][name]) for show in columns.values())]
        for name in ordered(found)
        if name not in found["left_out"]
    ]
    return markdown(["", *columns], [row for row in rows if set(row[1:]) != {NOTHING}])


def quality_table(found: Results) -> list[str]:
    """Return a table of cosines with the reference and rank correlations."""
    head = ["", "lowest cosine", "mean cosine", "lowest, unusual texts", "STS-B test", "SICK-R"]
    rows = []
    for name in ordered(found):
        quality = found["contenders"][name].get("quality") or {}
        cosine, rank = quality.get("cosine", {}), quality.get("spearman", {})
        places = (("all", "least"), ("all", "mean"), ("odd", "least"))
        cells = [f"{cosine[part][kind]:.4f}" if cosine else NOTHING for part, kind in places]
        cells += [f"{rank[data]:.2f}" if data in rank else NOTHING for data in ("stsb", "sick")]
        if set(cells) != {NOTHING}:
            rows.append([_named(name, found), *cells])
    return markdown(head, rows)


def provenance(found: Results) -> list[str]:
    """Return a paragraph on where, when and how the results were measured."""
    where, corpora = found["machine"], found["corpora"]
    titles = {**TITLES, "mix": f"texts of a {TITLES['mix']}"}
    sizes = ", ".join(f"{cell['texts']:,} {titles[name]}" for name, cell in corpora.items())
    text = (
        f"{found['model']}; {sizes}; the libraries took turns, and figures are medians over {found['rounds']} "
        f"round(s). × is the speed as a multiple of that of {found['reference']} in the same round; % is the share of "
        f"the limit in that precision in the same round (not counting attention). {where['cpu']}, {where['cores']} "
        f"cores, {where['date']}, commit {where['commit']}; load average at the start {where['load']:.1f}. "
        f"{versions(found)}."
    )
    quick = ["", "A quick run: too few texts and rounds for conclusions."] if found["quick"] else []
    return [text, *quick]


def versions(found: Results) -> str:
    """List the measured libraries and their versions."""
    seen: dict[str, set[str]] = {}
    for row in found["contenders"].values():
        for package, version in row.get("versions", {}).items():
            seen.setdefault(package, set()).add(version.partition("-")[0])
    return ", ".join(f"{package} {' and '.join(sorted(found_))}" for package, found_ in sorted(seen.items()))


def markdown(head: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Return a Markdown table with aligned columns."""
    every = [list(head), *rows]
    widths = [max(len(row[i]) for row in every) for i in range(len(head))]
    line = ["-" * max(3, width) for width in widths]
    return [f"| {' | '.join(_padded(row, widths))} |" for row in (list(head), line, *rows)]


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [cell.ljust(max(3, width)) for cell, width in zip(row, widths, strict=True)]


def _named(name: str, found: Results) -> str:
    return f"**{name}**" if found["contenders"][name]["ours"] else name


def _pair(cell: Mapping[str, Any] | None, first: str, second: str, form: str, unit: str) -> str:
    if not cell:
        return NOTHING
    shown = [NOTHING if cell.get(key) is None else form.format(cell[key]) for key in (first, second)]
    return f"{shown[0]} / {shown[1]}{unit}"


def _single(cell: Mapping[str, Any] | None, key: str) -> str:
    return NOTHING if not cell or cell.get(key) is None else f"{cell[key]:,.0f} MB"
