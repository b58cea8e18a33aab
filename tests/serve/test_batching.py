"""The queue of a model: fair, bounded, and each request with its own results whatever else is computed."""

import asyncio
import json
import shutil
import threading
from collections import deque
from itertools import cycle
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.engines.array_cross_encoder import NumpyCrossEncoder
from likewise.engines.numpy.numpy_embedder import NumpyEmbedder
from likewise.errors import BadInput
from likewise.serve import ServeSettings, batching, model_store
from likewise.serve.batching import ModelThread, TokenizedInput, next_batch
from likewise.serve.model_store import ModelStore, RerankerWork, loader, model_bytes, served_name
from likewise.serve.routes import computing, tokens
from likewise.serve.web.api_errors import ApiError
from tests.serve.conftest import serving
from tests.tiny import classifier_folder, colbert_folder, model_folder
from tests.without_torch import TORCH

pytestmark = pytest.mark.anyio


class Nobody:
    """Counts batches."""

    def __init__(self):
        self.batches = []

    def __call__(self, inputs, tokens, seconds):
        self.batches.append((inputs, tokens))


class Number(int):
    """An input of one character."""

    def __len__(self):
        return 1


def Job(numbers, **options):  # noqa: N802, in the place of the class
    return batching.Job([*map(Number, numbers)], **options)


class Echo:
    """Numbers to themselves; the number is also the size. Waits at `gate`.

    Refuses negative numbers; fails on 13, and on 17 while tokenizing.
    """

    def __init__(self, gate=None):
        self.gate = gate
        self.batches = []

    def tokenize(self, inputs, prompt, first):
        for index, number in enumerate(inputs, first):
            if number < 0:
                raise BadInput(f"input {index} is a negative number")
        if 17 in inputs:
            raise MemoryError("seventeen")
        return [TokenizedInput(x, max(1, x), x, min(x, 50)) for x in inputs]

    def compute(self, contents):
        if self.gate is not None:
            self.gate.wait(5)
        numbers = [content.sequence for content in contents]
        self.batches.append(numbers)
        if 13 in numbers:
            raise ValueError("thirteen")
        return np.array(numbers, np.float32)[:, None]


def job_of(*sizes):
    job = Job(sizes)
    job.add_tokenized([TokenizedInput(size, size, size, size) for size in sizes])
    return job


def taken(queue, budget, share):
    return [(job, position) for job, position, _ in next_batch(queue, budget, share)]


def thread_of(work=None, **settings):
    return ModelThread("echo", work or Echo(), ServeSettings(**settings), Nobody())


def store_of(names, *models, **settings):
    """A store of these names, in which each load takes the next model."""
    store, found = ModelStore(ServeSettings(**settings), Nobody()), cycle(models)
    for name in names:
        store.add(name, "embedder", lambda: next(found))
    return store


def loaded_names(store):
    return [one.name for one in store if one.thread is not None]


async def loaded(store, name, kind):
    served = store.named(name, kind)
    await store.load(served)
    return served


async def settled(*futures):
    return await asyncio.gather(*futures, return_exceptions=True)


def test_every_request_gives_one_input_before_any_gives_two():
    large, small, other = job_of(5, 5, 5), job_of(5), job_of(5)
    queue = deque([large, small, other])
    assert taken(queue, 100, 0) == [(large, 0), (small, 0), (other, 0)]
    assert taken(queue, 100, 100) == [(large, 1), (large, 2)]


def test_where_a_batch_ends_the_next_begins():
    first, second, third = job_of(60), job_of(60), job_of(1)
    queue = deque([first, second, third])
    assert taken(queue, 100, 100) == [(first, 0)]
    assert taken(queue, 100, 100) == [(second, 0), (third, 0)]


@pytest.mark.parametrize(
    ("sizes", "budget", "share", "expected"),
    [
        ([[60], [40], [1]], 100, 0, [(0, 0), (1, 0)]),
        ([[5, 5], [5, 5]], 100, 15, [(0, 0), (1, 0), (0, 1)]),
        ([[5, 5], [5]], 10, 1000, [(0, 0), (1, 0)]),
        ([[5, 5], [5]], 100, 1, [(0, 0), (1, 0)]),
        ([[200], [1]], 100, 100, [(0, 0)]),
    ],
)
def test_a_batch_may_be_just_full_and_further_rounds_have_their_share_of_it(sizes, budget, share, expected):
    jobs = [job_of(*one) for one in sizes]
    assert [(jobs.index(job), place) for job, place in taken(deque(jobs), budget, share)] == expected


