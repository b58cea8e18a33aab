"""Compares published small models with ours, using scores from mteb's results repository.

    git clone --depth 1 https://github.com/embeddings-benchmark/results
    python -m benchmarks.published results

Reads the checked-out commit, and saves its id and the figures in benchmarks/results/published.json, from which the
table in docs/models.md is drawn. If several revisions of a model were measured, the last by name is used. STS is the
mean Spearman × 100 over the seven English sets in SBERT's paper; SciFact is nDCG@10 × 100. Our scores come from
models.json.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .models import WANTED, read
from .options import options
from .pages import PageTables, draw, rows
from .record import RESULTS

FILE = RESULTS / "published.json"
STS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSBenchmark", "SICK-R")
NAMES = (
    "minishlab/potion-base-2M",
    "minishlab/potion-base-4M",
    "minishlab/potion-base-8M",
    "sentence-transformers/static-retrieval-mrl-en-v1",
    "sentence-transformers/static-similarity-mrl-multilingual-v1",
    "Mihaiii/gte-micro-v4",
    "Mihaiii/Bulbasaur",
    "Snowflake/snowflake-arctic-embed-xs",
    "sentence-transformers/all-MiniLM-L6-v2",
    "ibm-granite/granite-embedding-30m-english",
    "thenlper/gte-small",
)


def main(argv: Sequence[str] | None = None) -> None:
    """Read and save the figures, and draw the table."""
    folder = options(__doc__, argv, {"results": Path}).results
    commit, date = git(folder, "log", "-1", "--format=%H %cs").split()
    found = {name: published(folder, name) for name in NAMES}
    FILE.write_text(json.dumps({"commit": commit, "date": date, "results": found}, indent=2) + "\n", "utf-8")
    draw(TABLES)


def git(folder: Path, *command: str) -> str:
    """The output of a git command."""
    return subprocess.run(["git", "-C", folder, *command], check=True, capture_output=True, text=True).stdout


def published(folder: Path, name: str) -> dict[str, Any]:
    """A model's number of parameters, STS mean and SciFact score, and the file of the latter."""
    home = f"results/{name.replace('/', '__')}/"
    revisions = git(folder, "ls-tree", "--name-only", "HEAD", home).split()
    for revision in reversed(revisions):
        held = {Path(path).stem for path in git(folder, "ls-tree", "--name-only", "HEAD", revision + "/").splitlines()}
        if {*STS, "SciFact", "model_meta"} <= held:
            break
    else:
        raise SystemExit(f"no revision of {name} has results for all of {', '.join((*STS, 'SciFact'))}")

    def read_file(task: str) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(git(folder, "show", f"HEAD:{revision}/{task}.json"))
        return result

    return {
        "parameters": read_file("model_meta")["n_parameters"],
        "sts": 100 * sum(english(read_file(task)) for task in STS) / len(STS),
        "scifact": 100 * english(read_file("SciFact")),
        "from": revision,
    }


def english(task: Mapping[str, Any]) -> float:
    """The main score on the English test."""
    names = ("default", "en", "en-en")
    scores = [row["main_score"] for row in task["scores"]["test"] if row["hf_subset"] in names]
    if len(scores) != 1:
        raise SystemExit(f"{task.get('task_name')} has {len(scores)} English test scores; expected one")
    return float(scores[0])


def table() -> list[str]:
    """Return a table of the models by number of parameters, with ours in bold."""
    kept, ours = json.loads(FILE.read_text("utf-8")), read()
    found = dict(kept["results"])
    for name in WANTED:
        size = ours["speed"]["results"][name]["megabytes"] * 1e6
        found[f"**{name}**"] = {"parameters": size, **ours["quality"]["results"][name]}
    body = (
        [name, f"{row['parameters'] / 1e6:.1f} million", f"{row['sts']:.2f}", f"{row['scifact']:.2f}"]
        for name, row in sorted(found.items(), key=lambda item: item[1]["parameters"])
    )
    source = f"github.com/embeddings-benchmark/results, commit {kept['commit'][:12]} of {kept['date']}"
    below = f"The scores of the other models come from {source}; ours come from the first table on this page."
    return rows("model | parameters | STS, mean of 7 | SciFact nDCG@10", body, below)


TABLES: PageTables = {"docs/models.md": {"published": table}}


if __name__ == "__main__":
    main()
