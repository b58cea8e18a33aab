"""Routers: queries and documents by their own part, and everything else by the default one or refused."""

import json

import numpy as np
import pytest

from likewise import Embedder
from likewise.engines.numpy.numpy_embedder import NumpyEmbedder
from likewise.engines.routed_embedder import RoutedEmbedder
from likewise.errors import BadInput, BadModel
from likewise.model_files import read_manifest
from likewise.model_names import load_named_embedder
from likewise.search.texts.text_index import TextIndex
from likewise.serve.model_store import loader
from likewise.serve.serve_settings import ServeSettings
from tests.runtime.test_static_tables import static_folder
from tests.tiny import amend, model_folder, write

TEXTS = ["the cat", "a quick dog and the cat", "query"]
pytestmark = pytest.mark.filterwarnings("ignore:.*has the routes")


def router(folder, first="query", older=False, prompts=None, **parameters):
    """A Router of a static model for queries and a BERT for documents, whose vectors have 32 dimensions."""
    names = (first, "document")
    table = np.random.default_rng(2).normal(size=(116, 32)).astype(np.float32)
    static_folder(folder / f"{first}_0_StaticEmbedding", own=False, normalize=False, **{"embedding.weight": table})
    inner = folder / f"{first}_0_StaticEmbedding" / "0_StaticEmbedding"
    for path in inner.iterdir():
        path.rename(inner.parent / path.name)
    model_folder(folder / "document_0_Transformer", plain=True)
    write(folder / "document_1_Pooling/config.json", {"embedding_dimension": 32, "pooling_mode": "mean"})
    write(folder / "2_Normalize/config.json", {})
    structure = {names[0]: [f"{first}_0_StaticEmbedding"], "document": ["document_0_Transformer", "document_1_Pooling"]}
    types = {one: f"sentence_transformers.models.{one.rpartition('_')[2]}" for ids in structure.values() for one in ids}
    described = {"types": types, "structure": structure, "parameters": parameters}
    write(folder / ("config.json" if older else "router_config.json"), described)
    kind = "Asym" if older else "Router"
    places = [("", kind), ("2_Normalize", "Normalize")]
    rows = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{name}"}
        for i, (path, name) in enumerate(places)
    ]
    write(folder / "modules.json", rows)
    write(folder / "config_sentence_transformers.json", {"prompts": prompts or {}})
    return folder


@pytest.mark.parametrize("older", [False, True])
def test_queries_and_documents_are_encoded_by_their_own_part(older, tmp_path):
    folder = router(tmp_path, older=older, prompts={"query": "query "}, default_route="document")
    with pytest.warns(UserWarning, match="routes query, document: .* their own, and encode uses document"):
        embedder = Embedder.load(folder, engine="numpy")
    query, document = (load_named_embedder(f"{folder}(route={name})", engine="numpy") for name in embedder.routes)
    assert not np.allclose(query.encode(TEXTS), document.encode(TEXTS))
    np.testing.assert_array_equal(embedder.encode_query(TEXTS), query.encode([f"query {text}" for text in TEXTS]))
    np.testing.assert_array_equal(embedder.encode_document(TEXTS), document.encode(TEXTS))
    np.testing.assert_array_equal(embedder.encode(TEXTS), document.encode(TEXTS))
    (ours,), (theirs,) = (one.encode_chunks(["the cat. a dog."]) for one in (embedder, document))
    np.testing.assert_array_equal(ours.vectors, theirs.vectors)
    np.testing.assert_array_equal(embedder.encode_layers(TEXTS)[0], document.encode_layers(TEXTS)[0])
    assert (embedder.routes, query.routes) == (("query", "document"), ())
    assert embedder.describe() == {**document.describe(), "routes": ["query", "document"]}
    assert (embedder.dimension, embedder.is_unit, str(embedder.device)) == (32, True, "cpu")
    assert embedder.manifest == document.manifest == read_manifest(folder).routes["document"]


@pytest.mark.parametrize(("parameters", "default"), [({}, "query"), ({"allow_empty_key": False}, None)])
def test_without_a_default_the_first_route_is_it_or_none_is(parameters, default, tmp_path):
    embedder = Embedder.load(router(tmp_path, **parameters), engine="numpy")
    assert embedder.default_route == default
    part = embedder.part("query")
    if default:
        np.testing.assert_array_equal(embedder.encode(TEXTS), part.encode(TEXTS))
        return
    for call in (embedder.encode, embedder.encode_tokens):
        with pytest.raises(BadInput, match=r"routes query, document and no default route: call encode_query or"):
            call(TEXTS)
    with pytest.raises(BadInput, match="no default"):
        embedder.through_heads(np.ones((1, 32), np.float32))
    with pytest.raises(BadInput, match="no default"):
        embedder.head_weights()
    np.testing.assert_array_equal(embedder.encode_query(TEXTS), part.encode(TEXTS))


def test_the_fingerprint_changes_with_either_part_and_with_the_default(tmp_path):
    prints = [Embedder.load(router(tmp_path / "a"), engine="numpy").fingerprint]
    prints.append(Embedder.load(router(tmp_path / "b", default_route="document"), engine="numpy").fingerprint)
    folder = router(tmp_path / "c")
    model_folder(folder / "document_0_Transformer", plain=True, seed=9)
    prints.append(Embedder.load(folder, engine="numpy").fingerprint)
    folder = router(tmp_path / "d")
    amend(folder / "config_sentence_transformers.json", prompts={"query": "a "})
    prints.append(Embedder.load(folder, engine="numpy").fingerprint)
    assert len(set(prints)) == 4
    assert prints[0] == Embedder.load(tmp_path / "a", engine="numpy").fingerprint


