"""The report: outcomes by kind of attempt, followed by every failure with the command that repeats it."""

import json
import resource
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .attempt import FAILURES, OUTCOMES, Result

SHOWN = 12  # number of failures listed for each cause; --json lists all


class Progress:
    """Prints each failure on standard error immediately and, on a terminal, the number of finished attempts."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.failed = total, 0, 0

    def __call__(self, result: Result) -> None:
        self.done += 1
        self.failed += result.failed
        if result.failed:
            print(f"{self.done:,} of {self.total:,}: {result.outcome}: {result.name}", file=sys.stderr, flush=True)
        elif sys.stderr.isatty():
            print(f"\r{self.done:,} of {self.total:,}, {self.failed} failed ", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """End the line that shows the number of attempts."""
        if sys.stderr.isatty():
            print(file=sys.stderr)


def show(results: Sequence[Result], how: str, seconds: float, *, whole: bool) -> None:
    """Print the table and the failures, with all details if `whole`."""
    print(table(results))
    failed = sorted((result for result in results if result.failed), key=lambda result: result.name)
    for cause, some in _grouped(failed).items():
        print(f"\n{cause}: {len(some)}")
        for result in some if whole else some[:SHOWN]:
            print(f"  python -m benchmarks.attack {how} --only '{result.name}'")
            detail = result.detail.strip()
            print(
                "    " + (detail.replace("\n", "\n    ") if whole else detail.splitlines()[-1][:200] if detail else "")
            )
        if not whole and len(some) > SHOWN:
            print(f"  … and {len(some) - SHOWN} more (--json FILE lists all)")
    if whole:
        for result in results:
            print(f"\n{result.name}: {result.outcome}\n  {result.detail}" if not result.failed else "", end="")
        print()
    if not results:
        return
    slowest = max(results, key=lambda result: result.seconds)
    largest = max(results, key=lambda result: result.megabytes)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    print(f"\n{len(results):,} attempts in {seconds:.0f} s ({cpu:.0f} s of CPU), {len(failed)} failed", end="; ")
    print(f"slowest {slowest.seconds:.1f} s ({slowest.name}), largest {largest.megabytes:,.0f} MB ({largest.name})")


def table(results: Sequence[Result]) -> str:
    """Return a table with a row for each kind of attempt and a column for each outcome."""
    kinds = list(dict.fromkeys(result.name.partition("/")[0] for result in results))
    counts = Counter((result.name.partition("/")[0], result.outcome) for result in results)
    rows = [["kind", "attempts", *OUTCOMES]]
    for kind in kinds:
        numbers = [counts[kind, outcome] for outcome in OUTCOMES]
        rows.append([kind, str(sum(numbers)), *map(str, numbers)])
    totals = [sum(counts[kind, outcome] for kind in kinds) for outcome in OUTCOMES]
    rows.append(["all", str(sum(totals)), *map(str, totals)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    )


def _grouped(failed: Sequence[Result]) -> dict[str, list[Result]]:
    """Group failures by outcome and cause; the cause of a traceback is the error's type and location."""
    results: dict[str, list[Result]] = {}
    for result in failed:
        lines = result.detail.strip().splitlines() or [""]
        cause = lines[-1].split(":")[0][:80] if result.outcome == "traceback" else FAILURES[result.outcome]
        results.setdefault(f"{result.outcome.upper()}, {cause}", []).append(result)
    return results


def write(path: Path, results: Sequence[Result], seed: int, seconds: float) -> None:
    """Write all results as JSON."""
    counts = Counter(result.outcome for result in results)
    described = {
        "seed": seed,
        "seconds": round(seconds, 1),
        "attempts": len(results),
        "outcomes": {outcome: counts[outcome] for outcome in OUTCOMES},
        "results": [asdict(result) for result in results],
    }
    path.write_text(json.dumps(described, indent=1) + "\n", "utf-8")
