"""Shapes in signatures: jaxtyping's in the tests, which check them, and plain annotations in use."""

import subprocess
import sys

import jaxtyping
import numpy as np
import pytest

from likewise import array_types
from likewise.arrays.similarity import unit
from likewise.wording import counted
from tests.without_torch import TORCH


def test_the_tests_check_shapes():
    assert all(getattr(array_types, name) is getattr(jaxtyping, name) for name in array_types.__all__)
    with pytest.raises(jaxtyping.TypeCheckError):
        unit(np.zeros((2, 3, 4), np.float32))
    assert hasattr(unit, "__wrapped__") and not hasattr(counted, "__wrapped__")  # checking every call would be slow


def test_a_first_vector_needs_no_jaxtyping():
    program = (
        "import sys; sys.modules['jaxtyping'] = None; from likewise import Embedder; "
        "from likewise.array_types import Float; "
        "print(Embedder.load().encode(['a']).shape, Float[int, 'N D'].__metadata__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "(1, 384) ('Float', 'N D')\n", done.stderr


@pytest.mark.skipif(not TORCH, reason="objectives are torch's")
def test_objectives_read_the_same_columns_without_jaxtyping():
    program = (
        "from likewise.train.objectives.objective import Objective; "
        "from likewise.train.objectives.registry import OBJECTIVES; "
        "print([(name, Objective.reads(entry.build)) for name, entry in OBJECTIVES.items()])"
    )
    found = [
        subprocess.run([sys.executable, "-c", start + program], capture_output=True, text=True, check=True).stdout
        for start in ("import jaxtyping; ", "")
    ]
    assert found[0] == found[1] and "integers=('label',)" in found[0]
