"""Files of word vectors become ordinary model folders, or say at which line they are none."""

import json
import os
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import Embedder
from likewise.errors import BadInput, BadModel, LikewiseError, MissingExtra, ModelNotFound
from likewise.model_files import names
from likewise.model_files.word_vectors import text_files
from likewise.model_files.word_vectors.text_files import read_array_vectors, read_text_vectors
from likewise.model_files.word_vectors.word_tables import WordVectors, converted_folder, write_word_vectors

TABLE = "cat 1 2 3\ndog 4 5 6\n, 0.5 0 -1e-1\nstraße 7 8 9\n"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def glove(folder: Path, text: str = TABLE) -> str:
    """The name of a model of these vectors."""
    return f"avg-glove({file(folder, text)})"


def file(folder: Path, text: str | bytes, name: str = "table.txt") -> Path:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


@pytest.mark.parametrize("head", ["", "4 3\n"], ids=["glove", "word2vec"])
@pytest.mark.parametrize("end", ["\n", " \n", "\r\n"], ids=repr)
def test_a_text_file_is_read_with_and_without_a_first_line(tmp_path, head, end):
    result = read_text_vectors(file(tmp_path, head + TABLE.replace("\n", end)))
    marked = read_text_vectors(file(tmp_path, "\ufeff" + head + TABLE.replace("\n", end)))  # by a Windows editor
    assert list(marked.words) == list(result.words)
    assert list(result.words) == ["cat", "dog", ",", "straße"]
    assert result.rows.tolist() == np.float32([[0, 0, 0], [1, 2, 3], [4, 5, 6], [0.5, 0, -0.1], [7, 8, 9]]).tolist()


def test_words_of_several_parts_are_words(tmp_path):
    assert list(read_text_vectors(file(tmp_path, "a 1 2\n. . . 3 4\n\nb c 5 6\n")).words) == ["a", ". . .", "b c"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: '' is neither a word"),
        ("word\n", "1: 'word"),
        ("a 1 2\nb 1\n", "table.txt:2: 1 numbers follow the word; expected 2"),
        ("a 1 2\n\nb 1 2 3\n", "table.txt:3: 3 numbers follow"),
        ("2 2\na 1 2\nb x 2\n", "table.txt:3: could not convert"),
        ("a 1 2\n 1 2\n", "table.txt:2: 1 numbers"),
        ("a 1 2\nb nan 1\n", "table.txt:2: the vector of 'b' contains NaN or infinity"),
        ("a 3.41e38\n", ":1: the vector of 'a' contains NaN or infinity"),
        ("a 2e38 2e38\n", ":1: the vector of 'a' contains NaN or infinity"),
        ("1 100000\na 1\n", ":2: 1 numbers follow the word; expected 100000"),
        ("1 100001\na 1\n", ":1: '1 100001.*is neither a word with its vector"),
        ("1 0\na 1\n", ":1: '1 0.*is neither a word with its vector"),
        (f"{'w' * 50}\n", f":1: '{'w' * 40}' is neither a word"),
        ("1 1\na 1\nb 2\n", "contains 2 words, but its first line says 1"),
        (b"a 1 2\n\xff\xfe 1 2\n", "table.txt:2: the word .* is not UTF-8"),
        ("5 2\na 1 2\n", "contains 1 words, but its first line says 5"),
        ("5 2\n", "contains no words"),
        ("5 99999999999\na 1\n", "1: '5 99999999999"),
    ],
)
def test_a_line_that_is_none_is_named_by_its_number(tmp_path, text, message):
    with pytest.raises(BadModel, match=message):
        read_text_vectors(file(tmp_path, text))


