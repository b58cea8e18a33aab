"""NumpyEmbedder: embeddings computed in pure NumPy, on the CPU, in fp32; slow but readable.

`Embedder.load(name)` uses it if neither torch nor the compiled library is installed; `engine="numpy"` selects it.
"""

from ...engine_registry import LoadOptions
from ...errors import BadInput
from ...runtime.lazy_imports import torch_hint
from ..array_embedder import ArrayEmbedder
from ..description import Description
from .encoders import NumpyEncoder


class NumpyEmbedder(ArrayEmbedder):
    """A sentence encoder that runs in NumPy.

    >>> NumpyEmbedder.load("likewise-mini").encode(["A cat sleeps.", "A kitten naps."]).shape
    (2, 384)
    """

    encoder: NumpyEncoder

    @classmethod
    def check_options(cls, options: LoadOptions) -> None:
        for option, value, supported in (("precision", options.precision, "fp32"), ("device", options.device, "cpu")):
            if value not in (supported, None):
                raise BadInput(f"{option} is {value!r}; the NumPy engine supports {supported!r} only. {torch_hint()}")

    @classmethod
    def encoder_of(cls, description: Description, precision: str | None) -> NumpyEncoder:  # noqa: ARG003, fp32 only
        return NumpyEncoder(description)
