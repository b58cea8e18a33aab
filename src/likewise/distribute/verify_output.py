"""verify_output: check that a folder of shards matches its manifest, and that its vectors match the model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_types import Float
from ..files.read import open_parquet
from ..runtime.progress import Progress, show_progress
from .output_folder import OutputFolder
from .shard_files import shard_schema, stored_schema
from .shards import SHARDS_FOLDER

if TYPE_CHECKING:
    from ..embedder import Embedder

TOLERANCE = {"fp32": 1e-4}
"""How far a vector's components may differ when recomputed, relative to the vector's length, since rounding depends on
the processor and batch size. `ROUGH` is for precisions other than fp32."""
ROUGH = 2e-2


@dataclass
class OutputReport:
    """What was checked, and what is wrong with the shards (by number) and with the output as a whole."""

    rows: int
    shards: int
    compared: int = 0
    largest_difference: float = 0.0
    damaged: dict[int, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not self.damaged and not self.problems


def verify_output(
    folder: Path, embedder: "Embedder | None" = None, sample: int = 0, seed: int = 0, show_progress_bar: Progress = None
) -> OutputReport:
    """Check every file of an output, and encode `sample` random rows again; `seed` determines which rows."""
    output = OutputFolder.open(folder)
    job = output.job
    report = OutputReport(job.plan.rows, len(job.plan.shards))
    if output.missing:
        report.problems.append(f"{len(output.missing):,} of {report.shards:,} shards are not encoded yet")
    known = {job.path(number).name for number in range(report.shards)}
    strangers = sorted({path.name for path in (folder / SHARDS_FOLDER).glob("*")} - known)  # left by an earlier run
    report.problems += [f"{SHARDS_FOLDER}/{name} is not in the manifest" for name in strangers]
    with show_progress(show_progress_bar, report.rows) as advance:
        for number in sorted(output.records):
            if problem := output.problem(number) or _shape_problem(output, number):
                report.damaged[number] = problem
            advance(job.plan.shards[number].rows, 0)
    if embedder is not None:
        _compare(output, embedder, sample, seed, report)
    return report


def _shape_problem(output: OutputFolder, number: int) -> str:
    job, file = output.job, open_parquet(output.job.path(number))
    expected, rows = stored_schema(shard_schema(job.plan.columns, job.origin)), job.plan.shards[number].rows
    if not file.schema_arrow.equals(expected, check_metadata=True):
        return f"{job.path(number)} has columns or an origin that differ from the manifest"
    if file.metadata.num_rows != rows:
        return f"{job.path(number)} has {file.metadata.num_rows:,} rows; expected {rows:,}"
    return ""


def _compare(output: OutputFolder, embedder: "Embedder", sample: int, seed: int, report: OutputReport) -> None:
    """Encode rows of intact shards again, and report those whose vectors differ."""
    good = [number for number in sorted(output.records) if number not in report.damaged]
    origin = output.job.origin
    limit = TOLERANCE.get(origin.precision, ROUGH)
    for number, rows in _chosen_rows(output, good, sample, seed):
        table: Any = open_parquet(output.job.path(number)).read(["id", "text", "vector"]).take(rows)
        ids, texts, vectors = (column.to_pylist() for column in table.columns)
        stored = np.array(vectors, np.float32)
        again = embedder.encode(texts, prompt=origin.prompt, overflow=origin.overflow, show_progress_bar=False)  # type: ignore[arg-type]
        differences = _relative_differences(stored, again)
        report.compared += len(rows)
        report.largest_difference = max(report.largest_difference, float(differences.max()))
        far = np.flatnonzero(~(differences <= limit))
        if len(far):
            report.damaged[number] = (
                f"{output.job.path(number)}: the vector of {ids[far[0]]!r} differs by {differences[far[0]]:.2g} of its "
                f"length from what the model computes now; expected at most {limit:g}"
            )


def _chosen_rows(output: OutputFolder, shards: Sequence[int], sample: int, seed: int) -> list[tuple[int, np.ndarray]]:
    """Random rows, grouped by shard and sampled uniformly from the output."""
    sizes = np.array([output.job.plan.shards[number].rows for number in shards], np.int64)
    total = int(sizes.sum())
    chosen = np.sort(np.random.default_rng(seed).choice(total, min(sample, total), replace=False))
    ends = np.cumsum(sizes)
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    return [(n, rows - end + size) for n, rows, end, size in zip(shards, parts, ends, sizes, strict=False) if len(rows)]


def _relative_differences(stored: Float[np.ndarray, "n E"], again: Float[np.ndarray, "n E"]) -> Float[np.ndarray, " n"]:
    """Each row's largest absolute difference, relative to the length of the row; infinite if it is NaN."""
    lengths = np.maximum(np.linalg.norm(again, axis=1), 1e-12)
    return np.asarray(np.nan_to_num(np.abs(stored - again).max(axis=1) / lengths, nan=np.inf))
