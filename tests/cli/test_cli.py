"""The command line says what it did, in words or JSON, and turns every error into one line."""

import argparse
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from likewise import Embedder
from likewise.cli import main
from likewise.cli.model_options import THREADS, restore_threads, set_threads
from likewise.cli.models.show import NAMES, encoder_in_words
from likewise.encoders.families import FAMILIES


@pytest.fixture
def model(folders):
    return str(folders("bert"))


def test_encode_writes_what_the_library_gives(model, tmp_path, json_output):
    texts = ["a cat", "the dog", "a cat", ""]
    (tmp_path / "in.txt").write_text("".join(t + "\n" for t in texts))
    out = tmp_path / "out.npy"
    told = json_output(["encode", str(tmp_path / "in.txt"), "-o", str(out), "--model", model, "--json"])
    embedder = Embedder.load(model)
    assert (told["rows"], told["width"], told["fingerprint"]) == (4, embedder.dimension, embedder.fingerprint)
    np.testing.assert_allclose(np.load(out), embedder.encode(texts), atol=1e-6)


def test_every_family_of_encoders_has_a_name_and_is_described():
    assert {*NAMES} == {*FAMILIES}
    assert encoder_in_words("electra") == "transformer (ELECTRA architecture)"
    assert encoder_in_words("words") == NAMES["words"] == "table of word vectors"
    assert encoder_in_words("mt5") == "mt5 (run by the transformers library)"


