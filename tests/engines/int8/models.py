"""A tiny model whose norms give a few channels numbers far above the others', as published ones do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from likewise.engines.int8 import quantize as module
from likewise.engines.int8.texts import held_out_texts, odd_texts
from tests.tiny import model_folder, reweigh

OUTLIERS = (3, 11)
NORMS = ("LayerNorm.weight", "norm.weight")


def with_outliers(folder: Path, family: str = "bert") -> Path:
    """A folder in which every norm but those behind the last block scales some channels by 30."""
    model_folder(folder, family)
    reweigh(folder, lambda name, tensor: _amplified(tensor) if _is_inner_norm(name) else tensor)
    return folder


def _is_inner_norm(name: str) -> bool:
    return name.endswith(NORMS) and "layer.2.output" not in name and "final_norm" not in name


def _amplified(weight: torch.Tensor) -> torch.Tensor:
    changed = weight.clone()
    changed[list(OUTLIERS)] *= 30
    return changed


@contextmanager
def few_texts() -> Iterator[None]:
    """Measurement with a tenth of the texts, which is enough for a model of random weights."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "held_out_texts", lambda: held_out_texts()[::10])
        patch.setattr(module, "odd_texts", lambda seed, count=200: odd_texts(seed, count // 20))
        yield
