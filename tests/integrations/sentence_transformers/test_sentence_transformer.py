"""The drop-in's SentenceTransformer gives its embedder's vectors, in sentence-transformers' types and shapes."""

import logging
import pickle
from copy import deepcopy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from likewise import Embedder, similarity
from likewise.errors import BadInput
from likewise.integrations.sentence_transformers import SentenceTransformer, util
from tests.tiny import LONG, TEXTS

PROMPTS = {"prompts": {"query": "the ", "passage": "a "}, "default_prompt_name": "passage"}


@pytest.fixture(scope="module")
def model(folders):
    return SentenceTransformer(str(folders("bert")), device="cpu")


@pytest.fixture(scope="module")
def vectors(model):
    return model.embedder.encode(TEXTS)


def test_a_list_gives_a_table_and_a_text_a_vector(model, vectors):
    np.testing.assert_array_equal(model.encode(TEXTS), vectors)
    assert model.encode(TEXTS).dtype == np.float32
    np.testing.assert_allclose(model.encode(TEXTS[0]), vectors[0], atol=2e-6)


@pytest.mark.parametrize("inputs", [tuple(TEXTS), np.array(TEXTS), iter(TEXTS)], ids=["tuple", "array", "iterator"])
def test_any_column_of_texts_is_a_list(model, vectors, inputs):
    np.testing.assert_array_equal(model.encode(inputs), vectors)


def test_texts_that_are_too_long_are_truncated_silently(model):
    np.testing.assert_array_equal(model.encode([LONG]), model.embedder.encode([LONG], overflow="truncate"))


def test_the_type_of_the_result_is_the_one_asked_for(model, vectors):
    tensor, listed = model.encode(TEXTS, convert_to_tensor=True), model.encode(TEXTS, convert_to_numpy=False)
    assert isinstance(tensor, torch.Tensor) and isinstance(listed, list) and isinstance(listed[0], torch.Tensor)
    np.testing.assert_array_equal(tensor.numpy(), vectors)
    np.testing.assert_array_equal(torch.stack(listed).numpy(), vectors)


def test_of_no_texts_the_result_is_empty(model):
    assert model.encode([]).shape == (0,)
    assert model.encode([], convert_to_tensor=True).shape == (0,)
    assert model.encode([], convert_to_numpy=False) == []


@given(width=st.integers(1, 40), normalize=st.booleans())
def test_vectors_are_truncated_before_they_are_normalised(model, vectors, width, normalize):
    expected = vectors[:, :width]
    expected = expected / np.linalg.norm(expected, axis=1, keepdims=True) if normalize else expected
    result = model.encode(TEXTS, truncate_dim=width, normalize_embeddings=normalize)
    np.testing.assert_allclose(result, expected, atol=1e-6)


def test_truncation_can_be_set_for_a_block(model, vectors):
    with model.truncate_sentence_embeddings(5):
        np.testing.assert_array_equal(model.encode(TEXTS), vectors[:, :5])
        assert model.get_sentence_embedding_dimension() == 5
    assert model.encode(TEXTS).shape[1] == model.get_embedding_dimension() == 32


@pytest.mark.parametrize("precision", ["int8", "uint8", "binary", "ubinary", "float32", None])
def test_precision_quantizes_the_vectors(model, vectors, precision):
    expected = util.quantize_embeddings(vectors, precision or "float32")
    result = model.encode(TEXTS, precision=precision)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


def test_vectors_of_tokens_are_tensors_of_every_text(model):
    expected = model.embedder.encode_tokens(TEXTS)
    for rows, tokens in zip(model.encode(TEXTS, output_value="token_embeddings"), expected, strict=True):
        np.testing.assert_array_equal(rows.numpy(), tokens)
    assert isinstance(model.encode(TEXTS[0], output_value="token_embeddings"), torch.Tensor)


def test_all_features_are_given_by_name(model, vectors):
    features = model.encode(TEXTS, output_value=None)
    assert {"input_ids", "attention_mask", "token_embeddings", "sentence_embedding"} <= set(features[0])
    for row, vector in zip(features, vectors, strict=True):
        np.testing.assert_array_equal(row["sentence_embedding"].numpy(), vector)
        assert len(row["input_ids"]) == len(row["attention_mask"]) == len(row["token_embeddings"])


