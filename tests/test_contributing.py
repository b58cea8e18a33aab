"""The diffs that CONTRIBUTING.md shows apply to the source as it is, touch two files at most, and work."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from likewise.engine_registry import ENGINES
from tests.native_library import NATIVE

ROOT = Path(__file__).parent.parent
DIFF = re.compile(r"^### (?P<title>[^\n]+), as a diff\n.*?^```diff\n(?P<diff>.*?)^```$", re.MULTILINE | re.DOTALL)
DIFFS = {found["title"]: found["diff"] for found in DIFF.finditer((ROOT / "CONTRIBUTING.md").read_text("utf-8"))}
"""By the headings that they stand under: `### TITLE, as a diff`."""
UNUSED = shutil.ignore_patterns("__pycache__", "bundled")


@pytest.fixture
def applied(tmp_path: Path) -> Callable[[str], Path]:
    """A title to the root of a copy of the source with that diff applied."""

    def root(title: str) -> Path:
        shutil.copytree(ROOT / "src" / "likewise", tmp_path / "src" / "likewise", ignore=UNUSED)
        command = ["git", "apply", "--verbose", "-"]
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
        done = subprocess.run(
            command, input=DIFFS[title], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return tmp_path

    return root


def run(root: Path, script: str, *arguments: object) -> str:
    """What a script prints that imports the copy."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    command = [sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)]
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("title", DIFFS)
def test_a_diff_touches_two_files_at_most(title):
    touched = re.findall(r"^\+\+\+ b/(\S+)$", DIFFS[title], re.MULTILINE)
    assert 1 <= len(touched) <= 2 and all(name.startswith("src/likewise/") for name in touched)


POOLING = """
import sys
import numpy as np
import likewise
from likewise import Embedder
model, saved, root, *engines = sys.argv[1:]
assert likewise.__file__.startswith(root), likewise.__file__
texts = ["the quick cat", "a dog", "the cat and the dog"]
by_hand = np.stack([layer.min(0) for layer in Embedder.load(model).encode_tokens(texts)])
by_hand /= np.linalg.norm(by_hand, axis=1, keepdims=True)
embedder = Embedder.load(model, pooling="min")
assert embedder.only_here() == ["the pooling min"]
embedder.save(saved)
for engine in engines:
    again = Embedder.load(saved, engine=engine)
    assert again.describe()["pooling"] == "min"
    np.testing.assert_allclose(again.encode(texts), by_hand, atol=1e-5)
print("as by hand,", len(engines), "engines")
"""


def test_a_pooling_is_saved_loaded_and_computed_by_every_engine(applied, folders, tmp_path):
    root = applied("A pooling")
    engines = [name for name in ENGINES if name != "native" or NATIVE]
    said = run(root, POOLING, folders("bert"), tmp_path / "saved", root, *engines)
    assert said == f"as by hand, {len(engines)} engines"


OBJECTIVE = """
import sys
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.train import DataSource, TrainSettings, read_rows, train
from likewise.train.objectives import parse_objective
from likewise.train.objectives.registry import objectives_text
embedder = TorchEmbedder.load(sys.argv[1], device="cpu")
objective = parse_objective("alignment")
pairs = {"anchor": ["the cat", "a dog", "the quick fox", "a hat"], "positive": ["a cat", "the dog", "a fox", "the hat"]}
def distance():
    a, b = (embedder.encode(texts, normalize_embeddings=True) for texts in pairs.values())
    return float(((a - b) ** 2).sum(1).mean())
before = distance()
settings = TrainSettings(max_steps=8, batch_size=4, learning_rate=1e-3)
train(embedder, [DataSource(read_rows(pairs, objective), objective)], settings)
assert distance() < before and "alignment" in objectives_text()
print("trained")
"""


def test_an_objective_is_listed_and_trains(applied, folders):
    assert run(applied("An objective"), OBJECTIVE, folders("bert")).endswith("trained")


TASK = """
import sys
import numpy as np
from likewise.evaluate import EvaluationSettings, TASKS
def encode(texts):
    return np.array([[len(text.split()), 1.0] for text in texts], np.float32)
texts = ["a cat", "the cat sat", "it is a very long one", "dogs"]
result = TASKS["lengths"].run(encode, lambda name: {"sentence1": texts}, EvaluationSettings())
print(result.scores[0].value)
"""


def test_a_task_is_listed_and_runs(applied):
    assert float(run(applied("A task"), TASK)) == pytest.approx(1.0)
