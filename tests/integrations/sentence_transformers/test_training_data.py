"""Columns, labels and prompts of training data are those of sentence-transformers; callbacks stop a run in time."""

from types import SimpleNamespace

import pytest

from likewise.errors import BadInput
from likewise.integrations.sentence_transformers import EarlyStoppingCallback, losses
from likewise.integrations.sentence_transformers.training.callbacks import (
    TrainerCallback,
    TrainerControl,
    TrainerState,
    check_callback,
    metric_value,
)
from likewise.integrations.sentence_transformers.training.data import named_sets, prompts_of, read_data, set_names

PAIRS = {"one": ["a", "b"], "two": ["c", "d"]}


def only(data, loss, prompts=None):
    (source,) = read_data(data, loss, prompts)
    return source


@pytest.mark.parametrize("name", ["label", "labels", "score", "scores"])
def test_a_column_of_labels_is_found_by_its_name_wherever_it_is(name):
    first = only({name: [0.5, 1.0], **PAIRS}, losses.CoSENTLoss(None))
    last = only({**PAIRS, name: [0.5, 1.0]}, losses.CoSENTLoss(None))
    for found in (first, last):
        assert [*found.texts] == [["a", "b"], ["c", "d"]] and found.labels == [0.5, 1.0] and len(found) == 2
        assert found.rows.numbers["score"].tolist() == [0.5, 1.0] and found.name == "data"


def test_labels_may_be_of_one_row_and_a_teachers_vectors_are_none():
    assert only({"one": ["a"], "two": ["c"], "label": [0.5]}, losses.CoSENTLoss(None)).labels == [0.5]
    taught = only({"one": ["a", "b"], "label": [[1.0, 2.0], [3.0, 4.0]]}, losses.MSELoss(None))
    assert taught.labels is None and taught.rows.numbers["teacher"].tolist() == [[1, 2], [3, 4]]


def test_of_two_such_columns_the_first_name_counts_and_the_other_is_text():
    with pytest.raises(BadInput, match="CoSENTLoss reads 2 columns of texts; the data have 3: one, two, score"):
        only({**PAIRS, "score": [1, 2], "label": [0.5, 1.0]}, losses.CoSENTLoss(None))


def test_columns_must_be_as_many_as_the_loss_reads():
    with pytest.raises(BadInput, match="reads 2 columns of texts; the data of 'x' have 1: one"):
        read_data({"x": {"one": ["a"], "label": [1.0]}}, losses.CoSENTLoss(None), None)
    with pytest.raises(BadInput, match="reads 2 or more columns of texts; the data have 1: one"):
        only({"one": ["a"]}, losses.MultipleNegativesRankingLoss(None))
    four = only({**PAIRS, "x": ["e", "f"], "y": ["g", "h"]}, losses.MultipleNegativesRankingLoss(None))
    assert len(four.texts) == 4 and four.labels is None
    with pytest.raises(
        BadInput, match="CoSENTLoss needs a column of labels, named one of label, labels, score, scores"
    ):
        only(PAIRS, losses.CoSENTLoss(None))
    with pytest.warns(UserWarning, match="reads no labels; the data's label column is not used"):
        only({**PAIRS, "label": [1, 0]}, losses.MultipleNegativesRankingLoss(None))
    for reserved in ("return_loss", "dataset_name"):
        with pytest.raises(BadInput, match=f"the column name '{reserved}' is reserved"):
            only({**PAIRS, reserved: ["x", "y"]}, losses.MultipleNegativesRankingLoss(None))


def test_data_come_as_columns_rows_or_several_of_these_by_name():
    rows = [{"one": "a", "two": "c"}, {"one": "b", "two": "d"}]
    assert set_names(PAIRS) == [] == set_names(rows) and named_sets(PAIRS) == {}
    assert set_names({"x": PAIRS, "y": rows, "z": []}) == ["x", "y", "z"]
    found = read_data({"x": PAIRS, "y": rows}, losses.MultipleNegativesRankingLoss(None), None)
    assert [(one.name, [*map(list, one.texts)]) for one in found] == [(name, [["a", "b"], ["c", "d"]]) for name in "xy"]
    by_name = {"x": losses.MultipleNegativesRankingLoss(None), "y": losses.MultipleNegativesRankingLoss(None, scale=3)}
    found = read_data({"x": PAIRS, "y": rows}, by_name, None)
    assert [one.objective for one in found] == [*by_name.values()]
    with pytest.raises(BadInput, match="the data are of type int; expected a datasets.Dataset"):
        only(3, by_name["x"])
    with pytest.raises(BadInput, match="the data are of type list; expected a datasets.Dataset"):
        only({"x": [rows[0], 3]}, by_name["x"])
    with pytest.raises(BadInput, match="an IterableDataset is not supported"):
        only(SimpleNamespace(column_names=["a"]), by_name["x"])


