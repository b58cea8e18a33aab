"""The drop-in's CrossEncoder gives the reranker's scores, in sentence-transformers' types and shapes."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from likewise.arrays.activations import sigmoid, softmax
from likewise.errors import BadInput
from likewise.integrations.sentence_transformers import CrossEncoder
from tests.tiny import LONG, classifier_folder

PAIRS = [["a cat", "the dog"], ["x", LONG], ["the quick dog", "cat"], ["a cat", "the dog"]]


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    return CrossEncoder(str(classifier_folder(tmp_path_factory.mktemp("one"))), device="cpu")


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    return CrossEncoder(str(classifier_folder(tmp_path_factory.mktemp("three"), labels=3)), device="cpu")


def _logits(model, **how):
    return model.reranker.logits(PAIRS, overflow="truncate", **how)


def test_one_label_gives_a_score_a_pair_by_the_sigmoid(single):
    scores = single.predict(PAIRS)
    assert scores.shape == (4,) and scores.dtype == np.float32 and single.num_labels == 1
    np.testing.assert_allclose(scores, sigmoid(_logits(single))[:, 0], atol=1e-7)
    np.testing.assert_allclose(single.predict(PAIRS[0]), scores[0], atol=2e-6)
    np.testing.assert_array_equal(single.predict(np.array(PAIRS, object)), scores)
    np.testing.assert_array_equal(single.predict(sentences=PAIRS, num_workers=2), scores)
    assert single.is_singular_input(PAIRS[0]) and not single.is_singular_input(PAIRS)
    np.testing.assert_array_equal(single.predict(PAIRS, apply_softmax=True), scores)
    np.testing.assert_allclose(single.predict(PAIRS, activation_fn=lambda x: x[:, 0].sigmoid()), scores, atol=1e-7)


def test_a_prompt_is_a_text_or_a_name(tmp_path):
    model = CrossEncoder(str(classifier_folder(tmp_path)), device="cpu", prompts={"query": "the "})
    expected = _logits(model, prompt="the ")[:, 0]
    for how in ({"prompt": "the "}, {"prompt_name": "query"}):
        np.testing.assert_array_equal(model.predict(PAIRS, activation_fn="identity", **how), expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0"),
        ({"chunk_size": 0}, "chunk_size is 0"),
        ({"pool": {}}, "the return value of start_multi_process_pool"),
        ({"zzz": 1}, r"CrossEncoder\.predict\(\) .* not use: \['zzz'\]"),
    ],
)
def test_an_option_of_a_call_is_refused(single, options, message):
    with pytest.raises(BadInput, match=message):
        single.predict(PAIRS, **options)


def test_several_labels_give_a_row_of_logits_or_of_probabilities(several):
    assert several.num_labels == 3
    np.testing.assert_array_equal(several.predict(PAIRS), _logits(several))
    np.testing.assert_allclose(several.predict(PAIRS, apply_softmax=True), softmax(_logits(several)), atol=1e-7)
    assert several.predict([], apply_softmax=True).shape == (0,)


@pytest.mark.parametrize("activation", ["identity", "torch.nn.modules.linear.Identity", torch.nn.Identity()])
def test_an_activation_is_a_name_or_a_function(single, activation):
    np.testing.assert_array_equal(single.predict(PAIRS, activation_fn=activation), _logits(single)[:, 0])
    np.testing.assert_array_equal(single.predict(PAIRS, activation_fct=activation), _logits(single)[:, 0])


def test_an_activation_that_torch_alone_has_is_used_by_its_name(single):
    expected = torch.nn.functional.softplus(torch.from_numpy(_logits(single)))[:, 0]
    np.testing.assert_allclose(single.predict(PAIRS, activation_fn="torch.nn.Softplus"), expected, atol=1e-6)
    for name in ("zzz", "Softplus", "torch.nn.zzz"):
        known = "expected a function or one of GELU, ReLU, Tanh, Identity"
        with pytest.raises(BadInput, match=f"activation_fn is '{name}'; {known}"):
            single.predict(PAIRS, activation_fn=name)


def test_the_type_of_the_result_is_the_one_asked_for(single):
    scores = single.predict(PAIRS)
    np.testing.assert_array_equal(single.predict(PAIRS, convert_to_tensor=True).numpy(), scores)
    listed = single.predict(PAIRS, convert_to_numpy=False)
    assert isinstance(listed, list) and torch.stack(listed).tolist() == scores.tolist()
    assert single.predict([]).shape == (0,) and single.predict([], convert_to_tensor=True).shape == (0,)


def test_documents_are_ranked_best_first(single):
    documents = ["the dog", "a cat", "x", "1 2 3"]
    scores = single.predict([["a cat", document] for document in documents])
    ranked = single.rank("a cat", documents, return_documents=True)
    assert [row["corpus_id"] for row in ranked] == np.argsort(-scores, kind="stable").tolist()
    assert [row["text"] for row in ranked] == [documents[row["corpus_id"]] for row in ranked]
    np.testing.assert_allclose([row["score"] for row in ranked], np.sort(scores)[::-1], atol=2e-6)
    assert single.rank("a cat", documents, top_k=2) == [
        {k: row[k] for k in ("corpus_id", "score")} for row in ranked[:2]
    ]


def test_several_labels_are_not_ranked(several):
    with pytest.raises(BadInput, match="only works for models with num_labels=1"):
        several.rank("a cat", ["the dog"])


def test_the_longest_pair_is_read_and_set(tmp_path):
    model = CrossEncoder(str(classifier_folder(tmp_path)), max_length=20)
    assert model.max_length == model.max_seq_length == 20
    for pair in (("a cat", LONG), (LONG, "a cat"), (LONG, LONG)):
        assert model.tokenize([pair])["input_ids"].shape == (1, 20)
    before = model.predict([["a cat", LONG]])
    model.max_length = 12
    expected = CrossEncoder(str(tmp_path), max_length=12).predict([["a cat", LONG]])
    np.testing.assert_allclose(model.predict([["a cat", LONG]]), expected, atol=2e-6)
    assert not np.allclose(before, expected, atol=1e-7)


def test_what_is_no_pair_and_labels_that_are_not_there_are_refused(single, tmp_path):
    for wrong in ("a cat", {"a": "b"}, ["a", "b", "c"], [["a", "b", "c"]]):
        with pytest.raises(BadInput, match="pair|expected two texts"):
            single.predict(wrong)
    with pytest.raises(BadInput, match="; expected pairs of texts$"):
        single.predict(np.array([PAIRS], object))
    with pytest.raises(BadInput, match=r"num_labels=5; likewise\.Reranker\.start"):
        CrossEncoder(single.reranker, num_labels=5)
    assert CrossEncoder(single.reranker, num_labels=1).predict(PAIRS).tolist() == single.predict(PAIRS).tolist()


def test_a_saved_model_scores_as_before(single, tmp_path):
    single.save_pretrained(str(tmp_path / "saved"))
    np.testing.assert_allclose(CrossEncoder(str(tmp_path / "saved")).predict(PAIRS), single.predict(PAIRS), atol=2e-6)


def test_the_activation_is_a_module_of_torch_and_can_be_set(single):
    assert isinstance(single.activation_fn, torch.nn.Sigmoid)
    other = deepcopy(single)
    other.activation_fn = "identity"
    assert isinstance(other.default_activation_function, torch.nn.Identity)
    np.testing.assert_array_equal(other.predict(PAIRS), _logits(single)[:, 0])
    with pytest.raises(BadInput, match="activation_fn is 'zzz'"):
        other.activation_fn = "zzz"
