"""Vectors quantized to int8 or to one bit per dimension: a scan reads 4 or 32 times fewer bytes than in float32.

Only directions are kept, since they suffice for cosines: rows are first scaled to length 1. For int8, each row has a
scale, its largest magnitude / 127; one bit keeps the sign, and the fraction of matching signs grows with the cosine
(Charikar 2002, section 3).
"""

from dataclasses import dataclass

import numpy as np

from ..array_types import Float, Int, Int8, Shaped, UInt8
from ..errors import BadInput
from .similarity import check_finite_rows, number_table, unit

STEPS = 127
BLOCK = 8192  # rows at a time
Rows = slice | Int[np.ndarray, " n"]


@dataclass(frozen=True)
class Int8Vectors:
    """Rows of length 1; each is approximately its codes times its scale."""

    codes: Int8[np.ndarray, "N D"]
    scales: Float[np.ndarray, " N"]

    @property
    def dimension(self) -> int:
        return int(self.codes.shape[1])

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Rows) -> "Int8Vectors":
        return Int8Vectors(self.codes[rows], self.scales[rows])

    def encode(self, queries: Shaped[np.ndarray, "Q D"]) -> "Int8Vectors":
        return quantize_int8(queries)


@dataclass(frozen=True)
class BitVectors:
    """The signs of rows, packed eight to a byte, with the first in the lowest bit."""

    codes: UInt8[np.ndarray, "N B"]
    dimension: int

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Rows) -> "BitVectors":
        return BitVectors(self.codes[rows], self.dimension)

    def encode(self, queries: Shaped[np.ndarray, "Q D"]) -> "BitVectors":
        return quantize_bits(queries)


def quantize_int8(vectors: Shaped[np.ndarray, "N D"]) -> Int8Vectors:
    """Quantize the directions of these vectors to int8, a block of rows at a time, with one scale per row."""
    vectors = _table(vectors)
    codes, scales = np.empty(vectors.shape, np.int8), np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), BLOCK):
        rows = unit(vectors[start : start + BLOCK]).astype(np.float32, copy=False)
        largest = np.abs(rows).max(axis=1, initial=0, keepdims=True)
        steps = np.divide(STEPS, largest, out=np.zeros_like(largest), where=largest > 0)
        codes[start : start + BLOCK] = np.rint(rows * steps)
        scales[start : start + BLOCK] = largest[:, 0] / STEPS
    return Int8Vectors(codes, scales)


def quantize_bits(vectors: Shaped[np.ndarray, "N D"]) -> BitVectors:
    """Keep only the signs of these vectors, a block of rows at a time."""
    vectors = _table(vectors)
    codes = np.empty((len(vectors), (vectors.shape[1] + 7) // 8), np.uint8)
    for start in range(0, len(vectors), BLOCK):
        codes[start : start + BLOCK] = np.packbits(vectors[start : start + BLOCK] > 0, axis=1, bitorder="little")
    return BitVectors(codes, int(vectors.shape[1]))


def int8_products(a: Int8Vectors, b: Int8Vectors) -> Float[np.ndarray, "M N"]:
    """Approximate cosines between all rows of a and all rows of b: exact integer dot products, times both scales."""
    sums = a.codes.astype(np.float64) @ b.codes.astype(np.float64).T  # whole numbers, which float64 represents exactly
    return np.asarray(sums.astype(np.float32) * b.scales * a.scales[:, None])


def sign_agreement(a: BitVectors, b: BitVectors) -> Float[np.ndarray, "M N"]:
    """For every row of a and every row of b, the fraction of equal signs minus that of unequal signs (-1 to 1)."""
    products = _signs(a) @ _signs(b).T
    return np.asarray(products / np.float32(a.dimension))


def _signs(x: BitVectors) -> Float[np.ndarray, "N D"]:
    return np.unpackbits(x.codes, axis=1, count=x.dimension, bitorder="little").astype(np.float32) * 2 - 1


def _table(vectors: Shaped[np.ndarray, "N D"]) -> Shaped[np.ndarray, "N D"]:
    vectors = number_table(vectors, "vectors")
    if vectors.ndim != 2:
        raise BadInput(f"expected a 2-D array of vectors (N, D), one row per text; got shape {vectors.shape}")
    check_finite_rows(vectors, "vectors")
    return vectors
