"""Draws the tables of docs/results.md from benchmarks/results/training.jsonl, so that no figure is typed by hand.

A row is a recipe on a backbone with its settings and data: mean ± standard deviation over seeds. Runs on part of the
data, or on data other than the known copies, have a separate table; the ablation's table has all runs, with rows and
steps. The papers' figures, for their own models, are listed next to ours.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev

from likewise.evaluate.tasks.sts import STS_NAMES as STS
from papers.reporting.chart import Chart, Mark, dot_rows
from papers.reporting.claims import checked_claims, found_sentence
from papers.reporting.run_lines import Line, concatenation, over_the_seeds, read_runs
from papers.tables.sbert_ablation import ABLATION
from papers.tables.sbert_sts import TABLE_1

from .record import RESULTS

LINES = RESULTS / "training.jsonl"
PAGE = Path(__file__).parent.parent / "docs" / "results.md"
COLUMNS = (*(task.replace("-", "") for task in STS), "avg")
HEADS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R", "avg")
OWN = ("wiki-sections", "ukp-aspect", "afs")
"""Prefixes of scores that certain recipes report in addition to the seven STS sets."""
STAGES = re.compile(r"(?<![\w-])([a-z][a-z-]*)(?:, \1\b(?!-))+")
PAPERS = {  # Reimers and Gurevych 2019, table 1, without STS data
    "sbert-nli": ("SBERT-NLI-base", "SBERT-NLI-large", "SRoBERTa-NLI-base", "SRoBERTa-NLI-large"),
    "mini": ("SBERT-NLI-base",),
    "static": ("SBERT-NLI-base",),
    "infersent": ("InferSent",),
    "deep-averaging": ("USE",),
}
ALONE = {  # its tables 2, 3, 4: one figure each, by our column
    "sbert-stsb": ("stsb", {"SBERT-base": "84.67 ± 0.19", "SBERT-large": "84.45 ± 0.43"}),
    "sbert-nli-then-stsb": ("stsb", {"SBERT-base": "85.35 ± 0.17", "SBERT-large": "86.10 ± 0.13"}),
    "wiki-sections-triplets": ("wiki-sections", {"SBERT-base": "80.42", "SBERT-large": "80.78"}),
    "argument-similarity-afs": ("afs spearman 10-fold", {"SBERT-base": "74.13", "SBERT-large": "75.93"}),
}

BACKBONE = "bert-tiny-splade"
WAYS = {
    "untrained": {"recipe": "untrained", "pooling": "mean"},
    "NLI, softmax": {"recipe": "sbert-nli", "rate": 2e-5},
    "NLI, ranking": {"recipe": "sbert-nli-contrastive", "rate": 1e-4},
    "STS-B, regression": {"recipe": "sbert-stsb", "rate": 1e-4},
    "NLI, then STS-B": {"recipe": "sbert-nli-then-stsb", "rate": 1e-4},
}
"""Training methods for one backbone, by their settings in training.jsonl."""


def main(lines: Path = LINES, page: Path = PAGE) -> None:
    """Read the lines and write the page."""
    if not lines.exists():
        sys.exit(f"{lines} was not found; run a recipe to create it (docs/recipes.md)")
    runs = read_runs(lines)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(drawn(runs)) + "\n", "utf-8")
    print(f"written: {page}, from {len(runs)} runs")


def drawn(runs: Sequence[Line]) -> Iterator[str]:
    """The page, line by line."""
    yield "# Training results\n"
    yield from _claims(runs)
    plain = [line for line in runs if not line["recipe"].startswith("ablation")]
    yield from _section("On all available data", [line for line in plain if _whole(line)], papers=True)
    yield from _ablation([line for line in runs if line["recipe"].startswith("ablation")])
    yield from _section("On part of the data, or on different data", [line for line in plain if not _whole(line)])
    yield "## How to read these tables\n"
    yield (
        "Figures are Spearman's correlation × 100 between cosines and gold scores, over all pairs of a year; avg is "
        "the unweighted mean over the seven sets. With several seeds, figures are mean ± standard deviation. Rows in "
        "*italics* are figures that Reimers and Gurevych (2019) published for **their own models**, which have "
        "different backbones and were trained on more data; we did not measure them. Each run is a line in "
        "[training.jsonl](../benchmarks/results/training.jsonl), with machine and commit; [Recipes](recipes.md) "
        "describes the recipes. Bundled models are listed before quantization to int8; their model cards give the "
        "scores of the shipped weights."
    )


def training_chart() -> Chart:
    """A dot for each training method; the line is the standard deviation over seeds."""
    ways = trained_scores(read_runs(LINES))
    rows = {}
    for way, values in ways.items():
        value, spread = mean(values), stdev(values) if len(values) > 1 else 0
        rows[way] = [Mark(value, value - spread, value + spread, label=f"{value:.1f}")]
    listed = "; ".join(f"{way} {mean(values):.1f}" for way, values in ways.items())
    title = f"{BACKBONE}, STS-B test, Spearman × 100"
    return dot_rows(rows, f"STS-B score by training method: {listed}", title)


def trained_scores(lines: Sequence[Line]) -> dict[str, list[float]]:
    """Return the STS-B test score for each seed, by training method and number of rows; a repeated run counts once."""
    result: dict[str, dict[int, float]] = {}
    for way, wanted in WAYS.items():
        for line in lines:
            same = all(line.get(key) == value for key, value in wanted.items())
            if same and line["backbone"] == BACKBONE and line["precision"] == "fp32" and "stsb" in line:
                rows = f"{way}, {line['rows']:,} rows" if line["rows"] else way
                result.setdefault(rows, {})[line["seed"]] = line["stsb"]
    return {way: list(by_seed.values()) for way, by_seed in result.items()}


def _section(title: str, runs: Sequence[Line], papers: bool = False) -> Iterator[str]:
    if not runs:
        return
    yield f"## {title}\n"
    yield from _table(("recipe", "backbone", "settings", "rows", "seeds", *HEADS))
    recipes = dict.fromkeys(line["recipe"] for line in runs)
    for recipe in recipes:
        for group in over_the_seeds([line for line in runs if line["recipe"] == recipe]):
            yield _cells([*_description(group), *(_figure(group, key) for key in COLUMNS)])
        for model in PAPERS.get(recipe, ()) if papers else ():
            theirs = "sbert-nli" if model.startswith("SBERT-NLI") else recipe
            yield _cells(
                [f"*{theirs}*", f"*{model}*", "*the paper's*", "", "", *(f"*{x:.2f}*" for x in TABLE_1[model].values())]
            )
    if any(line["stsb_train"] for line in runs):
        yield (
            "\n† This model was trained on STS-B, whose training split shares many pairs with STS12–16, so its scores "
            "on those sets are not a fair comparison."
        )
    yield ""
    yield from _alone(runs, papers)


def _alone(runs: Sequence[Line], papers: bool) -> Iterator[str]:
    """Yield tables of the scores other than the seven STS sets, with the paper's scores if there are any."""
    rows = []
    for recipe in dict.fromkeys(line["recipe"] for line in runs):
        of = [line for line in runs if line["recipe"] == recipe]
        for group in over_the_seeds(of):
            keys = [key for key in group[0] if key.startswith(OWN) and isinstance(group[0][key], float)]
            rows += [_cells([*_description(group), key, _figure(group, key)]) for key in keys]
        key, known = ALONE.get(recipe, ("", {}))
        for model, value in known.items() if papers else ():
            rows.append(_cells([f"*{recipe}*", f"*{model}*", "*the paper's*", "", "", f"*{key}*", f"*{value}*"]))
    if rows:
        yield from _table(("recipe", "backbone", "settings", "rows", "seeds", "measure", "× 100"))
        yield from rows
        yield ""


