"""The last setting or column that is accepted and the first that is refused, before training begins; exact messages."""

import math
import sys

import numpy as np
import pytest
import torch

from likewise.errors import BadInput
from likewise.train.data.batch import TrainingRows
from likewise.train.objectives import (
    TSDAE,
    AnglE,
    BatchTriplets,
    Classification,
    Contrastive,
    CoSENT,
    Distillation,
    Layerwise,
    MarginMSE,
    MarginPairs,
    Matryoshka,
    Regression,
    ScoreDistillation,
    SimilarityDistillation,
    Triplet,
    Weighted,
    parse_objective,
)
from likewise.train.objectives.reranking import InBatch, PairClassification, PairMargin, PairRanking, PairRegression
from likewise.train.step.trainable import backward, check_objective
from tests.train.columns import EVERY, columns_for
from tests.train.run_trainer import load


def _check(objective, texts, numbers):
    objective.check_rows(texts, numbers)
    objective.check(texts, numbers)


SMALLEST, LARGEST = math.ulp(0.0), sys.float_info.max
POSITIVE = "expected a finite number above 0"
NOT_NEGATIVE = "expected a finite number of 0 or more"
ABOVE_ZERO = [
    (CoSENT, "scale"),
    *((AnglE, name) for name in ("cosine_scale", "angle_scale")),
    (MarginPairs, "margin"),
    *((PairRanking, name) for name in ("temperature", "teacher_temperature")),
    *((ScoreDistillation, name) for name in ("temperature", "teacher_temperature")),
    *((SimilarityDistillation, name) for name in ("temperature", "teacher_temperature")),
    (PairRegression, "temperature"),
    (InBatch, "temperature"),
    (Contrastive, "temperature"),
]
ZERO_OR_MORE = [
    (Triplet, "margin"),
    (BatchTriplets, "margin"),
    (PairMargin, "margin"),
    *((AnglE, name) for name in ("cosine_weight", "angle_weight")),
]


@pytest.mark.parametrize(
    ("build", "name", "zero"), [*((*row, False) for row in ABOVE_ZERO), *((*row, True) for row in ZERO_OR_MORE)]
)
def test_any_finite_number_above_zero_is_accepted_and_zero_where_it_may_be(build, name, zero):
    for value in (SMALLEST, LARGEST, *[0.0] * zero):
        assert build(**{name: value}).describe()[name] == value
    for value in (-SMALLEST, math.inf, math.nan, *[0.0] * (not zero)):
        with pytest.raises(BadInput, match=f"{name} is {value}; {NOT_NEGATIVE if zero else POSITIVE}"):
            build(**{name: value})


@pytest.mark.parametrize(
    ("build", "name", "last", "refused"),
    [
        (Classification, "num_labels", 2, 1),
        (PairClassification, "num_labels", 2, 1),
        (BatchTriplets, "per_label", 2, 1),
        (Distillation, "teacher_dimension", 1, 0),
        (TSDAE, "deletion_ratio", 0.0, -SMALLEST),
        (TSDAE, "deletion_ratio", 1 - 2**-53, 1.0),
        (PairRegression, "offset", LARGEST, math.inf),
        (PairRegression, "offset", -LARGEST, -math.inf),
        (PairRegression, "offset", 0.0, math.nan),
        (lambda layers: Layerwise(CoSENT(), layers), "layers", 1, 0),
    ],
)
def test_a_setting_is_accepted_up_to_its_limit_and_refused_beyond(build, name, last, refused):
    assert getattr(build(**{name: last}), name) == last
    with pytest.raises(BadInput, match=f"{name} is {refused}"):
        build(**{name: refused})


def test_a_learned_temperature_begins_above_a_hundredth():
    above = np.nextafter(0.01, 1)
    assert Contrastive(above, learn_temperature=True).log_scale.item() == pytest.approx(math.log(100))
    for refused in (0.01, 0.005, math.inf):
        with pytest.raises(BadInput, match=f"temperature is {refused}; expected a finite number above 0.01"):
            Contrastive(refused, learn_temperature=True)


def test_only_named_choices_are_accepted():
    for build, name, choices in (
        (PairRegression, "loss", ("bce", "mse")),
        (SimilarityDistillation, "loss", ("kl", "mse")),
        (MarginMSE, "similarity", ("dot", "cosine")),
    ):
        assert [getattr(build(**{name: choice}), name) for choice in choices] == list(choices)
        with pytest.raises(BadInput, match=f"{name} is 'l1'; expected one of {choices[0]}, {choices[1]}"):
            build(**{name: "l1"})


