"""Weights of a folder as NumPy arrays, for where torch is not: one safetensors file, in any precision or eight bits."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from safetensors import SafetensorError, safe_open

from ...errors import BadModel
from ...runtime.lazy_imports import torch_hint
from ...runtime.untrusted_files import regular_file_exists
from ...runtime.weight_files import FLOAT_TYPES, ROW_STEP_SUFFIX, match_tensor_name


class WeightFile:
    """The tensors of a file by name, whatever prefix the file puts before the names; each checked when it is read."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        path = folder / "model.safetensors"
        if not regular_file_exists(path):
            raise BadModel(
                f"{folder} holds no model.safetensors, the one file of weights that is read without torch. "
                f"{torch_hint()}"
            )
        try:
            self.file: Any = stack.enter_context(safe_open(path, framework="numpy"))
        except (SafetensorError, OSError) as error:
            raise BadModel(f"{path} cannot be read ({error}); it may have been cut short: fetch it again") from error
        self.path = path
        self.names = sorted(self.file.keys(), key=len)

    def read(self, name: str, *shape: int) -> Float[np.ndarray, "..."]:
        """The tensor of this name in fp32, of this shape."""
        found = self._find(name)
        part = self.file.get_slice(found)
        stored, has = str(part.get_dtype()), tuple(part.get_shape())
        if has != shape:
            raise BadModel(f"config.json asks for {name} of shape {shape}, and {self.path} holds {has}")
        step = found + ROW_STEP_SUFFIX
        if stored not in FLOAT_TYPES and not (stored == "I8" and step in self.names and len(shape) == 2):
            raise BadModel(
                f"{name} in {self.path} is stored as {stored}; without torch, {', '.join(FLOAT_TYPES)} are read. "
                f"{torch_hint()}"
            )
        array = self._bf16(found, shape) if stored == "BF16" else self.file.get_tensor(found).astype(np.float32)
        if stored == "I8":
            array *= self.read(step, shape[0])[:, None]
        if not np.isfinite(array.sum(dtype=np.float64)):
            raise BadModel(f"the tensor {name} in {self.path} is not finite; the file is damaged or training diverged")
        return np.ascontiguousarray(array)

    def _bf16(self, name: str, shape: Sequence[int]) -> Float[np.ndarray, "..."]:
        """A tensor in bfloat16, which NumPy does not know: the upper halves of fp32's numbers."""
        with self.path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")  # of the header; the file was checked when it was opened
            begin, end = json.loads(file.read(length))[name]["data_offsets"]
            file.seek(8 + length + begin)
            halves = np.frombuffer(file.read(end - begin), "<u2")
        return (halves.astype(np.uint32) << 16).view(np.float32).reshape(shape)

    def _find(self, name: str) -> str:
        found = match_tensor_name(name, self.names)
        if found is None:
            raise BadModel(f"{self.path} lacks the tensor {name}; it holds {len(self.names)} others")
        return found
