"""Run the server: uvicorn on a socket, until a signal; what has begun is finished."""

import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn

from ..errors import BadInput
from .settings import ServeSettings

SWITCH_SECONDS = 0.0005
"""How long a thread keeps the interpreter while another wants it: the model's must not wait 5 ms for the event loop."""


def bound_socket(settings: ServeSettings) -> socket.socket:
    """A socket that listens at the settings' address.

    Raises:
        BadInput: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        raise BadInput(f"{settings.host}:{settings.port} cannot be used: {error.strerror}") from None
    listening.listen(1024)
    listening.set_inheritable(True)
    return listening


def run_on(listening: socket.socket, app: Any, settings: ServeSettings) -> None:
    """Serve until SIGTERM or SIGINT."""
    sys.setswitchinterval(SWITCH_SECONDS)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="on",
        timeout_graceful_shutdown=round(settings.drain_seconds),
        h11_max_incomplete_event_size=1 << 16,
        timeout_keep_alive=30,
        backlog=1024,
    )
    uvicorn.Server(config).run(sockets=[listening])


def address_of(listening: socket.socket) -> str:
    """The address as one types it into a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def collection_folder(folder: Path | None) -> Path | None:
    """The folder of collections, checked.

    Raises:
        BadInput: there is none.
    """
    if folder is not None and not folder.is_dir():
        raise BadInput(f"--collections: there is no folder {folder}")
    return folder
