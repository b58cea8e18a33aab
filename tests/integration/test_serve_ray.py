"""The example with Ray Serve: two replicas on a cluster of this machine answer as one; one is killed, answers go on."""

import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request
import warnings
from pathlib import Path

import numpy as np
import pytest
import ray

from likewise import Embedder
from tests.integration.servers import free_port

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Ray's own use of pydantic
    from ray import serve

pytestmark = pytest.mark.filterwarnings("ignore")
EXAMPLES = Path(__file__).parents[2] / "examples" / "deploy"
TEXTS = ["A cat sleeps.", "Shares fell."]


@pytest.fixture(scope="module")
def url():
    """The address of the example's application."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    paths = os.pathsep.join([str(EXAMPLES), *filter(None, sys.path)])
    ray.init(num_cpus=4, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": paths}})
    port = free_port()
    sys.path.insert(0, str(EXAMPLES))
    try:
        from ray_deployment import application

        serve.start(http_options={"host": "127.0.0.1", "port": port})
        serve.run(application)
        yield f"http://127.0.0.1:{port}"
    finally:
        sys.path.remove(str(EXAMPLES))
        serve.shutdown()
        ray.shutdown()


def ask(url, path, body=None):
    """Status and JSON of an answer."""
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, data), timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def replicas(url):
    """The processes that answer."""
    return {ask(url, "/status")[1]["process"] for _ in range(60)}


def test_replicas_give_the_vectors_of_encode_and_the_errors_of_each_api(url):
    expected = Embedder.load("likewise-mini").encode(TEXTS, normalize_embeddings=True)
    status, rows = ask(url, "/embed", {"inputs": TEXTS})
    assert status == 200
    np.testing.assert_allclose(rows, expected, atol=1e-5)
    status, answer = ask(url, "/v1/embeddings", {"input": []})
    assert (status, answer["error"]["param"]) == (400, "input")
    assert len(replicas(url)) == 2


def test_when_a_replica_is_killed_answers_go_on_and_it_is_replaced(url):
    before = replicas(url)
    killed = min(before)
    os.kill(killed, signal.SIGKILL)
    statuses, began = [], time.perf_counter()
    while len((now := replicas(url)) - before) < 1:
        assert time.perf_counter() - began < 60
        statuses += [ask(url, "/embed", {"inputs": TEXTS})[0] for _ in range(5)]
    assert {*statuses} <= {200}
    assert killed not in now
    assert len(now) == 2
