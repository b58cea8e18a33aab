"""Draws docs/layers.md from benchmarks/results: layers.json, layer_criteria.json and value_vectors.json.

python -m benchmarks.layers.page

The criteria that choose layers and the quality of value vectors are not measured any more. The scripts that did so,
benchmarks/layers/criteria.py and benchmarks/layers/value_vectors.py, are in the Git history (last in commit 8892dd04).
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likewise.evaluate.statistics.hypothesis_tests import holm
from likewise.evaluate.tasks.sts import SBERT_WK_NAMES, STS_NAMES
from papers.reporting.chart import Chart, Mark, dot_rows

from ..pages import rows
from ..record import place, read
from .contenders import CONTENDERS, FUSED_NLI, FUSED_STSB, MEAN, SELECTED, TRIPLETS, WK
from .measure import SENTEVAL

PAGE = Path(__file__).parent.parent.parent / "docs" / "layers.md"
PROTOCOLS = {"STS, Spearman": STS_NAMES, "SBERT-WK's own, Pearson": SBERT_WK_NAMES, "SentEval, accuracy": SENTEVAL}
"""Tasks by protocol; Holm's correction applies to the tasks of one model, pooling and protocol."""
ALPHA = 0.05
BETTER, SAME, WORSE = "better", "not distinguishable", "worse"
KINDS = {BETTER: "green", SAME: "grey", WORSE: "ours"}
"""The colours of the verdicts."""
MARKS = {BETTER: " ▲", SAME: "", WORSE: " ▼"}
CHOSEN = "separation, without 20%"

USE = """\
```
likewise model select-layers all-MiniLM-L6-v2 --texts sentences.txt       # which layers to average, without labels
likewise encode texts.txt -o v.npy --pooling mean:layers=0+6        # a mean of layers, by name
```
"""
POOLINGS = f"""\
This page compares six pooling methods on the same encoders: the **mean** of the last layer; **SBERT-WK** with the
boundary rule of its authors' code, and a *symmetric* variant; **{SELECTED}**, a mean of up to three layers that
`likewise model select-layers` chooses using 500 unlabelled premises of NLI data; and the map over all layers that
`likewise model fuse` trains: **{FUSED_NLI}** on {TRIPLETS:,} triplets and **{FUSED_STSB}** on STS-B's training split
(not scored on STS12–16, which share hundreds of pairs with STS-B). [What is in a layer](what-is-in-a-layer.md) explains
SBERT-WK and fusion.
"""
METHOD = f"""\
`python -m benchmarks.layers.page` writes this page from the measurements of `python -m benchmarks.layers.measure`.
Differences are relative to mean pooling on the same items, with the 95 % interval of a paired bootstrap. ▲ means better
and ▼ worse than mean pooling at p < {ALPHA}, after Holm's correction over the measured tasks of a model, pooling and
protocol; no mark means no significant difference. All scores are × 100. SentEval's classifiers have a hidden layer of
50 units, like SBERT-WK's. Its probing tasks are missing because we do not have their data. A few of the premises and
a few of the triplets' sentences also occur in the test sets, as single sentences without scores.
"""


def page() -> str:
    """The whole page."""
    record = read("layers")
    cells = {(c["model"], c["task"], c["pooling"]): c for c in record["cells"]}
    parts = ["# Pooling over several layers", *findings(record["models"], cells), ""]
    parts += [*layers_chart().picture("figures/layers"), "", USE, POOLINGS]
    parts += [
        "## Every pooling method\n",
        *summary(record["models"], cells),
        "",
        "## How they were measured\n",
        METHOD.rstrip(),
    ]
    parts += ["", "## Choosing layers without labels", "", SELECTION, *criteria_table()]
    parts += ["", "## Value vectors", "", VALUES, *value_table()]
    for model, about in record["models"].items():
        parts += ["", f"## {model}", "", *model_tables(model, about, cells)]
    return "\n".join(parts) + "\n"


