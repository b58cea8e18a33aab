"""What is written down of a run: data, objective, settings, backbone, machine, scores. Everything that a card needs."""

import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from ... import __version__
from ...engines.torch.torch_embedder import TorchEmbedder
from ...runtime.atomic_files import atomic_file
from ..data.batch import TrainingRows
from ..data.schedule import DataSource
from ..data.sources import rows_digest
from ..run import TrainResult, TrainSettings
from ..step.trainable import Trainable

RECORD = "run.json"


def training_record(
    embedder: Trainable,
    run: TrainSettings,
    outcome: TrainResult,
    *,
    backbone: Mapping[str, Any],
    data: Sequence[Mapping[str, Any]],
    scores: Mapping[str, Any],
    recipe: str | None = None,
    identity: Mapping[str, Any] | None = None,
    leaks: Sequence[str] = (),
) -> dict[str, Any]:
    """The record of a finished run, as JSON can hold it."""
    return {
        "recipe": recipe,
        "backbone": dict(backbone),
        "model": _model(embedder),
        "data": [dict(one) for one in data],
        "run": json.loads(json.dumps(asdict(run))),
        "outcome": asdict(outcome),
        "scores": dict(scores),
        "leaks": list(leaks),
        "machine": machine_description(embedder.device),
        "finished": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "identity": dict(identity or {}),
    }


def _model(model: Trainable) -> dict[str, Any]:
    told = {
        "kind": type(model).__name__,
        "fingerprint": model.fingerprint,
        "max_length": model.tokenizer.max_length,
    }
    if isinstance(model, TorchEmbedder):
        heads = [type(head).__name__ for head in model.heads.children()]
        parts = {"width": model.width, "pooling": model.pooling.spec, "heads": heads}
        return {**told, **parts, "only_likewise": model.only_here()}
    return {**told, "labels": list(model.labels)}


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Into run.json."""
    with atomic_file(folder / RECORD) as partial:
        partial.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", "utf-8")


def data_description(course: DataSource, **known: str | None) -> dict[str, Any]:
    """What is written down of data: `known` may tell licence, hub, sha256 (of the file) and where (a condition)."""
    assert isinstance(course.rows, TrainingRows), "a stream has no digest"
    told = {"where": None, "sha256": None, "licence": None, "hub": None, **known}
    return {
        "name": course.name,
        "rows": len(course.rows),
        "columns": [*course.rows.texts, *course.rows.numbers],
        "objective": course.objective.describe(),
        "digest": rows_digest(course.rows),
        **told,
    }


def append_result_line(path: Path, record: Mapping[str, Any], model: str, **more: Any) -> None:
    """A line in a list of finished runs: what is known of a row, scores × 100, and `more`. Once there, it stays one."""
    names = [str(one["name"]) for one in record["data"]]
    line = {
        "model": model,
        "recipe": record["recipe"],
        "backbone": record["backbone"]["name"],
        "seed": record["run"]["seed"],
        "data": names,
        "rows": sum(one.get("rows") or 0 for one in record["data"]),
        "steps": record["outcome"]["steps"],
        "stsb_train": any("stsb" in name and "train" in name for name in names),
        **{name: round(100 * score["value"], 2) for name, score in record["scores"].items()},
        **more,
        "seconds": round(record["outcome"]["seconds"], 1),
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
    """Where, and with what versions."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else _cpu()
    return {
        "device": name,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "platform": platform.system(),
        "commit": _commit(),
        "versions": {
            "likewise": __version__,
            "python": platform.python_version(),
            **{package: importlib.metadata.version(package) for package in ("torch", "tokenizers", "safetensors")},
        },
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _commit() -> str | None:
    """Of a checkout of likewise itself; an installed one has its version."""
    home = Path(__file__).parents[4]
    if not (home / ".git").exists():
        return None
    try:
        told = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=home, capture_output=True, check=True)
        return told.stdout.decode().strip()
    except (OSError, subprocess.CalledProcessError):
        return None
