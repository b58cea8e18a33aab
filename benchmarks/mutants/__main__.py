"""`python -m benchmarks.mutants --seed 0 --count 200`: how many of 200 random slips the tests catch, by area."""

import argparse
import json
import random
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from . import coverage_map, native
from .coverage_map import KEPT, ROOT, SOURCE, Map
from .slips import Mutant, is_another, of_folder, reach
from .trial import INTEGRATION, Copy, Outcome, Suite

PACKAGE = SOURCE / "likewise"
FILES = "package"
"""The area of files that do not belong to any room."""
ROOMS = sorted(path.name for path in PACKAGE.iterdir() if any(path.rglob("*.py")))
AREAS = (FILES, *ROOMS, native.AREA)
FRAMEWORKS = ("test_frameworks.py", "test_scikit_learn.py", "test_tables.py", "test_map_batches.py")
ELSEWHERE = {
    "likewise/search/backends/hnsw_sidecar.py": ("test_hnsw_sidecar.py",),
    "likewise/search/backends/milvus.py": ("test_indexes.py", "test_filters.py", "test_servers_away.py"),
    "likewise/search/backends/pgvector.py": ("test_pgvector.py", "test_indexes.py", "test_servers_away.py"),
    **{f"likewise/integrations/{path.name}": FRAMEWORKS for path in (PACKAGE / "integrations").glob("[!_]*.py")},
    "likewise/distribute/workers/ray_cluster.py": ("test_ray.py", "test_map_batches.py"),
    "likewise/serve/tracing.py": ("test_serve_traces.py",),
}
"""Source files that need extra packages or servers, and the files of tests/integration that run them."""
EQUIVALENT = ROOT / "benchmarks" / "equivalent_mutants.toml"
FIRST = 40.0  # maximum duration of a set of tests in seconds
LIMIT = 20.0  # seconds allowed in addition to the time that the tests take without a mutant
SERVERS = 120.0  # assumed duration of tests with servers in seconds
UNKNOWN = 30.0  # assumed duration of tests whose time is unknown, in seconds
PATIENCE = 4.0  # times the tests' own time, because the machine may be busy


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    if given.map is not None:
        coverage_map.make(given.map)
        return 0
    known = equivalents()
    areas = given.area or AREAS
    shares = shared_out(given.count, areas)
    compiled = shares.pop(native.AREA, 0)
    drawn = [m for area, share in shares.items() for m in draw(area, share, given.seed, known)]
    results = Results(given.json or KEPT.parent / f"seed-{given.seed}.jsonl")
    ends = time.monotonic() + 60 * given.minutes
    with tempfile.TemporaryDirectory() as folder:
        try_all(drawn, results, Path(folder), ends)
        if compiled:
            every = (m for m in native.shuffled(given.seed) if not _is_known(m, known))
            drawn += try_compiled(every, results, compiled, Path(folder), ends)
    print(report(drawn, results, given.seed, areas), *left_out(areas), sep="\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="seed for drawing the slips (default: 0)")
    parser.add_argument("--count", type=int, default=200, help="number of slips, spread over all areas (default: 200)")
    parser.add_argument("--area", nargs="+", help=f"rooms, rooms in rooms, or files (default: {' '.join(AREAS)})")
    parser.add_argument("--minutes", type=float, default=1e6, help="when to stop; the same command then continues")
    parser.add_argument("--json", type=Path, help=f"results, one line per mutant (default: a file in {KEPT.parent})")
    parser.add_argument(
        "--map", nargs=argparse.REMAINDER, help="record again which lines these tests run (all tests if none are named)"
    )
    return parser


def draw(area: str, count: int, seed: int, equivalents: Sequence[dict[str, str]]) -> list[Mutant]:
    """Draw `count` slips of an area, except slips known to be equivalent."""
    every = drawable(area)
    mixed = random.Random(f"{seed} {area}").sample(every, len(every))
    found = (m for m in mixed if not _is_known(m, equivalents) and is_another(m, (SOURCE / m.file).read_bytes()))
    return [mutant for _, mutant in zip(range(count), found, strict=False)]


def shared_out(count: int, areas: Sequence[str]) -> dict[str, int]:
    """The number of slips to draw from each area: `count` in total, as even as possible."""
    share, more = divmod(count, len(areas))
    return {area: share + (i < more) for i, area in enumerate(areas)}


def drawable(area: str) -> list[Mutant]:
    """Return all slips of an area; if `make integration` has not been run, only slips that other tests run."""
    slips = _slips_of(area)
    return slips if INTEGRATION.is_file() else [slip for slip in slips if not integration_tests(slip)]


def _slips_of(area: str) -> list[Mutant]:
    path = PACKAGE / area
    files = sorted(PACKAGE.glob("*.py")) if area == FILES else [path if path.exists() else path.with_suffix(".py")]
    return [slip for file in files for slip in of_folder(area, file, SOURCE)]


def integration_tests(mutant: Mutant) -> list[str]:
    """Return the files of tests/integration that run this file, if no other tests can."""
    found = next((tests for file, tests in ELSEWHERE.items() if mutant.file.startswith(file)), ())
    return [f"tests/integration/{name}" for name in found]


def left_out(areas: Sequence[str]) -> Iterator[str]:
    """Report the number of slips that could not be drawn on this machine."""
    for area in [area for area in areas if area != native.AREA and not INTEGRATION.is_file()]:
        slips = [slip for slip in _slips_of(area) if integration_tests(slip)]
        if slips:
            files = len({slip.file for slip in slips})
            said = f"{len(slips)} slips in {files} files of {area}"
            yield f"\nNot drawn: {said}, because `make integration` has not been run"


def equivalents() -> list[dict[str, str]]:
    return list(tomllib.loads(EQUIVALENT.read_text("utf-8")).get("equivalent", []))


def _is_known(mutant: Mutant, equivalents: Sequence[dict[str, str]]) -> bool:
    before, after = difference(mutant)
    return any(
        one["file"] == mutant.file.removeprefix("likewise/")
        and one["line"] == before
        and one.get("slip", after) == after
        for one in equivalents
    )


def difference(mutant: Mutant) -> tuple[str, str]:
    """Return the line before and after the slip."""
    source = mutant.path.read_bytes()
    begin = source.rfind(b"\n", 0, mutant.start) + 1
    end = source.find(b"\n", mutant.end)
    changed = source[begin : mutant.start] + mutant.new.encode() + source[mutant.end : end]
    return source[begin:end].decode().strip(), changed.decode().strip()


class Results:
    """The outcomes, one line per mutant, so that an interrupted run continues."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text("utf-8").splitlines() if path.is_file() else []
        self.found = {tuple(one["key"]): one["outcome"] for one in map(json.loads, lines)}

    def of(self, mutant: Mutant) -> Outcome | None:
        return self.found.get(_key(mutant))

    def add(self, mutant: Mutant, outcome: Outcome) -> None:
        """Record an outcome and print it."""
        self.found[_key(mutant)] = outcome
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            print(json.dumps({"key": _key(mutant), "outcome": outcome, "line": mutant.line}), file=file)
        print(_described(mutant, outcome), file=sys.stderr, flush=True)


def _key(mutant: Mutant) -> tuple[str, ...]:
    return (mutant.file, str(mutant.start), mutant.kind, *difference(mutant))


def _described(mutant: Mutant, outcome: Outcome | None) -> str:
    before, after = difference(mutant)
    head = f"{outcome:8} {mutant.path.relative_to(ROOT)}:{mutant.line} ({mutant.kind})"
    return f"{head}\n- {before}\n+ {after}" if outcome in ("survived", "unclear") else head


def try_all(drawn: Sequence[Mutant], results: Results, folder: Path, ends: float) -> None:
    """Try the mutants that have not been tried yet."""
    waiting = [mutant for mutant in drawn if results.of(mutant) is None]
    if not waiting:
        return
    known = coverage_map.load()

    def work(suite: Suite) -> None:
        for mutant in waiting:
            if time.monotonic() > ends:
                return
            results.add(mutant, tried(mutant, suite, known))

    Suite(Copy(folder / "source"), work).run()


def tried(mutant: Mutant, suite: Suite, known: Map) -> Outcome:
    """Run one set of tests after another until one fails; an unclear outcome is kept unless a later set fails."""
    outcome: Outcome = "survived"
    sets: list[tuple[list[str], float, Path | None]]
    sets = [(tests, seconds, None) for tests, seconds in sets_of_tests(mutant, known, suite.items)]
    if elsewhere := integration_tests(mutant):
        sets.append((elsewhere, SERVERS, INTEGRATION))
    if not sets:
        raise SystemExit(f"no known test runs {mutant.file}; update the map: python -m benchmarks.mutants --map")
    for tests, seconds, python in sets:
        found = suite.outcome(mutant, tests, LIMIT + PATIENCE * seconds, python)
        if found in ("caught", "endless"):
            return found
        outcome = "unclear" if found == "unclear" else outcome
    tests, seconds, python = sets[0]
    if outcome == "survived" and python is None:
        return suite.outcome(mutant, tests, LIMIT + PATIENCE * seconds, fresh=True)
    return outcome


def try_compiled(every: Iterable[Mutant], results: Results, count: int, folder: Path, ends: float) -> list[Mutant]:
    """Try the first `count` valid slips in C++ whose outcomes are unknown; fewer if time runs out."""
    drawn: list[Mutant] = []
    trials = None
    for mutant in every:
        if len(drawn) == count or time.monotonic() > ends:
            break
        if results.of(mutant) is None:
            trials = trials or native.Trials(folder)
            results.add(mutant, trials.outcome(mutant))
        if results.of(mutant) != "equal":
            drawn.append(mutant)
    return drawn


def sets_of_tests(mutant: Mutant, known: Map, collected: Iterable[str]) -> Iterator[tuple[list[str], float]]:
    """Yield disjoint sets of collected tests, and their times.

    First come the tests that run the line (or, if it runs at import, the lines that it affects), fastest first; then
    the tests that run the file; then the tests in files that import it; and last, new tests in files that import it.
    """
    lines = set(range(mutant.line, mutant.last + 1))
    of_lines = known.of_lines(mutant.file, lines)
    if not of_lines:
        of_lines = known.of_lines(mutant.file, reach((SOURCE / mutant.file).read_text("utf-8"), mutant.line))
    left = {known.number[test] for test in collected if test in known.number}
    for tests in (of_lines, known.of_file(mutant.file), known.of_importers(mutant.file)):
        chosen = _within([i for i in tests if i in left], known, FIRST)
        left.difference_update(chosen)
        if chosen:
            yield [known.tests[i] for i in chosen], sum(known.seconds[i] for i in chosen)
    if new := known.unknown(mutant.file, collected):
        yield new, UNKNOWN


def _within(tests: Sequence[int], known: Map, seconds: float) -> list[int]:
    """Return the first of these tests that fit into the time limit together."""
    chosen, total = [], 0.0
    for i in tests:
        if total + known.seconds[i] <= seconds:
            chosen.append(i)
            total += known.seconds[i]
    return chosen


def report(drawn: Sequence[Mutant], results: Results, seed: int, areas: Sequence[str]) -> str:
    """Return a table by area for docs/logbook.md, and the surviving mutants."""
    lines = [f"| area (seed {seed}) | drawn | caught | survived | share |", "|---|---|---|---|---|"]
    for area in (*areas, "all"):
        tried = [results.of(m) for m in drawn if area in (m.area, "all") and results.of(m) is not None]
        caught = sum(found in ("caught", "endless") for found in tried)
        share = f"{100 * caught / len(tried):.1f} %" if tried else ""
        lines.append(f"| {area} | {len(tried)} | {caught} | {len(tried) - caught} | {share} |")
    left = [m for m in drawn if results.of(m) in ("survived", "unclear")]
    lines += [f"\n{_described(mutant, results.of(mutant))}" for mutant in left]
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
