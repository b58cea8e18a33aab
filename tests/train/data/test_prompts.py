"""Prompts of training data: in front of the texts that the model reads, and nowhere else."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from likewise.cli import main
from likewise.errors import BadInput
from likewise.reranker import CrossEncoder
from likewise.train import TrainSettings, load_data, train
from likewise.train.data.batch import Batch, TrainingRows
from likewise.train.data.sources import rows_digest
from likewise.train.evaluators import (
    AccuracyEvaluator,
    RetrievalEvaluator,
    SpearmanEvaluator,
    predict_scores,
    with_data_prompts,
)
from likewise.train.objectives import OBJECTIVES, Contrastive
from likewise.train.objectives.reranking import PairRegression
from likewise.train.step.embedder_step import tokenized_batch
from likewise.train.step.memory import StepOptions
from likewise.train.step.trainable import backward
from tests.train.columns import EVERY, columns_for
from tests.train.run_trainer import load

PAIRS = {"anchor": ["a cat", "dogs", "rain", "a fox"], "positive": ["the cat", "bark", "falls", "quick"]}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_model_reads_prompts_and_equal_texts_stay_equal(name, own):
    objective = EVERY[name]()
    embedder, columns = load(own()), columns_for(objective)
    names = list(TrainingRows.of(columns, objective).texts)
    prompts = {column: f"the {column} is: " for column in names[:2]}
    rows = TrainingRows.of(columns, objective, prompts=prompts)
    batch = rows.take(range(8)).take([5, 0, 3])
    every = [prompts.get(column, "") for column in rows.texts] * rows.repeats
    baked = [[p + t for t in column] for p, column in zip(every, batch.texts, strict=True)]
    torch.manual_seed(0)
    found, read = tokenized_batch(embedder, objective, batch)
    torch.manual_seed(0)
    expected, other = tokenized_batch(embedder, objective, Batch(tuple(map(tuple, baked)), batch.numbers))
    assert found == expected
    assert read.numbers.keys() == other.numbers.keys()
    assert torch.equal(read.names, replace(batch, prompts=()).names)


def test_a_column_without_a_prompt_has_the_models_own(own):
    folder = own(spoken={"prompts": {"query": "the cat "}, "default_prompt_name": "query"})
    batch = TrainingRows.of(PAIRS, Contrastive(), prompts={"anchor": ""}).take([0])
    assert batch.prompted(load(folder).default_prompt) == [["a cat"], ["the cat the cat"]]


def test_a_reranker_reads_prompts_too(own):
    reranker = CrossEncoder.start(load(own()), 1, seed=0)
    columns = {"sentence1": PAIRS["anchor"], "sentence2": PAIRS["positive"], "score": [0.0, 1.0, 0.5, 0.2]}
    prompt = "quick: "
    baked = {**columns, "sentence2": [prompt + text for text in columns["sentence2"]]}
    losses = [
        backward(reranker, PairRegression(), rows.take(range(4)), StepOptions()).loss
        for rows in (
            TrainingRows.of(columns, PairRegression(), prompts={"sentence2": prompt}),
            TrainingRows.of(baked, PairRegression()),
            TrainingRows.of(columns, PairRegression()),
        )
    ]
    assert losses[0] == losses[1] != losses[2]


def test_a_stream_has_prompts():
    data = [dict(zip(PAIRS, row, strict=True)) for row in zip(*PAIRS.values(), strict=True)]
    source = load_data(lambda: iter(data), "contrastive", prompts="q: ")
    assert next(source.rows.batches(2)).prompted("")[1] == ["q: the cat", "q: bark"]


@pytest.mark.parametrize(
    ("prompts", "message"),
    [({"positiv": "x"}, "prompts has 'positiv'; the text columns are anchor, positive"),
     ({"anchor": 3}, "the prompt of anchor is 3; expected a text")],
)  # fmt: skip
def test_prompts_that_do_not_fit_are_refused(prompts, message, unchecked):
    with pytest.raises(BadInput, match=message):
        load_data(PAIRS, "contrastive", prompts=prompts)


def test_other_prompts_are_another_run_and_none_change_nothing(own, tmp_path):
    plain, prompted = (load_data(PAIRS, "contrastive", prompts=p) for p in ("", {"anchor": "quête: "}))
    assert rows_digest(plain.rows) == rows_digest(TrainingRows(PAIRS, {}))
    settings = TrainSettings(batch_size=2, show_progress_bar=False)
    train(own(), prompted, settings, output=tmp_path / "out")
    written = (tmp_path / "out/run.json").read_text("utf-8")
    assert json.loads(written)["data"][0]["prompts"] == {"anchor": "quête: "} and "quête" in written
    with pytest.raises(BadInput, match="another finished run: data"):
        train(own(), plain, settings, output=tmp_path / "out")


def test_rows_are_known_by_their_names_texts_prompts_and_numbers():
    rows = TrainingRows({"a": ["x", "y"]}, {"score": np.float32([1, 2])}, prompts={"a": "q"})
    others = [
        {"texts": {"b": ["x", "y"]}},
        {"texts": {"a": ["x", "z"]}},
        {"texts": {"a": ["x", "y", "z"]}},
        {"numbers": {"score": np.float32([1, 3])}},
        {"numbers": {"margin": np.float32([1, 2])}},
        {"numbers": {"score": np.float32([[1], [2]])}},
        {"prompts": {}},
        {"prompts": {"a": "p"}},
    ]
    digests = [rows_digest(rows), *(rows_digest(replace(rows, **other)) for other in others)]
    assert len(set(digests)) == len(digests) and rows_digest(replace(rows)) == digests[0]


def test_a_configuration_file_and_python_train_alike(own, tmp_path, capsys):
    folder, rows = own(), list(zip(*PAIRS.values(), strict=True))
    (tmp_path / "pairs.csv").write_text("anchor,positive\n" + "".join(f"{a},{b}\n" for a, b in rows))
    (tmp_path / "run.toml").write_text(
        f'model = "{folder}"\noutput = "{tmp_path}/a"\nbatch_size = 2\ndevice = "cpu"\n'
        f'[[data]]\nfile = "{tmp_path}/pairs.csv"\nobjective = "contrastive"\nprompts = {{anchor = "quick: "}}\n'
    )
    assert main(["train", str(tmp_path / "run.toml"), "--dry-run"]) == 0
    assert "[CLS] quick :" in capsys.readouterr().out
    assert main(["train", str(tmp_path / "run.toml"), "-q", "--threads", "1"]) == 0  # as in the tests
    data = load_data(tmp_path / "pairs.csv", "contrastive", prompts={"anchor": "quick: "})
    train(folder, data, TrainSettings(batch_size=2, show_progress_bar=False), output=tmp_path / "b")
    assert (tmp_path / "a/model.safetensors").read_bytes() == (tmp_path / "b/model.safetensors").read_bytes()


SCORED = {"sentence1": PAIRS["anchor"], "sentence2": PAIRS["positive"], "score": [0.0, 1.0, 0.5, 0.2]}
BAKED = {"anchor": [f"quick {text}" for text in PAIRS["anchor"]], "positive": [f"the {t}" for t in PAIRS["positive"]]}


def test_an_embedder_is_evaluated_with_the_prompts_that_it_is_trained_with(own, tmp_path):
    data = load_data(PAIRS, "contrastive", prompts={"anchor": "quick ", "positive": "the "})
    evaluator = with_data_prompts(RetrievalEvaluator({**PAIRS, "negative": ["a cat"] * 4}), [data])
    baked = {**BAKED, "negative": ["the a cat"] * 4}
    embedder = load(own())
    assert (
        evaluator.reciprocal_ranks(embedder).tolist() == RetrievalEvaluator(baked).reciprocal_ranks(embedder).tolist()
    )
    assert evaluator.prompts == {"anchor": "quick ", "positive": "the "}
    (tmp_path / "dev.jsonl").write_text(
        "".join(json.dumps({"anchor": a, "positive": p}) + "\n" for a, p in zip(*PAIRS.values(), strict=True))
    )
    settings = TrainSettings(max_steps=1, batch_size=2, show_progress_bar=False)
    found = train(embedder, data, settings, evaluator=tmp_path / "dev.jsonl").initial_scores
    assert list(found.values()) == [RetrievalEvaluator(BAKED)(load(own()))["dev mrr@10"]]


@pytest.mark.parametrize("labels", [1, 3])
def test_a_reranker_is_evaluated_with_them_too(labels, own):
    model = CrossEncoder.start(load(own()), labels, seed=0)
    pairs = {"sentence1": BAKED["anchor"], "sentence2": BAKED["positive"]}
    prompts = {"sentence1": "quick ", "sentence2": "the "}
    if labels == 1:
        assert np.array_equal(predict_scores(model, SCORED, prompts), predict_scores(model, pairs))
    else:
        label = model.logits(*pairs.values()).argmax(1).tolist()
        assert AccuracyEvaluator({**SCORED, "label": label}, prompts=prompts)(model) == {"dev accuracy": 1.0}


def test_prompts_that_differ_or_belong_to_other_columns_are_left_out_with_a_warning(recwarn):
    one, other = (load_data(PAIRS, "contrastive", prompts={"anchor": p}) for p in ("query: ", "find: "))
    plain, stream = load_data(SCORED, "cosent"), load_data(lambda: iter(()), "contrastive", prompts="query: ")
    retrieval = RetrievalEvaluator(PAIRS)
    assert with_data_prompts(retrieval, [plain, one]).prompts == {"anchor": "query: "}
    assert with_data_prompts(retrieval, [plain]) is retrieval and not recwarn.list
    with pytest.warns(UserWarning, match="dev: anchor will be encoded with the model's default prompt"):
        assert with_data_prompts(retrieval, [one, other]).prompts == {}
    with pytest.warns(UserWarning, match="dev: sentence1 and sentence2 will be encoded .* no column of that name"):
        assert with_data_prompts(SpearmanEvaluator(SCORED), [one]).prompts == {}
    with pytest.warns(UserWarning, match="dev: positive will be encoded"):
        assert with_data_prompts(retrieval, [one, stream]).prompts == {"anchor": "query: "}
