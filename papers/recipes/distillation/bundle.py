"""Bundle a finished run with the package: weights in eight bits, with a model card, in the package's folder of models.

    python -m papers.recipes.distillation.mini -o out/likewise-mini
    python -m papers.recipes.distillation.bundle out/likewise-mini

The card's scores are those of the weights that ship. What is printed at the end belongs into model_files/names.py.
"""

import argparse
import hashlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput
from likewise.evaluate import Cache, evaluate
from likewise.evaluate.tasks.senteval import SENTEVAL_NAMES as SENTEVAL
from likewise.evaluate.tasks.sts import STS_NAMES
from likewise.model_files.names import RECOMMENDED_MODEL
from likewise.runtime.progress import StatusLine
from likewise.runtime.untrusted_files import read_object
from likewise.train.output.model_card import model_card
from likewise.train.output.record import RECORD

from ..recipe import start
from .changed_texts import CHANGED
from .near_texts import NEAR_TEXTS
from .unlabelled import VOCABULARY, single_words, touched

MODELS = Path(__file__).parents[3] / "src" / "likewise" / "bundled"
LARGEST = 12_000_000
"""Bytes of weights."""
LICENCES = {
    VOCABULARY: "Apache-2.0 (the teacher's)",
    CHANGED: "those of the texts that were changed",
    NEAR_TEXTS: "those of the texts",
}


def main(argv: Sequence[str] | None = None) -> Path:
    """Copies, measures, writes the card, and prints the weights' digest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the folder of a finished run")
    parser.add_argument("--into", type=Path, default=MODELS, metavar="FOLDER", help="of models (the package's)")
    message = "what its backbone had learned before, in words for the card, where the run's own list does not tell"
    parser.add_argument("--before", default="", metavar="TEXT", help=message)
    parser.add_argument("--tasks", default=",".join((*STS_NAMES, *SENTEVAL, "scifact")), help="what the card tells of")
    args = parser.parse_args(argv)
    run = args.run.resolve()
    record = read_object(run / RECORD)
    if not record:
        raise BadInput(f"{run} holds no {RECORD}, so it is no finished run")
    name = run.name
    place: Path = args.into.resolve() / name
    if place in (run, *run.parents) or place.name != name:
        raise BadInput(f"{place} holds the run itself; expected another folder for the model")
    args.into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=args.into) as aside:
        bundled = write_bundle(Path(aside) / name, run, record, args)
        if place.exists():
            shutil.rmtree(place)
        bundled.rename(place)
    weights = place / "model.safetensors"
    with weights.open("rb") as file:
        print(f'{name}: {weights.stat().st_size:,} bytes, sha256="{hashlib.file_digest(file, "sha256").hexdigest()}"')
    return place


def write_bundle(place: Path, run: Path, record: Mapping[str, Any], args: argparse.Namespace) -> Path:
    """The model of a run in eight bits with its card, in a new folder."""
    TorchEmbedder.load(run, device="cpu").save(place, weights="int8")
    size = sum(path.stat().st_size for path in place.rglob("*.safetensors"))
    if size > LARGEST:
        raise BadInput(f"{run} in eight bits has {size:,} bytes of weights; expected {LARGEST:,} at most")
    model = TorchEmbedder.load(place, device="cpu")
    changed = {"fingerprint": model.fingerprint, "only_likewise": model.only_here(weights="int8")}
    described = {**record, "data": licensed(record["data"]), "model": {**record["model"], **changed}}
    if record["backbone"]["name"] == place.name:
        described["backbone"] = {**record["backbone"], "name": f"former weights of {place.name}"}
    described["scores"] = measured(place.name, model, args.tasks)
    (place / "README.md").write_text(shipped(described, model, place.name, args, size), "utf-8")
    return place


def licensed(data: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The data of a record, with the licences of texts that are in no file."""
    result = [{**one, "licence": LICENCES.get(one["name"], one.get("licence"))} for one in data]
    return [{**one, "of": licensed(one["of"])} if "of" in one else one for one in result]


def measured(name: str, model: TorchEmbedder, tasks: str) -> dict[str, Any]:
    """The scores of what ships: first what chose the best step, then the means, then each task."""
    line = StatusLine()
    result = evaluate({name: model}, f"stsb-dev,{tasks}", cache=Cache.of_user(), callback=line)
    line.close("measured")
    means: dict[str, Any] = {}
    scores: dict[str, Any] = {}
    for mean, names in (("mean of the seven STS sets", STS_NAMES), ("mean of SentEval's seven", SENTEVAL)):
        average = result.average(name, tuple(names))
        means |= {} if np.isnan(average) else {mean: {"value": average}}
    for cell in result.cells.values():
        if cell.result is not None:
            head = cell.result.headline
            between = {k: v for k, v in asdict(head.interval).items() if k != "value"} if head.interval else {}
            scores[cell.task] = {**between, "value": head.value, "n": head.n}
    return {"stsb-dev": scores.pop("stsb-dev", {"value": float("nan")}), **means, **scores}


def shipped(record: Mapping[str, Any], model: TorchEmbedder, name: str, args: argparse.Namespace, size: int) -> str:
    """The run's card, and what is to be said of a model that comes with the package."""
    card = model_card(record, name).replace("  # the folder with this file", "  # comes with the package")
    card = card.replace("tags:\n", "license: apache-2.0\nlanguage: en\ntags:\n", 1)
    head, limits = card.split("## Limits\n", 1)
    sources = [of["name"] for one in record["data"] for of in one.get("of", [one])]
    read_too = ", ".join(touched(sources)) or "none"
    before = f"## Before this training\n\n{args.before}\n\n" if args.before else ""
    return f"""{head}{before}## Bundled with the package

Weights of {size / 1e6:.1f} MB in eight bits (a step for each row of a matrix), turned into fp32 when they are read. The
scores are of these weights. English, lower-cased. The vectors are compared by cosine or dot product.

Taught by {RECOMMENDED_MODEL}, under Apache-2.0 as this model is. It was trained on
texts under other terms, listed above with the data, without their labels: who may not use a model trained on such texts
may not use this one.
Texts of the tests were left out, compared by letters and digits, with two exceptions. Single words of the vocabulary
were not compared, and are the texts of some: {single_words_note(model, sources)}.
And some tasks are made of texts that were read (of MRPC, those of its training split): {read_too}.

## Limits
{limits}"""


def single_words_note(model: TorchEmbedder, sources: Sequence[str]) -> str:
    """Which tests have single words of the vocabulary as texts, and how many."""
    result = single_words(model, sources).items()
    return ", ".join(f"{shared:,} of the {whole:,} of {file}" for file, (shared, whole) in result) or "none"


if __name__ == "__main__":
    start(main)
