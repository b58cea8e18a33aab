"""Run the server: uvicorn on a socket, until a signal; what has begun is finished, within the time that there is."""

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
"""How long a thread keeps the interpreter while another wants it: the model's must not wait 5 ms for the event loop."""
BACKLOG = 4096
"""Connections that wait to be accepted; the kernel may have a lower limit."""
ACCEPT_SECONDS = 0.1
"""How long a stopping server takes in the connections that the kernel has accepted."""
END_SECONDS, SURE_END_SECONDS = 1.0, 1.5
"""After the time to finish requests: when the process is ended with a line in the log, and when without."""
SO_ATTACH_FILTER = 26
NO_NEW_CONNECTIONS = ((0x30, 0, 0, 13), (0x54, 0, 0, 0x12), (0x15, 0, 1, 0x02), (0x06, 0, 0, 0), (0x06, 0, 0, 1 << 31))
"""A program for the kernel (classic BPF): load TCP's flags, keep SYN and ACK, drop the packet if it is SYN alone."""
OTHER_FILES = 256
"""File descriptors that are left for models, collections and logs."""


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
    listening.listen(BACKLOG)
    return listening


def refuse_connections(listening: socket.socket) -> None:
    """Let no further connection into the queue of a socket; those that are in it can still be accepted.

    To close the socket would reset the ones in the queue. The filter is of the socket, whoever shares it. Where the
    kernel has no filters, those are lost that arrive between the last look at the queue and the closing.
    """
    if not sys.platform.startswith("linux"):
        return
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in NO_NEW_CONNECTIONS))
    filtering = struct.pack("@HP", len(NO_NEW_CONNECTIONS), ctypes.addressof(program))
    with suppress(OSError):
        listening.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, filtering)


def stop_listening(listening: socket.socket) -> None:
    """Leave a socket to the workers that share it, which empty its queue; kept open here, it would take in more."""
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
    """Serve until SIGTERM or SIGINT. A socket that `is_shared` with other processes is left open to them.

    Raises:
        LikewiseError: the first model cannot be loaded.
    """
    # a few texts at a time are tokenized sooner by one thread than by several that have to be woken on busy processors
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sys.setswitchinterval(SWITCH_SECONDS)
    app = create_app(models, rerankers=rerankers, collections=collections, settings=settings)
    server = _Server(_config(app, settings, connection_bound(settings.max_connections)), app, is_shared)
    _reload_on_hangup(app)
    logging.getLogger("uvicorn.error").addHandler(UvicornLog(app.state.server.log))
    try:
        server.run(sockets=[listening])
    except BaseException:  # uvicorn sends the signal again that it ended by; after a failed start it exits
        if not server.should_exit and app.state.failure is None:
            raise
    if app.state.failure is not None:
        raise app.state.failure


class _Server(uvicorn.Server):  # type: ignore[misc]
    """uvicorn's server, which ends by itself whatever its threads do, and resets no connection when it ends."""

    def __init__(self, config: uvicorn.Config, app: ServerApplication, is_shared: bool) -> None:
        super().__init__(config)
        self._state, self._is_shared = app.state.server, is_shared

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end, at a signal."""
        if not self.should_exit:
            end_surely(self._state.settings.drain_seconds, self._state.log)
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take in what the kernel has accepted, and finish it with what has begun."""
        if not self._is_shared:
            for listening in sockets or ():
                refuse_connections(listening)
        # answered before uvicorn cancels what is left after the drain time: it answers 500 in its place
        self._state.deadlines.stop(self._state.settings.drain_seconds - LOOK_SECONDS)
        await asyncio.sleep(ACCEPT_SECONDS)
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        gc.collect()  # what is there now stays: collections of garbage need not look at it
        gc.freeze()


def end_surely(seconds: float, log: RequestLog) -> None:
    """End this process after some time, if it has not ended by then."""

    def end() -> None:
        log.line("error", {"message": f"not all work ended within {seconds:g} seconds; the process ends without it"})
        log.flush()
        os._exit(1)

    timer = threading.Timer(seconds + END_SECONDS, end)
    timer.daemon = True
    timer.start()
    # a thread that keeps the interpreter's lock would keep that timer waiting; this one needs no lock
    faulthandler.dump_traceback_later(seconds + SURE_END_SECONDS, exit=True)


def connection_bound(wanted: int) -> int:
    """As many connections as wanted, or as the limit of open files allows, which is raised as far as it can be.

    Each of them may have another one beside it that is being refused.

    Raises:
        BadInput: there is room for none.
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
        raise BadInput(f"this process may open {soft} files, a server needs more than {OTHER_FILES + 1}: ulimit -n")
    return (soft - OTHER_FILES) // 2


def _config(app: ServerApplication, settings: ServeSettings, connections: int) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=partial(BoundedProtocol, most_connections=connections, memory=app.state.server.memory),
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


def _reload_on_hangup(app: ServerApplication) -> None:
    """SIGHUP loads the models again."""
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: app.state.server.reload_soon())


class UvicornLog(logging.Handler):
    """What uvicorn reports, as lines of the server's log; how it starts and stops is not repeated."""

    def __init__(self, log: RequestLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Note a line."""
        if self._log.level != "off" and "startup" not in record.getMessage():
            self._log.line(record.levelname.lower(), {"message": record.getMessage()[:4000]})


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


def check_access(settings: ServeSettings, without_keys: bool) -> None:
    """Refuse to be reached from elsewhere without keys, unless that is wanted.

    Raises:
        BadInput: there are no keys.
    """
    if settings.keys is not None:
        from .api_keys import read_keys

        if not read_keys(settings.keys):
            raise BadInput(f"{settings.keys} has no keys; make one: likewise serve keys add NAME")
    elif not settings.is_loopback and not without_keys:
        raise BadInput(
            f"--host {settings.host} can be reached from other machines, and no API keys are asked for. Make one "
            "(likewise serve keys add NAME) and add --keys; or, if anybody may ask, add --without-keys"
        )
