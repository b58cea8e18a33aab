"""`train` in Python does as the command does; evaluators and what they are loaded from."""

import json
import shutil
import signal
import sys

import numpy as np
import pytest
import torch

from likewise import Embedder
from likewise.cli import main
from likewise.data.column_names import ColumnNames
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput
from likewise.evaluate import EvaluationSettings, data_task
from likewise.reranker import Reranker
from likewise.runtime.writer_lock import WriterLock
from likewise.train import TrainSettings, load_data, train
from likewise.train.evaluators import RetrievalEvaluator, SpearmanEvaluator, load_evaluator
from likewise.train.layers.early_exit import with_lower_layers
from likewise.train.objectives import RERANKER_OBJECTIVES
from likewise.train.output.callbacks import TIMING_FIELDS, read_log
from likewise.train.output.run_folder import train_in_folder
from likewise.train.run import training_job
from tests.train.run_trainer import load

PAIRS = [("a cat sleeps", "the cat naps", 4.5), ("dogs bark", "the dog is on", 3.0), ("rain falls", "a cat", 0.5)]
COLUMNS = {"sentence1": "question", "sentence2": "answer", "score": "likeness/5"}


@pytest.fixture
def place(tmp_path, own, monkeypatch):
    """A folder with a model, pairs and pairs to evaluate on; the current one."""
    monkeypatch.chdir(tmp_path)
    own().rename(tmp_path / "tiny")
    lines = [f"{a} {i},{b} {i},{score}\n" for i in range(8) for a, b, score in PAIRS]
    (tmp_path / "pairs.csv").write_text("question,answer,likeness\n" + "".join(lines))
    (tmp_path / "dev.csv").write_text("sentence1,sentence2,score\n" + "".join(f"{a},{b},{s}\n" for a, b, s in PAIRS))
    return tmp_path


def _settings(**more):
    return TrainSettings(**{"max_steps": 4, "batch_size": 8, "learning_rate": 1e-3, **more})


@pytest.mark.parametrize("family", ["bert", "mpnet", "modernbert", "albert"])
@pytest.mark.parametrize("more", [{}, {"ema_decay": 0.5}, {"evaluator": "dev.csv", "eval_steps": 1}])
def test_an_adapter_merged_with_its_base_is_the_finished_model(family, more, place, own):
    base = place / "base"
    own(family).rename(base)
    evaluator = more.get("evaluator")
    settings = _settings(lora_rank=2, **{key: value for key, value in more.items() if key != "evaluator"})
    train(base, load_data("pairs.csv", "regression", COLUMNS), settings, output="out", evaluator=evaluator)
    texts = ["a cat sleeps", "rain"]
    found, expected, before = (Embedder.load(one).encode(texts) for one in (place / "out/adapter", place / "out", base))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.abs(found - before).max() > 1e-5
    written = json.loads((place / "out/adapter/adapter_config.json").read_text())
    assert written.pop("target_modules") and written == {
        **{"peft_type": "LORA", "task_type": "FEATURE_EXTRACTION", "base_model_name_or_path": str(base)},
        **{"r": 2, "lora_alpha": 16.0, "bias": "none", "inference_mode": True},
    }


LOADED_OTHERWISE = [{"pooling": "cls"}, {"max_seq_length": 5}, {"truncate_dim": 8}]


@pytest.mark.parametrize("options", LOADED_OTHERWISE, ids=lambda options: next(iter(options)))
def test_an_adapter_records_how_the_model_differs_from_its_base(options, place):
    model = TorchEmbedder.load("tiny", precision="fp32", **options)
    train(model, load_data("pairs.csv", "regression", COLUMNS), _settings(lora_rank=2), output="out")
    text = "a cat sleeps and dogs bark while rain falls"
    adapter, whole = (Embedder.load(place / one, engine="torch") for one in ("out/adapter", "out"))
    found, expected = (one.encode([text], overflow="truncate") for one in (adapter, whole))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert adapter.describe() == whole.describe()


