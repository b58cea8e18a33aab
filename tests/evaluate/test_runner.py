"""Every cell is computed once or read from disk, and a failure does not affect other cells."""

import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from likewise.errors import BadInput, ModelNotFound
from likewise.evaluate import cache as caches
from likewise.evaluate import models as module
from likewise.evaluate import runner
from likewise.evaluate.cache import Cache
from likewise.evaluate.models import models_by_name, open_model
from likewise.evaluate.results import Cell, Results, to_json
from likewise.evaluate.runner import evaluate
from likewise.evaluate.statistics.significance import Interval
from likewise.evaluate.task import EvaluationSettings, Evidence, Result, Score, TaskVectors, as_vectors
from likewise.evaluate.tasks.registry import SUITES, TASKS, select_tasks
from tests.evaluate.toys import LOST, ONE, TWO, WORDS, Counting, Fitting, alike, model, read, task


@pytest.fixture
def known(monkeypatch):
    """Register the toy tasks as tasks of this package, so that their results may be cached."""
    for one in (ONE, TWO, LOST):
        monkeypatch.setitem(TASKS, one.name, one)
    monkeypatch.setitem(SUITES, "toys", ("one", "two"))


def run(models, tasks=(ONE, TWO), **how):
    return evaluate(models, list(tasks), **{"read": read, "settings": EvaluationSettings(resamples=50), **how})


def test_each_model_meets_each_task_and_the_headline_has_an_interval():
    result = run({"a": model(0), "b": model(1)})
    assert result.models == ("a", "b")
    assert set(result.cells) == {("a", "one"), ("a", "two"), ("b", "one"), ("b", "two")}
    for cell in result.cells.values():
        assert not cell.error
        assert all(score.interval.low <= score.value <= score.interval.high for score in cell.result.scores)
        assert [score.evidence is None for score in cell.result.scores] == [False, True]  # only for the headline
        assert 0 < cell.seconds < 600
    assert result["a", "one"].value == alike(model(0), read, EvaluationSettings(), name="pairs/one").headline.value


@pytest.mark.parametrize("size", [7, 8192])
def test_a_text_that_tasks_share_is_encoded_once(size, monkeypatch):
    monkeypatch.setattr(caches, "SLICE", size)
    counting = Counting()
    run(counting)
    assert sorted(counting.asked) == sorted(set(counting.asked))
    assert set(counting.asked) == set(WORDS[:41])


def test_rows_come_in_the_order_asked_for_and_slices_change_nothing(monkeypatch):
    monkeypatch.setattr(caches, "SLICE", 7)
    sliced = run({"a": model(0)})
    monkeypatch.setattr(caches, "MEMORY_BYTES", 0)  # forgets everything between tasks
    forgetful = run({"a": model(0)})
    monkeypatch.undo()
    whole = run({"a": model(0)})
    assert sliced["a", "two"].value == whole["a", "two"].value == forgetful["a", "two"].value


def wrong_rows(texts):
    return np.ones((len(texts) + 1, 3))


def failing(texts):
    raise RuntimeError("out of luck\nand more")


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (wrong_rows, "expected numbers of shape"),
        (lambda texts: np.empty((len(texts), 0)), "expected numbers of shape"),
        (failing, "RuntimeError: out of luck"),
        (lambda texts: [["a"]] * len(texts), "expected numbers of shape"),
        (lambda texts: np.full((len(texts), 2), np.nan), "is NaN or infinite: .* not finite"),
        (lambda texts: np.ones((len(texts), 2)), "is NaN or infinite"),
    ],
)
def test_a_model_that_breaks_leaves_a_reason_and_costs_no_other_cell(broken, reason):
    result = run({"broken": broken, "sound": model(0)}, [ONE, LOST, TWO])
    assert result["sound", "one"].result
    assert result["sound", "two"].result
    assert "data set is not on this machine" in result["sound", "lost"].error
    for name in ("one", "two"):
        assert result["broken", name].result is None
        assert "\n" not in result["broken", name].error
        assert re.search(reason, result["broken", name].error)
        assert 0 <= result["broken", name].seconds < 600
    assert len(result.failed) == 4


def test_a_model_that_is_not_there_costs_no_other_and_all_of_them_are_an_error():
    result = run(["no-such-model", model(0)])
    assert "there is no model 'no-such-model'" in result["no-such-model", "one"].error
    assert result["encode", "one"].result
    for key, cell in result.cells.items():
        assert (cell.model, cell.task) == key
    with pytest.raises(ModelNotFound):
        run(["no-such-model", "nor-this"])


