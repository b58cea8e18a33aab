"""Weights in safetensors files: supported data types, names of tensors, and reading small files of known shapes."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from ..errors import BadModel
from .untrusted_files import regular_file_exists

FLOAT_TYPES = ("F64", "F32", "F16", "BF16")
"""The types in which weights may be stored, as safetensors names them."""

ROW_STEP_SUFFIX = ".step"
"""The suffix that turns the name of an int8 matrix into that of its quantization steps, one for each row."""


def match_tensor_name(name: str, names: Sequence[str]) -> str | None:
    """The first of a file's names that equals `name` apart from a prefix (`bert.`, `model.`), or None.

    `names` must be sorted by length, shortest first. Norms may have the names of the earliest checkpoints, gamma and
    beta.
    """
    older = re.sub(r"LayerNorm\.weight$", "LayerNorm.gamma", re.sub(r"LayerNorm\.bias$", "LayerNorm.beta", name))
    for expected in (name, older):
        for candidate in names:
            if candidate == expected or candidate.endswith("." + expected):
                return candidate
    return None


def read_tensors(folder: Path, what: str, expected: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    """The weights of a small part of a model as torch tensors in fp32, checked to be exactly those expected and finite.

    The header is compared with the expected shapes before any memory is allocated.
    """
    path = folder / "model.safetensors"
    if not regular_file_exists(path):
        raise BadModel(f"{folder} holds no model.safetensors, so {what} has no weights (only safetensors are read)")
    try:
        with safe_open(path, framework="pt") as file:
            parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            found = {name: tuple(part.get_shape()) for name, part in parts.items()}
            if found != dict(expected):
                raise BadModel(f"{what} in {folder} wants weights of the shapes {dict(expected)}, and has {found}")
            kinds = sorted({str(part.get_dtype()) for part in parts.values()} - {*FLOAT_TYPES})
            if kinds:
                raise BadModel(f"{what} in {folder} is stored as {kinds[0]}; expected {', '.join(FLOAT_TYPES)}")
            tensors = {name: file.get_tensor(name).float() for name in parts}
    except (SafetensorError, OSError) as error:
        raise BadModel(f"{what} in {folder} cannot be read: {error!r}") from error
    if not all(tensor.isfinite().all() for tensor in tensors.values()):
        raise BadModel(f"{what} in {folder} cannot be read: its weights are not all finite")
    return tensors
