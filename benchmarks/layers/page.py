"""Draws docs/layers.md from benchmarks/results: layers.json, layer_criteria.json and value_vectors.json.

python -m benchmarks.layers.page
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likewise.evaluate.statistics.hypothesis_tests import holm
from likewise.evaluate.tasks.sts import SBERT_WK_NAMES, STS_NAMES

from ..record import RESULTS
from .contenders import CONTENDERS, FUSED_NLI, FUSED_STSB, MEAN, SELECTED, TRIPLETS, WK
from .measure import SENTEVAL

PAGE = Path(__file__).parent.parent.parent / "docs" / "layers.md"
PROTOCOLS = {
    "STS, Spearman": STS_NAMES,
    "SBERT-WK's own, Pearson": SBERT_WK_NAMES,
    "SentEval, accuracy": SENTEVAL,
}
"""Tasks by protocol; Holm's correction is over the tasks of one model, pooling and protocol."""
ALPHA = 0.05
BETTER, SAME, WORSE = "better", "not distinguishable", "worse"
MARKS = {BETTER: " ▲", SAME: "", WORSE: " ▼"}
CHOSEN = "separation, without 20%"

TOP = f"""# Poolings that read several layers

```
likewise model select-layers all-MiniLM-L6-v2 --texts sentences.txt       # which layers to average, without labels
likewise encode texts.txt -o v.npy --pooling mean:layers=0+6        # a mean of layers, by its name
```

Six poolings of the same encoders: **mean** of the last layer; **SBERT-WK** with the boundary of its authors' code, and
the *symmetric* one; **{SELECTED}**, a mean of up to three layers chosen by `likewise model select-layers` from 500
plain premises of inference data; and the trained map over all layers of `likewise model fuse`, **{FUSED_NLI}** from
{TRIPLETS:,} triplets, **{FUSED_STSB}** from STS-B's training split (not scored on STS12–16, which share hundreds of
pairs with it). [What is in a layer](what-is-in-a-layer.md) explains SBERT-WK and the fusion.

This page is drawn by `python -m benchmarks.layers.page` from measurements of `python -m benchmarks.layers.measure`.
Differences are to mean pooling on the same items, with the 95 % interval of a paired bootstrap. ▲ is better than mean
pooling and ▼ worse at p < {ALPHA}, after Holm's correction over the measured tasks of a model, pooling and protocol;
what has no mark is not distinguishable from it. All scores are × 100. SentEval's classifiers have a hidden layer of 50
units, as SBERT-WK's. Its probing tasks are not here, as their data is not. A handful of the premises and of the
triplets' sentences occur in the tests as well, one by one and without their scores.
"""


def page() -> str:
    """The whole page."""
    record = _read("layers")
    cells = {(c["model"], c["task"], c["pooling"]): c for c in record["cells"]}
    parts = [TOP, "## In short\n", *summary(record["models"], cells), *findings(record["models"], cells)]
    parts += ["", "## Choosing layers without labels", "", SELECTION, *criteria_table()]
    parts += ["", "## Value vectors", "", VALUES, *value_table()]
    for model, about in record["models"].items():
        parts += ["", f"## {model}", "", *model_tables(model, about, cells)]
    return "\n".join(parts) + "\n"


SELECTION = f"""Hosseini et al. (2023, "BERT Has More to Offer") report that a mean of certain layers beats the last one
by far, which layers depending on the model and the data. To choose them without labels, a criterion must stand in for
people. Those tried see 400 plain premises of inference data, each whole and changed. *Separation* is how far the
cosines of a text with its own changed copy lie above those of different texts, in units of their spread; *contrast* is
InfoNCE; *agreement* the rank correlation of similarities before and after. Each cell: Spearman × 100 on STS-B's
**development** split of the layers that the criterion prefers among all sets, and those layers.

The criterion was chosen here, on four models, before the test score of any such mean was computed; so these figures are
optimistic, and those of the tests below are not. About as many others were tried in throw-away scripts, and none was
better: words left out in place of tokens, every other word, agreement with tf-idf. It is `{CHOSEN}`: near the best for
every model, and leaving out words is more plausible as keeping the meaning than shuffling them. On bert-tiny-splade the
choice is close, and texts of another kind decide it otherwise: Python's documentation prefers 0+1, which the table has
below the last layer. So `select-layers` asks for texts of the kind that will be encoded, and labelled pairs decide
where there are some.
"""
VALUES = """Zhang et al. (2026, "LLM-based Embeddings: Attention Values Encode Sentence Semantics Better Than Hidden
States") report that in decoders the value vectors of attention are the better sentence vectors. Here the same is asked
of encoders, on STS-B's development split: Spearman × 100 of means over tokens. *Best layer* is chosen with the labels,
in favour of each kind.
"""


def verdict(cell: Mapping[str, Any], adjusted: float) -> str:
    """Better or worse than mean pooling, or neither, by the p that is corrected."""
    if adjusted >= ALPHA:
        return SAME
    return BETTER if cell["difference"][0] > 0 else WORSE


def verdicts(model: str, pooling: str, tasks: Sequence[str], cells: Mapping[Any, Any]) -> dict[str, str]:
    """The verdict of each task that was measured."""
    present = {task: cells[model, task, pooling] for task in tasks if (model, task, pooling) in cells}
    adjusted = holm([cell["p"] for cell in present.values()]) if present else []
    return {task: verdict(cell, p) for (task, cell), p in zip(present.items(), adjusted, strict=True)}


