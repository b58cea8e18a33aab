"""Speed against quality: times every local model in turn on one machine, and evaluates it.

    LIKEWISE_DATA=data LIKEWISE_MODELS=models python -m benchmarks.models [MODEL …]

Writes benchmarks/results/models.json, and the tables of docs/models.md. Speed is measured on the distinct
sentences of STS-B's test split, in fp32; quality is the mean Spearman × 100 over the seven STS sets, the mean accuracy
over SentEval's seven tasks, and nDCG@10 on SciFact. `--tasks all` measures every task, as `likewise evaluate` does, and
draws a table of them; `--only` measures one part and keeps the rest. Scores are kept in the user's cache, so an
interrupted run resumes.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from likewise import Embedder
from likewise.data.datasets import read_dataset
from likewise.evaluate import Cache, evaluate
from likewise.evaluate.results import Results
from likewise.evaluate.task import Result
from likewise.evaluate.tasks.senteval import SENTEVAL_NAMES as SENTEVAL
from likewise.evaluate.tasks.sts import STS_NAMES
from likewise.model_names import load_named_embedder
from likewise.runtime.progress import StatusLine

from .options import options
from .pages import PageTables, draw, rows
from .record import RESULTS, in_turn, machine, place, ratio

REFERENCE = "all-MiniLM-L6-v2"
FIELD = (
    "likewise-mini",
    "likewise-small",
    "likewise-static",
    REFERENCE,
    "avg-glove",
    "bert-tiny-splade",
    "minilm-l6-h384-raw",
)
BUNDLED = ("likewise-mini", "likewise-static")
ENGINES = (("torch", "fp32"), ("native", "fp32"), ("native", "int8"))
FILE = RESULTS / "models.json"
WANTED = {
    "likewise-mini": {"sts": 80.0, "scifact": 66.0, "trec": 89.0, "qqp": 76.0, "senteval": 82.5},
    "likewise-static": {"sts": 77.5, "scifact": 58.0},
    "likewise-small": {"sts": 81.5, "scifact": 68.0},
}
"""Target scores for our models, set before training; × 100."""
SCORES = {
    "sts": "STS mean of 7",
    "scifact": "SciFact",
    "trec": "TREC",
    "qqp": "Quora's pairs",
    "senteval": "SentEval's seven",
}
TASKS = {"usual": (*STS_NAMES, *SENTEVAL, "scifact"), "sts": STS_NAMES, "all": ("all",)}


def main() -> None:
    only = (None, "speed", "engines", "quality", "draw")
    args = options(__doc__, None, {"models": [*FIELD]}, rounds=5, threads=1, tasks=(*TASKS,), only=only)
    records = read()
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "quality": lambda: quality(args.models, TASKS[args.tasks]),
        "speed": lambda: speed(args.models, args.threads, args.rounds),
        "engines": lambda: engines(args.threads, args.rounds),
    }
    for part, measure in parts.items():
        if args.only in (None, part):
            before, now = records.get(part, {}).get("results", {}), measure()
            if part == "quality":
                records["former"] = with_former(records.get("former", {}), before, now)
            results = {**before, **now}
            records[part] = {"machine": machine(), "threads": args.threads, "results": results}
            FILE.write_text(json.dumps(records, indent=2) + "\n", "utf-8")
    if {*parts} <= {*records}:
        draw(TABLES)


def quality(names: Sequence[str], tasks: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Compute each model's averages, and the scores of the tasks that they cover."""
    line = StatusLine()
    models = {short(name): name for name in names}
    result = evaluate(models, list(tasks), cache=Cache.of_user(), load=load_named_embedder, callback=line)
    line.close("measured")
    for cell in result.failed:
        print(f"{cell.model} on {cell.task}: {cell.error}")
    return {name: {**_scores(result, name), "machine": machine()} for name in models}


