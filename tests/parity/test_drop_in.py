"""The drop-in beside sentence-transformers: its signatures, its results, and what the page of both says."""

import inspect
import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import sentence_transformers as theirs
import torch
from sentence_transformers import util as their_util
from sentence_transformers.cross_encoder import losses as pair_losses
from sentence_transformers.multi_vector_encoder import losses as token_losses
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sparse_encoder import losses as sparse_losses

from benchmarks.peer_tests.__main__ import RESULT, not_served
from likewise.integrations import sentence_transformers as ours
from likewise.integrations.sentence_transformers import util
from likewise.model_files import locate
from likewise.train.objectives import OBJECTIVES
from likewise.train.objectives.registry import RERANKER_OBJECTIVES
from tests.tiny import classifier_folder

PAGE = (Path(__file__).parents[2] / "docs" / "moving-from-sentence-transformers.md").read_text("utf-8")
METHODS = {
    "SentenceTransformer": (
        "__init__ encode encode_query encode_document encode_multi_process similarity similarity_pairwise "
        "truncate_embeddings truncate_sentence_embeddings start_multi_process_pool stop_multi_process_pool "
        "preprocess tokenize save evaluate"
    ),
    "CrossEncoder": "__init__ predict rank",
}
FUNCTIONS = [
    name
    for name in their_util.__all__
    if inspect.isfunction(getattr(util, name, None)) and name != "information_retrieval" and name[0] != "_"
]


def shape(function):
    """Names, kinds and defaults of the parameters, by which calls are made."""
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


def plain(parameters):
    """A function as a default is compared by its name."""
    return [(name, kind, getattr(default, "__name__", default)) for name, kind, default in parameters]


@pytest.mark.parametrize(
    ("kind", "method"), [(kind, method) for kind, methods in METHODS.items() for method in methods.split()]
)
def test_a_method_has_the_signature_of_theirs(kind, method):
    assert shape(getattr(getattr(ours, kind), method)) == shape(getattr(getattr(theirs, kind), method))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_util_has_the_signature_of_theirs(name):
    assert plain(shape(getattr(util, name))) == plain(shape(getattr(their_util, name)))


def test_what_is_not_served_is_what_the_page_lists():
    assert not_served() == json.loads(RESULT.read_text("utf-8"))["not served"]


@pytest.fixture(scope="module")
def models():
    folder = str(locate("all-MiniLM-L6-v2"))
    return ours.SentenceTransformer(folder, device="cpu"), theirs.SentenceTransformer(folder, device="cpu")


@pytest.fixture(scope="module")
def texts(data):
    sentences = pq.read_table(data / "stsb/test.parquet", columns=["sentence1"])["sentence1"].to_pylist()
    return list(dict.fromkeys(sentences))[:300]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"convert_to_tensor": True},
        {"normalize_embeddings": True, "truncate_dim": 100},
        {"prompt": "query: "},
        {"precision": "ubinary"},
    ],
    ids=str,
)
def test_vectors_are_theirs_and_of_their_type(models, texts, options):
    our, their = (model.encode(texts, **options) for model in models)
    assert type(our) is type(their) and our.dtype == their.dtype and our.shape == their.shape
    if "precision" not in options:
        np.testing.assert_allclose(our, their, atol=2e-6)
    else:
        differ = np.unpackbits(our ^ their).mean()
        assert differ < 1e-4  # a sign next to zero


@pytest.mark.parametrize(
    "name", ["cos_sim", "dot_score", "manhattan_sim", "pairwise_cos_sim", "pairwise_euclidean_sim"]
)
def test_similarities_are_theirs(models, texts, name):
    vectors = models[1].encode(texts[:50])
    our, their = (getattr(module, name)(vectors, vectors[::-1].copy()) for module in (util, their_util))
    assert type(our) is type(their) and our.dtype == their.dtype
    np.testing.assert_allclose(our, their, atol=2e-6)


