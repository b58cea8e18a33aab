"""The table of training strategies: every kind of model is a row, a new kind is one more, others are refused."""

from dataclasses import replace
from typing import get_args

import pytest

from likewise import Embedder, Reranker
from likewise.cli.train.build import STARTS
from likewise.cli.train.config import Kind
from likewise.errors import BadInput
from likewise.reranker import CrossEncoder, PolyEncoder
from likewise.train.evaluators import SpearmanEvaluator
from likewise.train.objectives import Contrastive, Regression
from likewise.train.objectives.reranking import PairRegression
from likewise.train.step.processes import Processes
from likewise.train.step.trainable import (
    TRAINING_STRATEGIES,
    backward,
    check_objective,
    join_gradients,
    model_kind,
    training_strategy,
)
from likewise.train.teacher_outputs import teacher_outputs
from tests.train.columns import TEXTS, batch_for

PAIRS = {"sentence1": TEXTS[:4], "sentence2": TEXTS[4:8]}


class ToyEncoder(CrossEncoder):
    """A cross-encoder by another name."""

    kind = "toy-encoder"


@pytest.fixture
def toy(tiny):
    reranker = Reranker.start(tiny, seed=1)
    reranker.__class__ = ToyEncoder
    return reranker


def test_every_kind_that_the_command_trains_is_a_row():
    assert set(TRAINING_STRATEGIES) == set(get_args(Kind)) == set(STARTS)


def test_each_kind_describes_its_models(tiny):
    cross, poly = Reranker.start(tiny, ["a", "b", "c"]), PolyEncoder.start(tiny, 2)
    described = [training_strategy(model) for model in (tiny, cross, poly)]
    outputs = [one.output(model) for one, model in zip(described, (tiny, cross, poly), strict=True)]
    assert outputs == [f"{tiny.dimension} numbers", "3 labels", "the score of a poly-encoder"]
    assert described[0].record(tiny)["width"] == tiny.dimension
    assert described[1].record(cross) == {"labels": ["a", "b", "c"]}
    assert described[1].pieces(cross, ["the cat"]) == described[0].pieces(tiny, ["the cat"]) == tiny.pieces(["the cat"])


def test_a_model_is_known_by_the_kind_of_its_class(tiny):
    models = {"Embedder": tiny, "CrossEncoder": Reranker.start(tiny), "PolyEncoder": PolyEncoder.start(tiny, 2)}
    assert {name: model_kind(model) for name, model in models.items()} == {name: name for name in models}
    assert [model.kind for model in models.values()] == list(TRAINING_STRATEGIES)


@pytest.mark.parametrize(
    "function",
    [
        model_kind,
        lambda model: check_objective(model, Contrastive()),
        lambda model: backward(model, PairRegression(), batch_for(PairRegression())),
        lambda model: join_gradients(model, [], Processes()),
    ],
    ids=["model_kind", "check_objective", "backward", "join_gradients"],
)
def test_a_model_of_an_unknown_kind_is_refused_everywhere(function, toy):
    with pytest.raises(BadInput, match=r"a ToyEncoder \(kind: 'toy-encoder'\) cannot be trained; .*poly-encoder"):
        function(toy)


def test_a_new_kind_is_one_row(toy, monkeypatch):
    row = replace(TRAINING_STRATEGIES["cross-encoder"], model_name="ToyEncoder")
    monkeypatch.setitem(TRAINING_STRATEGIES, "toy-encoder", row)
    check_objective(toy, PairRegression())
    backward(toy, PairRegression(), batch_for(PairRegression()))
    assert model_kind(toy) == "ToyEncoder"
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in toy.parameters())
    assert len(teacher_outputs(PAIRS, toy, Regression())["score"]) == 4


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("wrong", [Embedder, CrossEncoder, "all-MiniLM-L6-v2"])
def test_a_class_or_a_name_is_neither_trained_nor_a_teacher(wrong):
    with pytest.raises(BadInput, match="cannot be trained"):
        training_strategy(wrong)
    with pytest.raises(BadInput, match="cannot be a teacher; expected an embedder or a reranker"):
        teacher_outputs(PAIRS, wrong, Regression())


def test_columns_of_unequal_length_are_not_compared(tiny):
    with pytest.raises(BadInput, match="4 first texts but 3 second texts"):
        SpearmanEvaluator({**PAIRS, "sentence2": TEXTS[4:7], "score": [0.1, 0.5, 0.3, 0.9]})(tiny)
