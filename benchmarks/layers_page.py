"""Fills the tables of docs/what-is-in-a-layer.md from benchmarks/results, and measures the data for its figures.

    python -m benchmarks.layers_page --measure all-MiniLM-L6-v2 path/to/minilm-l6-h384-raw

Without --measure, only the tables are redrawn; with it, results/layer_paths.json is written, which figures.py draws.
The cost and quality of dissection and the gain of fusion are not measured any more. The scripts that did so are in the
Git history: benchmarks/dissection.py and benchmarks/fusion.py last in commit 3751acd5, benchmarks/dissection_quality.py
in 8892dd04.
"""

from pathlib import Path
from typing import Any

from .options import options
from .pages import PageTables, draw, rows
from .record import read, save

CURVES = ("similarity", "novelty", "alignment", "anisotropy", "context")
SETS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R", "mean of seven")


def main() -> None:
    models = options(__doc__, measure=[]).measure
    if models:
        save("layer_paths", {Path(name).name: layer_paths(name) for name in models})
    draw(TABLES)


def layer_paths(name: str) -> dict[str, Any]:
    """Compute the measures of one model by layer, on sentences from the docstrings of the standard library."""
    from likewise import Embedder
    from likewise.cli.models.dissect import sample
    from likewise.explain import anatomy

    found = anatomy(Embedder.load(name, engine="torch", device="cpu"), sample())
    return {curve: getattr(found, curve).round(4).tolist() for curve in CURVES}


def quality() -> list[str]:
    body = []
    for model, record in read("dissection_quality").items():
        best = max(record["spearman"], key=lambda pooling: record["spearman"][pooling]["mean of seven"])
        for pooling, scores in record["spearman"].items():
            mark = "**" if pooling == best else ""
            body.append([model, f"{mark}{pooling}{mark}", *(f"{scores[s]:.2f}" for s in SETS)])
    return rows(f"model | pooling | {' | '.join(SETS)}", body)


def overhead() -> list[str]:
    output = read("dissection")
    found, body = output["results"], []
    by_word = {(row["model"], row["pooling"]): row["times"] for row in found if "times" in row}
    for row in found:
        if "overhead_percent" in row:
            span = f"{row['lowest_percent']:.1f} to {row['highest_percent']:.1f}"
            times = by_word[row["model"], row["pooling"]]
            cost = f"{row['overhead_percent']:.1f} % ({span})"
            body.append([row["model"], row["layers"], cost, f"{times:.0f} × faster"])
    head = "model | layers read | CPU time in addition to mean pooling | compared with word by word"
    where = output["machine"]["processor"]
    return rows(head, body, f"{where}, one thread, {output['date']}, commit {output['commit']}.")


def _interval(row: dict[str, Any], key: str) -> str:
    value, low, high = row[key]
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}]" if key == "gain" else f"{value:.2f}"


def _row(name: str, row: dict[str, Any]) -> list[str]:
    return [name, f"{row['n']:,}", *(_interval(row, key) for key in ("plain", "fused", "gain"))]


FUSED = "pairs | mean pooling | fused | gain, 95 %"


def fusion() -> list[str]:
    output = read("fusion")
    body = [
        _row(f"{run['seed']}, {name}", run[name])
        for run in output["stsb"]
        for name in run
        if isinstance(run[name], dict)
    ]
    seconds = " / ".join(f"{run['seconds']:.0f}" for run in output["stsb"])
    below = f"Training took {seconds} s. {output['machine']}, {output['date']}, commit {output['commit']}."
    return rows(f"seed, set | {FUSED}", body, below)


def nli() -> list[str]:
    output = read("fusion")["nli"]
    mean = output["mean of STS12-16 and SICK"]
    body = [_row(name, row) for name, row in output.items() if isinstance(row, dict) and "n" in row]
    means = f"{mean['plain']:.2f}", f"{mean['fused']:.2f}", f"{mean['fused'] - mean['plain']:+.2f}"
    return rows(f"set | {FUSED}", [*body, ["mean of STS12–16 and SICK-R", "", *means]])


def depth() -> list[str]:
    body = []
    for row in read("fusion")["depth"]:
        tuned = row["imitation of train texts"]
        near, far = tuned["stsb test, beside plain 6"], tuned["sick test"]
        worst = min(r["gain"][0] for name, r in row["trained on nli"].items() if name.startswith("sts1"))
        gains = _interval(near, "gain"), _interval(far, "gain"), f"down to {worst:+.1f} (trained on NLI)"
        body.append([row["depth"], f"{row['times faster']:.2f} ×", f"{near['fused'][0]:.2f}", *gains])
    return rows(
        "blocks | speed, × all 6 | STS-B test | gain over plain, all 6 | gain, SICK-R test | gain, STS12–16", body
    )


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
