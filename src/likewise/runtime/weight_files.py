"""Weights in safetensors files: finding the files, looking up tensors, and reading small files of known shapes."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, NamedTuple

from safetensors import SafetensorError, safe_open

from ..errors import BadModel
from .untrusted_files import read_object, regular_file_exists

FLOAT_TYPES = ("F64", "F32", "F16", "BF16")  # types in which weights may be stored, as safetensors names them

ROW_STEP_SUFFIX = ".step"
"""Appended to the name of an int8 matrix, this gives the name of the matrix's quantization scales, one per row."""
COLUMN_SCALE_SUFFIX = ".column_scale"
"""The suffix for column scales, which only smoothed matrices have: weight = int8 value × row scale × column scale."""

WeightFormat = Literal["int8"]  # formats that weights can be converted to when they are written
LARGEST_INT8 = 127

PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.ckpt.index", "tf_model.h5", "flax_model.msgpack")


class StoredKind(NamedTuple):
    """The entry for a tensor in a file header."""

    type: str  # as named by safetensors
    shape: tuple[int, ...]


class WeightReader:
    """The tensors of a folder's safetensors file, or of the shards listed in its index, by name.

    `framework` is safetensors' name for the kind of tensor to return: `"pt"` or `"numpy"`.
    """

    def __init__(self, folder: Path, stack: ExitStack, framework: str, files: Sequence[Path] | None = None) -> None:
        self.folder = folder
        paths = weight_files(folder) if files is None else files
        self.files = {path.name: _open(path, stack, framework) for path in paths}
        self.home = {name: file for file, handle in self.files.items() for name in handle.keys()}  # noqa: SIM118
        self.kinds: dict[str, StoredKind] = {}
        self._full_names: dict[str, str] = {}
        self.names: list[str] = sorted(self.home, key=len)
        for name in self.names:  # shortest first: of two names with the same ending, the shorter is meant
            part = self.files[self.home[name]].get_slice(name)
            self.kinds[name] = StoredKind(str(part.get_dtype()), tuple(part.get_shape()))
            ending = name
            while ending:
                self._full_names.setdefault(ending, name)
                ending = ending.partition(".")[2]

    def find(self, name: str) -> str:
        """The full name of the tensor in the file, including any prefix (`bert.`, `model.`) that the file adds."""
        found = self._full_names.get(name) or self._full_names.get(
            name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        )
        if found is None:
            raise BadModel(
                f"{self.folder} lacks the tensor {name}; its weights contain {len(self.home)} other tensors. Copy the "
                "folder again, or check that config.json describes these weights"
            )
        return found

    def check(self, name: str, expected: tuple[int, ...]) -> None:
        """Raise an error if a tensor's shape differs from the one in the config, or its type is unsupported."""
        kind = self.kinds[name]
        if kind.type not in FLOAT_TYPES and not self._is_int8_matrix(name, kind):
            raise BadModel(
                f"{name} in {self.folder} is stored as {kind.type}; expected {', '.join(FLOAT_TYPES)} "
                '(or I8 together with one scale per row, as written by `save(weights="int8")`)'
            )
        if kind.shape != expected:
            raise BadModel(
                f"config.json in {self.folder} expects shape {expected} for {name}, but the weights have {kind.shape}"
            )

    def tensor(self, name: str) -> Any:
        """The tensor as stored."""
        return self.files[self.home[name]].get_tensor(name)

    def bfloat16(self, name: str) -> Any:
        """A tensor in bfloat16, which NumPy lacks, as 16-bit integers (for `framework="numpy"`)."""
        import numpy as np  # here, so that --help loads no NumPy

        with (self.folder / self.home[name]).open("rb") as file:
            length = int.from_bytes(file.read(8), "little")  # of the header; the file was checked when it was opened
            begin, end = json.loads(file.read(length))[name]["data_offsets"]
            file.seek(8 + length + begin)
            return np.frombuffer(file.read(end - begin), "<u2").reshape(self.kinds[name].shape)

    def fp32(self, name: str) -> Any:
        """A tensor in floating point, as a NumPy array in fp32 (for `framework="numpy"`)."""
        self.check(name, self.kinds[name].shape)
        return widened(self.bfloat16(name)) if self.kinds[name].type == "BF16" else self.tensor(name).astype("float32")

    def not_finite(self, name: str) -> BadModel:
        """The error for a tensor that contains NaN or infinity."""
        return BadModel(f"tensor {name} in {self.folder} has NaN or infinity: the file is damaged or training diverged")

    def _is_int8_matrix(self, name: str, kind: StoredKind) -> bool:
        rows, columns = self.kinds.get(name + ROW_STEP_SUFFIX), self.kinds.get(name + COLUMN_SCALE_SUFFIX)
        if kind.type != "I8" or len(kind.shape) != 2 or rows is None:
            return False
        right_rows = rows.type in FLOAT_TYPES and rows.shape == kind.shape[:1]
        return right_rows and (columns is None or (columns.type in FLOAT_TYPES and columns.shape == kind.shape[1:]))


