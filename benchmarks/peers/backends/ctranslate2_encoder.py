"""CTranslate2 called directly, with our batches; it accepts token ids and removes padding itself."""

import numpy as np

from ..exports import ctranslate2_folder
from ..process import Spec
from .padded import ByHand

TYPES = {"fp32": "float32", "int8": "int8_float32"}


class CTranslate2(ByHand):
    packages = ("ctranslate2",)

    def __init__(self, spec: Spec) -> None:
        import ctranslate2

        super().__init__(spec)
        self.encoder = ctranslate2.Encoder(
            str(ctranslate2_folder(spec)),
            device="cpu",
            compute_type=TYPES[spec.precision],
            inter_threads=1,
            intra_threads=spec.threads,
        )

    def compute(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        rows = [row[: int(size)].tolist() for row, size in zip(ids, mask.sum(1), strict=True)]
        return np.array(self.encoder.forward_batch(rows).last_hidden_state)


load = CTranslate2
