"""Objectives by name: every setting does what it says, and every wrong word is reported."""

import re
import tomllib

import numpy as np
import pytest
import torch

from likewise import Reranker
from likewise.arrays.ragged import Ragged
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput
from likewise.reranker import PolyEncoder
from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.objectives import (
    OBJECTIVES,
    RERANKER_OBJECTIVES,
    Classification,
    Contrastive,
    Layerwise,
    Matryoshka,
    Weighted,
    parse_objective,
)
from likewise.train.objectives.labelled_pairs import Regression
from likewise.train.objectives.registry import objective_options
from likewise.train.settings import TrainSettings
from likewise.train.step.trainable import backward, check_objective
from tests.train.columns import TEXTS, batch_for, columns_for
from tests.train.run_trainer import load, run_trainer

WRAPPED = {"dimensions": "8+32", "layers": "3"}
"""Another value than the default, for every setting of every objective; a setting that is missing here fails a test."""
SETTINGS = {
    "classification": {"num_labels": "4", "concatenation": "u+v"},
    "regression": {},
    "cosent": {"scale": "5"},
    "angle": {"cosine_weight": "0.5", "angle_weight": "0.5", "cosine_scale": "5", "angle_scale": "5"},
    "margin-pairs": {"margin": "1.5", "distance": "manhattan", "online": "true"},
    "contrastive": {"temperature": "0.5", "learn_temperature": "true", "symmetric": "true"},
    "triplet": {"margin": "0", "distance": "manhattan"},
    "batch-triplets": {"strategy": "all", "margin": "50", "distance": "manhattan", "per_label": "2"},
    "distillation": {"teacher_dimension": "7"},
    "margin-mse": {"similarity": "cosine"},
    "score-distillation": {"temperature": "0.5", "teacher_temperature": "3"},
    "similarity-distillation": {"loss": "mse", "temperature": "0.5", "teacher_temperature": "0.5"},
    "simcse": {"temperature": "0.5", "learn_temperature": "true", "symmetric": "true"},
    "tsdae": {"deletion_ratio": "0.1", "decoder_layers": "2", "decoder_heads": "2"},
}
RERANKED = {
    "regression": {"loss": "mse", "temperature": "3", "offset": "1"},
    "classification": {"num_labels": "4"},
    "margin": {"margin": "0"},
    "ranking": {"temperature": "3", "teacher_temperature": "3"},
    "in-batch": {"temperature": "3"},
}
EVERY = [(name, key, value) for name, known in SETTINGS.items() for key, value in (known | WRAPPED).items()]
EVERY_RERANKED = [(name, key, value) for name, known in RERANKED.items() for key, value in known.items()]
AMONG = {
    ("batch-triplets", "margin"): "strategy=all",  # the hardest cost something at any margin
    ("distillation", "dimensions"): "teacher_dimension=32",
    ("distillation", "layers"): "teacher_dimension=32",
}
"""Settings beside which another one does something."""
SAME_GRADIENT = {("batch-triplets", "per_label")}  # which batches there are, not what is done with one


def test_the_tables_have_every_setting():
    assert {name: set(known) | set(WRAPPED) for name, known in SETTINGS.items()} == {
        name: set(objective_options(name)) for name in OBJECTIVES
    }
    assert {name: set(known) for name, known in RERANKED.items()} == {
        name: set(objective_options(name, RERANKER_OBJECTIVES)) for name in RERANKER_OBJECTIVES
    }


def gradient(model, objective, batch):
    """Of the encoder by one step; what is drawn is drawn from one seed."""
    torch.manual_seed(3)
    check_objective(model, objective)
    model.zero_grad()
    backward(model.eval(), objective, batch)
    found = [p.grad.flatten() for p in model.encoder.parameters() if p.grad is not None]
    assert found and all(torch.isfinite(g).all() for g in found)
    return torch.cat(found)


def easy(objective):
    """A batch whose second row is nearly the same text twice: an easy pair, as most are not."""
    columns = columns_for(objective)
    if "sentence2" in columns:
        columns["sentence2"][1] = columns["sentence1"][1] + " x"
    return TrainingRows.of(columns, objective).take(range(8))


@pytest.fixture(scope="module")
def embedder(folders):
    """Without heads: between vectors of one length, dot products and cosines are the same."""
    whole = load(folders("bert"))
    return TorchEmbedder(whole.tokenizer, whole.encoder, whole.pooling, torch.nn.Sequential(), whole.manifest)


