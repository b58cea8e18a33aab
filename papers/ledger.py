"""The ledger from which a run resumes: one line of JSON per finished experiment, appended and synced to disk.

If a killed process leaves an incomplete last line, the next process that appends removes it. Any other line that cannot
be read is skipped and stays in the file. Only one process writes at a time.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from likewise import __version__
from likewise.evaluate.cache import json_digest
from likewise.runtime.atomic_files import naming_full_disk
from likewise.runtime.syncing import sync
from likewise.runtime.writer_lock import WriterLock
from likewise.train.output.record import machine_description

from .paper_table import Experiment, ExperimentResult, Measured

LEDGER = "ledger.jsonl"
Entry = Mapping[str, Any]


def experiment_key(experiment: Experiment) -> str:
    """The digest of everything an experiment's result depends on, including this package's version."""
    return json_digest([__version__, experiment.seed, experiment.quick, dict(experiment.identity())])


class Ledger:
    """The finished experiments of an output folder, by key."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LEDGER
        self._entries, self._length = _read(self.path)

    def __getitem__(self, key: str) -> Entry:
        return self._entries[key]

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep other processes from appending."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = WriterLock(self.path.parent, "choose another --output")
        try:
            self._entries, self._length = _read(self.path)
            yield
        finally:
            lock.remove()

    def append(self, key: str, experiment: Experiment, result: ExperimentResult, seconds: float) -> Entry:
        """Add a finished experiment; it is on the disk when this returns."""
        entry = {
            "key": key,
            **{name: getattr(experiment, name) for name in ("system", "backbone", "settings", "seed", "quick")},
            "figures": {column: asdict(figure) for column, figure in result.figures.items()},
            "notes": list(result.notes),
            "run": None if result.run is None else dict(result.run),
            "identity": dict(experiment.identity()),
            "version": __version__,
            "seconds": round(seconds, 1),
            "machine": machine_description(torch.device("cpu")),
            "finished": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        }
        line = (json.dumps(entry, ensure_ascii=False) + "\n").encode()
        with naming_full_disk(self.path), self.path.open("ab") as file:
            file.truncate(self._length)
            file.write(line)
            file.flush()
            sync(file.fileno())
        self._length += len(line)
        self._entries[key] = entry
        return entry


def measured_figures(entry: Entry) -> dict[str, Measured]:
    """The figures in a line, by column."""
    return {column: Measured(**figure) for column, figure in entry["figures"].items()}


def _read(path: Path) -> tuple[dict[str, Entry], int]:
    """The entries by key (the last one for each key), and the length in bytes of the lines that end in a newline."""
    content = path.read_bytes() if path.exists() else b""
    ended = content[: content.rfind(b"\n") + 1]
    entries = [entry for line in ended.split(b"\n") if (entry := _parsed(line)) is not None]
    return {entry["key"]: entry for entry in entries}, len(ended)


def _parsed(line: bytes) -> dict[str, Any] | None:
    """A line's entry; None if the line is empty or damaged."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and isinstance(entry.get("key"), str) else None