def test_an_adapter_is_not_written_if_it_would_not_describe_the_model(place, capsys):
    data = load_data("pairs.csv", "regression", COLUMNS)
    train("tiny", data, _settings(), output="whole")
    assert "no adapter/ is written" not in capsys.readouterr().err
    reranker = Reranker.start(load(place / "tiny"), seed=0)
    labelled = load_data("pairs.csv", "regression", COLUMNS, objectives=RERANKER_OBJECTIVES)
    train(reranker, labelled, _settings(lora_rank=2), output="head")
    changed = load(place / "tiny", precision="fp32")
    train(changed, data, _settings())
    train(changed, data, _settings(lora_rank=2), output="changed")
    pruned = with_lower_layers(load(place / "tiny", precision="fp32"), 2)
    train(pruned, data, _settings(lora_rank=2), output="pruned")
    shutil.copytree(place / "tiny", place / "moved")
    orphan = load(place / "moved", precision="fp32")
    (place / "moved").rename(place / "elsewhere")
    train(orphan, data, _settings(lora_rank=2), output="orphan")
    assert capsys.readouterr().err.count("no adapter/ is written") == 4
    assert not list(place.glob("*/adapter*"))


def _log(folder):
    return [{k: v for k, v in line.items() if k not in TIMING_FIELDS} for line in read_log(folder / "log.jsonl")]


def _record(folder):
    record = json.loads((folder / "run.json").read_text())
    del record["finished"], record["result"]["seconds"]
    return record


