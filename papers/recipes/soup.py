"""A model soup: the mean of the weights of several runs from the same start (Wortsman et al. 2022, uniform soup).

The runs have different seeds, so they read the rows in different orders, and different rows if a run is shorter than a
pass. Averaging cancels some of what each run learned by chance, in a single model that is no larger.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from likewise.runtime.untrusted_files import read_object
from likewise.train.output.record import RECORD, TrainingJob
from likewise.train.output.run_folder import finished_record, finished_weights, save_finished, train_in_folder
from likewise.train.step_state import TrainResult

COUNT = "soup"
"""Key for the number of runs in a soup's identity; single runs do not have it, so more can be added to a soup."""


def soup_in_folder(folder: Path, job: TrainingJob, runs: int, *, resume: bool = True) -> TrainResult:
    """Train the job's model several times from its current weights, and set it to the mean of the results.

    The first run uses the job's seed and each later run the next seed. Each run has a subfolder, `run-SEED`: finished
    runs are not repeated, and an interrupted one resumes. The result covers all runs: it has the sums of their steps
    and seconds, the first run's scores before training, and no best step.
    """
    start = _copied(job.model.state_dict())
    alone = replace(job, identity=_without_count(job.identity))
    total: dict[str, Tensor] = {}
    records = []
    for seed in range(job.settings.seed, job.settings.seed + runs):
        one, place = replace(alone, settings=replace(job.settings, seed=seed)), folder / f"run-{seed}"
        record = finished_record(place, one) if resume else None
        job.model.load_state_dict(start)
        if record is None:
            print(f"run {seed - job.settings.seed + 1} of {runs}, seed {seed}")
            result = train_in_folder(place, one, resume=resume)
            if result.interrupted:
                return result
            record = save_finished(one, result, place, {})
        finished_weights(one, place)
        weights = job.model.state_dict()
        total = {name: total[name] + weights[name] for name in weights} if total else _copied(weights)
        records.append(record["result"])
    job.model.load_state_dict({name: (value / runs).to(value.dtype) for name, value in total.items()})
    return TrainResult(
        **{name: sum(one[name] for one in records) for name in ("steps", "seconds")},
        **{name: records[0][name] for name in ("initial_scores", "trained_parameters", "parameters")},
    )


def has_fewer_runs(folder: Path, job: TrainingJob) -> bool:
    """Whether a soup of fewer runs of this kind is finished in the folder, so that only new runs need training."""
    before, now = read_object(folder / RECORD).get("identity", {}), job.run_identity()
    same = bool(before) and _without_count(before) == _without_count(now)
    return same and COUNT in before and before[COUNT] < now.get(COUNT, 0)


def _without_count(identity: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in identity.items() if name != COUNT}


def _copied(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in weights.items()}
