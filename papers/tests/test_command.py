"""python -m papers: what it lists, refuses, writes and prints."""

import json

import pytest

from likewise.errors import DataNotFound
from papers.__main__ import main
from papers.tables import paper_tables
from papers.tests.reproduce.fake_tables import fake_table


@pytest.fixture
def table(monkeypatch):
    table = fake_table()
    monkeypatch.setitem(paper_tables.PAPER_TABLES, "fake", table)
    return table


def test_every_table_is_listed_with_its_line(capsys):
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == list(paper_tables.PAPER_TABLES)
    assert main(["--list", "--json"]) == 0
    assert "protocol" in json.loads(capsys.readouterr().out)["sbert-7"]


def test_a_table_is_written_as_page_plot_and_results_and_resumed(table, tmp_path, capsys):
    command = ["fake", "--seeds", "2", "-o", str(tmp_path), "-q"]
    assert main(command) == 0 and "fake.md: 3 rows" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {
        "ledger.jsonl",
        "fake.md",
        "fake.json",
        "fake.svg",
        "fake-dark.svg",
    }
    pages = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fake"] == json.loads(pages["fake.json"])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == pages
    assert table.system("trained").method.computed == [0, 1]


def test_what_is_missing_is_on_the_page_and_in_the_exit_code(table, tmp_path, capsys):
    table.system("own").method.error = DataNotFound("no such data")
    assert main(["fake", "-o", str(tmp_path), "-q"]) == 1
    assert "1 row not measured" in capsys.readouterr().out
    assert "- own, tiny: no such data" in (tmp_path / "fake.md").read_text()


def test_an_interrupted_run_says_that_it_goes_on(table, tmp_path, capsys):
    table.system("trained").method.error = KeyboardInterrupt()
    assert main(["fake", "-o", str(tmp_path)]) == 130
    assert "the same command resumes from it" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.jsonl"]


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["sbert-8"], "no table 'sbert-8'"),
        ([], "no table was given"),
        (["all", "--seeds", "0"], "--seeds is 0; expected 1 or more"),
        (["all", "--runs", "missing.jsonl"], "expected a list of runs"),
        (["all", "-o", "/proc/none"], "cannot be written"),
    ],
)
def test_what_cannot_work_is_refused_before_hours_of_computing(flags, why, capsys):
    assert main([*flags]) == 2
    assert why in capsys.readouterr().err


def test_without_any_model_or_data_it_says_so_and_fails(tmp_path, capsys, monkeypatch):
    for variable in ("LIKEWISE_DATA", "LIKEWISE_MODELS", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    assert main(["sbert-6", "--quick", "-q", "-o", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr()
    assert "0 rows, 12 rows not measured" in printed.out and "choose one with --model NAME" in printed.err
    assert "Nothing could be measured" in (tmp_path / "out" / "sbert-6.md").read_text()
    assert main(["sbert-6", "--quick", "--model", "likewise-mini", "-q", "-o", str(tmp_path / "out")]) == 1
    assert "the data set 'nli/train' was not found" in capsys.readouterr().err
