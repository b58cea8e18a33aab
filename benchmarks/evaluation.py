"""The many numbers that are all called "the" score of a model, the papers' baselines, and the time for a score table.

    LIKEWISE_DATA=data LIKEWISE_MODELS=models python -m benchmarks.evaluation aggregates baselines time
    LIKEWISE_DATA=data LIKEWISE_MODELS=models python -m benchmarks.evaluation separate overlaps

Writes benchmarks/results/evaluation.json part by part, and fills the tables of docs/evaluation.md from it.
`time` needs an otherwise idle machine: it reruns the command without any caches.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from likewise.data.catalogue.entry import TEXT_COLUMNS
from likewise.data.datasets import check_dataset, dataset_entry
from likewise.data.datasets import read_dataset as read_data
from likewise.data.leaks import find_leaks
from likewise.evaluate import SUITES, Cache, EvaluationSettings, Results, evaluate
from likewise.evaluate.tasks.registry import SEPARATE, select_tasks
from likewise.evaluate.tasks.sts import STS_NAMES
from likewise.model_names import load_named_embedder
from likewise.runtime.progress import StatusLine
from likewise.text.normalization import normalized

from .pages import PageTables, draw, rows
from .record import RESULTS, machine
from .record import read as read_results

FEW = EvaluationSettings(resamples=100)

FILE = RESULTS / "evaluation.json"
MODEL = "all-MiniLM-L6-v2"
FIELD = (MODEL, "avg-glove", "tf-idf", "bert-avg(minilm-l6-h384-raw)", "bert-cls(minilm-l6-h384-raw)")
QUICK = FIELD[:2]  # for tf-idf and the two averages, the transfer tasks would take most of an hour
AGGREGATES = [f"{statistic}/cosine/{how}" for statistic in ("spearman", "pearson") for how in ("all", "mean", "wmean")]
TIMED = ("sts", "senteval")
SEPARATE_MODELS = (
    *("likewise-mini", "likewise-static", "likewise-multi"),
    *("all-MiniLM-L6-v2(precision=int8)", "multilingual-e5-small-cut(precision=int8)"),
)
SEPARATE_SCORES = ("spearman/cosine", "accuracy", "map", "ndcg", "v_measure")
LEARNED = {
    "nli": ("nli/train",),
    "flickr30k_captions": ("flickr30k_captions/train",),
    "mrpc": ("mrpc/train",),
    "diverse_text": tuple(f"diverse_text/part-{i}" for i in range(3)),
}
"""The texts that the bundled models were trained on, except the texts in the tests of `all`."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", choices=[[], *PARTS, "separate"], help="parts to remeasure; tables are always redrawn"
    )
    message = "measure only these models in `separate`, and keep the results of the others (default: all)"
    parser.add_argument("--models", nargs="+", choices=SEPARATE_MODELS, metavar="MODEL", help=message)
    args = parser.parse_args()
    if args.models and "separate" not in args.parts:
        parser.error("--models applies only to the part `separate`; add it, or leave out --models")
    for part in args.parts:
        output = read()
        if part == "separate":
            output[part] = of_models(output.get(part, {}), args.models or SEPARATE_MODELS)
        else:
            output[part] = {"machine": machine(), "results": PARTS[part]()}
        FILE.write_text(json.dumps(output, indent=2) + "\n", "utf-8")
    draw(TABLES)


