"""A model of our own into the box: in eight bits, with its card, into the package's folder of models.

    python -m recipes.mini --precision bf16 -o out/likewise-mini && python -m recipes.box out/likewise-mini

The card's scores are those of the weights that ship. What is printed at the end belongs into store/names.py.
"""

import argparse
import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import likewise
from likewise import Embedder
from likewise.errors import BadInput
from likewise.evaluate import Cache, evaluate
from likewise.evaluate.provenance import FILE
from likewise.evaluate.senteval import SEVEN as SENTEVAL
from likewise.evaluate.sts import SEVEN
from likewise.progress import Line
from likewise.store.files import atomic, read_object
from likewise.train.card import card
from likewise.train.record import RECORD

from .recipe import start

MODELS = Path(likewise.__file__).parent / "models"
LARGEST = 12_000_000
"""Bytes of weights."""


def main(argv: Sequence[str] | None = None) -> Path:
    """Copies, measures, writes the card, and prints the weights' digest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the folder of a finished run")
    parser.add_argument("--name", help="of the model (the folder's)")
    parser.add_argument("--into", type=Path, default=MODELS, metavar="FOLDER", help="of models (the package's)")
    parser.add_argument("--tasks", default=",".join((*SEVEN, *SENTEVAL, "scifact")), help="what the card tells of")
    args = parser.parse_args(argv)
    record = read_object(args.run / RECORD)
    if not record:
        raise BadInput(f"{args.run} holds no {RECORD}, so it is no finished run")
    name = args.name or args.run.name
    place = args.into / name
    if place.exists():
        shutil.rmtree(place)
    Embedder.load(args.run, device="cpu").save(place, weights="int8")
    weights = place / "model.safetensors"
    if weights.stat().st_size > LARGEST:
        raise BadInput(f"{weights} has {weights.stat().st_size:,} bytes; wanted {LARGEST:,} at most")
    shutil.copy(args.run / FILE, place / FILE)
    told = {**record, "scores": measured(name, place, args.tasks)}
    with atomic(place / "README.md") as partial:
        partial.write_text(shipped(told, name, weights.stat().st_size), "utf-8")
    with weights.open("rb") as file:
        print(f'{name}: {weights.stat().st_size:,} bytes, sha256="{hashlib.file_digest(file, "sha256").hexdigest()}"')
    return place


def measured(name: str, place: Path, tasks: str) -> dict[str, Any]:
    """The scores of what lies there, and the means of the seven STS sets and of SentEval's seven tasks."""
    line = Line()
    found = evaluate({name: Embedder.load(place, device="cpu")}, tasks, cache=Cache.of_user(), watch=line)
    line.close("measured")
    scores: dict[str, Any] = {}
    for mean, names in (("mean of the seven STS sets", SEVEN), ("mean of SentEval's seven", SENTEVAL)):
        average = found.average(name, tuple(names))
        scores |= {} if average != average else {mean: {"value": average}}
    for cell in found.cells.values():
        if cell.result is not None:
            head = cell.result.headline
            between = {k: v for k, v in asdict(head.interval).items() if k != "value"} if head.interval else {}
            scores[cell.task] = {**between, "value": head.value, "n": head.n}
    return scores


def shipped(record: Mapping[str, Any], name: str, size: int) -> str:
    """The run's card, and what is to be said of a model that comes with the package."""
    told = card(record, name).replace("  # the folder with this file", "  # comes with the package")
    told = told.replace("library_name: sentence-transformers", "library_name: likewise").replace(
        "- sentence-transformers\n",
        "",  # which does not read eight bits
    )
    told = told.replace("tags:\n", "license: apache-2.0\nlanguage: en\ntags:\n", 1)
    head, limits = told.split("## Limits\n", 1)
    return f"""{head}## In the box

Weights of {size / 1e6:.1f} MB in eight bits (a step for each row of a matrix), turned into fp32 when they are read. The
scores are of these weights. English, lower-cased. The vectors are compared by cosine or dot product.

The teacher, all-MiniLM-L6-v2, is under Apache-2.0, and so is this model. It was trained on texts under other terms,
listed above with the data, without their labels: who may not use a model trained on such texts may not use this one.
Texts of the tests were left out, compared by letters and digits; questions of Quora's and sections of Wikipedia were
read, so that tasks over these (qqp, mining, wiki-articles, wiki-sections) are no tests of this model.

## Limits
{limits}"""


if __name__ == "__main__":
    start(main)
