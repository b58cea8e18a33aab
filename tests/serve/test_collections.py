"""Collections: searched as in Python, reranked, within a deadline; maps that end when nobody waits for them."""

import asyncio
import json
import shutil
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

pytest.importorskip("starlette")
from starlette.testclient import TestClient

from likewise import Embedder
from likewise.cli import main
from likewise.cluster.maps.layout import LAYOUTS
from likewise.engines.array_cross_encoder import NumpyCrossEncoder
from likewise.errors import MissingExtra
from likewise.search import records
from likewise.search.collection import Collection, journal
from likewise.search.texts.text_index import TextIndex
from likewise.serve import map_process
from likewise.serve.collection_store import ServedIndex, collections_in
from likewise.serve.map_of_collection import collection_map, map_of_texts
from likewise.serve.routes.collections import MapQuery
from likewise.serve.run_server import collections_found
from tests.native_library import needs_native
from tests.serve.conftest import HOST, NOTES, serving
from tests.serve.running_server import is_running, wait_until
from tests.serve.test_connections import listening
from tests.tiny import classifier_folder, model_folder, write

pytestmark = pytest.mark.anyio
MAP = MapQuery("t-sne", 100)


def search(client, **body):
    response = client.post("/v1/search", json={"query": "a cat at night", **body})
    assert response.status_code == 200, response.text
    return response.json()


def test_a_passage_says_with_which_headings_it_was_embedded(served_models, tmp_path):
    for name, headings in (("with", True), ("without", False)):
        with TextIndex.open(tmp_path / name, served_models[0], headings=headings) as index:
            index.add([{"text": "a cat", "title": "Pets"}], show_progress_bar=False)
    with serving({"tiny": served_models[0]}, collections=tmp_path) as client:
        found = [search(client, collection=name)["passages"][0]["context"] for name in ("with", "without")]
    assert found == ["Pets: ", ""]


@pytest.mark.parametrize("name", ["../notes", "nothing", "/etc", ""])
def test_only_collections_that_are_there_are_opened(name, client):
    if name:
        assert client.post("/v1/search", json={"query": "a", "collection": name}).status_code == 404
    assert client.get(f"/v1/collections/{name}/map").status_code == 404


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limt=5", "the query string has the unknown field 'limt'; did you mean limit?"),
        ("limit=5&layout=pca&limit=6", "the query string contains 'limit' more than once"),
        ("limit=0", "limit: expected `int` >= 1; got '0'"),
    ],
)
def test_a_bad_query_string_is_refused_as_one(query, message, client):
    response = client.get(f"/v1/collections/notes/map?{query}")
    assert (response.status_code, response.json()["error"]["message"]) == (400, message)


def test_collections_say_their_size_and_model_and_have_a_map(client):
    (found,) = client.get("/v1/collections").json()["data"]
    assert (found["name"], found["count"], found["columns"]) == ("notes", 6, {"start": 6, "stop": 6})
    assert client.get("/v1/collections/notes").json() == {**found, "map_progress": None}
    shown = client.get("/v1/collections/notes/map").json()
    assert len(shown["x"]) == len(shown["texts"]) == len(shown["labels"]) == shown["total"] == len(NOTES)
    assert len(shown["clusters"]) == max(shown["labels"]) + 1 > 0
    assert 0 <= min(shown["x"]) <= max(shown["x"]) <= 1
    few = client.get("/v1/collections/notes/map?limit=2").json()
    assert len(few["x"]) == 2


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("k", [2, 6])
def test_a_reranker_gives_the_order_that_it_gives_in_python(k, hybrid, client, served_models, collection_parent):
    answer = search(client, k=k, hybrid=hybrid, rerank="tiny-reranker")
    with TextIndex.open(collection_parent / "notes", served_models[0], read_only=True) as index:
        expected = index.search("a cat at night", k, hybrid=hybrid, reranker=served_models[1].score).passages
    assert [one["id"] for one in answer["passages"]] == [one.id for one in expected]
    scores = [one["score"] for one in answer["passages"]]
    np.testing.assert_allclose(scores, [one.scores["reranked"] for one in expected], atol=1e-6)
    assert scores == [one["scores"]["reranked"] for one in answer["passages"]]
    assert answer["reranked"] == {"model": "tiny-reranker", "candidates": len(NOTES), "truncated": []}