def summary(models: Mapping[str, Any], cells: Mapping[Any, Any]) -> Iterator[str]:
    """Means over the seven STS sets, and how many tasks are better, the same and worse by protocol."""
    yield "| model | pooling | mean of 7 STS | " + " | ".join(f"{p}: ▲ / no mark / ▼" for p in PROTOCOLS) + " |"
    yield "|---|---|---|" + "---|" * len(PROTOCOLS)
    for model, about in models.items():
        for pooling in CONTENDERS:
            values = [cells[model, t, pooling]["value"] for t in STS_NAMES if (model, t, pooling) in cells]
            mean = f"{100 * np.mean(values):.2f}" if len(values) == len(STS_NAMES) else "–"
            counted = [_counts(model, pooling, tasks, cells) for tasks in PROTOCOLS.values()]
            yield f"| {model} | {_title(pooling, about)} | {mean} | {' | '.join(counted)} |"


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
    """Where SBERT-WK and the layers without labels beat averaging, and where not, in words."""
    for pooling in (WK, SELECTED, FUSED_NLI):
        yield ""
        yield (
            f"**{pooling[0].upper()}{pooling[1:]}** beside mean pooling, {next(iter(PROTOCOLS))}: "
            + "; ".join(_finding(model, pooling, cells) for model in models)
            + "."
        )


def _finding(model: str, pooling: str, cells: Mapping[Any, Any]) -> str:
    found = verdicts(model, pooling, STS_NAMES, cells)
    gains = [100 * cells[model, task, pooling]["difference"][0] for task in found]
    if not any(gains):
        return f"on {model} it is mean pooling"
    better, worse = (sum(v == kind for v in found.values()) for kind in (BETTER, WORSE))
    return f"on {model} {np.mean(gains):+.1f} on average, better on {better} of {len(found)}, worse on {worse}"


def criteria_table() -> Iterator[str]:
    """What each criterion picks, on development data."""
    record = _read("layer_criteria")
    models = record["results"]
    yield f"| criterion | {' | '.join(models)} |"
    yield "|---|" + "---|" * len(models)
    yield "| (last layer) | " + " | ".join(f"{row['last']:.2f}" for row in models.values()) + " |"
    yield "| (all layers) | " + " | ".join(f"{row['all layers']:.2f}" for row in models.values()) + " |"
    yield (
        "| (best, with labels) | " + " | ".join(f"{r['best']:.2f}: {r['best layers']}" for r in models.values()) + " |"
    )
    for criterion in next(iter(models.values()))["criteria"]:
        picks = [row["criteria"][criterion] for row in models.values()]
        mark = "**" if criterion == CHOSEN else ""
        yield f"| {mark}{criterion}{mark} | " + " | ".join(f"{p['dev']:.2f}: {p['layers']}" for p in picks) + " |"
    yield from ("", _place(record["machine"]))


def value_table() -> Iterator[str]:
    """Hidden states, values and attention's output, on development data."""
    record = _read("value_vectors")
    yield "| model | vectors | last layer | best layer | mean of all | side by side |"
    yield "|---|---|---|---|---|---|"
    for model, kinds in record["results"].items():
        for kind, row in kinds.items():
            figures = (row["by layer"][-1], max(row["by layer"]), row["mean of all"], row["side by side"])
            yield f"| {model} | {kind} | {' | '.join(f'{figure:.2f}' for figure in figures)} |"
    yield from ("", _place(record["machine"]))


def model_tables(model: str, about: Mapping[str, Any], cells: Mapping[Any, Any]) -> Iterator[str]:
    """A table a protocol: tasks down, poolings across."""
    others = [pooling for pooling in CONTENDERS if pooling != MEAN]
    for protocol, tasks in PROTOCOLS.items():
        measured = [task for task in tasks if (model, task, MEAN) in cells]
        if not measured:
            continue
        yield f"| {protocol} | {MEAN} | {' | '.join(_title(pooling, about) for pooling in others)} |"
        yield "|---|---|" + "---|" * len(others)
        found = {pooling: verdicts(model, pooling, tasks, cells) for pooling in others}
        for task in measured:
            shown = [_figure(cells.get((model, task, p)), found[p].get(task)) for p in others]
            yield f"| {task} | {100 * cells[model, task, MEAN]['value']:.2f} | {' | '.join(shown)} |"
        yield ""
    left = [task for tasks in PROTOCOLS.values() for task in tasks if (model, task, MEAN) not in cells]
    if left:
        yield f"Not measured yet: {', '.join(left)}.\n"
    yield _place(about["machine"])


def _figure(cell: Mapping[str, Any] | None, found: str | None) -> str:
    if cell is None or found is None:
        return "–"
    value, low, high = (100 * x for x in cell["difference"])
    return f"{100 * cell['value']:.2f}{MARKS[found]} ({value:+.2f} [{low:+.2f}, {high:+.2f}])"


def _place(machine: Mapping[str, Any]) -> str:
    return f"{machine['cpu']}, {machine['date']}, commit {machine['commit']}."


def _read(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def main() -> None:
    PAGE.write_text(page(), "utf-8")
    print(f"written: docs/{PAGE.name}")


if __name__ == "__main__":
    main()
