"""A cluster is named by words that are frequent in it and rare elsewhere, and shown by its most central texts."""

import math

import numpy as np
import pytest

from likewise.cluster import c_tf_idf_words, describe_clusters
from likewise.errors import BadInput

TEXTS = ["the red apple", "the green apple", "the fast car", "the slow car", "the car park", "the moon"]
LABELS = np.array([1, 1, 0, 0, 0, -1])
VECTORS = np.array([[1.0, 0], [3, 0.3], [0, 1], [0.1, 1], [0, 2], [1, -1]])


def test_the_words_of_a_cluster_come_before_those_of_all():
    cars, apples = c_tf_idf_words(TEXTS, LABELS, 3)
    assert cars[0] == "car" and apples[0] == "apple"
    assert "the" not in cars + apples


def test_verbs_and_numerals_that_are_everywhere_name_nothing():
    names = c_tf_idf_words(["get two trains", "trains go to get there", "take five", "rain"], np.array([0, 0, 1, 1]), 3)
    assert names == [("trains",), ("rain",)]


def test_words_of_two_letters_name_nothing():
    assert c_tf_idf_words(["ox cow", "ox", "pig"], np.array([0, 0, 1]), 3) == [("cow",), ("pig",)]


def test_equal_weights_are_in_the_order_of_the_alphabet():
    assert c_tf_idf_words(["zebra apple", "mango"], np.array([0, 1]), 2)[0] == ("apple", "zebra")


def test_of_forms_of_one_word_one_is_used():
    texts = ["header headers head", "headers header", "cat"]
    assert c_tf_idf_words(texts, np.array([0, 0, 1]), 3)[0] in [("header",), ("headers",)]


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [("parse", "parsing", True), ("file", "filename", True), ("directory", "directories", True), ("car", "cars", True),
     ("plant", "plank", True), ("plane", "plaid", False),
     ("container", "content", False), ("string", "strong", False), ("test", "text", False)],
)  # fmt: skip
def test_forms_of_a_word_begin_alike(a, b, same):
    names = c_tf_idf_words([f"{a} {b}", "other"], np.array([0, 1]), 2)
    assert (len(names[0]) == 1) == same


def test_a_text_counts_a_word_once():
    texts = ["spam spam spam spam egg", "egg", "fish"]
    assert c_tf_idf_words(texts, np.array([0, 0, 1]), 1)[0] == ("egg",)


def test_central_texts_are_the_nearest_to_the_mean_direction():
    cars, apples = describe_clusters(TEXTS, VECTORS, LABELS, central=2)
    assert (cars.number, cars.size, apples.number, apples.size) == (0, 3, 1, 2)
    directions = VECTORS[[2, 3, 4]] / np.linalg.norm(VECTORS[[2, 3, 4]], axis=1, keepdims=True)
    cosines = directions @ (directions.sum(0) / np.linalg.norm(directions.sum(0)))
    assert cars.central == tuple((2 + np.argsort(-cosines, kind="stable")[:2]).tolist())
    assert cars.cosine == pytest.approx(cosines.mean())


def test_no_clusters_have_no_names():
    assert c_tf_idf_words(TEXTS, np.full(6, -1)) == []
    assert describe_clusters([], np.empty((0, 2)), np.empty(0, int)) == []


def test_clusters_keep_their_numbers_if_some_are_missing():
    first, last = describe_clusters(["12", "34"], np.eye(2), np.array([4, 2]))
    assert [(first.number, first.name, first.central), (last.number, last.name, last.central)] == [
        (2, "cluster 3", (1,)), (4, "cluster 5", (0,)),
    ]  # fmt: skip


def test_a_name_has_three_words():
    texts = ["apple banana cherry dates", "river stone"]
    (name, _) = c_tf_idf_words(texts, np.array([0, 1]))
    assert name == ("apple", "banana", "cherry")
    assert describe_clusters(texts, np.eye(2), np.array([0, 1]))[0].words == name


def test_function_words_name_nothing_however_few_texts_there_are():
    texts = ["the box is with it", "a box with these things", "the app doesn’t load", "it's the app"]
    assert c_tf_idf_words(texts, np.array([0, 0, 1, 1])) == [("box",), ("app", "load")]