def test_a_stopped_run_goes_on_with_the_missing_cells_alone(known, tmp_path):
    cache, stopped = Cache(tmp_path), Counting()

    def stop(encode, read, settings, *, name):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run({"m": stopped}, [ONE, task("two", "pairs/two", run=stop)], cache=cache)
    again = Counting()
    result = run({"m": again}, cache=cache)
    assert result["m", "one"].cached
    assert not result["m", "two"].cached
    assert set(again.asked) == set(WORDS[:41]) - set(stopped.asked)
    third = Counting()
    kept = run({"other name": third}, cache=cache)
    assert third.asked == []
    assert all(cell.cached for cell in kept.cells.values())
    for name in ("one", "two"):
        a, b = result["m", name].result, kept["other name", name].result
        assert to_json(a) == to_json(b)
        assert (a.headline.evidence.values == b.headline.evidence.values).all()


def test_another_model_setting_number_of_resamples_or_copy_of_the_data_is_another_cell(known, tmp_path):
    cache = Cache(tmp_path)
    run({"m": Counting()}, [ONE], cache=cache)
    assert run({"m": Counting()}, [ONE], cache=cache)["m", "one"].cached
    assert not run({"m": Counting("e" * 32)}, [ONE], cache=cache)["m", "one"].cached
    changed = {**read("pairs/one"), "score": [*read("pairs/one")["score"][:-1], 9.0]}
    for how in (
        {"settings": EvaluationSettings(seed=1, resamples=50)},
        {"settings": EvaluationSettings(resamples=51)},
        {"cache": replace(cache, recompute=True)},
        {"read": lambda name: changed},
    ):
        assert not run({"m": Counting()}, [ONE], **{"cache": cache, **how})["m", "one"].cached


def test_a_run_leaves_the_cache_within_its_limit(known, tmp_path):
    for _ in range(2):
        assert not run({"m": Counting()}, [ONE], cache=Cache(tmp_path, limit=0))["m", "one"].cached


def test_cells_of_a_model_that_cannot_be_opened_count_as_done():
    seen = []
    run(["no-such-model", Counting()], callback=seen.append)
    assert list(dict.fromkeys((one.done, one.total) for one in seen)) == [(2, 4), (3, 4)]


def test_fresh_encodes_again(known, tmp_path):
    run({"m": Counting()}, cache=Cache(tmp_path))
    again = Counting()
    run({"m": again}, cache=Cache(tmp_path, recompute=True))
    assert len(again.asked) == 41


def test_what_has_no_fingerprint_and_what_is_no_task_of_ours_is_not_kept(known, tmp_path):
    run({"m": model(0)}, cache=Cache(tmp_path))
    run({"m": Counting()}, [task("one", "pairs/one")], cache=Cache(tmp_path))
    assert not list(tmp_path.rglob("*.json"))


def test_broken_files_of_the_cache_are_as_good_as_none(known, tmp_path):
    run({"m": Counting()}, cache=Cache(tmp_path))
    for path in tmp_path.rglob("*.*"):
        path.write_bytes(b"{")
    again = Counting()
    assert run({"m": again}, cache=Cache(tmp_path))["m", "one"].result
    assert len(again.asked) == 41


def test_a_folder_that_cannot_be_written_costs_only_the_keeping(known, tmp_path):
    (tmp_path / "file").write_text("")
    assert not run({"m": Counting()}, cache=Cache(tmp_path / "file" / "cache")).failed


def test_a_model_that_learns_from_the_texts_is_fitted_on_each_task_and_the_result_says_so():
    result = run(Fitting())
    for name in ("one", "two"):
        assert any("transductive" in note for note in result["letters", name].result.notes)


def test_what_a_model_says_of_itself_is_a_note_of_the_results_under_its_name():
    class Noted(Fitting):
        notes = ("fitted on half of the texts",)

    result = run({"m": Noted()})
    assert result.notes == ("m: fitted on half of the texts",)
    assert not any("transductive" in note for note in result["m", "one"].result.notes)


def test_warnings_become_notes():
    def warns(texts):
        import warnings

        warnings.warn("3 texts were cut", stacklevel=2)
        return model(0)(texts)

    assert "3 texts were cut" in run({"m": warns})["m", "one"].result.notes


def test_a_warning_that_counts_is_a_note_once(monkeypatch):
    monkeypatch.setattr(caches, "SLICE", 1)

    def warns(texts):
        import warnings

        warnings.warn(f"1 of {len(texts[0]):,} texts was cut", stacklevel=2)
        warnings.warn("something else", stacklevel=2)
        return model(0)(texts)

    first, other = run({"m": warns})["m", "one"].result.notes
    assert first.startswith("1 of ")
    assert first.endswith(" texts was cut (for one slice of the texts; 39 similar warnings)")
    assert other == "something else"


