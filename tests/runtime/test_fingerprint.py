"""A fingerprint is of settings and weights, in any order and of any float type, and of nothing less."""

import numpy as np
import pytest

from likewise.runtime.fingerprint import fingerprint

SETTINGS = {"pooling": "mean", "heads": [1, 2]}
WEIGHTS = {"a": [np.arange(6, dtype=np.float32).reshape(2, 3)], "b": [np.ones(2, np.int8), np.ones(2, np.float32)]}
KNOWN = fingerprint(SETTINGS, WEIGHTS.items())


def test_order_and_float_type_make_no_other_model():
    assert len(KNOWN) == 32 and int(KNOWN, 16) > 0
    assert fingerprint(dict(reversed(SETTINGS.items())), reversed(WEIGHTS.items())) == KNOWN
    for kind in (np.float16, np.float64):
        assert fingerprint(SETTINGS, {**WEIGHTS, "a": [WEIGHTS["a"][0].astype(kind)]}.items()) == KNOWN


@pytest.mark.parametrize(
    "change",
    [
        {"a": [WEIGHTS["a"][0] + 1]},
        {"a": [WEIGHTS["a"][0].reshape(3, 2)]},
        {"b": [np.ones(2, np.float32), np.ones(2, np.float32)]},
        {"b": [np.ones(2, np.int8), np.full(2, 2, np.float32)]},
        {"b": WEIGHTS["b"][:1]},
        {"c": WEIGHTS["a"]},
    ],
)
def test_another_number_shape_type_or_name_makes_another_model(change):
    assert fingerprint(SETTINGS, {**WEIGHTS, **change}.items()) != KNOWN
    assert fingerprint({**SETTINGS, "heads": [2, 1]}, WEIGHTS.items()) != KNOWN