@pytest.mark.parametrize(("name", "key", "value"), EVERY)
def test_a_setting_of_an_objective_changes_what_is_learned(name, key, value, embedder):
    among = AMONG.get((name, key), "")
    plain, told = parse_objective(f"{name}:{among}"), parse_objective(f"{name}:{among},{key}={value}")
    assert told.describe() != plain.describe()
    assert told.reads().texts == plain.reads().texts
    if (name, key) in SAME_GRADIENT:
        assert told.reads() != plain.reads()
        return
    first, second = (gradient(embedder, one, easy(one)) for one in (plain, told))
    if key == "learn_temperature":  # the temperature begins where it was, and has a gradient of its own
        torch.testing.assert_close(first, second)
        assert [p.grad is not None for p in told.parameters()] == [True] and not list(plain.parameters())
        return
    assert not torch.equal(first, second)  # to the last digit, as they would be if nobody read the setting


@pytest.mark.parametrize(("name", "key", "value"), EVERY_RERANKED)
def test_a_setting_of_a_rerankers_objective_changes_what_is_learned(name, key, value, folders):
    plain, told = (parse_objective(spec, RERANKER_OBJECTIVES) for spec in (name, f"{name}:{key}={value}"))
    assert told.describe() != plain.describe()
    columns = columns_for(plain)
    if key == "teacher_temperature":
        columns["scores"] = np.random.default_rng(1).normal(size=(8, 2)).tolist()

    def learned(objective):
        backbone = load(folders("bert"))
        labels = [f"LABEL_{i}" for i in range(objective.num_labels)]
        model = PolyEncoder.start(backbone, 5) if objective.ALL_PAIRS else Reranker.start(backbone, labels, seed=0)
        return gradient(model, objective, TrainingRows.of(columns, objective).take(range(8)))

    assert not torch.allclose(learned(plain), learned(told))


def test_layers_of_the_command_line_train_so_many_layers_of_the_model(folders):
    """The gradient is the sum of those of the model's last three layers, each pooled as the model pools its last."""
    model, objective = load(folders("bert")), parse_objective("contrastive:layers=3")
    batch = batch_for(objective)
    found = gradient(model, objective, batch)
    parts, contrast = [], Contrastive()
    for depth in (1, 2, 3):
        model.zero_grad()
        ids = [
            model.tokenizer.with_special_tokens(c)
            for c in model.tokenizer.token_ids([t for col in batch.texts for t in col])
        ]
        pooled = torch.stack([list(model.encoder(Ragged.of([one], model.device)))[depth].mean(0) for one in ids])
        vectors = model.heads(pooled).chunk(len(batch.texts))
        contrast(*vectors, text_ids=batch.names).backward()
        parts.append([None if p.grad is None else p.grad.clone() for p in model.encoder.parameters()])
    wanted = torch.cat(
        [
            sum(g for g in grads if g is not None).flatten()
            for grads in zip(*parts, strict=True)
            if any(g is not None for g in grads)
        ]
    )
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-3)


def test_what_is_trained_over_layers_is_measured_and_saved_as_the_model_itself(own, tmp_path):
    embedder, measured = load(own()), []
    objective = parse_objective("contrastive:layers=2")
    rows = TrainingRows.of(columns_for(objective), objective)

    def measure(model):
        measured.append(model.encode(TEXTS).shape)
        return {"figure": float(len(measured))}

    before = embedder.encode(TEXTS)
    run_trainer(
        embedder,
        [DataSource(rows, objective)],
        TrainSettings(max_steps=2, batch_size=8, eval_steps=1),
        evaluator=measure,
    )
    assert measured == [(len(TEXTS), embedder.dimension)] * 3  # before the first step, and after each
    embedder.eval().save(tmp_path / "saved")
    after = load(tmp_path / "saved").encode(TEXTS)
    np.testing.assert_allclose(after, embedder.encode(TEXTS), atol=1e-6)
    assert np.abs(after - before).max() > 1e-6


@pytest.mark.parametrize(
    ("spec", "table", "wrong"),
    [
        ("contrastive:layers=9", OBJECTIVES, "layers is 9; the model has 4 layers"),
        ("contrastive:dimensions=64", OBJECTIVES, "dimensions contains 64, but the model's vectors have 32"),
        ("ranking:layers=2", RERANKER_OBJECTIVES, "ranking has no option 'layers'"),
        ("angle:cosine_weight=0,angle_weight=0", OBJECTIVES, "both 0: there is nothing to learn"),
        ("angle:angle_weight=0,angle_scale=5", OBJECTIVES, "angle_scale is 5.0, but angle_weight=0 does not use it"),
    ],
)
def test_a_value_that_would_teach_nothing_or_the_opposite_is_refused(spec, table, wrong, embedder):
    with pytest.raises(BadInput, match=wrong):
        check_objective(embedder, parse_objective(spec, table))