def with_former(
    former: Mapping[str, Sequence[Any]], before: Mapping[str, Any], now: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """Return the scores of our models' earlier weights, in order, including the weights replaced by this run."""
    result = {name: [*former.get(name, ())] for name in WANTED}
    for name in {*WANTED} & {*before} & {*now}:
        if any(score != now[name]["tasks"].get(task, score) for task, score in before[name]["tasks"].items()):
            result[name].append({key: before[name][key] for key in ("sts", "senteval", "scifact", "tasks", "machine")})
    return result


def shipped(records: Mapping[str, Any]) -> list[str]:
    """Our models compared with their targets, their earlier weights, and the reference."""
    found, body = records["quality"]["results"], []
    for name, goals in WANTED.items():
        for score, goal in goals.items():
            former = ", ".join(f"{_score(row, score):.2f}" for row in records["former"].get(name, ())) or "–"
            both = (f"{_score(found[model], score):.2f}" for model in (name, REFERENCE))
            body.append([f"{name}, {SCORES[score]}", f"{goal:.1f}", former, *both])
    return rows(f" | target | earlier weights | current weights | {REFERENCE}", body)


def _score(row: Mapping[str, Any], name: str) -> float:
    """A mean, or a task's score."""
    return float(row[name] if name in row else row["tasks"][name])


def short(name: str) -> str:
    """The last part of a folder's path, or any other name in full."""
    return Path(name).name if Path(name).is_dir() else name


def _scores(found: Results, name: str) -> dict[str, Any]:
    cells = {task.name: found[name, task.name].result for task in found.tasks}
    heads = {task: 100 * result.headline.value for task, result in cells.items() if result}
    between = {task: _interval(result) for task, result in cells.items() if result}
    parts = {"sts": STS_NAMES, "senteval": SENTEVAL, "scifact": ("scifact",)}
    means = {part: float(np.mean([heads[t] for t in of])) for part, of in parts.items() if set(of) <= set(heads)}
    scores = {task: result.headline.name for task, result in cells.items() if result}
    return {**means, "tasks": heads, "scores": scores, "intervals": between}


def _interval(result: Result) -> list[float] | None:
    """The 95 % interval, × 100."""
    results = result.headline.interval
    return None if results is None else [100 * results.low, 100 * results.high]


def speed(names: Sequence[str], threads: int, rounds: int) -> dict[str, dict[str, float]]:
    """Measure texts per second, the ratio to the reference in each round, and megabytes of weights on disk."""
    texts = sentences_on(threads)
    models = {name: load_named_embedder(name, precision="fp32", device="cpu") for name in names}
    seconds = in_turn({name: _reads(model, texts) for name, model in models.items()}, rounds)
    return {
        short(name): {
            "texts_per_s": len(texts) / median(seconds[name]),
            **({"times_reference": ratio(seconds, name, REFERENCE)} if REFERENCE in models else {}),
            "megabytes": _weights(model) / 1e6,
        }
        for name, model in models.items()
    }


def sentences_on(threads: int) -> list[str]:
    """Set the threads of torch and the tokenizer, and return the distinct sentences of STS-B's test split."""
    torch.set_num_threads(threads)
    os.environ["RAYON_NUM_THREADS"] = str(threads)  # the tokenizer's threads
    pairs = read_dataset("stsb/test")
    return list(dict.fromkeys([*pairs["sentence1"], *pairs["sentence2"]]))


def engines(threads: int, rounds: int) -> dict[str, dict[str, float]]:
    """Measure the speed of our models relative to the reference, by model name and then by engine and precision."""
    texts = sentences_on(threads)
    result: dict[str, dict[str, float]] = {name: {} for name in BUNDLED}
    for engine, precision in ENGINES:
        models = {
            name: load_named_embedder(name, engine=engine, precision=precision, device="cpu")
            for name in (REFERENCE, *BUNDLED)
        }
        seconds = in_turn({name: _reads(model, texts) for name, model in models.items()}, rounds)
        for name in BUNDLED:
            result[name][f"{engine} {precision}"] = ratio(seconds, name, REFERENCE)
    return result


def engines_table(record: Mapping[str, Any]) -> list[str]:
    """A table of ratios to the reference, with engines as columns."""
    where, columns = record["machine"], [f"{engine} {precision}" for engine, precision in ENGINES]
    body = ([name, *(f"{row[column]:.2f} ×" for column in columns)] for name, row in record["results"].items())
    below = f"{where['cpu']}, {record['threads']} thread(s), {where['date']}, commit {where['commit']}."
    return rows(f"times MiniLM-L6 | {' | '.join(columns)}", body, below)


def _reads(model: Embedder, texts: Sequence[str]) -> Any:
    return lambda: model.encode(texts, overflow="truncate", show_progress_bar=False)


def _weights(model: Embedder) -> int:
    folder = model.manifest.encoder
    places = [folder, *(part.folder for part in model.manifest.heads)]
    return sum(path.stat().st_size for place in {*places} for path in Path(place).glob("*.safetensors"))


def read() -> dict[str, Any]:
    """Read the results of all parts measured so far."""
    records: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    return records


def measured(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Speed and quality of each model."""
    speeds = record["speed"]["results"]
    return {name: {**speeds.get(name, {}), **row} for name, row in record["quality"]["results"].items()}


def table(record: Mapping[str, Any]) -> list[str]:
    """Return a table of the models by decreasing STS average."""
    where, threads = record["speed"]["machine"], record["speed"]["threads"]
    body = []
    for name, row in sorted(measured(record).items(), key=lambda item: -item[1].get("sts", 0)):
        cells = [
            f"{row['megabytes']:.1f} MB" if "megabytes" in row else "–",
            f"{row['texts_per_s']:,.0f}" if "texts_per_s" in row else "–",
            f"{row['times_reference']:.2f} ×" if "times_reference" in row else "–",
            *(f"{row[part]:.2f}" if part in row else "–" for part in ("sts", "senteval", "scifact")),
        ]
        body.append([name, *cells])
    head = "model | weights | texts/s | times MiniLM-L6 | STS, mean of 7 | SentEval, mean of 7 | SciFact nDCG@10"
    return rows(head, body, f"{where['cpu']}, {threads} thread(s), fp32, {where['date']}, commit {where['commit']}.")


def every_task(quality: Mapping[str, Any]) -> list[str]:
    """Return a table of all tasks with intervals; its columns are the models measured on more than the usual tasks."""
    found = {name: row for name, row in quality["results"].items() if {*row["tasks"]} - {*TASKS["usual"]}}
    names, body = sorted(found, key=lambda name: -found[name].get("sts", 0)), []
    for task in dict.fromkeys(task for name in names for task in found[name]["tasks"]):
        score = next(found[name]["scores"][task] for name in names if task in found[name]["scores"])
        body.append([task, score, *(_figure(found[name], task) for name in names)])
    places = dict.fromkeys(place(row["machine"]) for row in found.values())
    return rows(f"task | score | {' | '.join(names)}", body, f"{'; '.join(places)}.")


def _figure(row: Mapping[str, Any], task: str) -> str:
    if task not in row["tasks"]:
        return "–"
    between = row["intervals"].get(task)
    return f"{row['tasks'][task]:.2f}" + (f" [{between[0]:.2f}, {between[1]:.2f}]" if between else "")


TABLES: PageTables = {
    "docs/models.md": {
        "models": lambda: table(read()),
        "engines": lambda: engines_table(read()["engines"]),
        "tasks": lambda: every_task(read()["quality"]),
        "shipped": lambda: shipped(read()),
    }
}

if __name__ == "__main__":
    main()