def test_an_index_searches_documents_by_queries(tmp_path):
    embedder = Embedder.load(router(tmp_path / "m"), engine="numpy")
    with TextIndex.open(tmp_path / "index", embedder) as index:
        index.add(TEXTS, ids=[str(i) for i in range(len(TEXTS))])
        found = [hit.id for hit in index.search("the dog", k=3).passages]
    ranks = embedder.encode_query(["the dog"]) @ embedder.encode_document(TEXTS).T
    assert found == [str(i) for i in np.argsort(-ranks[0])]


def test_limits_poolings_and_options_reach_every_part(tmp_path):
    embedder = Embedder.load(router(tmp_path), engine="numpy", max_seq_length=9, truncate_dim=8)
    assert {part.max_seq_length for part in embedder.parts.values()} == {9} and embedder.dimension == 8
    embedder.max_seq_length = 5
    assert {part.max_seq_length for part in embedder.parts.values()} == {embedder.tokenizer.max_seq_length} == {5}
    embedder.part(embedder.routes[0]).max_seq_length = 7
    assert embedder.shown.max_seq_length == embedder.tokenizer.max_seq_length
    embedder.shown.max_seq_length = 6
    assert embedder.tokenizer.max_seq_length == 6
    other = embedder.with_pooling("max")
    assert isinstance(other, RoutedEmbedder) and other.pooling_weights() == {}
    assert {part.pooling.spec for part in other.parts.values()} == {"max"}


def test_a_route_is_named_to_train_save_or_serve_it(tmp_path):
    folder = router(tmp_path / "m")
    with pytest.raises(
        BadInput, match=r"is a Router, but NumpyEmbedder loads a single model; use Embedder.load\(name\).part"
    ):
        NumpyEmbedder.load(folder)
    with pytest.raises(BadInput, match=r"cannot be saved as a whole to .*part\(.query.\).save"):
        Embedder.load(folder, engine="numpy").save(tmp_path / "x")
    part = load_named_embedder(f"{folder}(route=document)", engine="numpy")
    part.save(tmp_path / "part")
    np.testing.assert_array_equal(Embedder.load(tmp_path / "part", engine="numpy").encode(TEXTS), part.encode(TEXTS))
    with pytest.raises(BadInput, match=r"serve each route under its own name: .*\(route=query\)"):
        loader(str(folder), "embedder", ServeSettings())()
    with pytest.raises(BadInput, match="no route 'passage'; its routes are query, document"):
        load_named_embedder(f"{folder}(route=passage)", engine="numpy")
    with pytest.raises(BadInput, match="no route 'query': it is not a Router"):
        load_named_embedder(f"{tmp_path / 'part'}(route=query)", engine="numpy")


def test_routes_of_other_names_are_loaded_by_them(tmp_path):
    embedder = Embedder.load(router(tmp_path, first="QRY"), engine="numpy")
    with pytest.raises(BadInput, match="no route 'query'; its routes are QRY, document"):
        embedder.encode_query(TEXTS)
    assert embedder.part("QRY").encode(TEXTS).shape == (3, 32)


BAD = {
    "no routes": ({"structure": {}}, "defines no routes"),
    "routes in a list": ({"structure": ["query"]}, "defines no routes"),
    "no types": ({"types": None}, "defines no routes"),
    "a route of nothing": ({"structure": {"query": []}}, r"describes a route by \[\]"),
    "a route of text": ({"structure": {"query": "abc"}}, "describes a route by 'abc'"),
    "a module without a type": (
        {"structure": {"query": ["3_Other"]}},
        "module '3_Other' in a route, but gives no type",
    ),
    "a module outside": ({"structure": {"q": ["../x"]}, "types": {"../x": "Transformer"}}, "outside the folder"),
    "mappings": ({"parameters": {"route_mappings": {"('a', None)": "query"}}}, "route_mappings = .*expected none"),
    "an unknown default": ({"parameters": {"default_route": "x"}}, "default_route = 'x'; expected one of query, doc"),
    "a Router in a route": ({"structure": {"q": ["a"]}, "types": {"a": "Router"}}, "begins with Router"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_broken_router_is_refused_with_its_file(case, tmp_path):
    change, message = BAD[case]
    amend(router(tmp_path) / "router_config.json", **change)
    with pytest.raises(BadModel, match=message) as refusal:
        Embedder.load(tmp_path, engine="numpy")
    assert str(tmp_path) in str(refusal.value)


def test_a_router_without_its_file_or_of_parts_that_do_not_fit_is_refused(tmp_path):
    folder = router(tmp_path)
    described = json.loads((folder / "router_config.json").read_text())
    model_folder(folder / "document_0_Transformer", plain=True, changes={"hidden_size": 16})
    with pytest.raises(BadModel, match="different dimensions: {'query': 32, 'document': 16}"):
        Embedder.load(folder, engine="numpy")
    (folder / "router_config.json").unlink()
    with pytest.raises(BadModel, match=r"config.json is missing, and modules.json names a Router there"):
        Embedder.load(folder, engine="numpy")
    assert described["structure"]
