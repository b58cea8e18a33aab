"""likewise train, from a file to a saved model: what is asked for, done, said and refused."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import likewise
from likewise.cli import main
from likewise.cli.train import build
from likewise.data.column_names import ColumnNames
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.train.data.schedule import DataSource
from likewise.train.data.sources import read_rows
from likewise.train.objectives import OBJECTIVES, RERANKER_OBJECTIVES, CoSENT, Layerwise
from likewise.train.output.callbacks import TIMING_FIELDS, read_log
from likewise.train.settings import TrainSettings
from tests.train.run_trainer import run_trainer

PAIRS = [("a cat sleeps", "the cat naps", 4.5), ("dogs bark", "the dog is on", 3.0), ("rain falls", "a cat", 0.5)]
HEAD = "question,answer,likeness\n"


@pytest.fixture
def place(tmp_path, own, monkeypatch):
    """A folder with a model, pairs and pairs to measure on; the current one."""
    monkeypatch.chdir(tmp_path)
    own().rename(tmp_path / "tiny")
    lines = [f"{a} {i},{b} {i},{score}\n" for i in range(8) for a, b, score in PAIRS]
    (tmp_path / "pairs.csv").write_text(HEAD + "".join(lines))
    (tmp_path / "more.csv").write_text("first,second,score\n" + "".join(f"{a},{b},{s}\n" for a, b, s in PAIRS))
    (tmp_path / "dev.csv").write_text("sentence1,sentence2,score\n" + "".join(f"{a},{b},{s}\n" for a, b, s in PAIRS))
    return tmp_path


NAMES = ["--columns", "sentence1=question,sentence2=answer,score=likeness/5"]
RUN = ["--batch-size", "8", "--learning-rate", "1e-3", "--threads", "1", "--device", "cpu"]
FLAGS = ["--data", "pairs.csv@regression", *NAMES, *RUN]


def test_an_empty_name_for_the_record_is_refused_before_the_training(place, capsys):
    assert main(["train", "tiny", *FLAGS, "--max-steps", "1", "-o", "out", "--record", ""]) == 2
    assert "is a folder; expected the name of a file" in capsys.readouterr().err and not (place / "out").exists()


def test_a_run_leaves_a_model_with_its_log_record_card_and_line_and_no_checkpoint(place, capsys, json_output):
    command = ["train", "tiny", *FLAGS, "--dev", "dev.csv", "--epochs", "2", "-o", "out", "--record", "runs.jsonl"]
    command += ["--gradient-checkpointing"]
    assert main(command) == 0
    told = capsys.readouterr()
    assert "dev.csv spearman × 100:" in told.out and "saved in out" in told.out
    assert TorchEmbedder.load("out").encode(["a cat"]).shape == (1, 32)
    record = json.loads((place / "out/run.json").read_text())
    assert record["result"]["steps"] == 6 and record["run"]["learning_rate"] == 1e-3
    assert record["run"]["gradient_checkpointing"] is True
    assert record["data"][0]["rows"] == 24 and len(record["data"][0]["sha256"]) == 64
    assert [line["step"] for line in read_log(place / "out/log.jsonl")] == [0, 1, 2, 3, 4, 5, 6]
    assert "base_model" not in (place / "out/README.md").read_text()
    assert json.loads((place / "runs.jsonl").read_text())["backbone"] == "tiny"
    assert not (place / "out/checkpoints").exists()
    assert main(command) == 0
    assert "this run is already finished" in capsys.readouterr().err
    assert main([*command, "--seed", "1"]) == 2
    assert "another finished run: run.seed was 0 and is now 1" in capsys.readouterr().err
    assert json_output([*command, "--seed", "1", "--fresh", "--json"])["run"]["seed"] == 1


def test_the_columns_are_noted_and_scores_that_would_be_ignored_refused(place, capsys):
    command = ["train", "tiny", "--data", "more.csv@cosent", "--batch-size", "2", "--dry-run"]
    assert main(command) == 0
    expected = "the columns read from more.csv are sentence1=first, sentence2=second, score\n"
    assert expected in capsys.readouterr().err
    assert main([*command, "--quiet"]) == 0
    assert expected not in capsys.readouterr().err
    assert main(["train", "tiny", "--data", "more.csv@contrastive", "-o", "out"]) == 2
    assert "more.csv: Contrastive treats every row as a positive pair" in capsys.readouterr().err
    assert not (place / "out").exists()


def test_a_run_that_was_interrupted_says_how_to_go_on_and_does(place, capsys, monkeypatch):
    command = ["train", "tiny", *FLAGS, "--max-steps", "6"]
    assert main([*command, "-o", "whole"]) == 0
    from likewise.train.output import callbacks

    shown = callbacks.ConsoleProgress.__call__

    def interrupt(self, state):
        shown(self, state)
        if state.step == 2:
            signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(callbacks.ConsoleProgress, "__call__", interrupt)
        assert main([*command, "-o", "out"]) == 130
    assert "stopped after step 2" in capsys.readouterr().err
    assert main([*command, "-o", "out"]) == 0
    assert "resuming after step 2" in capsys.readouterr().err
    assert (place / "out/model.safetensors").read_bytes() == (place / "whole/model.safetensors").read_bytes()
    logs = [
        [{k: v for k, v in line.items() if k not in TIMING_FIELDS} for line in read_log(place / name / "log.jsonl")]
        for name in ("out", "whole")
    ]
    assert logs[0] == logs[1]


def test_a_file_and_flags_say_the_same_and_flags_come_first(place, capsys, monkeypatch):
    (place / "run.toml").write_text(
        'model = "tiny"\noutput = "a"\nmax_steps = 2\nbatch_size = 8\nlearning_rate = 1e-3\n'
        'threads = 1\ndevice = "cpu"\nseed = 7\n'
        '[[data]]\nfile = "pairs.csv"\nobjective = {name = "regression"}\n'
        'columns = {sentence1 = "question", sentence2 = "answer", score = "likeness/5"}\nlicence = "CC0"\n'
    )
    assert main(["train", "run.toml", "--seed", "0"]) == 0
    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr("likewise.runtime.progress.SHOW_AFTER", -1.0)
        assert main(["train", "tiny", *FLAGS, "--max-steps", "2", "-o", "b", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert (place / "a/model.safetensors").read_bytes() == (place / "b/model.safetensors").read_bytes()
    assert "| CC0 |" in (place / "a/README.md").read_text()


def test_several_data_sets_have_an_objective_each(place, capsys):
    lines = [f"a cat {i}\tthe cat {i}\n" for i in range(16)]
    (place / "more.tsv").write_text("anchor\tpositive\n" + "".join(lines))
    (place / "scored.jsonl").write_text(
        "".join(json.dumps({"sentence1": f"a {i}", "sentence2": "the", "score": i}) + "\n" for i in range(16))
    )
    command = ["train", "tiny", "--data", "more.tsv@contrastive:temperature=0.1", "--data", "scored.jsonl@cosent"]
    assert main([*command, "--batch-size", "8", "--threads", "1", "-o", "out"]) == 0
    record = json.loads((place / "out/run.json").read_text())
    assert [one["objective"]["objective"] for one in record["data"]] == ["Contrastive", "CoSENT"]
    assert record["data"][0]["objective"]["temperature"] == 0.1


def test_objectives_are_listed_as_text_and_as_json(capsys, json_output):
    assert main(["train", "--list"]) == 0
    listed = capsys.readouterr().out
    objectives = json_output(["train", "--list", "--json"])
    assert [one["objective"] for one in objectives] == [*OBJECTIVES, *RERANKER_OBJECTIVES]
    assert all(one["purpose"] for one in objectives) and all(f"  {one['objective']}\n" in listed for one in objectives)
    (contrastive,) = (one for one in objectives if one["objective"] == "contrastive")
    assert contrastive["columns"]["texts"] == ["anchor", "positive"] and contrastive["options"]["temperature"] == 0.05


@pytest.mark.filterwarnings("default:stsb/train")  # 3 of 5,749 published rows
def test_what_a_model_has_read_by_name_is_kept_with_what_its_backbone_had(place, monkeypatch):
    (place / "data" / "stsb").mkdir(parents=True)
    (place / "data" / "stsb" / "train.csv").write_text((place / "dev.csv").read_text())
    monkeypatch.setenv("LIKEWISE_DATA", str(place / "data"))
    (place / "tiny" / "likewise.json").write_text('{"trained_on": ["nli"]}')
    named = ["--data", "stsb/train@regression", "--columns", "score=score/5", *FLAGS[4:]]
    assert main(["train", "tiny", *named, "-o", "out"]) == 0
    assert json.loads((place / "out/likewise.json").read_text()) == {"trained_on": ["nli", "stsb"]}
    assert (
        main(["train", "tiny", *FLAGS, "--max-steps", "1", "-o", "other"]) == 0
    )  # a file of one's own has no known name
    assert json.loads((place / "other/likewise.json").read_text()) == {"trained_on": ["nli"]}
    (place / "tiny" / "likewise.json").unlink()
    assert main(["train", "tiny", *FLAGS, "--max-steps", "1", "-o", "other", "--fresh"]) == 0
    assert not (place / "other/likewise.json").exists()  # it would tell of the run before


def test_a_dry_run_shows_the_plan_and_a_batch_and_writes_nothing(place, capsys, json_output):
    before = sorted(place.rglob("*"))
    assert main(["train", "tiny", *FLAGS, "--dev", "dev.csv", "--lora-rank", "2", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "3, 3 per epoch" in told and "dev.csv, 3 pairs" in told and "[CLS]" in told and "Nothing was trained" in told
    assert sorted(place.rglob("*")) == before
    assert json_output(["train", "tiny", *FLAGS, "--dry-run", "--json"])["plan"]["steps"].startswith("3")


def test_a_dry_run_shows_what_only_a_file_can_set_and_some_known_positives(place, capsys):
    rows = [f"a cat,the cat {i}" for i in range(3)]
    (place / "faq.csv").write_text("\n".join(["anchor,positive", *rows, "rain,fog", ""]))
    (place / "run.toml").write_text("gradient_accumulation_steps = 2\nsave_steps = 0\n")
    command = ["train", "run.toml", "-m", "tiny", "--data", "faq.csv@contrastive", "--batch-size", "4", "--dry-run"]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert "; 2 batches per step\n" in told and "\ncheckpoints    one\n" in told
    assert "Candidates not used as negatives because they are known positives: 6 of 12:\n  row " in told
    assert told.count("\n  row ") == 1 + 4  # the head of the batch, and the first of the six
    (place / "run.toml").write_text("early_stopping_patience = 2\n")
    assert main(command) == 2
    assert "early_stopping_patience has no effect without an evaluator" in capsys.readouterr().err


def test_columns_of_the_evaluation_have_names_of_their_own(place, capsys):
    named = ["--dev", "more.csv", "--dev-columns", "sentence1=first,sentence2=second", "--dry-run"]
    assert main(["train", "tiny", *FLAGS, *named]) == 0
    assert "more.csv, 3 pairs" in capsys.readouterr().out


def test_an_interruption_at_once_says_where_a_checkpoint_may_be(place, monkeypatch, capsys):
    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("likewise.train.output.run_folder.run_in_folder", interrupted)
    assert main(["train", "tiny", *FLAGS, "--max-steps", "1", "-o", "out"]) == 130
    assert "stopped immediately; to resume from a checkpoint in out, if any" in capsys.readouterr().err


def test_a_dry_run_counts_pairs_without_a_score(place, capsys):
    (place / "faq.csv").write_text("anchor,positive\na cat,the cat\nrain,it rains\n")
    assert main(["train", "tiny", *FLAGS, "--dev", "faq.csv", "--dry-run"]) == 0
    assert "faq.csv, 2 pairs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "no model was given"),
        (["tiny", "--model", "other", *FLAGS], "two models were given, tiny and --model other; expected one"),
        (["tiny"], "no data was given"),
        (["tiny", *FLAGS], "no output was given"),
        (["tiny", "--data", "nope.csv@regression", "-o", "x"], "nope.csv does not exist"),
        (["tiny", "--data", "nope.csv@regression", "-o", "x", "--device", "gpu9"], "gpu9"),
        (["tiny", "--data", "nope/train@regression", "-o", "x"], "the data set 'nope/train' was not found"),
        (["tiny", "--data", "pairs.csv", "-o", "x"], "has no objective; expected --data pairs.csv@OBJECTIVE"),
        (["tiny", "--data", "pairs.csv", *NAMES, "-o", "x"], "that fit the columns sentence1, sentence2, score: regre"),
        (["tiny", "--data", "pairs.csv@regresion", "-o", "x"], "'regresion' is unknown; did you mean regression?"),
        (["tiny", "--data", "pairs.csv@regression", "--columns", "score", "-o", "x"], "expected NAME=COLUMN"),
        (["tiny", *FLAGS, "--batch-size", "x", "-o", "x"], "batch_size is 'x'; expected a whole number"),
        (["tiny", *FLAGS, "--dev", "more.csv", "-o", "x"], "no column 'sentence1'"),
        (["tiny", *FLAGS, "-o", "pairs.csv"], "pairs.csv"),
        (["nope.toml"], "nope.toml does not exist"),
        (["no-such-model", *FLAGS, "-o", "x"], "no-such-model"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line_and_nothing_is_written(args, said, place, capsys):
    before = sorted(place.rglob("*"))
    assert main(["train", *args]) == 2
    assert said in capsys.readouterr().err
    assert sorted(place.rglob("*")) == before


TINY = 'model = "tiny"\noutput = "out"\n'
GOOD = '[[data]]\nfile = "pairs.csv"\nobjective = "regression"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bacth_size = 8", "unknown setting 'bacth_size'; did you mean batch_size?"),
        ("num_epochs = 8", "unknown setting 'num_epochs'; did you mean epochs?"),
        (
            "learning_rat = 1e-4\nzzz = 1\nyyy = 2",
            "unknown setting 'learning_rat'; did you mean learning_rate? "
            "unknown setting 'zzz', 'yyy'; the settings are model, ",
        ),
        ("batch_size = 'x'", "batch_size is 'x'; expected a whole number"),
        (GOOD + "[[data]]\n", "run.toml, data 2: expected file and objective; found nothing"),
        (TINY + "dev_columns = {sentence1 = 'a'}\n" + GOOD, "--dev-columns requires --dev FILE"),
        (TINY + "poly_codes = 3\n" + GOOD, "poly_codes has no effect with --kind embedder"),
        ("batch 8", "is not valid TOML"),
        ("data = 3", "data is 3; expected tables"),
        ('[[data]]\nfile = "pairs.csv"\nobjectiv = "cosent"', "did you mean objective?"),
        ('[[data]]\nfile = "pairs.csv"', "expected file and objective"),
    ],
)
def test_what_a_file_says_wrongly_is_told(text, said, place, capsys):
    (place / "run.toml").write_text(text)
    assert main(["train", "run.toml"]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "flags", "said"),
    [
        ("batch_size = 'x'", ["--seed", "1"], "run.toml: batch_size is 'x'"),
        (
            GOOD,
            ["--where", "likeness>1", *NAMES],
            "--columns, --where on the command line would have no effect: the data in run.toml have",
        ),
        (GOOD, ["--learning-rate", "fast"], "the command line: learning_rate is 'fast'"),
    ],
)
def test_neither_file_nor_flags_are_blamed_or_lost_for_the_other(text, flags, said, place, capsys):
    (place / "run.toml").write_text(text)
    assert main(["train", "run.toml", *flags]) == 2
    assert said in capsys.readouterr().err


def test_under_torchrun_two_processes_make_one_run_and_one_speaks(place):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "likewise"]
    asked = ["train", "tiny", *FLAGS, "--dev", "dev.csv", "--max-steps", "4", "--record", "runs.jsonl", "-o", "out"]
    env = {**os.environ, "PYTHONPATH": str(Path(likewise.__file__).parents[1])}
    made = subprocess.run([*command, *asked], env=env, capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr[-3000:]
    assert made.stdout.count("saved in out") == 1 and made.stderr.count("before training:") == 1
    assert [line["step"] for line in read_log(place / "out/log.jsonl")] == [0, 1, 2, 3, 4]
    assert len((place / "runs.jsonl").read_text().splitlines()) == 1
    assert TorchEmbedder.load("out").encode(["a cat"]).shape == (1, 32) and not (place / "out/checkpoints").exists()


def test_layers_of_an_objective_are_layers_of_the_model_and_what_is_saved_is_the_model(place, capsys, json_output):
    """Not the parts of one vector: every block's weights change, and the pooled vector keeps its width."""
    command = ["train", "tiny", *FLAGS, "--dev", "dev.csv", "--max-steps", "2", "--json"]
    command[command.index("pairs.csv@regression")] = "pairs.csv@cosent:layers=3"
    record = json_output([*command, "-o", "out"])
    assert record["data"][0]["objective"]["layers"] == 3 and record["model"]["width"] == 32
    python = TorchEmbedder.load("tiny", device="cpu")
    objective = Layerwise(CoSENT(), 3)
    found = read_rows(
        place / "pairs.csv", objective, ColumnNames(dict(part.split("=") for part in NAMES[1].split(",")))
    )
    run_trainer(
        python,
        [DataSource(found, objective)],
        TrainSettings(max_steps=2, batch_size=8, learning_rate=1e-3),
    )
    texts = ["a cat sleeps", "rain"]
    np.testing.assert_allclose(TorchEmbedder.load("out").encode(texts), python.eval().encode(texts), atol=1e-5)
    command[command.index("pairs.csv@cosent:layers=3")] = "pairs.csv@cosent:layers=5"
    assert main([*command, "-o", "other"]) == 2
    assert "layers is 5; the model has 4" in capsys.readouterr().err


