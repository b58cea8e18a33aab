"""Words are folded once: what differs in case, form or accents alone is one word, and in texts as in queries."""

import re
import sys
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.search.bm25 import BM25Index
from likewise.search.collection import Collection
from likewise.search.records import Records
from likewise.text.words import WORD, fold, folded_words, spans_of_words

pytestmark = pytest.mark.usefixtures("unchecked")
SAME = [
    ("\u0130stanbul", "istanbul"),
    ("\u0130STANBUL", "\u0131stanbul"),
    ("Straße", "STRASSE"),
    ("E\u0301te\u0301", "été"),
    ("ÉTÉ", "ete"),
    ("ΟΔΟΣ", "οδός"),
    ("ёлка", "ЕЛКА"),
    ("мой", "мои\u0306"),
    ("مُحَمَّد", "محمد"),
    ("أحمد", "احمد"),
    ("مـحـمد", "محمد"),
    ("שָׁלוֹם", "שלום"),
    ("हिन्दी", normalize("NFD", "हिन्दी")),
    ("क़लम", normalize("NFC", "क़लम")),
    ("น้ำ", normalize("NFKD", "น้ำ")),
    ("日本語", "日本語"),
    ("ガス", normalize("NFD", "ガス")),
    ("ｶﾞｽ", "ガス"),
    ("한국어", normalize("NFD", "한국어")),
    ("ＦＵＬＬ", "full"),
    ("ﬁle", "FILE"),
    ("co\u00adoperate", "cooperate"),
    ("می\u200cخواهم", "میخواهم"),
    ("👩🏽\u200d🚀", "👩\u200d🚀"),
    ("❤\ufe0f", "❤"),
    ("Việt", "Vie\u0302\u0323t"),
    ("a\u0338b", "ab"),
    ("א\u05b0ב", "אב"),
    ("ܐ\u0711ܒ", "ܐܒ"),
]
DIFFERENT = [
    ("की", "का"),
    ("किताब", "कताब"),
    ("ใกล้", "ใกล"),
    ("มา", "ม้า"),
    ("か", "が"),
    ("ハ", "パ"),
    ("ქ", "კ"),
    ("한", "하"),
    ("क्ल", "कल"),
    ("🚀", "🎉"),
    ("שלום", "שלומ"),
]
TEXTS = sorted({text for pair in (*SAME, *DIFFERENT) for text in pair})


@pytest.mark.parametrize(("one", "other"), SAME)
def test_forms_of_one_word_are_folded_alike(one, other):
    assert folded_words(one) == folded_words(other) != []


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_marks_that_tell_words_apart_are_kept(one, other):
    assert folded_words(one) != folded_words(other)


def test_characters_that_only_change_how_a_letter_looks_are_ignored():
    for code in (0x34F, 0x640, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)):
        assert folded_words(f"a{chr(code)}b") == ["ab"], hex(code)
    for code in (0x63F, 0x641, 0x180A, 0x1810, 0xFDFF, 0xFE10, 0xE01F0):
        assert folded_words(f"a{chr(code)}b") != ["ab"], hex(code)


def test_words_are_separated_by_signs_and_blanks_of_any_script():
    text = "It\u2019s “so”—a\u3000b，c。d\u200be snake_case x² 🚀🚀"
    assert folded_words(text) == ["it", "s", "so", "a", "b", "c", "d", "e", "snake_case", "x2", "🚀", "🚀"]
    assert folded_words("… !? —") == [] == folded_words("")


def test_no_character_depends_on_its_form_or_case_or_on_being_folded_before():
    for code in range(sys.maxunicode + 1):
        if not 0xD800 <= code < 0xE000 and (code < 0x3400 or code % 7 == 0):
            text = f"a{chr(code)}b"
            words = folded_words(text)
            forms = (*(normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")), text.upper(), text.casefold())
            for other in (*forms, " ".join(words)):
                assert folded_words(other) == words, hex(code)


@given(st.text(), st.text())
def test_a_text_is_folded_the_same_alone_and_beside_another(one, other):
    assert folded_words(f"{one} {other}") == folded_words(one) + folded_words(other)
    assert folded_words(fold(one)) == folded_words(one)


@given(st.text())
def test_spans_of_words_cover_the_words_of_a_text(text):
    assert [word for start, stop in spans_of_words(text) for word in folded_words(text[start:stop])] == folded_words(
        text
    )


@given(st.text(st.sampled_from("ab_9-'.,() \n")))
def test_ascii_words_are_runs_of_letters_digits_and_underscores(text):
    assert folded_words(text.upper()) == re.findall(r"\w+", text) == WORD.findall(fold(text))


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """A collection of a text a script, each in the forms that Unicode has for it."""
    texts = [normalize(form, text) for text in TEXTS for form in ("NFC", "NFD")]
    with Collection.create(str(tmp_path_factory.mktemp("words") / "scripts"), 4) as collection:
        ids = [f"{i}" for i in range(len(texts))]
        collection.add(Records(ids, np.ones((len(texts), 4), np.float32), texts))
        yield collection, texts


def test_a_text_is_found_by_the_words_of_an_equal_query_of_any_script_and_form(scripts):
    collection, texts = scripts
    index = BM25Index.of(texts)
    for i, text in enumerate(texts):
        for form in ("NFC", "NFD"):
            query = normalize(form, text)
            found = {match.id for match in collection.search_words(query, len(texts))}
            assert str(i) in found, ascii(text)
            assert found == {str(row) for row in index.nearest(query, len(texts))[0]}, ascii(text)
    assert collection.verify().is_clean


def test_texts_of_any_script_are_deleted_from_the_full_text(tmp_path):
    with Collection.create(str(tmp_path / "x"), 4) as collection:
        ids = [f"{i}" for i in range(len(TEXTS))]
        collection.add(Records(ids, np.ones((len(TEXTS), 4), np.float32), TEXTS))
        collection.upsert(Records(ids, np.ones((len(TEXTS), 4), np.float32), ["other"] * len(TEXTS)))
        assert not any(collection.search_words(text) for text in TEXTS)
        assert len(collection.search_words("other", 999)) == len(TEXTS) and collection.verify().is_clean
