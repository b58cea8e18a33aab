"""Translations and answers in a few made-up languages, compared with scikit-learn's metrics and plain loops."""

import numpy as np
import pytest
import sklearn.metrics

from likewise.errors import BadInput
from likewise.evaluate import evaluate
from likewise.evaluate.task import EvaluationSettings
from likewise.evaluate.tasks import languages
from likewise.evaluate.tasks.languages import LANGUAGE_TASKS, QUESTIONS, SENTENCES, TATOEBA, TATOEBA_LANGUAGES
from tests.evaluate.sample_pairs import needs_data
from tests.evaluate.sample_pairs import parquet as real

TASKS = {task.name: task for task in LANGUAGE_TASKS}
COUNTS = (5, 3, 6, 2, 4, 7, 5)
"""The number of sentences per language; they differ, so means over languages and over sentences differ too."""
SPOKEN = ("aa", "bb", "cc")


def meaning(texts):
    """The vector of the number in a text, perturbed by the rest of the text: right more often than not."""
    rows = []
    for text in texts:
        number, noise = np.random.default_rng([7, int(text.split()[-1])]), np.random.default_rng([*text.encode()])
        rows.append(number.normal(size=6) + 0.7 * noise.normal(size=6))
    return np.array(rows, np.float32)


def translations():
    rows = [(name, i) for name, count in zip(TATOEBA_LANGUAGES, COUNTS, strict=True) for i in range(count)]
    rows = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))] + [("afr", 0)]
    return {
        "lang": [name for name, _ in rows],
        "sentence1": [f"{name} sentence {i}" for name, i in rows],
        "sentence2": [f"english of {name} {i}" for name, i in rows],
    }


def answers():
    """Four questions in three languages; some answers are shared, and one language splits its text differently.

    A fourth language has no questions.
    """
    found = {
        SENTENCES: [
            (name, f"0-{i}", f"{name} says {i}") for name in (*SPOKEN, "dd") for i in range(6 if name == "aa" else 5)
        ],
        QUESTIONS: [
            (name, f"q{q}", f"{name} asks {i}", f"0-{i}")
            for name in SPOKEN
            for q, i in enumerate((0, 2, 2, 5 if name == "aa" else 4))
        ],
    }
    columns = {SENTENCES: ("lang", "id", "text"), QUESTIONS: ("lang", "id", "text", "answer_sentence")}
    return {
        file: dict(zip(columns[file], map(list, zip(*rows, strict=True)), strict=True)) for file, rows in found.items()
    }


DATA = {TATOEBA: translations(), **answers()}


def run(name, encode=meaning, data=DATA):
    return TASKS[name].run(encode, data.__getitem__, EvaluationSettings())


def cosine(a, b):
    return float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))


def accuracy_slowly(language, queries, documents):
    rows = [i for i, name in enumerate(DATA[TATOEBA]["lang"]) if name == language]
    right = 0
    for i in rows:
        one = meaning([DATA[TATOEBA][queries][i]])[0].astype(float)
        scores = {j: cosine(one, meaning([DATA[TATOEBA][documents][j]])[0].astype(float)) for j in rows}
        right += max(scores, key=scores.get) == i
    return right / len(rows)


def test_a_translation_is_found_if_it_is_the_nearest_of_its_language():
    result = run("tatoeba")
    there = {name: accuracy_slowly(name, "sentence1", "sentence2") for name in TATOEBA_LANGUAGES}
    back = {name: accuracy_slowly(name, "sentence2", "sentence1") for name in TATOEBA_LANGUAGES}
    assert 0 < np.mean(list(there.values())) < 1 and there != back
    assert result.headline.name == "accuracy/mean" and result.headline.n == sum(COUNTS)
    assert result.headline.value == pytest.approx(np.mean(list(there.values())))
    assert result["accuracy/from eng/mean"] == pytest.approx(np.mean(list(back.values())))
    for name in TATOEBA_LANGUAGES:
        assert result[f"accuracy/{name}"] == there[name] and result[f"accuracy/from eng/{name}"] == back[name]


