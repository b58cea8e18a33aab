"""Ways to break a file of a model folder, independent of its contents."""

import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def break_file(file: str, how: str, folder: Path) -> None:
    path = folder / file
    data = path.read_bytes()
    path.unlink()
    FILES[how](path, data)


def remove_file(file: str, folder: Path) -> None:
    (folder / file).unlink()


def _unreadable(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    path.chmod(0)


def _sparse(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    os.truncate(path, 1 << 30 if path.suffix == ".safetensors" else 20 << 30)  # weights are mapped into memory


def _loop(path: Path, _: bytes) -> None:
    path.symlink_to(path.name)


def _self(path: Path, _: bytes) -> None:
    path.mkdir()
    (path / "inner").symlink_to("..")


FILES: Mapping[str, Callable[[Path, bytes], Any]] = {
    "missing": lambda *_: None,
    "empty": lambda path, _: path.write_bytes(b""),
    "half": lambda path, data: path.write_bytes(data[: len(data) // 2]),
    "short": lambda path, data: path.write_bytes(data[:-1]),
    "twice": lambda path, data: path.write_bytes(data + data),
    "zeros": lambda path, data: path.write_bytes(bytes(len(data))),
    "noise": lambda path, data: path.write_bytes(random.Random(7).randbytes(len(data))),
    "latin-1": lambda path, data: path.write_bytes(data.replace(b"a", "ä".encode("latin-1"))),
    "utf-16": lambda path, data: path.write_bytes(data.decode("latin-1").encode("utf-16")),
    "bom": lambda path, data: path.write_bytes(b"\xef\xbb\xbf" + data),
    "deep": lambda path, _: path.write_bytes(b"[" * 200_000),
    "deep-objects": lambda path, _: path.write_bytes(b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "digits": lambda path, _: path.write_bytes(b'{"max_seq_length": ' + b"9" * 1_000_000 + b"}"),
    "list": lambda path, _: path.write_bytes(b"[1, 2]"),
    "text": lambda path, _: path.write_bytes(b'"text"'),
    "number": lambda path, _: path.write_bytes(b"3"),
    "null": lambda path, _: path.write_bytes(b"null"),
    "nan": lambda path, _: path.write_bytes(b"NaN"),
    "object": lambda path, _: path.write_bytes(b"{}"),
    "lists": lambda path, _: path.write_bytes(b"[[], {}, null]"),
    "pipe": lambda path, _: os.mkfifo(path),
    "folder": lambda path, _: path.mkdir(),
    "folder-with-link": _self,
    "link-loop": _loop,
    "broken-link": lambda path, _: path.symlink_to("nowhere"),
    "zero-device": lambda path, _: path.symlink_to("/dev/zero"),
    "null-device": lambda path, _: path.symlink_to("/dev/null"),
    "memory": lambda path, _: path.symlink_to("/proc/self/mem"),
    "unreadable": _unreadable,
    "sparse": _sparse,
}
