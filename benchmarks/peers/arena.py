"""The measurements: cold starts, then rounds in which every contender encodes every corpus, then quality."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .contenders import Contender
from .limit import Probe
from .process import (
    ContenderFailed,
    Process,
    Spec,
    available_mb,
    cold_start,
    in_lanes,
    noting_failure,
    processors,
    rotated,
    say,
    slug,
)
from .texts import CORPORA, TITLES, Sizes

TRIAL = 8
"""Number of texts for estimating a contender's speed before the rounds."""
TUNED = 128
"""Number of texts for choosing the batch size."""
SLOWEST = 60.0
"""Seconds that one corpus may take; a contender that would take longer is left out of the rounds."""
ONCE = 10.0
"""Seconds; a contender that takes longer for a corpus is measured in only one round, and not on SICK-R."""
SPARE_MB = 1500
"""Memory in MB that must be free before another process starts."""

Record = dict[str, Any]


@dataclass
class Arena:
    """A run: the contenders, what is encoded, and the records so far, by the contenders' names."""

    rows: Mapping[str, Contender]
    spec_of: Callable[[Contender, int], Spec]
    pythons: Mapping[str, str]
    sizes: Sizes
    counts: Mapping[str, int]
    """Number of texts in each corpus."""
    threads: tuple[int, ...]
    folder: Path
    """The folder for texts, vectors and logs during the run."""
    probe: Probe
    records: dict[str, Record] = field(default_factory=dict)
    limits: list[Record] = field(default_factory=list)
    processes: dict[tuple[str, int], Process] = field(default_factory=dict)

    def start_cold(self) -> None:
        """Measure cold starts in turn; if nothing was loaded before, an extra round first fills the disk cache."""
        for round_ in range(bool(self.processes), self.sizes.starts + 1):
            for name, row in list(self.rows.items()):
                record = self.records.setdefault(name, {})
                if "error" in record:
                    continue
                with self._noting_failure(name, "at a cold start"):
                    log = self.folder / "logs" / f"{slug(name)}-cold.txt"
                    start = cold_start(self.pythons[row.venv], self.spec_of(row, self.threads[0]), log)
                    say(f"{name}: first vector after {start['wall_s']:.1f} s")
                    if round_:
                        record.setdefault("cold", []).append(start)

    def load(self) -> None:
        """Start a process for each contender and number of threads; loading is not timed, so two load at a time."""
        jobs = [(row, threads) for threads in self.threads for row in self.rows.values()]
        in_lanes(jobs, lambda job, cpus: self._load(*job, cpus))

    def _load(self, row: Contender, threads: int, cpus: tuple[int, ...]) -> None:
        record = self.records.setdefault(row.name, {})
        if "error" in record:
            return
        with self._noting_failure(row.name, "when it was loaded", threads):
            if available_mb() < SPARE_MB:
                raise ContenderFailed(f"not started: less than {SPARE_MB} MB of memory is free (try --threads 1)")
            log = self.folder / "logs" / f"{slug(row.name)}-{threads}.txt"
            spec, bound = self.spec_of(row, threads), processors(threads)
            process = Process(self.pythons[row.venv], replace(spec, cpus=cpus if threads == 1 else bound), log)
            try:
                loaded = process.ask("load", texts=str(self.folder / "texts.json"))
                process.ask("bind", cpus=bound)
            except BaseException:
                process.stop()
                raise
            self.processes[row.name, threads] = process
            record.setdefault("versions", loaded["versions"])
            record.setdefault("loaded_mb", loaded["resident_mb"])
            say(f"loaded {row.name}, {threads} thread(s), in {loaded['seconds']:.1f} s")

    def try_out(self) -> None:
        """Choose batch sizes and estimate each contender's seconds; contenders that are far too slow are left out."""
        for (name, threads), process in list(self.processes.items()):
            record = self.records[name]
            if not self.takes_part(name):
                continue
            with self._noting_failure(name, "when it was tried out", threads):
                process.ask("encode", corpus="sentences", count=TRIAL)
                trial = process.ask("encode", corpus="sentences", count=TRIAL)["seconds"] / TRIAL
                guess = trial * self.counts["sentences"]
                record.setdefault("guess_s", {})[str(threads)] = guess
                if guess > SLOWEST:
                    raise ContenderFailed(f"too slow: about {1 / trial:,.1f} texts/s, while others finish in seconds")
                record["chosen"] = process.ask("prepare", corpus="sentences", count=TUNED)["chosen"]

    def run_rounds(self, keep: Callable[[], None]) -> None:
        """Measure every contender in turn, for every corpus and number of threads; the order rotates every round."""
        for round_ in range(self.sizes.rounds):
            for corpus in CORPORA:
                for threads in self.threads:
                    self._measure_limit(round_, corpus, threads)
                    for name in rotated(list(self.rows), round_ * 5):
                        self._turn(name, threads, corpus, round_)
                say(f"round {round_ + 1} of {self.sizes.rounds}: {TITLES[corpus]}")
            for name in self.rows:
                self._ask_queries(name)
            say(f"round {round_ + 1} of {self.sizes.rounds}: single queries")
            keep()

    def _turn(self, name: str, threads: int, corpus: str, round_: int) -> None:
        process, record = self.processes.get((name, threads)), self.records[name]
        if process is None or not self.takes_part(name):
            return
        turns = record.setdefault("turns", {}).setdefault(corpus, {}).setdefault(str(threads), [])
        if turns and turns[0]["seconds"] > ONCE:
            return
        with self._noting_failure(name, f"in {corpus}", threads):
            turns.append({"round": round_, **process.ask("encode", corpus=corpus)})

    def _measure_limit(self, round_: int, corpus: str, threads: int) -> None:
        found = self.probe.measure(threads, processors(threads))
        self.limits.append({"round": round_, "corpus": corpus, "threads": threads, "g_per_s": found})

    def _ask_queries(self, name: str) -> None:
        process, record = self.processes.get((name, self.threads[0])), self.records[name]
        if process is None or not self.takes_part(name):
            return
        with self._noting_failure(name, "in single queries"):
            answer = process.ask("queries", corpus="queries", count=self.sizes.queries)
            record.setdefault("queries_s", []).extend(answer["seconds"])

    def encode_quality(self, corpora: tuple[str, ...]) -> None:
        """Write the vectors for the quality scores and record peak memory; two at a time, since nothing is timed."""
        in_lanes(list(self.rows), lambda name, cpus: self._encode_quality(name, corpora, cpus))

    def _encode_quality(self, name: str, corpora: tuple[str, ...], cpus: tuple[int, ...]) -> None:
        process = self.processes.get((name, self.threads[0]))
        if process is None or not self.takes_part(name):
            return
        with self._noting_failure(name, "in texts of quality"):
            self.records[name]["peak_mb"] = process.ask("memory")["peak_mb"]
            process.ask("bind", cpus=cpus)
            for corpus in corpora[: -1 if self._slow(name) else None]:
                process.ask("vectors", corpus=corpus, to=str(self.vectors(name, corpus)))
                self.records[name].setdefault("encoded", []).append(corpus)
            say(f"vectors of {name}")

    def vectors(self, name: str, corpus: str) -> Path:
        """Return the file for a contender's vectors."""
        return self.folder / f"{slug(name)}-{slug(corpus)}.npy"

    def takes_part(self, name: str) -> bool:
        """Whether nothing of this contender has failed yet."""
        return "error" not in self.records[name]

    def stop(self) -> None:
        """End all processes."""
        for process in self.processes.values():
            process.stop()

    def _slow(self, name: str) -> bool:
        return bool(self.records[name]["guess_s"][str(self.threads[0])] > ONCE)

    def _noting_failure(self, name: str, where: str, threads: int | None = None) -> AbstractContextManager[None]:
        place = where if threads is None else f"{where}, {threads} thread(s)"
        return noting_failure(self.records[name], name, place)
