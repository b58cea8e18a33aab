"""How many Python calls, in how many files of likewise, do an encode, a request, a search and a load take?

python -m benchmarks.straightness             prints a table
python -m benchmarks.straightness --files     also prints the calls in each file
python -m benchmarks.straightness --check     exits with status 1 if a limit is exceeded

Everything except the load is warmed up. sys.setprofile counts the calls in every thread.
"""

import asyncio
import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import likewise
from likewise import Embedder, TextIndex
from likewise.serve import ServeSettings, create_app

from .options import options

PACKAGE = str(Path(likewise.__file__).parent)
MODEL, TEXT = "likewise-mini", "How long do cats sleep?"
LIMITS = {"encode": (60, 12), "POST /v1/embeddings": (110, 18), "hybrid search": (150, 20), "load": (700, 40)}
"""The maximum numbers of calls and files."""


class CallCounter:
    """Counts calls into files of likewise while it is open, in threads started after it was created."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self._open = False
        threading.setprofile(self._profile)

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if self._open and event == "call" and code.co_filename.startswith(PACKAGE):
            self.calls[code.co_filename[len(PACKAGE) + 1 :]] += 1

    def __enter__(self) -> "CallCounter":
        self.calls.clear()
        self._open = True
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        self._open = False


def counted(counter: CallCounter, work: Callable[[], Any], *, warm: bool = True) -> Counter[str]:
    """The calls made by a piece of work, by file."""
    for _ in range(3 if warm else 0):
        work()
    with counter:
        work()
    return Counter(counter.calls)


def measure() -> dict[str, Counter[str]]:
    """The calls made by each kind of work, by file."""
    counter = CallCounter()
    Embedder.load(MODEL)  # imports everything
    results = {"load": counted(counter, lambda: Embedder.load(MODEL), warm=False)}
    embedder = Embedder.load(MODEL)
    results["encode"] = counted(counter, lambda: embedder.encode([TEXT]))
    with TemporaryDirectory() as folder, TextIndex.open(Path(folder) / "notes", embedder) as index:
        index.add(["A cat sleeps.", "A kitten naps.", "Shares fell."], show_progress_bar=False)
        results["hybrid search"] = counted(counter, lambda: index.search(TEXT, k=2, hybrid=True))
    results["POST /v1/embeddings"] = asyncio.run(_request(counter, embedder))
    return {name: results[name] for name in LIMITS}


async def _request(counter: CallCounter, embedder: Embedder) -> Counter[str]:
    """Count the calls of a request, from the server's application to the last byte, without uvicorn's sockets."""
    app = create_app({MODEL: embedder}, settings=ServeSettings(log="off"))
    body = json.dumps({"model": MODEL, "input": [TEXT]}).encode()
    scope = {
        "type": "http", "method": "POST", "path": "/v1/embeddings", "raw_path": b"/v1/embeddings", "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "scheme": "http", "http_version": "1.1",
        "asgi": {"version": "3.0"}, "root_path": "",
    }  # fmt: skip
    sent: list[Any] = []
    received: list[bool] = []

    async def receive() -> dict[str, Any]:
        if received:  # the client stays connected; returning immediately again would block the event loop
            await asyncio.Event().wait()
        received.append(True)
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    async def work() -> None:
        sent.clear()
        received.clear()
        await app({**scope, "extensions": {}, "state": {}}, receive, send)

    async with app.router.lifespan_context(app):
        for _ in range(3):
            await work()
        with counter:
            await work()
    if sent[0]["status"] != 200:
        raise SystemExit(f"the request was answered with {sent}")
    return Counter(counter.calls)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; with --check, return 1 if a limit is exceeded."""
    args = options(__doc__, argv, files=False, check=False)
    exceeded = False
    print("| work | calls | limit | files | limit |\n|---|---|---|---|---|")
    for name, files in measure().items():
        calls, limits = sum(files.values()), LIMITS[name]
        print(f"| {name} | {calls:,} | {limits[0]} | {len(files)} | {limits[1]} |")
        exceeded |= calls > limits[0] or len(files) > limits[1]
        if args.files:
            print("\n".join(f"    {count:5} {file}" for file, count in files.most_common()))
    return 1 if args.check and exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
