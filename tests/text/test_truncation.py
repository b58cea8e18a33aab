"""What is counted of texts that are too long."""

import inspect
from typing import get_args

import numpy as np
import pytest

from likewise.errors import BadInput, TooLong
from likewise.text.truncation import (
    Overflow,
    TruncationCounter,
    TruncationReport,
    caller_stacklevel,
    longest_words,
)


def test_a_report_says_what_is_lost_and_where():
    report = TruncationReport(tokens=np.array([3, 12, 10, 30]), used=np.array([3, 10, 10, 10]))
    assert report.lost.tolist() == [0, 2, 0, 20]
    assert report.cut.tolist() == [1, 3]


def test_the_index_of_a_text_that_is_too_long_counts_from_the_first_text_of_all():
    tally = TruncationCounter(10, "error")
    tally.add([1, 2, 10])
    with pytest.raises(TooLong, match=r'texts\[4\] has 1,100 tokens, and the model reads 10\. .*overflow="mean"'):
        tally.add([3, 1100, 5000])


def test_a_warning_says_how_many_were_cut_which_first_and_how_to_go_on():
    tally = TruncationCounter(10, "warn")
    tally.add([1, 11])
    tally.add([5, 2000, 3])
    with pytest.warns(UserWarning, match="2 of 5 texts were truncated to the 10 tokens") as caught:
        tally.warn()
    assert "texts[1], the longest has 2,000 tokens" in str(caught[0].message)
    assert 'overflow="mean"' in str(caught[0].message)
    assert 'overflow="truncate"' in str(caught[0].message)


@pytest.mark.parametrize("overflow", ["truncate", "mean"])
def test_the_other_policies_are_silent(overflow):
    tally = TruncationCounter(10, overflow)
    tally.add([100])
    tally.warn()
    assert tally.cut.count == 1


@pytest.mark.parametrize("overflow", get_args(Overflow))
def test_texts_that_fit_are_never_spoken_of(overflow):
    tally = TruncationCounter(10, overflow)
    tally.add([0, 10])
    tally.add([])
    tally.warn()
    assert (tally.texts, tally.cut.count) == (2, 0)


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_policy_is_refused_with_the_list_of_them():
    with pytest.raises(BadInput, match="expected one of error, warn, truncate, mean"):
        TruncationCounter(10, "cut")  # type: ignore[arg-type]


def test_long_words_are_counted_with_their_first_text_and_longest_word():
    counter = TruncationCounter(10, "mean", word_limit=100)
    counter.add([1, 2, 3], {2: 150, 1: 120})
    counter.add([4], {0: 130})
    assert counter.texts == 4
    reported = r"3 of 4 texts have words of more than 100 characters.*texts\[1\], the longest word has 150 characters"
    with pytest.warns(UserWarning, match=reported):
        counter.warn()
    silent = TruncationCounter(10, "truncate", word_limit=100)
    silent.add([1], {0: 120})
    silent.warn()


@pytest.mark.parametrize(
    ("lengths", "words", "message"),
    [
        (
            [1, 5, 99],
            {1: 120},
            r"texts\[1\] has a word of 120 characters, and the tokenizer accepts words of up to 100",
        ),
        ([1, 99, 5], {2: 120}, r"texts\[1\] has 99 tokens, and the model reads 10"),
        ([1, 99, 5], {1: 120}, r"texts\[1\] has 99 tokens"),
        ([1, 2], {0: 120}, r"texts\[0\] has a word"),
    ],
)
def test_the_first_text_that_loses_something_is_named(lengths, words, message):
    with pytest.raises(TooLong, match=message):
        TruncationCounter(10, "error", word_limit=100).add(lengths, words)


def test_texts_without_a_known_word_are_counted_where_they_are_skipped():
    counter = TruncationCounter(10, "warn", skips=True)
    counter.add([1, 0, 2, 0])
    counter.add([0])
    with pytest.warns(UserWarning, match=r"3 of 5 texts contain no word .*texts\[1\]\)"):
        counter.warn()
    other = TruncationCounter(10, "warn")
    other.add([0])
    assert other.empty.count == 0


def test_the_longest_unread_word_of_each_text_is_looked_up_through_repeated_texts():
    unread = np.array([(0, 1, 120), (0, 4, 150), (2, 0, 101)])
    assert longest_words(unread) == {0: 150, 2: 101}
    assert longest_words(unread, np.array([1, 2, 0, 2])) == {1: 101, 2: 150, 3: 101}
    assert longest_words(unread[:0], np.array([0])) == {}


def test_a_warning_points_at_the_line_that_called_the_package():
    plain = inspect.unwrap(caller_stacklevel)  # without the check of types, which is a frame of its own
    names = {"__name__": "likewise.somewhere", "plain": plain}
    exec("def inner():\n    return plain()\ndef outer():\n    return inner()", names)
    assert names["outer"]() == 3 and names["inner"]() == 2
    assert plain() == 1
