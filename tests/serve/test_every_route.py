"""What holds for every row of the table of routes; routes.txt shows what the OpenAPI document says of each.

LIKEWISE_TRANSCRIPTS=write writes routes.txt anew (see tests/transcripts.py).
"""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.serve import ServeSettings
from likewise.serve.application import api_routes
from likewise.serve.web.api_errors import ERROR_KINDS, ERROR_SHAPES, ApiError
from likewise.serve.web.openapi_document import openapi_document
from tests import transcripts

from .requests_by_route import GOOD, ask

ROUTES = api_routes(ServeSettings())
answering = pytest.mark.parametrize(
    "route", [r for r in ROUTES if not r.answers_only_errors], ids=lambda r: f"{r.method} {r.path}"
)
posting = pytest.mark.parametrize(
    "route", [r for r in ROUTES if r.body is not None], ids=lambda r: f"{r.method} {r.path}"
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@answering
def test_a_good_request_is_answered_with_an_id(route, client):
    response = ask(client, route, headers={"X-Request-Id": "mine-1"})
    assert response.status_code == 200, response.text
    assert response.headers["x-request-id"] == "mine-1"
    assert response.headers["content-length"] == str(len(response.content))
    assert (route.answer is None) == (not response.headers["content-type"].startswith("application/json"))


@posting
@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[1,2", b"nul", b"\xff\xfe", b'{"a": NaN}', b"[" * 5000),
        *(b"[" * 1000 + b"]" * 1000, b'{"a":' * 1000 + b"1" + b"}" * 1000),
        *(b"[]", b"3", b'"text"', b"{}", b'{"unheard_of": 1}'),
    ],
)
def test_a_bad_body_is_refused_in_the_shape_of_the_api(route, body, client):
    response = client.post(route.path, content=body)
    shape = ERROR_SHAPES[route.api]
    assert response.status_code in {shape.status(kind) for kind in ("invalid", "empty")}
    assert response.json().keys() == shape.body(ApiError("invalid", "")).keys()


@posting
def test_the_example_of_a_body_is_a_good_one(route):
    assert route.example
    assert msgspec.convert(route.example, route.body)


@posting
@given(data=st.data())
def test_no_json_is_an_error_of_the_servers(route, data, client):
    fields = dict.fromkeys(route.body.__struct_fields__, JSON_VALUES)
    body = data.draw(st.fixed_dictionaries({}, optional=fields) | JSON_VALUES)
    assert client.post(route.path, content=json.dumps(body)).status_code < 500


@posting
def test_a_body_over_the_bound_is_refused_unread(route, client):
    response = client.post(route.path, content=b"x", headers={"Content-Length": str(1 << 40)})
    assert response.status_code == 413


@pytest.mark.parametrize("kind", ERROR_KINDS)
@pytest.mark.parametrize("shape", ERROR_SHAPES)
def test_every_kind_of_error_has_every_shape(kind, shape):
    assert 400 <= ERROR_SHAPES[shape].status(kind) < 600
    assert "what went wrong" in json.dumps(ERROR_SHAPES[shape].body(ApiError(kind, "what went wrong", param="input")))


def test_the_openapi_document_has_every_route_and_only_schemas_that_are_there(client):
    document = client.get("/openapi.json").json()
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == {(r.method, r.path.replace(":path", "")) for r in ROUTES}
    names = document["components"]["schemas"]
    references = json.dumps(document["paths"]).split('"#/components/schemas/')[1:]
    assert references
    assert all(reference.partition('"')[0] in names for reference in references)


def as_written(what):
    """What the document says of a route or of a schema, or the statuses of all errors in each API."""
    document = openapi_document(ROUTES, "1.0")
    kind, _, name = what.partition(" ")
    if kind == "errors":
        for error, row in ERROR_KINDS.items():
            statuses = [f"{api} {shape.status(error)}" for api, shape in ERROR_SHAPES.items()]
            yield f"{error}: {', '.join(statuses)}; {row.openai_type}, {row.code}, {row.tei_type}"
    elif kind == "schema":
        schema = document["components"]["schemas"][name]
        yield f"required: {', '.join(schema.get('required', ()))}"
        for field, rules in schema["properties"].items():
            yield f"{field}: {json.dumps({key: value for key, value in rules.items() if key != 'description'})}"
    else:
        (route,) = (one for one in ROUTES if (one.method, one.path.replace(":path", "")) == (kind, name))
        described = document["paths"][name][kind.lower()]
        yield f"{described['operationId']}: {described['summary']}"
        yield f"open: {route.is_open}, seconds: {route.seconds}, measured as {route.measured_as}, API: {route.api}"
        yield from map(json.dumps, described.get("parameters", ()))
        if "requestBody" in described:
            yield json.dumps(described["requestBody"])
        responses = described["responses"]
        if good := responses.pop("200", None):
            yield f"200 {good['description']}: {json.dumps(good['content'])}"
        yield ", ".join(f"{status} {response['description']}" for status, response in responses.items())
        (schema,) = {json.dumps(response["content"]["application/json"]) for response in responses.values()}
        yield f"in the form {schema}"


def test_routes_fields_and_errors_are_as_written():
    path = Path(__file__).with_name("routes.txt")
    transcripts.check(path, ("GET ", "POST ", "schema ", "errors"), lambda what: [*as_written(what)])
    names = {f"{route.method} {route.path.replace(':path', '')}" for route in ROUTES}
    names |= {f"schema {name}" for name in openapi_document(ROUTES, "1.0")["components"]["schemas"]}
    assert names < {*path.read_text("utf-8").splitlines()}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("post", "/predict", "424"),
        ("post", "/embed_sparse", "424"),
        ("post", "/v1/search", "409"),
        ("get", "/v1/collections/{name}", "409"),
        ("get", "/v1/collections/{name}/map", "409"),
    ],
)
def test_the_document_has_the_errors_that_only_some_routes_return(method, path, status, client):
    assert status in client.get("/openapi.json").json()["paths"][path][method]["responses"]