@given(
    sizes=st.lists(st.lists(st.integers(1, 300), min_size=1, max_size=6), min_size=1, max_size=8),
    budget=st.integers(1, 400),
    share=st.integers(0, 400),
)
def test_every_input_is_computed_once_and_batches_keep_to_their_budget(sizes, budget, share):
    jobs = [job_of(*one) for one in sizes]
    queue = deque(jobs)
    seen = []
    while len(queue):
        batch = next_batch(queue, budget, share)
        total = sum(content.size for _, _, content in batch)
        assert total <= budget or len(batch) == 1
        seen += [(id(job), position) for job, position, _ in batch]
    assert sorted(seen) == sorted((id(job), i) for job in jobs for i in range(len(job.inputs)))


@given(numbers=st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=80), min_size=1, max_size=10))
def test_each_request_gets_its_own_results_in_their_order(numbers):
    async def run():
        thread = thread_of(batch_tokens=64)
        jobs = await settled(*[thread.submit(Job(one)) for one in numbers])
        thread.close()
        assert await thread.drained(5)
        return jobs, thread

    jobs, thread = asyncio.run(run())
    assert [job.rows[:, 0].tolist() for job in jobs] == numbers
    assert thread.waiting_requests == thread.waiting_inputs == 0


async def test_one_request_that_fails_leaves_the_others_alone():
    gate = threading.Event()
    thread = thread_of(Echo(gate))
    futures = [thread.submit(Job(one)) for one in ([1], [2, -1], [13], [17], [3, 4])]
    gate.set()
    good, unreadable, failing, without_memory, other = await asyncio.wait_for(settled(*futures), 5)
    assert isinstance(unreadable, BadInput)
    assert isinstance(failing, ValueError)
    assert isinstance(without_memory, MemoryError)
    assert (good.rows[:, 0].tolist(), other.rows[:, 0].tolist()) == ([1], [3, 4])


@pytest.mark.parametrize("bad", [-1, 13, 17])
async def test_of_two_requests_only_the_one_that_fails_fails(bad):
    gate = threading.Event()
    thread = thread_of(Echo(gate))
    futures = [thread.submit(Job([bad])), thread.submit(Job([1]))]
    gate.set()
    failed, good = await asyncio.wait_for(settled(*futures), 5)
    assert isinstance(failed, Exception) and good.rows.tolist() == [[1]]


async def test_a_bad_input_is_named_by_its_place_in_a_large_request():
    (error,) = await settled(thread_of().submit(Job([1] * 300 + [-1])))
    assert str(error) == "input 300 is a negative number"


async def test_a_full_queue_refuses_and_says_for_how_long():
    gate = threading.Event()
    thread = thread_of(Echo(gate), max_requests=3, max_waiting_texts=10)
    futures = [thread.submit(Job([1] * 8))]
    with pytest.raises(ApiError, match="too many requests"):
        thread.submit(Job([1] * 3))
    futures += [thread.submit(Job([1])) for _ in range(2)]  # ten inputs and three requests: just full
    with pytest.raises(ApiError, match="too many requests") as full:
        thread.submit(Job([1]))
    gate.set()
    await settled(*futures)
    thread.submit(Job([1] * 30))  # an empty queue takes any size
    assert full.value.retry_after >= 0


@pytest.fixture
def clock(monkeypatch):
    """The time of model threads, in a list."""
    found = [1000.0]
    monkeypatch.setattr(batching, "time", SimpleNamespace(perf_counter=lambda: found[0]))
    return found


class Timed(Echo):
    """Takes a millisecond for a token, and ten to tokenize some inputs."""

    def __init__(self, clock, gate=None):
        super().__init__(gate)
        self.clock = clock

    def tokenize(self, inputs, prompt, first):
        self.clock[0] += 0.01
        return super().tokenize(inputs, prompt, first)

    def compute(self, contents):
        rows = super().compute(contents)
        self.clock[0] += sum(content.size for content in contents) / 1000
        return rows


