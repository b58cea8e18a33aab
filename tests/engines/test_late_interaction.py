"""Late interaction (ColBERT): MaxSim over vectors of tokens on every engine, and folders that do not fit."""

import json
from functools import partial

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from likewise import Reranker
from likewise.engine_registry import engine_of
from likewise.engines.late_interaction import LateInteraction, max_similarity
from likewise.engines.numpy.encoders import attention
from likewise.errors import BadInput, BadModel, TooLong
from likewise.inference import TOKENS_PER_BATCH
from likewise.model_files.late_interaction_folder import FORMS
from likewise.reranker import CrossEncoder
from likewise.text.truncation import TruncationCounter
from tests.native_library import needs_native
from tests.tiny import LONG, TEXTS, amend, colbert_folder, reweigh, write

SPOKEN = "config_sentence_transformers.json"
QUERY = "the cat, and a dog"
engines = pytest.mark.parametrize("engine", ["numpy", pytest.param("native", marks=needs_native), "torch"])
forms = pytest.mark.parametrize("form", FORMS)


def test_max_similarity_is_a_sum_of_maxima():
    draw = np.random.default_rng(0)
    query, document = draw.normal(size=(3, 4)), draw.normal(size=(5, 4))
    slowly = sum(max(sum(a * b for a, b in zip(q, d, strict=True)) for d in document) for q in query)
    assert max_similarity(query, document) == pytest.approx(slowly)


@engines
@forms
def test_every_engine_and_form_scores_alike(form, engine, tmp_path):
    folder = colbert_folder(tmp_path / "m", form)
    reranker = Reranker.load(folder, engine=engine)
    assert type(reranker) is LateInteraction and engine_of(reranker) == engine
    wanted = Reranker.load(colbert_folder(tmp_path / "other", "ColBERT"), engine="numpy").rank(QUERY, TEXTS[3:5])
    found = reranker.rank(QUERY, TEXTS[3:5])  # texts without punctuation, which one form counts
    assert [i for i, _ in found] == [i for i, _ in wanted]
    np.testing.assert_allclose([s for _, s in found], [s for _, s in wanted], atol=1e-5)


@engines
@pytest.mark.parametrize("attends", [True, False])
def test_scores_are_those_of_the_vectors_whatever_the_company(engine, attends, tmp_path):
    reranker = Reranker.load(colbert_folder(tmp_path / "m", attends=attends), engine=engine)
    (query,), documents = reranker.query_vectors([QUERY]), reranker.document_vectors(TEXTS)
    assert query.shape == (32, 16)
    wanted = [max_similarity(query, document) for document in documents]
    scores = reranker.score([QUERY] * len(TEXTS), TEXTS)
    np.testing.assert_allclose(scores, wanted, atol=1e-5)
    np.testing.assert_allclose(reranker.score([(QUERY, TEXTS[1])], batch_tokens=1), wanted[1], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(query, axis=1), 1, atol=1e-6)


def test_a_token_that_may_attend_to_nothing_gets_zeros():
    q, k, v = np.random.default_rng(0).normal(size=(3, 4, 2, 8)).astype(np.float32)
    nothing = np.where(np.arange(4)[:, None] == 2, *np.float32([-np.inf, 0]))
    found, others = attention(q, k, v, [4], lambda *_: nothing), attention(q, k, v, [4])
    assert not found[2].any()
    np.testing.assert_array_equal(np.delete(found, 2, 0), np.delete(others, 2, 0))


def test_a_prompt_that_is_text_has_no_marker(tmp_path):
    folder = colbert_folder(tmp_path / "m", "MultiVectorEncoder")
    words = Reranker.load(folder, engine="numpy").tokenizer.token_ids_by_name
    piece = next(word for word in words if word.startswith("##"))  # which no text begins with
    amend(folder / SPOKEN, prompts={"query": f"{piece} ", "document": ""})
    reranker = Reranker.load(folder, engine="numpy")
    counter, tokenizer = TruncationCounter(9, "truncate"), reranker.tokenizer
    (prompted,) = reranker._contents(["cat"], True, counter, np.arange(1))
    assert words[piece] not in prompted
    assert prompted == (*tokenizer.prefix, *tokenizer.token_ids([f"{piece} cat"])[0], *tokenizer.suffix)