@answering
def test_the_document_has_the_media_type_of_the_answer(route, client):
    described = client.get("/openapi.json").json()["paths"][route.path.replace(":path", "")][route.method.lower()]
    answered = ask(client, route).headers["content-type"].partition(";")[0]
    assert answered in described["responses"]["200"]["content"]


def test_operations_have_names_of_their_own(client):
    paths = client.get("/openapi.json").json()["paths"]
    names = [operation["operationId"] for methods in paths.values() for operation in methods.values()]
    assert len({*names}) == len(names)


@pytest.mark.parametrize(
    ("path", "body", "param", "parts"),
    [
        ("/v1/embeddings", {"input": ["a", None]}, "input[1]", ["`int | str | array`", "got null"]),
        ("/v1/embeddings", {"input": [[1], [1, -2]]}, "input[1][1]", ["`int` >= 0", "got -2"]),
        ("/v1/embeddings", {"input": ["a"] * 10_001}, "input", ["1 to 10,000 items", "got 10,001"]),
        ("/v1/embeddings", {"input": "a" * 500_001}, "input", ["length <= 500000", "(500,001 characters)"]),
        ("/v1/embeddings", {"input": "a", "dimensions": 0}, "dimensions", ["`int` >= 1", "got 0"]),
        ("/v1/embeddings", {"model": "tiny"}, "input", ["input is missing"]),
        ("/v1/embeddings", {"input": "a", "modle": "tiny"}, "modle", ["did you mean model?"]),
        ("/v1/embeddings", {"input": "a", "zzz": 1}, "zzz", ["allowed fields: input, model, encoding_format"]),
        ("/v1/search", {"query": "a", "k": "many"}, "k", ["`int | null`", "got 'many'"]),
        ("/v1/search", {"query": ""}, "query", ["length >= 1", "got ''"]),
    ],
)
def test_a_refusal_says_where_what_is_wanted_and_what_was_found(path, body, param, parts, client):
    error = client.post(path, json=body).json()["error"]
    assert error["param"] == param
    assert [part for part in parts if part not in error["message"]] == [], error["message"]


