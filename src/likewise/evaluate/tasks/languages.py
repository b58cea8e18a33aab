"""Search across languages: sentences and their translations (Tatoeba), questions and their answers (XQuAD-R)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...array_types import Float, Int
from ...errors import BadInput
from ...search import search
from ..metrics.ranking import ranking_metric
from ..task import Encode, EvaluationSettings, Evidence, ReadDataset, Result, Score, Task, TaskVectors, role_vectors
from .sentence_pairs import pair_column

TATOEBA, QUESTIONS, SENTENCES = "tatoeba_laser/test", "xquad_r/questions", "xquad_r/sentences"
TATOEBA_LANGUAGES = ("deu", "fra", "spa", "jpn", "nld", "cmn", "vie")
"""The languages evaluated; the file has 112."""
ANSWER_METRICS = ("map", "ndcg@10")
QUERIES = 256  # questions ranked at a time: 27 MB for an array of 13,014 sentences
Vectors = Float[np.ndarray, "_ E"]
Values = Float[np.ndarray, " _"]


def translation_task(encode: Encode, read: ReadDataset, settings: EvaluationSettings) -> Result:
    """The fraction of sentences whose nearest English sentence is their translation, and the same with English queries.

    Each language is searched separately, as in LASER (Artetxe and Schwenk 2019) and mteb.
    """
    columns = read(TATOEBA)
    language, *both = (pair_column(columns, key, TATOEBA) for key in ("lang", "sentence1", "sentence2"))
    rows = [[i for i, other in enumerate(language) if other == name] for name in TATOEBA_LANGUAGES]
    if missing := [name for name, of_language in zip(TATOEBA_LANGUAGES, rows, strict=True) if not of_language]:
        raise BadInput(f"{TATOEBA} has no row whose lang is {' or '.join(missing)}")
    pairs = [[settings.cased(side[i] for i in of_language) for side in both] for of_language in rows]
    vectors = TaskVectors.of(encode, *(side for pair in pairs for side in pair))
    there = np.concatenate([_nearest_is_own(vectors[sentences], vectors[english]) for sentences, english in pairs])
    back = np.concatenate([_nearest_is_own(vectors[english], vectors[sentences]) for sentences, english in pairs])
    groups = np.repeat(np.arange(len(rows)), list(map(len, rows)))
    directions = {"accuracy": there, "accuracy/from eng": back}
    scores = [s for name, hits in directions.items() for s in _by_language(name, hits, groups, TATOEBA_LANGUAGES)]
    protocol = f"the nearest English sentence by cosine, {settings.casing}, n = {len(groups):,}"
    return Result("tatoeba", tuple(scores), f"{scores[0].name}: {protocol}", vectors.notes)


def _nearest_is_own(queries: Vectors, documents: Vectors) -> Values:
    """1 for each row of `queries` whose nearest document is the one in the same row, else 0."""
    nearest = search(queries, documents, k=1).indices[:, 0]
    return np.asarray(nearest == np.arange(len(queries)), np.float64)


@dataclass(frozen=True)
class AnswerPool:
    """Questions, sentences, and the sentences that answer each question; languages are numbered as in `languages`."""

    questions: tuple[str, ...]
    sentences: tuple[str, ...]
    answers: tuple[Int[np.ndarray, " _"], ...]
    languages: tuple[str, ...]
    question_language: Int[np.ndarray, " Q"]
    sentence_language: Int[np.ndarray, " N"]

    def values(self, asked: Vectors, found: Vectors) -> dict[str, Values]:
        """ANSWER_METRICS of each question: among all sentences, and among those in its own language."""
        values = rank_answers(asked, found, self.answers)
        own = {name: np.empty(len(asked)) for name in values}
        for number in range(len(self.languages)):
            rows, pool = (np.flatnonzero(of == number) for of in (self.question_language, self.sentence_language))
            answers = [np.flatnonzero(np.isin(pool, self.answers[row])) for row in rows]
            for name, of_language in rank_answers(asked[rows], found[pool], answers).items():
                own[name][rows] = of_language
        return values | {f"{name}/own language": of_pool for name, of_pool in own.items()}


def read_answers(read: ReadDataset) -> AnswerPool:
    """Read XQuAD-R: a question is answered by the answer sentences that have its id, in all languages."""
    asked, ids, questions, answers = _columns(read, QUESTIONS, ("lang", "id", "text", "answer_sentence"))
    spoken, sentence_ids, sentences = _columns(read, SENTENCES, ("lang", "id", "text"))
    rows = {key: row for row, key in enumerate(zip(spoken, sentence_ids, strict=True))}
    relevant: dict[str, list[int]] = {}
    for row, (language, question, answer) in enumerate(zip(asked, ids, answers, strict=True)):
        if (language, answer) not in rows:
            raise BadInput(
                f"{QUESTIONS}, row {row}: the answer to question {question!r} is sentence {answer!r} in {language!r}, "
                f"which is not in {SENTENCES}"
            )
        relevant.setdefault(question, []).append(rows[language, answer])
    languages = tuple(dict.fromkeys(asked))
    number = {name: i for i, name in enumerate(languages)}
    return AnswerPool(
        *(tuple(questions), tuple(sentences), tuple(np.array(relevant[question]) for question in ids), languages),
        np.array([number[name] for name in asked]),
        np.array([number.get(name, -1) for name in spoken]),
    )


def _columns(read: ReadDataset, name: str, keys: Sequence[str]) -> list[Sequence[str]]:
    columns = read(name)
    return [pair_column(columns, key, name) for key in keys]


def answer_task(encode: Encode, read: ReadDataset, settings: EvaluationSettings) -> Result:
    """Rank the sentences of all languages for each question; its answer is relevant in every language.

    This is LAReQA (Roy et al. 2020), which reports the mean average precision of the whole ranking.
    """
    pool = read_answers(read)
    questions, sentences = settings.cased(pool.questions), settings.cased(pool.sentences)
    asked, found = role_vectors(encode, questions, sentences)
    values = pool.values(asked[questions], found[sentences])
    by_metric = (_by_language(name, of, pool.question_language, pool.languages) for name, of in values.items())
    protocol = (
        f"map/mean: {len(questions):,} questions in {len(pool.languages)} languages, {len(sentences):,} sentences in "
        f"total, exact cosine search, the whole ranking, {settings.casing}"
    )
    notes = tuple(dict.fromkeys((*asked.notes, *found.notes)))
    return Result("xquad-r", tuple(score for scores in by_metric for score in scores), protocol, notes)


def rank_answers(
    asked: Vectors, found: Vectors, answers: Sequence[Int[np.ndarray, " _"]]
) -> dict[str, Float[np.ndarray, " Q"]]:
    """ANSWER_METRICS of each question for the whole ranking of `found`, in which the rows in `answers` are relevant."""
    blocks: dict[str, list[Values]] = {name: [] for name in ANSWER_METRICS}
    for start in range(0, len(asked), QUERIES):
        order = search(asked[start : start + QUERIES], found, k=len(found)).indices
        judged = np.zeros(order.shape)
        for row, relevant in enumerate(answers[start : start + QUERIES]):
            judged[row, relevant] = 1
        ranked = np.take_along_axis(judged, order, 1)
        for name, values in blocks.items():
            values.append(ranking_metric(name if "@" in name else f"{name}@{len(found)}", ranked, judged))
    return {name: np.concatenate(values) for name, values in blocks.items()}


def _by_language(name: str, values: Values, groups: Int[np.ndarray, " N"], languages: Sequence[str]) -> Iterator[Score]:
    """The unweighted mean over languages, then each language."""
    within = [values[groups == number] for number in range(len(languages))]
    mean = float(np.mean([of_language.mean() for of_language in within]))
    yield Score(f"{name}/mean", mean, len(values), Evidence(values, groups=groups))
    for language, of_language in zip(languages, within, strict=True):
        yield Score(f"{name}/{language}", float(of_language.mean()), len(of_language), Evidence(of_language))


_TRANSLATIONS = "sentences in seven languages that find their English translation among 1,000 (accuracy)"
_ANSWERS = "questions that find their answers in eleven languages among 13,014 sentences (MAP)"
LANGUAGE_TASKS: tuple[Task, ...] = (
    Task("tatoeba", "multilingual", (TATOEBA,), _TRANSLATIONS, translation_task),
    Task("xquad-r", "multilingual", (QUESTIONS, SENTENCES), _ANSWERS, answer_task),
)
