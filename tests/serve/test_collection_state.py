"""Collections while something changes: their texts, their model's folder, who waits for them; and what answers show."""

import asyncio
import gc
import json
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
from functools import partial

import pytest

pytest.importorskip("starlette")
from likewise.engines.numpy.numpy_embedder import NumpyEmbedder
from likewise.files.documents import Document
from likewise.migrate.in_place import BESIDE, REPLACED
from likewise.search.collection import collection as collection_module
from likewise.search.texts.text_index import TextIndex
from likewise.serve import ServeSettings, create_app
from likewise.serve.collection_store import CollectionThread
from likewise.serve.web.api_errors import ApiError
from tests.serve.conftest import NOTES, serving
from tests.serve.requests_by_route import posted
from tests.serve.test_connections import listening
from tests.tiny import model_folder

pytestmark = pytest.mark.anyio
LONG = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 30000000) SELECT count(*) FROM n"
"""Takes some seconds."""
HYBRID = {"query": "a cat", "collection": "notes", "hybrid": True}


@pytest.fixture
def parent(served_models, tmp_path):
    """A folder with the collections `notes` and `others`, to be changed by the test."""
    for name in ("notes", "others"):
        with TextIndex.open(tmp_path / "collections" / name, served_models[0]) as index:
            index.add(NOTES, show_progress_bar=False)
    return tmp_path / "collections"


@pytest.fixture
def client_of(served_models, parent):
    """Settings to a client of a server over the two collections."""
    return partial(serving, {"tiny": served_models[0]}, collections=parent)


@pytest.fixture
def endless(monkeypatch):
    """Searches by words take seconds of SQLite's time; set when one has begun, and when one has ended."""
    begun, ended = threading.Event(), threading.Event()

    def search(db, *_):
        begun.set()
        try:
            return db.execute(LONG).fetchall() and []
        finally:
            ended.set()

    monkeypatch.setattr(collection_module, "nearest_by_words", search)
    return begun, ended


def test_a_deadline_ends_the_search_in_the_database_and_the_next_one_is_answered(client_of, endless):
    with client_of(deadline=0.3) as client:
        assert client.post("/v1/search", json={**HYBRID, "hybrid": False}).status_code == 200
        response = client.post("/v1/search", json=HYBRID)
        assert (response.status_code, response.json()["error"]["code"]) == (504, "deadline_exceeded")
        assert endless[1].wait(0.5)
        assert client.post("/v1/search", json={**HYBRID, "hybrid": False}).status_code == 200


async def test_a_caller_who_goes_away_ends_the_search(client_of, endless, served_models, parent):
    app = create_app({"tiny": served_models[0]}, collections=parent, settings=ServeSettings(log="off"))
    async with listening(app, 8) as (_, connect):
        _, writer = await connect()
        writer.write(posted("/v1/search", HYBRID))
        assert await asyncio.to_thread(endless[0].wait, 10)
        writer.close()
        assert await asyncio.to_thread(endless[1].wait, 0.5)


def test_heavy_searches_of_a_collection_do_not_hold_up_another(client_of, endless):
    with client_of(deadline=2.0) as client:
        client.get("/v1/collections")
        heavy = [threading.Thread(target=client.post, args=("/v1/search",), kwargs={"json": HYBRID}) for _ in range(4)]
        for thread in heavy:
            thread.start()
        assert endless[0].wait(5)
        response = client.post("/v1/search", json={"query": "a cat", "collection": "others"})
        assert response.status_code == 200
        assert not endless[1].is_set(), "the heavy ones were still at work"
        for thread in heavy:
            thread.join()


def test_collections_are_read_by_threads_that_keep_no_process_alive(client_of):
    with client_of() as client:
        client.get("/v1/collections")
        threads = {thread.name: thread.daemon for thread in threading.enumerate()}
        assert threads["collection notes"] and threads["collection others"]