def test_a_reranker_reads_a_query_with_its_default_prompt(served_models, collection_parent, tmp_path):
    folder = classifier_folder(tmp_path / "reranker")
    prompts = {"prompts": {"query": "the quick "}, "default_prompt_name": "query"}
    write(folder / "config_sentence_transformers.json", prompts)
    reranker = NumpyCrossEncoder.load(folder)
    with serving(served_models[:1], {"it": reranker}, collection_parent) as client:
        found = search(client, query="a cat", rerank="it")["passages"]
    expected = reranker.score([("a cat", one["text"]) for one in found])
    np.testing.assert_allclose([one["scores"]["reranked"] for one in found], expected, atol=1e-6)


def test_candidates_without_a_reranker_are_refused(client):
    reply = client.post("/v1/search", json={"query": "cats", "candidates": 5})
    assert reply.status_code == 400 and "name one with rerank" in reply.json()["error"]["message"]


def test_candidates_that_a_reranker_is_not_given_follow_in_the_order_of_the_search(client):
    plain, reranked = search(client, k=6), search(client, k=6, rerank="tiny-reranker", candidates=2)
    ids, found = ([one["id"] for one in answer["passages"]] for answer in (plain, reranked))
    assert ({*found[:2]}, found[2:]) == ({*ids[:2]}, ids[2:])
    assert ["reranked" in one["scores"] for one in reranked["passages"]] == [True] * 2 + [False] * 4


def test_by_default_a_reranker_scores_every_passage_that_is_returned(client, monkeypatch):
    monkeypatch.setattr("likewise.search.texts.text_index.CANDIDATES", 2)
    for k, count in ((1, 2), (4, 4)):
        answer = search(client, k=k, rerank="tiny-reranker")
        scores = [one["scores"]["reranked"] for one in answer["passages"]]
        assert (len(scores), scores, answer["reranked"]["candidates"]) == (k, sorted(scores, reverse=True), count)


def test_nothing_found_needs_no_reranker(client):
    answer = search(client, filter="start > 1000", rerank="tiny-reranker")
    assert (answer["passages"], answer["reranked"]["candidates"]) == ([], 0)


def test_a_truncated_query_is_reported_or_refused(client):
    (cut,) = search(client, query="cat " * 300)["truncated"]
    assert cut["used"] < cut["tokens"] == 300
    assert client.post("/v1/search", json={"query": "cat " * 300, "truncate": False}).status_code == 400


def test_a_search_past_its_deadline_is_given_up_in_the_shape_of_the_api(app_of, monkeypatch):
    release = threading.Event()
    monkeypatch.setattr(ServedIndex, "search", lambda *_, **__: release.wait(5))
    with TestClient(app_of(deadline=0.15), base_url=HOST) as client:
        client.get("/v1/collections")
        statuses = [client.post("/v1/search", json={"query": "a"}) for _ in range(3)]
        release.set()
    assert [one.status_code for one in statuses] == [504] * 3
    assert statuses[0].json()["error"]["code"] == "deadline_exceeded"
    assert "0.15 seconds" in statuses[0].json()["error"]["message"]


def test_what_has_a_model_to_itself_has_a_deadline_too(app_of):
    with TestClient(app_of(deadline=0.1), base_url=HOST) as client:
        model = next(iter(client.app.state.server.models))
        client.portal.call(lambda: model.thread.call(lambda: time.sleep(0.3)) and None)
        assert client.post("/tokenize", json={"inputs": "a"}).status_code == 504


def test_maps_have_every_layout():
    layouts = msgspec.json.schema(MapQuery)["$defs"]["MapQuery"]["properties"]["layout"]["anyOf"][0]["enum"]
    assert {*layouts} == {*LAYOUTS}


@pytest.mark.parametrize(("count", "has_sklearn", "layout"), [(1999, 1, "t-sne"), (2000, 1, "pca"), (5, None, "pca")])
def test_small_maps_are_placed_by_tsne_where_it_is_installed(count, has_sklearn, layout, monkeypatch):
    monkeypatch.setattr(map_process, "find_spec", lambda _: has_sklearn)
    assert map_process.default_layout(count) == layout


