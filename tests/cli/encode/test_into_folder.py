"""`likewise encode … -o FOLDER` and `likewise verify`."""

import argparse
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from likewise.cli.encode import into_folder
from likewise.cli.main import main
from likewise.embedder import Embedder
from likewise.native.threads import thread_count
from tests.distribute.outputs import content, numbered

MODEL = ("-m", "likewise-static", "--engine", "numpy")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    numbered(Path("a.jsonl"), 5)
    Path("more").mkdir()
    Path("more/b.csv").write_text("id,text\nx,the red sea\ny,a stone bridge\n")
    Path("more/notes.pdf").write_text("no texts")
    return tmp_path


def encode(*options):
    return main(["encode", "a.jsonl", "more", "-o", "out/", "--id", "id", "--shard-rows", "3", *MODEL, *options])


def test_files_and_folders_become_shards_and_the_summary_says_so(here, capsys):
    assert encode("--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["rows"], summary["shards"], summary["made"]) == (7, 3, 3)
    assert summary["origin"]["model"] == "likewise-static"
    assert pq.read_table("out/shards")["id"].to_pylist() == ["n0", "n1", "n2", "n3", "n4", "x", "y"]


def test_verify_ends_with_1_and_encode_makes_the_damaged_shard_again(here, capsys):
    encode("-q")
    before = content(Path("out"))
    shard = Path("out/shards/000001.parquet")
    shard.write_bytes(shard.read_bytes()[::-1])
    assert main(["verify", "out", "-q", "-k", "0", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert list(found["damaged"]) == ["1"] and not found["is_clean"]
    assert encode() == 0
    assert "out/shards/000001.parquet has changed" in capsys.readouterr().err
    assert content(Path("out")) == before


@pytest.mark.parametrize(("option", "least"), [("-k", -1), ("--seed", -1)])
def test_verify_refuses_negative_numbers(option, least, here, capsys):
    assert main(["verify", "out", option, str(least)]) == 2
    assert f"{option} is -1; expected a whole number, 0 or more" in capsys.readouterr().err


def test_progress_is_shown_unless_the_command_is_quiet(here, monkeypatch, capsys):
    monkeypatch.setattr("likewise.runtime.progress.SHOW_AFTER", -1.0)
    for command in (["encode", "a.jsonl", "-o", "v.npy", *MODEL], ["encode", "a.jsonl", "-o", "out", *MODEL]):
        assert main([*command, "-q"]) == 0
        assert capsys.readouterr().err == ""
        assert main([*command, *["--fresh"] * (command[3] == "out")]) == 0
        assert "5 of 5 texts" in capsys.readouterr().err
    assert main(["verify", "out", "-q"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["verify", "out"]) == 0
    assert "5 of 5 texts" in capsys.readouterr().err


def test_verify_loads_the_model_with_the_options_of_encode(here):
    assert encode("-q", "--pooling", "max", "--truncate-dim", "32") == 0
    assert json.loads(Path("out/manifest.json").read_text())["origin"]["width"] == 32
    assert main(["verify", "out", "-q"]) == 0


def test_verify_refuses_another_model_and_names_both(here, capsys):
    encode("-q")
    assert main(["verify", "out", "-q", "-m", "likewise-mini"]) == 2
    error = capsys.readouterr().err
    assert "out holds vectors of likewise-static (fingerprint " in error and "; got likewise-mini (" in error


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["a.jsonl", "-o", "v.npy", "--id", "id"], "--id requires a folder as output, but v.npy is a file"),
        (["a.jsonl", "more", "-o", "v.npy"], "more than one source requires a folder as output"),
        (["a.jsonl", "-o", "v.npy", "--bad-rows", "skip"], "--bad-rows requires a folder as output"),
        (["more", "-o", "v.npy"], "the folder more requires a folder as output, but v.npy is a file (use -o NAME/)"),
        (["more/*.csv", "-o", "v.npy"], "the pattern more/*.csv requires a folder as output"),
        (["-", "-o", "out"], "standard input cannot be read twice"),
        (["a.jsonl", "-o", "out", "--shard-rows", "0"], "--shard-rows is 0; expected a whole number, 1 or more"),
        (["a.jsonl", "-o", "out", "--workers", "0"], "--workers is 0; expected a whole number, 1 or more"),
        (["a.jsonl", "-o", "out", "--ray", "--cache", "c"], "--cache works on one machine only"),
        (["a.jsonl", "-o", "a.jsonl/"], "a.jsonl"),
        (["nowhere", "-o", "out"], "nowhere does not exist"),
        (["nowhere.csv", "-o", "v.npy"], "nowhere.csv does not exist"),
        (["more/notes.pdf", "-o", "out"], "ends in '.pdf'"),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_model_is_loaded(here, capsys, options, words):
    assert main(["encode", *options, "-m", "no-such-model"]) == 2
    assert words in capsys.readouterr().err
    assert not Path("out").exists()


def test_rows_without_a_text_are_errors_or_are_left_out_and_counted(here, capsys):
    Path("bad.jsonl").write_text('{"id": "a", "text": "a cat"}\n{"id": "b"}\n')
    command = ["encode", "bad.jsonl", "-o", "out", *MODEL]
    assert main(command) == 2
    assert "bad.jsonl, line 2" in capsys.readouterr().err
    assert main([*command, "--bad-rows", "skip"]) == 0
    assert "1 row was left out" in capsys.readouterr().err


@pytest.mark.parametrize("again", [(), ("--fresh",)])
def test_an_output_within_a_source_is_no_source(here, capsys, again):
    command = ["encode", "more", "-o", "more/out", *MODEL]
    assert main(command) == 0
    before = content(Path("more/out"))
    assert main([*command, *again]) == 0
    assert "skipped 1 .parquet: they are in the output folder" in capsys.readouterr().err
    assert content(Path("more/out")) == before
    assert main(["encode", "more/out", "-o", "more/out", "--fresh", *MODEL]) == 2
    assert "all sources are in the output folder more/out" in capsys.readouterr().err
    assert content(Path("more/out")) == before


def test_only_columns_that_some_source_has_can_be_kept(here, capsys):
    Path("c.csv").write_text("text,year,lang\na cat,2020,en\n")
    assert main(["encode", "c.csv", "-o", "out", "--keep", "yaer", *MODEL]) == 2
    error = "there is no column 'yaer' to keep in any source; the columns are text, year, lang"
    assert error in capsys.readouterr().err and not Path("out").exists()
    assert main(["encode", "c.csv", "a.jsonl", "-o", "out", "--keep", "lang, year", "-q", *MODEL]) == 0
    columns = json.loads(Path("out/manifest.json").read_text())["plan"]["columns"]
    assert [column["name"] for column in columns] == ["year", "lang"]


def test_a_name_without_an_ending_is_a_folder_and_one_with_an_unknown_ending_is_refused(here, capsys):
    assert main(["encode", "a.jsonl", "-o", "plain", "-q", *MODEL]) == 0
    assert Path("plain/manifest.json").is_file()
    assert main(["encode", "a.jsonl", "-o", "some.thing", *MODEL]) == 2
    assert "some.thing ends in '.thing'" in capsys.readouterr().err
    assert main(["encode", "a.jsonl", "-o", "some.thing/", "-q", *MODEL]) == 0


@pytest.mark.parametrize(("device", "kind", "gpus"), [("cuda:1", "cuda", 1), ("cpu", "cpu", 0)])
def test_a_ray_actor_uses_the_one_gpu_that_ray_shows_it(device, kind, gpus, monkeypatch):
    calls = []
    ray_cluster = SimpleNamespace(in_ray=lambda *arguments: calls.append(arguments))
    monkeypatch.setitem(sys.modules, "likewise.distribute.workers.ray_cluster", ray_cluster)
    options = dict.fromkeys(("pooling", "max_seq_length", "truncate_dim", "cache"))
    args = argparse.Namespace(model="m", engine="torch", device=device, precision="bf16", ray="local", **options)
    into_folder._encode_shards(args, SimpleNamespace(device=device), 3)
    [(choice, address, actors, gpus_per_actor)] = calls
    assert (choice.options["device"], choice.options["precision"]) == (kind, "bf16")
    assert (address, actors, gpus_per_actor) == (None, 3, gpus)


def test_several_workers_load_the_model_and_one_uses_the_loaded_one(monkeypatch):
    for name in ("encode.in_this_process", "workers.processes.in_workers"):
        monkeypatch.setattr(f"likewise.distribute.{name}", lambda *arguments: arguments)
    options = dict.fromkeys(("pooling", "max_seq_length", "truncate_dim", "ray"))
    args = argparse.Namespace(model="m", engine="torch", device="cpu", precision="bf16", cache="c", **options)
    assert [into_folder._encode_shards(args, "loaded", workers) for workers in (None, 1)] == [("loaded", "c")] * 2
    choice, *rest = into_folder._encode_shards(args, "loaded", 2)
    assert (choice.name, rest) == ("m", [2, thread_count(), "c"])


def test_a_folder_that_cannot_be_opened_is_an_error(here, monkeypatch, capsys):
    scandir = os.scandir

    def refusing(path):
        if str(path).endswith("more"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert main(["encode", ".", "-o", "out/", *MODEL]) == 2
    assert "more cannot be opened: Permission denied" in capsys.readouterr().err


def test_a_model_s_folder_is_recorded_so_that_it_is_found_from_anywhere(here, capsys):
    Embedder.load("likewise-static", engine="numpy").save("mine")
    assert main(["encode", "a.jsonl", "-o", "out/", "-m", "mine", "--engine", "numpy", "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["origin"]["model"] == str(here / "mine")