def test_a_word_of_many_texts_in_most_clusters_names_none_of_them():
    """This works in other languages too: "der" is in every cluster, and twice as frequent in the first as elsewhere."""
    nouns = ["hund", "baum", "fisch", "stein", "vogel"]
    texts = [
        f"der {noun} {noun}{i}" if i < 2 or noun == "hund" else f"{noun} {noun}{i}" for noun in nouns for i in range(8)
    ]
    labels = np.repeat(np.arange(5), 8)
    names = c_tf_idf_words(texts, labels, 1)
    assert names == [(noun,) for noun in nouns]
    assert all("der" not in name for name in c_tf_idf_words(texts, labels, 9))


def test_a_word_of_many_texts_in_one_cluster_names_it():
    texts = [f"hund {'abcdefgh'[i] * 4}" for i in range(8)] + [f"{'stuvwxyz'[i] * 4}" for i in range(8)]
    assert c_tf_idf_words(texts, np.repeat([0, 1], 8), 1)[0] == ("hund",)


@pytest.mark.usefixtures("unchecked")
def test_texts_may_be_any_iterable():
    expected = describe_clusters(TEXTS, VECTORS, LABELS)
    assert describe_clusters(iter(TEXTS), VECTORS, LABELS) == expected
    assert c_tf_idf_words(dict.fromkeys(TEXTS), LABELS) == c_tf_idf_words(TEXTS, LABELS)


def test_weights_are_those_of_the_paper():
    """tf(t, c) · log(1 + A / f(t)), by hand: 17 words in two clusters and the rest are 17/3 per cluster."""
    words = {"car": 3 * math.log(1 + 17 / 3 / 3), "fast": math.log(1 + 17 / 3 / 1)}
    assert words["car"] > words["fast"]
    assert c_tf_idf_words(TEXTS, LABELS, 9)[0] == ("car", "fast", "park", "slow")


def slow_words(texts, labels, count):
    """Word by word, as the docstring says, for words that do not begin with the same letters."""
    clusters = {label: [{*texts[i].split()} for i in np.flatnonzero(labels == label)] for label in {*labels.tolist()}}
    named = sorted(label for label in clusters if label >= 0)
    holds = {label: lambda word, rows=rows: sum(word in row for row in rows) for label, rows in clusters.items()}
    vocabulary = {word for text in texts for word in text.split()}
    size = {label: sum(map(len, rows)) for label, rows in clusters.items()}
    mean, names = sum(size.values()) / len(clusters), []
    for label in named:
        weights = {}
        for word in vocabulary:
            inside, everywhere = holds[label](word), sum(held(word) for held in holds.values())
            by_chance = sum(1 - (1 - everywhere / len(texts)) ** len(clusters[other]) for other in named)
            clusters_with_it = sum(holds[other](word) > 0 for other in named)
            common = everywhere / len(texts) >= 0.05 and clusters_with_it >= max(3, 0.8 * by_chance)
            others = sum(size.values()) - size[label]
            often = not others or inside * others > 2 * (everywhere - inside) * size[label]
            if inside and often and not common:
                weights[word] = inside * math.log(1 + mean / everywhere)
        names.append(tuple(sorted(weights, key=lambda word: (-weights[word], word))[:count]))
    return names


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("lowest", [-1, 0])
def test_words_are_those_of_weighing_each(seed, lowest):
    draw = np.random.default_rng(seed)
    vocabulary = np.array([letter * 3 for letter in "abcdefghijklmnopqrstuvwxyz"])
    labels = np.append(draw.integers(lowest, 1 + seed // 2, 59), 0)
    labels = np.unique(labels, return_inverse=True)[1] + min(lowest, labels.min())
    shares = 1 / np.arange(1, 27) / (1 / np.arange(1, 27)).sum()
    texts = []
    for label in labels:
        own = np.roll(vocabulary, 5 * label) if draw.random() < 0.7 else vocabulary
        texts.append(" ".join(draw.choice(own, draw.integers(1, 5), p=shares)))
    for count in (1, 4, 26):
        assert c_tf_idf_words(texts, labels, count) == slow_words(texts, labels, count)


def test_a_single_cluster_is_named_by_its_words():
    assert c_tf_idf_words(["blue whale", "blue sky"], np.array([0, 0]), 1) == [("blue",)]


def test_copies_have_a_cosine_of_one():
    (summary,) = describe_clusters(["a", "b"], np.full((2, 3), 0.1, np.float32), np.array([0, 0]))
    assert summary.cosine == pytest.approx(1, abs=1e-6) and summary.cosine <= 1


@pytest.mark.usefixtures("unchecked")
def test_columns_of_several_lengths_are_refused():
    with pytest.raises(BadInput, match="got 6 texts, 2 vectors, 6 labels"):
        describe_clusters(TEXTS, VECTORS[:2], LABELS)