def test_prompts_are_those_of_the_model_and_of_the_constructor(own, caplog):
    model = SentenceTransformer(str(own(spoken=PROMPTS)), prompts={"other": "dog "})
    plain = Embedder.load(own())
    cases = {
        "a ": model.encode(TEXTS),
        "the ": model.encode(TEXTS, prompt_name="query"),
        "dog ": model.encode(TEXTS, prompt_name="other"),
        "cat ": model.encode(TEXTS, prompt="cat ", prompt_name="query"),
    }
    for prompt, result in cases.items():
        np.testing.assert_allclose(result, plain.encode(TEXTS, prompt=prompt), atol=2e-6)
    np.testing.assert_array_equal(model.encode_query(TEXTS), cases["the "])
    np.testing.assert_allclose(model.encode_document(TEXTS), plain.encode(TEXTS), atol=2e-6)  # its prompt is empty
    np.testing.assert_array_equal(model.encode_query(TEXTS, prompt_name="other"), cases["dog "])
    assert caplog.text.count("Ignoring the `prompt_name` in favor of `prompt`") == 1
    np.testing.assert_array_equal(model.encode_query(TEXTS, prompt="cat "), cases["cat "])
    assert caplog.text.count("Ignoring") == 1
    with pytest.raises(BadInput, match="Prompt name 'zzz' not found in the configured"):
        model.encode(TEXTS, prompt_name="zzz")
    with pytest.raises(BadInput, match="Default prompt name 'zzz' not found"):
        SentenceTransformer(str(own()), default_prompt_name="zzz")


def test_surplus_and_repeated_arguments_are_pythons_own_error(model):
    with pytest.raises(TypeError, match="multiple values for argument 'batch_size'"):
        model.encode_query(TEXTS, None, None, 32, batch_size=8)
    with pytest.raises(TypeError, match="too many positional arguments"):
        model.encode_document(TEXTS, *[None] * 14)


def test_a_pool_and_several_cores_are_this_process(model, vectors):
    pool = model.start_multi_process_pool(["cpu", "cpu"])
    np.testing.assert_array_equal(model.encode(TEXTS, pool=pool, chunk_size=2), vectors)
    np.testing.assert_array_equal(model.encode_multi_process(TEXTS, pool), vectors)
    for devices in ([], ["cpu"], ["cpu"] * 4):
        np.testing.assert_array_equal(model.encode(TEXTS, device=devices), vectors)
    with pytest.raises(BadInput, match="each call runs on one device"):
        model.start_multi_process_pool(["cpu", "cuda"])
    model.stop_multi_process_pool(pool)
    with pytest.raises(BadInput, match="the return value of start_multi_process_pool"):
        model.encode(TEXTS, pool={"processes": []})
    with pytest.raises(BadInput, match="the return value of start_multi_process_pool"):
        model.stop_multi_process_pool({"processes": []})


def test_similarity_is_the_models_own_and_can_be_set(own, model, vectors):
    assert model.similarity_fn_name == "cosine"
    expected = similarity.cosine(vectors[:2], vectors)
    np.testing.assert_allclose(model.similarity(vectors[:2], vectors), expected, atol=1e-6)
    other = SentenceTransformer(str(own(spoken={"similarity_fn_name": "euclidean"})))
    assert other.similarity_fn_name == "euclidean"
    other.similarity_fn_name = util.SimilarityFunction.DOT_PRODUCT
    assert other.similarity_fn_name == "dot"
    np.testing.assert_allclose(other.similarity_pairwise(vectors, vectors), (vectors**2).sum(1), atol=1e-6)
    with pytest.raises(BadInput, match="it only supports cosine, dot"):
        other.similarity_fn_name = "maxsim"


def test_the_longest_input_is_read_and_set(own):
    model = SentenceTransformer(str(own()))
    before = model.encode([LONG])
    model.max_seq_length = 9
    assert model.max_seq_length == model.get_max_seq_length() == model.tokenizer.model_max_length == 9
    assert model.tokenize([LONG])["input_ids"].shape == (1, 9)
    assert not np.allclose(before, model.encode([LONG]))
    with pytest.raises(BadInput, match="this encoder reads 1 to"):
        model.max_seq_length = 10**6


def test_ids_are_padded_with_their_mask(model):
    batch = model.tokenize(["a cat", "the quick dog", ""])
    lengths = batch["attention_mask"].sum(1).tolist()
    expected = [model.tokenizer.encode(text) for text in ["a cat", "the quick dog", ""]]
    assert lengths == [len(ids) for ids in expected]
    assert [row[:n].tolist() for row, n in zip(batch["input_ids"], lengths, strict=True)] == expected