@pytest.mark.parametrize("given", [{"temperature": 0.06}, {"teacher_temperature": 0.06}])
def test_a_temperature_that_would_not_be_used_is_refused(given):
    with pytest.raises(BadInput, match="loss=mse does not use temperatures"):
        SimilarityDistillation("mse", **given)
    assert SimilarityDistillation("mse", 0.05, 0.05).temperature == 0.05


PAIRS = {"sentence1": ["a", "b", "c"], "sentence2": ["d", "e", "f"]}


@pytest.mark.parametrize(
    ("objective", "name", "accepted", "refused", "message"),
    [
        (
            Regression(),
            "score",
            [-1, 0, 1],
            [-1.5, 0, 1],
            "row 0: score is -1.5; .* -1 … 1: .*--columns score=score/5,",
        ),
        (
            Regression(),
            "score",
            [-1, 0, 1],
            [0, 1.25, 5],
            "row 1: score is 1.25; .* -1 … 1: .*--columns score=score/5,",
        ),
        (
            Regression(),
            "score",
            [0, 0, 1],
            [0, 1, 4.25],
            "row 2: score is 4.25; .* -1 … 1: .*--columns score=score/5,",
        ),
        (
            Regression(),
            "score",
            [0, 0, 1],
            [0, 1, 5.125],
            "row 2: score is 5.125; .* -1 … 1: .*--columns score=score/5.13,",
        ),
        (
            Regression(),
            "score",
            [0, 0, 1],
            [0, 1, 87.656],
            "row 2: score is 87.656; .* -1 … 1: .*--columns score=score/87.66,",
        ),
        (PairRegression(), "score", [0, 0.5, 1], [0, 1, -0.5], "row 2: score is -0.5; expected 0 … 1: .*score/5"),
        (PairRegression(), "score", [0, 0.5, 1], [0, 1, 4.25], "--columns score=score/5, or ColumnNames"),
        (PairRegression(), "score", [0, 0.5, 1], [0, 1, 5], "--columns score=score/5, or ColumnNames"),
        (PairRegression(), "score", [0, 0.5, 1], [0, 1, 5.5], "--columns score=score/5.5, or ColumnNames"),
        (PairRegression(), "score", [0, 0.5, 1], [0, 1, 87.656], "--columns score=score/87.66, or ColumnNames"),
        (PairRegression(), "score", [0, 0.5, 1], [1, 1, 1], "score is 1 in all 3 rows"),
        (PairRegression("mse"), "score", [-9, 0, 99], [7, 7, 7], "score is 7 in all 3 rows"),
        (
            PairClassification(2),
            "label",
            [0, 1, 1],
            [0, 1, 2],
            "row 2: label is 2; expected 0 … 1: the objective has 2 labels",
        ),
        (PairClassification(2), "label", [0, 1, 1], [-1, 1, 0], "row 0: label is -1; expected 0 … 1"),
        (PairClassification(2), "label", [0, 1, 1], [1, 1, 1], "label is 1 in all 3 rows"),
        (
            Classification(3),
            "label",
            [0, 1, 2],
            [0, 1, 3],
            "row 2: label is 3; expected 0 … 2: the objective has 3 labels",
        ),
        (MarginPairs(), "label", [0, 1, 1], [0, 1, 2], "row 2: label is 2; expected 0 … 1: 1 means that the two texts"),
    ],
)
def test_a_column_is_accepted_up_to_its_limits_and_the_row_beyond_is_named(objective, name, accepted, refused, message):
    _check(objective, PAIRS, {name: np.array(accepted)})
    with pytest.raises(BadInput, match=message):
        _check(objective, PAIRS, {name: np.array(refused)})


def test_one_row_cannot_vary_and_two_equal_rows_are_refused():
    _check(CoSENT(), {"sentence1": ["a"], "sentence2": ["b"]}, {"score": np.array([0.5])})
    with pytest.raises(BadInput, match="score is 0.5 in all 2 rows"):
        _check(CoSENT(), {"sentence1": ["a", "b"], "sentence2": ["b", "c"]}, {"score": np.array([0.5, 0.5])})
    _check(Contrastive(), {"anchor": ["a"], "positive": ["b"]}, {})
    with pytest.raises(BadInput, match="in all 2 rows the text is 'a'"):
        _check(Contrastive(), {"anchor": ["a", "a"], "positive": ["b", "c"]}, {})


