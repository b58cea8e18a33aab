"""A server with the least work that uvicorn does per request: no model, no checks, and a response as large as ours.

python -m benchmarks.serve_empty        prints its port and runs until a signal ends it
"""

import socket
from typing import Any

import uvicorn

BODY = b'{"data":[{"object":"embedding","index":0,"embedding":"' + b"A" * 2048 + b'"}]}' + b" " * 100
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]
HEADERS += [(b"x-header-%d" % number, b"1") for number in range(10)]


async def empty(scope: Any, receive: Any, send: Any) -> None:
    """Read the body and send the prepared response."""
    if scope["type"] == "lifespan":
        for part in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{part}.complete"})
        return
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})


if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(empty, http="httptools", loop="uvloop", ws="none", log_config=None, access_log=False)
    uvicorn.Server(config).run(sockets=[listening])