def test_models_lists_what_is_carried_and_what_lies_in_the_folder(model, monkeypatch, capsys, json_output):
    monkeypatch.setenv("LIKEWISE_MODELS", os.path.dirname(model))  # noqa: PTH120
    names = [row["name"] for row in json_output(["model", "list", "--json"])]
    assert "all-MiniLM-L6-v2" in names
    assert os.path.basename(model) in names  # noqa: PTH119
    assert {"avg-glove", "tf-idf", "random(NAME)"} <= set(names)
    assert main(["model", "list"]) == 0
    assert "bert-cls(NAME)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["model", "show", "./no/such/model"], "there is no model"),
        (["model", "show", "tf-idf"], "tf-idf has to be fitted on the texts of a task"),
        (
            ["model", "show", "bert-cls(x)", "--pooling", "mean"],
            "pooling=cls, which contradicts the option pooling=mean",
        ),
        (["model", "show", "all-MiniLM-L6-v2", "--pooling", "median"], "the pooling mode 'median' is unknown"),
    ],
)
def test_an_error_is_one_line_and_exit_2(words, told, capsys, unchecked):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith("likewise: ")
    assert told in error


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--device", "foo"], "unknown device 'foo'; expected cpu, cuda, "),
        (["--device", "meta"], "the device 'meta' cannot be used on this machine: "),
        (["--device", "cuda:77"], "the device 'cuda:77' cannot be used on this machine: "),
        (["--threads", "-1"], "--threads is -1; expected a whole number, 1 or more"),
        (["--threads", "0"], "--threads is 0; expected a whole number, 1 or more"),
        (["--threads", "4097"], "--threads is 4097; expected at most 4,096"),
        (["--threads", str(10**30)], f"--threads is {10**30}; expected at most 4,096"),
    ],
)
def test_a_device_and_threads_that_cannot_be_are_one_line(options, told, model, capsys):
    assert main(["model", "show", model, *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"likewise: {told}")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["-o", "o.xyz"], "o.xyz ends in '.xyz'; expected an output file that ends in .npy, .jsonl, .parquet"),
        (["-o", "o.npy", "--batch-tokens", "0"], "--batch-tokens is 0; expected a whole number, 1 or more"),
    ],
)
def test_what_can_be_checked_is_checked_before_the_model_is_loaded(options, told, tmp_path, capsys):
    (tmp_path / "in.txt").write_text("one\n")
    assert main(["encode", str(tmp_path / "in.txt"), *options, "--model", "no-such-model"]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("words", [["similarity", "-"], ["encode", "-", "-o", "o.npy"]])
def test_standard_input_that_is_not_utf8_is_one_line(words, model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo \xff\n"), errors="surrogateescape"))
    assert main([*words, "--model", model]) == 2
    assert "standard input, line 2 is not valid UTF-8 (byte 5 is 0xff)" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_standard_input_is_utf8_whatever_the_locale(model, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("ключ\n".encode()), encoding="ascii"))
    assert main(["encode", "-", "-o", str(tmp_path / "o.jsonl"), "--model", model, "-q"]) == 0
    assert json.loads((tmp_path / "o.jsonl").read_text("utf-8"))["text"] == "ключ"


@pytest.mark.parametrize("verb", [["pairs", "-"], ["encode", "-", "-o", "o.npy"], ["duplicates", "-"]])
def test_standard_input_has_no_columns(verb, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("one\ntwo\n"))
    assert main([*verb, "--column", "title"]) == 2
    assert "standard input has lines but no columns, so --column title does not apply" in capsys.readouterr().err


def test_an_interruption_leaves_nothing(model, tmp_path, monkeypatch, capsys):
    (tmp_path / "in.txt").write_text("one\n")

    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("likewise.embedder.Embedder.encode_stream", interrupted)
    assert main(["encode", str(tmp_path / "in.txt"), "-o", str(tmp_path / "o.npy"), "--model", model]) == 130
    assert [p.name for p in tmp_path.iterdir()] == ["in.txt"]
    assert "stopped" in capsys.readouterr().err


def test_help_loads_neither_torch_nor_numpy():
    script = (
        "import sys; sys.argv = ['likewise', '--help']\n"
        "from likewise.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert not {'torch', 'numpy'} & set(sys.modules), 'heavy modules were imported'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)


def test_a_prompt_is_a_text_or_a_name_of_the_models_own(own, tmp_path, capsys):
    model = str(own(spoken={"prompts": {"query": "query: ", "document": ""}}))
    (tmp_path / "in.txt").write_text("a cat\n")
    run = ["encode", str(tmp_path / "in.txt"), "-o", str(tmp_path / "out.npy"), "--model", model, "-q"]
    wanted = Embedder.load(model).encode(["query: a cat"])
    for options in (["--prompt", "query: "], ["--prompt-name", "query"]):
        assert main([*run, *options]) == 0
        np.testing.assert_allclose(np.load(tmp_path / "out.npy"), wanted, atol=1e-6)
    for options, told in (
        (["--prompt-name", "qurey"], "no prompt named 'qurey'; its prompts are 'query', 'document'"),
        (["--prompt-name", "query", "--prompt", "query: "], "were both passed"),
    ):
        assert main([*run, *options]) == 2
        assert told in capsys.readouterr().err


def test_the_threads_of_the_process_are_its_own_again_after_a_verb(model, capsys):
    before = torch.get_num_threads()
    try:
        for wanted, own in ((2, 1), (1, 2)):
            torch.set_num_threads(own)
            assert main(["model", "show", model, "--threads", str(wanted)]) == 0
            assert torch.get_num_threads() == own
            assert main(["model", "show", model, "--threads", "0"]) == 2
            assert torch.get_num_threads() == own
    finally:
        torch.set_num_threads(before)
    capsys.readouterr()


def test_variables_set_for_numpys_threads_are_taken_back(monkeypatch):
    monkeypatch.setattr("likewise.cli.model_options.has_torch", lambda: False)
    monkeypatch.delitem(sys.modules, "numpy")
    monkeypatch.setenv(THREADS[0], "7")
    monkeypatch.delenv(THREADS[1], raising=False)
    set_threads(argparse.Namespace(threads=2))
    assert [os.environ.get(name) for name in THREADS] == ["2"] * len(THREADS)
    restore_threads()
    assert [os.environ.get(name) for name in THREADS[:2]] == ["7", None]
