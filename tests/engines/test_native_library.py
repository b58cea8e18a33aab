"""Only this package's compiled library is called, and only with arrays that fit."""

import _ctypes
import ctypes

import numpy as np
import pytest

from likewise.arrays.sequences import Sequences
from likewise.engines.description import Description
from likewise.engines.native.library import BITS, Model
from likewise.engines.native.native_embedder import NativeEmbedder
from likewise.engines.stored_weights import StoredTensor
from likewise.errors import BadInput, BadModel, NativeUnavailable
from likewise.native import scanning
from likewise.native.library import VERSION, CompiledLibrary, library_path, native_error
from tests.native_library import needs_native

pytestmark = needs_native


@pytest.fixture(scope="module")
def bert(folders):
    return NativeEmbedder.load(folders("bert"))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"ids": np.asarray([1, 2**31])}, "ids range from 1 to 2147483648, outside the int32 range"),
        ({"ids": np.asarray([1, -(2**31) - 1])}, "outside the int32 range"),
        ({"ids": np.asarray([1.0, 2.0])}, "ids are float64 of shape .2,.; expected a 1-D array of integers"),
        ({"lengths": np.asarray([[2]])}, r"lengths are int64 of shape \(1, 1\)"),
        ({"segments": np.zeros(3, int)}, "2 ids in 1 sentences require a segment per id"),
        ({"skips": np.zeros(2, int)}, "a skip per sentence"),
        ({"reductions": ["median"]}, "expected some of cls"),
        ({"reductions": ["cls", "cls"]}, "each once"),
        ({"ids": np.asarray([1, 200])}, "id 200 of sentence 0: wanted 0 to 199"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(how, message, bert, unchecked):
    with pytest.raises(BadInput, match=message):
        bert.encoder.run(**{"ids": np.asarray([1, 2]), "lengths": np.asarray([2]), "reductions": ["mean"], **how})


INT8, FLOATS = np.zeros((10, 64), np.int8), np.zeros((10, 64), np.float32)


@pytest.mark.parametrize(
    ("words", "order", "message"),
    [
        (StoredTensor(FLOATS), [0], "lists 1 layers, but the model has 0"),
        (StoredTensor(INT8), None, "need one scale per row"),
        (StoredTensor(INT8, np.ones(9, np.float32)), None, "need one scale per row"),
        (StoredTensor(FLOATS, np.ones(10, np.float32)), None, "other weights have no scales"),
    ],
)
def test_weights_that_do_not_fit_are_refused(words, order, message):
    with pytest.raises(BadModel, match=message):
        Model(Description(10, 64, 99, words, order=order))


@pytest.mark.parametrize("headed", [False, True])
def test_a_reduction_that_the_library_lacks_is_computed_in_numpy(headed, bert, monkeypatch):
    tokens, segments = Sequences.of([[2, 7, 3], [2, 9, 8, 7, 3]]), np.asarray([0, 1, 1, 0, 0, 0, 1, 1])
    heads = bert.through_heads if headed else None
    arguments = (tokens, ["max", "mean"][headed:], np.asarray([1, 2]), segments, heads)
    wanted = bert.encoder.pooled(*arguments)
    monkeypatch.delitem(BITS, "mean")
    np.testing.assert_allclose(bert.encoder.pooled(*arguments), wanted, atol=1e-6)


def test_a_file_that_is_not_this_packages_library_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "none.so"
    monkeypatch.setenv("LIKEWISE_NATIVE_LIBRARY", str(path))
    with pytest.raises(NativeUnavailable, match="this installation is pure Python"):
        library_path()
    path.write_bytes(b"no library")
    with pytest.raises(NativeUnavailable, match="cannot be loaded .*build it again"):
        CompiledLibrary(library_path())
    with pytest.raises(NativeUnavailable, match="no lw_version"):
        CompiledLibrary(_ctypes.__file__)


def test_a_library_of_another_version_is_refused(monkeypatch):
    monkeypatch.setattr("likewise.native.library.VERSION", VERSION + 1)
    with pytest.raises(NativeUnavailable, match=f"has version {VERSION} of the interface, but .* needs {VERSION + 1}"):
        CompiledLibrary(library_path())


def test_without_a_library_nothing_is_scanned(monkeypatch):
    assert scanning.available()

    def unavailable():
        raise NativeUnavailable("there is none")

    monkeypatch.setattr(scanning, "load_library", unavailable)
    assert not scanning.available()


@pytest.mark.parametrize(
    ("code", "error"), [(1, BadModel), (2, BadModel), (3, BadInput), (4, MemoryError), (5, BadModel)]
)
def test_each_code_of_the_library_has_its_exception(code, error):
    found = native_error(code, ctypes.create_string_buffer(b"what happened"))
    assert (type(found), str(found)) == (error, "what happened")
