"""A program in C uses the library and a model folder, without Python."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from likewise import Embedder

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "src/likewise/bundled/likewise-mini"
SENTENCES = ["A cat sleeps on the mat.", "A kitten naps on a rug.", "The parliament voted on the budget."]


@pytest.fixture(scope="module")
def similarity(library_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None or os.environ.get("LIKEWISE_NATIVE_LIBRARY"):
        pytest.skip("a C compiler, and a library without sanitizers, are needed")
    made = tmp_path_factory.mktemp("c") / "similarity"
    source = ROOT / "examples/c/similarity.c"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'native'}", f"-Wl,-rpath,{library_path.parent}"]
    subprocess.run([compiler, *flags, source, library_path, "-o", made], check=True)
    return made


def run(program: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *words], env={}, capture_output=True, text=True)


def test_the_example_prints_pythons_similarities(similarity: Path) -> None:
    done = run(similarity, MODEL, *SENTENCES)
    assert (done.returncode, done.stderr) == (0, "")
    vectors = Embedder.load(MODEL, engine="native").encode(SENTENCES)
    assert done.stdout.splitlines() == [
        f"{vectors[0] @ vector:.4f}  {text}" for text, vector in zip(SENTENCES[1:], vectors[1:], strict=True)
    ]


def test_the_example_says_what_is_wrong_or_cut(similarity: Path, tmp_path: Path) -> None:
    assert "usage" in run(similarity).stderr
    missing = run(similarity, tmp_path / "none", *SENTENCES)
    assert missing.returncode == 1
    assert "none cannot be opened" in missing.stderr
    assert run(similarity, MODEL, SENTENCES[0], "cat " * 300).stderr.startswith("1 sentences were cut")


def test_the_example_fits_on_a_page_and_the_library_is_small(library_path: Path, similarity: Path) -> None:
    assert len((ROOT / "examples/c/similarity.c").read_text("utf-8").splitlines()) <= 30
    assert library_path.stat().st_size < 1_500_000
