"""A server in a process of its own, as the command line starts it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

MARK = "serving at "


def wait_until(condition, seconds=20.0):
    """Wait until something holds."""
    last = time.perf_counter() + seconds
    while not condition():
        assert time.perf_counter() < last
        time.sleep(0.005)


class RunningServer:
    """A server's process and address."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "likewise", "serve", "--port", "0", "--threads", "1", *arguments]
        self.began = time.perf_counter()
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ})
        first = self.process.stderr.readline()
        if MARK not in first:
            raise AssertionError(first + self.process.stderr.read())
        self.url = first.split(MARK)[1].strip()
        self.port = int(self.url.rpartition(":")[2])

    def ask(self, path, body=None, **headers):
        """Status and JSON of an answer."""
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, data, headers), timeout=20) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def connect(self):
        """A bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def children(self):
        """Its workers' process ids."""
        found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        return [int(pid) for pid in found.stdout.split()]

    def end(self, number=signal.SIGTERM):
        """End it; its exit code and what it has logged."""
        self.process.send_signal(number)
        _, log = self.process.communicate(timeout=30)
        return self.process.returncode, log


def is_running(pid):
    """Whether a process is there, and more than a zombie."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return found.stdout.strip()[:1] not in ("", "Z")


@contextmanager
def running_server(*arguments):
    """A server, killed at the end if it is still there."""
    server = RunningServer(*arguments)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.end()
        server.process.stderr.close()