@given(st.binary(max_size=60))
def test_any_bytes_are_a_table_or_an_error_of_ours(tmp_path_factory, data):
    path = file(tmp_path_factory.mktemp("any"), data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = read_text_vectors(path)
        except LikewiseError:
            return
    assert result.rows.shape == (len(result.words) + 1, result.rows.shape[1]) and np.isfinite(result.rows).all()


def test_of_equal_words_the_first_counts_and_the_others_are_reported(tmp_path):
    with pytest.warns(UserWarning, match="contains 2 repeated words"):
        result = read_text_vectors(file(tmp_path, "4 1\na 1\nb 2\na 3\na 4\n"))
    assert list(result.words) == ["a", "b"] and result.rows.tolist() == [[0], [1], [2]]


def test_a_text_file_by_its_name_is_the_mean_of_its_known_words(tmp_path):
    embedder = Embedder.load(glove(tmp_path))
    vectors = embedder.encode(["Cat, DOG; unheard", "STRASSE Straße"])
    np.testing.assert_allclose(vectors, [[5.5 / 3, 7 / 3, 8.9 / 3], [7, 8, 9]], rtol=1e-6)
    assert embedder.pieces(["Cat, DOG; unheard"]) == [["cat", ",", "dog"]]


def test_a_text_without_a_known_word_is_zeros_and_is_counted(tmp_path):
    embedder = Embedder.load(glove(tmp_path))
    with pytest.warns(UserWarning, match=r"3 of 4 texts contain no word .* is texts\[1\]"):
        vectors = embedder.encode(["cat", "unheard", "", "unheard"])
    assert vectors[0].tolist() == [1, 2, 3] and not vectors[1:].any()
    with pytest.warns(UserWarning, match="1 of 1"):
        assert embedder.encode_tokens(["?"])[0].tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("overflow", ["truncate", "error", "mean"])
def test_that_warning_is_not_about_length(tmp_path, overflow):
    embedder = Embedder.load(glove(tmp_path), max_seq_length=2)
    with pytest.warns(UserWarning, match="no word that this model knows"):
        embedder.encode(["unheard"], overflow=overflow)


def test_capitals_are_kept_where_the_table_has_some(tmp_path):
    embedder = Embedder.load(glove(tmp_path, "Paris 1 0\nparis 0 1\n"))
    assert embedder.encode(["Paris", "paris"]).tolist() == [[1, 0], [0, 1]]


def test_a_prompt_of_unknown_words_changes_nothing(tmp_path):
    embedder = Embedder.load(glove(tmp_path))
    assert np.array_equal(embedder.encode(["cat dog"], prompt="unheard "), embedder.encode(["cat dog"]))


def test_a_file_is_converted_once_and_again_when_it_changed(tmp_path, cache):
    path = file(tmp_path, TABLE)
    first = names.locate(f"avg-glove({path})")
    before = (first / "model.safetensors").stat().st_mtime_ns
    assert names.locate(f"avg-glove({path})") == first
    assert (first / "model.safetensors").stat().st_mtime_ns == before
    file(tmp_path, TABLE + "more 1 1 1\n")
    second = names.locate(f"avg-glove({path})")
    assert second != first and Embedder.load(second).encoder.vocabulary == 6
    assert all(not folder.name.startswith(".") for folder in cache.iterdir())


def test_of_two_that_convert_a_file_at_once_the_first_folder_stays(tmp_path, monkeypatch):
    name, read, loaded = glove(tmp_path), text_files.read_word_vectors, []

    def slowly(path):
        monkeypatch.setattr(text_files, "read_word_vectors", read)
        loaded.append(Embedder.load(name))  # another process, which is faster
        return read(path)

    monkeypatch.setattr(text_files, "read_word_vectors", slowly)
    second = Embedder.load(name)
    assert loaded[0].fingerprint == second.fingerprint  # raises if its files have changed


def test_a_broken_file_leaves_nothing_in_the_cache(tmp_path, cache):
    with pytest.raises(BadModel):
        names.locate(glove(tmp_path, "a 1 2\nb 1\n"))
    assert not cache.exists() or not list(cache.iterdir())


def test_a_cache_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKEWISE_CACHE", str(file(tmp_path, "x", "a-file")))
    with pytest.raises(BadInput, match="a-file"):
        names.locate(glove(tmp_path))


def test_without_a_setting_the_cache_is_in_the_users_own_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("LIKEWISE_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = names.locate(glove(tmp_path))
    assert folder.parent == tmp_path / ".cache" / "likewise"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("avg-glove(nowhere.txt)", "the file nowhere.txt: not found"),
        ("avg-glove()", r"avg-glove needs a file of word vectors: avg-glove\(PATH\)"),
        ("avg-fasttext", r"avg-fasttext needs a file of word vectors: avg-fasttext\(PATH\)"),
        ("avg-fasttext(/)", "the file /: it is a folder"),
    ],
)
def test_a_name_without_its_file_says_so(name, message):
    with pytest.raises(ModelNotFound, match=message):
        names.locate(name)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_carried_table_is_checked_and_converted_once(tmp_path, monkeypatch, order):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    rows = np.asfortranarray(np.float32([[1, 2, 3], [4, 5, 6]])) if order == "F" else np.float32([[1, 2, 3], [4, 5, 6]])
    np.save(tmp_path / "v.npy", rows)
    parquet.write_table(pyarrow.table({"index": ["cat", "dog"]}), tmp_path / "w.parquet")
    digest = __import__("hashlib").sha256((tmp_path / "v.npy").read_bytes()).hexdigest()
    monkeypatch.setattr(names, "_inside", lambda _: tmp_path)
    for sha256, fails in (("0" * 64, True), (digest, False)):
        packaged = names.PackagedModel("some-package", "some", "", sha256, "glove", "v.npy", "w.parquet")
        monkeypatch.setitem(names.PACKAGED_MODELS, "avg-glove", packaged)
        if fails:
            with pytest.raises(BadModel, match="download the model again"):
                Embedder.load("avg-glove")
        else:
            assert Embedder.load("avg-glove").encode(["dog cat"]).tolist() == [[2.5, 3.5, 4.5]]
    (tmp_path / "v.npy").unlink()
    assert Embedder.load("avg-glove").encode(["cat"]).tolist() == [[1, 2, 3]], "from the cache"


