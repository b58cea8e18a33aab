"""Compute the map of a collection in a separate process, which is stopped once no request is waiting for it.

python -m likewise.serve.map_process FOLDER LAYOUT LIMIT CLUSTERS        prints the map as JSON; CLUSTERS may be -
"""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..runtime.installation import missing_extra
from .web.exchange import json_bytes, parse_json

WITH_SKLEARN = ("t-sne",)
"""Layouts that need scikit-learn."""
NICER = 10
"""The niceness of the process, so that requests take priority."""


async def map_in_process(folder: Path, query: Any) -> dict[str, Any]:
    """Run `collection_map` in a process that is terminated if this call is cancelled.

    Raises:
        MissingExtra: the layout needs scikit-learn, which is not installed.
        MapFailed: the process could not compute the map.
    """
    if query.layout in WITH_SKLEARN and find_spec("sklearn") is None:
        raise missing_extra("scikit-learn", "map", f"a map by {query.layout}")
    process = await asyncio.create_subprocess_exec(
        *_command(folder, query),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    try:
        output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        last_output = errors[-2000:].decode(errors="replace")
        raise MapFailed(f"the process that computes the map exited with code {process.returncode}: {last_output}")
    mapped: dict[str, Any] = parse_json(output)
    return mapped


def _command(folder: Path, query: Any) -> list[str]:
    """The command that computes a map."""
    numbers = (str(query.limit), str(query.clusters or "-"))
    return [sys.executable, "-m", __name__, str(folder), query.layout, *numbers]


class MapFailed(Exception):
    """A map's process failed; the message has its last output, for the log."""


def main(arguments: Sequence[str]) -> None:
    """Compute a map and print it."""
    from ..search.collection import Collection
    from .map_of_collection import collection_map

    if hasattr(os, "nice"):
        os.nice(NICER)
    folder, layout, limit, clusters = arguments
    with Collection.open(folder, read_only=True) as collection:
        mapped = collection_map(collection, layout, int(limit), None if clusters == "-" else int(clusters))
    sys.stdout.buffer.write(json_bytes(mapped))


if __name__ == "__main__":
    main(sys.argv[1:])
