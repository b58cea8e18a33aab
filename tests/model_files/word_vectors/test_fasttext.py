"""fastText's binary files, beside the vectors that fastText itself gave (fasttext/make.py, beside this file)."""

import json
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import Embedder
from likewise.arrays.ngram_hashing import subword_buckets
from likewise.errors import BadModel, LikewiseError
from likewise.model_files.word_vectors.fasttext import read_fasttext

SMALL = Path(__file__).parent / "fasttext" / "small.bin"
EXPECTED = json.loads(SMALL.with_name("expected.json").read_text("utf-8"))
WHOLE = [word for word in EXPECTED if word.isalnum()]
"""The words that our splitting leaves whole."""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "cache"))


def binary(
    words=("cat", "dog"), *, width=2, buckets=3, least=2, most=3, labels=(), version=12, kind=2, seed=0
) -> tuple[bytes, np.ndarray]:
    """A model as fastText writes it, and its matrix."""
    rows = np.random.default_rng(seed).normal(size=(len(words) + buckets, width)).astype(np.float32)
    data = struct.pack("<ii", 793712314, version)
    data += struct.pack("<12i", width, 5, 5, 1, 5, 1, 1, kind, buckets, least, most, 100) + struct.pack("<d", 1e-4)
    data += struct.pack("<iii", len(words) + len(labels), len(words), len(labels)) + struct.pack("<qq", 99, -1)
    for entries, sort in ((words, 0), (labels, 1)):
        for word in entries:
            data += word.encode() + b"\0" + struct.pack("<qb", 7, sort)
    data += struct.pack("<?", False) + struct.pack("<qq", *rows.shape) + rows.tobytes()
    return data, rows


def written(folder: Path, **how) -> Path:
    (folder / "m.bin").write_bytes(binary(**how)[0])
    return folder / "m.bin"


def test_known_and_unknown_words_have_fasttexts_own_vectors():
    embedder = Embedder.load(f"avg-fasttext({SMALL})")
    assert len(WHOLE) > 25 and {"dogs", "straßen", "日本", "I"} <= set(WHOLE)
    result = embedder.encode(WHOLE)
    np.testing.assert_allclose(result, [EXPECTED[word] for word in WHOLE], atol=1e-8, rtol=1e-5)


def test_the_table_holds_every_word_of_the_file_as_fasttext_gives_it():
    result = read_fasttext(SMALL)
    for word, row in zip(result.words, result.rows[1:], strict=False):
        np.testing.assert_allclose(row, EXPECTED[word], atol=1e-8, rtol=1e-5)
    assert (result.least, result.most, result.buckets) == (2, 4, 150) and "</s>" in result.words


def test_a_sentence_is_the_mean_of_its_words_however_many_n_grams_they_have():
    embedder = Embedder.load(f"avg-fasttext({SMALL})")
    words = ["the", "treehouse", "dogs", "on"]
    expected = np.mean([EXPECTED[word] for word in words], axis=0)
    np.testing.assert_allclose(embedder.encode([" ".join(words)])[0], expected, atol=1e-8, rtol=1e-5)
    assert embedder.pieces([" ".join(words)]) == [["the", "[UNK]", "[UNK]", "on"]]
    assert embedder.encode_tokens([" ".join(words)])[0].shape == (4, 6)


def test_a_sentence_is_embedded_the_same_alone_and_in_company():
    embedder = Embedder.load(f"avg-fasttext({SMALL})")
    texts = ["the dogs", "treehouse!", "zzz yyy xxx", "a", "cat cat cats"]
    alone = np.concatenate([embedder.encode([text]) for text in texts])
    for budget in (1, 9, None):
        np.testing.assert_allclose(embedder.encode(texts, batch_tokens=budget), alone, atol=1e-7)


def test_a_saved_model_spells_as_before(tmp_path):
    embedder = Embedder.load(f"avg-fasttext({SMALL})")
    embedder.save(tmp_path / "saved")
    again = Embedder.load(tmp_path / "saved")
    assert again.fingerprint == embedder.fingerprint
    assert np.array_equal(again.encode(["dogs bark"]), embedder.encode(["dogs bark"]))


def test_a_text_table_of_fasttext_leaves_unknown_words_out(tmp_path):
    (tmp_path / "m.vec").write_text("2 2\ncat 1 2 \ndog 3 4 \n")
    assert Embedder.load(f"avg-fasttext({tmp_path / 'm.vec'})").encode(["cat dogs"]).tolist() == [[1, 2]]


@given(st.lists(st.text("abcé", min_size=1, max_size=6), min_size=1, max_size=5, unique=True), st.integers(0, 99))
def test_a_table_written_here_is_read_row_by_row(tmp_path_factory, words, seed):
    data, rows = binary(tuple(words), seed=seed)
    path = tmp_path_factory.mktemp("any") / "m.bin"
    path.write_bytes(data)
    result = read_fasttext(path)
    for i, word in enumerate(words):
        own = [i, *(len(words) + bucket for bucket in subword_buckets(word, 2, 3, 3))]
        np.testing.assert_allclose(result.rows[1 + i], rows[own].mean(0), rtol=1e-5, atol=1e-6)
    assert np.array_equal(result.rows[1 + len(words) :], rows[len(words) :])


