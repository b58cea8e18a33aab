"""Finished work is never lost or done twice, whenever the process is stopped, and what fails is named."""

import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from likewise.errors import BadInput, DataNotFound
from papers import ledger as ledger_module
from papers.ledger import Ledger, experiment_key
from papers.paper_table import Measured, System
from papers.run_tables import run_tables
from papers.tests.reproduce.fake_tables import EFFORT, FakeMethod, fake_table


def lines(folder):
    return [json.loads(line) for line in (folder / "ledger.jsonl").read_text().splitlines()]


def test_every_experiment_is_a_line_and_is_not_computed_again(tmp_path):
    table = fake_table()
    first = run_tables([table], EFFORT, tmp_path)
    assert first.computed == 4 == len(lines(tmp_path)) and not first.missing
    again = run_tables([fake_table()], EFFORT, tmp_path)
    assert again.computed == 0 and len(lines(tmp_path)) == 4
    assert [e["figures"] for _, e in again.finished["fake"]] == [e["figures"] for _, e in first.finished["fake"]]


def test_the_folder_of_an_experiment_stays_until_its_line_is_written_and_is_removed_then(tmp_path, monkeypatch):
    table, at_sync = fake_table(), []
    method = table.system("trained").method
    experiment = method.experiment("trained", 0)

    def compute(folder):
        folder.mkdir(parents=True)
        return experiment.compute(folder)

    monkeypatch.setattr(method, "experiments", lambda *_: [replace(experiment, compute=compute)])
    folders = tmp_path / "experiments"
    monkeypatch.setattr(ledger_module, "sync", lambda _: at_sync.append(folders.exists() and len([*folders.iterdir()])))
    run_tables([table], EFFORT, tmp_path)
    assert at_sync == [False, False, 1] and not folders.exists()


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_the_checkpoints_of_an_unfinished_experiment_stay_whatever_other_command_finishes(tmp_path, monkeypatch, error):
    table = fake_table()
    method = table.system("trained").method
    folders = []

    def compute(folder):
        folders.append(folder)
        (folder / "model").mkdir(parents=True)
        raise error

    failing = replace(method.experiment("trained", 0), compute=compute)
    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(method, "experiments", lambda *_: [failing])
        run_tables([table], EFFORT, tmp_path)
    run_tables([replace(table, systems=table.systems[:1])], EFFORT, tmp_path)
    assert (folders[0] / "model").exists()
    run_tables([table], EFFORT, tmp_path)
    assert not (tmp_path / "experiments").exists()


def test_models_as_they_are_come_before_those_that_are_trained(tmp_path):
    run = run_tables([fake_table()], EFFORT, tmp_path)
    assert [experiment.seed for experiment, _ in run.finished["fake"]] == [None, None, 0, 1]


def test_a_run_that_was_stopped_between_experiments_goes_on_there(tmp_path):
    table = fake_table()
    table.system("trained").method.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        run_tables([table], EFFORT, tmp_path)
    assert len(lines(tmp_path)) == 2
    after = fake_table()
    assert run_tables([after], EFFORT, tmp_path).computed == 2
    assert after.system("plain").method.computed == [] and after.system("trained").method.computed == [0, 1]


@pytest.mark.parametrize("kept", [0, 1, 7, -1])
def test_a_line_that_was_left_incomplete_is_computed_again_and_the_rest_stays(tmp_path, kept):
    run_tables([fake_table()], EFFORT, tmp_path)
    path = tmp_path / "ledger.jsonl"
    *whole, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole) + last[:kept])  # as a kill within a write leaves it
    assert run_tables([fake_table()], EFFORT, tmp_path).computed == 1
    assert len(lines(tmp_path)) == 4 and len({line["key"] for line in lines(tmp_path)}) == 4


@pytest.mark.parametrize("damaged", [b"\n", b"{\n", b"[]\n", b"\xff\n", b'{"key": "x\n'])
def test_a_damaged_line_within_the_ledger_costs_no_other_line(tmp_path, damaged):
    run_tables([fake_table()], EFFORT, tmp_path)
    path = tmp_path / "ledger.jsonl"
    first, _, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + damaged + b"".join(rest))
    assert run_tables([fake_table()], EFFORT, tmp_path).computed == 1
    kept = path.read_bytes()
    assert kept.startswith(first + damaged + b"".join(rest)) and len(kept.splitlines()) == 5
    assert run_tables([fake_table()], EFFORT, tmp_path).computed == 0


def test_a_process_killed_within_a_write_loses_that_line_alone(tmp_path):
    program = f"""
import os
from pathlib import Path
from papers import ledger
from papers.run_tables import run_tables
from papers.tests.reproduce.fake_tables import EFFORT, fake_table

def killed(handle, written=[]):
    written.append(handle)
    if len(written) == 3:
        os.ftruncate(handle, os.fstat(handle).st_size - 40)
        os._exit(9)

ledger.sync = killed
run_tables([fake_table()], EFFORT, Path({str(tmp_path)!r}))
"""
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True)
    assert done.returncode == 9, done.stderr.decode()
    assert len((tmp_path / "ledger.jsonl").read_bytes().splitlines()) == 3
    assert run_tables([fake_table()], EFFORT, tmp_path).computed == 2 and len(lines(tmp_path)) == 4


def test_what_cannot_be_computed_is_named_once_and_does_not_stop_the_rest(tmp_path):
    table = fake_table()
    missing = FakeMethod({"a": Measured(1.0)}, seeds=True, error=DataNotFound("no data here"))
    table = replace(table, systems=(*table.systems, System("without data", missing)))
    run = run_tables([table], EFFORT, tmp_path)
    assert run.missing == {"fake": [("without data", "tiny", "no data here")]} and run.computed == 4


def test_two_processes_do_not_write_one_ledger(tmp_path):
    with Ledger(tmp_path).writing(), pytest.raises(BadInput, match="choose another --output"):
        run_tables([fake_table()], EFFORT, tmp_path)


def test_another_seed_or_version_is_another_experiment(monkeypatch):
    method = FakeMethod({"a": Measured(1.0)}, seeds=True)
    keys = {experiment_key(method.experiment("x", seed)) for seed in (0, 1, None)}
    keys |= {experiment_key(method.experiment("y", 0)), experiment_key(replace(method.experiment("x", 0), quick=True))}
    monkeypatch.setattr(ledger_module, "__version__", "9.9")
    assert len(keys | {experiment_key(method.experiment("x", 0))}) == 6


def test_a_row_that_no_local_model_can_measure_is_missing_and_says_how_to_name_one(tmp_path, monkeypatch):
    table = fake_table()
    monkeypatch.setattr(table.system("own").method, "experiments", lambda *_: [])
    run = run_tables([table], EFFORT, tmp_path)
    assert [(system, where) for system, where, _ in run.missing["fake"]] == [("own", "–")]
    assert "choose one with --model NAME" in run.missing["fake"][0][2]
