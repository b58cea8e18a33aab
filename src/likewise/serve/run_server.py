"""Run the server with uvicorn on a socket until a signal arrives, and finish running requests if time permits."""

import asyncio
import ctypes
import faulthandler
import gc
import logging
import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType

import uvicorn

try:
    import resource
except ModuleNotFoundError:  # on Windows
    resource = None  # type: ignore[assignment]

from ..errors import BadInput
from .application import ServerApplication, create_app
from .bounded_protocol import BoundedProtocol
from .observe import RequestLog
from .serve_settings import ServeSettings
from .web.endpoint import LOOK_SECONDS

SWITCH_SECONDS = 0.0001
"""Seconds for which a thread may keep the GIL when another thread wants it (Python's default: 5 ms, during which models
would wait for the event loop)."""
BACKLOG = 4096
"""Maximum number of connections waiting to be accepted; the kernel may have a lower limit."""
ACCEPT_SECONDS = 0.1
"""Seconds that a stopping server keeps accepting connections from the kernel's queue."""
NAMED = 20  # number of collections to name at startup
END_SECONDS, SURE_END_SECONDS = 1.0, 1.5
"""Seconds after the drain time until the process is terminated: with a log line or, if that fails, without one."""
SO_ATTACH_FILTER = 26
NO_NEW_CONNECTIONS = ((0x30, 0, 13), (0x54, 0, 0x12), (0x15, 1, 0x02), (0x06, 0, 0), (0x06, 0, 1 << 31))
"""A kernel filter (classic BPF) that loads the TCP flags, masks SYN and ACK, and drops packets with only SYN set.

Each row contains an instruction, the number of instructions to skip if its comparison fails, and its operand.
"""
OTHER_FILES = 256
"""File descriptors reserved for models, collections and logs."""


def bound_socket(settings: ServeSettings) -> socket.socket:
    """Return a socket that listens on the address in the settings."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        raise BadInput(f"cannot listen on {settings.host}:{settings.port}: {error.strerror}") from None
    listening.listen(BACKLOG)
    return listening


def refuse_connections(listening: socket.socket) -> None:
    """Stop new connections from entering a socket's queue; queued ones can still be accepted.

    Closing the socket would reset queued connections. The filter applies to all processes that share the socket. If the
    kernel does not support such filters, connections that arrive between the last check of the queue and the closing of
    the socket are lost.
    """
    if not sys.platform.startswith("linux"):
        return
    program = ctypes.create_string_buffer(b"".join(struct.pack("HxBI", *line) for line in NO_NEW_CONNECTIONS))
    filtering = struct.pack("@HP", len(NO_NEW_CONNECTIONS), ctypes.addressof(program))
    with suppress(OSError):
        listening.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, filtering)


def stop_listening(listening: socket.socket) -> None:
    """Refuse new connections on a socket that workers share, and close the parent's copy; workers empty its queue."""
    refuse_connections(listening)
    listening.close()


def run_on(
    listening: socket.socket,
    models: Sequence[str],
    rerankers: Sequence[str],
    collections: Path | None,
    settings: ServeSettings,
    *,
    is_shared: bool = False,
) -> None:
    """Serve until SIGTERM or SIGINT. If `is_shared`, the socket stays open for the other processes."""
    # on a busy processor, one thread tokenizes a few texts faster than several threads that must be woken first
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sys.setswitchinterval(SWITCH_SECONDS)
    app = create_app(models, rerankers=rerankers, collections=collections, settings=settings)
    most, memory = connection_bound(settings.max_connections), app.state.server.memory
    config = uvicorn.Config(
        app,
        http=partial(BoundedProtocol, most_connections=most, memory=memory),
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        lifespan="on",
        timeout_graceful_shutdown=round(settings.drain_seconds),
        timeout_keep_alive=30,
    )
    server = _Server(config, app, is_shared)
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: app.state.server.reload_soon())
    logging.getLogger("uvicorn.error").addHandler(UvicornLog(app.state.server.log))
    try:
        server.run(sockets=[listening])
    except BaseException:  # uvicorn re-raises the signal that stopped it, and exits after a failed start
        if not server.should_exit and app.state.failure is None:
            raise
    if app.state.failure is not None:
        raise app.state.failure


