"""Fills the tables of docs/what-is-in-a-layer.md from benchmarks/results, and measures what its figures show.

    python -m benchmarks.layers_page --measure all-MiniLM-L6-v2 path/to/minilm-l6-h384-raw

Without --measure, only the tables are redrawn; with it, results/layer_paths.json is written, which figures.py draws.
What dissection costs and is worth and what fusion gains is settled: the scripts that measured it are in the history,
benchmarks/dissection.py and benchmarks/fusion.py last in commit 3751acd5, benchmarks/dissection_quality.py in 8892dd04.
"""

import argparse
from pathlib import Path
from typing import Any

from .pages import PageTables, draw
from .record import read, save

CURVES = ("similarity", "novelty", "alignment", "anisotropy", "context")
SETS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R", "mean of seven")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", nargs="*", default=[], metavar="MODEL", help="models whose layers are measured")
    models = parser.parse_args().measure
    if models:
        save("layer_paths", {Path(name).name: layer_paths(name) for name in models})
    draw(TABLES)


def layer_paths(name: str) -> dict[str, Any]:
    """Measures by layer for one model, on sentences from the standard library's docstrings."""
    from likewise import Embedder
    from likewise.cli.models.dissect import sample
    from likewise.explain import anatomy

    found = anatomy(Embedder.load(name, engine="torch", device="cpu"), sample())
    return {curve: getattr(found, curve).round(4).tolist() for curve in CURVES}


def quality() -> list[str]:
    lines = [f"| model | pooling | {' | '.join(SETS)} |", "|---|---|" + "---|" * len(SETS)]
    for model, record in read("dissection_quality").items():
        best = max(record["spearman"], key=lambda pooling: record["spearman"][pooling]["mean of seven"])
        for pooling, scores in record["spearman"].items():
            mark = "**" if pooling == best else ""
            lines.append(f"| {model} | {mark}{pooling}{mark} | " + " | ".join(f"{scores[s]:.2f}" for s in SETS) + " |")
    return lines


def overhead() -> list[str]:
    output = read("dissection")
    rows = output["results"]
    by_word = {(row["model"], row["pooling"]): row["times"] for row in rows if "times" in row}
    lines = [
        "| model | layers read | CPU time in addition to mean pooling | compared with word by word |",
        "|---|---|---|---|",
    ]
    for row in rows:
        if "overhead_percent" in row:
            span = f"{row['lowest_percent']:.1f} to {row['highest_percent']:.1f}"
            times = by_word[row["model"], row["pooling"]]
            cost = f"{row['overhead_percent']:.1f} % ({span})"
            lines.append(f"| {row['model']} | {row['layers']} | {cost} | {times:.0f} × faster |")
    where = output["machine"]["processor"]
    return [*lines, "", f"{where}, one thread, {output['date']}, commit {output['commit']}."]


def _interval(row: dict[str, Any], key: str) -> str:
    value, low, high = row[key]
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}]" if key == "gain" else f"{value:.2f}"


def _row(name: str, row: dict[str, Any]) -> str:
    return (
        f"| {name} | {row['n']:,} | {_interval(row, 'plain')} | {_interval(row, 'fused')} | {_interval(row, 'gain')} |"
    )


def _head(first: str) -> list[str]:
    return [f"| {first} | pairs | mean pooling | fused | gain, 95 % |", "|---|---|---|---|---|"]


def fusion() -> list[str]:
    output = read("fusion")
    lines = _head("seed, set")
    for run in output["stsb"]:
        lines += [_row(f"{run['seed']}, {name}", run[name]) for name in run if isinstance(run[name], dict)]
    seconds = " / ".join(f"{run['seconds']:.0f}" for run in output["stsb"])
    return [*lines, "", f"Training took {seconds} s. {output['machine']}, {output['date']}, commit {output['commit']}."]


def nli() -> list[str]:
    output = read("fusion")["nli"]
    mean = output["mean of STS12-16 and SICK"]
    lines = [*_head("set"), *(_row(name, row) for name, row in output.items() if isinstance(row, dict) and "n" in row)]
    change = mean["fused"] - mean["plain"]
    return [*lines, f"| mean of STS12–16 and SICK-R | | {mean['plain']:.2f} | {mean['fused']:.2f} | {change:+.2f} |"]


def depth() -> list[str]:
    lines = [
        "| blocks | speed, × all 6 | STS-B test | gain over plain, all 6 | gain, SICK-R test | gain, STS12–16 |",
        "|---|---|---|---|---|---|",
    ]
    for row in read("fusion")["depth"]:
        tuned = row["imitation of train texts"]
        near, far = tuned["stsb test, beside plain 6"], tuned["sick test"]
        worst = min(r["gain"][0] for name, r in row["trained on nli"].items() if name.startswith("sts1"))
        lines.append(
            f"| {row['depth']} | {row['times faster']:.2f} × | {near['fused'][0]:.2f} | {_interval(near, 'gain')} | "
            f"{_interval(far, 'gain')} | down to {worst:+.1f} (trained on NLI) |"
        )
    return lines


TABLES: PageTables = {
    "docs/what-is-in-a-layer.md": {
        "quality": quality,
        "overhead": overhead,
        "fusion": fusion,
        "nli": nli,
        "depth": depth,
    }
}

if __name__ == "__main__":
    main()
