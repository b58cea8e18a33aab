"""The excerpt is the part of a passage where the words of the query stand."""

from hypothesis import given
from hypothesis import strategies as st

from likewise.cli.index.search import best_excerpt, marked_excerpt, query_words, word_spans

TEXT = st.lists(st.sampled_from(["cat", "dog", "sleeps", "a", "·", "verylongword" * 3]), max_size=30).map(" ".join)


def test_the_words_of_the_query_are_marked():
    shown = marked_excerpt("The Cat sleeps.\nThe dog, too.", "how long do cat sleeps", 100)
    assert shown.plain == "The Cat sleeps. The dog, too."
    assert [shown.plain[span.start : span.end] for span in shown.spans] == ["Cat", "sleeps"]


def test_short_words_are_marked_only_where_there_are_no_others():
    assert query_words("go to the gym") == {"the", "gym"}
    assert query_words("to be") == {"to", "be"}


def test_a_long_passage_is_shown_where_most_different_words_stand():
    text = "cat " * 30 + "filler " * 20 + "the cat sleeps near a dog " + "filler " * 20
    shown = marked_excerpt(text, "cat sleeps dog", 60).plain
    assert "cat sleeps near a dog" in shown and shown.startswith("…") and shown.endswith("…") and len(shown) <= 60


@given(TEXT, st.integers(1, 60))
def test_no_excerpt_of_that_size_has_more_different_words(text, size):
    words = query_words("cat dog sleeps")
    start, stop = best_excerpt(text, words, size)
    assert 0 <= start <= stop <= len(text) and stop - start <= size

    def different(begin: int, end: int) -> int:
        return len({text[a:b] for a, b in word_spans(text, words) if begin <= a and b <= end})

    assert different(start, stop) == max(different(i, i + size) for i in range(max(1, len(text))))
