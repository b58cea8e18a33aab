"""Every notebook runs, within two minutes of two cores, and prints what was committed (`make notebooks`)."""

import resource

import nbformat
import pytest

from benchmarks.notebooks import NOTEBOOKS, differences, executed

MOST_SECONDS = 2 * 120
"""CPU time of one notebook: five of them take at most ten minutes on two cores."""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_was_committed(path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert not differences(nbformat.read(path, as_version=4), executed(path))
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < MOST_SECONDS
