"""The plain Python tokenizer gives the ids of Hugging Face's library, and so of the compiled one, for its pipelines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import BadModel
from likewise.native.tokenizing import EncodedTexts
from likewise.text import tokenizer as tokenizer_module
from likewise.text.reference_tokenizer import ReferenceTokenizer
from likewise.text.tokenizer import Tokenizer
from tests.native.test_tokenizing import CORPUS, PIECES, PIPELINES

LACKS = ("precompiled", "deberta")
LETTERS = "aZ09 .,'-_\n\té中ßΣς한ก가猫кÀ½²①١٣अ्🐈\u00a0\u2028$+"
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(LETTERS, max_size=6)), max_size=10).map("".join)


@pytest.fixture(scope="module", params=[name for name in PIPELINES if name not in LACKS])
def pair(request):
    library = PIPELINES[request.param]()
    return library, ReferenceTokenizer(library.to_str())


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_ids_are_those_of_the_library(pair, text):
    library, ours = pair
    (wanted,) = library.encode_batch([text], add_special_tokens=False)
    assert ours.encode([text]).ids.tolist() == wanted.ids


# no quotation marks: where a pipeline replaces two of them by one, the library's span is that of the second only
@given(st.text("aZ09 .,-_\n\té中ßк🐈", max_size=20))
@settings(max_examples=100, deadline=None)
def test_spans_and_words_of_composed_letters_are_those_of_the_library(pair, text):
    library, ours = pair
    (wanted,) = library.encode_batch([text], add_special_tokens=False)
    found = ours.encode_with_spans(text)
    assert found.ids.tolist() == wanted.ids
    assert [tuple(span) for span in found.spans.tolist()] == wanted.offsets
    grouped = [wanted.word_ids.index(word) for word in wanted.word_ids]
    assert [found.words.tolist().index(word) for word in found.words.tolist()] == grouped


@pytest.mark.parametrize("name", LACKS)
def test_what_it_lacks_is_refused_by_name(name):
    with pytest.raises(BadModel, match="the normalizer '(Precompiled|Nmt)' is not supported in plain Python"):
        ReferenceTokenizer(PIPELINES[name]().to_str())


def test_words_that_are_too_long_are_told_by_their_place(pair):
    library, ours = pair
    found = ours.encode(["a " + "b" * 30, "x", "c" * 21])
    assert isinstance(found, EncodedTexts)
    if "max_input_chars_per_word" in library.to_str():
        assert [(i, length) for i, _, length in found.long_words.tolist()] == [(0, 30), (2, 21)]
    else:
        assert not len(found.long_words)


def test_without_the_compiled_library_plain_python_takes_over(tmp_path, monkeypatch):
    library = PIPELINES["bert"]()
    library.save(str(tmp_path / "tokenizer.json"))
    native = Tokenizer.load(tmp_path, 64)
    monkeypatch.setenv("LIKEWISE_NATIVE_LIBRARY", str(tmp_path / "none.so"))
    tokenizer_module._engine.cache_clear()
    monkeypatch.setattr("likewise.native.tokenizing.load_library", unavailable)
    plain = Tokenizer.load(tmp_path, 64)
    tokenizer_module._engine.cache_clear()
    assert isinstance(plain.engine, ReferenceTokenizer)
    assert plain.token_ids(CORPUS) == [e.ids for e in library.encode_batch(list(CORPUS), add_special_tokens=False)]
    assert plain.token_ids(CORPUS) == native.token_ids(CORPUS)


def unavailable():
    from likewise.errors import NativeUnavailable

    raise NativeUnavailable("there is none")
