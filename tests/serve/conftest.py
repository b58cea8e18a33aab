"""Servers in this process over tiny models, and a collection; what needs a real socket starts its own."""

import shutil
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

if find_spec("starlette") is None:
    collect_ignore_glob = ["test_*.py"]  # the extra `serve`, which `make test` installs
else:
    from starlette.testclient import TestClient

    from likewise.classify import Classifier
    from likewise.engines.array_cross_encoder import NumpyCrossEncoder
    from likewise.engines.numpy.numpy_embedder import NumpyEmbedder
    from likewise.search.texts.text_index import TextIndex
    from likewise.serve import ServeSettings, create_app
    from tests.tiny import classifier_folder

HOST = "http://127.0.0.1"
NOTES = ["a cat sleeps", "a kitten naps", "shares fell", "the market fell", "dogs bark", "a dog barks at night"]


@pytest.fixture(scope="session")
def anyio_backend():
    """Coroutines among the tests (`pytest.mark.anyio`) run on asyncio, each on a loop of its own."""
    return "asyncio"


@pytest.fixture(scope="session")
def served_models(folders, tmp_path_factory):
    """A tiny embedder, a classifier in its folder, and a tiny reranker, by NumPy."""
    folder = tmp_path_factory.mktemp("embedder") / "bert"
    shutil.copytree(folders("bert"), folder)
    embedder = NumpyEmbedder.load(folder)
    Classifier.fit(NOTES, ["cats", "cats", "shares", "shares", "dogs", "dogs"], embedder).save(folder)
    reranker = NumpyCrossEncoder.load(classifier_folder(tmp_path_factory.mktemp("reranker"), "bert", labels=1))
    return embedder, reranker


@pytest.fixture(scope="session")
def collection_parent(served_models, tmp_path_factory):
    """A folder with one collection, `notes`."""
    parent = tmp_path_factory.mktemp("collections")
    with TextIndex.open(parent / "notes", served_models[0]) as index:
        index.add(NOTES, show_progress_bar=False)
    return parent


@contextmanager
def serving(models, rerankers=(), collections=None, **settings):
    """A client of a server of its own."""
    options = ServeSettings(**{"log": "off", **settings})
    app = create_app(models, rerankers=rerankers, collections=collections, settings=options)
    with TestClient(app, base_url=HOST) as client:
        yield client


@pytest.fixture(scope="session")
def app_of(served_models, collection_parent):
    """Settings to an application over the tiny models."""

    def make(**settings):
        embedder, reranker = served_models
        options = {"log": "off", **settings}
        return create_app(
            {"tiny": embedder},
            rerankers={"tiny-reranker": reranker},
            collections=collection_parent,
            settings=ServeSettings(**options),
        )

    return make


@pytest.fixture(scope="module")
def client(app_of):
    """A client of a server with the default settings."""
    with TestClient(app_of(), base_url=HOST) as client:
        yield client