def test_the_tokenizer_counts_cuts_and_decodes(model):
    view = model.tokenizer
    ids = view.encode("the cat and the dog", add_special_tokens=False)
    assert (
        view.tokenize("the cat and the dog") == view.convert_ids_to_tokens(ids) == ["the", "cat", "and", "the", "dog"]
    )
    assert view.convert_tokens_to_ids("cat") == ids[1] and view.convert_tokens_to_ids(["cat", "zzz"]) == [ids[1], None]
    assert len(view.encode(LONG, max_length=7, truncation=True)) == 7
    assert len(view.encode(LONG, max_length=2**32, truncation="do_not_truncate")) > model.max_seq_length
    assert view("a cat")["input_ids"] == view.encode("a cat") and len(view) == len(view.get_vocab())
    assert "cat" in view.decode(ids)
    assert view.is_fast
    with pytest.raises(BadInput, match=r"SentenceTransformer\.preprocess\(\) .* not use: \['zzz'\]"):
        model.preprocess(["a cat"], zzz=1)
    with pytest.raises(BadInput, match=r"to pad, use model\.preprocess"):
        view("a cat", return_tensors="pt")


def test_the_tokenizer_cuts_where_it_is_asked_to_and_pads_to_the_longest(model):
    view, whole = model.tokenizer, model.tokenizer.encode(LONG)
    begin, end = whole[0], whole[-1]
    bare = view.encode(LONG, add_special_tokens=False)
    assert whole == [begin, *bare, end] and len(whole) > view.model_max_length == model.max_seq_length
    for truncation in (False, None, "do_not_truncate"):
        assert view.encode(LONG, truncation=truncation, max_length=5) == whole
    assert view.encode(LONG, truncation=True) == [begin, *bare[: model.max_seq_length - 2], end]
    for length in (1, 2, 3, 9):
        cut = view.encode(LONG, truncation="longest_first", max_length=length)
        assert cut == [begin, *bare[: max(0, length - 2)], end]
        cut = view.encode(LONG, add_special_tokens=False, truncation=True, max_length=length)
        assert cut == bare[:length]
    assert view(["a cat", "x"], add_special_tokens=False) == {
        "input_ids": [view.encode("a cat", add_special_tokens=False), view.encode("x", add_special_tokens=False)],
        "attention_mask": [[1] * 2, [1]],
    }
    assert view("a cat")["attention_mask"] == [1] * 4
    assert view.convert_ids_to_tokens(begin) == "[CLS]" and view.vocab_size == len(view.get_vocab())
    assert view.decode(view.encode("the cat")) == "[CLS] the cat [SEP]"
    assert view.decode(view.encode("the cat"), skip_special_tokens=True) == "the cat"
    batch = model.preprocess(["the cat", ("a", "the dog"), ""], prompt="x ")
    pad = view.convert_tokens_to_ids("[PAD]")
    rows = [view.encode("x the cat"), [*view.encode("x a"), *view.encode("the dog")[1:]], view.encode("x ")]
    width = max(map(len, rows))
    assert batch["input_ids"].tolist() == [row + [pad] * (width - len(row)) for row in rows]
    assert batch["attention_mask"].tolist() == [[1] * len(row) + [0] * (width - len(row)) for row in rows]
    assert batch["token_type_ids"].tolist() == [[0] * width, [0] * 4 + [1] * 3, [0] * width]
    assert model.preprocess([])["input_ids"].shape == (0, 0)
    for wrong in ({"a": "b"}, ["a", "b", "c"], ["a", 3]):
        with pytest.raises(BadInput, match="expected a text or a pair of texts"):
            model.preprocess([wrong])


def test_a_saved_model_has_its_prompts_and_its_similarity(own, tmp_path):
    model = SentenceTransformer(str(own()), prompts={"query": "the "}, default_prompt_name="query")
    model.similarity_fn_name = "dot"
    model.save_pretrained(str(tmp_path / "saved"))
    again = SentenceTransformer(str(tmp_path / "saved"))
    assert again.prompts == {"query": "the ", "document": ""} and again.default_prompt_name == "query"
    assert again.similarity_fn_name == "dot"
    np.testing.assert_array_equal(again.encode(TEXTS), model.encode(TEXTS))
    model.truncate_dim = 4
    with pytest.raises(BadInput, match=r"Embedder\.load\(name, truncate_dim=4\)"):
        model.save(str(tmp_path / "other"))


