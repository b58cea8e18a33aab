"""Labels that teach nothing, or the wrong thing, are refused before training begins; the row is named."""

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.train.data.batch import TrainingRows
from likewise.train.objectives import (
    AnglE,
    Classification,
    Contrastive,
    CoSENT,
    Distillation,
    MarginMSE,
    MarginPairs,
    Matryoshka,
    Regression,
    SimCSE,
    SimilarityDistillation,
    Triplet,
    Weighted,
)
from likewise.train.step.embedder_step import embedder_backward
from tests.train.columns import EVERY, columns_for, model_for
from tests.train.run_trainer import load

PAIRS = {"sentence1": ["a", "b", "c"], "sentence2": ["d", "e", "f"]}
SAME = {"sentence1": ["a", "b", "c"], "sentence2": ["a", "b", "c"]}
TRIPLES = {"anchor": ["a", "b", "c"], "positive": ["d", "e", "f"], "negative": ["g", "h", "i"]}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("objective", "columns", "said"),
    [
        (Classification(3), {**PAIRS, "label": [0, 1.5, 1]}, "row 1: label is 1.5; expected a whole number"),
        (Classification(3), {**PAIRS, "label": [0, float("nan"), 1]}, "row 1: label is nan; expected a finite number"),
        (Classification(3), {**SAME, "label": [0, 1, 2]}, "in all 3 rows both texts are the same"),
        (Classification(3), {**PAIRS, "label": [[0], [1], [2]]}, "row 0: label is of shape (1,); expected one number"),
        (Regression(), {**SAME, "score": [0.0, 0.5, 1.0]}, "both texts are the same"),
        (CoSENT(), {**SAME, "score": [0, 1, 2]}, "both texts are the same"),
        (AnglE(), {**PAIRS, "score": [3, 3, 3]}, "every score is 3"),
        (
            MarginPairs(),
            {**PAIRS, "label": [0, 1, 2]},
            "row 2: label is 2; expected 0 … 1: 1 means that the two texts are similar",
        ),
        (MarginPairs(), {**PAIRS, "label": [1, 1, 1]}, "every label is 1"),
        (Triplet(), {**TRIPLES, "negative": TRIPLES["positive"]}, "the negative is the positive"),
        (MarginMSE(), {**TRIPLES, "margin": [1, 1, 1]}, "every margin is 1"),
        (Distillation(), {"sentence": ["a", "b"], "teacher": [[1.0], [2.0, 3.0]]}, "the column teacher is not numeric"),
        (Distillation(), {"sentence": ["a", "b"], "teacher": [1.0, 2.0]}, "expected a list of numbers"),
        (Distillation(), {"sentence": ["a", "b"], "teacher": [[1.0, 0.0], [np.inf, -np.inf]]}, "row 1: teacher is"),
        (Distillation(), {"sentence": ["a", "b"]}, "teacher is missing"),
        (
            Contrastive(),
            {**{k: TRIPLES[k] for k in ("anchor", "positive")}, "group": [0, 0.5, 1]},
            "row 1: group is 0.5",
        ),
        (SimCSE(), {"sentence": ["a", "a"]}, "in all 2 rows the text is 'a'"),
        (Matryoshka(Regression(), [8]), {**PAIRS, "score": [0, 4, 5]}, "row 1: score is 4"),
        (Weighted([CoSENT(), Regression()]), {**PAIRS, "score": [0, 4, 5]}, "row 1: score is 4"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(objective, columns, said):
    with pytest.raises(BadInput) as refused:
        TrainingRows.of(columns, objective)
    assert said in str(refused.value)


def test_whole_numbers_stay_exact_and_other_numbers_become_float32():
    columns = {"anchor": ["a", "b"], "positive": ["c", "d"], "group": [2**60, 2**60 + 1]}
    assert TrainingRows.of(columns, Contrastive()).numbers["group"].tolist() == columns["group"]
    assert TrainingRows.of({**columns, "group": [1.0, 2.0]}, Contrastive()).take([1]).numbers["group"].tolist() == [2]
    assert (
        TrainingRows.of({**PAIRS, "label": np.array([True, False, True])}, MarginPairs()).numbers["label"].dtype
        == np.int64
    )
    assert TrainingRows.of({**PAIRS, "score": [0, 1, 1]}, Regression()).numbers["score"].dtype == np.float32


def test_a_teachers_vectors_are_read_from_the_file_a_batch_at_a_time(tmp_path):
    np.save(tmp_path / "teacher.npy", np.arange(12, dtype=np.float32).reshape(4, 3))
    teacher = np.load(tmp_path / "teacher.npy", mmap_mode="r")
    rows = TrainingRows.of({"sentence": list("abcd"), "teacher": teacher}, SimilarityDistillation())
    assert np.shares_memory(rows.numbers["teacher"], teacher)
    assert rows.take([3, 0]).numbers["teacher"].tolist() == [[9, 10, 11], [0, 1, 2]]


def test_a_student_narrower_than_its_teacher_is_told_what_to_do(tiny):
    objective = Distillation()
    batch = TrainingRows.of({"sentence": ["a", "b"], "teacher": [[1.0] * 7] * 2}, objective).take([0, 1])
    with pytest.raises(BadInput, match="7 numbers and the student's 32: set teacher_width=7"):
        embedder_backward(tiny, objective, batch)


@pytest.mark.parametrize("name", EVERY)
def test_a_batch_of_one_row_or_of_one_text_again_and_again_gives_finite_gradients(name, own):

    objective = EVERY[name]()
    embedder = model_for(objective, load(own()))
    objective.initialize(embedder.width, embedder.encoder.vocabulary)
    rows = TrainingRows.of(columns_for(objective), objective)
    for which in ([0], [0, 0, 0]):
        took = embedder_backward(embedder, objective, rows.take(which))
        assert np.isfinite(took.loss)
    assert all(p.grad is None or p.grad.isfinite().all() for m in (embedder, objective) for p in m.parameters())
