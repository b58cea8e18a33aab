"""What is counted of texts that are too long."""

from typing import get_args

import numpy as np
import pytest

from likewise.errors import BadInput, TooLong
from likewise.text.truncation import Overflow, TruncationCounter, TruncationReport


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
    assert tally.cut == 1


@pytest.mark.parametrize("overflow", get_args(Overflow))
def test_texts_that_fit_are_never_spoken_of(overflow):
    tally = TruncationCounter(10, overflow)
    tally.add([0, 10])
    tally.add([])
    tally.warn()
    assert (tally.texts, tally.cut) == (2, 0)


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_policy_is_refused_with_the_list_of_them():
    with pytest.raises(BadInput, match="expected one of error, warn, truncate, mean"):
        TruncationCounter(10, "cut")  # type: ignore[arg-type]