BY_SET, BY_COLUMN = {"x": {"one": "p "}, "y": "q "}, {"one": "p ", "x": "r "}


@pytest.mark.parametrize(
    ("prompts", "name", "wanted"),
    [
        (None, None, ""), ("p ", None, "p "), ("p ", "x", "p "), ({}, None, {}), (BY_COLUMN, None, BY_COLUMN),
        (BY_COLUMN, "x", "r "), (BY_COLUMN, "z", BY_COLUMN), (BY_SET, "x", {"one": "p "}), (BY_SET, "y", "q "),
        (BY_SET, "z", {}),
    ],
)  # fmt: skip
def test_a_prompt_is_of_all_columns_of_one_or_of_a_data_set(prompts, name, wanted):
    assert prompts_of(prompts, name) == wanted


def test_prompts_by_data_set_need_data_sets_with_names():
    with pytest.raises(BadInput, match=r"prompts are given by data set \(x, y\), but the only data set has no name"):
        prompts_of(BY_SET, None)


def evaluated(stopper, values, greater=True):
    """After how many evaluations the run stops; the best value so far is kept as a trainer keeps it."""
    args = SimpleNamespace(metric_for_best_model="m", greater_is_better=greater)
    state, control = TrainerState(), TrainerControl()
    for number, value in enumerate(values, 1):
        stopper.on_evaluate(args, state, control, metrics={"eval_m": value})
        if control.should_training_stop:
            return number
        better = max if greater else min
        state.best_metric = value if state.best_metric is None else better(state.best_metric, value)
    return None


@pytest.mark.parametrize(
    ("options", "values", "stops"),
    [
        ({}, [1, 2, 3], None),
        ({}, [1, 1], 2),
        ({}, [2, 1], 2),
        ({"early_stopping_patience": 2}, [2, 1, 3, 3, 3], 5),
        ({"early_stopping_patience": 2}, [2, 1, 3, 2, 4], None),
        ({"early_stopping_threshold": 0.5}, [1, 1.5], 2),
        ({"early_stopping_threshold": 0.5}, [1, 1.75, 2.5], None),
    ],
)
def test_a_run_stops_after_so_many_evaluations_that_are_no_better(options, values, stops):
    assert evaluated(EarlyStoppingCallback(**options), values) == stops
    assert evaluated(EarlyStoppingCallback(**options), [-value for value in values], greater=False) == stops


def test_early_stopping_needs_a_metric_and_evaluations():
    for patience, threshold in ((0, 0.0), (1, -0.1)):
        with pytest.raises(BadInput, match="expected a patience of at least 1 and a threshold of 0 or more"):
            EarlyStoppingCallback(patience, threshold)
    plain = EarlyStoppingCallback()
    assert (plain.early_stopping_patience, plain.early_stopping_threshold) == (1, 0.0)
    for metric, strategy in ((None, "steps"), ("m", "no")):
        args = SimpleNamespace(metric_for_best_model=metric, eval_strategy=strategy)
        with pytest.raises(BadInput, match="EarlyStoppingCallback needs metric_for_best_model, and eval_strategy"):
            plain.on_train_begin(args, TrainerState(), TrainerControl())
    args = SimpleNamespace(metric_for_best_model="m", eval_strategy="epoch")
    plain.on_train_begin(args, TrainerState(), TrainerControl())


def test_a_metric_is_found_with_and_without_its_prefix():
    assert metric_value("eval_m", {"eval_m": 1.5}) == metric_value("m", {"eval_m": 1.5}) == 1.5
    with pytest.raises(BadInput, match="metric_for_best_model is 'eval_x', but the evaluation returned eval_m"):
        metric_value("x", {"eval_m": 1.5})


def test_a_callback_may_be_a_class_and_a_state_begins_with_nothing():
    made = check_callback(TrainerCallback)
    assert isinstance(made, TrainerCallback) and check_callback(made) is made
    assert vars(TrainerControl()) == dict.fromkeys(
        ("should_training_stop", "should_epoch_stop", "should_save", "should_evaluate", "should_log"), False
    )
    assert vars(TrainerState()) == {
        "epoch": 0.0, "global_step": 0, "max_steps": 0, "num_train_epochs": 0, "train_batch_size": 0,
        "logging_steps": 500, "eval_steps": 500, "save_steps": 500, "log_history": [], "best_metric": None,
        "best_global_step": None, "best_model_checkpoint": None, "total_loss": 0.0, "patience_counters": [],
    }  # fmt: skip
    assert TrainerState().is_local_process_zero is TrainerState().is_world_process_zero is True