def test_vectors_that_are_not_finite_are_refused(tmp_path):
    data, _ = binary()
    (tmp_path / "m.bin").write_bytes(data[:-4] + struct.pack("<f", float("nan")))
    with pytest.raises(BadModel, match="contain NaN or infinity"):
        read_fasttext(tmp_path / "m.bin")


def test_a_file_cut_anywhere_is_refused(tmp_path):
    data, _ = binary()
    for end in range(len(data)):
        (tmp_path / "m.bin").write_bytes(data[:end])
        with pytest.raises(BadModel):
            read_fasttext(tmp_path / "m.bin")


@given(st.integers(0, 120), st.binary(min_size=1, max_size=8))
def test_a_file_damaged_anywhere_is_a_table_or_an_error_of_ours(tmp_path_factory, at, noise):
    data, _ = binary()
    path = tmp_path_factory.mktemp("any") / "m.bin"
    path.write_bytes(data[:at] + noise + data[at + len(noise) :])
    with suppress(LikewiseError):
        read_fasttext(path)


@pytest.mark.parametrize(
    ("how", "least", "most", "buckets"),
    [
        ({"width": 1}, 2, 3, 3),
        ({"buckets": 0}, 0, 0, 0),
        ({"least": 1, "most": 1}, 1, 1, 3),
        ({"least": 0, "most": 0}, 0, 0, 0),
        ({"kind": 3, "version": 12}, 2, 3, 3),
        ({"kind": 3, "version": 11}, 0, 0, 0),
        ({"kind": 2, "version": 11}, 2, 3, 3),
        ({"kind": 4, "version": 11}, 2, 3, 3),
        ({"words": ("cat",), "labels": ("__label__x", "__label__y")}, 2, 3, 3),
    ],
)
def test_the_settings_of_n_grams_are_those_of_the_file_or_none(tmp_path, how, least, most, buckets):
    result = read_fasttext(written(tmp_path, **how))
    assert (result.least, result.most, result.buckets) == (least, most, buckets)
    assert result.rows.shape == (1 + len(result.words) + buckets, how.get("width", 2)) and not result.rows[0].any()


HEAD = 8 + 12 * 4 + 8  # bytes before the counts of the dictionary


@pytest.mark.parametrize(
    ("at", "form", "values", "message"),
    [
        (8, "<i", [0], "its header gives the dimension as 0 and the number of buckets as 3"),
        (8, "<i", [-5], "its header gives the dimension as -5 and the number of buckets as 3"),
        (8 + 8 * 4, "<i", [-1], "its header gives the dimension as 2 and the number of buckets as -1"),
        (HEAD, "<iii", [3, 2, 0], "its dictionary claims 3 entries, 2 words and 0 labels"),
        (HEAD, "<iii", [1, 2, -1], "its dictionary claims 1 entries, 2 words and -1 labels"),
        (HEAD, "<iii", [2, 3, -1], "its dictionary claims 2 entries, 3 words and -1 labels"),
        (HEAD, "<iii", [2, 1, 1], "its dictionary contains 2 words instead of 1"),
        (HEAD + 12, "<qq", [99, 0], "its n-grams were pruned"),
        (-57, "<?", [True], "its vectors are product-quantized.* use the model from before"),
        (-56, "<qq", [10, 1], "its matrix is 10 × 1; expected 2 [+] 3 rows of 2"),
        (-56, "<qq", [4, 2], "its matrix is 4 × 2; expected 2 [+] 3 rows of 2"),
        (-56, "<qq", [5, 3], "its matrix is 5 × 3; expected 2 [+] 3 rows of 2"),
        (0, "<i", [793712315], "it is not a fastText model in version 11 or 12"),
        (4, "<i", [10], "it is not a fastText model in version 11 or 12"),
        (4, "<i", [13], "it is not a fastText model in version 11 or 12"),
    ],
)
def test_a_number_that_cannot_be_is_named(tmp_path, at, form, values, message):
    data = bytearray(binary()[0])
    struct.pack_into(form, data, at % len(data), *values)
    path = tmp_path / "m.bin"
    path.write_bytes(data)
    with pytest.raises(BadModel, match=f"^{path} cannot be read: {message}"):
        read_fasttext(path)


def test_a_file_cut_within_its_matrix_says_what_is_missing(tmp_path):
    data, _ = binary()
    path = tmp_path / "m.bin"
    path.write_bytes(data[:-1])
    at = len(data) - 40
    expected = f"expected 40 bytes at offset {at}, but it ends at {len(data) - 1}; it may be truncated"
    with pytest.raises(BadModel, match=expected):
        read_fasttext(path)
    path.write_bytes(data[: HEAD + 28 + 2])
    with pytest.raises(BadModel, match="a word in its dictionary is not terminated"):
        read_fasttext(path)
    path.write_bytes(data + b"more")
    assert list(read_fasttext(path).words) == ["cat", "dog"]


def test_an_empty_file_is_no_model(tmp_path):
    (tmp_path / "m.bin").write_bytes(b"")
    with pytest.raises(BadModel, match="m.bin is not a fastText model: "):
        read_fasttext(tmp_path / "m.bin")
