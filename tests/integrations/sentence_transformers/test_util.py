"""`util` beside slow, obvious references; tensors in, tensors out, with their gradient."""

import heapq
import logging
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from likewise import similarity
from likewise.arrays.similarity import PAIRWISE, SIMILARITIES
from likewise.errors import BadInput
from likewise.integrations.sentence_transformers import util

TABLES = {
    "cosine": util.cos_sim,
    "dot": util.dot_score,
    "euclidean": util.euclidean_sim,
    "manhattan": util.manhattan_sim,
}
ROWS = {
    "cosine": util.pairwise_cos_sim,
    "dot": util.pairwise_dot_score,
    "euclidean": util.pairwise_euclidean_sim,
    "manhattan": util.pairwise_manhattan_sim,
}
VECTORS = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy, list], ids=["array", "tensor", "list"])
def test_similarities_are_those_of_likewise_as_tensors(name, kind):
    a, b = VECTORS[:7], VECTORS[7:14]
    table, rows = TABLES[name](kind(a), kind(b)), ROWS[name](kind(a), kind(b))
    assert isinstance(table, torch.Tensor) and isinstance(rows, torch.Tensor)
    np.testing.assert_allclose(table, SIMILARITIES[name](a, b), atol=2e-6)
    np.testing.assert_allclose(rows, PAIRWISE[name](a, b), atol=2e-6)


@pytest.mark.parametrize("name", TABLES)
def test_gradients_and_types_pass_through(name):
    a = torch.from_numpy(VECTORS[:3].astype(np.float64)).requires_grad_()
    TABLES[name](a, a.detach()[1:]).sum().backward()
    assert a.grad.dtype == torch.float64 and a.grad.isfinite().all()
    assert TABLES[name](a.half(), a.half()).dtype == torch.float32  # half precision makes scores equal


@pytest.mark.parametrize("name", TABLES)
def test_without_torch_results_are_arrays_of_the_same_numbers(name, monkeypatch):
    a, b = VECTORS[:7], VECTORS[7:14]
    expected = [TABLES[name](a, b), ROWS[name](a, b), ROWS[name](a[0], b[0])]
    lengths = [util.normalize_embeddings(a), util.normalize_embeddings(a[0])]
    monkeypatch.setattr(util, "has_torch", lambda: False)
    found = [TABLES[name](a, b), ROWS[name](a, b), ROWS[name](a[0], b[0])]
    for one, other in zip(
        [*found, util.normalize_embeddings(a), util.normalize_embeddings(a[0])], [*expected, *lengths], strict=True
    ):
        assert isinstance(one, np.ndarray) and one.shape == tuple(other.shape)
        np.testing.assert_allclose(one, other, atol=2e-6)
    for kind, wider in ((np.float16, np.float32), (np.float64, np.float64)):
        assert util.at_least_float32(a.astype(kind)).dtype == wider


def test_one_vector_is_a_table_of_one_row():
    assert util.cos_sim(VECTORS[0], VECTORS).shape == (1, 60)
    assert util.pairwise_cos_sim(VECTORS[0], VECTORS[0]).item() == pytest.approx(1)
    np.testing.assert_allclose(
        util.normalize_embeddings(torch.from_numpy(VECTORS)), similarity.unit(VECTORS), atol=1e-6
    )


@given(k=st.integers(1, 70), metric=st.sampled_from(sorted(TABLES)))
def test_semantic_search_finds_the_best_rows(k, metric):
    scores = SIMILARITIES[metric](VECTORS[:4], VECTORS)
    for row, hits in zip(
        scores, util.semantic_search(VECTORS[:4], VECTORS, top_k=k, score_function=TABLES[metric]), strict=True
    ):
        assert [hit["corpus_id"] for hit in hits] == np.argsort(-row, kind="stable")[:k].tolist()
        np.testing.assert_allclose([hit["score"] for hit in hits], np.sort(row)[::-1][:k], atol=2e-6)


def test_semantic_search_takes_a_function_of_the_callers_own():
    queries, corpus = torch.from_numpy(VECTORS[:4]), torch.from_numpy(VECTORS)
    found = util.semantic_search(queries, corpus, top_k=3, score_function=lambda a, b: -(a[:, None] - b).abs().amax(-1))
    expected = [np.argsort(np.abs(q - VECTORS).max(1), kind="stable")[:3].tolist() for q in VECTORS[:4]]
    assert [[hit["corpus_id"] for hit in hits] for hits in found] == expected
    assert util.information_retrieval(queries[0], corpus, top_k=1) == [[{"corpus_id": 0, "score": pytest.approx(1)}]]
    bad = torch.full((2, 8), float("nan"))
    with pytest.raises(BadInput, match="NaN"):
        util.semantic_search(bad, corpus, score_function=lambda a, b: a @ b.T)


