"""likewise model quantize, as it is called from a shell; int8 weights in likewise model show and model list."""

import json

import pytest

from likewise.cli.main import main
from tests.engines.int8.models import few_texts, with_outliers
from tests.native_library import needs_native
from tests.tiny import model_folder, write


@pytest.fixture(scope="module", autouse=True)
def _few_texts():
    with few_texts():
        yield


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The folder of a tiny model."""
    return str(with_outliers(tmp_path_factory.mktemp("model") / "tiny"))


@needs_native
def test_it_writes_the_model_and_prints_what_changed(tiny, tmp_path, capsys, json_output):
    assert main(["model", "quantize", tiny, "-o", str(tmp_path / "int8"), "--bar", "0.5,-1"]) == 0
    head, *rows, _, bar, smoothed, weights, written, use = capsys.readouterr().out.splitlines()
    assert head.split("  ")[-4:] == ["texts", "mean cosine", "least cosine", "rank correlation"]
    found = json_output(["model", "quantize", tiny, "-o", str(tmp_path / "again"), "--bar", "0.5,-1", "--json"])
    for row, (name, one) in zip(rows, found["fidelity"].items(), strict=True):
        figures = [f"{one[key]:.5f}" for key in ("mean_cosine", "least_cosine", "rank_correlation")]
        assert row.split() == [*name.split(), f"{one['texts']:,}", *figures]
    assert bar == "bar        mean cosine 0.5, least cosine -1.0, overall"
    assert smoothed == f"smoothed   {found['smoothed']} matrix multiplications"
    assert weights == f"weights    {found['bytes_before'] / 1e6:.1f} MB → {found['bytes_after'] / 1e6:.1f} MB"
    assert written == f"written to {tmp_path / 'int8'}"
    assert use == f'to use it  Embedder.load({str(tmp_path / "int8")!r}, engine="native", precision="int8")'
    assert main(["similarity", "a cat", "a dog", "-m", str(tmp_path / "int8"), "--precision", "int8"]) == 0


@needs_native
def test_json_has_the_figures(tiny, tmp_path, json_output):
    found = json_output(["model", "quantize", tiny, "-o", str(tmp_path / "int8"), "--bar", "0.5,-1", "--json"])
    assert found["written"] and found["bar"] == {"mean_cosine": 0.5, "least_cosine": -1}
    assert {*found["fidelity"]} == {"held-out sentences", "odd texts", "overall"}
    assert found["bytes_after"] < found["bytes_before"] and found["smoothed"] > 0


@needs_native
def test_below_the_bar_it_fails_with_the_figures_and_leaves_nothing(tiny, tmp_path, capsys):
    assert main(["model", "quantize", tiny, "-o", str(tmp_path / "int8"), "--bar", "1,1", "--json"]) == 2
    printed = capsys.readouterr()
    assert not json.loads(printed.out)["written"] and "Nothing was written" in printed.err
    assert not any(tmp_path.iterdir())
    assert main(["model", "quantize", tiny, "-o", str(tmp_path / "int8"), "--bar=-1,-1"]) == 0
    assert (tmp_path / "int8" / "model.safetensors").is_file()


@pytest.mark.parametrize(
    "bar", ["0.9", "2,0", "1.01,0", "0,-1.01", "-1.01,0", "0,1.01", "a,b", "nan,0", "0,nan", "0.9,0.9,0.9"]
)
def test_a_bar_that_is_none_is_refused(bar, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["model", "quantize", "likewise-mini", "-o", str(tmp_path / "x"), f"--bar={bar}"])
    assert "mean and least, such as 0.99,0.95" in capsys.readouterr().err


def test_info_and_models_say_that_weights_are_in_int8(tmp_path, json_output, monkeypatch):
    model_folder(tmp_path / "in-floats")
    monkeypatch.setenv("LIKEWISE_MODELS", str(tmp_path))
    for name, weights in (("likewise-mini", "int8 (one scale per row), 11.9 MB"), ("in-floats", "fp32, 0.1 MB")):
        assert json_output(["model", "show", name, "--json"])["weights"] == weights
    (tmp_path / "in-pieces").mkdir()
    (tmp_path / "in-pieces/config.json").write_text("{")
    write(tmp_path / "adapted/adapter_config.json", {})
    (tmp_path / "adapted/adapter_model.safetensors").write_bytes(bytes(1_260_000))
    rows = {row["name"]: row for row in json_output(["model", "list", "--json"])}
    adapted = {"kind": "adapter", "weights": None, "megabytes": 1.3, "folder": str(tmp_path / "adapted")}
    assert rows["adapted"] == {"name": "adapted", **adapted} and rows["in-pieces"]["kind"] == "broken"
    assert rows["likewise-mini"]["weights"] == "int8" and rows["likewise-mini"]["kind"] == "electra"
    assert rows["in-floats"]["weights"] is None and rows["in-floats"]["kind"] == "bert"
