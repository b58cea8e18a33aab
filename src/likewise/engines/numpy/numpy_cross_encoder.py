"""NumpyCrossEncoder: scores of pairs in NumPy alone, on the CPU, in fp32; slow, and readable."""

from ..array_cross_encoder import ArrayCrossEncoder
from .numpy_embedder import NumpyEmbedder


class NumpyCrossEncoder(ArrayCrossEncoder):
    """A cross-encoder that NumPy computes."""

    ENGINE = NumpyEmbedder
