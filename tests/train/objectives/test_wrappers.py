"""Objectives of objectives: dimensions, layers, sums; each is what its parts are."""

import json

import numpy as np
import pytest
import torch

from likewise.encoders.prune_layers import prune_layers
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput
from likewise.pooling import pooling_of
from likewise.train.data.batch import TrainingRows
from likewise.train.objectives import (
    TSDAE,
    Classification,
    Contrastive,
    CoSENT,
    Layerwise,
    Matryoshka,
    Regression,
    SimCSE,
    Triplet,
    Weighted,
)
from likewise.train.step.embedder_step import multi_layer_embedder, packed_forward, tokenized_batch
from tests.tiny import TEXTS
from tests.train.columns import EVERY
from tests.train.objectives.test_values import drawn, near
from tests.train.run_trainer import load


def test_matryoshka_is_the_weighted_sum_over_first_numbers():
    u, v, _ = drawn(3, 6, 8)
    scores = torch.linspace(0, 1, 6, dtype=torch.float64)
    objective = Matryoshka(CoSENT(), [2, 5, 8], [1.0, 0.5, 2.0])
    objective.initialize(8)
    parts = [w * CoSENT()(u[:, :k], v[:, :k], score=scores) for k, w in [(2, 1.0), (5, 0.5), (8, 2.0)]]
    near(objective(u, v, score=scores), float(sum(parts)))


def test_each_width_has_a_classifier_of_its_own():
    objective = Matryoshka(Classification(3), [2, 8])
    objective.initialize(8)
    assert [c.classifier.in_features for c in objective.copies] == [6, 24]
    assert objective.reads() == Classification(3).reads()


def test_layerwise_is_the_weighted_sum_over_parts_and_goes_around_matryoshka():
    a, p, n = drawn(3, 5, 12)
    objective = Layerwise(Matryoshka(Triplet(), [2, 4]), 3, [1.0, 2.0, 3.0])
    objective.initialize(12)
    parts = [(i + 1) * Triplet()(*(x[:, 4 * i : 4 * i + k] for x in (a, p, n))) for i in range(3) for k in (2, 4)]
    near(objective(a, p, n), float(sum(parts)))


def test_the_parts_of_a_layered_model_are_the_vectors_of_the_model_cut_there(own):
    whole = load(own())
    parts = np.split(multi_layer_embedder(whole, 3).eval().encode(TEXTS), 3, axis=1)
    for depth, part in zip([1, 2, 3], parts, strict=True):
        small = TorchEmbedder(
            whole.tokenizer, prune_layers(whole.encoder, depth), pooling_of("mean", depth), whole.heads, whole.manifest
        )
        np.testing.assert_allclose(part, small.eval().encode(TEXTS), atol=1e-6)


def test_a_weighted_sum_gives_each_the_numbers_that_it_reads():
    u, v, _ = drawn(3, 4, 6)
    score, label = torch.linspace(0, 1, 4, dtype=torch.float64), torch.tensor([0, 1, 2, 0])
    parts = [CoSENT(), Regression(), Classification()]
    objective = Weighted(parts, [1.0, 2.0, 0.5])
    objective.initialize(6)
    objective.double()
    assert objective.reads().numbers == ("score", "label") and objective.reads().integers == ("label",)
    expected = parts[0](u, v, score=score) + 2 * parts[1](u, v, score=score) + 0.5 * parts[2](u, v, label=label)
    near(objective(u, v, score=score, label=label), float(expected.detach()))
    both = Weighted([Contrastive(0.1), Contrastive(1.0, symmetric=True)])
    names = torch.arange(8).view(4, 2)
    near(both(u, v, text_ids=names), sum(float(o(u, v, text_ids=names)) for o in both.objectives))


@pytest.mark.parametrize("wrap", [lambda o: Weighted([o]), lambda o: Matryoshka(o, [6]), lambda o: Layerwise(o, 1)])
def test_what_wraps_one_objective_gives_it_its_optional_numbers_too(wrap):
    a, p, _ = drawn(3, 4, 6)
    objective, more = Contrastive(), {"text_ids": torch.arange(8).view(2, 4).T, "group": torch.tensor([0, 0, 1, 2])}
    made = wrap(objective)
    made.initialize(6)
    assert made.reads().optional == objective.reads().optional == ("group", "guide")
    wanted = float(objective(a, p, **more))
    near(made(a, p, **more), wanted)
    assert abs(wanted - float(objective(a, p, text_ids=more["text_ids"]))) > 1e-3


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Matryoshka(CoSENT(), []), "expected distinct whole numbers"),
        (lambda: Matryoshka(CoSENT(), [4, 4]), "expected distinct whole numbers"),
        (lambda: Weighted([CoSENT(), Triplet()]), "Triplet reads anchor, positive, negative"),
        (lambda: Weighted([TSDAE(), SimCSE()]), "cannot be added"),
        (lambda: Weighted([]), "0 objectives"),
    ],
)
def test_what_does_not_fit_is_refused(make, said):
    with pytest.raises(BadInput, match=said):
        make()


@pytest.mark.parametrize("name", EVERY)
def test_a_description_is_json_and_tells_every_setting(name):
    told = json.loads(json.dumps(EVERY[name]().describe()))
    assert told["objective"] == type(EVERY[name]()).__name__
    assert told == json.loads(json.dumps(EVERY[name]().describe()))


def test_descriptions_tell_settings_apart():
    told = [Contrastive(0.1), Contrastive(0.2), Contrastive(0.1, symmetric=True), Matryoshka(Contrastive(0.1), [4])]
    told += [Matryoshka(Contrastive(0.2), [4]), Matryoshka(Contrastive(0.1), [8]), Layerwise(Contrastive(0.1), 2)]
    told += [Weighted([Contrastive(0.1)]), Weighted([Contrastive(0.1)], [2.0]), SimCSE(0.1)]
    assert len({json.dumps(objective.describe()) for objective in told}) == len(told)


def test_two_readings_of_a_text_differ_by_what_is_dropped(own):
    embedder, objective = load(own()), SimCSE()
    batch = TrainingRows.of({"sentence": ["a cat sleeps", "dogs bark"]}, objective).take([0, 1])
    ids, _ = tokenized_batch(embedder, objective, batch)
    first, again = packed_forward(embedder.eval(), ids).chunk(2)
    torch.testing.assert_close(first, again)
    first, again = packed_forward(embedder.train(), ids).chunk(2)
    assert (first - again).abs().max() > 1e-3