def _short(text: str) -> str:
    """Shorten "distil, distil, distil" to "distil × 3"."""
    return STAGES.sub(lambda result: f"{result[1]} × {1 + result[0].count(',')}", text)


def _ablation(runs: Sequence[Line]) -> Iterator[str]:
    if not runs:
        return
    yield "## Pooling methods and concatenations (table 6): STS-B's development split\n"
    yield from _table(
        ("trained on", "pooling", "parts", "backbone", "rows", "steps", "rate", "seeds", "STS-B dev", "*the paper's*")
    )
    for group in over_the_seeds(runs):
        recipe, pooling, parts = (group[0]["recipe"], group[0]["pooling"], " ".join(concatenation(group[0])))
        theirs = None if group[0]["other_data"] else ABLATION.get((recipe, pooling, parts))
        cells = [recipe.removeprefix("ablation-"), pooling, parts and f"`{parts}`", group[0]["backbone"]]
        settings = [f"{group[0]['rows']:,}", f"{group[0]['steps']:,}", f"{group[0]['rate']:g}", str(len(group))]
        figures = [*settings, _figure(group, "stsb-dev")]
        yield _cells([*cells, *figures, "" if theirs is None else f"*{theirs:.2f}*"])
    yield ""


def _claims(runs: Sequence[Line]) -> Iterator[str]:
    result = list(checked_claims(over_the_seeds(runs)))
    if not result:
        return
    verdicts = [one.verdict()[1] for one in result]
    yield f"{found_sentence(verdicts)} The figure shows {BACKBONE}, a small backbone, trained in several ways.\n"
    yield from [*training_chart().picture("figures/training"), ""]
    yield "## The papers' claims, tested on these runs\n"
    yield from _table(
        ("claim", "backbone", "rows", "rates", "measure", "seeds", "first", "second", "difference", "holds?")
    )
    for one in result:
        line, key = one.ours[0], one.claim.column
        rates = ", ".join(f"{side[0]['rate']:g}" if side[0]["steps"] else "–" for side in (one.ours, one.theirs))
        cells = (one.claim.statement, line["backbone"], f"{line['rows']:,}", rates, key, str(len(one.figures)))
        yield _cells((*cells, *(_spread(side) for side in zip(*one.figures.values(), strict=True)), *one.verdict()))
    yield ""
    yield (
        "Each difference (× 100) is the mean over pairs of runs with the same seed and otherwise equal settings, "
        "with its 95 % confidence interval from Student's t over the seeds that both sides share. An untrained "
        "backbone has no seed and is compared with every seed. A claim holds if the interval lies above 0; intervals "
        "are not corrected for multiple comparisons. If a claim does not fix the learning rate and there are "
        "runs at several rates, each side uses the rate that is best on STS-B's development split, among those "
        "with the most seeds.\n"
    )


