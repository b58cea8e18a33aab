"""Ray encodes the same shards as one process does, on a cluster of two nodes, one of which is lost on the way."""

import os

import pytest
import ray
from ray.cluster_utils import Cluster

from likewise import Embedder
from likewise.distribute.encode import in_this_process
from likewise.distribute.shards import ModelChoice
from likewise.distribute.workers.ray_cluster import connected, in_ray
from likewise.errors import BadInput
from tests.distribute.outputs import content, encoded, jsonl, numbered, settings

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
STATIC = ModelChoice("likewise-static", {"engine": "numpy"})


@pytest.fixture(scope="module")
def static():
    return Embedder.load("likewise-static", engine="numpy")


@pytest.fixture
def cluster():
    """Two nodes of one processor each."""
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes.second = nodes.add_node(num_cpus=1)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def visible(output):
    """The files of an output that are part of it."""
    return {name: data for name, data in output.items() if not name.startswith(".") and "/." not in name}


def test_two_nodes_of_which_one_is_lost_give_the_same_bytes(cluster, static, tmp_path):
    source = numbered(tmp_path / "texts.jsonl", 400)
    encoded([source], tmp_path / "alone", static, settings(4), encode_shards=in_this_process(static))
    finished = []

    def losing(job, numbers, advance):
        for record in in_ray(STATIC, cluster.address)(job, numbers, advance):
            finished.append(record.number)
            if len(finished) == 10:
                cluster.remove_node(cluster.second)
            yield record

    report = encoded([source], tmp_path / "cluster", static, settings(4), encode_shards=losing)
    assert report.made == 100 and sorted(finished) == list(range(100))
    assert visible(content(tmp_path / "cluster")) == visible(content(tmp_path / "alone"))


def test_an_error_of_an_actor_is_that_of_one_process(cluster, static, tmp_path):
    source = numbered(tmp_path / "texts.jsonl", 8)

    def changing(job, numbers, advance):
        source.write_text(source.read_text() + "\n")
        return in_ray(STATIC, cluster.address)(job, numbers, advance)

    with pytest.raises(BadInput, match="has changed since it was first read"):
        encoded([source], tmp_path / "out", static, settings(4), encode_shards=changing)


def test_an_actor_that_a_shard_ends_is_not_started_for_ever(cluster, static, tmp_path, monkeypatch):
    source = jsonl(tmp_path / "texts.jsonl", [{"text": "a"}])
    deadly = ModelChoice("likewise-static", {"engine": "numpy"})
    monkeypatch.setattr("likewise.distribute.workers.ray_cluster.encode_shard", lambda *_: os._exit(9))
    with pytest.raises(Exception, match="3 actors ended at shard 0; finished shards are kept"):
        encoded([source], tmp_path / "out", static, settings(4), encode_shards=in_ray(deadly, cluster.address))


def test_an_address_without_a_cluster_is_refused():
    with pytest.raises(BadInput, match="there is no Ray cluster at"), connected("127.0.0.1:1"):
        pass