def test_the_last_eight_maps_are_kept(app_of, monkeypatch):
    computed = []

    async def counted(folder, query, report):
        computed.append(query.limit)
        report(0.5)
        return {"total": query.limit}

    monkeypatch.setattr(map_process, "map_in_process", counted)
    with TestClient(app_of(), base_url=HOST) as client:
        for limit in [*range(1, 10), 2, 9, 1, 2]:
            shown = client.get(f"/v1/collections/notes/map?layout=pca&limit={limit}").json()
            assert shown == {"collection": "notes", "layout": "pca", "total": limit}
        assert client.get("/v1/collections/notes").json()["map_progress"] is None
    assert computed == [*range(1, 10), 1, 2], "the ninth takes the first one's place, and that the second one's"


def test_a_map_without_a_layout_says_which_it_has(client):
    by_default = client.get("/v1/collections/notes/map").json()
    assert by_default == client.get(f"/v1/collections/notes/map?layout={by_default['layout']}").json()


async def test_a_maps_progress_is_reported_while_it_is_computed(collection_parent, tmp_path):
    shares = []
    with TextIndex.open(tmp_path / "many", "likewise-static") as index:
        index.add([f"text {n}" for n in range(30)], show_progress_bar=False)
    await map_process.map_in_process(tmp_path / "many", MAP, shares.append)
    assert shares == sorted(shares) and len(shares) > 5 and shares[-1] == 1


def test_a_map_of_another_process_is_the_one_of_this(client, collection_parent):
    pytest.importorskip("sklearn")
    from likewise.search.collection import Collection
    from likewise.serve.map_of_collection import collection_map

    shown = client.get("/v1/collections/notes/map?layout=t-sne").json()
    with Collection.open(str(collection_parent / "notes"), read_only=True) as collection:
        expected = collection_map(collection, "t-sne", 5_000)
    assert {name: shown[name] for name in expected} == expected


def test_the_process_of_a_map_has_low_priority_reads_beside_a_writer_and_reports(tmp_path, monkeypatch, capfdbinary):
    niceness, folder = [], str(tmp_path / "notes")
    monkeypatch.setattr(map_process.os, "nice", niceness.append)
    with Collection.create(folder, 2) as writer:
        writer.add(records.Records(["a", "b", "c"], np.eye(3, 2, dtype=np.float32) + 1, NOTES[:3]))
        map_process.main([folder, "pca", "2"])
        expected = collection_map(writer, "pca", 2)
    map_process._report(0.25)
    found = capfdbinary.readouterr()
    assert niceness == [10] and json.loads(found.out) == expected and found.err == b"progress 0.25\n"


async def test_a_map_without_its_package_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(map_process, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match="a t-SNE map needs the package scikit-learn"):
        await map_process.map_in_process(tmp_path, MAP, print)


def test_a_map_that_fails_says_why_to_the_log_alone(client, monkeypatch, tmp_path):
    with pytest.raises(map_process.MapFailed, match="is not a collection"):
        asyncio.run(map_process.map_in_process(tmp_path / "nothing", MAP, print))
    assert client.get("/v1/collections/notes/map?layout=pca&limit=77").status_code == 200
    monkeypatch.setattr("likewise.serve.collection_store.CollectionStore.folder_of", lambda *_: tmp_path)
    response = client.get("/v1/collections/notes/map?layout=pca&limit=78")
    assert response.status_code == 500
    assert str(tmp_path) not in response.text


@pytest.fixture
def sleeper(monkeypatch):
    """Waits for the number of the process that computes a map, which would take a minute here."""
    numbers, start = [], asyncio.create_subprocess_exec

    async def noted(*command, **options):
        process = await start(sys.executable, "-S", "-c", "import time; time.sleep(60)", **options)
        numbers.append(process.pid)
        return process

    def number():
        wait_until(lambda: numbers)
        return numbers.pop()

    monkeypatch.setattr(map_process.asyncio, "create_subprocess_exec", noted)
    return number


def test_a_map_past_its_deadline_is_ended(app_of, sleeper):
    with TestClient(app_of(map_deadline=0.8), base_url=HOST) as client:
        response = client.get("/v1/collections/notes/map?layout=t-sne")
        assert (response.status_code, response.json()["error"]["code"]) == (504, "deadline_exceeded")
        number = sleeper()
        wait_until(lambda: not is_running(number))
        assert not client.app.state.server.collections.one_map.locked(), "the next one need not wait"