SELECTION = f"""\
Hosseini et al. (2023, "BERT Has More to Offer") report that a mean of certain layers is far better than the last layer,
and that the best layers depend on the model and the data. To choose them without labels, we need a criterion that
replaces human scores. We tried criteria on 400 unlabelled premises of NLI data, each with an altered copy.
*Separation* measures how far the cosine between a text and its own copy lies above the cosines between different
texts, in units of the spread of the latter; *contrast* is InfoNCE; *agreement* is the rank correlation of similarities
before and after the change. Each cell shows the set of layers that the criterion prefers, and Spearman's correlation
× 100 for this set on STS-B's **development** split.

We chose `{CHOSEN}` from this table, on four models, before computing any test score of a layer mean. So the figures
here are optimistic, but the test figures below are not. This criterion is near the best for every model, and dropping
words is more likely to preserve the meaning than shuffling them. We tried about as many other criteria in throwaway
scripts (dropping words instead of tokens, every other word, agreement with tf-idf), and none was better. On
bert-tiny-splade the choice is close, and different texts change it: with Python's documentation, the criterion prefers
0+1, which scores below the last layer in the table. So give `select-layers` texts of the kind that you will encode, and
if you have labelled pairs, compare the pooling methods on these pairs with `likewise evaluate`.
"""
VALUES = """\
Zhang et al. (2026, "LLM-based Embeddings: Attention Values Encode Sentence Semantics Better Than Hidden States")
report that in decoders the value vectors of attention are better sentence vectors than hidden states. This table asks
the same about encoders: it shows Spearman's correlation × 100 for means over tokens on STS-B's development split. The
*best layer* is chosen using the labels, which favours every kind of vector equally.
"""


def layers_chart() -> Chart:
    """Draw each pooling method compared with mean pooling: a dot for each STS set, coloured by its verdict."""
    record = read("layers")
    cells = {(cell["model"], cell["task"], cell["pooling"]): cell for cell in record["cells"]}
    dots, listed = {}, []
    for model in record["models"]:
        for pooling in (pooling for pooling in CONTENDERS if pooling != MEAN):
            found = verdicts(model, pooling, STS_NAMES, cells)
            gains = {task: 100 * cells[model, task, pooling]["difference"][0] for task in found}
            if any(gains.values()):
                name = f"{model}, {pooling}"
                dots[name] = [Mark(gains[task], kind=KINDS[kind]) for task, kind in found.items()]
                listed.append(f"{name} {min(gains.values()):+.1f} to {max(gains.values()):+.1f}")
    words = f"Difference from mean pooling on STS sets: {'; '.join(listed)}"
    legend = {kind: verdict for verdict, kind in KINDS.items()}
    return dot_rows(
        dots, words, "difference from mean pooling, a dot for each STS set", legend=legend, lines={0: "dim"}
    )


def verdict(cell: Mapping[str, Any], adjusted: float) -> str:
    """Return whether a pooling method is better or worse than mean pooling, or neither, by the corrected p-value."""
    if adjusted >= ALPHA:
        return SAME
    return BETTER if cell["difference"][0] > 0 else WORSE


def verdicts(model: str, pooling: str, tasks: Sequence[str], cells: Mapping[Any, Any]) -> dict[str, str]:
    """Return the verdict for each measured task."""
    present = {task: cells[model, task, pooling] for task in tasks if (model, task, pooling) in cells}
    adjusted = holm([cell["p"] for cell in present.values()]) if present else []
    return {task: verdict(cell, p) for (task, cell), p in zip(present.items(), adjusted, strict=True)}


def summary(models: Mapping[str, Any], cells: Mapping[Any, Any]) -> list[str]:
    """Return a table of means over the seven STS sets, and the numbers of better, equal and worse tasks by protocol."""
    body = []
    for model, about in models.items():
        for pooling in CONTENDERS:
            values = [cells[model, t, pooling]["value"] for t in STS_NAMES if (model, t, pooling) in cells]
            mean = f"{100 * np.mean(values):.2f}" if len(values) == len(STS_NAMES) else "–"
            counted = [_counts(model, pooling, tasks, cells) for tasks in PROTOCOLS.values()]
            body.append([model, _title(pooling, about), mean, *counted])
    return rows(f"model | pooling | mean of 7 STS | {' | '.join(f'{p}: ▲ / no mark / ▼' for p in PROTOCOLS)}", body)


def _counts(model: str, pooling: str, tasks: Sequence[str], cells: Mapping[Any, Any]) -> str:
    if pooling == MEAN:
        return ""
    found = [*verdicts(model, pooling, tasks, cells).values()]
    return " / ".join(str(found.count(kind)) for kind in (BETTER, SAME, WORSE)) if found else "–"