@pytest.mark.parametrize("objective", [Contrastive(), InBatch()])
def test_a_column_of_negatives_lets_all_anchors_be_one_text(objective):
    texts = {"anchor": ["a", "a"], "positive": ["b", "c"]}
    with pytest.raises(BadInput, match="in all 2 rows the text is 'a', so no row provides a negative"):
        _check(objective, texts, {})
    _check(objective, {**texts, "negative": ["d", "e"]}, {})
    apart = {**texts, "anchor": ["a", "z"]}
    _check(objective, apart, {"group": np.array([3, 4])})
    with pytest.raises(BadInput, match="in all 2 rows the group is 4, so no row provides a negative"):
        _check(objective, apart, {"group": np.array([4, 4])})


CANDIDATES = {"anchor": ["a", "b"], "positive": ["c", "d"], "negative": ["e", "f"]}


def test_a_ranking_needs_a_negative_and_a_teachers_score_for_each_candidate():
    without = {name: CANDIDATES[name] for name in ("anchor", "positive")}
    for objective in (PairMargin(), PairRanking()):
        _check(objective, CANDIDATES, {})
        with pytest.raises(BadInput, match="are anchor, positive; expected one or more columns of negatives"):
            _check(objective, without, {})
    for objective in (PairRanking(), PairRanking(teacher_temperature=2.0), ScoreDistillation()):
        _check(objective, CANDIDATES, {"scores": np.zeros((2, 2))})
        for wrong in (1, 3):
            with pytest.raises(BadInput, match=f"scores has {wrong} numbers per row; expected 2, one per candidate"):
                _check(objective, CANDIDATES, {"scores": np.zeros((2, wrong))})
    with pytest.raises(BadInput, match="teacher_temperature is 2.0, but the data have no column of teacher scores"):
        _check(PairRanking(teacher_temperature=2.0), CANDIDATES, {})
    with pytest.raises(BadInput, match="a single candidate makes no distribution"):
        _check(ScoreDistillation(), without, {"scores": np.zeros((2, 1))})


def test_one_row_in_which_the_negative_is_not_the_positive_is_enough():
    _check(Triplet(), {"anchor": ["a", "b"], "positive": ["c", "d"], "negative": ["c", "e"]}, {})


def test_triplets_need_two_labels_and_one_of_them_twice():
    _check(BatchTriplets(), {}, {"label": np.array([4, 4, 5, 5])})
    for labels, found in (([4, 4], "all are 4"), ([4, 5], "each occurs once")):
        with pytest.raises(BadInput, match=f"one of which occurs twice; in these data, {found}"):
            _check(BatchTriplets(), {}, {"label": np.array(labels)})
    with pytest.warns(UserWarning, match=r"1 labels occur once, the first in row 2 \(9\)"):
        _check(BatchTriplets(), {}, {"label": np.array([4, 4, 9])})


@pytest.mark.parametrize(
    ("make", "accepted", "refused", "message"),
    [
        (
            lambda: Matryoshka(CoSENT(), [1, 8]),
            8,
            7,
            "dimensions contains 8, but the model's vectors have 7 dimensions",
        ),
        (lambda: Layerwise(CoSENT(), 3), 9, 10, "vectors with 10 dimensions are not a concatenation of 3 layers"),
        (AnglE, 2, 3, "AnglE needs vectors with an even dimension; the model's vectors have 3 dimensions"),
    ],
)
def test_a_width_that_suits_is_accepted_and_the_next_is_not(make, accepted, refused, message):
    make().initialize(accepted)
    with pytest.raises(BadInput, match=message):
        make().initialize(refused)


def test_a_vocabulary_of_one_token_is_one():
    TSDAE(decoder_heads=2).initialize(4, 1)
    with pytest.raises(BadInput, match="vocabulary of 0 tokens"):
        TSDAE(decoder_heads=2).initialize(4, 0)


def test_a_width_below_one_is_none():
    assert Matryoshka(CoSENT(), [1]).dimensions == (1,)
    with pytest.raises(BadInput, match=r"dimensions are \[0, 4\]; expected distinct whole numbers above 0"):
        Matryoshka(CoSENT(), [0, 4])


def test_wrapped_objectives_are_weighted_by_one_each_unless_other_weights_are_given():
    wrapped = (Matryoshka(CoSENT(), [2, 4]), Layerwise(CoSENT(), 2), Weighted([CoSENT(), Regression()]))
    assert [one.weights for one in wrapped] == [(1.0, 1.0)] * 3
    for build in (lambda w: Layerwise(CoSENT(), 2, w), lambda w: Weighted([CoSENT(), Regression()], w)):
        assert build([2.0, 3.0]).weights == (2.0, 3.0)
        for wrong in ([1.0], [1.0, 2.0, 3.0]):
            with pytest.raises(BadInput, match=f"{len(wrong)} weights were given; expected"):
                build(wrong)