SERVER = """
import sys
from pathlib import Path
from likewise.engines.numpy.numpy_embedder import NumpyEmbedder
from likewise.search.collection import collection
from likewise.serve import ServeSettings, run_server
collection.nearest_by_words = lambda db, *_: print("begun", flush=True) or db.execute(sys.argv[3]).fetchall() and []
settings = ServeSettings(port=0, drain_seconds=1, engine="numpy", log="off")
listening = run_server.bound_socket(settings)
print(run_server.address_of(listening), flush=True)
run_server.run_on(listening, ["tiny=" + sys.argv[1]], [], Path(sys.argv[2]), settings)
"""


def test_sigterm_ends_the_process_while_a_search_runs(folders, parent):
    command = [sys.executable, "-c", SERVER, str(folders("bert")), str(parent), LONG.replace("30000000", "3000000000")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().strip()
            request = urllib.request.Request(f"{address}/v1/search", json.dumps(HYBRID).encode())
            asking = threading.Thread(target=lambda: _status(request), daemon=True)
            asking.start()
            assert process.stdout.readline() == "begun\n"
            process.send_signal(signal.SIGTERM)
            process.wait(1 + 2 + 4)  # the drain time, two seconds more, and other work on this machine
        finally:
            process.kill()


def _status(request):
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status
    except OSError:
        return None


async def test_a_collection_is_read_for_so_many_requests_at_a_time_and_closed_after_the_last():
    ended, thread = threading.Event(), CollectionThread("notes", 2)
    for _ in range(2):
        gate = threading.Event()
        waiting = [asyncio.ensure_future(thread.compute(gate.wait)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(ApiError, match="too many requests are waiting") as full:
            await asyncio.wait_for(thread.compute(gate.wait), 5)
        assert full.value.retry_after == 1
        gate.set()
        assert await asyncio.gather(*waiting) == [True, True]
    with pytest.raises(ZeroDivisionError):
        await thread.compute(lambda: 1 / 0)
    assert await thread.compute(lambda: 5) == 5
    thread.end(ended.set)
    assert await asyncio.to_thread(ended.wait, 5)


def test_models_of_one_name_that_collections_need_are_told_apart(tmp_path):
    for seed, place in enumerate(("one", "two")):
        folder = model_folder(tmp_path / place / "own", "bert", seed=seed)
        with TextIndex.open(tmp_path / "indexes" / place, str(folder)) as index:
            index.add(NOTES, show_progress_bar=False)
    with serving({}, collections=tmp_path / "indexes") as client:
        asked = [
            client.post("/v1/search", json={"query": NOTES[0], "collection": name}) for name in ("one", "two", "one")
        ]
        kept = [one["name"] for one in client.get("/status").json()["models"]]
    assert [answer.json()["passages"][0]["text"] for answer in asked] == [NOTES[0]] * 3
    names = ["own (for collections)", "own 2 (for collections)"]
    assert ([answer.json()["model"] for answer in asked], kept) == ([*names, names[0]], names)


def test_a_map_is_of_the_texts_that_are_there(client_of, parent, served_models):
    with client_of() as client:
        before = client.get("/v1/collections/notes/map?layout=pca").json()
        assert client.get("/v1/collections/notes/map?layout=pca").json() == before
        with TextIndex.open(parent / "notes", served_models[0]) as index:
            index.index.delete(before["ids"][:2])
            index.add(["a fish swims", "two fish swim"], show_progress_bar=False)
        after = client.get("/v1/collections/notes/map?layout=pca").json()
    assert before["total"] == after["total"]
    assert {*after["texts"]} == {*before["texts"][2:], "a fish swims", "two fish swim"}


@pytest.fixture
def replaced(tmp_path):
    """A server of a model's folder and a collection made with it; replaces the model in the folder by another."""
    folder, other = model_folder(tmp_path / "model", "bert"), model_folder(tmp_path / "other", "bert", seed=1)
    with TextIndex.open(tmp_path / "indexes" / "notes", NumpyEmbedder.load(folder)) as index:
        index.add(NOTES, show_progress_bar=False)

    def replace():
        folder.rename(tmp_path / "aside")
        other.rename(folder)
        (tmp_path / "aside").rename(other)

    with serving([f"tiny={folder}"], collections=tmp_path / "indexes", engine="numpy") as client:
        yield client, replace


@pytest.mark.parametrize("searched_before", [True, False])
def test_a_collection_of_a_model_that_was_replaced_is_refused_until_its_model_is_back(
    replaced, searched_before, tmp_path
):
    client, replace = replaced
    if searched_before:
        assert client.post("/v1/search", json={"query": "a cat"}).status_code == 200
    replace()
    client.portal.call(client.app.state.server._reload)
    search = client.build_request("POST", "/v1/search", json={"query": "a cat"})
    for request in (search, client.build_request("GET", "/v1/collections/notes/map?layout=pca")):
        refused = client.send(request)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "model_mismatch")
        assert "likewise index migrate" in refused.json()["error"]["message"]
        assert str(tmp_path) not in refused.text
    (described,) = client.get("/v1/collections").json()["data"]
    assert "an earlier version of" in described["error"]
    replace()
    client.portal.call(client.app.state.server._reload)
    assert client.post("/v1/search", json={"query": NOTES[0]}).json()["passages"][0]["text"] == NOTES[0]


def test_a_collection_whose_model_is_replaced_before_it_is_opened_is_refused(replaced):
    client, replace = replaced
    replace()
    assert client.post("/v1/search", json={"query": "a cat"}).status_code == 409


def test_a_collection_that_is_refused_is_closed_so_that_it_can_be_migrated(replaced):
    client, replace = replaced
    before = {*threading.enumerate()}
    assert client.post("/v1/search", json={"query": "a cat"}).status_code == 200
    replace()
    gc.disable()  # it would close the collection some time later
    try:
        client.portal.call(client.app.state.server._reload)
        assert client.post("/v1/search", json={"query": "a cat"}).status_code == 409
        readers = [one for one in threading.enumerate() if one.name == "collection notes" and one not in before]
        for thread in readers:
            thread.join(20)
        assert not any(thread.is_alive() for thread in readers)
    finally:
        gc.enable()


def test_what_a_migration_fills_is_no_collection_yet_and_without_a_folder_there_is_none(client_of, parent):
    for ending in (BESIDE, REPLACED):
        shutil.copytree(parent / "notes", parent / f"notes{ending}")
    with client_of() as client:
        names = [one["name"] for one in client.get("/v1/collections").json()["data"]]
        assert names == ["notes", "others"]
        shutil.rmtree(parent)
        assert client.get("/v1/collections").json()["data"] == []
        assert client.post("/v1/search", json={"query": "a cat"}).status_code == 404


def test_a_model_that_is_gone_is_not_found_and_its_folder_not_named(replaced, tmp_path):
    client, _ = replaced
    shutil.rmtree(tmp_path / "model")
    store = client.app.state.server.models
    store.named("tiny", "embedder").load = lambda: NumpyEmbedder.load(tmp_path / "other")
    client.portal.call(store.replace, "tiny")
    response = client.post("/v1/search", json={"query": "a cat"})
    assert (response.status_code, response.json()["error"]["code"]) == (404, "model_not_found")
    assert str(tmp_path) not in response.text


def test_no_answer_says_where_a_file_lies(tmp_path):
    model = NumpyEmbedder.load(model_folder(tmp_path / "model", "bert"))
    other = NumpyEmbedder.load(model_folder(tmp_path / "other", "bert", seed=1))
    files = [f"{tmp_path}/{folder}/notes.md" for folder in ("first", "second")]
    with TextIndex.open(tmp_path / "indexes" / "notes", other) as index:
        index.add([Document("a cat sleeps", file, "Notes") for file in files], show_progress_bar=False)
    with serving({"tiny": model}, collections=tmp_path / "indexes", engine="numpy") as client:
        answers = [
            client.post("/v1/search", json={"query": "a cat", "hybrid": True}),
            client.get("/v1/collections"),
            client.get("/v1/collections/notes/map?layout=pca"),
            client.get("/v1/models"),
        ]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert not [answer.text for answer in answers if str(tmp_path) in answer.text]
    found, _, mapped, models = (answer.json() for answer in answers)
    assert {one["metadata"]["file"] for one in found["passages"]} == {"notes.md"}
    assert {one["key"] for one in found["passages"]} == {*mapped["ids"]}
    assert len({*mapped["ids"]}) == 2
    assert found["model"] == "other (for collections)"
    assert found["model"] in {one["id"] for one in models["data"]}
