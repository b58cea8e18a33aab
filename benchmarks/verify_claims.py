"""Do README's claims hold on this machine? Tests ten of them, and prints the results beside README's (docs/verify.md).

`make verify-claims` takes a few minutes. If a claim cannot be tested, the reason is printed, and the claim does not
count as holding. The exit status is 1 if a claim fails. Speed is compared with sentence-transformers in alternating
rounds, in CPU time on one thread; sentence-transformers runs in build/venv-peers if that exists (`make verify-claims
PEERS=yes` installs it), otherwise in this Python.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from statistics import median

import numpy as np

from likewise import Embedder
from likewise.errors import LikewiseError, TooLong
from likewise.model_files import locate
from likewise.model_files.names import RECOMMENDED_MODEL

from .peers.contenders import CORE, REFERENCE
from .peers.installed import closure, folder_megabytes, megabytes
from .peers.process import ROOT, ContenderFailed, Process, Spec, cold_start, environment, slug
from .table import OURS, OURS_FP32

README = (ROOT / "README.md").read_text("utf-8")
PEERS = ROOT / "build" / "venv-peers" / "bin" / "python"
ROUNDS = 5
SENTENCES = [
    line
    for line in (ROOT / "src/likewise/engines/int8/held_out.txt").read_text("utf-8").splitlines()
    if 4 <= len(line.split()) <= 20
]
"""Sentences as long as those behind README's table, written for likewise, so that no data set is needed."""


class NotTried(Exception):
    """Raised if something is missing for a test; the message says what, and how to get it."""


@dataclass(frozen=True)
class Claim:
    """A claim in README, and how to measure it on this machine."""

    words: str
    readme: str
    """A pattern for README's text. The claimed number is its group, the ratio of two groups, or 0 without groups."""
    find: Callable[[], float]
    slack: float = 0.0
    """The claim holds if the measured number exceeds README's by at most this much,"""
    share: float | None = None
    """or, for speed ratios, which depend on processor and texts, if it reaches at least this share of README's."""

    def wanted(self) -> float:
        """The number that README claims."""
        match = re.search(self.readme, README)
        if match is None:
            raise ValueError(f"README no longer contains {self.readme!r}; update the claim {self.words!r} to match it")
        figures = [float(group) for group in match.groups()]
        return figures[0] / figures[-1] if len(figures) == 2 else sum(figures)

    def holds(self, found: float) -> bool:
        """Whether the measured number is within the tolerance."""
        return found >= self.share * self.wanted() if self.share else found <= self.wanted() + self.slack

    def tolerance(self) -> str:
        """The numbers for which the claim holds."""
        if self.share:
            return f"at least {self.share * self.wanted():.2g}"
        return f"at most {self.wanted() + self.slack:.3g}"


def example() -> float:
    """Return the largest difference between what README's first program prints and what README shows."""
    program = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)
    assert program is not None, "README's first program is not followed by what it prints"
    printed = run(program[1])
    number = r"-?\d+\.?\d*"
    wanted, found = (np.array(re.findall(number, text), float) for text in (program[2], printed))
    return float(np.abs(wanted - found).max()) if wanted.shape == found.shape else np.inf


