"""Compute the map of a collection in a separate process, which is killed when no request is waiting for it any more.

python -m likewise.serve.map_process FOLDER LAYOUT LIMIT        prints the map as JSON

While t-SNE runs, its progress is written to standard error.
"""

import asyncio
import os
import sys
from asyncio import StreamReader
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..runtime.installation import missing_extra
from .web.exchange import json_bytes, parse_json

MOST_BY_TSNE = 2_000
"""Below this many texts, t-SNE is the default layout: it takes only a few seconds and shows clusters better."""
NICER = 10
"""The niceness of the process, so that requests take priority."""
PROGRESS = "progress "
LONGEST_LINE = 1 << 20


def default_layout(count: int) -> str:
    """Return the default layout: t-SNE for small maps if scikit-learn is installed, otherwise PCA."""
    return "t-sne" if count < MOST_BY_TSNE and find_spec("sklearn") is not None else "pca"


async def map_in_process(folder: Path, query: Any, report: Callable[[float], None]) -> dict[str, Any]:
    """Run `collection_map` in a process that is killed if this call is cancelled."""
    if query.layout == "t-sne" and find_spec("sklearn") is None:
        raise missing_extra("scikit-learn", "map", "a t-SNE map")
    command = (sys.executable, "-m", __name__, str(folder), query.layout, str(query.limit))
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        limit=LONGEST_LINE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    try:
        assert process.stdout is not None and process.stderr is not None
        output, errors = await asyncio.gather(process.stdout.read(), _last_errors(process.stderr, report))
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        last_output = errors.decode(errors="replace")
        raise MapFailed(f"the process that computes the map exited with code {process.returncode}: {last_output}")
    return dict(parse_json(output))


async def _last_errors(stream: StreamReader, report: Callable[[float], None]) -> bytes:
    """Read standard error to its end: report lines of progress, and return the end of all other output."""
    last = b""
    async for line in stream:
        if line.startswith(PROGRESS.encode()):
            report(float(line[len(PROGRESS) :]))
        else:
            last = (last + line)[-2000:]
    return last


class MapFailed(Exception):
    """The process that computes a map failed; the message contains its last output, for the log."""


def main(arguments: Sequence[str]) -> None:
    from ..search.collection import Collection
    from .map_of_collection import collection_map

    if hasattr(os, "nice"):
        os.nice(NICER)
    folder, layout, limit = arguments
    with Collection.open(folder, read_only=True) as collection:
        mapped = collection_map(collection, layout, int(limit), _report)
    sys.stdout.buffer.write(json_bytes(mapped))


def _report(share: float) -> None:
    print(f"{PROGRESS}{share}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