async def test_a_slice_of_a_large_request_is_what_can_be_computed_in_its_time(clock):
    work = Timed(clock)
    thread = thread_of(work, batch_tokens=1000, slice_seconds=0.011)
    small = await thread.submit(Job([100], arrived=clock[0] - 0.5))
    assert (small.tokenization, small.inference) == pytest.approx((0.01, 0.1))
    assert (small.queue, small.tokens) == pytest.approx((0.5, 100))
    large = await thread.submit(Job([25] * 9, arrived=clock[0]))
    assert work.batches[:3] == [[100], [25] * 4, [25] * 2]  # 0.109 and 0.198 ms a token in a mean of the last batches
    assert thread._observe.batches[:2] == [(1, 100), (4, 100)]
    assert (large.tokenization, large.inference) == pytest.approx((0.02, 0.225))
    assert large.queue == pytest.approx(0, abs=1e-9)


async def test_a_slice_is_no_larger_than_a_batch():
    gate = threading.Event()
    work = Echo(gate)
    thread = thread_of(work, batch_tokens=20, slice_seconds=1e6)
    jobs = [thread.submit(Job([1])), thread.submit(Job([5] * 200))]
    gate.set()
    await settled(*jobs)
    assert max(map(sum, work.batches)) == 20


async def test_who_is_refused_is_told_how_long_the_queue_takes(clock):
    thread = thread_of(Timed(clock), max_requests=2)
    await thread.submit(Job([150]))
    gate = thread.work.gate = threading.Event()
    futures = [thread.submit(Job([1] * 20)) for _ in range(2)]
    with pytest.raises(ApiError, match="too many requests") as full:
        thread.submit(Job([1]))
    assert full.value.retry_after == pytest.approx(40 * (0.9 * 0.0001 + 0.1 * 0.15))
    gate.set()
    await settled(*futures)


async def test_a_models_thread_keeps_no_process_alive():
    assert thread_of()._thread.daemon


async def test_a_cancelled_request_is_not_computed():
    gate = threading.Event()
    work = Echo(gate)
    thread = thread_of(work)
    first = thread.submit(Job([1]))
    while thread._posted or not thread._arrivals.empty():
        await asyncio.sleep(0.001)
    second = thread.submit(Job([2]))
    second.cancel()
    gate.set()
    await settled(first, thread.submit(Job([3])))
    assert (work.batches, thread.waiting_requests) == ([[1], [3]], 0)


async def test_closing_finishes_what_waits_and_refuses_what_comes():
    gate = threading.Event()
    thread = thread_of(Echo(gate))
    futures = [thread.submit(Job([i])) for i in range(5)]
    thread.close()
    with pytest.raises(ApiError, match="stopping"):
        thread.submit(Job([1]))
    gate.set()
    assert [job.rows[0, 0] for job in await settled(*futures)] == [0, 1, 2, 3, 4]


async def test_a_small_request_waits_for_a_slice_of_a_large_one_only():
    gate = threading.Event()
    work = Echo(gate)
    thread = thread_of(work, batch_tokens=100, slice_seconds=0.0)
    small = thread.submit(Job([1]))  # large ones are sliced from now on
    large = thread.submit(Job([5] * 500))
    late = thread.submit(Job([7]))
    gate.set()
    await settled(small, large, late)
    assert max(map(sum, work.batches)) <= 24  # LEAST_SHARE, and an input of every request
    assert next(i for i, batch in enumerate(work.batches) if 7 in batch) <= 2


async def test_a_function_has_the_model_to_itself():
    thread = thread_of()
    failing = thread.call(lambda: 1 / 0)
    good = thread.call(threading.current_thread)
    failed, where = await settled(failing, good)
    assert isinstance(failed, ZeroDivisionError)
    assert where is thread._thread


async def test_what_is_truncated_is_noted_or_refused():
    thread = thread_of()
    cut, refused = await settled(thread.submit(Job([1, 70])), thread.submit(Job([70], refuse_truncation=True)))
    assert cut.truncated == [{"index": 1, "tokens": 70, "used": 50}]
    assert isinstance(refused, BadInput)


def test_a_reranker_of_several_labels_is_refused_and_another_reads_pairs_up_to_its_limit(served_models, tmp_path):
    with pytest.raises(BadInput, match="only single-score rerankers can be served; this one has LABEL_0, LABEL_1$"):
        RerankerWork(NumpyCrossEncoder.load(classifier_folder(tmp_path, "bert", labels=2)))
    work = RerankerWork(served_models[1])
    short, long = work.tokenize([("cat", "a dog"), ("dog", "cat " * 200)], "the ", 0)
    assert [len(ids) for ids in short.sequence] == [2, 2] and short[1:] == (4 + 3, 4, 4)
    limit = served_models[1].max_content_length
    assert long[1:] == (limit + 3, 202, limit)