def _mined(scores: np.ndarray, top_k: int, max_pairs: int) -> list[list[float]]:
    """Every pair in the neighbourhood of one of its rows, the best first."""
    near = [
        set(sorted((j for j in range(len(scores)) if j != i), key=lambda j: -row[j])[:top_k])
        for i, row in enumerate(scores)
    ]
    pairs = [(scores[i, j], i, j) for i, j in combinations(range(len(scores)), 2) if j in near[i] or i in near[j]]
    return [list(pair) for pair in heapq.nlargest(max_pairs, pairs)]


@given(top_k=st.integers(1, 8), max_pairs=st.integers(1, 200))
def test_paraphrases_are_the_best_pairs_of_neighbours(top_k, max_pairs):
    expected = _mined(similarity.cosine(VECTORS, VECTORS), top_k, max_pairs)
    found = util.paraphrase_mining_embeddings(VECTORS, top_k=top_k, max_pairs=max_pairs)
    assert [pair[1:] for pair in found] == [pair[1:] for pair in expected]
    np.testing.assert_allclose([pair[0] for pair in found], [pair[0] for pair in expected], atol=2e-6)


def test_paraphrases_of_texts_are_those_of_their_vectors():
    class Model:
        def encode(self, texts, **options):
            assert options["batch_size"] == 4 and options["prompt"] == "p"
            return VECTORS[: len(texts)]

    texts = ["x"] * 9
    found = util.paraphrase_mining(Model(), texts, batch_size=4, prompt="p", top_k=2)
    assert found == util.paraphrase_mining_embeddings(VECTORS[:9], top_k=2)
    assert util.paraphrase_mining_embeddings(np.empty((0, 4), np.float32)) == []
    own = util.paraphrase_mining_embeddings(VECTORS, top_k=2, score_function=lambda a, b: util.cos_sim(a, b))
    assert [pair[1:] for pair in own] == [pair[1:] for pair in util.paraphrase_mining_embeddings(VECTORS, top_k=2)]


def test_communities_are_groups_around_a_centre():
    centres = np.eye(3, 8, dtype=np.float32)
    vectors = np.concatenate([centres[[0]].repeat(5, 0), centres[[1]].repeat(3, 0), centres[[2]]]) + VECTORS[:9] * 1e-3
    assert [sorted(g) for g in util.community_detection(vectors, threshold=0.9, min_community_size=3)] == [
        [0, 1, 2, 3, 4],
        [5, 6, 7],
    ]
    assert util.community_detection(torch.from_numpy(vectors), min_community_size=10) == []
    assert (
        util.community_detection([]) == []
        and util.community_detection(vectors, threshold=1.5, min_community_size=1) == []
    )
    assert len(util.community_detection(vectors, threshold=-2, min_community_size=1)) == 1


@given(arrays(np.float32, (6, 11), elements=st.floats(-5, 5, width=16)))
def test_binary_has_the_signs_and_int8_the_place_in_the_range(vectors):
    bits = np.unpackbits(util.quantize_embeddings(vectors, "ubinary"), axis=1)[:, :11]
    np.testing.assert_array_equal(bits, vectors > 0)
    shifted = util.quantize_embeddings(vectors, "binary").astype(int) + 128
    np.testing.assert_array_equal(shifted, util.quantize_embeddings(vectors, "ubinary"))
    ranges = np.stack([np.full(11, -5.0), np.full(11, 5.0)])
    codes = util.quantize_embeddings(vectors, "uint8", ranges=ranges)
    np.testing.assert_array_equal(codes.astype(int) - 128, util.quantize_embeddings(vectors, "int8", ranges=ranges))
    assert np.abs(codes.astype(int) * 10 / 255 - 5 - vectors).max() <= 10 / 255 + 1e-5


def test_quantization_refuses_what_has_no_range():
    with pytest.raises(BadInput, match="ranges from a single embedding"):
        util.quantize_embeddings(VECTORS[:1], "int8")
    with pytest.raises(BadInput, match="expected unquantized floating-point numbers"):
        util.quantize_embeddings(np.ones((3, 4), np.int8), "binary")
    with pytest.raises(BadInput, match="Precision 'int4' is not supported; expected one of"):
        util.quantize_embeddings(VECTORS, "int4")
    with pytest.raises(BadInput, match=r"ranges have shape \(2, 3\); expected \(2, 8\)"):
        util.quantize_embeddings(VECTORS, "int8", ranges=np.ones((2, 3)))
    calibrated = util.quantize_embeddings(VECTORS[:1], "uint8", calibration_embeddings=VECTORS)
    np.testing.assert_array_equal(calibrated, util.quantize_embeddings(VECTORS, "uint8")[:1])