def test_fields_of_inner_objects_are_named_with_their_place(client):
    inner = {"source_sentence": "a", "sentences": ["b"]}
    for body, parts in (
        ({"inputs": {**inner, "sentence": "c"}}, ["inputs has the unknown field 'sentence'", "mean sentences?"]),
        ({"inputs": {**inner, "x - at `$.y": 1}}, ["inputs has the unknown field 'x - at `$.y'"]),
        ({"inputs": {"sentences": ["b"]}}, ["inputs.source_sentence is missing"]),
        ({"inputs": {**inner, "sentences": [3]}}, ["inputs.sentences[0]: expected `str`; got 3"]),
        ({"inputs": inner, "parameters": {"truncation_direction": "left"}}, ["'right'", "got 'left'"]),
    ):
        error = client.post("/similarity", json=body).json()["error"]
        assert [part for part in parts if part not in error] == [], error


def test_null_is_as_if_the_field_were_missing(client):
    ranked = {"query": "a cat", "documents": ["dogs", "a kitten"]}
    for path, body, nulls in (
        ("/v1/embeddings", {"input": "a null"}, ("model", "encoding_format", "dimensions", "truncate", "user")),
        ("/embed", {"inputs": "a cat"}, ("normalize", "truncation_direction", "prompt_name")),
        ("/rerank", {"query": "a cat", "texts": ["dogs"]}, ("documents", "raw_scores", "return_text", "top_n")),
        ("/tokenize", {"inputs": "a cat"}, ("add_special_tokens",)),
        ("/v1/rerank", ranked, ("return_documents", "top_n")),
    ):
        without, with_nulls = (client.post(path, json=sent).json() for sent in (body, {**body, **dict.fromkeys(nulls)}))
        for answer in (without, with_nulls):
            if isinstance(answer, dict):
                answer.pop("id", None)
        assert without == with_nulls


def test_of_a_field_given_twice_the_last_counts(client):
    content = b'{"input": 3, "input": "a", "dimensions": 4.0}'
    assert len(client.post("/v1/embeddings", content=content).json()["data"][0]["embedding"]) == 4


@pytest.mark.parametrize("name", ["x - at `$.top_n", "`$.zzz`", "$", " - at `$[0]`", "`"])
def test_an_unknown_field_is_named_even_if_it_looks_like_a_place(name, client):
    body = {name: 1, "query": "a", "documents": ["b"]}
    response = client.post("/v1/rerank", json=body)
    assert response.status_code == 400
    assert f"the body has the unknown field {name!r}" in response.text.replace('\\"', '"')


def test_whole_numbers_may_be_written_with_a_point_at_any_depth(client):
    bodies = [{"input": ids} for ids in ([5, 6], [5.0, 6.0], [[5, 6]], [[5.0, 6]])]
    first, *others = [client.post("/v1/embeddings", json=body).json()["data"] for body in bodies]
    assert all(data == first for data in others)
    assert "got 5.5" in client.post("/v1/embeddings", json={"input": [[5.5]]}).text


def test_decode_takes_a_bounded_number_of_lists(client):
    assert client.post("/decode", json={"ids": [[5]] * 1_000}).status_code == 200
    refused = client.post("/decode", json={"ids": [[5]] * 1_001})
    assert refused.status_code in (400, 413, 422)
    assert "expected 1 to 1,000 lists; got 1,001" in refused.text


LISTS = [(path, name) for (_, path), body in GOOD.items() for name in body or {} if isinstance(body[name], list)]
LISTS += [("/embeddings", "input"), ("/rerank", "documents"), ("/embed_all", "inputs"), ("/tokenize", "inputs")]
"""Fields that may be lists, by route."""


@pytest.mark.parametrize(("path", "name"), LISTS)
def test_a_list_without_anything_in_it_is_refused(path, name, client):
    assert 400 <= client.post(path, json={**GOOD["POST", path], name: []}).status_code < 500
