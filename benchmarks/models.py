"""Speed against quality: times every local model in turn on one machine, and evaluates it.

    LIKEWISE_DATA=data LIKEWISE_MODELS=models python -m benchmarks.models [MODEL …]

Writes benchmarks/results/models.json, and the tables of docs/models.md. Speed is measured on the distinct
sentences of STS-B's test split, in fp32; quality is the mean Spearman × 100 over the seven STS sets, the mean accuracy
over SentEval's seven tasks, and nDCG@10 on SciFact. `--tasks all` measures every task, as `likewise evaluate` does, and
draws a table of them. Scores are kept in the user's cache, so an interrupted run resumes.
"""

import argparse
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

from .pages import PageTables, draw
from .record import RESULTS, in_turn, machine, ratio

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
TASKS = {"sts": STS_NAMES, "usual": (*STS_NAMES, *SENTEVAL, "scifact"), "all": ("all",)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=FIELD, help="(%(default)s)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tasks", choices=TASKS, default="usual", help="tasks besides STS take minutes (%(default)s)")
    parts_named = ("speed", "engines", "quality", "draw")
    parser.add_argument("--only", choices=parts_named, help="measure only this part and keep the rest")
    args = parser.parse_args()
    records = read()
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "quality": lambda: quality(args.models, TASKS[args.tasks]),
        "speed": lambda: speed(args.models, args),
        "engines": lambda: engines(args),
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
    """Each model's averages, and the tasks that they cover."""
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
    """Scores of earlier weights of our models, in order, including those that are now replaced."""
    result = {name: [*former.get(name, ())] for name in WANTED}
    for name in {*WANTED} & {*before} & {*now}:
        if any(score != now[name]["tasks"].get(task, score) for task, score in before[name]["tasks"].items()):
            result[name].append({key: before[name][key] for key in ("sts", "senteval", "scifact", "tasks", "machine")})
    return result


def shipped(records: Mapping[str, Any]) -> list[str]:
    """Our models compared with their targets, their earlier weights, and the reference."""
    rows = records["quality"]["results"]
    lines = [f"| | target | earlier weights | these | {REFERENCE} |", "|---|---|---|---|---|"]
    for name, goals in WANTED.items():
        for score, goal in goals.items():
            former = ", ".join(f"{_score(row, score):.2f}" for row in records["former"].get(name, ())) or "–"
            cells = former, f"{_score(rows[name], score):.2f}", f"{_score(rows[REFERENCE], score):.2f}"
            lines.append(f"| {name}, {SCORES[score]} | {goal:.1f} | {' | '.join(cells)} |")
    return lines


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


