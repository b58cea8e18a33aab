"""Search by words: long queries are bounded and searched in parts, and what nobody waits for stops."""

from collections import Counter

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.runtime.cancellation import STEPS, Cancelled, cancellable
from likewise.search.collection import Collection
from likewise.search.collection.record_table import MOST_WORDS, WORDS_AT_ONCE
from likewise.search.records import Records

ROWS, VOCABULARY = 300, 200


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{i}" for i in rng.integers(VOCABULARY, size=12)) for _ in range(ROWS)]
    with Collection.create(str(tmp_path_factory.mktemp("words") / "c"), 2) as collection:
        metadata = [{"odd": bool(i % 2)} for i in range(ROWS)]
        collection.add(Records([str(i) for i in range(ROWS)], np.ones((ROWS, 2), np.float32), texts, metadata))
        yield collection


@pytest.mark.parametrize("where", [None, "odd = true"])
@pytest.mark.parametrize("count", [1, WORDS_AT_ONCE, WORDS_AT_ONCE + 1, VOCABULARY])
def test_the_score_of_a_query_is_the_sum_of_the_scores_of_its_words(count, where, collection):
    words = [f"w{i}" for i in range(count)]
    expected = Counter()
    for word in words:
        expected.update(dict(collection.search_words(word, ROWS, where)))
    found = collection.search_words(" ".join(words), ROWS, where)
    assert {match.id for match in found} == {*expected}
    np.testing.assert_allclose([match.score for match in found], [expected[match.id] for match in found])
    assert [match.score for match in found] == sorted((match.score for match in found), reverse=True)


def test_a_query_of_too_many_words_is_refused_with_the_limit(collection):
    assert collection.search_words(" ".join(f"w{i}" for i in range(MOST_WORDS)))
    with pytest.raises(BadInput, match=r"has 1,025 different words, but keyword search takes at most 1,024"):
        collection.search_words(" ".join(f"w{i}" for i in range(MOST_WORDS + 1)))


def test_ten_are_found_by_default(collection):
    found = collection.search_words("w1 w2 w3", ROWS)
    assert len(found) > 11 and collection.search_words("w1 w2 w3") == found[:10]


def test_repeated_words_count_once(collection):
    assert collection.search_words("w1 w2 " * MOST_WORDS) == collection.search_words("w1 w2")


def test_a_search_that_is_cancelled_stops_in_the_middle_of_its_statement(collection):
    asked, words = [], " ".join(f"w{i}" for i in range(VOCABULARY))
    with cancellable(lambda: asked.append(1) or len(asked) >= 3), pytest.raises(Cancelled):
        collection.search_words(words, ROWS)
    assert len(asked) == 3, f"of all {STEPS} steps"
    assert collection.search_words(words, ROWS), "the next one is not"


def test_a_search_of_vectors_that_is_cancelled_stops(collection):
    queries = np.ones((1, 2), np.float32)
    with cancellable(lambda: True), pytest.raises(Cancelled):
        collection.search(queries)
    assert len(collection.search(queries, 3)[0]) == 3


def test_what_is_written_changes_the_version(tmp_path):
    with Collection.create(str(tmp_path / "c"), 2) as collection:
        one = Records(["a"], np.ones((1, 2), np.float32), ["a"])
        versions = [collection.version()]
        for change in (lambda: collection.add(one), lambda: collection.upsert(one), lambda: collection.delete(["a"])):
            change()
            versions.append(collection.version())
        assert versions == sorted({*versions})
