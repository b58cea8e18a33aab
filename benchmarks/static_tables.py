"""How good is a table of token vectors made in a minute? Scores on STS-B and SciFact, with and without domain texts.

    LIKEWISE_DATA=data LIKEWISE_MODELS=models python -m benchmarks.static_tables [TEACHER …]

Each teacher is distilled twice by `distil_static`: with token frequencies estimated from its vocabulary, and with
frequencies counted in SciFact's abstracts, which serve as the domain. SciFact's claims and relevance judgements are not
used for distillation.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from likewise import Embedder
from likewise.data.datasets import read_dataset
from likewise.evaluate import evaluate
from likewise.train.static_distillation import distil_static

from .options import options
from .pages import PageTables, draw, rows
from .record import place, read, save

TEACHERS = ["all-MiniLM-L6-v2", "e5-small-v2"]
TASKS = ("stsb", "scifact")
BESIDE = ("likewise-static",)


def measure(teacher: str, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the teacher and its two tables, each with its scores and the seconds it took to make the table."""
    model = Embedder.load(teacher)
    yield teacher, scores(model)
    domain = read_dataset("scifact/corpus")["text"]
    for about, texts in (("", None), (", abstracts counted", domain)):
        made = distil_static(model, folder / str(len(about)), texts=texts)
        yield f"table of {teacher}{about}", {**scores(Embedder.load(made.folder)), "seconds": made.seconds}


def scores(model: Embedder) -> dict[str, float]:
    """Each task's main score, × 100."""
    found = evaluate(model, list(TASKS))
    return {task: 100 * found[found.models[0], task].value for task in TASKS}


def table() -> list[str]:
    """A line for each model."""
    stored, body = read("static_tables"), []
    for name, found in stored["results"].items():
        made = f"{found['seconds']:.0f} s" if "seconds" in found else "–"
        body.append([name, f"{found['stsb']:.2f}", f"{found['scifact']:.2f}", made])
    below = f"{place(stored['machine'])} ([script](../../benchmarks/static_tables.py))."
    return rows(" | STS-B, Spearman × 100 | SciFact, nDCG@10 × 100 | made in", body, below)


TABLES: PageTables = {"docs/how-to/distil.md": {"static-tables": table}}


def main() -> None:
    """Measure the teachers and their tables, record them and draw the page's table."""
    args = options(__doc__, given={"teachers": TEACHERS})
    results = {name: scores(Embedder.load(name)) for name in BESIDE}
    for teacher in args.teachers:
        with TemporaryDirectory() as folder:
            for name, found in measure(teacher, Path(folder)):
                print(name, found, flush=True)
                results[name] = found
    save("static_tables", results)
    draw(TABLES)


if __name__ == "__main__":
    main()