def of_models(before: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Measure these models, record the machine with each, and keep the earlier results of the other models."""
    now, where = separate(names), machine()
    found = {**before.get("results", {}), **now}
    machines = {**before.get("machines", {}), **dict.fromkeys(now, where)}
    order = [name for name in SEPARATE_MODELS if name in found]
    return {"machines": {name: machines[name] for name in order}, "results": {name: found[name] for name in order}}


def read() -> dict[str, Any]:
    return json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}


def aggregates() -> dict[str, dict[str, float]]:
    """Compute every aggregate of cosines on each STS set, and a trained regressor where papers report one."""
    result = evaluate([MODEL], ["sts", "stsb-regressor", "sick-r-regressor"], cache=Cache.of_user(), settings=FEW)
    scores = {
        name: {score.name: score.value for score in cell.result.scores if score.name in AGGREGATES}
        for (_, name), cell in result.cells.items()
        if cell.result and name in STS_NAMES
    }
    for name in ("stsb", "sick-r"):
        cell = result[MODEL, f"{name}-regressor"]
        assert cell.result, cell.error
        scores[name]["pearson/regressor"] = cell.result["pearson/regressor"]
    return scores


def baselines() -> dict[str, Any]:
    """Compute the main scores of the papers' baselines, with their intervals."""
    record: dict[str, Any] = {}
    for suite, models in {"sts": FIELD, "senteval": QUICK}.items():
        result = evaluate(models, suite, cache=Cache.of_user())
        for model in result.models:
            record.setdefault(model, {}).update({t.name: _headline(result, model, t.name) for t in result.tasks})
    return record


def _headline(found: Results, model: str, task: str) -> dict[str, Any]:
    cell = found[model, task]
    if cell.result is None:
        return {"error": cell.error}
    score = cell.result.headline
    interval = [] if score.interval is None else [score.interval.low, score.interval.high]
    return {"name": score.name, "value": score.value, "interval": interval, "protocol": cell.result.protocol}


def separate(names: Sequence[str]) -> dict[str, Any]:
    """Compute the scores on the suites that `all` leaves out, including scores for single languages."""
    result = evaluate(names, SEPARATE, cache=Cache.of_user(), load=load_named_embedder, callback=StatusLine())
    record: dict[str, Any] = {name: {} for name in result.models}
    for (model, task), cell in result.cells.items():
        scores = cell.result.scores if cell.result else ()
        kept = {score.name: score.value for score in scores if score.name.startswith(SEPARATE_SCORES)}
        record[model][task] = {**_headline(result, model, task), "scores": kept}
    return record


def overlaps() -> dict[str, dict[str, int]]:
    """Count the distinct texts in each test of the suites that `all` leaves out, and those used to train our models."""
    sources = [name for names in LEARNED.values() for name in names]
    older = _texts(name for name in _files("all") if name not in sources and check_dataset(name).state != "missing")
    learned = {source: _texts(names) - older for source, names in LEARNED.items()}
    record = {}
    for test in _files(SEPARATE):
        texts = _texts([test])
        shared = {source: len(texts & of_source) for source, of_source in learned.items()}
        record[test] = {"texts": len(texts), **shared}
    return record


def _files(tasks: str | Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name for task in select_tasks(tasks) for name in task.data))


def _texts(names: Iterable[str]) -> set[str]:
    """Reduce the texts of these files to their letters and digits."""
    columns = (values for data in map(read_data, names) for key, values in data.items() if key in TEXT_COLUMNS)
    return {normalized(text, punctuation=False) for values in columns for text in values}


