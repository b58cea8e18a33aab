"""The weights of a model folder as NumPy arrays in their stored type, for the engines without torch."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..array_types import Float
from ..errors import BadModel
from ..runtime.weight_files import (
    COLUMN_SCALE_SUFFIX,
    LARGEST_INT8,
    ROW_STEP_SUFFIX,
    WeightReader,
    weight_files,
    widened,
    write_safetensors,
)

Array = np.ndarray
FileState = tuple[str, int, int, int]  # a file's name, inode, size and modification time
TYPE_NAMES = {"float32": "F32", "float16": "F16", "uint16": "BF16", "int8": "I8"}
"""Maps NumPy dtype names to safetensors dtype names; bfloat16 is held as `uint16`."""
EXPONENT = 0x7F80  # the exponent bits of a bfloat16; if all are set, the value is infinite or NaN


@dataclass(frozen=True)
class StoredTensor:
    """Stored weights: an fp32, fp16 or int8 array, or bfloat16 as `uint16`; int8 weights have one scale per row.

    A smoothed int8 matrix also has one scale per column, by which int8 kernels multiply the inputs instead.
    """

    values: Array
    scales: Array | None = None
    name: str = ""  # the name in the file, without the prefix common to all names
    column_scales: Array | None = None

    @property
    def arrays(self) -> list[Array]:
        """The values, followed by the scales if the tensor is quantized."""
        return [array for array in (self.values, self.scales, self.column_scales) if array is not None]

    @property
    def identifying(self) -> list[Array]:
        """The arrays that go into a model's fingerprint; bfloat16 is converted to fp32."""
        return [self.fp32()] if self.values.dtype == np.uint16 else self.arrays

    def fp32(self) -> Float[Array, "..."]:
        """The weights in fp32, dequantized if necessary."""
        if self.values.dtype == np.uint16:
            return np.asarray(widened(self.values))
        values = self.values.astype(np.float32)
        values = values if self.scales is None else values * self.scales[:, None]
        return values if self.column_scales is None else values * self.column_scales


def in_int8(tensors: Mapping[str, StoredTensor]) -> dict[str, StoredTensor]:
    """Quantize each matrix to int8, with one scale per row; keep the rest in fp32, as in `encoders.checkpoint`."""
    return {name: int8_rows(tensor) if tensor.values.ndim == 2 else replace(tensor, values=tensor.fp32())
            for name, tensor in tensors.items()}  # fmt: skip


def int8_rows(tensor: StoredTensor) -> StoredTensor:
    """Quantize a matrix to int8: each row is integers from −127 to 127 times its scale, which is 0 for a zero row."""
    if tensor.scales is not None:
        return tensor
    matrix = tensor.fp32()
    step = np.abs(matrix).max(axis=1) / np.float32(LARGEST_INT8)
    whole = np.divide(matrix, step[:, None], out=np.zeros_like(matrix), where=step[:, None] > 0)
    return StoredTensor(np.clip(np.rint(whole), -LARGEST_INT8, LARGEST_INT8).astype(np.int8), step, tensor.name)


def write_tensors(path: Path, tensors: Mapping[str, StoredTensor]) -> None:
    arrays = {name: (TYPE_NAMES[tensor.values.dtype.name], tensor.values) for name, tensor in tensors.items()}
    for name, tensor in tensors.items():
        for suffix, scales in ((ROW_STEP_SUFFIX, tensor.scales), (COLUMN_SCALE_SUFFIX, tensor.column_scales)):
            if scales is not None:
                arrays[name + suffix] = ("F32", scales.astype(np.float32))
    write_safetensors(path, arrays)


def has_int8(tensors: Iterable[StoredTensor]) -> bool:
    return any(tensor.scales is not None for tensor in tensors)


def check_unchanged(folder: Path, before: list[FileState]) -> None:
    """Raise BadModel if the encoder files in a folder have changed."""
    if file_states(folder) != before:
        raise BadModel(f"the weights in {folder} have changed since this model was loaded; load it again")


def replaces(target: Path, own: Path) -> bool:
    """Whether saving into `target` overwrites the model's own files, which may be in a sub-folder of it."""
    return target.resolve() in (own.resolve(), own.resolve().parent)


def file_states(folder: Path) -> list[FileState]:
    """The state of each encoder file, which shows whether the file has changed."""
    config = folder / "config.json"  # absent from StaticEmbedding folders
    paths = [config] * config.is_file() + weight_files(folder, with_index=True)
    return [(path.name, state.st_ino, state.st_size, state.st_mtime_ns) for path in paths for state in [path.stat()]]


class StoredWeights(WeightReader):
    """The tensors of a model folder, each checked when it is read."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        super().__init__(folder, stack, "numpy")

    def read(self, name: str, *shape: int) -> StoredTensor:
        """Read the tensor with this name and shape, ignoring any prefix common to the names in the file."""
        found = self.find(name)
        self.check(found, shape)
        if self.kinds[found].type != "I8":
            return StoredTensor(self._floats(found), name=name)
        steps, columns = found + ROW_STEP_SUFFIX, found + COLUMN_SCALE_SUFFIX
        column_scales = StoredTensor(self._floats(columns)).fp32() if columns in self.home else None
        values = self.files[self.home[found]].get_tensor(found)
        return StoredTensor(values, StoredTensor(self._floats(steps)).fp32(), name, column_scales)

    def _floats(self, name: str) -> Array:
        kind = self.kinds[name].type
        if kind == "BF16":
            values: Array = self.bfloat16(name)
            finite = not np.any((values & EXPONENT) == EXPONENT)
        else:
            values = self.files[self.home[name]].get_tensor(name)
            values = values.astype(np.float32) if kind == "F64" else values
            finite = bool(np.isfinite(values.sum(dtype=np.float32)))
        if not finite:
            raise self.not_finite(name)
        return values
