"""A worker process: it receives shard numbers and encodes those shards until its input ends.

Its input is JSON lines: first the folder and the model, then shard numbers. Its output is JSON lines too: progress, the
record of each finished shard, or an error. When its input ends, because its parent has exited or has no more work, it
exits at once: an unfinished shard still has a temporary name, and a later run removes it.
"""

import json
import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import Any, TextIO

from ...errors import LikewiseError
from ..output_folder import OutputFolder
from ..shards import ModelChoice, encode_shard

REPORT_EVERY = 0.2  # seconds between progress reports


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the parent decides what to do
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output printed by packages must not look like a reply
    lines: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    try:
        _serve(lines, replies)
    except BaseException as error:  # the parent process reports any error
        kind = type(error).__name__ if isinstance(error, LikewiseError) else ""
        _reply(replies, error={"kind": kind, "message": str(error) if kind else f"{type(error).__name__}: {error}"})


def _serve(lines: "SimpleQueue[str]", replies: TextIO) -> None:
    order = json.loads(lines.get())
    job = OutputFolder.open(Path(order["folder"])).job
    if order["cache"] is not None:
        job = replace(job, cache=Path(order["cache"]))
    embedder = ModelChoice(**order["model"]).load(job.origin)
    _reply(replies, ready=True)
    while True:
        record = encode_shard(job, int(lines.get()), embedder, _Progress(replies))
        _reply(replies, record=vars(record))


class _Progress:
    """Reports texts and tokens periodically; the rest of a shard's count comes from its record."""

    def __init__(self, replies: TextIO) -> None:
        self._replies, self._texts, self._tokens, self._reported = replies, 0.0, 0, monotonic()

    def __call__(self, texts: float, tokens: int) -> None:
        self._texts, self._tokens = self._texts + texts, self._tokens + tokens
        if monotonic() - self._reported > REPORT_EVERY:
            _reply(self._replies, progress=[self._texts, self._tokens])
            self._texts, self._tokens, self._reported = 0.0, 0, monotonic()


def _read(lines: "SimpleQueue[str]") -> None:
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


def _reply(replies: TextIO, **content: Any) -> None:
    replies.write(json.dumps(content) + "\n")
    replies.flush()


if __name__ == "__main__":
    main()
