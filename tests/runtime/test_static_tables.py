"""Static models: folders of StaticEmbedding and model2vec, computed by every engine like a slow reference here."""

import json
import warnings

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from likewise import Embedder
from likewise.engine_registry import ENGINES
from likewise.errors import BadModel
from likewise.runtime.static_tables import static_table, token_facts
from tests.native_library import needs_native
from tests.tiny import LONG, TEXTS, wordpieces, write
from tests.without_torch import TORCH

pytestmark = pytest.mark.filterwarnings("ignore:.*no word that this model knows")
WIDTH = 12
WORDS = [*TEXTS, "日本", "the 日 cat", LONG]
ENGINE_NAMES = [
    pytest.param(name, marks=[needs_native] if name == "native" else []) for name in ENGINES if name != "torch" or TORCH
]


def static_folder(folder, own=True, normalize=True, length=512, dtype=np.float32, **tensors):
    """A static model of random numbers, as its library writes it: model2vec's, or StaticEmbedding's."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = wordpieces()
    table = np.random.default_rng(5).normal(size=(tokenizer.get_vocab_size(), WIDTH)) * 20
    place = folder if own else folder / "0_StaticEmbedding"
    place.mkdir(exist_ok=True)
    if own:
        write(folder / "config.json", {"model_type": "model2vec", "normalize": normalize, "max_length": length})
    elif length is not None:
        tokenizer.enable_truncation(length)
    rows = [{"idx": 0, "name": "0", "path": "." if own else place.name, "type": "sentence_transformers.models.Static"}]
    rows[0]["type"] += "Embedding"
    if normalize:
        rows.append({"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"})
    write(folder / "modules.json", rows)
    tokenizer.save(str(place / "tokenizer.json"))
    name = "embeddings" if own else "embedding.weight"
    arrays = {name: table.astype(dtype), **tensors}
    save_file({key: value for key, value in arrays.items() if value is not None}, place / "model.safetensors")
    return folder


def slow_vectors(folder, texts, own, normalize, length):
    """Each text's vector from the files, token by token."""
    import tokenizers

    place = folder if own else folder / "0_StaticEmbedding"
    tokenizer, arrays = (
        tokenizers.Tokenizer.from_file(str(place / "tokenizer.json")),
        load_file(place / "model.safetensors"),
    )
    tokenizer.no_truncation()
    table = arrays["embeddings" if own else "embedding.weight"].astype(np.float64)
    found = []
    for text in texts:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        ids = [i for i in ids if not own or i != tokenizer.token_to_id("[UNK]")][:length]
        total = np.zeros(WIDTH)
        for i in ids:
            total += table[arrays["mapping"][i] if "mapping" in arrays else i] * arrays.get("weights", np.ones(999))[i]
        mean = total / max(1, len(ids))
        found.append(mean / max(np.linalg.norm(mean), 1e-12) if normalize else mean)
    return np.asarray(found)


def quantized(tokens=118):
    """For more tokens than the tokenizer has: what is left over is not read."""
    draw = np.random.default_rng(7)
    return {"mapping": draw.integers(0, 40, tokens), "weights": draw.random(tokens)}


FORMS = {
    "model2vec": {},
    "model2vec, vectors of any length": {"normalize": False},
    "model2vec, 30 tokens": {"length": 30},
    "model2vec in fp16": {"dtype": np.float16},
    "model2vec in fp64": {"dtype": np.float64},
    "model2vec in int8": {"dtype": np.int8},
    "model2vec, vocabulary quantized": quantized(),
    "model2vec, rows of no token": {"embeddings": np.random.default_rng(6).normal(size=(118, WIDTH))},
    "StaticEmbedding": {"own": False},
    "StaticEmbedding, vectors of any length": {"own": False, "normalize": False, "length": None},
    "StaticEmbedding, 30 tokens": {"own": False, "length": 30},
}


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("form", FORMS)
def test_a_vector_is_the_mean_of_the_rows_of_a_texts_tokens(form, engine, tmp_path):
    how = FORMS[form]
    static_folder(tmp_path, **how)
    embedder = Embedder.load(tmp_path, engine=engine)
    vectors = embedder.encode(WORDS, overflow="truncate")
    length = how.get("length", 512)
    slow = slow_vectors(tmp_path, WORDS, how.get("own", True), how.get("normalize", True), length)
    np.testing.assert_allclose(vectors, slow, atol=2e-6 * max(1, np.abs(slow).max()))
    assert embedder.max_seq_length == (length or embedder.encoder.longest) and not embedder.tokenizer.lowercase
    assert not vectors[WORDS.index("")].any() and embedder.is_unit == how.get("normalize", True)
    assert vectors[WORDS.index("日本")].any() != how.get("own", True), "only model2vec removes unknown tokens"


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("form", FORMS)
def test_a_saved_static_model_is_a_static_model_again(form, engine, tmp_path):
    static_folder(tmp_path / "old", **FORMS[form])
    embedder = Embedder.load(tmp_path / "old", engine=engine)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "sentence-transformers cannot read")
        embedder.save(tmp_path / "new")
    again = Embedder.load(tmp_path / "new", engine=engine)
    np.testing.assert_array_equal(again.encode(WORDS, overflow="truncate"), embedder.encode(WORDS, overflow="truncate"))
    assert again.fingerprint == embedder.fingerprint and again.max_seq_length == embedder.max_seq_length
    assert static_table(tmp_path / "new") is not None and again.manifest.static
    assert (tmp_path / "new/config.json").exists() == FORMS[form].get("own", True)
    (table,) = load_file(tmp_path / "new/model.safetensors").values()
    assert table.shape == (116, WIDTH) and table.dtype == np.float32


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_with_another_pooling_it_is_saved_as_a_table_of_words(engine, tmp_path):
    static_folder(tmp_path / "old")
    embedder = Embedder.load(tmp_path / "old", engine=engine, pooling="max")
    with pytest.warns(UserWarning, match="sentence-transformers cannot read"):
        embedder.save(tmp_path / "new")
    again = Embedder.load(tmp_path / "new", engine=engine)
    np.testing.assert_array_equal(again.encode(TEXTS), embedder.encode(TEXTS))
    assert again.pooling.spec == "max" and not again.manifest.static