def test_an_average_needs_a_score_of_one_metric_on_each_of_several_tasks():
    names = ("one", "two", "three", "four")
    scores = {"one": ("spearman/cosine", 0.5), "two": ("spearman/dot", 0.9), "three": ("pearson/cosine", 0.4)}
    cells = {
        ("m", task): Cell("m", task, Result(task, (Score(metric, value, 9),), ""))
        for task, (metric, value) in scores.items()
    }
    cells["m", "four"] = Cell("m", "four", error="lost")
    results = Results(("m", "n"), (ONE, TWO), cells, EvaluationSettings())
    assert results.average("m", names[:2]) == pytest.approx(0.7)
    for missing in (names[:1], names[:3], ("one", "four"), ("one", "five"), ()):
        assert np.isnan(results.average("m", missing))
    assert np.isnan(cells["m", "four"].value) and results.failed == (cells["m", "four"],)


def test_results_as_plain_values_have_every_number_that_is_one():
    one = Result(
        "one", (Score("a", 0.25, 9, interval=Interval(0.25, 0.125, np.inf)), Score("b", np.nan, 9)), "raw", ("x",)
    )
    cells = {("m", "one"): Cell("m", "one", one, seconds=1.23456), ("m", "two"): Cell("m", "two", error="lost")}
    settings = EvaluationSettings(resamples=9)
    results = Results(("m",), (ONE, TWO), cells, settings, ("m: slow",))
    assert results.as_dict() == {
        "settings": {"mode": "fast", "seed": 1111, "hidden": 0, "lowercase": False, "resamples": 9},
        "models": ["m"],
        "tasks": [{"name": name, "suite": "toys", "summary": f"toy pairs {name}"} for name in ("one", "two")],
        "cells": [
            {
                "model": "m", "task": "one", "seconds": 1.23, "cached": False, "protocol": "raw", "notes": ["x"],
                "scores": [
                    {"name": "a", "value": 0.25, "n": 9, "interval": [0.125, None]},
                    {"name": "b", "value": None, "n": 9, "interval": None},
                ],
            },
            {"model": "m", "task": "two", "seconds": 0.0, "cached": False, "error": "lost"},
        ],
        "notes": ["m: slow"],
    }  # fmt: skip
    assert [task.name for task in results.scored_tasks] == ["one"]
    assert Results(("m",), (TWO,), cells, settings).scored_tasks == (TWO,)


@pytest.mark.parametrize("rows", [np.ones((3, 1)), np.ones((3, 2), int), np.ones((3, 2), np.float16)])
def test_vectors_may_have_one_dimension_and_any_kind_of_number(rows):
    assert as_vectors(rows, 3).tolist() == rows.tolist()
    assert as_vectors(rows, 3).dtype == (np.float64 if rows.dtype == np.float64 else np.float32)


def test_vectors_that_are_not_finite_are_zeros_and_the_others_stay():
    vectors = TaskVectors.of(lambda texts: np.array([[1.0, 2], [np.nan, 3], [np.inf, 4]]), ["a", "b"], ["b", "c"])
    assert vectors[["c", "a", "b"]].tolist() == [[0, 0], [1, 2], [0, 0]]
    assert vectors.notes == ("2 of 3 vectors were not finite and were replaced by zeros",)


@pytest.mark.usefixtures("unchecked")
def test_a_seed_is_a_whole_number_of_32_bits():
    assert [EvaluationSettings(seed=seed).seed for seed in (0, 2**32 - 1)] == [0, 2**32 - 1]
    for seed in (-1, 2**32, 0.5):
        with pytest.raises(BadInput, match=f"the seed is {seed}; expected an integer from 0 to 4294967295"):
            EvaluationSettings(seed=seed)


def test_steps_are_reported():
    steps = []
    run({"m": model(0)}, callback=steps.append)
    assert [(s.task, s.done) for s in steps if s.texts == s.total_texts == 0] == [("one", 0), ("two", 1)]
    assert any(s.texts == s.total_texts > 0 for s in steps)
    assert "m · one (1 of 2)" in str(steps[0]) and "so_far" not in repr(steps[0])


def test_names_of_functions_are_imported_and_other_names_loaded():
    assert open_model("tests.evaluate.toys:Counting").fingerprint == "f" * 32
    with pytest.raises(BadInput, match="a int cannot be evaluated"):
        open_model("some/model", load=len)


