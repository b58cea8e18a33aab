"""Ways to break the weights of a model folder, and the index of its shards."""

import json
import pickle
import shutil
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def _weights(folder: Path) -> Path:
    return folder / "model.safetensors"


def _data(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _tensors(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        from safetensors.torch import load_file, save_file

        new = change(load_file(_weights(folder)))
        save_file({name: tensor.contiguous() for name, tensor in new.items()}, _weights(folder))

    return do


def _largest(tensors: dict[str, Any]) -> str:
    return max(tensors, key=lambda name: tensors[name].numel())


def _header(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        data = _weights(folder).read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8 : 8 + size])
        new = json.dumps(change(header) or header).encode()
        _weights(folder).write_bytes(struct.pack("<Q", len(new)) + new + data[8 + size :])

    return do


def _every(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(header: dict[str, Any]) -> None:
        for name, about in header.items():
            if name != "__metadata__":
                about[key] = value

    return change


def _pickle(folder: Path) -> None:
    import torch

    torch.save({"a": torch.ones(2)}, _weights(folder))


def _only_pickle(folder: Path) -> None:
    import torch

    _weights(folder).unlink()
    torch.save({"a": torch.ones(2)}, folder / "pytorch_model.bin")


def _one(change: Callable[[Any], Any]) -> Callable[[Path], None]:
    return _tensors(lambda tensors: {**tensors, _largest(tensors): change(tensors[_largest(tensors)])})


WEIGHTS: Mapping[str, Callable[[Path], Any]] = {
    "pickle": _pickle,
    "only-pickle": _only_pickle,
    "plain-pickle": lambda folder: _data(_weights(folder), pickle.dumps({"a": [1.0]})),
    "long-header": lambda folder: _data(_weights(folder), struct.pack("<Q", 2**63) + b"{}"),
    "long-header-in-bounds": lambda folder: _data(_weights(folder), struct.pack("<Q", 10**8) + b"{}"),
    "empty-header": lambda folder: _data(_weights(folder), struct.pack("<Q", 0)),
    "no-tensors": lambda folder: _data(_weights(folder), struct.pack("<Q", 2) + b"{}"),
    "header-list": lambda folder: _data(_weights(folder), struct.pack("<Q", 2) + b"[]"),
    "header-latin-1": lambda folder: _data(_weights(folder), struct.pack("<Q", 3) + b"{\xe4}"),
    "offsets-equal": _header(_every("data_offsets", [0, 0])),
    "offsets-negative": _header(_every("data_offsets", [-8, 8])),
    "offsets-far": _header(_every("data_offsets", [10**18, 10**18 + 8])),
    "shape-huge": _header(_every("shape", [10**9, 10**9])),
    "shape-negative": _header(_every("shape", [-1, 4])),
    "shape-empty": _header(_every("shape", [])),
    "type-unknown": _header(_every("dtype", "Q4")),
    "type-other": _header(_every("dtype", "I32")),
    "type-bool": _header(_every("dtype", "BOOL")),
    "nan": _one(lambda tensor: tensor * float("nan")),
    "infinite": _one(lambda tensor: tensor + float("inf")),
    "large": _one(lambda tensor: tensor * 1e30),
    "transposed": _one(lambda tensor: tensor.T),
    "flat": _one(lambda tensor: tensor.flatten()),
    "half": _tensors(lambda tensors: {name: tensor.half() for name, tensor in tensors.items()}),
    "double": _tensors(lambda tensors: {name: tensor.double() for name, tensor in tensors.items()}),
    "integers": _tensors(lambda tensors: {name: tensor.int() for name, tensor in tensors.items()}),
    "int8": _tensors(lambda tensors: {name: tensor.char() for name, tensor in tensors.items()}),
    "complex": _tensors(lambda tensors: {name: tensor.cfloat() for name, tensor in tensors.items()}),
    "one-missing": _tensors(lambda tensors: {k: v for k, v in tensors.items() if k != _largest(tensors)}),
    "one-more": _tensors(lambda tensors: {**tensors, "more": next(iter(tensors.values())) + 1}),
    "renamed": _tensors(lambda tensors: {f"x.{name}": tensor for name, tensor in tensors.items()}),
    "cut": _one(lambda tensor: tensor[:3]),
}


def _index(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        path = folder / "model.safetensors.index.json"
        index = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps(change(index) or index), "utf-8")

    return do


def _all_in(place: Any) -> Callable[[Path], None]:
    return _index(lambda index: {"weight_map": dict.fromkeys(index["weight_map"], place)})


def _both(folder: Path) -> None:
    shutil.copy(folder / "model-00001-of-00002.safetensors", folder / "model.safetensors")


INDEXES: Mapping[str, Callable[[Path], Any]] = {
    "index-names-bin": _all_in("pytorch_model.bin"),
    "index-names-nothing": _all_in("nowhere.safetensors"),
    "index-names-above": _all_in("../../model.safetensors"),
    "index-names-absolute": _all_in("/etc/passwd"),
    "index-names-device": _all_in("/dev/zero"),
    "index-names-itself": _all_in("model.safetensors.index.json"),
    "index-names-empty": _all_in(""),
    "index-names-nul": _all_in("a\0b.safetensors"),
    "index-names-long": _all_in("x" * 5000),
    "index-names-number": _all_in(3),
    "index-names-null": _all_in(None),
    "index-names-list": _all_in(["a"]),
    "index-names-first": _all_in("model-00001-of-00002.safetensors"),
    "index-map-list": _index(lambda _: {"weight_map": ["a"]}),
    "index-map-empty": _index(lambda _: {"weight_map": {}}),
    "index-map-missing": _index(lambda _: {"metadata": {}}),
    "index-list": _index(lambda _: [1]),
    "index-half": _index(lambda index: {"weight_map": dict(list(index["weight_map"].items())[::2])}),
    "index-more": _index(
        lambda index: {"weight_map": {**index["weight_map"], "more": "model-00001-of-00002.safetensors"}}
    ),
    "index-and-whole": _both,
}