def _open(path: Path, stack: ExitStack, framework: str) -> Any:
    regular_file_exists(path)
    try:
        return stack.enter_context(safe_open(path, framework=framework))
    except (SafetensorError, OSError) as error:
        raise BadModel(f"{path} cannot be read ({error}); it may be truncated: fetch it again") from error


def weight_files(folder: Path, with_index: bool = False) -> list[Path]:
    """The safetensors files with an encoder's weights: one file, or the shards listed in its index (and the index)."""
    whole, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if regular_file_exists(whole):
        return [whole]
    if regular_file_exists(index):
        return [*(folder / name for name in _shards(index)), *([index] if with_index else [])]
    pickled = [name for name in PICKLED if (folder / name).exists()]
    if pickled:
        raise BadModel(
            f"{folder} contains {pickled[0]}, but only safetensors is supported: a pickle can run any code when it is "
            "opened. If you trust it, convert it once: transformers.AutoModel.from_pretrained(folder)"
            ".save_pretrained(folder) writes model.safetensors."
        )
    raise BadModel(f"{folder} contains no model.safetensors")


def _shards(index: Path) -> list[str]:
    homes = read_object(index).get("weight_map")
    if not isinstance(homes, dict) or not homes:
        raise BadModel(f"{index} lists no shards: weight_map is {homes!r:.100}; expected a map from tensors to files")
    for name in homes.values():
        if not isinstance(name, str) or Path(name).name != name:
            raise BadModel(f"{index} lists the shard {name!r:.100}, which is not a file in this folder")
        if not name.endswith(".safetensors"):
            raise BadModel(f"{index} lists the shard {name!r:.100}, but only safetensors files are supported")
    names = sorted(set(homes.values()))
    for name in names:
        if not regular_file_exists(index.parent / name):
            raise BadModel(f"{index.parent} lacks the shard {name}, which {index.name} lists; copy the folder again")
    return names


def widened(bits: Any) -> Any:
    """Convert bfloat16 numbers, given as 16-bit integers, to fp32."""
    return (bits.astype("uint32") << 16).view("float32")


def write_safetensors(path: Path, arrays: Mapping[str, tuple[str, Any]]) -> None:
    """Write NumPy arrays, each with the safetensors name of its type (safetensors cannot write them as bfloat16).

    The file consists of the header's length in eight bytes, the JSON header padded to a multiple of eight bytes, and
    the data.
    """
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (kind, array) in arrays.items():
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, array in arrays.values():
            file.write(array.tobytes())


def read_tensors(folder: Path, what: str, expected: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    """Read the fp32 torch weights of a small part of a model; raises if a shape is wrong or a value is not finite."""
    if not regular_file_exists(folder / "model.safetensors"):
        raise BadModel(f"{folder} contains no model.safetensors, so {what} has no weights (no other format is read)")
    with ExitStack() as stack:
        reader = WeightReader(folder, stack, "pt")
        found = {name: kind.shape for name, kind in reader.kinds.items()}
        if found != dict(expected):
            raise BadModel(f"{what} in {folder} needs weights of shapes {dict(expected)}, but has {found}")
        for name, shape in expected.items():
            reader.check(name, shape)
        tensors = {name: reader.tensor(name).float() for name in expected}
    if not all(tensor.isfinite().all() for tensor in tensors.values()):
        raise BadModel(f"{what} in {folder} cannot be read: some of its weights are NaN or infinite")
    return tensors
