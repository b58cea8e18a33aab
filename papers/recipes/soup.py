"""The mean of the weights of several finished runs that began with the same ones (Wortsman et al. 2022).

    python -m papers.recipes.soup out/first out/second -o out/mean

`--soup N` of a recipe does so for runs with other seeds; these may differ in their data and settings too. The mean is
not evaluated: `likewise evaluate out/mean`. Its folder is one of a finished run, which a recipe can begin with.
"""

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput
from likewise.model_files.provenance import Provenance, provenance
from likewise.runtime.untrusted_files import read_object
from likewise.train.output.record import RECORD
from likewise.train.output.run_folder import save_with_record

from .recipe import start

ABOUT = ("backbone", "learned", "data", "run", "objectives", "mean of")
"""What a run's identity has besides what its recipe was told: lists, and what a card tells otherwise."""


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Reads the runs, saves their mean, and returns its record."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="the folders of two finished runs or more")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="of their mean")
    args = parser.parse_args(argv)
    runs = [run.resolve() for run in args.runs]
    if len(set(runs)) < max(2, len(runs)) or args.output.resolve() in runs:
        raise BadInput("expected the folders of two runs or more, each once, and another folder for their mean")
    records = [_record(run) for run in runs]
    _check_one_start(runs, records)
    model, known = mean_of_models([TorchEmbedder.load(run, precision="fp32", device="cpu") for run in runs])
    record = mean_of_records(records, model)
    save_with_record(model, args.output, record, known)
    print(f"the mean of {len(runs)} runs is in {args.output}")
    return record


def _record(run: Path) -> dict[str, Any]:
    record = read_object(run / RECORD)
    if not record:
        raise BadInput(f"{run} holds no {RECORD}, so it is no finished run")
    return record


def _check_one_start(runs: Sequence[Path], records: Sequence[Mapping[str, Any]]) -> None:
    """Weights have a mean that means something only where they have not gone far from each other."""
    for run, record in zip(runs, records, strict=True):
        if record["identity"].get("backbone") != records[0]["identity"].get("backbone"):
            raise BadInput(f"{run} and {runs[0]} began with different weights; expected runs with one start")


@torch.no_grad()
def mean_of_models(models: Sequence[TorchEmbedder]) -> tuple[TorchEmbedder, Provenance]:
    """The first model with the mean of the weights of all, and the data sets that any of them has seen."""
    states = [model.state_dict() for model in models]
    shapes = [{name: value.shape for name, value in state.items()} for state in states]
    vocabularies = [model.tokenizer.backend.get_vocab() for model in models]
    if any(shape != shapes[0] for shape in shapes) or any(words != vocabularies[0] for words in vocabularies):
        raise BadInput("the runs' models have different shapes or vocabularies; expected the same")
    mean = {name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]}
    known = provenance(models[0])
    for model in models[1:]:
        seen = provenance(model)
        known = known.after(seen.trained_on, seen.less_tests)
    models[0].load_state_dict(mean)
    return models[0], known


def mean_of_records(records: Sequence[Mapping[str, Any]], model: TorchEmbedder) -> dict[str, Any]:
    """The first record with the data, steps and seconds of all, and under `mean_of` what each of them was."""
    results = [record["result"] for record in records]
    sums = {name: sum(result[name] for result in results) for name in ("steps", "seconds")}
    data = {json.dumps(one, sort_keys=True): one for record in records for one in record["data"]}
    return {
        **records[0],
        "model": {**records[0]["model"], "fingerprint": model.fingerprint},
        "data": [*data.values()],
        "result": {**results[0], **sums, "best_step": None, "best_score": None},  # none was chosen by a score
        "scores": {},
        "leaks": [*dict.fromkeys(leak for record in records for leak in record["leaks"])],
        "mean_of": [
            {"fingerprint": record["model"]["fingerprint"], "finished": record["finished"], "differs": differs}
            for record, differs in zip(records, _differences(records), strict=True)
        ],
        "identity": {
            "backbone": records[0]["identity"].get("backbone"),
            "mean of": [record["model"]["fingerprint"] for record in records],
            "learned": [*dict.fromkeys(name for record in records for name in record["identity"].get("learned", ()))],
            "whole": all(record["identity"].get("whole", False) for record in records),
        },
    }


def _differences(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of each run the settings, and what else its recipe was told, that are not the same in all."""
    told = [
        {**{name: value for name, value in record["identity"].items() if name not in ABOUT}, **record["run"]}
        for record in records
    ]
    names = dict.fromkeys(name for one in told for name in one)
    differing = [name for name in names if any(one.get(name) != told[0].get(name) for one in told)]
    return [{name: one[name] for name in differing if one.get(name) is not None} for one in told]


if __name__ == "__main__":
    start(main)
