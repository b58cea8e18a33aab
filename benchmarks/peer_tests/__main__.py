"""Runs sentence-transformers' own inference and training tests against the drop-in: what passes or is refused, and why.

git clone https://github.com/huggingface/sentence-transformers peer
python -m benchmarks.peer_tests peer/tests --commit $(git -C peer rev-parse HEAD)

The tests are read from a checkout of sentence-transformers; none are copied. They run twice: with sentence-transformers
itself, which shows what can pass on this machine (a model that cannot be downloaded is replaced by a local one of the
same shape), and with the drop-in in its place. Needs the packages of the group `parity`. The results are written to
benchmarks/results/peer-tests.json, from which python -m benchmarks.drop_in_page draws docs/drop-in.md.
"""

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import date
from pathlib import Path

from likewise.integrations import sentence_transformers as ours
from likewise.model_files import locate
from likewise.source_commit import source_commit

from ..options import options
from .local_models import make_cache
from .reasons import REASONS

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "peer-tests.json"
FILES = (
    "sentence_transformer/test_model.py",
    "sentence_transformer/test_compute_embeddings.py",
    "sentence_transformer/test_multi_process.py",
    "sentence_transformer/test_trainer.py",
    "sentence_transformer/test_training_args.py",
    "sentence_transformer/evaluation",
    "cross_encoder/test_model.py",
    "cross_encoder/test_trainer.py",
    "cross_encoder/evaluation",
    "cross_encoder/test_multi_process.py",
    "util/test_similarity.py",
    "util/test_retrieval.py",
    "util/test_quantization.py",
    "util/test_tensor.py",
)
SOURCE_MODEL = "bert-tiny-splade"
REFUSALS = re.compile(r"(?:has no attribute|has no|does not take|is not supported:) '?(\w+)")
Outcomes = dict[str, dict[str, str]]


def run(tests: Path, home: Path, drop_in: bool) -> Outcomes:
    """Run the tests; returns how each of them ends."""
    with tempfile.TemporaryDirectory() as folder:
        outcomes = Path(folder) / "outcomes.json"
        environment = {
            **os.environ,
            "HF_HOME": str(home),
            "HF_HUB_OFFLINE": "1",
            "DROP_IN": str(int(drop_in)),
            "OUTCOMES": str(outcomes),
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}",
        }
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "benchmarks.peer_tests.plugin"]
        files = [str(tests / name) for name in FILES]
        subprocess.run([*command, *files], env=environment, cwd=tests.parent, stdout=sys.stderr, check=False)
        found: Outcomes = json.loads(outcomes.read_text("utf-8"))
        return found


def both(tests: Path, home: Path, kept: Path | None) -> tuple[Outcomes, Outcomes]:
    """Return the outcomes with sentence-transformers itself (from a file, if they are kept) and with the drop-in."""
    if kept is not None and kept.exists():
        theirs = json.loads(kept.read_text("utf-8"))
    else:
        theirs = run(tests, home, drop_in=False)
        if kept is not None:
            kept.write_text(json.dumps(theirs), "utf-8")
    return theirs, run(tests, home, drop_in=True)


def verdict(test: str, outcome: dict[str, str]) -> tuple[str, str]:
    """Return `"passed"`, `"refused"` or `"differs"` with the reason, or `"unexplained"` with the error."""
    if outcome["outcome"] == "passed":
        return "passed", ""
    known = REASONS.get(test.rpartition("::")[2].partition("[")[0])
    if known:
        return "differs", known
    named = REFUSALS.search(outcome["error"])
    return ("refused", f"`{named[1]}` is not supported") if named else ("unexplained", outcome["error"])


def compared(theirs: Outcomes, ours: Outcomes) -> list[dict[str, str]]:
    """Return a row for each test that passes with sentence-transformers itself."""
    rows = []
    for test, outcome in theirs.items():
        if outcome["outcome"] == "passed":
            result, reason = verdict(test, ours.get(test, {"outcome": "missing", "error": "it did not run"}))
            rows.append({"test": test, "result": result, "reason": reason})
    return rows


def not_served() -> dict[str, list[str]]:
    """Return the public names of sentence-transformers that the drop-in lacks, by the object they belong to."""
    import sentence_transformers as theirs

    found = {"package": {*theirs.__all__} - {*ours.__all__}, "util": {*theirs.util.__all__} - {*dir(ours.util)}}
    for kind in ("SentenceTransformer", "CrossEncoder"):
        own = [base for base in getattr(theirs, kind).__mro__ if base.__module__.startswith(theirs.__name__)]
        found[kind] = {name for base in own for name in vars(base)} - {*dir(getattr(ours, kind))}
    return {place: sorted(name for name in names if not name.startswith("_")) for place, names in found.items()}


def main() -> None:
    """Run the tests with both libraries, and write the results."""
    args = options(__doc__, given={"tests": Path}, commit="unknown", theirs=Path)
    with tempfile.TemporaryDirectory() as folder:
        make_cache(Path(folder), locate(SOURCE_MODEL))
        theirs, drop_in = both(args.tests.resolve(), Path(folder), args.theirs)
    rows = compared(theirs, drop_in)
    counts = Counter(row["result"] for row in rows)
    result = {
        "tests of": args.commit,
        "signatures of": ours.__version__,
        "date": date.today().isoformat(),
        "commit": source_commit() or "unknown",
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "theirs": dict(Counter(outcome["outcome"] for outcome in theirs.values())),
        "counts": dict(counts),
        "not served": not_served(),
        "rows": rows,
    }
    RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(json.dumps({name: result[name] for name in ("theirs", "counts")}))


if __name__ == "__main__":
    main()