@pytest.fixture
def one_thread():
    """As many threads as the command is given, since sums of several have another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("one_thread")
def test_training_from_python_equals_the_command(place, capsys):
    data = load_data("pairs.csv", "cosent", COLUMNS)
    result = train("tiny", data, _settings(), output="python", evaluator="dev.csv")
    shown = capsys.readouterr().err
    assert "before training: dev.csv spearman" in shown and "step 4: dev.csv spearman" in shown
    command = ["train", "tiny", "--data", "pairs.csv@cosent", "--dev", "dev.csv", "--output", "command"]
    columns = ",".join(f"{name}={column}" for name, column in COLUMNS.items())
    flags = ["--max-steps", "4", "--batch-size", "8", "--learning-rate", "1e-3", "--columns", columns]
    flags += ["--threads", "1"]
    assert main([*command, *flags]) == 0
    ours, theirs = place / "python", place / "command"
    assert {p.name for p in ours.iterdir()} == {p.name for p in theirs.iterdir()}
    assert (ours / "model.safetensors").read_bytes() == (theirs / "model.safetensors").read_bytes()
    assert _log(ours) == _log(theirs) and [line["step"] for line in _log(ours)] == [0, 1, 2, 3, 4]
    assert _record(ours) == _record(theirs)
    assert result.steps == 4 and result.initial_scores == {"dev.csv spearman": pytest.approx(-0.5)}
    assert main([*command, *flags]) == 0 and main([*command[:-1], "python", *flags]) == 0  # finished: the same run
    assert "this run is already finished in python" in capsys.readouterr().err


@pytest.mark.usefixtures("place")
def test_the_weights_are_hashed_once_to_know_a_run(monkeypatch):
    hashed = []
    monkeypatch.setattr(TorchEmbedder, "fingerprint", property(lambda _: hashed.append(1) or "f" * 32))
    model, data = TorchEmbedder.load("tiny"), load_data("pairs.csv", "cosent", COLUMNS)
    job = training_job("tiny", model, [data], _settings(), None)
    assert job.backbone["fingerprint"] == job.identity["backbone"] == "f" * 32 and len(hashed) == 1


def test_a_folder_that_another_run_is_trained_into_is_refused(place):
    data, lock = load_data("pairs.csv", "cosent", COLUMNS), WriterLock(place)
    with pytest.raises(
        BadInput, match="only one can write at a time; wait until it ends, or train into another folder"
    ):
        train("tiny", data, _settings(), output=str(place))
    lock.release()
    train("tiny", data, _settings(), output=str(place))
    assert not (place / "lock").exists()


@pytest.mark.parametrize(
    ("settings", "callback", "left"),
    [
        ({"batch_size": -1}, None, None),
        ({}, 0, None),
        ({}, 2, ["log.jsonl"]),
        ({"save_steps": 1, "logging_steps": 9}, 2, ["checkpoints", "log.jsonl"]),
    ],
    ids=["settings", "before the first step", "later", "after a checkpoint"],
)
def test_a_run_that_fails_before_its_first_step_leaves_no_folder(settings, callback, left, place):
    def fail(state):
        if state.step == callback:
            raise BadInput("it fails here")

    data = load_data("pairs.csv", "cosent", COLUMNS)
    (place / "there").mkdir()
    for output in ("out", "there"):
        with pytest.raises(BadInput, match="it fails here|batch_size is -1"):
            train("tiny", data, _settings(**settings), output=output, evaluator="dev.csv", callbacks=[fail])
    assert (sorted(path.name for path in (place / "out").iterdir()) if (place / "out").exists() else None) == left
    assert (place / "there").exists()


def test_only_the_main_process_reports_an_interruption(place, capsys):
    data = load_data("pairs.csv", "regression", COLUMNS)
    for is_main in (True, False):
        model = load(place / "tiny", precision="fp32")
        job = training_job("tiny", model, [data], _settings(show_progress_bar=False), None)
        stop = [lambda _: signal.raise_signal(signal.SIGTERM)]
        assert train_in_folder(place / f"out-{is_main}", job, callbacks=stop, is_main=is_main).steps == 1
        assert ("stopping after this step" in capsys.readouterr().err) is is_main


def test_without_matplotlib_there_is_a_note_instead_of_a_curve(place, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "likewise.train.output.curve", None)
    train("tiny", load_data("pairs.csv", "regression", COLUMNS), _settings(), output="out")
    assert "curve.png needs matplotlib: pip install" in capsys.readouterr().err
    assert (place / "out/README.md").exists() and not (place / "out/curve.png").exists()


def test_a_finished_run_gives_the_model_its_weights(place):
    data = load_data("pairs.csv", "cosent", COLUMNS)
    first, second = (load("tiny", precision="fp32") for _ in range(2))
    done = train(first, data, _settings(show_progress_bar=False), output="out")
    again = train(second, data, _settings(show_progress_bar=False), output="out")
    assert again == done and (first.encode(["a cat"]) == second.encode(["a cat"])).all()


def test_a_finished_run_is_not_recognized_in_a_folder_that_another_model_was_saved_into(place):
    data = load_data("pairs.csv", "cosent", COLUMNS)
    train("tiny", data, _settings(), output="out")
    load("tiny").with_pooling("cls").save("out")
    with pytest.raises(BadInput, match=r"no longer the model that it saved.*or --fresh \(resume=False\)"):
        train("tiny", data, _settings(), output="out")
    train("tiny", data, _settings(), output="out", resume=False)
    assert "cls" not in json.loads((place / "out/run.json").read_text())["model"]["pooling"]
    train("tiny", data, _settings(), output="out")


def test_without_an_output_the_model_is_trained_in_place_and_progress_can_be_silent(place, capsys, monkeypatch):
    monkeypatch.setattr("likewise.runtime.progress.SHOW_AFTER", -1.0)
    embedder = load("tiny", precision="fp32")
    before = embedder.encode(["a cat"], show_progress_bar=False)
    seen = []
    data = load_data("pairs.csv", "cosent", COLUMNS)
    train(
        embedder,
        data,
        _settings(show_progress_bar=False),
        evaluator="dev.csv",
        callbacks=[lambda s: seen.append(s.step)],
    )
    assert seen == [0, 1, 2, 3, 4] and capsys.readouterr().err == ""
    assert (embedder.encode(["a cat"], show_progress_bar=False) != before).any()
    pairs = load_data("pairs.csv", "regression", COLUMNS, objectives=RERANKER_OBJECTIVES)
    train(Reranker.start(embedder), pairs, _settings(show_progress_bar=False), evaluator="dev.csv")
    assert capsys.readouterr().err == ""
    with pytest.raises(BadInput, match="trained model would be lost"):
        train("tiny", data, _settings())


def test_a_run_that_makes_a_model_worse_is_reported(place, capsys):
    scores = iter([0.9, 0.2, 0.2, 0.2])  # before training, after the epoch, at the end, of the saved model
    data = load_data("pairs.csv", "cosent", COLUMNS)
    train("tiny", data, _settings(), output="out", evaluator=lambda model: {"mine": next(scores)})
    assert (
        "did not improve the model: its best score was 0.2000, compared with 0.9000 before" in capsys.readouterr().err
    )
    assert "| mine | 20.00 | — | — | 90.00 |" in (place / "out/README.md").read_text()


def test_columns_of_the_training_data_apply_to_dev_where_they_fit(place):
    (place / "named.csv").write_text("question,answer,likeness\nx,y,1\nz,w,2\n")
    names = ColumnNames({**COLUMNS, "anchor": "other"})
    assert load_evaluator("named.csv", training_columns=names).columns["sentence1"] == ["x", "z"]
    assert load_evaluator("dev.csv", training_columns=names).columns["sentence1"] == [a for a, _, _ in PAIRS]
    expected = (
        r"no column 'sentence1'; expected sentence1, sentence2, score \(or anchor, positive\), found question, answer"
    )
    with pytest.raises(BadInput, match=f"{expected}.*--dev-columns sentence1=COLUMN,sentence2=COLUMN,"):
        load_evaluator("named.csv")
    with pytest.raises(BadInput, match="no column 'question'"):
        load_evaluator("dev.csv", ColumnNames(COLUMNS))


@pytest.mark.parametrize(
    ("columns", "labels", "missing"),
    [
        (("anchor", "positive", "score"), 1, "sentence1=COLUMN,sentence2=COLUMN"),
        (("sentence1", "sentence2"), 3, "label=COLUMN"),
        (("anchor", "positive"), 2, "sentence1=COLUMN,sentence2=COLUMN,label=COLUMN"),
        (("sentence1", "sentence2", " Score"), 1, "score=Score"),
    ],
)
def test_columns_that_evaluation_lacks_are_to_be_named(columns, labels, missing, tmp_path):
    (tmp_path / "dev.csv").write_text(",".join(columns) + "\n" + ",".join("1" for _ in columns) + "\n")
    with pytest.raises(BadInput, match=f"Rename columns with --dev-columns {missing}$"):
        load_evaluator(tmp_path / "dev.csv", labels=labels)


WRONG = {
    "data": ("pairs.csv", r"data is 'pairs.csv'; expected load_data\(file, objective\)"),
    "settings": ({"epochs": 1}, "settings is {'epochs': 1}; expected TrainSettings"),
    "output": (3, "output is 3; expected a folder"),
    "evaluator": (3, "evaluator is 3; expected a callable, or a file or data set of pairs"),
    "callbacks": (["print"], r"callbacks is \['print'\]; expected a list of callables"),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", ["model", *WRONG])
def test_a_wrong_argument_is_named_with_what_is_expected(name, place):
    data = load_data("pairs.csv", "cosent", COLUMNS)
    model = Embedder.load(place / "tiny", engine="numpy")
    wrong = {**WRONG, "model": (model, "model is .*NumpyEmbedder.*; expected .*engine=.torch., precision=.fp32.")}
    value, message = wrong[name]
    with pytest.raises(BadInput, match=message):
        train(**{"model": load("tiny"), "data": data, "output": "out", name: value})
    assert not (place / "out").exists()


@pytest.mark.usefixtures("unchecked", "place")
def test_columns_and_prompts_of_a_wrong_type_are_refused():
    with pytest.raises(BadInput, match="columns is 'score=likeness'; expected your names for the columns"):
        load_data("pairs.csv", "cosent", "score=likeness")
    with pytest.raises(BadInput, match="prompts is None; expected a text, or a mapping of columns to texts"):
        load_data("pairs.csv", "cosent", COLUMNS, prompts=None)


def test_labels_to_evaluate_on_are_whole_numbers_however_they_are_written(place):
    (place / "labels.csv").write_text("sentence1,sentence2,label\na,b,1.0\nc,d,0\n")
    assert load_evaluator("labels.csv", labels=2).columns["label"] == [1, 0]
    (place / "labels.csv").write_text("sentence1,sentence2,label\na,b,1.5\nc,d,0\n")
    with pytest.raises(BadInput, match=r"labels\.csv, line 2: label is 1\.5; expected a whole number from 0"):
        load_evaluator("labels.csv", labels=2)
    (place / "labels.csv").write_text("sentence1,sentence2,label\na,b,entailment\nc,d,neutral\n")
    for labels, numbers in ((3, [1, 2]), (["Neutral", "entailment", "x"], [1, 0]), (["LABEL_0", "LABEL_1"], [1, 2])):
        assert load_evaluator("labels.csv", labels=labels).columns["label"] == numbers
    with pytest.raises(BadInput, match=r"labels\.csv, line 3: label is 'neutral'; expected one of entailment, other"):
        load_evaluator("labels.csv", labels=["entailment", "other"])
    (place / "dev.csv").write_text("sentence1,sentence2,score\na,b,entailment\nc,d,neutral\n")
    with pytest.raises(BadInput, match="score"):
        load_evaluator("dev.csv")
    line = '{"sentence1": "a", "sentence2": "b", "score": %d}\n'
    (place / "dev.jsonl").write_text(line % 1 + line % 2)
    assert load_evaluator("dev.jsonl").columns["score"] == [1, 2]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"sentence2": None}, "sentence2 is None; expected a text"),
        ({"sentence2": " "}, "sentence2 is ' '; expected a text"),
        ({"score": None}, "score is None; expected a finite number"),
        ({"score": 10**400}, "score is 1000.*; expected a finite number"),
    ],
)
def test_what_a_row_lacks_to_evaluate_on_is_named_with_its_line(row, problem, tmp_path):
    first = {"sentence1": "a", "sentence2": "b"}
    rows = [{**first, "score": 1}, {**first, "score": 2, **row}]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    with pytest.raises(BadInput, match=rf"dev\.jsonl, line 2: {problem}"):
        load_evaluator(tmp_path / "dev.jsonl")
    (tmp_path / "dev.jsonl").write_text(json.dumps(first) + "\n" + json.dumps({**first, "score": 1}) + "\n")
    with pytest.raises(BadInput, match=r"dev\.jsonl, line 1: score is None; expected a finite number"):
        load_evaluator(tmp_path / "dev.jsonl")


ANCHORS = ["a cat", "two dogs", "rain", "a cat", "the sun", "snow on a road", "an owl"]
POSITIVES = ["the cat", "dogs", "it rains", "a kitten", "light", "cold and wet", "it rains"]


def test_the_figure_is_that_of_likewise_evaluate(tiny):
    columns = {"anchor": ANCHORS, "positive": POSITIVES}
    expected = data_task(columns).run(tiny.encode, {}.__getitem__, EvaluationSettings()).headline.value
    assert RetrievalEvaluator(columns, "faq")(tiny) == {"faq mrr@10": pytest.approx(expected)}
    (final,) = RetrievalEvaluator(columns).final_scores(tiny).values()
    assert final["value"] == pytest.approx(expected) and final["n"] == 6
    assert final["low"] < expected < final["high"]


def test_a_positive_beyond_rank_10_is_not_found_and_nothing_is_shown(tiny, monkeypatch):
    def encode(self, texts, **how):
        assert how == {"prompt": None, "show_progress_bar": False, "overflow": "truncate"}
        angles = np.array([float(text) if text.isdigit() else 0.0 for text in texts])
        return np.stack([np.cos(angles / 20), np.sin(angles / 20)], 1).astype(np.float32)

    monkeypatch.setattr(type(tiny), "encode", encode)
    pairs = {"anchor": [f"q{i}" for i in range(1, 13)], "positive": [str(i) for i in range(1, 13)]}
    expected = [1 / rank for rank in range(1, 11)] + [0, 0]
    assert RetrievalEvaluator(pairs).reciprocal_ranks(tiny).tolist() == pytest.approx(expected)
    assert RetrievalEvaluator({"anchor": ["q"], "positive": ["2"], "negative_1": ["1"]})(tiny) == {"dev mrr@10": 0.5}


def test_negatives_are_among_the_documents(tiny):
    hard = {"anchor": ANCHORS, "positive": POSITIVES, "negative_1": [f"{text}!" for text in ANCHORS]}
    assert RetrievalEvaluator(hard).reciprocal_ranks(tiny).mean() < 1
    copies = {**hard, "positive": ANCHORS}
    assert RetrievalEvaluator(copies).reciprocal_ranks(tiny).tolist() == [1.0] * 6


@pytest.mark.parametrize("names", [{"columns": ColumnNames({"anchor": "q", "positive": "a"})}, {}])
def test_a_file_of_questions_and_answers_is_read(tmp_path, names):
    path = tmp_path / "faq.csv"
    header = "q,a" if names else "anchor,positive"
    path.write_text(f"{header}\n" + "".join(f"{a},{b}\n" for a, b in zip(ANCHORS, POSITIVES, strict=True)))
    evaluator = load_evaluator(path, **names)
    assert isinstance(evaluator, RetrievalEvaluator) and evaluator.columns["positive"] == POSITIVES
    renamed = ColumnNames({"anchor": "q", "positive": "a"})
    training = load_evaluator(path, training_columns=renamed, labels=0)
    assert training.columns == evaluator.columns
    path.write_text("anchor,positive,negative,page\na,b,c,1\nd,e,f,2\n")
    assert load_evaluator(path).columns == {"anchor": ["a", "d"], "positive": ["b", "e"], "negative": ["c", "f"]}


def test_pairs_with_a_score_are_compared_with_it(tmp_path):
    (tmp_path / "dev.csv").write_text("sentence1,sentence2,score,anchor,positive\na,b,1,a,b\nc,d,2,c,d\n")
    assert isinstance(load_evaluator(tmp_path / "dev.csv"), SpearmanEvaluator)


def test_what_cannot_be_evaluated_is_refused(tiny):
    with pytest.raises(BadInput, match="all positives are the same text"):
        RetrievalEvaluator({"anchor": ["a", "b"], "positive": ["c", "c"]})
    with pytest.raises(BadInput, match="which work only for embedders; the model is a CrossEncoder"):
        RetrievalEvaluator({"anchor": ANCHORS, "positive": POSITIVES})(Reranker.start(tiny))


def test_a_run_is_another_if_the_pairs_or_the_function_to_evaluate_with_are_others(place):
    data = load_data("pairs.csv", "cosent", COLUMNS)
    train("tiny", data, _settings(max_steps=1), output="out", evaluator="dev.csv")
    (place / "dev.csv").write_text("sentence1,sentence2,score\na,b,1\nc,d,2\n")
    with pytest.raises(BadInput, match="another finished run: dev was .dev.csv .* and is now .dev.csv "):
        train("tiny", data, _settings(max_steps=1), output="out", evaluator="dev.csv")
    with pytest.raises(BadInput, match="another finished run: dev was .* and is now .tests.train.test_run"):
        train("tiny", data, _settings(max_steps=1), output="out", evaluator=lambda model: {"x": 1})
    with pytest.raises(BadInput, match="another finished run: dev was .* and is now None"):
        train("tiny", data, _settings(max_steps=1), output="out")


@pytest.mark.parametrize("model", ["tiny", lambda: load("tiny")], ids=["by its name", "loaded"])
def test_the_model_to_train_is_not_overwritten(model, place):
    before = (place / "tiny/model.safetensors").read_bytes()
    with pytest.raises(BadInput, match="the output tiny would overwrite the input"):
        train(model() if callable(model) else model, load_data("pairs.csv", "cosent", COLUMNS), output="tiny")
    assert (place / "tiny/model.safetensors").read_bytes() == before


def test_starting_over_without_evaluation_leaves_no_scores_in_the_log(place):
    data = load_data("pairs.csv", "cosent", COLUMNS)
    train("tiny", data, _settings(max_steps=1), output="out", evaluator="dev.csv", resume=False)  # there is nothing yet
    train("tiny", data, _settings(max_steps=1), output="out", resume=False)
    assert [line["step"] for line in _log(place / "out")] == [1]


def test_starting_over_without_lora_leaves_no_adapter(place):
    data = load_data("pairs.csv", "cosent", COLUMNS)
    train("tiny", data, _settings(max_steps=1, lora_rank=2), output="out")
    assert (place / "out/adapter").exists()
    train("tiny", data, _settings(max_steps=1), output="out", resume=False)
    assert not (place / "out/adapter").exists()
