"""Installed from dist/, in any of the ways, likewise works outside its checkout."""

import json
import subprocess

import pytest

import likewise
from likewise.source_commit import commit_of_checkout, commit_phrase

from .installations import ROOT, WAYS, built

TEN_LINES = """
import json, sys
from likewise import Embedder, similarity
from likewise.engine_registry import engine_of
from likewise.search import search
embedder = Embedder.load()
texts = ["A cat sleeps.", "A kitten naps.", "Shares fell."]
vectors = embedder.encode(texts, show_progress_bar=False)
nearest = search(embedder.encode(["the stock market"], show_progress_bar=False), vectors, k=1)
cosines = similarity.cosine(vectors, vectors)
print(json.dumps({"engine": engine_of(embedder), "shape": vectors.shape, "nearest": texts[nearest.indices[0, 0]],
    "cats": float(cosines[0, 1]), "shares": float(cosines[0, 2]), "torch": "torch" in sys.modules}))
"""
TRAINING = "sentence1,sentence2\n" + "".join(f"A cat sleeps {n}.,A kitten naps {n}.\n" for n in range(8))


@pytest.mark.parametrize("way", WAYS)
def test_the_first_ten_lines_work_with_the_engine_that_this_way_gives(way, installed):
    result = installed(way).evaluate(TEN_LINES)
    assert result.pop("cats") > 0.6 > 0.3 > result.pop("shares")
    assert result == {"engine": WAYS[way].engine, "shape": [3, 384], "nearest": "Shares fell.", "torch": False}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_imported_from_the_checkout(way, installed):
    assert installed(way).package.is_relative_to(installed(way).environment)


@pytest.mark.parametrize("way", WAYS)
def test_version_names_the_commit_that_was_built(way, installed):
    expected = f"likewise {likewise.__version__} ({commit_phrase(commit_of_checkout(ROOT))})"
    assert installed(way).run("likewise", "--version").stdout == f"{expected}\n"


@pytest.mark.parametrize("way", WAYS)
def test_the_doctor_reports_the_engines_of_this_way(way, installed):
    report = json.loads(installed(way).run("likewise", "doctor", "--json").stdout)
    usable = {name for name, engine in report["engines"].items() if engine["usable"]}
    assert report["first_text"]["works"] and report["likewise"]["checkout"] is None
    assert usable == {"numpy", *["torch"] * WAYS[way].torch, *["native"] * (WAYS[way].engine == "native")}


def test_without_the_compiled_library_the_doctor_says_how_to_have_it(installed):
    shown = installed("sdist without a compiler").run("likewise", "doctor").stdout
    assert "this installation is pure Python. With a C++ compiler" in " ".join(shown.split())


@pytest.mark.parametrize("way", WAYS)
def test_the_command_line_indexes_and_searches(way, installed):
    one = installed(way)
    (one.work / "notes.txt").write_text("Cats sleep for fifteen hours a day.\nThe bank raised its rates.\n")
    one.run("likewise", "index", "add", "notes.index", "notes.txt")
    found = json.loads(
        one.run("likewise", "search", "notes.index", "how long do cats sleep", "-k", "1", "--json").stdout
    )
    assert "fifteen hours" in json.dumps(found)


def test_with_torch_a_model_is_trained_and_then_loaded_by_both_engines(installed):
    one = installed("wheel and torch")
    (one.work / "pairs.csv").write_text(TRAINING)
    steps = ("--max-steps", 2, "--batch-size", 4, "--threads", 1)
    one.run("likewise", "train", "likewise-mini", "--data", "pairs.csv@contrastive", "-o", "trained", *steps)
    script = "from likewise import Embedder; print(Embedder.load('trained', engine={!r}).encode(['A cat.']).shape[1])"
    assert [one.evaluate(script.format(engine)) for engine in ("native", "torch")] == [384, 384]


def test_without_torch_training_says_what_to_install(installed):
    one = installed("wheel")
    (one.work / "pairs.csv").write_text(TRAINING)
    done = one.run("likewise", "train", "likewise-mini", "--data", "pairs.csv@contrastive", "-o", "trained", code=2)
    assert "needs the package torch; install it with: pip install" in done.stderr and "likewise[" not in done.stderr


@pytest.mark.parametrize("name", ["likewise-small", "likewise-multi"])
def test_a_model_with_a_package_of_its_own_is_found_by_its_name_once_that_is_installed(name, installed):
    one = installed("wheel")
    shape = (
        "import json; from likewise import Embedder; "
        f"print(json.dumps(Embedder.load('{name}').encode(['A cat.']).shape))"
    )
    module = name.replace("-", "_")
    assert module in one.run("python", "-c", shape, code=1).stderr
    one.run("python", "-m", "pip", "install", "-q", "--no-index", built(f"{module}-*.whl"))
    assert one.evaluate(shape) == [1, 384]


def test_the_engines_of_wheel_and_sdist_give_the_same_vectors(installed):
    script = (
        "from likewise import Embedder; print(Embedder.load().encode(['A cat sleeps.'])[0, :8].astype(float).tolist())"
    )
    native, compiled, plain = (
        installed(way).evaluate(script) for way in ("wheel", "sdist", "sdist without a compiler")
    )
    assert native == compiled
    assert native == pytest.approx(plain, abs=1e-5)


def test_the_same_command_runs_as_a_module(installed):
    one = installed("wheel")
    assert one.run("python", "-m", "likewise", "--version").stdout == one.run("likewise", "--version").stdout


def test_the_checkout_was_not_written_to(installed):
    installed("sdist")
    done = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not [line for line in done.stdout.splitlines() if line.startswith("??") and "/likewise/" in line]
