"""Bundle a finished run: int8 weights and a model card, in the library's folder of models or in a separate package.

    python -m papers.recipes.distillation.mini -o out/likewise-mini
    python -m papers.recipes.distillation.bundle out/likewise-mini

The card's scores are those of the bundled weights. Copy the line printed at the end into model_files/names.py.
"""

import argparse
import hashlib
import json
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
from likewise.text.tokenizer_json import canonical
from likewise.train.output.model_card import model_card
from likewise.train.output.record import RECORD

from ..recipe import start
from .changed_texts import CHANGED
from .near_texts import NEAR_TEXTS
from .unlabelled import VOCABULARY, single_words, touched

ROOT = Path(__file__).parents[3]
MODELS = ROOT / "src" / "likewise" / "bundled"
LARGEST = {"likewise-small": 24_000_000, "likewise-multi": 24_000_000}
"""The maximum size of the weights, in bytes, of models with their own package."""
LARGEST_BUNDLED = 12_000_000
PACKAGES = {name: ROOT / "packages" / name / name.replace("-", "_") / "model" for name in LARGEST}
LANGUAGES = {
    "likewise-multi": {
        **{"en": "English", "de": "German", "es": "Spanish", "fr": "French", "it": "Italian", "ja": "Japanese"},
        **{"nl": "Dutch", "pl": "Polish", "pt": "Portuguese", "ru": "Russian", "zh": "Chinese"},
    }
}
"""The languages of models that are for more than English."""
ENGLISH = {"en": "English"}
LICENCES = {
    VOCABULARY: "the teacher's",
    CHANGED: "those of the texts that were changed",
    NEAR_TEXTS: "those of the texts",
}


def main(argv: Sequence[str] | None = None) -> Path:
    """Copy the run, measure it, write the card, and print the weights' digest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the folder of a finished run")
    parser.add_argument(
        "--into", type=Path, metavar="FOLDER", help="folder of models (default: the package's, or the model's package)"
    )
    message = "how the teachers are licensed, for the card (%(default)s)"
    parser.add_argument("--teachers", default=f"as its teacher {RECOMMENDED_MODEL} is", metavar="TEXT", help=message)
    message = "a sentence for the card on the backbone's earlier training, if the run's own record does not list it"
    parser.add_argument("--before", default="", metavar="TEXT", help=message)
    parser.add_argument(
        "--tasks", default=",".join((*STS_NAMES, *SENTEVAL, "scifact")), help="tasks whose scores the card lists"
    )
    args = parser.parse_args(argv)
    run = args.run.resolve()
    record = read_object(run / RECORD)
    if not record:
        raise BadInput(f"{run} has no {RECORD}, so it is not a finished run")
    name = run.name
    place: Path = args.into.resolve() / name if args.into else PACKAGES.get(name, MODELS / name)
    if place in (run, *run.parents) or not name:
        raise BadInput(f"{place} contains the run itself; expected another folder for the model")
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as aside:
        bundled = write_bundle(Path(aside) / name, run, record, args)
        if place.exists():
            shutil.rmtree(place)
        bundled.rename(place)
    weights = place / "model.safetensors"
    print(f'{name}: {weights.stat().st_size:,} bytes, sha256="{digest(weights)}"')
    return place


def digest(weights: Path) -> str:
    """The sha256 of a file."""
    with weights.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_bundle(place: Path, run: Path, record: Mapping[str, Any], args: argparse.Namespace) -> Path:
    """Write a run's model in int8, with its card, to a new folder."""
    TorchEmbedder.load(run, device="cpu").save(place, weights="int8")
    tokenizer = place / "tokenizer.json"
    tokenizer.write_text(canonical(json.loads(tokenizer.read_text("utf-8"))), "utf-8")  # less than indented
    size = sum(path.stat().st_size for path in place.rglob("*.safetensors"))
    largest = LARGEST.get(place.name, LARGEST_BUNDLED)
    if size > largest:
        raise BadInput(f"{run} has {size:,} bytes of int8 weights; expected at most {largest:,}")
    model = TorchEmbedder.load(place, device="cpu")
    changed = {
        "fingerprint": model.fingerprint,
        "sha256": digest(place / "model.safetensors"),
        "only_likewise": model.only_here(weights="int8"),
    }
    described = {**record, "data": licensed(record["data"]), "model": {**record["model"], **changed}}
    if record["backbone"]["name"] == place.name:
        described["backbone"] = {**record["backbone"], "name": f"earlier weights of {place.name}"}
    described["scores"] = measured(place.name, model, args.tasks)
    (place / "README.md").write_text(shipped(described, model, place.name, args, size), "utf-8")
    return place


def licensed(data: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A record's data, with licences added for texts that do not come from a file."""
    result = [{**one, "licence": LICENCES.get(one["name"], one.get("licence"))} for one in data]
    return [{**one, "of": licensed(one["of"])} if "of" in one else one for one in result]


def measured(name: str, model: TorchEmbedder, tasks: str) -> dict[str, Any]:
    """The bundled model's scores: first the one that chose the best step, then the means, then each task."""
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


LICENCE = """This model is offered under Apache-2.0, {teachers}. It contains no text that it
learned from, but the table of data above names texts under other terms: some are share-alike, some are for research or
non-commercial use only, and some state no licence. No label of them was used. Whether such terms extend to a model is
an open question in law, which Apache-2.0 on this card does not answer: NOTICE lists the terms of each. If you may not
use a model trained on such texts, you may not use this one."""
"""The terms of every bundled model; NOTICE has the details."""


def shipped(record: Mapping[str, Any], model: TorchEmbedder, name: str, args: argparse.Namespace, size: int) -> str:
    """The run's card, with a section for models that are bundled with the package."""
    card = model_card(record, name).replace("  # the folder with this file", "  # comes with the package")
    languages = LANGUAGES.get(name, ENGLISH)
    card = card.replace("tags:\n", f"license: apache-2.0\nlanguage: [{', '.join(languages)}]\ntags:\n", 1)
    upper, lower = model.tokenizer.token_ids(["A", "a"])
    *first, last = languages.values()
    read = f"{', '.join(first)} and {last}" if first else last
    read += ", and lower-cases its input" if upper == lower else ""
    head, limits = card.split("## Limits\n", 1)
    sources = [of["name"] for one in record["data"] for of in one.get("of", [one])]
    read_too = ", ".join(touched(sources)) or "none"
    before = f"## Before this training\n\n{args.before}\n\n" if args.before else ""
    return f"""{head}{before}## Bundled with the package

The weights take {size / 1e6:.1f} MB in int8 (with one scale per matrix row) and are converted to fp32 when loaded. The
scores are those of these weights. The model is for {read}. Compare its vectors by cosine or
dot product. The sha256 of model.safetensors is `{record["model"]["sha256"]}`.

{LICENCE.format(teachers=args.teachers)}
Test texts, compared by letters and digits, were left out, with two exceptions. Single words of the vocabulary were not
compared, and some tests consist of such words: {single_words_note(model, sources)}.
Some tasks also use texts that the model was trained on (for MRPC, those of its training split): {read_too}.

## Limits
{limits}"""


def single_words_note(model: TorchEmbedder, sources: Sequence[str]) -> str:
    """The tests whose texts include single words of the vocabulary, and the number of such texts."""
    result = single_words(model.tokenizer, sources).items()
    return ", ".join(f"{shared:,} of the {whole:,} of {file}" for file, (shared, whole) in result) or "none"


if __name__ == "__main__":
    start(main)