@pytest.mark.parametrize("how", ["flag", "file"])
def test_a_training_has_the_threads_that_a_flag_or_a_file_gives_it(how, place, monkeypatch, capsys):
    import torch

    seen, start = [], build.training_job
    monkeypatch.setattr(build, "training_job", lambda *given: (seen.append(torch.get_num_threads()), start(*given))[1])
    (place / "threads.toml").write_text(
        'model = "tiny"\nthreads = 3\ndevice = "cpu"\nbatch_size = 3\n'
        '[[data]]\nfile = "pairs.csv"\nobjective = {name = "regression"}\n'
        'columns = {sentence1 = "question", sentence2 = "answer", score = "likeness/5"}\n'
    )
    command = {"flag": ["train", "tiny", *FLAGS, "--threads", "3"], "file": ["train", "threads.toml"]}[how]
    assert main([*command, "--dry-run"]) == 0, capsys.readouterr().err
    assert seen == [3] and torch.get_num_threads() != 3


@pytest.mark.parametrize("verb", ["train", "evaluate"])
@pytest.mark.parametrize("fails", [False, True])
def test_a_command_gives_the_thread_count_back(verb, fails, place, capsys):
    import torch

    device = "nowhere" if fails else "cpu"
    command = {
        "train": ["train", "tiny", *FLAGS, "--device", device, "--threads", "2", "--dry-run"],
        "evaluate": ["evaluate", "missing", "--tasks", "afs", "--no-cache", "--threads", "2", "--device", device],
    }[verb]
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        code = main(command)
        assert torch.get_num_threads() == 3 and code == (2 if fails or verb == "evaluate" else 0)
    finally:
        torch.set_num_threads(before)
    capsys.readouterr()


def test_train_and_evaluate_suggest_the_same_columns(place, capsys):
    (place / "qa.csv").write_text("q,a\nhow?,so\nwhy?,because\n")
    assert main(["train", "tiny", "--data", "qa.csv", "-o", "out"]) == 2
    of_train = capsys.readouterr().err
    assert main(["evaluate", "tiny", "--data", "qa.csv"]) == 2
    of_evaluate = capsys.readouterr().err
    suggested = "To rename columns: --columns anchor=q,positive=a"
    assert suggested in " ".join(of_train.split()) and suggested in " ".join(of_evaluate.split())