def test_models_of_one_name_are_numbered():
    assert list(models_by_name([model(0), model(1)])) == ["encode", "encode (2)"]
    for nothing in ([], {}):
        with pytest.raises(BadInput, match="no model"):
            models_by_name(nothing)


def test_an_embedder_is_known_by_its_folder(tiny):
    assert list(models_by_name(tiny)) == [tiny.manifest.encoder.name]
    assert open_model(tiny).fingerprint == f"{tiny.fingerprint} torch, {tiny.precision}"
    assert not run(tiny).failed


def test_tasks_are_chosen_by_name_suite_or_all(known):
    assert [t.name for t in select_tasks("two, toys")] == ["two", "one"]
    assert {task.name for task in select_tasks("all")} >= {"one", "two", "lost"}
    with pytest.raises(BadInput, match="Did you mean toys"):
        select_tasks("toy")
    with pytest.raises(BadInput, match="no task was given"):
        select_tasks([])


def test_rankings_are_no_part_of_what_a_result_says():
    found = Result("a", (), "b", rankings=[1])
    assert found == Result("a", (), "b") and repr(found) == "Result(task='a', scores=(), protocol='b', notes=())"


def test_suites_have_sbert_wks_names():
    """The names in its evaluation script; here, `all` means every task except those of other languages and domains."""
    names = {suite: [task.name for task in select_tasks(suite)] for suite in ("sts", "supervised", "probing", "all")}
    assert names["sts"] == ["sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sick-r"]
    assert names["supervised"] == ["mr", "cr", "subj", "mpqa", "sst2", "sst5", "trec", "mrpc", "sick-e"]
    apart = {task.name for task in select_tasks("multilingual, domains")}
    assert len(names["probing"]) == 10 and set(names["all"]) == set(TASKS) - apart
    assert repr(TASKS["sts14"]).endswith(
        "data=('sts14/test',), summary='Spearman correlation of cosine with human ratings, all pairs at once')"
    )
    assert {"xquad-r", "tatoeba", "stsb-multi-mt", "jsts", "korsts", "banking77", "agnews-clusters"} <= apart