def speed(names: Sequence[str], args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Texts per second, the ratio to the reference in each round, and megabytes of weights on disk."""
    texts = sentences_on(args.threads)
    models = {name: load_named_embedder(name, precision="fp32", device="cpu") for name in names}
    seconds = in_turn({name: _reads(model, texts) for name, model in models.items()}, args.rounds)
    return {
        short(name): {
            "texts_per_s": len(texts) / median(seconds[name]),
            **({"times_reference": ratio(seconds, name, REFERENCE)} if REFERENCE in models else {}),
            "megabytes": _weights(model) / 1e6,
        }
        for name, model in models.items()
    }


def sentences_on(threads: int) -> list[str]:
    """The distinct sentences of STS-B's test split; torch and the tokenizer use this number of threads."""
    torch.set_num_threads(threads)
    os.environ["RAYON_NUM_THREADS"] = str(threads)  # the tokenizer's threads
    pairs = read_dataset("stsb/test")
    return list(dict.fromkeys([*pairs["sentence1"], *pairs["sentence2"]]))


def engines(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """The ratio of our models' speed to the reference's, by model name and then by engine and precision."""
    texts = sentences_on(args.threads)
    result: dict[str, dict[str, float]] = {name: {} for name in BUNDLED}
    for engine, precision in ENGINES:
        models = {
            name: load_named_embedder(name, engine=engine, precision=precision, device="cpu")
            for name in (REFERENCE, *BUNDLED)
        }
        seconds = in_turn({name: _reads(model, texts) for name, model in models.items()}, args.rounds)
        for name in BUNDLED:
            result[name][f"{engine} {precision}"] = ratio(seconds, name, REFERENCE)
    return result


def engines_table(record: Mapping[str, Any]) -> list[str]:
    """A table of ratios to the reference, with engines as columns."""
    where, columns = record["machine"], [f"{engine} {precision}" for engine, precision in ENGINES]
    lines = [f"| times MiniLM-L6 | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    for name, row in record["results"].items():
        lines.append(f"| {name} | {' | '.join(f'{row[column]:.2f} ×' for column in columns)} |")
    return [*lines, "", f"{where['cpu']}, {record['threads']} thread(s), {where['date']}, commit {where['commit']}."]


def _reads(model: Embedder, texts: Sequence[str]) -> Any:
    return lambda: model.encode(texts, overflow="truncate", show_progress_bar=False)


def _weights(model: Embedder) -> int:
    folder = model.manifest.encoder
    places = [folder, *(part.folder for part in model.manifest.heads)]
    return sum(path.stat().st_size for place in {*places} for path in Path(place).glob("*.safetensors"))


def read() -> dict[str, Any]:
    """The tables of all measured parts."""
    records: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    return records


def rows_of(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Speed and quality of each model."""
    speeds = record["speed"]["results"]
    return {name: {**speeds.get(name, {}), **row} for name, row in record["quality"]["results"].items()}


def table(rows: Mapping[str, Mapping[str, Any]], record: Mapping[str, Any]) -> list[str]:
    """Models by decreasing STS average."""
    where, threads = record["speed"]["machine"], record["speed"]["threads"]
    lines = [
        "| model | weights | texts/s | times MiniLM-L6 | STS, mean of 7 | SentEval, mean of 7 | SciFact nDCG@10 |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in sorted(rows.items(), key=lambda item: -item[1].get("sts", 0)):
        cells = [
            f"{row['megabytes']:.1f} MB" if "megabytes" in row else "–",
            f"{row['texts_per_s']:,.0f}" if "texts_per_s" in row else "–",
            f"{row['times_reference']:.2f} ×" if "times_reference" in row else "–",
            *(f"{row[part]:.2f}" if part in row else "–" for part in ("sts", "senteval", "scifact")),
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", f"{where['cpu']}, {threads} thread(s), fp32, {where['date']}, commit {where['commit']}."]
    return lines


def every_task(quality: Mapping[str, Any]) -> list[str]:
    """Tasks as rows, and as columns the models measured on more than the usual tasks, with intervals."""
    usual = TASKS["usual"]
    rows = {name: row for name, row in quality["results"].items() if {*row["tasks"]} - {*usual}}
    names = sorted(rows, key=lambda name: -rows[name].get("sts", 0))
    lines = [f"| task | score | {' | '.join(names)} |", "|---" * (2 + len(names)) + "|"]
    for task in dict.fromkeys(task for name in names for task in rows[name]["tasks"]):
        score = next(rows[name]["scores"][task] for name in names if task in rows[name]["scores"])
        lines.append(f"| {task} | {score} | {' | '.join(_figure(rows[name], task) for name in names)} |")
    places = dict.fromkeys("{cpu}, {date}, commit {commit}".format(**row["machine"]) for row in rows.values())
    return [*lines, "", f"{'; '.join(places)}."]


def _figure(row: Mapping[str, Any], task: str) -> str:
    if task not in row["tasks"]:
        return "–"
    between = row["intervals"].get(task)
    return f"{row['tasks'][task]:.2f}" + (f" [{between[0]:.2f}, {between[1]:.2f}]" if between else "")


TABLES: PageTables = {
    "docs/models.md": {
        "models": lambda: table(rows_of(read()), read()),
        "engines": lambda: engines_table(read()["engines"]),
        "tasks": lambda: every_task(read()["quality"]),
        "shipped": lambda: shipped(read()),
    }
}

if __name__ == "__main__":
    main()