def run(program: str) -> str:
    """Run a program in a new process; returns its output, including errors."""
    done = subprocess.run([sys.executable, "-c", program], env=environment(1), cwd=ROOT, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else f"{done.stdout}{done.stderr}"


def torch_imported() -> float:
    """Return 1 if embedding imports torch or transformers, or does not work without them."""
    program = (
        "import sys; sys.modules.update(torch=None, transformers=None)\n"
        "from likewise import Embedder; print(Embedder.load().encode(['A cat sleeps.']).shape == (1, 384))"
    )
    return float(run(program).strip() != "True")


def installed() -> float:
    """Return the size in megabytes of likewise and all its dependencies."""
    packages, missing = closure(CORE)
    if missing:
        raise PackageNotFoundError(", ".join(missing))
    return sum(megabytes(package) for package in packages.values()) + folder_megabytes(ROOT / "src" / "likewise")


def differing_values() -> float:
    """Count vector elements that are not bit-identical when texts are encoded alone, in other batches or in reverse."""
    embedder = Embedder.load()
    wanted = embedder.encode(SENTENCES)
    others = (
        np.concatenate([embedder.encode([text]) for text in SENTENCES]),
        embedder.encode(SENTENCES, batch_tokens=128),
        embedder.encode(SENTENCES[::-1])[::-1],
    )
    return float(sum((wanted != other).sum() for other in others))


def cut_in_silence() -> float:
    """Count the modes that truncate a long text silently: the default must warn, and `overflow="error"` must raise."""
    embedder, text = Embedder.load(), "A long text goes on. " * 400
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        embedder.encode([text])
    silent = not any("truncated" in str(one.message) for one in raised)
    try:
        embedder.encode([text], overflow="error")
    except TooLong:
        return float(silent)
    return float(silent) + 1


def pickles_run() -> float:
    """Return 1 if code named in a model folder's settings is run, plus 1 if a pickle is loaded in place of weights."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, trace = Path(temporary, "model"), Path(temporary, "trace")
        shutil.copytree(locate("likewise-mini"), folder)
        (folder / "modeling_likewise.py").write_text(f"import pathlib\npathlib.Path({str(trace)!r}).touch()\n")
        config = json.loads((folder / "config.json").read_text("utf-8"))
        config["auto_map"] = {"AutoModel": "modeling_likewise.Model", "AutoConfig": "modeling_likewise.Config"}
        (folder / "config.json").write_text(json.dumps(config), "utf-8")
        with suppress(LikewiseError):
            Embedder.load(str(folder))
        code = trace.exists()
        (folder / "model.safetensors").unlink()
        (folder / "pytorch_model.bin").write_bytes(pickled_command(trace))
        try:
            Embedder.load(str(folder))
        except LikewiseError:
            return float(code) + float(trace.exists() and not code)
    return float(code) + 1


def pickled_command(trace: Path) -> bytes:
    """Return a pickle that creates a file when it is loaded."""
    return f"cposix\nsystem\n(Vtouch {trace}\ntR.".encode()


@contextmanager
def contenders(folder: Path) -> Iterator[dict[str, Process]]:
    """Start processes of likewise in fp32 and int8 and of sentence-transformers, with one thread each."""
    texts = folder / "texts.json"
    texts.write_text(json.dumps({"sentences": SENTENCES}), "utf-8")
    started: dict[str, Process] = {}
    try:
        for name, spec in specs().items():
            started[name] = Process(python_of(name), spec, folder / f"{slug(name)}.txt")
            started[name].ask("load", texts=str(texts))
        yield started
    except ContenderFailed as error:
        raise NotTried(f"{error}; make verify-claims PEERS=yes installs sentence-transformers") from None
    finally:
        for process in started.values():
            process.stop()


def specs() -> dict[str, Spec]:
    """What each contender loads."""
    try:
        model = str(locate(RECOMMENDED_MODEL))
    except LikewiseError:
        how = f"download it with: likewise model download {RECOMMENDED_MODEL}"
        raise NotTried(f"{RECOMMENDED_MODEL} is missing; {how}") from None
    native, peer = ("likewise_engine", {"engine": "native"}), ("sentence_transformers_encode", {})
    rows = {OURS_FP32: (native, "fp32"), OURS: (native, "int8"), REFERENCE: (peer, "fp32")}
    return {
        name: Spec(name, backend, precision, RECOMMENDED_MODEL, model, "", options=options)
        for name, ((backend, options), precision) in rows.items()
    }


def python_of(name: str) -> str:
    """The Python that runs a contender."""
    return str(PEERS) if name == REFERENCE and PEERS.exists() else sys.executable


@cache
def vectors_and_seconds() -> tuple[dict[str, np.ndarray], dict[str, list[float]]]:
    """Return each contender's vectors and its CPU seconds per round; contenders take turns within a round."""
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as temporary, contenders(Path(temporary)) as processes:
        vectors = {name: Path(temporary, f"{slug(name)}.npy") for name in processes}
        for name, process in processes.items():
            process.ask("vectors", corpus="sentences", to=str(vectors[name]))
        for _ in range(ROUNDS):
            for name, process in processes.items():
                seconds.setdefault(name, []).append(process.ask("encode", corpus="sentences")["cpu_seconds"])
        return {name: np.load(path) for name, path in vectors.items()}, seconds


def furthest() -> float:
    """Return the largest difference between an element of our fp32 vectors and of sentence-transformers' vectors."""
    vectors, _ = vectors_and_seconds()
    return float(np.abs(vectors[OURS_FP32] - vectors[REFERENCE]).max())


def times_as_fast(name: str) -> float:
    """Return the median over rounds of sentence-transformers' seconds divided by ours."""
    _, seconds = vectors_and_seconds()
    return median(theirs / ours for theirs, ours in zip(seconds[REFERENCE], seconds[name], strict=True))


def starts_faster() -> float:
    """Return the same ratio for new processes that load the model and encode one text, after a round to fill caches."""
    vectors_and_seconds()  # raises NotTried if something is missing
    with tempfile.TemporaryDirectory() as temporary:
        rounds = [
            [cold_start(python_of(n), specs()[n], Path(temporary, "log"))["cpu_s"] for n in (REFERENCE, OURS_FP32)]
            for _ in range(3)
        ]
    return median(theirs / ours for theirs, ours in rounds[1:])


FASTER = r"\| sentences per second \| [\d,]+ \| [\d,]+ \(\*\*([\d.]+) ×\*\*\) \|"
FASTER_INT8 = r"\| sentences per second \| .*? \| .*? \| [\d,]+ \(\*\*([\d.]+) ×"
CLAIMS = (
    Claim("the first program prints what README shows", r"from likewise import Embedder, sim", example, slack=0.01),
    Claim("torch is needed for embedding", "install without torch", torch_imported),
    Claim("megabytes installed", r"\| installed, without bytecode \| [\d,]+ MB \| (\d+) MB", installed, slack=25),
    Claim("values that change with batch and order", "The same text has the same vector", differing_values),
    Claim("long texts truncated silently", "Nothing is truncated silently", cut_in_silence),
    Claim("pickles loaded, code of folders run", "nothing is unpickled", pickles_run),
    Claim("difference from sentence-transformers, fp32", r"within (2e-6)", furthest),
    Claim("times as fast on sentences, fp32", FASTER, lambda: times_as_fast(OURS_FP32), share=0.7),
    Claim("times as fast on sentences, int8", FASTER_INT8, lambda: times_as_fast(OURS), share=0.7),
    Claim(
        "times as fast to the first vector", r"first vector .*? \| ([\d.]+) s \| ([\d.]+) s", starts_faster, share=0.5
    ),
)
"""The ten claims. The time to the first vector is mostly spent on reading files, so its ratio may fall by half."""


def main() -> None:
    print(f"{'claim':<45}{'README':>8}  {'holds if':<15}{'found':>9}  holds")
    results = []
    for claim in CLAIMS:
        before = f"{claim.words:<45}{claim.wanted():>8.3g}  {claim.tolerance():<15}"
        try:
            found = claim.find()
        except NotTried as error:
            results.append(None)
            print(f"{before}{'—':>9}  not tested: {error}", flush=True)
            continue
        results.append(claim.holds(found))
        print(f"{before}{found:>9.3g}  {'yes' if results[-1] else 'NO'}", flush=True)
    print(f"{results.count(True)} of {len(CLAIMS)} hold, {results.count(False)} fail, {results.count(None)} not tested")
    raise SystemExit(int(False in results))


if __name__ == "__main__":
    main()
