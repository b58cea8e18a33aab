"""`likewise serve`: what is refused before anything is bound, and the keys."""

import os
import sys

import pytest

pytest.importorskip("uvicorn")

from likewise.cli import serve
from likewise.cli.main import main
from likewise.search.collection import Collection
from likewise.serve.api_keys import KeyRing
from likewise.serve.serve_settings import ServeSettings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workers", "0"], "--workers"),
        (["--port", "70000"], "--port"),
        (["--port", "65536"], "--port is 65536; expected 0 to 65535"),
        (["--max-body", "0"], "--max-body"),
        (["--rate", "5"], "keys add NAME"),
        (["--max-body", "nan"], "--max-body is nan; expected a number above 0 and below 1e+12"),
        (["--deadline", "1e12"], "--deadline is 1000000000000.0; expected"),
        (["--deadline", "nan"], "--deadline"),
        (["--model-memory", "0"], "--model-memory is 0.0; expected"),
        (["--model-memory", "1e300"], "--model-memory"),
        (["--host", "0.0.0.0"], "keys add NAME"),
        (["--collections", "no/such/folder"], "no folder"),
        (["--keys", "no_such_keys.json"], "has no keys"),
        (["likewise-mini", "likewise-mini", "--port", "0"], "two models"),
        (["--host", "192.0.2.1", "--without-keys"], "cannot listen on"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["serve", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_workers_are_refused_where_processes_cannot_be_forked(monkeypatch, capsys):
    monkeypatch.delattr(os, "fork")
    assert main(["serve", "--workers", "2"]) == 2
    assert "this system cannot fork processes" in capsys.readouterr().err


@pytest.mark.parametrize("package", serve.PACKAGES)
def test_a_missing_package_is_named_with_the_command_that_installs_it(package, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["serve"]) == 2
    assert f"likewise serve needs the package {package}; install it with: pip install" in capsys.readouterr().err


def test_the_start_says_which_collections_were_found(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("likewise.serve.run_server.run_on", lambda *_, is_shared: None)
    command = ["serve", "--port", "0", "--collections", str(tmp_path)]
    assert main(command) == 0
    assert f"no collections in {tmp_path} yet" in capsys.readouterr().err
    with Collection.create(tmp_path / "pets.index", 2):
        pass
    assert main(command) == 0
    assert f"collections in {tmp_path}: pets.index" in capsys.readouterr().err
    assert main([*command, "--collections", str(tmp_path / "pets.index")]) == 2
    assert f"is itself a collection; pass the folder that contains it: {tmp_path}" in capsys.readouterr().err


def test_options_are_the_settings_of_the_server(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr("likewise.serve.run_server.run_on", lambda _, *given, is_shared: calls.append(given))
    (tmp_path / "one").mkdir()
    assert main(["serve", "--port", "0"]) == 0
    limits = [
        "--max-body",
        "1.5",
        "--model-memory",
        "2.5",
        "--max-texts",
        "7",
        "--max-requests",
        "6",
        "--deadline",
        "5",
    ]
    access = ["--allow-host", "a", "--allow-host", "b", "--allow-origin", "*", "--host", "localhost"]
    how = ["--engine", "numpy", "--precision", "int8", "--allow", "int8", "--log", "off", "--traces"]
    models = ["likewise-mini", "x=likewise-static", "--reranker", "r", "--collections", str(tmp_path / "one")]
    assert main(["serve", *models, "--port", "0", *limits, *access, *how]) == 0
    settings = ServeSettings(
        host="localhost", port=0, max_body=3 << 19, model_memory=2_500_000_000, max_texts=7, max_requests=6,
        deadline=5.0, engine="numpy", precision="int8", allow="int8", log="off", traces=True,
        allowed_hosts=("a", "b"), allowed_origins=("*",),
    )  # fmt: skip
    assert calls == [
        (["likewise-mini"], [], None, ServeSettings(port=0)),
        (["likewise-mini", "x=likewise-static"], ["r"], tmp_path / "one", settings),
    ]


def test_keys_are_added_listed_and_removed(capsys, tmp_path):
    file = ["--keys", str(tmp_path / "keys.json")]
    assert main(["serve", "keys", "add", "alice", "--rate", "90", *file]) == 0
    secret = capsys.readouterr().out.strip()
    assert KeyRing(tmp_path / "keys.json").of(secret).rate == 90
    assert main(["serve", "keys", "add", "bob", "--rate", "1", *file]) == 0
    assert main(["serve", "keys", "add", "carol", *file]) == 0
    capsys.readouterr()
    assert main(["serve", "keys", "list", *file]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed == [f"{who} requests per minute" for who in ("alice  90", "bob  1", "carol  any number of")]
    assert main(["serve", "keys", "remove", "alice", *file]) == 0
    assert main(["serve", "keys", "remove", "alice", *file]) == 2
    assert main(["serve", "keys", "add", "dave", "--rate", "0", *file]) == 2
    assert "--rate is 0.0; expected more than 0 requests per minute" in capsys.readouterr().err
    assert main(["serve", "keys", "turn", "alice", *file]) == 2
    assert "got: serve keys turn alice; expected one of these:\nHashes of" in capsys.readouterr().err


def test_the_default_file_of_keys_is_in_the_users_configuration(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert main(["serve", "keys", "add", "alice"]) == 0
    assert (tmp_path / "likewise" / "serve_keys.json").is_file()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_several_workers_are_processes_of_their_own(count, monkeypatch):
    calls = []
    monkeypatch.setattr("likewise.serve.workers.Supervisor.run", lambda parent: calls.append(parent._count) or 0)
    monkeypatch.setattr("likewise.serve.run_server.run_on", lambda *_, is_shared: calls.append(is_shared))
    assert main(["serve", "--workers", str(count), "--port", "0"]) == 0
    assert calls == ([False] if count == 1 else [count])