def test_a_sum_reads_what_any_of_its_objectives_reads():
    reads = Weighted([SimilarityDistillation(), BatchTriplets(per_label=3), Distillation(2)][1:2]).reads()
    assert (reads.group_by, reads.per_group, reads.text_ids) == ("label", 3, False)
    both = Weighted([BatchTriplets(per_label=3), SimilarityDistillation(), BatchTriplets(per_label=5)]).reads()
    assert (both.group_by, both.per_group, both.numbers) == ("label", 5, ("label", "teacher"))
    assert (both.integers, both.matrices, both.optional) == (("label",), ("teacher",), ())
    assert Weighted([Contrastive(), Contrastive()]).reads() == Contrastive().reads()
    mixed = Weighted([Distillation(), SimilarityDistillation()]).reads()  # only the first takes translations
    assert mixed == SimilarityDistillation().reads() and Distillation().reads().more_texts


def test_candidates_of_one_group_are_no_negatives_of_each_other_in_a_batch():
    scores, apart = torch.tensor([[1.0, 3.0], [2.0, 0.5]]), torch.tensor([[0, 2], [1, 3]])
    assert InBatch()(scores, text_ids=apart, group=torch.tensor([7, 7])).tolist() == [0, 0]


def test_a_list_of_options_may_have_a_single_part_and_options_may_be_missing():
    assert parse_objective("contrastive:dimensions=8").dimensions == (8,)
    assert parse_objective("contrastive:").describe() == Contrastive().describe()
    assert parse_objective("contrastive: , symmetric ,").symmetric is True
    assert parse_objective({"name": "contrastive", "dimensions": [2, 4]}).dimensions == (2, 4)


TRIPLES = {"anchor": ["a", "b", "c"], "positive": ["d", "e", "f"], "negative": ["g", "h", "i"]}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("objective", "columns", "said"),
    [
        (Classification(3), {**PAIRS, "label": [0, 1.5, 1]}, "row 1: label is 1.5; expected a whole number"),
        (Classification(3), {**PAIRS, "label": [0, float("nan"), 1]}, "row 1: label is nan; expected a finite number"),
        (
            Classification(3),
            {**PAIRS, "label": [[0], [1], [2]]},
            "row 0: label has the shape (1,); expected one number",
        ),
        (AnglE(), {**PAIRS, "score": [3, 3, 3]}, "score is 3 in all"),
        (MarginPairs(), {**PAIRS, "label": [1, 1, 1]}, "label is 1 in all"),
        (Triplet(), {**TRIPLES, "negative": TRIPLES["positive"]}, "the negative equals the positive"),
        (MarginMSE(), {**TRIPLES, "margin": [1, 1, 1]}, "margin is 1 in all"),
        (Distillation(), {"sentence": ["a", "b"], "teacher": [[1.0], [2.0, 3.0]]}, "the column teacher is not numeric"),
        (Distillation(), {"sentence": ["a", "b"], "teacher": [1.0, 2.0]}, "expected a list of numbers"),
        (Distillation(), {"sentence": ["a", "b"], "teacher": [[1.0, 0.0], [np.inf, -np.inf]]}, "row 1: teacher is"),
        (Distillation(), {"sentence": ["a", "b"]}, "teacher is missing"),
        (
            Contrastive(),
            {**{k: TRIPLES[k] for k in ("anchor", "positive")}, "group": [0, 0.5, 1]},
            "row 1: group is 0.5",
        ),
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
    with pytest.raises(BadInput, match="7 dimensions and the student's 32: set teacher_dimension=7"):
        backward(tiny, objective, batch)


@pytest.mark.parametrize("name", EVERY)
def test_a_batch_of_one_row_or_of_one_text_again_and_again_gives_finite_gradients(name, own):

    objective = EVERY[name]()
    embedder = load(own())
    check_objective(embedder, objective)
    rows = TrainingRows.of(columns_for(objective), objective)
    for which in ([0], [0, 0, 0]):
        took = backward(embedder, objective, rows.take(which))
        assert np.isfinite(took.loss)
    assert all(p.grad is None or p.grad.isfinite().all() for m in (embedder, objective) for p in m.parameters())
