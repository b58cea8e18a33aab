"""Objectives by name: every one, every option, every wrong word."""

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
    assert parse_objective(name).describe() == OBJECTIVES[name]().describe()
    assert parse_objective({"name": name}).describe() == OBJECTIVES[name]().describe()
    assert name == name.lower() and "_" not in name
    assert OBJECTIVES[name].__doc__ and {"widths", "layers"} <= set(objective_options(name))


@pytest.mark.parametrize("spec", OPTIONS)
def test_options_are_set_and_take_effect(spec):
    assert parse_objective(spec).describe() != parse_objective(spec.partition(":")[0]).describe() or "|u-v|" in spec


def test_text_and_toml_say_the_same():
    text = parse_objective("contrastive: temperature=0.1, symmetric, learned=false, widths=4+8, layers=2")
    table = tomllib.loads('name="contrastive"\ntemperature=0.1\nsymmetric=true\nlearned=false\nwidths=[4, 8]\nlayers=2')
    assert text.describe() == parse_objective(table).describe()
    assert isinstance(text, Layerwise) and isinstance(text.objective, Matryoshka)
    assert text.objective.objective.describe() == Contrastive(0.1, symmetric=True).describe()
    parts = parse_objective("classification:labels=2,parts=u+|u-v|+u*v")
    assert parts.describe() == Classification(2, ("u", "|u-v|", "u*v")).describe()
    assert parse_objective({"name": "triplet", "margin": 2}).margin == 2.0


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("contrast", "no objective 'contrast'; there are classification, regression"),
        ("", "no objective ''"),
        (
            "contrastive:heat=1",
            "contrastive has no option 'heat'; it has temperature, learned, symmetric, widths, layers",
        ),
        ("contrastive:temperature=warm", "contrastive: temperature is 'warm'; wanted a number"),
        ("contrastive:temperature", "temperature is True; wanted a number"),
        ("contrastive:symmetric=maybe", "symmetric is 'maybe'; wanted true or false"),
        ("contrastive:temperature=1,temperature=2", "twice"),
        ("contrastive:temperature=-1", "wanted a number above 0"),
        ("classification:labels=2.5", "labels is '2.5'; wanted a whole number"),
        ("classification:labels=1", "wanted 2 labels or more"),
        ("classification:parts=u+w", "parts of u v"),
        ("triplet:distance=far", "no distance 'far'; there are euclidean, cosine, manhattan"),
        ("batch-triplets:choose=some", "no 'some' triplets; there are hard, semi-hard, all"),
        ("margin-mse:similarity=dots", "wanted dot or cosine"),
        ("similarity-distillation:measure=l1", "wanted kl or mse"),
        ("score-distillation:temperature=0", "wanted a number above 0"),
        ("contrastive:widths=4+x", "widths is 'x'; wanted a whole number"),
        ({"name": "contrastive", "symmetric": 1}, "symmetric is 1; wanted true or false"),
        ({"name": "classification", "labels": 3.0}, "labels is 3.0; wanted a whole number"),
        ({"name": "classification", "labels": True}, "labels is True; wanted a whole number"),
        ({"name": "triplet", "distance": 3}, "distance is 3; expected a word"),
        ({"name": "triplet", "widths": 3}, "widths is 3; wanted several"),
        ({"temperature": 1.0}, "wants a name"),
        ({"name": ["contrastive"]}, "wants a name"),
    ],
)
def test_what_cannot_be_meant_is_named(spec, said):
    with pytest.raises(BadInput, match=said.replace("|", r"\|")):
        parse_objective(spec)