@pytest.mark.parametrize("count", [2, 99, 100])
def test_without_ranges_they_are_those_of_the_vectors_and_of_few_a_warning_is_logged(count, caplog):
    vectors = np.random.default_rng(0).normal(size=(count, 5)).astype(np.float32)
    vectors[:, 2] = 3
    with caplog.at_level(logging.WARNING, "sentence_transformers"):
        codes = util.quantize_embeddings(torch.from_numpy(vectors), "uint8")
    lowest, highest = vectors.min(0), vectors.max(0)
    step = np.where(highest > lowest, highest - lowest, np.float32(255)) / np.float32(255)
    assert np.abs(codes - np.floor((vectors - lowest) / step)).max() <= 1 and not codes[:, 2].any()
    assert codes.dtype == np.uint8 and {codes[:, 0].min(), codes[:, 0].max()} <= {0, 254, 255}
    assert np.array_equal(util.quantize_embeddings(vectors, "int8").astype(int) + 128, codes)
    assert ("come from only" in caplog.text) is (count < 100)
    beyond = np.stack([lowest - 9, highest + 9])
    assert util.quantize_embeddings(beyond, "uint8", calibration_embeddings=vectors)[:, 0].tolist() == [0, 255]


def test_no_vectors_are_quantized_to_none(caplog):
    assert util.quantize_embeddings([], "int8").shape == (0, 0)
    assert util.quantize_embeddings(np.empty((0, 9), np.float32), "uint8").shape == (0, 9) and not caplog.text
    assert util.quantize_embeddings(np.ones(9, np.float64), "float32").dtype == np.float32
    assert util.quantize_embeddings(np.ones(9), "ubinary").tolist() == [255, 128]
    assert util.quantize_embeddings(np.ones(9), "binary").tolist() == [127, 0]


def test_numbers_in_any_form_are_tensors_and_arrays():
    rows = [[1.0, 2.0], [3.0, 4.0]]
    forms = [rows, np.array(rows), torch.tensor(rows), list(torch.tensor(rows)), list(np.array(rows))]
    forms += [torch.tensor(rows).to_sparse(), torch.tensor(rows, requires_grad=True), torch.tensor(rows).bfloat16()]
    forms += [rows_of(rows[:1]) for rows_of in (list, np.array, torch.tensor)]
    forms += [list(torch.tensor(rows[:1])), list(np.array(rows[:1]))]
    for form in forms:
        tensor, array = util.as_tensor(form), util.as_array(form)
        assert isinstance(tensor, torch.Tensor) and tensor.tolist() == rows[: len(form)]
        assert isinstance(array, np.ndarray) and array.tolist() == rows[: len(form)]
    frozen = np.array(rows)
    frozen.flags.writeable = False
    util.as_tensor(frozen)[0, 0] = 9
    assert frozen[0, 0] == 1
    shared = np.array(rows)
    util.as_tensor(shared)[0, 0] = 9
    assert shared[0, 0] == 9
    assert util.as_array(torch.ones(2, dtype=torch.bfloat16)).dtype == np.float32


@pytest.mark.parametrize("option", ["query_chunk_size", "corpus_chunk_size", "top_k", "max_pairs"])
def test_sizes_below_1_are_refused(option):
    with pytest.raises(BadInput, match=option):
        util.paraphrase_mining_embeddings(VECTORS, **{option: 0})
    if option != "max_pairs":
        with pytest.raises(BadInput, match=option):
            util.semantic_search(VECTORS, VECTORS, **{option: 0})
        assert util.semantic_search(VECTORS[:1], VECTORS, **{option: 1})
    assert util.paraphrase_mining_embeddings(VECTORS, **{option: 1})


def test_a_threshold_of_one_finds_copies_and_groups_have_the_least_size_asked_for():
    copies = np.eye(3, 8, dtype=np.float32)[[0, 1, 0, 1, 0]]
    assert [sorted(group) for group in util.community_detection(copies, 1.0, 2)] == [[0, 2, 4], [1, 3]]
    assert [sorted(group) for group in util.community_detection(copies, 1.0, 3)] == [[0, 2, 4]]
    assert [sorted(group) for group in util.community_detection(copies, 1.0, 0)] == [[0, 2, 4], [1, 3]]
    assert util.community_detection(copies[:1], 1.0, 0) == [[0]]
    with pytest.raises(BadInput, match="batch_size"):
        util.community_detection(copies, batch_size=0)


def test_similarities_are_found_by_name():
    assert util.SimilarityFunction.possible_values() == ["cosine", "dot", "euclidean", "manhattan"]
    for name, function in TABLES.items():
        assert util.SimilarityFunction.to_similarity_fn(name) is function
        assert util.SimilarityFunction.to_similarity_pairwise_fn(util.SimilarityFunction(name)) is ROWS[name]


@pytest.mark.parametrize(("cuda", "mps", "name"), [(True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")])
def test_the_default_device_is_the_fastest_that_is_there(cuda, mps, name, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert util.get_device_name() == name


def test_small_things_are_there():
    assert util.truncate_embeddings(VECTORS, 3).shape == (60, 3)
    batch = {"a": torch.ones(2), "b": "c"}
    assert util.batch_to_device(batch, "meta") is batch and batch["a"].device.type == "meta" and batch["b"] == "c"
    assert util._convert_to_batch(torch.ones(3)).shape == (1, 3)
