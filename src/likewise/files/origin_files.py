"""The origin of the vectors in a file or folder: inside Parquet, in a manifest, or in a JSON file beside the file."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..runtime.atomic_files import atomic_file
from .read import open_parquet
from .vector_origin import VectorOrigin

BESIDE = ".origin.json"
"""What follows the name of a .npy or .jsonl file in the name of the file that has its origin."""
MANIFEST = "manifest.json"


def write_origin(path: Path, origin: VectorOrigin) -> None:
    """Write the origin of a finished .npy or .jsonl file beside it; Parquet has it inside."""
    content = {"origin": origin.as_json(), "bytes": path.stat().st_size}
    with atomic_file(_beside(path)) as partial:
        partial.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def read_origin(path: Path) -> VectorOrigin | None:
    """The origin of the vectors in a file, or in a folder of shards; None where none is recorded."""
    try:
        if path.suffix.lower() == ".parquet" and path.is_file():
            return _in_parquet(path)
        found = _read_object(path / MANIFEST if path.is_dir() else _beside(path))
        if found is None:
            return None
        if not path.is_dir() and found["bytes"] != path.stat().st_size:
            raise BadInput(
                f"{_beside(path)} is of a file of {found['bytes']:,} bytes, and {path} has {path.stat().st_size:,}: "
                "it was written by something else since"
            )
        return VectorOrigin.from_json(found["origin"])
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"the origin of {path} is damaged: {error!r}") from None


def check_same_origin(paths: Iterable[Path]) -> None:
    """Refuses vectors that cannot be compared; what has no recorded origin is taken as it is."""
    first: tuple[Path, VectorOrigin] | None = None
    for path in paths:
        origin = read_origin(path)
        if origin is None:
            continue
        if first is None:
            first = path, origin
        elif differences := first[1].differences(origin):
            raise BadInput(
                f"{first[0]} is of {first[1].model} and {path} of {origin.model}, whose vectors cannot be compared: "
                f"{', '.join(differences)}"
            )


def _beside(path: Path) -> Path:
    return path.with_name(path.name + BESIDE)


def _in_parquet(path: Path) -> VectorOrigin | None:
    stored = open_parquet(path).schema_arrow.metadata or {}
    texts = {key.decode(): value.decode() for key, value in stored.items()}
    return VectorOrigin.from_metadata(texts) if "fingerprint" in texts else None


def _read_object(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} holds a {type(found).__name__}")
    return found