def test_a_folder_without_modules_is_model2vecs_by_its_config(tmp_path):
    for normalize in (True, False):
        folder = static_folder(tmp_path / str(normalize), normalize=normalize)
        (folder / "modules.json").unlink()
        assert Embedder.load(folder, engine="numpy").is_unit == normalize


def test_the_row_of_texts_without_tokens_is_not_trained(tmp_path):
    if not TORCH:
        pytest.skip("training needs torch")
    for own, row in ((True, 1), (False, 116)):
        embedder = Embedder.load(static_folder(tmp_path / str(own), own=own), engine="torch")
        assert embedder.encoder.table.padding_idx == row
        assert not embedder.encoder.table.weight[row].any() and embedder.encoder.table.weight[0].any()


def config(folder, **changes):
    write(folder / "config.json", {**json.loads((folder / "config.json").read_text()), **changes})


def vocabulary(folder, **ids):
    described = json.loads((folder / "tokenizer.json").read_text())
    described["model"]["vocab"] |= ids
    write(folder / "tokenizer.json", described)


def tensors(**arrays):
    return lambda folder: static_folder(folder, **arrays)


LONG_TABLE = np.zeros((115, WIDTH), np.float32)
BAD = {
    "fewer rows than tokens": (tensors(embeddings=LONG_TABLE), "embeddings in .* has 115 rows, but .* 116 tokens"),
    "no table": (tensors(embeddings=None, other=LONG_TABLE), "lacks the tensor embeddings"),
    "a list": (tensors(embeddings=np.zeros(116, np.float32)), "embeddings in .* expected a matrix"),
    "no columns": (tensors(embeddings=np.zeros((116, 0), np.float32)), "expected a matrix"),
    "whole numbers": (tensors(embeddings=np.zeros((116, 3), np.int64)), "I64 .* expected a matrix"),
    "not finite": (tensors(embeddings=np.full((116, 3), np.nan, np.float32)), "NaN or infinity"),
    "a mapping too short": (tensors(mapping=np.zeros(115, np.int64)), "mapping in .* 116 tokens"),
    "a mapping of fractions": (tensors(mapping=np.zeros(116)), "mapping in .* F64"),
    "a mapping beyond the rows": (tensors(mapping=np.full(116, 116)), "points outside the 116 rows"),
    "a mapping below 0": (tensors(mapping=np.full(116, -1)), "points outside"),
    "weights too short": (tensors(weights=np.ones(100)), "weights in .* 116 tokens"),
    "weights of whole numbers": (tensors(weights=np.ones(116, np.int64)), "weights in .* I64"),
    "infinite weights": (tensors(weights=np.full(116, np.inf)), "NaN or infinity"),
    "max_length 0": (lambda folder: config(folder, max_length=0), "max_length = 0; expected"),
    "max_length true": (lambda folder: config(folder, max_length=True), "max_length = True; expected"),
    "normalize yes": (lambda folder: config(folder, normalize="yes"), "normalize = 'yes'; expected true or false"),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json cannot be read"),
    "a list as tokenizer": (lambda folder: write(folder / "tokenizer.json", []), "tokenizer.json cannot be read"),
    "ids of text": (lambda folder: vocabulary(folder, cat="1"), "tokenizer.json cannot be read"),
    "fractional ids": (lambda folder: vocabulary(folder, cat=1e9 + 0.5), "not a whole number from 0 to"),
    "a huge id": (lambda folder: vocabulary(folder, cat=1 << 40), "not a whole number from 0 to"),
}


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("case", BAD)
def test_a_broken_static_model_is_refused_with_its_file(case, engine, tmp_path):
    breaks, message = BAD[case]
    folder = static_folder(tmp_path / "model")
    breaks(folder)
    with pytest.raises(BadModel, match=message) as refusal:
        Embedder.load(folder, engine=engine)
    assert str(folder) in str(refusal.value)


