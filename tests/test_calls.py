"""What calls of embedders and rerankers take, refuse and return, whatever computes them."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import likewise
import likewise.train
from likewise import Embedder, Reranker, similarity
from likewise.engine_registry import ENGINES
from likewise.errors import BadInput, BadModel
from tests.tiny import TEXTS, classifier_folder

pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.fixture(params=ENGINES)
def embedder(request, folders):
    return Embedder.load(folders("bert"), engine=request.param)


@pytest.fixture(scope="module")
def reranker(tmp_path_factory):
    return Reranker.load(classifier_folder(tmp_path_factory.mktemp("classifier")), engine="torch")


def test_options_and_attributes_that_there_are_not_are_pythons_own_errors(embedder, reranker):
    for call in (embedder.encode, embedder.encode_stream, embedder.encode_query, reranker.rank):
        texts = ("a cat", TEXTS) if call == reranker.rank else (TEXTS,)
        with pytest.raises(TypeError, match="unexpected keyword argument 'promt'"):
            call(*texts, promt="query: ")
    with pytest.raises(TypeError, match="unexpected keyword argument 'lr'"):
        likewise.train.TrainSettings(lr=1)


def test_other_attributes_are_missing_as_ever_and_can_be_set(embedder, reranker):
    for model in (embedder, reranker):
        with pytest.raises(AttributeError, match="no attribute 'zzz'"):
            _ = model.zzz
        model.zzz = 3
        assert model.zzz == 3
        del model.zzz


def test_the_class_is_not_called_and_texts_are_encoded_by_encode(embedder):
    with pytest.raises(BadInput, match=r"Embedder\.load\('all-MiniLM-L6-v2'\)"):
        Embedder("all-MiniLM-L6-v2")
    with pytest.raises(BadInput, match=r"embedder\.encode\(texts\)"):
        embedder(["a cat"])


def test_vectors_can_be_normalised_where_the_model_does_not(own):
    plain = Embedder.load(own(heads=()))
    vectors = plain.encode(TEXTS)
    unit = plain.encode(TEXTS, normalize_embeddings=True)
    assert not np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-2)
    np.testing.assert_allclose(unit, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), atol=1e-6)
    np.testing.assert_array_equal(np.concatenate([*plain.encode_stream(TEXTS, normalize_embeddings=True)]), unit)


def test_a_tensor_is_the_array(embedder):
    tensor = embedder.encode_tensor(TEXTS, normalize_embeddings=True)
    assert isinstance(tensor, torch.Tensor) and str(tensor.device) == str(embedder.device)
    np.testing.assert_array_equal(tensor.numpy(), embedder.encode(TEXTS, normalize_embeddings=True))


def test_the_maximum_length_is_read_and_set(folders, embedder):
    whole = embedder.max_seq_length
    long = ["cat dog " * 40]
    embedder.max_seq_length = 9
    assert embedder.max_seq_length == 9
    np.testing.assert_array_equal(
        embedder.encode(long, overflow="truncate"),
        Embedder.load(folders("bert"), engine=_engine(embedder), max_seq_length=9).encode(long, overflow="truncate"),
    )
    with pytest.raises(BadInput, match="max_seq_length is 100000; this encoder reads 1 to"):
        embedder.max_seq_length = 100_000
    with pytest.raises(BadModel, match="max_seq_length is 2, but 2 special tokens leave no room for text"):
        embedder.max_seq_length = 2
    assert embedder.max_seq_length == 9
    embedder.max_seq_length = whole


def _engine(embedder: Embedder) -> str:
    return next(name for name, engine in ENGINES.items() if engine.model_class("embedder") is type(embedder))


@pytest.mark.parametrize("name", ["document", "passage", "corpus"])
def test_queries_and_documents_are_encoded_under_their_prompts(own, name):
    prompted = Embedder.load(own(spoken={"prompts": {"query": "the ", name: "a "}}))
    np.testing.assert_array_equal(prompted.encode_query(TEXTS), prompted.encode(TEXTS, prompt_name="query"))
    np.testing.assert_array_equal(prompted.encode_document(TEXTS), prompted.encode(TEXTS, prompt_name=name))
    np.testing.assert_array_equal(prompted.encode_query(TEXTS, prompt="dog "), prompted.encode(TEXTS, prompt="dog "))


def test_without_prompts_for_roles_all_are_encoded_alike(embedder):
    np.testing.assert_array_equal(embedder.encode_query(TEXTS), embedder.encode(TEXTS))
    np.testing.assert_array_equal(embedder.encode_document(TEXTS), embedder.encode(TEXTS))


def test_pairs_of_texts_have_their_similarity(embedder):
    first, second = TEXTS[:2], TEXTS[2:4]
    vectors = embedder.encode(first), embedder.encode(second)
    np.testing.assert_allclose(embedder.pair_scores(first, second), similarity.cosine(*vectors).diagonal(), atol=1e-6)
    with pytest.raises(BadInput, match="similarity is 'spherical'; expected one of cosine"):
        embedder.pair_scores(first, second, similarity="spherical")
    with pytest.raises(BadInput, match="expected the same number"):
        embedder.pair_scores(first, second[:1])
    streamed = embedder.pair_scores(iter(first), iter(second))
    np.testing.assert_array_equal(streamed, embedder.pair_scores(first, second))
    with pytest.raises(BadInput, match="first is 'A cat' .str.; expected a list of texts"):
        embedder.pair_scores("A cat", "A dog")


def test_rank_returns_documents_where_asked(reranker):
    plain = reranker.rank("a cat", TEXTS, k=3)
    assert reranker.rank("a cat", TEXTS, k=3, return_documents=True) == [(i, s, TEXTS[i]) for i, s in plain]
    np.testing.assert_array_equal(reranker.pair_scores(TEXTS[:2], TEXTS[2:4]), reranker.score(TEXTS[:2], TEXTS[2:4]))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_one_sentence(folders):
    with pytest.raises(BadInput, match="the device 'cuda' cannot be used on this machine") as torchs:
        Embedder.load(folders("bert"), device="cuda")
    with pytest.raises(BadInput, match="device is 'cuda'; the NumPy engine supports 'cpu' only"):
        Embedder.load(folders("bert"), device="cuda", engine="numpy")
    assert "\n" not in str(torchs.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_model_that_is_moved_to_a_gpu_that_is_not_there_says_so_in_one_sentence(tiny, reranker):
    for model in (tiny, reranker):
        for move in (lambda m: m.to("cuda"), lambda m: m.to(device=torch.device("cuda")), lambda m: m.cuda()):
            with pytest.raises(BadInput, match="the device 'cuda' cannot be used on this machine"):
                move(model)
        with pytest.raises(BadInput, match="unknown device 'graphics'; expected cpu, cuda"):
            model.to("graphics")
        assert model.to("cpu") is model and model.to(torch.float32) is model


@pytest.mark.parametrize("torch_is_there", [True, False])
def test_help_of_the_package_is_shown_with_or_without_torch(torch_is_there):
    hidden = "" if torch_is_there else "import sys; sys.modules['torch'] = None; "
    done = subprocess.run(
        [sys.executable, "-c", f"{hidden}import pydoc, likewise; print(pydoc.plain(pydoc.render_doc(likewise)))"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "encode_query" in done.stdout and "rank(self" in done.stdout