@pytest.mark.parametrize(
    ("has_native", "asked", "engine"), [(True, None, "native"), (False, None, "numpy"), (True, "numpy", "numpy")]
)
def test_a_model_is_loaded_by_the_compiled_engine_where_there_is_one_or_as_asked(
    has_native, asked, engine, monkeypatch
):
    loaded = {}
    monkeypatch.setattr("likewise.native.scanning.available", lambda: has_native)
    monkeypatch.setattr(
        "likewise.model_names.load_named_embedder", lambda name, **how: loaded.update(how) or SimpleNamespace()
    )
    loader("a", "embedder", ServeSettings(engine=asked, precision="fp32"))()
    assert loaded == {"engine": engine, "precision": "fp32"}


def test_the_size_of_a_model_is_that_of_its_packed_weights_or_of_its_files(served_models):
    files = [served_models[0].manifest.encoder / f"{name}.safetensors" for name in ("model", "classifier")]
    assert model_bytes(served_models[0]) == sum(path.stat().st_size for path in files)
    assert model_bytes(SimpleNamespace(encoder=SimpleNamespace(bytes=77))) == 77


async def test_models_that_just_fit_stay(served_models):
    store = store_of("ab", served_models[0], model_memory=2 * model_bytes(served_models[0]))
    for name in "ab":
        await loaded(store, name, "embedder")
    assert loaded_names(store) == ["a", "b"]


async def test_models_make_room_for_each_other_and_come_back(served_models):
    store = store_of("abc", served_models[0], model_memory=int(2.5 * model_bytes(served_models[0])))
    for name in "abc":
        await loaded(store, name, "embedder")
    assert loaded_names(store) == ["b", "c"]
    await loaded(store, "a", "embedder")
    assert loaded_names(store) == ["a", "c"]


async def test_a_model_in_use_stays_and_makes_room_when_the_last_request_has_ended(served_models):
    store = store_of("ab", served_models[0], model_memory=1)
    first = await loaded(store, "a", "embedder")
    with first.in_use():
        with first.in_use():
            await loaded(store, "b", "embedder")
        assert loaded_names(store) == ["a", "b"]
    assert loaded_names(store) == ["b"]


STEPS = {
    "/embed_all": {"inputs": ["a cat", "dogs"]},
    "/tokenize": {"inputs": ["a cat", "dogs"]},
    "/decode": {"ids": [[5, 6], [7]]},
    "/explain": {"first": "a cat", "second": "dogs bark"},
    "/dissect": {"text": "dogs bark"},
    "/v1/search": {"query": "a cat", "rerank": "tiny-reranker"},
}
"""Requests that call a model several times."""


@pytest.mark.parametrize("path", STEPS)
def test_a_model_stays_loaded_between_the_steps_of_a_request(path, served_models, collection_parent, monkeypatch):
    embedder, reranker = served_models
    models, watched = {"tiny": embedder, "other": embedder}, computing.watched

    async def and_another_model_is_loaded(exchange, work):
        found = await watched(exchange, work)
        await loaded(exchange.server.models, "other", "embedder")
        assert {"tiny", "other"} <= {*loaded_names(exchange.server.models)}
        return found

    monkeypatch.setattr(computing, "watched", and_another_model_is_loaded)
    monkeypatch.setattr(tokens, "CHARACTERS", 1)
    with serving(models, {"tiny-reranker": reranker}, collection_parent, model_memory=1) as client:
        response = client.post(path, json=STEPS[path])
        assert response.status_code == 200, response.text
        assert loaded_names(client.app.state.server.models) == ["other"]


@pytest.mark.skipif(not TORCH, reason="poly-encoders are torch's")
@pytest.mark.parametrize("kind", ["late-interaction", "poly-encoder"])
async def test_rerankers_other_than_cross_encoders_are_refused(kind, tmp_path, folders):
    from likewise.reranker import PolyEncoder

    if kind == "poly-encoder":
        PolyEncoder.start(folders("bert"), 5).save(tmp_path / "m")
    else:
        colbert_folder(tmp_path / "m")
    store = ModelStore(ServeSettings(), Nobody())
    store.add("a", "reranker", loader(str(tmp_path / "m"), "reranker", ServeSettings(engine="torch")))
    with pytest.raises(BadInput, match=f"only cross-encoders can be served as rerankers; this one is a {kind}"):
        await loaded(store, "a", "reranker")