@pytest.mark.parametrize(
    "text", ["{", "[1]", '{"id": -1}', '{"id": true}', '{"ids": 1}', "{}", '{"id": 9}', '{"id": 0, "buckets": 5}']
)
@pytest.mark.usefixtures("unchecked")
def test_a_folder_whose_unknown_words_make_no_sense_is_refused(tmp_path, text):
    write_word_vectors(tmp_path, WordVectors(["a"], np.zeros((2, 3), np.float32)))
    (tmp_path / "unknown_words.json").write_text(text)
    with pytest.raises(BadModel, match="unknown"):
        Embedder.load(tmp_path)


def test_a_saved_table_is_the_same_model(tmp_path):
    embedder = Embedder.load(glove(tmp_path))
    embedder.save(tmp_path / "saved")
    again = Embedder.load(tmp_path / "saved")
    assert again.fingerprint == embedder.fingerprint
    assert np.array_equal(again.encode(["cat unheard dog"]), embedder.encode(["cat unheard dog"]))
    os.unlink(tmp_path / "saved/unknown_words.json")  # noqa: PTH108
    assert Embedder.load(tmp_path / "saved").fingerprint != embedder.fingerprint
    assert json.loads((tmp_path / "saved/config.json").read_text())["model_type"] == "words"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a 1\n", ["a"]),
        ("1 1\na 1\n", ["a"]),
        ("a 3.4028234663852886e38\n", ["a"]),
        ("a 1 2\n1984 1 2\n", ["a", "1984"]),  # a number may be a word
        ("1.5 1\n", ["1.5"]),  # no count and width
        ("5 1 2\n", ["5"]),
        ("a 1 2\nb 5x 1 2\n", ["a", "b 5x"]),
    ],
)
def test_widths_counts_and_numbers_at_their_bounds_are_read(tmp_path, text, words):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(read_text_vectors(file(tmp_path, text)).words) == words


def test_a_table_and_its_words_need_pyarrow_and_two_dimensions(tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    parquet.write_table(pyarrow.table({"index": ["cat", "dog"], "b": [1, 2]}), tmp_path / "w.parquet")
    for shape in ((2,), (3, 2)):
        np.save(tmp_path / "v.npy", np.zeros(shape))
        with pytest.raises(BadModel, match=re.escape(f"2 words, but an array of shape {shape}")):
            read_array_vectors(tmp_path, "w.parquet", "v.npy")
    np.save(tmp_path / "v.npy", np.array([[1.0, 2], [3, 4]]))
    result = read_array_vectors(tmp_path, "w.parquet", "v.npy")
    assert result.words == ["cat", "dog"] and result.rows.tolist() == [[0, 0], [1, 2], [3, 4]]
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtra, match=r"reading w.parquet.*pip install .*\[glove\]|glove"):
        read_array_vectors(tmp_path, "w.parquet", "v.npy")


@pytest.mark.parametrize(
    ("buckets", "unknown"),
    [
        (0, {"id": 0, "least": 0, "most": 0, "buckets": 0, "first": 0}),
        (4, {"id": 0, "least": 3, "most": 6, "buckets": 4, "first": 3}),
    ],
)
def test_the_folder_of_a_table_says_how_many_rows_are_words_and_n_grams(tmp_path, buckets, unknown):
    lengths = (unknown["least"], unknown["most"])
    write_word_vectors(tmp_path, WordVectors(["a", "b"], np.zeros((3 + buckets, 5), np.float32), *lengths))
    assert json.loads((tmp_path / "unknown_words.json").read_text()) == unknown
    assert json.loads((tmp_path / "config.json").read_text()) == {
        "model_type": "words", "vocab_size": 3, "hidden_size": 5, "ngram_buckets": buckets, "torch_dtype": "float32",
    }  # fmt: skip


def test_a_table_converted_by_an_earlier_version_is_found_again(cache):
    table = WordVectors(["a"], np.zeros((2, 3), np.float32))
    folder = converted_folder("avg-glove", "the key", lambda: table)
    assert folder == cache / "avg-glove-a9f6604809b798be"
    assert converted_folder("avg-glove", "the key", lambda: pytest.fail("converted again")) == folder
    assert converted_folder("avg-glove", "another", lambda: table) != folder