def test_progress_is_shown_where_it_is_asked_for(model, monkeypatch):
    seen = []
    monkeypatch.setattr(
        type(model.embedder),
        "encode",
        lambda self, texts, **how: seen.append(how["show_progress_bar"]) or np.ones((1, 2)),
    )
    model.encode(["a"], show_progress_bar=True)
    model.encode(["a"])
    logging.getLogger("sentence_transformers").setLevel(logging.INFO)
    try:
        model.encode(["a"])
    finally:
        logging.getLogger("sentence_transformers").setLevel(logging.NOTSET)
    assert seen == [True, False, True]


def test_an_embedder_is_taken_as_it_is(tiny, vectors):
    model = SentenceTransformer(tiny)
    assert model.embedder is tiny
    np.testing.assert_allclose(model.encode(sentences=TEXTS), vectors, atol=2e-6)
    np.testing.assert_allclose(model.encode_query(sentences=TEXTS), vectors, atol=2e-6)


@pytest.mark.usefixtures("unchecked")
def test_the_device_is_the_one_that_is_there(model, folders):
    assert model.device == torch.device("cpu") and model.dtype == torch.float32
    assert model.to("cpu") is model.cpu() is model.eval() is model
    other = SentenceTransformer(str(folders("bert")), device="cpu")
    if not torch.cuda.is_available():
        with pytest.raises(BadInput, match="the device 'cuda' cannot be used on this machine"):
            other.encode(TEXTS, device="cuda")


def test_weights_that_torch_has_in_fp32_are_not_loaded_again_for_training(folders):
    model = SentenceTransformer(str(folders("bert")), device="cpu")
    model.use_torch()
    before = model.loaded
    model.use_torch()
    assert model.loaded is before


def test_a_model_that_was_passed_in_is_moved_by_torch_or_not_at_all(folders):
    assert SentenceTransformer(Embedder.load(folders("bert"), engine="torch")).to("meta").device.type == "meta"
    model = SentenceTransformer(Embedder.load(folders("bert"), engine="numpy"))
    with pytest.raises(BadInput, match="was passed in, loaded on cpu; load it with device='cuda'"):
        model.to("cuda")
    with pytest.raises(BadInput, match="was passed in, loaded in fp32; to train it, load it with .*'torch'"):
        model.use_torch()


@pytest.mark.parametrize(("device", "name"), [(None, "cuda"), (1, "cuda:1"), ("cuda:0", "cuda:0")])
def test_a_gpu_is_named_by_its_number(model, device, name, monkeypatch):
    monkeypatch.setattr(SentenceTransformer, "to", lambda _, device: device)
    assert model.cuda(device) == name


def test_a_model_that_is_loaded_onto_another_device_keeps_its_settings(folders, monkeypatch):
    model = SentenceTransformer(str(folders("bert")), device="cpu")
    model.max_seq_length = 9
    model.set_pooling_include_prompt(False)
    before = model.embedder
    monkeypatch.setattr(type(before), "device", "elsewhere")
    assert model.to("cpu").embedder is not before
    assert (model.max_seq_length, model.embedder.manifest.include_prompt) == (9, False)


def test_dtypes_are_precisions(folders):
    model = SentenceTransformer(str(folders("bert")), model_kwargs={"torch_dtype": torch.bfloat16}, device="cpu")
    assert model.embedder.precision == "bf16" and model.encode(TEXTS).dtype == np.float32
    assert SentenceTransformer(str(folders("bert")), tokenizer_kwargs={"model_max_length": 11}).max_seq_length == 11


def test_an_evaluator_is_called_with_the_model(model):
    assert model.evaluate(lambda given, *rest: (given, rest), "out") == (model, ("out",))
    assert model.evaluate(lambda given, *rest: (given, rest)) == (model, ())


def test_a_copy_has_settings_of_its_own_and_pickle_loads_the_model_again(own, model, tiny):
    first = SentenceTransformer(str(own()), prompts={"query": "the "})
    first.max_seq_length = 20
    for twin in (deepcopy(first), pickle.loads(pickle.dumps(first))):
        assert twin.prompts == first.prompts and twin.max_seq_length == 20
        np.testing.assert_allclose(twin.encode_query(TEXTS), first.encode_query(TEXTS), atol=2e-6)
        twin.max_seq_length, twin.prompts["query"] = 9, "a "
        assert first.max_seq_length == 20 and first.prompts["query"] == "the "
    assert deepcopy(SentenceTransformer(tiny)).embedder is not tiny
    with pytest.raises(BadInput, match="passed in cannot be pickled"):
        pickle.dumps(SentenceTransformer(tiny))
