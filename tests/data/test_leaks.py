"""What training knows of a test: counted as a slow search counts it."""

import os
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from likewise.data.datasets import read_dataset
from likewise.data.leaks import find_leaks, normalized
from likewise.errors import BadInput
from likewise.evaluate.tasks.sts import STS_SETS

REAL = pytest.mark.skipif("LIKEWISE_DATA" not in os.environ, reason="LIKEWISE_DATA names no folder of data sets")

WORDS = st.sampled_from(["a", "A", " a", "b", "b.", "ﬁ", "FI", "ß", "SS", "…", "", "c\n d", "c d"])
PAIRS = st.lists(st.tuples(WORDS, WORDS), max_size=8).map(
    lambda rows: {"sentence1": [a for a, _ in rows], "sentence2": [b for _, b in rows]}
)


def slow(text, punctuation):
    """`normalized`, letter by letter."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    folded = " ".join(text.split())
    letters = "".join(x for x in folded if unicodedata.category(x)[0] in "LMN")
    return folded if punctuation else unicodedata.normalize("NFKC", letters) or folded


def texts_of(columns, punctuation):
    return {slow(text, punctuation) for values in columns.values() for text in values}


def pairs_of(columns, punctuation):
    rows = zip(*columns.values(), strict=True)
    return {tuple(sorted(slow(text, punctuation) for text in row)) for row in rows}


@given(PAIRS, PAIRS, st.booleans())
def test_leaks_are_counted_as_a_slow_search_counts_them(train, test, punctuation):
    (leak,) = find_leaks({"train": train}, {"test": test}, punctuation=punctuation)
    here, there = texts_of(train, punctuation), texts_of(test, punctuation)
    assert (leak.texts, leak.of_texts) == (len(here & there), len(there))
    known, requested = pairs_of(train, punctuation), pairs_of(test, punctuation)
    assert (leak.pairs, leak.of_pairs) == (len(known & requested), len(requested))
    assert leak.known == sum(a in here and b in here for a, b in requested)
    assert leak.pairs <= leak.known
    assert bool(leak.examples) == bool(leak.texts)


@given(st.text())
@example("A´")
def test_the_plain_form_is_plain_and_never_empty_where_there_is_something(text):
    for punctuation in (True, False):
        form = normalized(text, punctuation=punctuation)
        assert normalized(form, punctuation=punctuation) == form == slow(text, punctuation)
        assert bool(form) == bool(normalized(text))


def test_spelling_order_and_repetition_make_no_new_leak():
    train = {"sentence1": ["A  Cat", "a cat", "x"], "sentence2": ["the dog", "The Dog", "y"], "score": [1, 2, 3]}
    test = {"sentence1": ["The dog", "the DOG"], "sentence2": ["a cat", "A cat"]}
    (leak,) = find_leaks({"a": train}, {"b": test})
    assert (leak.texts, leak.of_texts, leak.pairs, leak.known, leak.of_pairs, leak.share) == (2, 2, 1, 1, 1, 1.0)
    assert leak.examples == (("The dog", "a cat"),)


def test_triplets_captions_and_plain_texts_are_compared_too():
    triplets = {"anchor": ["a"], "positive": ["b"], "negative": ["c"]}
    captions = {f"caption{i}": [text] for i, text in enumerate("abcde", 1)}
    texts = {"text": ["c", "z"], "label": [0, 1]}
    result = {(x.train, x.test): x for x in find_leaks({"t": triplets, "x": texts}, {"c": captions, "x": texts})}
    assert (result["t", "c"].pairs, result["t", "c"].of_pairs, result["t", "c"].known) == (2, 10, 3)
    assert (result["t", "x"].texts, result["t", "x"].of_pairs) == (1, 0)
    assert result["t", "x"].examples == (("c",),)
    assert result["x", "c"].pairs == 0


def test_tokenised_copies_are_found_by_their_letters():
    copy, own = {"text": ["it does n't work !"]}, {"text": ["It doesn't work!"]}
    assert find_leaks({"a": copy}, {"b": own})[0].texts == 0
    assert find_leaks({"a": copy}, {"b": own}, punctuation=False)[0].texts == 1
    assert find_leaks({"a": {"text": ["???"]}}, {"b": {"text": ["!"]}}, punctuation=False)[0].texts == 0


def test_three_shared_pairs_are_shown_or_if_there_are_none_three_shared_texts():
    train = {"sentence1": [*"edcba"], "sentence2": [*"EDCBA"]}
    (leak,) = find_leaks({"a": train}, {"b": {"sentence1": [*"abcde"], "sentence2": [*"xyzuv"]}})
    assert leak.pairs == 0 and len({*leak.examples} & {(text,) for text in "abcde"}) == len(leak.examples) == 3
    (leak,) = find_leaks({"a": train}, {"b": train})
    assert leak.examples == (("e", "E"), ("d", "D"), ("c", "C"))


def test_of_a_test_without_texts_nothing_leaks():
    (leak,) = find_leaks({"a": {"text": ["x"]}}, {"b": {"text": []}})
    assert (leak.of_texts, leak.share, leak.examples) == (0, 0, ())


def test_columns_without_texts_are_refused():
    with pytest.raises(BadInput, match="expected one of the columns text, sentence1.*found label"):
        find_leaks({"a": {"label": [1]}}, {})
    assert find_leaks({}, {}) == ()


@REAL
def test_sts_benchmark_s_training_pairs_are_in_the_older_test_sets():
    tests = {f"sts{year}": read_dataset(f"sts{year}/test") for year in range(12, 17)}
    result = find_leaks({"stsb": read_dataset("stsb/train")}, tests)
    assert [leak.pairs for leak in result] == [996, 596, 1822, 1102, 197]


@REAL
def test_the_cautions_of_the_tasks_count_rows_of_the_test_set_where_leaks_are_distinct_pairs():
    known = {frozenset(map(normalized, pair)) for pair in _pairs("stsb/train")}
    for name in ("sts12", "sts13", "sts14", "sts15", "sts16"):
        rows = sum(frozenset(map(normalized, pair)) in known for pair in _pairs(f"{name}/test"))
        assert f"{rows:,} of these pairs" in STS_SETS[name].caution


def _pairs(name):
    return list(zip(*(read_dataset(name)[side] for side in ("sentence1", "sentence2")), strict=True))


@REAL
def test_sts_benchmark_s_own_test_and_sick_s_are_not_new_to_training():
    train, test = read_dataset("stsb/train"), read_dataset("stsb/test")
    spelled = [set(part["sentence1"]) | set(part["sentence2"]) for part in (train, test)]
    assert (len(spelled[0] & spelled[1]), len(spelled[1])) == (257, 2552)  # byte for byte
    (leak,) = find_leaks({"train": train}, {"test": test})
    assert (leak.texts, leak.of_texts) == (256, 2551)  # in plain form
    assert find_leaks({"train": read_dataset("sick/train")}, {"test": read_dataset("sick/test")})[0].pairs == 73


@REAL
def test_mrpc_is_in_sts_benchmark_s_test():
    parts = [read_dataset("mrpc/train"), read_dataset("mrpc/test")]
    whole = {name: [*parts[0][name], *parts[1][name]] for name in ("sentence1", "sentence2")}
    test = read_dataset("stsb/test")
    assert find_leaks({"mrpc": whole}, {"stsb": test})[0].pairs == 250


@REAL
def test_flickr_s_captions_are_in_sts15():
    columns = read_dataset("flickr30k_captions/train")
    captions = {"text": [text for i in range(1, 6) for text in columns[f"caption{i}"]]}
    result = [
        find_leaks({"f": captions}, {"t": read_dataset("sts15/test")}, punctuation=exact)[0].texts
        for exact in (True, False)
    ]
    assert result == [1168, 1210]


def test_numbered_negatives_are_compared_too():
    train = {"anchor": ["a", "b"], "positive": ["p", "q"], "negative_1": ["x", "y"], "negative_2": ["z", "test"]}
    test = {"sentence1": ["test", "a"], "sentence2": ["other", "x"]}
    assert [leak.pairs for leak in find_leaks({"a": train}, {"b": test})] == [1]