async def test_a_map_that_is_given_up_is_ended(sleeper, tmp_path):
    task = asyncio.create_task(map_process.map_in_process(tmp_path, MAP, print))
    number = await asyncio.to_thread(sleeper)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    wait_until(lambda: not is_running(number))


async def test_a_caller_who_goes_away_ends_the_map(app_of, sleeper):
    async with listening(app_of(), 8) as (_, connect):
        _, writer = await connect()
        writer.write(b"GET /v1/collections/notes/map?layout=t-sne HTTP/1.1\r\nHost: localhost\r\n\r\n")
        number = await asyncio.to_thread(sleeper)
        writer.close()
        await asyncio.to_thread(wait_until, lambda: not is_running(number))


def test_a_folder_that_may_not_be_read_is_no_collection_and_of_many_only_some_are_named(tmp_path, monkeypatch):
    is_file = Path.is_file
    for number in range(25):
        (tmp_path / f"c{number:02}").mkdir()
        (tmp_path / f"c{number:02}" / journal.FILE).touch()

    def refused(path):
        if path.parent.name == "c03":
            raise PermissionError(13, "Permission denied", str(path))
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", refused)
    names = collections_in(tmp_path)
    assert len(names) == 24 and "c03" not in names
    assert collections_found(tmp_path).endswith("c19, c20 and 4 more")


