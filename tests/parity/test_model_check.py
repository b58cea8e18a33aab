"""`likewise model check` compares with the reference library in fp32, whatever weights are stored in."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from likewise.cli.main import main
from tests.tiny import amend, model_folder


@pytest.mark.parametrize("stored", ["float16", "float32"])
def test_a_model_equals_the_reference_in_fp32(stored, tmp_path, capsys):
    folder = model_folder(tmp_path / "m")
    path = folder / "model.safetensors"
    weights = {name: x.astype(stored) if x.dtype == np.float32 else x for name, x in load_file(path).items()}
    save_file(weights, path, metadata={"format": "pt"})
    amend(folder / "config.json", dtype=stored)
    assert main(["model", "check", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reference"].startswith("equal to sentence_transformers")
