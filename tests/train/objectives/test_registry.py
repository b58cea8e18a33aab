"""Objectives by name: every one, every option, every wrong word."""

import re
import tomllib

import pytest

from likewise.errors import BadInput
from likewise.train.objectives import (
    OBJECTIVES,
    Classification,
    Contrastive,
    Layerwise,
    Matryoshka,
    objective_options,
    parse_objective,
)
from tests.train.columns import OPTIONS


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_name_alone_is_the_objective_with_its_defaults(name):
    assert parse_objective(name).describe() == OBJECTIVES[name].build().describe()
    assert parse_objective({"name": name}).describe() == OBJECTIVES[name].build().describe()
    assert name == name.lower() and "_" not in name
    assert OBJECTIVES[name].build.__doc__ and {"widths", "layers"} <= set(objective_options(name))


@pytest.mark.parametrize("spec", OPTIONS)
def test_options_are_set_and_take_effect(spec):
    assert parse_objective(spec).describe() != parse_objective(spec.partition(":")[0]).describe() or "|u-v|" in spec


def test_text_and_toml_say_the_same():
    text = parse_objective("contrastive: temperature=0.1, symmetric, learn_temperature=false, widths=4+8, layers=2")
    table = tomllib.loads(
        'name="contrastive"\ntemperature=0.1\nsymmetric=true\nlearn_temperature=false\nwidths=[4, 8]\nlayers=2'
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
            "has no option 'heat'; expected one of temperature, learn_temperature, symmetric, widths, layers",
        ),
        ("contrastive:temperature=warm", "contrastive: temperature is 'warm'; expected a number"),
        ("contrastive:temperature", "temperature is True; expected a number"),
        ("contrastive:symmetric=maybe", "symmetric is 'maybe'; expected true or false"),
        ("contrastive:temperature=1,temperature=2", "twice"),
        ("classification:num_labels=2.5", "num_labels is '2.5'; expected a whole number"),
        ("classification:concatenation=u+w", "concatenation is u+w; expected some of u, v"),
        ("triplet:distance=far", "the distance 'far' is unknown; expected one of euclidean, cosine, manhattan"),
        ("batch-triplets:strategy=some", "strategy is 'some'; expected one of hard, semi-hard, all"),
        ("contrastive:widths=4+x", "widths is '4+x'; expected a list, each item a whole number"),
        ({"name": "contrastive", "symmetric": 1}, "symmetric is 1; expected true or false"),
        ({"name": "classification", "num_labels": 3.0}, "num_labels is 3.0; expected a whole number"),
        ({"name": "classification", "num_labels": True}, "num_labels is True; expected a whole number"),
        ({"name": "triplet", "distance": 3}, "distance is 3; expected a text"),
        ({"name": "triplet", "widths": 3}, "widths is 3; expected a list"),
        ({"temperature": 1.0}, "needs a name"),
        ({"name": ["contrastive"]}, "needs a name"),
    ],
)
def test_what_cannot_be_meant_is_named(spec, message):
    with pytest.raises(BadInput, match=re.escape(message)):
        parse_objective(spec)