async def test_a_model_is_replaced_while_the_old_one_finishes(served_models):
    store = store_of("a", served_models[0])
    old = (await loaded(store, "a", "embedder")).thread
    await store.replace("a")
    new = (await loaded(store, "a", "embedder")).thread
    assert old is not new and new._is_open
    assert await old.drained(5)


@pytest.mark.parametrize("path", ["/embed", "/explain"])
def test_a_reload_during_a_request_does_not_change_its_answer(path, tmp_path, monkeypatch):
    old, new = (
        NumpyEmbedder.load(model_folder(tmp_path / str(seed), heads=heads, seed=seed))
        for seed, heads in enumerate([(), ("Normalize",)])
    )
    watched, body = computing.watched, {"inputs": "a cat"} if path == "/embed" else STEPS[path]

    async def and_the_model_is_reloaded(exchange, work):
        found = await watched(exchange, work)
        exchange.server.models.named("tiny", "embedder").load = lambda: new
        await exchange.server.models.replace("tiny")
        return found

    with serving({"tiny": old}) as client:
        expected = client.post(path, json=body).json()
        monkeypatch.setattr(computing, "watched", and_the_model_is_reloaded)
        assert client.post(path, json=body).json() == expected


def test_a_reload_is_logged_and_if_it_fails_the_old_model_serves_on(served_models, capsys):
    with serving({"tiny": served_models[0]}, log="errors") as client:
        server = client.app.state.server
        client.portal.call(server._reload)
        server.models.named("tiny", "embedder").load = lambda: 1 / 0
        client.portal.call(server._reload)
        assert client.post("/embed", json={"inputs": "a cat"}).status_code == 200
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    about = "tiny could not be reloaded, so the old version stays in use: division by zero"
    assert [(one["level"], one["message"]) for one in lines] == [("info", "tiny was reloaded"), ("error", about)]


async def test_a_larger_model_that_replaces_another_makes_room(served_models, monkeypatch):
    sizes = iter([10, 10, 20])
    monkeypatch.setattr(model_store, "model_bytes", lambda _: next(sizes))
    store = store_of("ab", served_models[0], model_memory=25)
    for name in "ab":
        await loaded(store, name, "embedder")
    await store.replace("b")
    assert loaded_names(store) == ["b"]


async def test_a_model_whose_classifier_is_of_another_leaves_the_old_one_whole(served_models, folders, tmp_path):
    """A stale classifier is found after the new model has been read."""
    shutil.copytree(folders("mpnet"), tmp_path / "other")
    for name in ("classifier.json", "classifier.safetensors"):
        shutil.copy(served_models[0].manifest.encoder / name, tmp_path / "other")
    store = store_of("a", served_models[0], NumpyEmbedder.load(tmp_path / "other"))
    served = await loaded(store, "a", "embedder")
    before = served.model, served.classifier, served.thread, served.size, served.generation
    with pytest.raises(BadInput, match="the classifier was fitted on the model"):
        await store.replace("a")
    assert before == (served.model, served.classifier, served.thread, served.size, served.generation)


@pytest.mark.parametrize(
    ("given", "expected"),
    [("a", ("a", "a")), ("a=b", ("a", "b")), ("b(pooling=cls)", ("b(pooling=cls)", "b(pooling=cls)"))],
)
def test_a_model_can_be_served_under_another_name(given, expected):
    assert served_name(given) == expected


def test_a_folder_is_served_without_its_path(tmp_path, monkeypatch):
    (folder := tmp_path / "it").mkdir()
    for form, name in (("{}(pooling=cls)", "it(pooling=cls)"), ("bert-cls({}/)", "bert-cls(it)")):
        assert served_name(form.format(folder)) == (name, form.format(folder))
    monkeypatch.chdir(folder)
    assert served_name(".") == ("it", ".")
    (other := tmp_path / "rate=2e-5").mkdir()
    assert served_name(str(other)) == ("rate=2e-5", str(other))


@pytest.mark.parametrize("given", ["=b", "a=", ""])
def test_a_name_that_is_empty_is_refused(given):
    with pytest.raises(BadInput):
        served_name(given)