def test_the_callers_own_code_is_found_in_the_working_folder_and_its_errors_are_placed(tmp_path, monkeypatch):
    (tmp_path / "mine_at_hand.py").write_text("class Box:\n    def f(texts):\n        return 'found'\n")
    (tmp_path / "mine_wrong.py").write_text("x = 1\nraise ValueError('no luck')\n")
    (tmp_path / "mine_torn.py").write_text("def f(:\n")
    (tmp_path / "mine_leaving.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    before = list(sys.path)
    assert module._imported("mine_at_hand:Box.f")([]) == "found"
    assert sys.path == before and "mine_at_hand" in sys.modules
    described = {"mine_none:f": ".*No module named 'mine_none'", "mine_at_hand:g": ".* has no attribute 'g'"}
    described |= {"mine_wrong:f": r"ValueError: no luck \(.*mine_wrong.py, line 2\)"}
    described |= {"mine_torn:f": "SyntaxError: .*mine_torn", "mine_leaving:f": r"SystemExit: 3 \(.*line 2\)"}
    for name, reason in described.items():
        with pytest.raises(BadInput, match=f"{name} cannot be imported: {reason}"):
            module._imported(name)
        assert sys.path == before
    (other := tmp_path / "other").mkdir()
    (other / "mine_twice.py").write_text("def f(texts):\n    return 'another'\n")
    (tmp_path / "mine_twice.py").write_text("def f(texts):\n    return 'found'\n")
    monkeypatch.setattr(sys, "path", [str(other), *before])
    assert module._imported("mine_twice:f")([]) == "found"
    monkeypatch.setattr(sys, "path", [str(tmp_path), *before])
    module._imported("mine_at_hand:Box.f")
    assert sys.path == [str(tmp_path), *before]  # existing entries stay


@pytest.mark.parametrize(
    ("name", "function"),
    [("a.b:c", True), ("a:b.c", True), ("a", False), ("a:", False), (":a", False), ("a b:c", False), ("a:c-d", False)],
)
def test_a_name_with_a_colon_is_that_of_a_function_unless_it_is_a_file(name, function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert module._is_function(name) is function
    if function:
        (tmp_path / name).write_text("")
        assert not module._is_function(name)


def test_progress_of_a_model_is_silenced_where_it_has_any_and_notes_are_texts():
    class Talking:
        notes = ("one", 2)

        def encode(self, texts, show_progress_bar=None):
            return [[float(show_progress_bar is False)]] * len(texts)

    class Single:
        notes = "not a list"

        def __call__(self, texts):
            return [[0.5]] * len(texts)

    talking, single = (module._opened(model) for model in (Talking(), Single()))
    assert talking.encode(["a", "b"]).tolist() == [[1.0], [1.0]] and talking.notes == ("one", "2")
    assert single.encode(("a",)).tolist() == [[0.5]] and single.notes == () and single.fingerprint is None
    assert module._takes_progress(lambda show_progress_bar: 1) and not module._takes_progress(dict)
    assert module._takes_progress(type) is False and not module._takes_progress(max)


def test_a_model_is_named_after_its_folder_its_name_its_function_or_its_class(tmp_path):
    class Named:
        name = "n"

    models = (str(tmp_path), "a/b", Named(), len, Named, Counting())
    assert [module._name(model) for model in models] == [tmp_path.name, "a/b", "n", "len", "n", "Counting"]


def test_no_texts_have_an_empty_matrix_and_known_ones_are_counted(monkeypatch):
    requested, predicted = [], []
    encode = caches.CachedEncode(lambda texts: requested.append(texts) or np.ones((len(texts), 3), np.float32))
    assert encode([], lambda *predicted: None).shape == (0, 0)
    assert encode(["a", "b", "a"], lambda *now: predicted.append(now)).shape == (3, 3)
    encode(["c", "a"], lambda *now: predicted.append(now))
    assert requested == [["a", "b"], ["c"]] and predicted == [(0, 2), (2, 2), (1, 2), (2, 2)]
    monkeypatch.setattr(caches, "SLICE", 2)
    predicted.clear()
    encode(["a", *"defgh"], lambda *now: predicted.append(now))
    assert predicted == [(1, 6), (3, 6), (5, 6), (6, 6)]


def test_memory_is_forgotten_beyond_its_limit(monkeypatch):
    requested = []
    encode = caches.CachedEncode(lambda texts: requested.append(texts) or np.ones((len(texts), 2), np.float32))
    monkeypatch.setattr(caches, "MEMORY_BYTES", 16)
    for texts in (["a", "b"], ["a", "c"], ["a"], ["b"], ["a"]):
        encode(texts, lambda *_: None)
    assert requested == [["a", "b"], ["c"], ["a"], ["b"]]  # 16 bytes are kept, 24 are not


@pytest.mark.usefixtures("unchecked")
def test_the_time_left_is_the_mean_of_cells_times_those_left(monkeypatch):
    clock, predicted = [0.0], []
    monkeypatch.setattr("likewise.evaluate.runner.time.perf_counter", lambda: clock[0])
    progress = runner._Progress(predicted.append, 5, lambda: None)
    progress.report("m", "t", 0, 0)
    for seconds in (10.0, 0.04, 19.94, 0.06):  # the second is cached
        clock[0] += 30.0  # to load the model
        progress.begin()
        clock[0] += seconds
        progress.finish()
        if seconds == 10.0:
            progress.begin()
            progress.report("m", "second", 0, 0)
    progress.begin()
    for seconds in (4, 5, 0.5):  # of the ten seconds that a cell takes
        clock[0] += seconds
        progress.report("m", "last", 3, 9)
    assert predicted.pop(1).seconds_left == 40.0
    assert [p.seconds_left for p in predicted] == [None, pytest.approx(6.0), pytest.approx(1.0), None]
    assert [(p.done, p.total, p.texts, p.total_texts) for p in predicted[:2]] == [(0, 5, 0, 0), (4, 5, 3, 9)]
    assert str(predicted[1]) == "m · last (5 of 5) · 3 of 9 texts · about 0:06 left" and "left" not in str(predicted[3])


def test_intervals_of_other_scores_than_the_headline_have_fewer_resamples(monkeypatch):
    requested = []

    def estimates(evidence, resamples):
        requested.append((len(evidence), resamples))
        return [Interval(0.5, 0.4, 0.6)] * len(evidence)

    monkeypatch.setattr(runner, "estimates", estimates)
    evidence = Evidence(np.ones(3))
    values = (0.5, 0.5 + 9e-4, 0.5 + 1.1e-3, float("nan"), 0.5)
    scores = tuple(Score(str(i), v, 3, evidence if i < 4 else None) for i, v in enumerate(values))
    result = runner._with_all_intervals(Result("t", scores, ""), 5000)
    assert requested == [(1, 5000), (2, 1000)]
    assert [score.interval is not None for score in result.scores] == [True, True, False, False, False]
    runner._with_all_intervals(Result("t", scores, ""), 300)
    assert requested[2:] == [(1, 300), (2, 300)]
