"""The excerpt is the part of a passage where the words of the query stand."""

from hypothesis import given
from hypothesis import strategies as st

from likewise.cli import terminal_tables
from likewise.cli.index.search import best_excerpt, marked, query_words, shown_excerpt, word_spans

TEXT = st.lists(st.sampled_from(["cat", "dog", "sleeps", "a", "·", "verylongword" * 3]), max_size=30).map(" ".join)


def test_the_words_of_the_query_are_marked(monkeypatch):
    monkeypatch.setattr(terminal_tables, "shows_colours", lambda: True)
    shown = marked("The Cat sleeps. The dog, too.", query_words("how long do cat sleeps"))
    assert shown == "The \x1b[1;32mCat\x1b[0m \x1b[1;32msleeps\x1b[0m. The dog, too."


def test_short_words_are_marked_only_where_there_are_no_others():
    assert query_words("go to the gym") == {"the", "gym"}
    assert query_words("to be") == {"to", "be"}


def test_a_long_passage_is_shown_where_most_different_words_stand():
    text = "cat " * 30 + "filler " * 20 + "the cat sleeps near a dog " + "filler " * 20
    shown = shown_excerpt(text, query_words("cat sleeps dog"), 60)
    assert "cat sleeps near a dog" in shown and shown.startswith("…") and shown.endswith("…") and len(shown) <= 60


@given(TEXT, st.integers(1, 60))
def test_no_excerpt_of_that_size_has_more_different_words(text, size):
    words = query_words("cat dog sleeps")
    start, stop = best_excerpt(text, words, size)
    assert 0 <= start <= stop <= len(text) and stop - start <= size

    def different(begin: int, end: int) -> int:
        return len({text[a:b] for a, b in word_spans(text, words) if begin <= a and b <= end})

    assert different(start, stop) == max(different(i, i + size) for i in range(max(1, len(text))))
