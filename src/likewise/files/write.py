"""Writing vectors to a file, a block at a time, so that memory does not grow with the number of rows."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from jaxtyping import Float

from ..errors import BadInput
from ..runtime.atomic_files import atomic_file, check_ending, check_not_input, check_writable_file
from ..runtime.installation import missing_extra

Write = Callable[[Sequence[str], Float[np.ndarray, "n E"]], None]
Open = Callable[[Path, int, dict[str, str]], AbstractContextManager[Write]]


def writer(path: Path, width: int, about: dict[str, str]) -> AbstractContextManager[Write]:
    """Yields `write(texts, vectors)`; the file appears under its name once everything is written, or not at all.

    `about` (the model and its fingerprint) is stored if the format has a place for it, as Parquet does.
    """
    check_output(path)
    return WRITABLE[path.suffix.lower()](path, width, about)


def check_output(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Check, before vectors are computed, that they can be written under this name, which must not be an input's."""
    check_ending(path, WRITABLE)
    check_not_input(path, inputs)
    check_writable_file(path)


@contextmanager
def _npy(path: Path, width: int, about: dict[str, str]) -> Iterator[Write]:  # noqa: ARG001
    rows = 0
    with atomic_file(path) as partial, partial.open("wb") as file:
        _npy_header(file, rows, width)

        def write(texts: Sequence[str], vectors: Float[np.ndarray, "n E"]) -> None:  # noqa: ARG001
            nonlocal rows
            file.write(np.ascontiguousarray(vectors, dtype="<f4").data)
            rows += len(vectors)

        yield write
        file.seek(0)
        _npy_header(file, rows, width)  # as long as the first header: NumPy leaves room for a larger count


def _npy_header(file: BinaryIO, rows: int, width: int) -> None:
    np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (rows, width)})


@contextmanager
def _jsonl(path: Path, width: int, about: dict[str, str]) -> Iterator[Write]:  # noqa: ARG001
    with atomic_file(path) as partial, partial.open("w", encoding="utf-8") as file:

        def write(texts: Sequence[str], vectors: Float[np.ndarray, "n E"]) -> None:
            for text, vector in zip(texts, vectors, strict=True):
                numbers = ", ".join(f"{x:.9g}" for x in vector)
                file.write(f'{{"text": {_json(text)}, "vector": [{numbers}]}}\n')

        yield write


def _json(text: str) -> str:
    """The text in JSON: unescaped if UTF-8 can encode it; half of a surrogate pair needs JSON's escapes."""
    return json.dumps(text, ensure_ascii=not _is_utf8(text))


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def _parquet(path: Path, width: int, about: dict[str, str]) -> Iterator[Write]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("pyarrow", "parquet", f"writing {path.name}") from None
    fields: list[Any] = [("text", pa.string()), ("vector", pa.list_(pa.float32(), width))]
    schema = pa.schema(fields, metadata=about)
    with atomic_file(path) as partial, pq.ParquetWriter(partial, schema, compression="zstd") as file:

        def write(texts: Sequence[str], vectors: Float[np.ndarray, "n E"]) -> None:
            bad = next((text for text in texts if not _is_utf8(text)), None)
            if bad is not None:
                raise BadInput(f"{path}: Parquet holds UTF-8, and {bad[:40]!r} is none (half of a pair); write .jsonl")
            flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).ravel())
            columns = [pa.array(texts, pa.string()), pa.FixedSizeListArray.from_arrays(flat, width)]
            file.write_table(pa.Table.from_arrays(columns, schema=schema))

        yield write


WRITABLE: dict[str, Open] = {".npy": _npy, ".jsonl": _jsonl, ".parquet": _parquet}