def questions_slowly(own):
    """For each question, scikit-learn's average precision and nDCG over all sentences or those in its language."""
    asked, told = DATA[QUESTIONS], DATA[SENTENCES]
    values = []
    for language, question, text in zip(asked["lang"], asked["id"], asked["text"], strict=True):
        right = {
            (name, answer)
            for name, other, answer in zip(asked["lang"], asked["id"], asked["answer_sentence"], strict=True)
            if other == question
        }
        pool = [i for i, name in enumerate(told["lang"]) if name == language or not own]
        truth = [(told["lang"][i], told["id"][i]) in right for i in pool]
        one = meaning([text])[0].astype(float)
        scores = [cosine(one, row.astype(float)) for row in meaning([told["text"][i] for i in pool])]
        ndcg = sklearn.metrics.ndcg_score([truth], [scores], k=10)
        values.append((language, sklearn.metrics.average_precision_score(truth, scores), ndcg))
    return values


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("block", [3, 256])
def test_answers_have_scikit_learns_scores(own, block, monkeypatch):
    monkeypatch.setattr(languages, "QUERIES", block)
    result, expected = run("xquad-r"), questions_slowly(own)
    assert result.headline.name == "map/mean" and result.headline.n == 12
    for column, metric in enumerate(("map", "ndcg@10"), 1):
        name = f"{metric}/own language" if own else metric
        assert 0.2 < result[f"{name}/mean"] < 0.999
        assert result[f"{name}/mean"] == pytest.approx(np.mean([row[column] for row in expected]))
        for language in SPOKEN:
            of_language = [row[column] for row in expected if row[0] == language]
            assert result[f"{name}/{language}"] == pytest.approx(np.mean(of_language))


@pytest.mark.parametrize("name", TASKS)
def test_every_score_is_the_mean_of_its_evidence(name):
    for score in run(name).scores:
        values, groups = score.evidence.values, score.evidence.groups
        parts = [values] if groups is None else [values[groups == group] for group in np.unique(groups)]
        assert score.value == pytest.approx(np.mean([part.mean() for part in parts])) and score.n == len(values)


def test_questions_and_sentences_are_encoded_as_queries_and_documents():
    class Prompted:
        def encode(self, texts):
            raise AssertionError("there is no need of vectors without a role")

        def encode_query(self, texts):
            assert set(texts) <= set(DATA[QUESTIONS]["text"])
            return meaning(texts)

        def encode_document(self, texts):
            assert set(texts) <= set(DATA[SENTENCES]["text"])
            return meaning(texts)

    cell = evaluate({"prompted": Prompted()}, "xquad-r", read=DATA.__getitem__)["prompted", "xquad-r"]
    assert cell.result is not None, cell.error
    assert cell.value == run("xquad-r").headline.value


def test_a_model_is_fitted_on_questions_and_sentences_alike():
    class Fitted:
        def fitted(self, texts):
            assert set(texts) == {*DATA[QUESTIONS]["text"], *DATA[SENTENCES]["text"]}
            return meaning

    cell = evaluate({"fitted": Fitted()}, "xquad-r", read=DATA.__getitem__)["fitted", "xquad-r"]
    assert cell.result is not None, cell.error


def changed(file, column, values):
    return {**DATA, file: {**DATA[file], column: values}}


def test_data_that_do_not_fit_are_named():
    without = {**DATA, TATOEBA: {key: of[:1] for key, of in translations().items()}}
    with pytest.raises(BadInput, match=f"{TATOEBA} has no row whose lang is deu or "):
        run("tatoeba", data=without | {TATOEBA: {**without[TATOEBA], "lang": ["afr"]}})
    with pytest.raises(BadInput, match=f"{TATOEBA} has the columns lang, sentence1; expected one named sentence2"):
        run("tatoeba", data={TATOEBA: {"lang": [], "sentence1": []}})
    unknown = [*DATA[QUESTIONS]["answer_sentence"][:-1], "9-9"]
    with pytest.raises(BadInput, match=r"questions, row 11: the answer to question 'q3' is sentence '9-9' in 'cc'"):
        run("xquad-r", data=changed(QUESTIONS, "answer_sentence", unknown))


@needs_data
def test_the_real_questions_have_an_answer_in_each_language():
    aliases = {SENTENCES: {"text": "sentence"}, QUESTIONS: {"text": "question"}}
    read = {file: {**real(file), "text": real(file)[names["text"]]} for file, names in aliases.items()}
    pool = languages.read_answers(read.__getitem__)
    assert (len(pool.questions), len(pool.sentences), len(pool.languages)) == (13090, 13014, 11)
    assert all(len(set(pool.sentence_language[rows].tolist())) == len(rows) == 11 for rows in pool.answers)
    found = real(TATOEBA)
    assert all(found["lang"].count(name) == 1000 for name in TATOEBA_LANGUAGES)
