"""What a client sees: requests to a server over likewise-mini are answered as transcripts/ shows.

A request is a line `GET PATH` or `POST PATH BODY`; under it stand the status and the answer, a value of its JSON per
line, long lists of numbers cut.
"""

import json
import re
from pathlib import Path

import pytest

from likewise import Embedder
from likewise.classify import Classifier
from likewise.search.texts.text_index import TextIndex
from likewise.serve import ServeSettings, create_app
from likewise.serve.application import api_routes
from tests import transcripts
from tests.tiny import classifier_folder

from .conftest import HOST, NOTES, TestClient

FOLDER = Path(__file__).parent / "transcripts"
SHOWN = 4
"""Numbers shown of a list of them."""
NOT_SHOWN = {"/", "/page/{path:path}", "/openapi.json", "/metrics", "/status", "/v1/collections/{name}/map", "/card"}
"""Pages, drawings and figures of time and memory."""


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    place = tmp_path_factory.mktemp("transcript")
    embedder = Embedder.load("likewise-mini")
    labels = ["cats", "cats", "shares", "shares", "dogs", "dogs"]
    classifier = Classifier.fit(NOTES, labels, embedder)
    embedder.save(place / "notes-classifier")
    classifier.save(place / "notes-classifier")
    (place / "collections").mkdir()
    with TextIndex.open(place / "collections" / "notes", embedder) as index:
        rows = [{"text": text, "about": label, "length": len(text)} for text, label in zip(NOTES, labels, strict=True)]
        index.add(rows, show_progress_bar=False)
    reranker = classifier_folder(place / "reranker", "bert", labels=1)
    app = create_app(
        {"likewise-mini": embedder, "notes-classifier": Embedder.load(place / "notes-classifier")},
        rerankers={"tiny-reranker": str(reranker)},
        collections=place / "collections",
        settings=ServeSettings(log="off"),
    )
    with TestClient(app, base_url=HOST, raise_server_exceptions=False) as client:
        yield client


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_requests_are_answered_as_the_transcript_shows(path, client):
    transcripts.check(path, ("GET ", "POST "), lambda request: answered(client, request))


def answered(client, request):
    method, path, *body = request.split(" ", 2)
    answer = client.request(method, path, content=body[0] if body else None, headers={"X-Request-Id": "id"})
    kind = answer.headers["content-type"]
    head = f"{answer.status_code} {kind}"
    if "json" not in kind:
        return [head, *answer.text.splitlines()]
    return [head, *(line for line in lines_of(answer.json()))]


def lines_of(value, name=""):
    """A line for each value in a JSON document, with its path."""
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from lines_of(one, f"{name}.{key}" if name else key)
    elif isinstance(value, list) and value and not all(isinstance(one, int | float) for one in value):
        for number, one in enumerate(value):
            yield from lines_of(one, f"{name}[{number}]")
    else:
        is_long = isinstance(value, list) and len(value) > SHOWN
        shown = json.dumps(value[:SHOWN] if is_long else value, ensure_ascii=False)
        yield f"{name} = {shown}{f' … {len(value)}' if is_long else ''}"


def test_every_route_is_in_a_transcript():
    shown = "\n".join(path.read_text("utf-8") for path in FOLDER.glob("*.txt"))
    for route in api_routes(ServeSettings()):
        pattern = re.escape(route.path).replace(r"\{", "{").replace(r"\}", "}")
        pattern = re.sub(r"\{[^}]*\}", r"[^ ?]+", pattern)
        if route.path not in NOT_SHOWN:
            assert re.search(rf"^{route.method} {pattern}(\?\S*)?( |$)", shown, re.MULTILINE), route.path