def _whole(line: Line) -> bool:
    return bool(line["whole"]) and not line["other_data"]


def _description(group: Sequence[Line]) -> list[str]:
    one = group[0]
    steps = [f"batch {one['batch']}, rate {one['rate']:g}, {one['steps']:,} steps"] if one["steps"] else []
    note = [one["note"]] if one.get("note") else []
    scale = [f"scale {one['objective']['scale']:g}"] if one["objective"].get("scale") else []
    in_note = one.get("note", "").split(", ")  # a fused model's note has its pooling
    pooling = [] if one["pooling"] in in_note else [one["pooling"]]
    settings = ", ".join([*note, *pooling, *scale, *steps, one.get("precision", "fp32")])
    dagger = " †" if one["stsb_train"] else ""
    return [_short(one["recipe"]) + dagger, one["backbone"], _short(settings), f"{one['rows']:,}", str(len(group))]


def _figure(group: Sequence[Line], key: str) -> str:
    values = [line[key] for line in group if line.get(key) is not None]
    return "–" if len(values) < len(group) else _spread(values)


def _spread(values: Sequence[float]) -> str:
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def _table(heads: Sequence[str]) -> Iterator[str]:
    yield _cells(heads)
    yield "|---" * len(heads) + "|"


def _cells(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    main()
