"""The example with nginx: two processes behind one address; when one is away the other answers all."""

import re
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from tests.integration.servers import free_port
from tests.serve.running_server import running_server

CONFIG = Path(__file__).parents[2] / "examples" / "deploy" / "nginx.conf"
BODY = b'{"inputs": "A cat sleeps.", "dimensions": 2}'


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed: apt-get install nginx-light")
def test_two_processes_behind_nginx_answer_as_one(tmp_path):
    options = ("likewise-static", "--allow-host", "likewise", "--log", "off")
    with running_server(*options) as first, running_server(*options) as second:
        port = free_port()
        ports = iter([first.port, second.port, port])
        text = re.sub(r"127\.0\.0\.1:\d+", lambda _: f"127.0.0.1:{next(ports)}", CONFIG.read_text("utf-8"))
        (tmp_path / "nginx.conf").write_text(text)
        command = ["nginx", "-p", str(tmp_path), "-c", "nginx.conf"]
        proxy = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(f"{url}/health")
            assert {_post(f"{url}/embed") for _ in range(20)} == {200}
            asked = [server.ask("/status")[1]["requests_per_second"] > 0 for server in (first, second)]
            assert asked == [True, True]
            first.process.kill()
            first.process.wait()
            assert {_post(f"{url}/embed") for _ in range(20)} == {200}
        finally:
            proxy.terminate()
            proxy.wait()


def _post(url):
    with urllib.request.urlopen(urllib.request.Request(url, BODY, {"X-A": "b"}), timeout=10) as answer:
        return answer.status


def _wait_for(url):
    for _ in range(200):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.read()
        except OSError:
            time.sleep(0.02)
    raise AssertionError(f"nothing answers at {url}")