class _Server(uvicorn.Server):  # type: ignore[misc]
    """A uvicorn server that always terminates, even if threads hang, and that does not reset connections."""

    def __init__(self, config: uvicorn.Config, app: ServerApplication, is_shared: bool) -> None:
        super().__init__(config)
        self._state, self._is_shared = app.state.server, is_shared

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if not self.should_exit:
            end_surely(self._state.settings.drain_seconds, self._state.log)
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept the connections in the kernel's queue, then finish their requests and the running ones."""
        if not self._is_shared:
            for listening in sockets or ():
                refuse_connections(listening)
        # end all requests before the drain time is over, when uvicorn would cancel them and answer 500
        self._state.deadlines.stop(self._state.settings.drain_seconds - LOOK_SECONDS)
        await asyncio.sleep(ACCEPT_SECONDS)
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        gc.collect()  # existing objects stay alive, so the garbage collector can skip them
        gc.freeze()


def end_surely(seconds: float, log: RequestLog) -> None:
    """Terminate this process if it is still running some time after the drain time of `seconds`."""

    def end() -> None:
        log.line("error", {"message": f"some work did not finish within {seconds:g} seconds; the process exits anyway"})
        log.flush()
        os._exit(1)

    timer = threading.Timer(seconds + END_SECONDS, end)
    timer.daemon = True
    timer.start()
    # a thread that holds the GIL would block this timer; faulthandler's timer does not need the GIL
    faulthandler.dump_traceback_later(seconds + SURE_END_SECONDS, exit=True)


def connection_bound(wanted: int) -> int:
    """Return the requested number of connections, or fewer if the open-file limit does not allow them.

    The limit is raised as far as possible. For each connection, one more may be open while it is being rejected.
    """
    if resource is None:
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = 2 * wanted + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < enough:
        soft = enough if hard == resource.RLIM_INFINITY else min(enough, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    else:
        soft = enough
    if soft <= OTHER_FILES + 1:
        needed = f"a server needs more than {OTHER_FILES + 1}; raise the limit with ulimit -n"
        raise BadInput(f"this process may open only {soft} files, but {needed}")
    return (soft - OTHER_FILES) // 2


class UvicornLog(logging.Handler):
    """Writes uvicorn's warnings and errors to the server's log, except for messages about startup."""

    def __init__(self, log: RequestLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        if self._log.level != "off" and "startup" not in record.getMessage():
            self._log.line(record.levelname.lower(), {"message": record.getMessage()[:4000]})


def address_of(listening: socket.socket) -> str:
    """Return the server's address in the form that a browser accepts."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def collections_found(folder: Path | None) -> str:
    """Check the folder of collections, and return a line that lists them; the folder may still be empty."""
    if folder is None:
        return ""
    from ..search.collection import journal
    from .collection_store import collections_in

    if not folder.is_dir():
        raise BadInput(f"--collections: there is no folder {folder}")
    if (folder / journal.FILE).is_file():
        above = folder.absolute().parent
        raise BadInput(f"--collections: {folder} is itself a collection; pass the folder that contains it: {above}")
    if names := collections_in(folder):
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        return f"collections in {folder}: {', '.join(names[:NAMED])}{more}"
    return f"no collections in {folder} yet; create one with: likewise index add {folder / 'NAME'} FILE…"


def check_access(settings: ServeSettings, without_keys: bool) -> None:
    """Raise BadInput if remote clients could connect without API keys, unless this is explicitly allowed."""
    if settings.keys is not None:
        from .api_keys import read_keys

        if not read_keys(settings.keys):
            raise BadInput(f"{settings.keys} has no keys; create one with: likewise serve keys add NAME")
    elif not settings.is_loopback and not without_keys:
        raise BadInput(
            f"--host {settings.host} can be reached from other machines, but no API keys are required. Create one "
            "(likewise serve keys add NAME) and add --keys; or, to allow unauthenticated clients, add --without-keys"
        )