def test_the_map_has_the_clusters_of_the_command_line(tmp_path, capsys, monkeypatch):
    said = "the {} came late, my {} never arrived, the {} has a wrong invoice, I paid twice for the {}, the {} is small"
    texts = [part for thing in ("parcel", "jacket", "cat", "app") for part in said.replace("{}", thing).split(", ")]
    (tmp_path / "texts.txt").write_text("".join(f"{text}\n" for text in [*texts, texts[0], " "]))
    assert main(["cluster", str(tmp_path / "texts.txt"), "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)["clusters"]
    vectors = Embedder.load("likewise-mini").encode(texts)
    of_map = map_of_texts([*texts, texts[0], " "], vectors[[*range(len(texts)), 0, 0]], "pca")
    shown = [(one["name"], one["size"], [texts[i] for i in one["central"]]) for one in of_map["clusters"]]
    assert shown == [(one["name"], one["size"], one["central"]) for one in told] and len(told) > 1
    assert of_map["labels"][len(texts) :] == [of_map["labels"][0], -1]
    monkeypatch.setattr("likewise.serve.map_of_collection.MOST_BY_DISTANCE", len(texts) - 1)
    assert sum(one["size"] for one in map_of_texts(texts, vectors, "pca")["clusters"]) == len(texts)


class Records:
    """A collection of so many random vectors and texts, read in blocks."""

    def __init__(self, count, text):
        self.vectors = np.random.default_rng(0).normal(size=(count, 4)).astype(np.float32)
        self.contents = [(text, {"n": n}) for n in range(count)]

    def count(self):
        return len(self.vectors)

    def records(self, size):
        for start in range(0, len(self.vectors), size):
            rows = slice(start, start + size)
            ids = [f"id {n}" for n in range(*rows.indices(len(self.vectors)))]
            yield SimpleNamespace(ids=ids, contents=self.contents[rows], vectors=self.vectors[rows])


@pytest.mark.parametrize(
    ("count", "limit", "step"), [(5, 5, 1), (5, 4, 2), (2500, 100, 25), (2501, 100, 26), (2500, 900, 3)]
)
def test_a_map_has_texts_at_even_distances_and_the_beginning_of_each(count, limit, step):
    found = collection_map(Records(count, "x" * 241), "pca", limit)
    assert found["ids"] == [f"id {n}" for n in range(0, count, step)] and found["total"] == count
    assert {*found["texts"]} == {"x" * 240} and {*found["labels"]} <= {-1, 0}
    for axis in ("x", "y"):
        assert len(found[axis]) == len(found["ids"]) and 0 <= min(found[axis]) <= max(found[axis]) <= 1


def test_the_map_of_an_empty_collection_is_empty_and_texts_may_be_absent():
    whole = collection_map(Records(5, None), "pca", 9)
    assert whole["texts"] == [""] * 5 and whole["labels"] == [-1] * 5
    empty = collection_map(Records(0, "x"), "pca", 9)
    assert empty == {
        "total": 0,
        "ids": [],
        "texts": [],
        "x": [],
        "y": [],
        "labels": [],
        "clusters": [],
        "other": whole["other"],
    }


def test_more_texts_than_have_room_for_distances_are_clustered_by_twelve_means(monkeypatch):
    monkeypatch.setattr("likewise.serve.map_of_collection.MOST_BY_DISTANCE", 59)
    texts, vectors = [f"text {n}" for n in range(60)], Records(60, "").vectors
    assert len(map_of_texts(texts, vectors, "pca")["clusters"]) == 12
    assert len(map_of_texts(texts[:59], vectors[:59], "pca")["clusters"]) != 12


async def test_of_what_a_maps_process_says_the_end_is_kept_and_progress_is_reported():
    stream, shares = asyncio.StreamReader(), []
    stream.feed_data(b"a" * 1500 + b"\nprogress 0.25\n" + b"b" * 999 + b"\nprogress 1.0\n")
    stream.feed_eof()
    last = await map_process._last_errors(stream, shares.append)
    assert last == b"a" * 999 + b"\n" + b"b" * 999 + b"\n" and shares == [0.25, 1]


def test_no_answer_says_where_a_model_or_a_collection_lies(folders, tmp_path):
    for parent in ("one", "two"):
        folder = shutil.copytree(folders("bert"), tmp_path / parent / "own-model")
        with TextIndex.open(tmp_path / "collections" / parent, str(folder)) as index:
            index.add(NOTES, show_progress_bar=False)
    (tmp_path / "collections" / "broken").mkdir()
    (tmp_path / "collections" / "broken" / journal.FILE).write_bytes(b"no journal")
    with serving({}, collections=tmp_path / "collections") as client:
        found = [search(client, collection=name) for name in ("one", "two")]
        assert [answer["model"] for answer in found] == ["own-model (for collections)"] * 2
        answers = [
            *(
                client.post("/v1/search", json={"query": "a", "collection": n, "filter": "("})
                for n in ("one", "broken")
            ),
            *(client.get(f"/v1/collections/{name}") for name in ("one", "broken")),
            *(client.get(path) for path in ("/v1/collections", "/v1/models", "/status", "/info", "/card", "/health")),
            client.get("/v1/collections/broken/map"),
            client.post("/embed", json={"inputs": "a", "model": "nothing"}),
        ]
    for answer in answers:
        assert str(tmp_path) not in answer.text, answer.request.url
        assert answer.status_code < 500 or "broken" in str(answer.request.url), answer.text


def test_a_served_model_is_loaded_to_search_what_it_made(tmp_path):
    other = model_folder(tmp_path / "other", seed=1)
    folder = model_folder(tmp_path / "model")
    with TextIndex.open(tmp_path / "collections" / "notes", Embedder.load(folder, engine="numpy")) as index:
        index.add(NOTES, show_progress_bar=False)
    folder = folder.rename(tmp_path / "moved")
    models = [str(other), f"{tmp_path}/missing", str(folder)]
    with serving(models, collections=tmp_path / "collections", engine="numpy") as client:
        assert search(client)["model"] == "moved"
        assert len(client.get("/v1/models").json()["data"]) == 3


@needs_native
@pytest.mark.parametrize(
    ("precision", "allow", "searched_by"),
    [("fp32", None, "served"), ("int8", "int8", "served"), ("int8", None, "model (for collections)")],
)
def test_a_served_model_searches_what_another_engine_made_and_in_int8_by_consent(
    precision, allow, searched_by, folders, tmp_path
):
    folder = shutil.copytree(folders("bert"), tmp_path / "model")
    with TextIndex.open(tmp_path / "collections" / "notes", Embedder.load(folder, engine="numpy")) as index:
        index.add(NOTES, show_progress_bar=False)
    served = Embedder.load(folder, engine="native", precision=precision)
    with serving({"served": served}, collections=tmp_path / "collections", allow=allow) as client:
        assert client.get("/v1/collections/notes").json()["computed"] == "numpy, fp32"
        answer = search(client, query=NOTES[0], k=1)
    assert answer["model"] == searched_by and answer["passages"][0]["text"] == NOTES[0]
