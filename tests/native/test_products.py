"""Products of every instruction set: the same bits, whole numbers exactly, floats against fp64, in any company."""

import ctypes
import platform
from ctypes import c_size_t, c_void_p

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float

from likewise.cli.machine import CPUINFO
from likewise.engines.native.library import PRECISIONS, Library
from likewise.native.library import MESSAGE, native_error
from tests.native.conftest import check_same_bits

Array = Float[np.ndarray, "..."]
sizes = st.tuples(st.integers(1, 20), st.integers(1, 70), st.integers(1, 90))


def whole(draw: np.random.Generator, *shape: int) -> Array:
    return draw.integers(-127, 128, shape).astype(np.float32)


def to_bf16(x: Array) -> Array:
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def product(library: Library, *operands: Array, precision: str = "fp32", instructions: str | None = None) -> Array:
    """A bᵀ + bias + residual of the operands, by the kernels of an instruction set; whole numbers in int8."""
    a, b, *_ = arrays = [np.require(x, np.float32, "C") for x in operands]
    out, message = np.empty((len(a), len(b)), np.float32), ctypes.create_string_buffer(MESSAGE)
    pointers = [c_void_p(x.ctypes.data) for x in arrays] + [None] * (4 - len(arrays))
    name = None if instructions is None else instructions.encode()
    rest = (len(a), *b.shape, c_void_p(out.ctypes.data), message, c_size_t(MESSAGE))
    if code := library.functions.lw_product(name, PRECISIONS[precision], *pointers, *rest):
        raise native_error(code, message)
    return out


def test_the_best_instruction_set_comes_first_and_the_portable_last(library: Library) -> None:
    assert library.instruction_sets[-1] == "portable"
    assert len({*library.instruction_sets}) == len(library.instruction_sets)


AVX2 = {"avx2", "fma", "f16c"}
AVX512 = AVX2 | {"avx512f", "avx512bw", "avx512dq", "avx512vl"}
NEEDED = {
    "avx512bf16": AVX512 | {"avx512_vnni", "avx512_bf16"},
    "vnni": AVX512 | {"avx512_vnni"},
    "avx512": AVX512,
    "avxvnni": AVX2 | {"avx_vnni"},
    "avx2": AVX2,
    "vnni256": AVX512 | {"avx512_vnni"},
    "portable": set(),
}
"""What Linux calls the instructions that each set needs, best set first."""


@pytest.mark.skipif(platform.machine() != "x86_64" or not CPUINFO.is_file(), reason="asks Linux about an x86 processor")
def test_no_instruction_set_of_this_processor_is_missed(library: Library) -> None:
    flags = {*next(line for line in CPUINFO.read_text().splitlines() if line.startswith("flags")).split()}
    assert [*library.instruction_sets] == [name for name, needed in NEEDED.items() if needed <= flags]


@given(size=sizes, seed=st.integers(0, 99))
def test_int8_products_are_exact(library: Library, size: tuple[int, int, int], seed: int) -> None:
    m, n, k = size
    draw = np.random.default_rng(seed)
    a, b = whole(draw, m, k), whole(draw, n, k)
    wanted = a.astype(np.int64) @ b.astype(np.int64).T
    for name in library.instruction_sets:
        found = product(library, a, b, precision="int8", instructions=name)
        assert np.array_equal(found.astype(np.int64), wanted), name


@pytest.mark.parametrize("value", [127, -127])
def test_int8_products_do_not_saturate(library: Library, value: int) -> None:
    a, b = np.full((13, 1000), 127, np.float32), np.full((50, 1000), value, np.float32)
    for name in library.instruction_sets:
        found = product(library, a, b, precision="int8", instructions=name)
        assert (found == 127 * value * 1000).all(), name


@given(size=sizes, seed=st.integers(0, 99))
def test_fp32_products_are_fp64s_to_rounding(library: Library, size: tuple[int, int, int], seed: int) -> None:
    m, n, k = size
    draw = np.random.default_rng(seed)
    a, b, bias, more = (draw.standard_normal(s, np.float32) for s in ((m, k), (n, k), (n,), (m, n)))
    wanted = a.astype(float) @ b.astype(float).T + bias + more
    bound = 1e-6 * (np.abs(a).astype(float) @ np.abs(b).astype(float).T + np.abs(bias) + np.abs(more) + 1)
    found = check_same_bits(library, lambda name: product(library, a, b, bias, more, instructions=name))
    assert (np.abs(found - wanted) <= bound).all()


@given(size=sizes, seed=st.integers(0, 99))
def test_bf16_products_are_those_of_the_rounded_numbers(
    library: Library, size: tuple[int, int, int], seed: int
) -> None:
    m, n, k = size
    draw = np.random.default_rng(seed)
    a, b = (draw.standard_normal(s, np.float32) for s in ((m, k), (n, k)))
    p, q = to_bf16(a).astype(float), to_bf16(b).astype(float)
    bound = 1e-6 * (np.abs(p) @ np.abs(q).T + 1)
    found = check_same_bits(library, lambda name: product(library, a, b, precision="bf16", instructions=name))
    assert (np.abs(found - p @ q.T) <= bound).all()


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_a_row_has_the_same_bits_in_any_company(library: Library, precision: str) -> None:
    draw = np.random.default_rng(0)
    a, b = whole(draw, 31, 75) / (1 if precision == "int8" else 77), whole(draw, 130, 75)
    for name in library.instruction_sets:
        together = product(library, a, b, precision=precision, instructions=name)
        for count in (1, 2, 3, 7, 12, 13):
            for begin in range(0, 31 - count, 5):
                rows = slice(begin, begin + count)
                found = product(library, a[rows], b, precision=precision, instructions=name)
                assert np.array_equal(found, together[rows]), (name, count, begin)