def test_mask_tokens_that_are_not_attended_to_change_no_other_vector(tmp_path):
    short, long = (Reranker.load(colbert_folder(tmp_path / str(n), length=n)) for n in (20, 32))
    (few,), (many,) = short.query_vectors([QUERY]), long.query_vectors([QUERY])
    np.testing.assert_allclose(many[:20], few, atol=1e-6)
    (other,) = Reranker.load(colbert_folder(tmp_path / "attended", attends=True)).query_vectors([QUERY])
    assert np.abs(other - many).max() > 0.01


def test_punctuation_of_documents_is_not_compared(tmp_path):
    reranker = Reranker.load(colbert_folder(tmp_path / "m"))
    with_marks, without = reranker.document_vectors(["a, cat.", "a cat"])
    assert len(with_marks) == len(without) == 5  # [CLS], the marker, two words, [SEP]


def test_texts_over_their_lengths_are_truncated_with_a_warning(tmp_path):
    reranker = Reranker.load(colbert_folder(tmp_path / "m"))
    assert [len(v) for v in reranker.query_vectors([LONG], overflow="truncate")] == [
        32
    ] and reranker.max_content_length == 57
    for pair, side, limit in (((QUERY, LONG), "document", 57), ((LONG, "a cat"), "query", 29)):
        vectors = partial(getattr(reranker, f"{side}_vectors"), [LONG])
        for call in (partial(reranker.score, [pair]), vectors):
            with pytest.warns(UserWarning, match=f"1 of 1 {side} was truncated to the {limit} tokens"):
                call()
            with pytest.raises(TooLong, match=f"and the model reads {limit}"):
                call(overflow="error")


@pytest.mark.parametrize(("pair", "name"), [((QUERY, "x" * 300), "documents"), (("x" * 300, QUERY), "queries")])
def test_words_too_long_for_the_tokenizer_are_reported(pair, name, tmp_path):
    reranker = Reranker.load(colbert_folder(tmp_path / "m"))
    with pytest.warns(UserWarning, match=rf"words of more than 100 characters.*first is {name}\[1\]"):
        reranker.score([(QUERY, QUERY), pair])
    with pytest.raises(TooLong, match=rf"{name}\[1\] has a word of 300 characters"):
        reranker.score([(QUERY, QUERY), pair], overflow="error")


@pytest.mark.parametrize("side", ["query", "document"])
@pytest.mark.usefixtures("unchecked")
def test_vectors_are_of_lists_of_texts(side, tmp_path):
    vectors = getattr(Reranker.load(colbert_folder(tmp_path / "m")), f"{side}_vectors")
    assert vectors([]) == [] and len(vectors(text for text in TEXTS[2:5])) == 3
    with pytest.raises(BadInput, match="is 'a cat' .str.; expected a list of texts"):
        vectors("a cat")
    with pytest.raises(BadInput, match=r"\[1\] is None"):
        vectors(["a cat", None])


def test_documents_are_encoded_in_batches(tmp_path, monkeypatch):
    reranker, sizes = Reranker.load(colbert_folder(tmp_path / "m")), []
    encode = reranker._documents

    def batch(contents):
        sizes.append(sum(map(len, contents)))
        return encode(contents)

    monkeypatch.setattr(reranker, "_documents", batch)
    texts = [f"{text} {i}" for i in range(100) for text in TEXTS]
    found = reranker.document_vectors(texts, overflow="truncate")
    assert len(sizes) > 2 and max(sizes) <= TOKENS_PER_BATCH["cpu"] * reranker.batch_threads
    for one, text in zip(found[::97], texts[::97], strict=True):
        np.testing.assert_allclose(one, reranker.document_vectors([text], overflow="truncate")[0], atol=1e-5)


def test_its_fingerprint_is_the_same_for_every_engine_and_changes_with_its_settings(tmp_path):
    folder = colbert_folder(tmp_path / "m")
    before = {Reranker.load(folder, engine=engine).fingerprint for engine in ("numpy", "torch")}
    amend(folder / "artifact.metadata", query_maxlen=24)
    assert len(before) == 1 and Reranker.load(folder).fingerprint not in before