def timed() -> dict[str, float]:
    """Time `likewise evaluate` from start to table in seconds, including loading, encoding and bootstrap intervals."""
    seconds = {}
    for suite in TIMED:
        began = time.perf_counter()
        command = [sys.executable, "-m", "likewise", "evaluate", MODEL, "--tasks", suite, "--no-cache", "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds[suite] = round(time.perf_counter() - began, 1)
        print(f"{suite}: {seconds[suite]} s")
    return seconds


def shared() -> dict[str, Any]:
    """Compute the overlaps of STS-B's training split with the other years, and between folds of argument pairs."""
    years = {name: read_data(f"{name}/test") for name in STS_NAMES[:5]}
    result = find_leaks({"stsb/train": read_data("stsb/train")}, years)
    cell = evaluate(["avg-glove"], ["ukp-aspect-10-fold"], settings=FEW)["avg-glove", "ukp-aspect-10-fold"]
    assert cell.result, cell.error
    notes = [note for note in cell.result.notes if "trained on" in note]
    return {"pairs": {one.test: [one.pairs, one.of_pairs] for one in result}, "folds": notes}


PARTS: dict[str, Callable[[], Any]] = {
    "aggregates": aggregates,
    "baselines": baselines,
    "time": timed,
    "shared": shared,
    "overlaps": overlaps,
}


def agreement_table() -> list[str]:
    """Both modes' accuracies and CPU times."""
    record, body = read_results("senteval_agreement"), []
    for name, row in record["results"]["tasks"].items():
        if "faithful" in row:
            figures = f"{row['fast']:.2f}", f"{row['faithful']:.2f}", f"{row['items_that_differ']} of {row['items']:,}"
            spent = f"{row['fast_cpu_seconds']:.0f} s", f"{row['faithful_cpu_seconds']:,.0f} s"
            body.append([name, *figures, *spent])
    head = "task | fast | faithful | items that differ | CPU time, fast | faithful"
    return rows(head, body, _when(record["machine"]))


def aggregates_table(scores: dict[str, dict[str, float]]) -> list[str]:
    body = []
    for name in AGGREGATES:
        # STS-B and SICK-R have no subsets: every aggregate is `all`
        row = [scores[task].get(name, scores[task][f"{name.split('/')[0]}/cosine/all"]) for task in STS_NAMES]
        body.append(_row(name.replace("/", ", "), row))
    trained = [
        scores[t].get("pearson/regressor", scores[t].get("pearson/cosine/mean", float("nan"))) for t in STS_NAMES
    ]
    body.append(_row("SBERT-WK's: pearson, mean; regressors", trained))
    return rows(f" | {' | '.join(STS_NAMES)} | mean", body)


def _row(name: str, values: Sequence[float | None]) -> list[str]:
    measured = [value for value in values if value is not None]
    mean = sum(measured) / len(values) if len(measured) == len(values) else None
    return [name, *("–" if value is None else f"{100 * value:.2f}" for value in (*values, mean))]


def baselines_table(found: dict[str, Any], tasks: Sequence[str]) -> list[str]:
    measured = {model: cells for model, cells in found.items() if set(tasks) <= set(cells)}
    body = (_row(model, [cells[task].get("value") for task in tasks]) for model, cells in measured.items())
    return rows(f" | {' | '.join(tasks)} | mean", body)


def time_table(seconds: dict[str, float]) -> list[str]:
    return rows("suite | seconds", ([suite, f"{value:.0f}"] for suite, value in seconds.items()))


def shared_table(record: dict[str, Any]) -> list[str]:
    body = ([name, f"{of:,}", f"{count:,}"] for name, (count, of) in record["pairs"].items())
    below = "The argument-pair task (10-fold cross-validation) adds a note for each way of splitting pairs into folds:"
    folds = "\n".join(f"- {note}" for note in record["folds"])
    return rows("test set | distinct pairs | also in STS-B's training split", body, below, folds)


def separate_table(found: dict[str, Any]) -> list[str]:
    """The main scores on the suites that `all` leaves out."""
    body = []
    for task in select_tasks(SEPARATE):
        cells = [cells[task.name] for cells in found.values()]
        name = next((cell["name"] for cell in cells if "name" in cell), "")
        body.append([task.name, name, *map(_with_interval, cells)])
    missing = any("value" not in cell for cells in found.values() for cell in cells.values())
    return rows(f"task | score | {' | '.join(found)}", body, *(["A dash: not measured."] if missing else []))


def _with_interval(cell: dict[str, Any]) -> str:
    if "value" not in cell:
        return "–"
    between = " [{:.1f}, {:.1f}]".format(*(100 * end for end in cell["interval"])) if cell["interval"] else ""
    return f"{100 * cell['value']:.1f}{between}"


def languages_table(found: dict[str, Any]) -> list[str]:
    """The scores in each language."""
    lines = []
    for (task, prefix), caption in LANGUAGE_TABLES.items():
        scores = {model: cells[task]["scores"] for model, cells in found.items() if "scores" in cells[task]}
        own = {name: None for of in scores.values() for name in of if name.rpartition("/")[0] == prefix}
        names = [name for name in own if name.rpartition("/")[2] not in ("all", "wmean")]
        body = ([model, *(f"{100 * of[n]:.1f}" if n in of else "–" for n in names)] for model, of in scores.items())
        lines += ["", f"{caption}:", "", *rows(f" | {' | '.join(n.rpartition('/')[2] for n in names)}", body)]
    return lines[1:]


def multilingual_table(found: dict[str, Any]) -> list[str]:
    """Compare likewise-multi with its teacher and its targets; likewise-mini shows how an English model performs."""
    scores = {name: _means(found[name]) for name in (MULTILINGUAL, MULTILINGUAL_TEACHER, "likewise-mini")}
    body = (
        [name, f"{target:.1f}" if target else "–", *(f"{of[name]:.1f}" for of in scores.values())]
        for name, target in MULTILINGUAL_SCORES.items()
    )
    return rows(f" | target | {' | '.join(scores)}", body)


def _means(cells: dict[str, Any]) -> dict[str, float]:
    sts, tatoeba, answers = (cells[task]["scores"] for task in ("stsb-multi-mt", "tatoeba", "xquad-r"))
    languages = {name.rpartition("/")[2]: value for name, value in sts.items() if name.startswith("spearman/cosine/")}
    english = languages.pop("en")
    ten = [value for name, value in languages.items() if name not in ("mean", "all", "wmean")]
    both = [tatoeba["accuracy/mean"], tatoeba["accuracy/from eng/mean"]]
    within = [answers[f"map/own language/{name}"] for name in ANSWERS_IN]
    values = [sum(ten) / len(ten), english, sum(both) / 2, sum(within) / len(within)]
    return dict(zip(MULTILINGUAL_SCORES, (100 * value for value in values), strict=True))


MULTILINGUAL, MULTILINGUAL_TEACHER = "likewise-multi", "multilingual-e5-small-cut(precision=int8)"
ANSWERS_IN = ("de", "en", "es", "ru", "vi", "zh")
"""The languages of XQuAD-R that likewise-multi was trained on."""
MULTILINGUAL_SCORES = {
    "STS-B in ten languages, Spearman": 73.0,
    "STS-B in English, Spearman": 80.0,
    "Tatoeba, seven languages in both directions, accuracy": 87.0,
    "XQuAD-R in German, English, Spanish, Russian, Vietnamese and Chinese, each separately, MAP": None,
}
"""The scores of likewise-multi on its page, with the targets set before training; × 100."""
LANGUAGE_TABLES = {
    ("stsb-multi-mt", "spearman/cosine"): "stsb-multi-mt, Spearman's correlation × 100",
    ("tatoeba", "accuracy"): "tatoeba, accuracy × 100 from each language to English",
    ("tatoeba", "accuracy/from eng"): "tatoeba, accuracy × 100 from English",
    ("xquad-r", "map"): "xquad-r, mean average precision × 100 among the sentences of all eleven languages",
    (
        "xquad-r",
        "map/own language",
    ): "xquad-r, the same measure, only among the sentences in the question's own language",
}


def sets_table(record: dict[str, dict[str, int]]) -> list[str]:
    """Return a table with each test's licence and source, and how many of its texts the bundled models trained on."""
    body = []
    for name, counts in record.items():
        dataset = dataset_entry(name)[0]
        assert dataset
        shared = (f"{counts[source]:,}" for source in ("texts", *LEARNED))
        body.append([name, dataset.licence, dataset.citation, *shared])
    return rows(f"test | licence | source | distinct texts | in {' | in '.join(LEARNED)}", body)


def _when(where: dict[str, Any]) -> str:
    return f"{where['cpu']}, {where['cores']} cores, torch {where['torch']}, {where['date']}, commit {where['commit']}."


def dated(part: str, table: Callable[[Any], list[str]]) -> list[str]:
    """A part's table, followed by the date and machine of its measurement."""
    record = read()[part]
    places = map(_when, record["machines"].values() if "machines" in record else [record["machine"]])
    return [*table(record["results"]), "", " ".join(dict.fromkeys(places))]


TABLES: PageTables = {
    "docs/models.md": {"multilingual": lambda: dated("separate", multilingual_table)},
    "docs/evaluation.md": {
        "aggregates": lambda: dated("aggregates", aggregates_table),
        "sts": lambda: dated("baselines", lambda found: baselines_table(found, SUITES["sts"])),
        "senteval": lambda: dated("baselines", lambda found: baselines_table(found, SUITES["senteval"])),
        "agreement": agreement_table,
        "time": lambda: dated("time", time_table),
        "shared": lambda: dated("shared", shared_table),
        "separate": lambda: dated("separate", separate_table),
        "languages": lambda: dated("separate", languages_table),
        "sets": lambda: dated("overlaps", sets_table),
    },
}

if __name__ == "__main__":
    main()
