"""Where results go is looked at before the work: nothing that is read is written over, no late surprise."""

import io
import json
import os
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from likewise.cli import main
from likewise.cli.output import print_json, print_result

ROWS = [{"text": "a cat", "anchor": "a cat", "positive": "a kitten", "kept": 1}, {"text": "b", "anchor": "b"}]
UNREAD = "no-such-model"  # whose absence would be the error, were the output not looked at first
ENCODE = ("encode", "{}", "-m", UNREAD)
MINE = ("data", "mine", UNREAD, "{}")
CLUSTER, DUPLICATES = (("cluster", "{}", "-m", UNREAD), ("duplicates", "{}", "-m", UNREAD))
CORPUS = ("data", "mine", UNREAD, "other.jsonl", "--corpus", "{}")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("p.jsonl", "other.jsonl"):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "symbolic.jsonl").symlink_to("p.jsonl")
    os.link("p.jsonl", "hard.jsonl")
    (tmp_path / "folder").symlink_to(".")


def refused(words, reported, capsys):
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert main(words) == 2
    assert reported in capsys.readouterr().err
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "words",
    [
        ["encode", "p.jsonl"],
        ["pairs", "p.jsonl"],
        ["duplicates", "p.jsonl"],
        ["data", "mine", UNREAD, "p.jsonl"],
        ["model", "dissect", UNREAD],
        ["model", "fuse", UNREAD, "--pairs", "p.jsonl"],
        ["train", UNREAD, "--data", "p.jsonl@contrastive"],
    ],
    ids=lambda words: words[0],
)
def test_a_dash_is_not_standard_output(words, capsys):
    refused([*words, "-o", "-"], "the output is -, but results are not written to standard output", capsys)
    assert not Path("-").exists()


@pytest.mark.parametrize("command", [ENCODE, MINE, CORPUS, CLUSTER, DUPLICATES])
@pytest.mark.parametrize("output", ["p.jsonl", "symbolic.jsonl", "hard.jsonl", "folder/p.jsonl"])
def test_the_output_may_not_be_an_input(command, output, capsys):
    words = [word.format("p.jsonl") for word in command]
    refused([*words, "-o", output], f"the output {output} would overwrite the input p.jsonl", capsys)


def test_standard_input_is_an_input_too(monkeypatch, capsys):
    with Path("p.jsonl").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        refused(
            ["encode", "-", "-o", "p.jsonl", "-m", UNREAD],
            "the output p.jsonl would overwrite the input /dev/fd/",
            capsys,
        )


def test_a_data_set_is_an_input_by_its_name(monkeypatch, capsys):
    monkeypatch.setenv("LIKEWISE_DATA", ".")
    refused(
        ["data", "mine", UNREAD, "p", "-o", "hard.jsonl"],
        "the output hard.jsonl would overwrite the input p.jsonl",
        capsys,
    )


@pytest.mark.parametrize(
    "words",
    [
        ["train", "model", "--data", "p.jsonl@contrastive"],
        ["train", "carried", "--data", "p.jsonl@contrastive"],
        ["model", "fuse", "model", "--pairs", "p.jsonl"],
    ],
)
def test_a_model_is_not_saved_over_the_one_it_is_made_of(words, monkeypatch, capsys):
    Path("model").mkdir()
    Path("model/modules.json").write_text("[]")
    monkeypatch.setattr("likewise.model_files.local_models", lambda: {"carried": Path("model")})
    refused([*words, "-o", "folder/model"], "the output folder/model would overwrite the input model", capsys)


@pytest.mark.parametrize("record", ["hard.jsonl", "out/log.jsonl"])
def test_training_adds_no_lines_to_its_data(record, capsys):
    Path("out").mkdir()
    os.link("p.jsonl", "out/log.jsonl")
    words = ["train", UNREAD, "--data", "p.jsonl@contrastive", "-o", "out" if record.startswith("out") else "new"]
    refused([*words, "--record", "hard.jsonl"], f"the output {record} would overwrite the input p.jsonl", capsys)


@pytest.mark.parametrize(
    "words",
    [
        ["encode", "p.jsonl", "-m", UNREAD, "-o", "other.jsonl/v.npy"],
        ["data", "mine", UNREAD, "p.jsonl", "-o", "other.jsonl/m.csv"],
        ["train", UNREAD, "--data", "p.jsonl@contrastive", "-o", "other.jsonl"],
        ["train", UNREAD, "--data", "p.jsonl@contrastive", "-o", "other.jsonl/deeper"],
        ["train", UNREAD, "--data", "p.jsonl@contrastive", "-o", "new", "--record", "other.jsonl/runs.jsonl"],
        ["model", "fuse", UNREAD, "--pairs", "p.jsonl", "-o", "other.jsonl"],
        ["model", "dissect", UNREAD, "-o", "other.jsonl/pictures"],
        ["evaluate", UNREAD, "--plot", "other.jsonl/plot.png"],
    ],
)
def test_a_place_that_cannot_be_written_is_reported_before_the_work(words, capsys):
    if words[0] in ("dissect", "evaluate"):
        pytest.importorskip("matplotlib")
    refused(words, "other.jsonl", capsys)
    assert not Path("new").exists()


def test_encoding_writes_through_a_link(folders, capsys):
    Path("far").mkdir()
    Path("v.jsonl").symlink_to("far/v.jsonl")
    assert main(["encode", "p.jsonl", "-o", "v.jsonl", "-m", str(folders("bert")), "-q"]) == 0
    assert Path("v.jsonl").is_symlink() and len(Path("far/v.jsonl").read_text().splitlines()) == 2


def test_a_stray_quote_gives_no_vectors(folders, capsys):
    Path("q.csv").write_text('id,text\n1,one\n2,"unclosed\n3,three\n')
    told = "q.csv: a quote in the row on line 3 is never closed"
    refused(["encode", "q.csv", "-o", "v.npy", "-m", str(folders("bert"))], told, capsys)
    refused(["train", str(folders("bert")), "--data", "q.csv@contrastive", "--dry-run"], told, capsys)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["model", "dissect", UNREAD, "-o", "new"], "pictures"),
        (["choose", UNREAD, "other", "--data", "p.jsonl", "--plot", "p.png"], "plots"),
        (["evaluate", UNREAD, "--tasks", "mr", "--plot", "p.png"], "plots"),
    ],
)
def test_a_plot_without_matplotlib_says_what_to_install(words, what, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused(words, f"drawing {what} needs the package matplotlib", capsys)


@pytest.mark.parametrize(("encoding", "shown"), [("utf-8", "é × 🙂"), ("ascii", "\\u00e9 \\u00d7 \\ud83d\\ude42")])
def test_json_is_the_same_json_in_any_encoding(encoding, shown, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    print_json({"text": "é × 🙂"}, indent=None)
    stream.flush()
    text = stream.buffer.getvalue().decode(encoding)
    assert shown in text and json.loads(text) == {"text": "é × 🙂"}


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        ({"json": True}, '{\n  "a": 1\n}\n'),
        ({"json": True, "quiet": True}, '{\n  "a": 1\n}\n'),
        ({"json": False}, "one\n"),
        ({"json": False, "quiet": False}, "one\n"),
        ({"json": False, "quiet": True}, ""),
    ],
)
def test_a_result_is_json_or_words_or_nothing(options, printed, capsys):
    print_result(Namespace(**options), {"a": 1}, "one")
    assert capsys.readouterr().out == printed
    print_json({"a": 1})
    assert capsys.readouterr().out == '{\n  "a": 1\n}\n'
