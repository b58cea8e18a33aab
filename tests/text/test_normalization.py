"""The form in which texts are compared."""

import pytest

from likewise.text.normalization import normalized


@pytest.mark.parametrize(
    ("text", "with_punctuation", "without"),
    [
        (" A\tCat \n", "a cat", "acat"),
        ("it's 5!", "it's 5!", "its5"),
        ("?!", "?!", "?!"),
        (" … ", "...", "..."),
        ("", "", ""),
        ("STRASSE straße", "strasse strasse", "strassestrasse"),
        ("e\u0301", "é", "é"),
    ],
)
def test_case_spaces_and_compatible_letters_are_one_and_punctuation_goes_unless_it_is_all(
    text, with_punctuation, without
):
    assert (normalized(text), normalized(text, punctuation=False)) == (with_punctuation, without)
