"""Compares models on development data only, to choose between the students of a distillation.

    python -m benchmarks.development out/mini-a out/mini-b
    python -m benchmarks.development out/mini-a --label "both objectives"

Each score is a task of `likewise evaluate`, computed on data that its test does not use or that are set aside:

    stsb-dev        STS-B's development split, Spearman
    qqp             every fifth pair of Quora's questions, average precision (the published task reads all pairs)
    scifact         SciFact's training claims, nDCG@10 among the same abstracts
    wiki-sections   the triplets of the training articles, accuracy
    trec            TREC's training questions; a classifier trained on four fifths of them is tested on the rest
    sick-r          SICK's training pairs, Spearman; measured since 2026-11-23 and not included in the mean

benchmarks/results/development.jsonl contains a line for each model, from which the table in docs/models.md is drawn. If
a model with the same fingerprint already has a line, only missing scores are measured. Models are names or folders;
--label describes them in the table (by default, the model's name).
"""

import json
import math
from collections.abc import Sequence
from typing import Any

from likewise.data.columns import DatasetColumns
from likewise.data.datasets import read_dataset
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.evaluate.task import EvaluationSettings
from likewise.evaluate.tasks.registry import TASKS
from likewise.model_names import load_torch_embedder
from likewise.runtime.atomic_files import atomic_file
from papers.recipes.recipe import named_shortly

from .options import options
from .pages import PageTables, draw, rows
from .record import RESULTS, machine

MEAN_OF = ("stsb-dev", "qqp", "scifact", "wiki-sections", "trec")
DEVELOPMENT = (*MEAN_OF, "sick-r")
FILE = RESULTS / "development.jsonl"
ASIDE = 5
"""In data without a development split, every fifth row is set aside."""


def development_data(name: str) -> DatasetColumns:
    """Return the data that a task uses in place of the test data in this file."""
    if name == "sick/test":
        return read_dataset("sick/train")
    if name == "qqp_subset/pairs":
        return every(ASIDE, read_dataset(name))
    if name in ("scifact/qrels", "wiki_sections/triplets"):
        columns = dict(read_dataset(name))
        columns["split"] = ["test" if split == "train" else "aside" for split in columns["split"]]
        return columns
    if name.startswith("trec/"):
        return every(ASIDE, read_dataset("trec/train"), others=name == "trec/train")
    if name.split("/")[0] in ("scifact", "stsb") and name != "stsb/test":
        return read_dataset(name)
    raise SystemExit(f"{name} is not development data")


def every(step: int, columns: DatasetColumns, *, others: bool = False) -> DatasetColumns:
    """Return the rows whose index is divisible by `step`, or all other rows."""
    rows = [i for i in range(len(next(iter(columns.values())))) if (i % step == 0) is not others]
    return {name: [values[i] for i in rows] for name, values in columns.items()}


def development_scores(model: TorchEmbedder, tasks: Sequence[str] = DEVELOPMENT) -> dict[str, float]:
    """The main score of each task, × 100."""

    def encode(texts: Sequence[str]) -> Any:
        return model.encode(texts, overflow="truncate", show_progress_bar=False)

    settings = EvaluationSettings(resamples=0)
    return {name: round(100 * TASKS[name].run(encode, development_data, settings).headline.value, 2) for name in tasks}


def read() -> list[dict[str, Any]]:
    """Read the lines of all models measured so far."""
    return [json.loads(line) for line in FILE.read_text("utf-8").splitlines()] if FILE.exists() else []


def of_model(lines: Sequence[dict[str, Any]], new: dict[str, Any]) -> dict[str, Any]:
    """Return the existing line with the same fingerprint as the new line, or else the new line."""
    return next((line for line in lines if line["fingerprint"] == new["fingerprint"]), new)


def table() -> list[str]:
    """Return a table of the models in file order: the teacher, then the students, with each column's best in bold."""
    lines = read()
    columns = {task: [line["scores"].get(task, math.nan) for line in lines] for task in MEAN_OF}
    columns["mean"] = [line["mean"] for line in lines]
    columns |= {task: [line["scores"].get(task, math.nan) for line in lines] for task in DEVELOPMENT[len(MEAN_OF) :]}
    body = ([line["label"], *(cell(of, i) for of in columns.values())] for i, line in enumerate(lines))
    return rows(f" | {' | '.join(columns)}", body)


def cell(scores: Sequence[float], i: int) -> str:
    """The i-th cell of a column, in bold for the best student (the teacher is first), or a dash if not measured."""
    if math.isnan(scores[i]):
        return "–"
    best = max((score for score in scores[1:] if not math.isnan(score)), default=math.nan)
    return f"**{scores[i]:.2f}**" if i and scores[i] == best else f"{scores[i]:.2f}"


TABLES: PageTables = {"docs/models.md": {"development": table}}


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Measure the models, print their scores and append their lines."""
    args = options(__doc__, argv, {"models": [str]}, label=str)
    lines = [measured(load_torch_embedder(name, precision="fp32"), name, args.label) for name in args.models]
    draw(TABLES)
    return lines


def measured(model: TorchEmbedder, name: str, label: str | None) -> dict[str, Any]:
    """The model's line in the file, after measuring missing scores and replacing its label if one is given."""
    new = {"label": named_shortly(name), "fingerprint": model.fingerprint[:12], "scores": {}}
    lacking = [task for task in DEVELOPMENT if task not in of_model(read(), new)["scores"]]
    found = development_scores(model, lacking) if lacking else {}
    lines = read()  # reread, because another run may have written its own line meanwhile
    line = of_model(lines, new)
    if found:
        line["scores"] |= found
        line["machine"] = machine()
    line["label"] = label or line["label"]
    line["mean"] = round(sum(line["scores"][task] for task in MEAN_OF) / len(MEAN_OF), 2)
    print(
        f"{line['label']}: " + " · ".join(f"{k} {v:.2f}" for k, v in line["scores"].items()), line["mean"], flush=True
    )
    with atomic_file(FILE) as partial:
        every = [*lines, line] if line is new else lines
        partial.write_text("".join(json.dumps(one) + "\n" for one in every), "utf-8")
    return line


if __name__ == "__main__":
    main()
