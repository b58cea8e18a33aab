"""Triplets: the positive has to be strictly nearer."""

import math

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.evaluate.task import EvaluationSettings
from likewise.evaluate.tasks import triplets as module
from likewise.evaluate.tasks.triplets import DATA, MAX_ACCURACY, TRIPLET_TASKS
from tests.evaluate.sample_pairs import letters, made


def columns(n=60):
    result = made(3 * n)
    sides = {
        name: result["sentence1"][i * n : (i + 1) * n] for i, name in enumerate(("anchor", "positive", "negative"))
    }
    return {**sides, "split": ["test", "train", "test"] * (n // 3), "article_id": [i // 7 for i in range(n)]}


def run(data, encode=letters, **settings):
    return TRIPLET_TASKS[0].run(encode, {DATA: data}.__getitem__, EvaluationSettings(**settings))


def slowly(data, kind):
    """For one triplet after the other, whether it is correct (1 or 0), and its article."""
    distance = {
        "euclidean": math.dist,
        "manhattan": lambda a, b: sum(abs(x - y) for x, y in zip(a, b, strict=True)),
        "cosine": lambda a, b: 1 - a @ b / math.sqrt((a @ a) * (b @ b)),
    }[kind]
    hits = []
    for *texts, split, article in zip(*data.values(), strict=True):
        if split == "test":
            a, p, n = letters(texts).astype(float)
            hits.append((1 if distance(a, p) < distance(a, n) else 0, article))
    return hits


def test_each_accuracy_is_the_share_of_its_distance_on_the_test_split():
    data = columns()
    result = run(data)
    assert result.headline.name == "accuracy/euclidean" and result.headline.n == 40
    shares = []
    for kind in ("euclidean", "cosine", "manhattan"):
        hits = [hit for hit, _ in slowly(data, kind)]
        shares.append(sum(hits) / len(hits))
        assert result[f"accuracy/{kind}"] == pytest.approx(shares[-1])
        evidence = next(s for s in result.scores if s.name == f"accuracy/{kind}").evidence
        assert evidence.values.tolist() == hits and evidence.groups is None
    assert result[MAX_ACCURACY] == max(shares)


def test_articles_are_averaged_where_the_file_names_them():
    data = columns()
    hits = slowly(data, "euclidean")
    means = [np.mean([hit for hit, of in hits if of == article]) for article in {of for _, of in hits}]
    assert run(data)["accuracy/euclidean/mean of articles"] == pytest.approx(np.mean(means))
    del data["article_id"]
    assert "accuracy/euclidean/mean of articles" not in [score.name for score in run(data).scores]


def test_a_tie_is_wrong_and_counted():
    result = run(columns(), lambda texts: np.ones((len(texts), 3), np.float32))
    assert [score.value for score in result.scores] == [0] * 5
    assert sum("40 of 40 triplets are ties" in note for note in result.notes) == 3


def test_blocks_change_nothing(monkeypatch):
    whole = run(columns())
    monkeypatch.setattr(module, "_BLOCK", 13)  # the last block has one triplet
    assert [s.value for s in run(columns()).scores] == [s.value for s in whole.scores]


def test_only_the_papers_set_is_comparable(monkeypatch):
    assert run(columns()).notes == ("40 triplets, not Dor et al.'s 222,957: not comparable with the papers' scores",)
    monkeypatch.setattr(module, "LITERATURE", 40)
    assert run(columns()).notes == ()


def test_vectors_beyond_all_size_are_wrong_and_no_crash():
    assert run(columns(), lambda texts: letters(texts).astype(float) * 1e200)["accuracy/euclidean"] <= 1


def test_lower_casing_is_done_and_said():
    seen = []
    result = run(columns(), lambda texts: (seen.extend(texts), letters(texts))[1], lowercase=True)
    assert not any(c.isupper() for text in seen for c in text) and "lower-cased" in result.protocol


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"split": ["train"] * 60}, 'no triplets in the split "test"'),
        ({"negative": None}, "expected one named negative"),
    ],
)
def test_a_file_that_is_not_such_triplets_is_refused(change, message):
    data = {key: value for key, value in {**columns(), **change}.items() if value is not None}
    with pytest.raises(BadInput, match=message):
        run(data)