def test_a_small_file_does_not_become_a_large_table(tmp_path):
    folder = static_folder(tmp_path, embeddings=np.zeros((1, 1 << 20), np.int8), mapping=np.zeros(5000, np.int64))
    vocabulary(folder, **{f"word{i}": i for i in range(116, 5000)})
    with pytest.raises(BadModel, match="needs 5,000 rows of 1,048,576 numbers; expected at most"):
        Embedder.load(folder, engine="numpy")


def test_other_folders_are_none(tmp_path):
    assert static_table(tmp_path) is None
    wordpieces().save(str(tmp_path / "tokenizer.json"))
    save_file({"other": LONG_TABLE}, tmp_path / "model.safetensors")
    assert static_table(tmp_path) is None
    with pytest.raises(BadModel, match="neither modules.json nor config.json"):
        Embedder.load(tmp_path)


def test_a_static_model_that_lacks_its_table_or_has_other_modules_is_refused(tmp_path):
    folder = static_folder(tmp_path, own=False)
    rows = json.loads((folder / "modules.json").read_text())
    write(folder / "modules.json", [*rows, {"path": "2_CNN", "type": "sentence_transformers.models.CNN"}])
    with pytest.raises(BadModel, match="contains a CNN after the StaticEmbedding; expected only Dense"):
        Embedder.load(folder)
    write(folder / "modules.json", rows)
    (folder / "0_StaticEmbedding/tokenizer.json").unlink()
    with pytest.raises(BadModel, match="0_StaticEmbedding contains no static model; expected tokenizer.json and"):
        Embedder.load(folder)


@pytest.mark.parametrize(("settings", "length", "normalizes"), [
    ({}, 512, False),
    ({"max_length": None, "normalize": None}, None, False),
    ({"max_length": 1, "normalize": True}, 1, True),
])  # fmt: skip
def test_a_config_that_names_nothing_is_read_as_model2vec_reads_it(settings, length, normalizes, tmp_path):
    folder = static_folder(tmp_path)
    write(folder / "config.json", {"model_type": "model2vec", **settings})
    found = static_table(folder)
    assert (found.max_seq_length, found.normalizes) == (length, normalizes)


PIECES = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}
WORD_PIECES = {"type": "WordPiece", "unk_token": "x", "vocab": {"a": 0, "x": 4}}


@pytest.mark.parametrize(
    ("described", "facts"),
    [
        ({"model": PIECES}, (2, 0, None)),
        ({"model": {**PIECES, "unk_id": 1}, "truncation": {"max_length": 9}}, (2, 1, 9)),
        ({"model": {**PIECES, "unk_id": None}, "truncation": None}, (2, None, None)),
        ({"model": WORD_PIECES}, (5, 4, None)),
        ({"model": {**WORD_PIECES, "unk_token": "y"}}, (5, None, None)),
    ],
)
def test_facts_of_a_tokenizer_are_its_tokens_the_unknown_one_and_its_truncation(described, facts, tmp_path):
    write(tmp_path / "tokenizer.json", described)
    found = token_facts(tmp_path / "tokenizer.json")
    assert (found.tokens, found.unknown, found.truncation) == facts


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"model": {**PIECES, "unk_id": 2}}, "gives unknown tokens the id 2, but has only 2 tokens"),
        ({"model": {**PIECES, "unk_id": -1}}, "gives unknown tokens the id -1"),
        ({"model": {**PIECES, "unk_id": True}}, "not all whole numbers"),
        ({"model": PIECES, "truncation": {"max_length": "9"}}, "not all whole numbers"),
        ({"model": {**WORD_PIECES, "vocab": {}}}, "not all whole numbers"),
        ({"model": PIECES, "truncation": {}}, "cannot be read as a tokenizer: KeyError"),
    ],
)
def test_facts_that_no_tokenizer_has_are_refused(described, message, tmp_path):
    write(tmp_path / "tokenizer.json", described)
    with pytest.raises(BadModel, match=message):
        token_facts(tmp_path / "tokenizer.json")
