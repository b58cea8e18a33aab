"""Quantized vectors are what a row by itself is rounded to, in blocks of any size."""

import numpy as np
import pytest

from likewise.arrays import quantization
from likewise.arrays.quantization import int8_products, quantize_bits, quantize_int8, sign_agreement
from likewise.arrays.similarity import cosine
from likewise.errors import BadInput


@pytest.fixture(autouse=True)
def blocks(monkeypatch):
    monkeypatch.setattr(quantization, "BLOCK", 4)


def table(count, width):
    rows = np.random.default_rng(0).normal(size=(count, width))
    rows[1::3] *= 0
    return rows * 10.0 ** np.arange(count)[:, None]


@pytest.mark.parametrize("count", [0, 1, 4, 5, 8, 9])
@pytest.mark.parametrize("width", [1, 7, 8, 9])
def test_each_row_is_quantized_by_itself(count, width):
    rows = table(count, width)
    int8, bits = quantize_int8(rows), quantize_bits(rows)
    assert len(int8) == len(bits) == count and int8.dimension == bits.dimension == width
    assert (int8.codes.dtype, int8.scales.dtype, bits.codes.dtype) == (np.int8, np.float32, np.uint8)
    for i, row in enumerate(rows):
        largest = np.abs(row).max() or 1
        assert int8.codes[i].tolist() == [round(float(x / largest * 127)) for x in row]
        assert int8.scales[i] == pytest.approx(np.abs(row).max() / (np.linalg.norm(row) or 1) / 127, rel=1e-6)
        signs = [sum(int(x > 0) << bit for bit, x in enumerate(row[start : start + 8])) for start in range(0, width, 8)]
        assert bits.codes[i].tolist() == signs
    part = int8[2:5]
    assert np.array_equal(part.codes, int8.codes[2:5]) and np.array_equal(part.scales, int8.scales[2:5])
    assert np.array_equal(bits[2:5].codes, bits.codes[2:5]) and bits[2:5].dimension == width


def test_products_of_codes_are_nearly_the_cosines():
    a, b = np.random.default_rng(1).normal(size=(2, 6, 300))
    np.testing.assert_allclose(int8_products(quantize_int8(a), quantize_int8(b)), cosine(a, b), atol=2e-3)
    ones, mixed = np.ones((1, 5)), np.array([[1.0, 1, 1, -1, 0]])
    agreement = sign_agreement(quantize_bits(ones), quantize_bits(np.concatenate([ones, -ones, mixed])))
    np.testing.assert_allclose(agreement, [[1, -1, 0.2]], rtol=1e-6)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("quantize", [quantize_int8, quantize_bits])
def test_what_cannot_be_quantized_is_refused(quantize):
    for wrong in (np.ones(3), np.ones((1, 2, 3))):
        with pytest.raises(BadInput, match="expected a 2-D array of vectors"):
            quantize(wrong)
    with pytest.raises(BadInput, match=r"vectors\[5\] contains NaN"):
        quantize(np.where(np.arange(7)[:, None] == 5, np.nan, np.ones((7, 2))))
