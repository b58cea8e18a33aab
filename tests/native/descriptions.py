"""Torch's encoders as the compiled library reads them from a model folder, so that the two can be compared."""

from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from likewise.encoders.checkpoint import save_encoder
from likewise.engines.description import Description, read_description

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "int8": torch.float32}


def described(encoder: Any, stored: str = "fp32") -> Description:
    """An encoder that was saved with its weights in fp32, fp16, bf16 or int8."""
    with TemporaryDirectory() as folder:
        saved = deepcopy(encoder).to(DTYPES[stored])
        save_encoder(saved, Path(folder), weights="int8" if stored == "int8" else None)
        return read_description(Path(folder))
