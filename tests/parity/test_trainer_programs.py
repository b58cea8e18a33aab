"""Training programs run with sentence-transformers and, with nothing but their imports changed, here: equal losses."""

import json
import os
import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest

from likewise.model_files import locate
from tests.tiny import amend, classifier_folder

HERE = Path(__file__).parent / "trainer_programs"
PROGRAMS = sorted(path.stem for path in HERE.glob("*.py") if path.stem != "__init__")
OURS = "likewise.integrations.sentence_transformers"
STEPS = 50
TOLERANCE = 1e-4
CLIPPED_TOGETHER = {"inference_classes": 1e-2}
"""A loss with weights of its own: theirs clips the model's gradients only, ours the loss's with them."""
WITHOUT_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def moved(source: str) -> str:
    """The program with its imports changed."""
    return re.sub(r"^from (sentence_transformers|transformers)\b", f"from {OURS}", source, flags=re.M)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Models without dropout, whose random numbers the two libraries draw differently."""
    root = tmp_path_factory.mktemp("models")
    shutil.copytree(locate("bert-tiny-splade"), root / "embedder")
    amend(root / "embedder" / "config.json", **WITHOUT_DROPOUT)
    return {"embedder": root / "embedder", "cross_encoder": classifier_folder(root / "reranker", **WITHOUT_DROPOUT)}


def trained(name, source, folders, output, data, monkeypatch):
    """The trainer of a program after its run."""
    path = output / f"{name}.py"
    output.mkdir()
    path.write_text(source, "utf-8")
    model = folders.get(name, folders["embedder"])
    monkeypatch.setattr(sys, "argv", [str(path), str(model), str(output), str(data)])
    return runpy.run_path(str(path))["trainer"]


def lines_with(trainer, part):
    """The values of the history whose name contains this, by step and name; not times, and not ours alone."""
    return {
        (line["step"], name): value
        for line in trainer.state.log_history
        for name, value in line.items()
        if part(name) and not name.endswith(("_runtime", "_per_second"))
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_the_same_losses_with_other_imports(name, folders, data, tmp_path, monkeypatch):
    source = (HERE / f"{name}.py").read_text("utf-8")
    theirs = trained(name, source, folders, tmp_path / "theirs", data, monkeypatch)
    ours = trained(name, moved(source), folders, tmp_path / "ours", data, monkeypatch)
    expected, found = (lines_with(one, lambda name: name == "loss") for one in (theirs, ours))
    assert list(found) == list(expected)
    first = {key: value for key, value in expected.items() if key[0] <= STEPS}
    if record := os.environ.get("CURVES"):
        with Path(record).open("a", encoding="utf-8") as file:
            furthest = max(abs(found[k] - v) / abs(v) for k, v in first.items())
            file.write(json.dumps({"program": name, "steps": len(first), "furthest": furthest}) + "\n")
    assert {key: found[key] for key in first} == pytest.approx(first, rel=CLIPPED_TOGETHER.get(name, TOLERANCE))
    metrics, ours_metrics = (lines_with(one, lambda name: name.startswith("eval_")) for one in (theirs, ours))
    assert set(ours_metrics) == set(metrics)
    assert ours_metrics == pytest.approx(metrics, rel=1e-3, abs=1e-3)