def test_objectives_that_read_other_layers_are_not_mixed_up(folders):
    model = load(folders("bert"))
    with pytest.raises(BadInput, match="must read the same layers"):
        Weighted([Layerwise(Regression(), 2), Regression()])
    with pytest.raises(BadInput, match=r"expected Layerwise\(Matryoshka"):
        Matryoshka(Layerwise(Regression(), 2), [8])
    both = Weighted([Layerwise(Regression(), 2), Layerwise(Regression(), 2)], [0.5, 0.5])
    alone = Layerwise(Regression(), 2)
    torch.testing.assert_close(gradient(model, both, batch_for(both)), gradient(model, alone, batch_for(alone)))


def test_a_model_that_pools_over_layers_is_refused(folders):
    model = load(folders("bert"), pooling="sbert-wk:start=1")
    with pytest.raises(BadInput, match="no vector per layer"):
        check_objective(model, parse_objective("contrastive:layers=2"))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_name_alone_is_the_objective_with_its_defaults(name):
    assert parse_objective(name).describe() == OBJECTIVES[name].build().describe()
    assert parse_objective({"name": name}).describe() == OBJECTIVES[name].build().describe()
    assert name == name.lower() and "_" not in name
    assert OBJECTIVES[name].build.__doc__ and {"dimensions", "layers"} <= set(objective_options(name))


def test_text_and_toml_say_the_same():
    text = parse_objective("contrastive: temperature=0.1, symmetric, learn_temperature=false, dimensions=4+8, layers=2")
    table = tomllib.loads(
        'name="contrastive"\ntemperature=0.1\nsymmetric=true\nlearn_temperature=false\ndimensions=[4, 8]\nlayers=2'
    )
    assert text.describe() == parse_objective(table).describe()
    assert isinstance(text, Layerwise) and isinstance(text.objective, Matryoshka)
    assert text.objective.objective.describe() == Contrastive(0.1, symmetric=True).describe()
    parts = parse_objective("classification:num_labels=2,concatenation=u+|u-v|+u*v")
    assert parts.describe() == Classification(2, ("u", "|u-v|", "u*v")).describe()
    assert parse_objective({"name": "triplet", "margin": 2}).margin == 2.0


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "contrast",
            "the objective 'contrast' is unknown; did you mean contrastive? expected one of classification, regression",
        ),
        ("", "the objective '' is unknown; expected one of classification"),
        (
            "contrastive:heat=1",
            "has no option 'heat'; expected one of temperature, learn_temperature, symmetric, dimensions, layers",
        ),
        ("contrastive:temperature=warm", "contrastive: temperature is 'warm'; expected a number"),
        ("contrastive:temperature", "temperature is True; expected a number"),
        ("contrastive:symmetric=maybe", "symmetric is 'maybe'; expected true or false"),
        ("contrastive:temperature=1,temperature=2", "twice"),
        ("classification:num_labels=2.5", "num_labels is '2.5'; expected a whole number"),
        ("classification:concatenation=u+w", "concatenation is u+w; expected one or more of u, v"),
        ("triplet:distance=far", "distance is 'far'; expected one of euclidean, cosine, manhattan"),
        ("batch-triplets:strategy=some", "strategy is 'some'; expected one of hard, semi-hard, all"),
        ("contrastive:dimensions=4+x", "dimensions is '4+x'; expected a list, each item a whole number"),
        ("contrastive:dimensions=4+", "dimensions is '4+'; expected a list, each item a whole number"),
        ("contrastive:dimensions=", "dimensions is ''; expected a list, each item a whole number"),
        ("cosent:scale=nan", "scale is nan"),
        ("tsdae:deletion_ratio=nan", "nan"),
        ({"name": "contrastive", "symmetric": 1}, "symmetric is 1; expected true or false"),
        ({"name": "classification", "num_labels": 3.0}, "num_labels is 3.0; expected a whole number"),
        ({"name": "classification", "num_labels": True}, "num_labels is True; expected a whole number"),
        ({"name": "triplet", "distance": 3}, "distance is 3; expected a text"),
        ({"name": "triplet", "dimensions": 3}, "dimensions is 3; expected a list"),
        ({"temperature": 1.0}, "needs a name"),
        ({"name": ["contrastive"]}, "needs a name"),
        (5, "needs a name, as text or in a table; found 5"),
    ],
)
def test_what_cannot_be_meant_is_named(spec, message):
    with pytest.raises(BadInput, match=re.escape(message)):
        parse_objective(spec)