def _title(pooling: str, about: Mapping[str, Any]) -> str:
    if pooling == SELECTED:
        return f"{pooling}: {about['selected']}"
    return f"{pooling} (kept as mean)" if pooling in about["kept as mean pooling"] else pooling


def findings(models: Mapping[str, Any], cells: Mapping[Any, Any]) -> Iterator[str]:
    """Describe where SBERT-WK and the layers selected without labels beat mean pooling."""
    for pooling in (WK, SELECTED, FUSED_NLI):
        yield ""
        yield (
            f"**{pooling[0].upper()}{pooling[1:]}** compared with mean pooling ({next(iter(PROTOCOLS))}): "
            + "; ".join(_finding(model, pooling, cells) for model in models)
            + "."
        )


def _finding(model: str, pooling: str, cells: Mapping[Any, Any]) -> str:
    found = verdicts(model, pooling, STS_NAMES, cells)
    gains = [100 * cells[model, task, pooling]["difference"][0] for task in found]
    if not any(gains):
        return f"on {model}, the method chooses mean pooling"
    better, worse = (sum(v == kind for v in found.values()) for kind in (BETTER, WORSE))
    return (
        f"on {model}, {np.mean(gains):+.1f} on average, significantly better on {better} and worse on {worse} "
        f"of {len(found)} sets"
    )


def criteria_table() -> list[str]:
    """A table of the layers that each criterion picks, with scores on development data."""
    record = read("layer_criteria")
    models = record["results"]
    body = [
        ["(last layer)", *(f"{row['last']:.2f}" for row in models.values())],
        ["(all layers)", *(f"{row['all layers']:.2f}" for row in models.values())],
        ["(best, with labels)", *(f"{row['best']:.2f}: {row['best layers']}" for row in models.values())],
    ]
    for criterion in next(iter(models.values()))["criteria"]:
        picks = [row["criteria"][criterion] for row in models.values()]
        mark = "**" if criterion == CHOSEN else ""
        body.append([f"{mark}{criterion}{mark}", *(f"{p['dev']:.2f}: {p['layers']}" for p in picks)])
    return rows(f"criterion | {' | '.join(models)}", body, place(record["machine"]) + ".")


def value_table() -> list[str]:
    """A table of hidden states, values and attention's output, with scores on development data."""
    record, body = read("value_vectors"), []
    for model, kinds in record["results"].items():
        for kind, row in kinds.items():
            figures = (row["by layer"][-1], max(row["by layer"]), row["mean of all"], row["side by side"])
            body.append([model, kind, *(f"{figure:.2f}" for figure in figures)])
    head = "model | vectors | last layer | best layer | mean of all layers | all layers concatenated"
    return rows(head, body, place(record["machine"]) + ".")


def model_tables(model: str, about: Mapping[str, Any], cells: Mapping[Any, Any]) -> Iterator[str]:
    """A table for each protocol: a row per task, a column per pooling."""
    others = [pooling for pooling in CONTENDERS if pooling != MEAN]
    for protocol, tasks in PROTOCOLS.items():
        measured = [task for task in tasks if (model, task, MEAN) in cells]
        if not measured:
            continue
        found, body = {pooling: verdicts(model, pooling, tasks, cells) for pooling in others}, []
        for task in measured:
            shown = [_figure(cells.get((model, task, p)), found[p].get(task)) for p in others]
            body.append([task, f"{100 * cells[model, task, MEAN]['value']:.2f}", *shown])
        head = f"{protocol} | {MEAN} | {' | '.join(_title(pooling, about) for pooling in others)}"
        yield from (*rows(head, body), "")
    left = [task for tasks in PROTOCOLS.values() for task in tasks if (model, task, MEAN) not in cells]
    if left:
        yield f"Not measured yet: {', '.join(left)}.\n"
    yield place(about["machine"]) + "."


def _figure(cell: Mapping[str, Any] | None, found: str | None) -> str:
    if cell is None or found is None:
        return "–"
    value, low, high = (100 * x for x in cell["difference"])
    return f"{100 * cell['value']:.2f}{MARKS[found]} ({value:+.2f} [{low:+.2f}, {high:+.2f}])"


def main() -> None:
    PAGE.write_text(page(), "utf-8")
    print(f"written: docs/{PAGE.name}")


if __name__ == "__main__":
    main()
