"""What the package says and gives where torch is not installed."""

import re
import subprocess
import sys

import pytest

import likewise
from likewise.runtime.installation import install_hint

WITHOUT = "import sys; sys.modules['torch'] = None; "  # importing it is then a ModuleNotFoundError


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT + script], capture_output=True, text=True)


def _import(name: str) -> str:
    package, _, last = f"likewise.{name}".rpartition(".")
    return f"from {package} import {last}"


@pytest.mark.parametrize("name", ["Ragged", "reranker.CrossEncoder", "reranker.PolyEncoder"])
def test_what_needs_torch_says_what_to_install(name):
    done = run(
        "from likewise import LikewiseError\n"
        f"try: {_import(name)}\n"
        "except LikewiseError as error: print(type(error).__name__, error)"
    )
    assert done.stderr == ""
    told = f"likewise.{name} needs the package torch; install it with: {install_hint('torch')}"
    assert done.stdout.strip() == f"MissingExtra {told}"


@pytest.mark.parametrize(
    "words",
    [
        ["model", "fuse", "m", "--pairs", "p.csv", "-o", "o"],
        ["data", "mine", "m", "p.csv"],
        ["train", "m", "--data", "p.csv@contrastive", "-o", "o"],
    ],
)
def test_the_command_line_says_it_in_one_line(words):
    done = run(f"from likewise.cli import main; sys.exit(main({words!r}))")
    assert done.returncode == 2
    assert re.match(r"likewise: likewise[ .][\w ]+ needs the package torch; install it with: pip install", done.stderr)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["likewise-mini", "likewise-static"])
def test_the_command_line_describes_a_bundled_model_without_torch(name):
    done = run(f"from likewise.cli import main; sys.exit(main(['model', 'show', {name!r}]))")
    assert done.returncode == 0 and "384 dimensions" in done.stdout and done.stderr == ""


def test_vectors_are_compared_and_searched_without_torch():
    done = run(
        "import numpy as np\n"
        "from likewise import similarity\n"
        "from likewise.search import closest_pairs, search\n"
        "x = np.eye(3, dtype=np.float32)\n"
        "print(similarity.cosine(x, x).trace(), search(x, x, k=1).indices.ravel().tolist(), len(closest_pairs(x, 9)))"
    )
    assert done.stdout.split("\n")[0] == "3.0 [0, 1, 2] 3", done.stderr


def test_other_missing_modules_are_not_blamed_on_torch():
    done = run("sys.modules['numpy'] = None; del sys.modules['torch']; import likewise; likewise.Embedder")
    assert "ModuleNotFoundError" in done.stderr.splitlines()[-1]
    assert "numpy" in done.stderr.splitlines()[-1]


def test_a_name_that_is_not_there_lists_those_that_are():
    with pytest.raises(
        AttributeError, match="available names: Embedder, LikewiseError, Ragged, Reranker, TextIndex, similarity"
    ):
        likewise.nothing  # noqa: B018
