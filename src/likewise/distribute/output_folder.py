"""OutputFolder: the folder that `likewise encode` writes: a manifest, shards, and, during a run, a journal.

    manifest.json      the input, options and list of shards; once complete, each shard's size and BLAKE2b hash
    journal.jsonl      one line per finished shard, in order of completion; removed when the output is complete
    shards/000000.parquet, …

A shard is written under a temporary name, synced and renamed, and then added to the journal. Shards that the journal
does not list are encoded again.
"""

import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..files.vector_origin import VectorOrigin
from ..runtime.atomic_files import atomic_file, naming_full_disk
from ..runtime.syncing import sync, sync_folder
from ..runtime.temporary_files import remove_abandoned
from .plan import EncodeSettings, plan_from_json, plan_to_json
from .shards import SHARDS_FOLDER, EncodeJob, ShardRecord, file_digest, record_to_json
from .sources.source_files import ChosenColumns

MANIFEST, JOURNAL = "manifest.json", "journal.jsonl"
FORMAT = 1
SHARD_NAME = re.compile(r"\d{6,}\.parquet")


class OutputFolder:
    """A job's files and the records of its finished shards."""

    def __init__(self, job: EncodeJob, records: Iterable[ShardRecord] = (), *, is_complete: bool = False) -> None:
        self.job, self.is_complete = job, is_complete
        self.records = {record.number: record for record in records}

    @classmethod
    def create(cls, job: EncodeJob) -> "OutputFolder":
        output = cls(job)
        output._write_manifest()
        return output

    @classmethod
    def open(cls, folder: Path) -> "OutputFolder":
        path = folder / MANIFEST
        try:
            found = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise BadInput(f"{folder} was not written by `likewise encode`: it has no {MANIFEST}") from None
        except (OSError, ValueError) as error:
            raise BadInput(f"{path} cannot be read: {error}") from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise BadInput(f"{path} is not a manifest of format {FORMAT}, which this version of likewise writes")
        try:
            job = _job_from_json(folder, found)
            records = [ShardRecord(**record) for record in found["records"]]
            complete = bool(found["complete"])
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{path} is damaged ({error!r}); --fresh starts over") from None
        return cls(job, records if complete else _journal(folder), is_complete=complete)

    @property
    def missing(self) -> list[int]:
        return [number for number in range(len(self.job.plan.shards)) if number not in self.records]

    def add(self, record: ShardRecord) -> None:
        """Record a finished shard in the journal, and sync it to disk."""
        self.records[record.number] = record
        path = self.job.folder / JOURNAL
        line = json.dumps(record_to_json(record)) + "\n"
        with naming_full_disk(path), path.open("a+b") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                file.write(b"" if file.read() == b"\n" else b"\n")  # after a truncated line
            file.write(line.encode())
            file.flush()
            sync(file.fileno())

    def finish(self) -> None:
        """Write the complete manifest."""
        self.is_complete = True
        self._write_manifest()

    def remove_leftovers(self) -> None:
        """Remove the journal of a complete output, and anything left by killed processes."""
        folder = self.job.folder
        (folder / JOURNAL).unlink(missing_ok=True)
        sync_folder(folder)
        remove_abandoned(folder, f"{SHARD_NAME.pattern}|{re.escape(MANIFEST)}|ids")
        listed = {self.job.path(number) for number in self.records}
        for path in (folder / SHARDS_FOLDER).glob("*"):
            if SHARD_NAME.fullmatch(path.name) and path not in listed:
                path.unlink()

    def problem(self, number: int) -> str:
        """Why the file of a finished shard is unusable (missing or changed); empty if it is intact."""
        record, path = self.records[number], self.job.path(number)
        try:
            size, digest = file_digest(path)
        except OSError as error:
            return f"{path} cannot be read: {error.strerror}"
        if (size, digest) == (record.bytes, record.blake2b):
            return ""
        if size == record.bytes:
            return f"{path} has changed since it was written: the size is the same, but the checksum differs"
        return f"{path} has changed since it was written: {record.bytes:,} bytes then, {size:,} now"

    def forget(self, numbers: Iterable[int]) -> None:
        """Drop the records of these shards, so that they are encoded again; the output is then incomplete."""
        for number in numbers:
            del self.records[number]
        lines = [json.dumps(record_to_json(record)) + "\n" for record in self.records.values()]
        with atomic_file(self.job.folder / JOURNAL, durable=True) as partial:
            partial.write_text("".join(lines), "utf-8")
        self.is_complete = False
        self._write_manifest()

    def _write_manifest(self) -> None:
        records = [record_to_json(self.records[number]) for number in sorted(self.records)] if self.is_complete else []
        job = self.job
        plan = {"origin": job.origin.as_json(), "settings": asdict(job.settings), "plan": plan_to_json(job.plan)}
        content = {"format": FORMAT, "complete": self.is_complete, **plan, "records": records}
        with atomic_file(self.job.folder / MANIFEST, durable=True) as partial:
            partial.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def check_only_output(folder: Path) -> None:
    """Raise an error if a folder holds anything that `likewise encode` did not write, apart from hidden files."""
    own = {MANIFEST, JOURNAL, SHARDS_FOLDER, "lock"}
    try:
        found = json.loads((folder / MANIFEST).read_text("utf-8"))
        own -= set() if isinstance(found, dict) and {"plan", "format"} & found.keys() else {MANIFEST}
    except FileNotFoundError:
        if any((folder / SHARDS_FOLDER).glob("*")):
            raise BadInput(
                f"{folder / SHARDS_FOLDER} contains files, but no {MANIFEST} shows that `likewise encode` wrote them; "
                "remove that folder, or choose another name for the output"
            ) from None
        own = {"lock", SHARDS_FOLDER}
    except (ValueError, RecursionError):  # a damaged manifest
        pass
    other = {path.name for path in folder.iterdir() if not path.name.startswith(".")} - own
    if other:
        raise BadInput(
            f"{folder} contains other files ({', '.join(sorted(other)[:3])}); expected a new or empty folder, or only "
            "the output of an earlier run"
        )


def remove_output(folder: Path) -> None:
    """Remove only what `likewise encode` wrote to a folder; the manifest, which marks it as output, is removed last."""
    for path in (folder / SHARDS_FOLDER).glob("*"):
        if SHARD_NAME.fullmatch(path.name):
            path.unlink()
    for path in (folder / JOURNAL, folder / MANIFEST):
        path.unlink(missing_ok=True)


def _journal(folder: Path) -> list[ShardRecord]:
    """The finished shards; a shard whose line is truncated or damaged is left out and encoded again."""
    try:
        lines = (folder / JOURNAL).read_text("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    records = []
    for line in lines:
        try:
            records.append(ShardRecord(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return records


def _job_from_json(folder: Path, found: dict[str, Any]) -> EncodeJob:
    settings = dict(found["settings"])
    chosen = settings.pop("columns")
    keep = None if chosen["keep"] is None else tuple(chosen["keep"])
    columns = ChosenColumns(**{**chosen, "keep": keep})
    origin = VectorOrigin.from_json(found["origin"])
    return EncodeJob(folder, plan_from_json(found["plan"]), origin, EncodeSettings(columns, **settings))
