"""The record of a run (run.json), with everything a model card needs: data, objective, settings, machine, scores."""

import importlib.metadata
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from ... import __version__
from ...model_files.provenance import UNKNOWN_PROVENANCE, Provenance
from ...runtime.atomic_files import atomic_file
from ...source_commit import source_commit
from ..data.batch import TrainingRows
from ..data.schedule import DataSource
from ..data.sources import rows_digest
from ..settings import TrainSettings
from ..step.trainable import Trainable, model_kind, training_strategy
from ..step_state import TrainResult
from ..trainer import Evaluator
from .checkpoint import through_json

RECORD = "run.json"


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """A run with everything it needs in memory, and the facts that its record will hold."""

    model: Trainable
    sources: Sequence[DataSource]
    settings: TrainSettings
    backbone: Mapping[str, Any]  # name, fingerprint, local (whether the name is a folder)
    data: Sequence[Mapping[str, Any]]  # a `data_description` per source
    identity: Mapping[str, Any]  # what identifies this run, besides settings and objectives
    evaluator: Evaluator | None = None
    recipe: str | None = None
    leaks: Sequence[str] = ()  # overlaps of the data with test sets, one sentence each
    provenance: Provenance = UNKNOWN_PROVENANCE  # the named data sets that the model has seen

    def run_identity(self) -> dict[str, Any]:
        """The values that must match for a finished run to count as this one."""
        objectives = [source.objective.describe() for source in self.sources]
        mined = [source.mined.describe() for source in self.sources if source.mined is not None]
        identity = {**self.identity, "run": self.settings.identity(), "objectives": objectives}
        return through_json({**identity, "mined": mined} if mined else identity)


def training_record(job: TrainingJob, result: TrainResult, scores: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a finished run, as JSON values."""
    model = job.model
    return {
        "recipe": job.recipe,
        "backbone": dict(job.backbone),
        "model": {
            "kind": model_kind(model),
            "fingerprint": model.fingerprint,
            "max_length": model.tokenizer.max_seq_length,
            **training_strategy(model).record(model),
        },
        "data": [dict(one) for one in job.data],
        "run": through_json(asdict(job.settings)),
        "result": through_json(asdict(result)),
        "scores": dict(scores),
        "leaks": list(job.leaks),
        "machine": machine_description(model.device),
        "finished": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "identity": job.run_identity(),
    }


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    with atomic_file(folder / RECORD) as partial:
        partial.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", "utf-8")


def data_description(source: DataSource, **known: str | None) -> dict[str, Any]:
    """The record's entry for a data source; `known` may add licence, hub, sha256 (of the file), where (a condition)."""
    described = {"where": None, "sha256": None, "licence": None, "hub": None, **source.info, **known}
    rows = source.rows if isinstance(source.rows, TrainingRows) else None  # a stream has neither columns nor a digest
    return {
        "name": source.name,
        "rows": source.size,
        "columns": [] if rows is None else [*rows.texts, *rows.numbers],
        "read_from": {} if rows is None else dict(rows.read_from),
        "labels": [] if rows is None else list(rows.labels),
        "objective": source.objective.describe(),
        "prompts": source.rows.prompts,
        "digest": None if rows is None else rows_digest(rows),
        **described,
    }


def append_result_line(path: Path, record: Mapping[str, Any], model: str, **more: Any) -> None:
    """Append a line to a list of finished runs: the run, its scores × 100, and `more`. Duplicates are not added."""
    names = [str(one["name"]) for one in record["data"]]
    line = {
        "model": model,
        "recipe": record["recipe"],
        "backbone": record["backbone"]["name"],
        "seed": record["run"]["seed"],
        "data": names,
        "rows": sum(one.get("rows") or 0 for one in record["data"]),
        "steps": record["result"]["steps"],
        "stsb_train": any("stsb" in name and "train" in name for name in names),
        **{name: round(100 * score["value"], 2) for name, score in record["scores"].items()},
        **more,
        "seconds": round(record["result"]["seconds"], 1),
        "device": record["machine"]["device"],
        "commit": record["machine"]["commit"],
        "finished": record["finished"],
    }
    written = json.dumps(line, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and written in path.read_text("utf-8").splitlines():
        return
    with path.open("a", encoding="utf-8") as file:
        file.write(written + "\n")


def machine_description(device: torch.device) -> dict[str, Any]:
    """The machine and the package versions."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else _cpu_name()
    return {
        "device": name,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "platform": platform.system(),
        "commit": source_commit(),
        "versions": {
            "likewise": __version__,
            "python": platform.python_version(),
            **{package: importlib.metadata.version(package) for package in ("torch", "safetensors")},
        },
    }


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