def test_searches_pairs_and_communities_are_theirs(models, texts):
    vectors = models[1].encode(texts, convert_to_tensor=True)
    found = [module.semantic_search(vectors[:20], vectors, top_k=5) for module in (util, their_util)]
    scores = [[[hit["score"] for hit in hits] for hits in one] for one in found]  # of equal ones theirs is any
    np.testing.assert_allclose(scores[0], scores[1], atol=2e-6)
    pairs = [module.paraphrase_mining_embeddings(vectors, top_k=5, max_pairs=100) for module in (util, their_util)]
    np.testing.assert_allclose([p[0] for p in pairs[0]], [p[0] for p in pairs[1]], atol=2e-6)
    assert {tuple(p[1:]) for p in pairs[0]} == {tuple(p[1:]) for p in pairs[1]}
    groups = [module.community_detection(vectors, threshold=0.5, min_community_size=3) for module in (util, their_util)]
    assert [set(group) for group in groups[0]] == [set(group) for group in groups[1]] and groups[0]


def test_quantized_bytes_are_theirs(models, texts):
    vectors = models[1].encode(texts)
    for precision in ("int8", "uint8", "binary", "ubinary"):
        np.testing.assert_array_equal(
            util.quantize_embeddings(vectors, precision), their_util.quantize_embeddings(vectors, precision)
        )


@pytest.mark.parametrize("labels", [1, 3])
def test_scores_are_theirs(tmp_path, labels, texts):
    folder = str(classifier_folder(tmp_path, labels=labels, architectures=["BertForSequenceClassification"]))
    our, their = (library.CrossEncoder(folder, device="cpu", max_length=60) for library in (ours, theirs))
    pairs = list(zip(texts[:40], texts[40:80], strict=True))
    for options in ({}, {"apply_softmax": True}, {"activation_fn": torch.nn.Identity(), "convert_to_tensor": True}):
        results = our.predict(pairs, **options), their.predict(pairs, **options)
        assert type(results[0]) is type(results[1]) and results[0].shape == results[1].shape
        np.testing.assert_allclose(*results, atol=2e-6)
    if labels == 1:
        ranked = [model.rank(texts[0], texts[1:9], return_documents=True) for model in (our, their)]
        assert [row["corpus_id"] for row in ranked[0]] == [row["corpus_id"] for row in ranked[1]]
        assert [row.keys() for row in ranked[0]] == [row.keys() for row in ranked[1]]


def rows(heading: str) -> dict[str, list[str]]:
    """The cells of a table on the page by each name in its first cell, without the marks of code."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    cells = [
        [cell.strip().strip("`") for cell in line.strip("|").split(" | ")]
        for line in section.splitlines()
        if line.startswith("| `")
    ]
    return {name.strip("`| "): row[1:] for row in cells for name in row[0].split(", ")}


def test_the_page_has_every_parameter():
    for heading, function in (
        ("`encode`", theirs.SentenceTransformer.encode),
        ("`predict` and `rank`", theirs.CrossEncoder.predict),
        ("Loading a model", theirs.SentenceTransformer.__init__),
        ("Loading a CrossEncoder", theirs.CrossEncoder.__init__),
    ):
        wanted = {p for p in inspect.signature(function).parameters if p not in ("self", "kwargs")}
        assert not wanted - set(rows(heading)), heading
    assert not set(inspect.signature(theirs.CrossEncoder.rank).parameters) - {"self", *rows("`predict` and `rank`")}


def test_the_page_has_every_loss_and_the_objectives_that_there_are():
    for heading, module, table in (
        ("Losses", losses, OBJECTIVES),
        ("Losses of CrossEncoder", pair_losses, RERANKER_OBJECTIVES),
        ("Losses of SparseEncoder", sparse_losses, OBJECTIVES),
        ("Losses of MultiVectorEncoder", token_losses, OBJECTIVES),
    ):
        found = rows(heading)
        notes = " ".join(row[-1] for row in found.values())
        assert not {name for name in module.__all__ if name not in notes} - set(found), heading
        assert not set(found) - {*module.__all__}, heading
        named = {spec for row in found.values() for spec in re.findall(r"^([a-z-]+)", row[0])}
        assert named and not named - set(table), heading


def test_the_page_has_every_name_of_util():
    found = set(rows("`util`")) - {"util"}  # the heading of its column
    wanted = {name for name in their_util.__all__ if not name.startswith("_")}
    assert wanted - found <= {*not_served()["util"]}  # helpers of training and of files, which have no counterpart
    assert not {name for name in found if not hasattr(their_util, name)}