@engines
def test_weights_that_changed_on_disk_are_neither_fingerprinted_nor_used_for_queries(engine, tmp_path):
    folder = colbert_folder(tmp_path / "m")
    reranker = Reranker.load(folder, engine=engine)
    reweigh(folder, lambda _, tensor: 2 * tensor)
    in_numpy = [] if engine == "numpy" else [lambda: reranker.query_vectors([QUERY])]  # its queries' second encoder
    for work in (lambda: reranker.fingerprint, *in_numpy):
        with pytest.raises(BadModel, match="have changed since this model was loaded"):
            work()


def test_it_is_neither_saved_nor_a_cross_encoder(tmp_path):
    folder = colbert_folder(tmp_path / "m")
    with pytest.raises(BadInput, match="cannot be saved; copy the folder"):
        Reranker.load(folder).save(tmp_path / "x")
    with pytest.raises(BadModel, match="LateInteraction"):
        CrossEncoder.load(folder)
    assert type(LateInteraction.load(folder)) is LateInteraction
    (folder / "artifact.metadata").unlink()
    amend(folder / "config.json", architectures=["BertForSequenceClassification"])
    with pytest.raises(BadInput, match="LateInteraction cannot be loaded by itself; use Reranker.load"):
        LateInteraction.load(folder)


def _drop(folder, name):
    weights = load_file(folder / "model.safetensors")
    del weights[name]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


BROKEN = {
    "a vector as projection": (
        "HF_ColBERT",
        lambda f: reweigh(f, lambda name, tensor: tensor[0] if name == "linear.weight" else tensor),
        r"linear.weight in .* has the shape \(32,\); expected a matrix",
    ),
    "no mask token": (
        "HF_ColBERT",
        lambda f: write(f / "tokenizer.json", json.loads((f / "tokenizer.json").read_text().replace("[MASK]", "[X]"))),
        "pads queries with mask tokens, but its tokenizer lacks one",
    ),
    "an expansion that is no object": (
        "MultiVectorEncoder",
        lambda f: amend(f / "sentence_bert_config.json", query_expansion=["fixed"]),
        r"has query_expansion = \['fixed'\]",
    ),
    "prompts that are no object": ("MultiVectorEncoder", lambda f: amend(f / SPOKEN, prompts=["q: "]), "prompts"),
    "no projection": ("HF_ColBERT", lambda f: _drop(f, "linear.weight"), "lacks the tensor linear.weight"),
    "lengths": ("HF_ColBERT", lambda f: amend(f / "artifact.metadata", doc_maxlen="300"), "expected whole numbers"),
    "no room": ("HF_ColBERT", lambda f: amend(f / "artifact.metadata", query_maxlen=3), "leave no room for text"),
    "a marker": ("HF_ColBERT", lambda f: amend(f / "artifact.metadata", query_token_id=7), "expected texts"),
    "attention": (
        "ColBERT",
        lambda f: amend(f / "config_sentence_transformers.json", attend_to_expansion_tokens=1),
        "mask tokens",
    ),
    "no Dense": ("ColBERT", lambda f: write(f / "modules.json", []), "expected Transformer, then Dense"),
    "a width": ("ColBERT", lambda f: amend(f / "1_Dense/config.json", in_features=31), "31"),
    "a residual": ("ColBERT", lambda f: amend(f / "1_Dense/config.json", use_residual=True), "use_residual"),
    "no weights": ("ColBERT", lambda f: (f / "1_Dense/model.safetensors").unlink(), "1_Dense"),
    "what Dense reads": (
        "ColBERT",
        lambda f: amend(f / "1_Dense/config.json", module_input_name="x"),
        "module_input_name",
    ),
    "masked queries": (
        "MultiVectorEncoder",
        lambda f: amend(f / "2_MultiVectorMask/config.json", skiplist_tasks=["query"]),
        "does more than skip listed document tokens",
    ),
    "a family of torch's": (
        "ColBERT",
        lambda f: amend(f / "config.json", model_type="bilstm"),
        "bilstm|word_size",  # torch computes the family, and misses its settings
    ),
}


@engines
@pytest.mark.parametrize("name", BROKEN)
def test_folders_that_do_not_fit_are_refused(name, engine, tmp_path):
    form, spoil, told = BROKEN[name]
    folder = colbert_folder(tmp_path / "m", form)
    Reranker.load(folder, engine=engine)
    spoil(folder)
    with pytest.raises(BadModel, match=told):
        Reranker.load(folder, engine=engine)
