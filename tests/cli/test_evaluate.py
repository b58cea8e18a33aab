"""likewise evaluate: tables, exit codes, and a run that goes on where it was stopped."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from likewise.cli import main
from likewise.data import datasets
from likewise.evaluate.tasks.registry import SUITES, TASKS
from tests.evaluate.toys import LOST, ONE, TWO, read, task

MODEL = "tests.evaluate.toys:Counting"


@pytest.fixture(autouse=True)
def toys(monkeypatch, tmp_path):
    """The toys are the tasks that there are."""
    before = [(TASKS, dict(TASKS)), (SUITES, dict(SUITES))]
    for known in (TASKS, SUITES):
        known.clear()
    TASKS.update({one.name: one for one in (ONE, TWO, LOST)})
    SUITES.update(sts=("one", "two"), other=("lost",))
    monkeypatch.setattr(datasets, "read_dataset", read)
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "cache"))
    yield
    for known, entries in before:
        known.clear()
        known.update(entries)


def test_the_table_is_printed_and_the_second_run_is_read_from_disk(capsys, json_output):
    assert main(["evaluate", MODEL]) == 0
    first = capsys.readouterr().out
    assert "average sts" in first
    records = json_output(["evaluate", MODEL, "--json"])
    assert all(cell["cached"] for cell in records["cells"])
    again = json_output(["evaluate", MODEL, "--json", "--no-cache"])
    assert not any(cell["cached"] for cell in again["cells"])
    assert [cell["scores"] for cell in again["cells"]] == [cell["scores"] for cell in records["cells"]]


def test_a_missing_cell_is_exit_code_1_and_the_others_are_shown(capsys):
    assert main(["evaluate", MODEL, "--tasks", "all"]) == 1
    shown = capsys.readouterr().out
    assert "– lost: its data set is not on this machine" in shown
    assert "one " in shown


def test_two_models_are_compared_and_drawn(tmp_path, capsys):
    plot = tmp_path / "scores.png"
    argv = ["evaluate", MODEL, "tests.evaluate.toys:Fitting", "--compare", "--plot", str(plot)]
    assert main(argv) == 0
    out, err = capsys.readouterr()
    assert "A is Counting" in out.replace("tests.evaluate.toys:", "")
    assert plot.is_file() and err.endswith(f"plot: {plot}\n")


def test_the_first_of_three_models_is_compared_with_each_other_one(capsys, json_output):
    others = ["tests.evaluate.toys:Fitting", "tests.evaluate.toys:Likewise"]
    argv = ["evaluate", MODEL, *others, "--compare"]
    assert main(argv) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for other in others:
        assert f"A is {MODEL}, B is {other}." in shown
    assert shown.count("McNemar: exact test.") == 1
    told = json_output([*argv, "--json"])
    assert [*told["comparisons"]] == others and "comparison" not in told
    assert json_output([*argv[:3], *argv[4:], "--json"])["comparison"] == told["comparisons"][others[0]]


def test_tasks_are_listed_with_the_state_of_their_data(capsys, json_output, monkeypatch):
    TASKS.clear()
    SUITES.clear()
    TASKS["none"] = task("none", "stsb/test", "made")
    SUITES["made"] = ("none",)
    monkeypatch.delenv("LIKEWISE_DATA", raising=False)
    assert main(["evaluate", "--list"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("made\n  none                   toy pairs none  [stsb/test missing]\n")
    assert shown.endswith("\n\nTo see which data is missing and how to get it: likewise data list\n")
    assert "\nall\n  every task except those in " in shown
    assert json_output(["evaluate", "--list", "--json"])[0]["data"] == {"stsb/test": "missing"}


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--tasks", "stsx"], "there is no task or suite 'stsx'"),
        ([MODEL, "--compare"], "--compare needs at least two models; got 1"),
        ([MODEL, MODEL, "--compare", "--csv"], "--csv prints scores and no comparisons"),
        ([MODEL, "--seed", "-1"], "the seed is -1; expected an integer from 0 to 4294967295"),
        ([MODEL, "--plot", "x.gif"], "expected an output file that ends in .png, .pdf, .svg"),
        (["no-such-model", "-q"], "there is no model 'no-such-model'"),
        (["no-such-model", "-q", "--device", "gpu9"], "gpu9"),
        (["tests.evaluate.toys:nothing"], "cannot be imported"),
        (
            ["tests.evaluate.broken_module:encode"],
            "broken_module:encode cannot be imported: RuntimeError: a bug of its own (",
        ),
        (["tests.evaluate.toys:Unmakeable"], "toys:Unmakeable cannot be imported: KeyError: 'x' ("),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(argv, message, capsys):
    assert main(["evaluate", *argv]) == 2
    assert message in capsys.readouterr().err


def test_stopping_keeps_what_is_there(monkeypatch, capsys):
    def stop(encode, read, settings, *, name):
        raise KeyboardInterrupt

    TASKS["two"] = task("two", "pairs/two", run=stop)
    monkeypatch.setattr("likewise.runtime.progress.SHOW_AFTER", -1)
    assert main(["evaluate", MODEL]) == 130
    shown = capsys.readouterr()
    assert "\n\nlikewise: interrupted" in shown.err and "repeat the same command" in shown.err
    assert [line.startswith("one ") for line in shown.out.splitlines() if " ± " in line][:1] == [True]
    assert "– two: not reached before the end of the run" in shown.out
    assert main(["evaluate", MODEL, "--json", "-q"]) == 130
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert cells[0]["scores"] and cells[1]["error"] == "not reached before the end of the run"
    TASKS["two"] = TWO
    assert main(["evaluate", MODEL, "--json"]) == 0
    shown = capsys.readouterr()
    assert [cell["cached"] for cell in json.loads(shown.out)["cells"]] == [True, False]
    assert re.search(r"\n2 of 2 in 0:\d\d, 1 from the cache\n$", shown.err)


def test_sigterm_shows_what_is_there_too(capsys):
    def end(encode, read, settings, *, name):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)

    TASKS["two"] = task("two", "pairs/two", run=end)
    try:
        assert main(["evaluate", MODEL]) == 128 + signal.SIGTERM
    finally:
        TASKS["two"] = TWO
    shown = capsys.readouterr()
    assert "– two: not reached" in shown.out and "stopped by SIGTERM" in shown.err


def test_help_and_the_public_names_load_no_torch():
    code = (
        "import sys; from likewise.cli.main import parser; parser(); import likewise.evaluate as e\n"
        "from likewise.evaluate import evaluate, TASKS, SUITES, EvaluationSettings, Result, Evidence, format_report\n"
        "heavy = {'torch', 'transformers', 'scipy', 'sklearn', 'pandas', 'matplotlib', 'mteb'} & set(sys.modules)\n"
        "assert not heavy, heavy; assert set(e.__all__) == set(dir(e))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_own_data_are_evaluated_alone_or_with_tasks(tmp_path, monkeypatch, capsys, json_output):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "faq.csv").write_text("question,answer,rating\nword 1,word 2,3\nword 2,word 4,1\nword 5,word 6,2\n")
    own = ["--data", "faq.csv", "--columns", "sentence1=question,sentence2=answer,score=rating/5"]
    twice = ["evaluate", MODEL, *own, *own[:2], "--json"]
    assert [cell["task"] for cell in json_output(twice)["cells"]] == ["faq.csv"]
    assert main(["evaluate", MODEL, *own, "--tasks", "one", "--json"]) == 0
    assert [cell["task"] for cell in json.loads(capsys.readouterr().out)["cells"]] == ["one", "faq.csv"]
    assert main(["evaluate", MODEL, *own[:2]]) == 2
    assert "expected sentence1, sentence2, score" in capsys.readouterr().err
    assert main(["evaluate", MODEL, *own[2:]]) == 2
    assert "--data FILE, which was not given" in capsys.readouterr().err
