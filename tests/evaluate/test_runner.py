"""Every cell is computed once, what is known is taken from disk, and no failure costs the others."""

import re
from dataclasses import replace

import numpy as np
import pytest

from likewise.errors import BadInput, ModelNotFound
from likewise.evaluate import cached_encode
from likewise.evaluate.cache import Cache
from likewise.evaluate.models import models_to_evaluate
from likewise.evaluate.results import from_json, to_json
from likewise.evaluate.runner import evaluate
from likewise.evaluate.task import EvaluationSettings
from likewise.evaluate.tasks.registry import SUITES, TASKS, select_tasks
from tests.evaluate.toys import LOST, ONE, TWO, WORDS, Counting, Fitting, alike, model, read, task


@pytest.fixture
def known(monkeypatch):
    """The toys are tasks of this package, and so may be kept on disk."""
    for one in (ONE, TWO, LOST):
        monkeypatch.setitem(TASKS, one.name, one)
    monkeypatch.setitem(SUITES, "toys", ("one", "two"))


def run(models, tasks=(ONE, TWO), **how):
    return evaluate(models, list(tasks), **{"read": read, "settings": EvaluationSettings(resamples=50), **how})


def test_each_model_meets_each_task_and_the_headline_has_an_interval():
    found = run({"a": model(0), "b": model(1)})
    assert found.models == ("a", "b")
    assert set(found.cells) == {("a", "one"), ("a", "two"), ("b", "one"), ("b", "two")}
    for cell in found.cells.values():
        assert not cell.error
        assert all(score.interval.low <= score.value <= score.interval.high for score in cell.result.scores)
    assert found["a", "one"].value == alike(model(0), read, EvaluationSettings(), name="pairs/one").headline.value


def test_a_text_that_tasks_share_is_encoded_once():
    counting = Counting()
    run(counting)
    assert sorted(counting.asked) == sorted(set(counting.asked))
    assert set(counting.asked) == set(WORDS[:41])


def test_rows_come_in_the_order_asked_for_and_slices_change_nothing(monkeypatch):
    monkeypatch.setattr(cached_encode, "SLICE", 7)
    sliced = run({"a": model(0)})
    monkeypatch.setattr(cached_encode, "MAX_BYTES", 0)  # forgets all between tasks
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
        (failing, "RuntimeError: out of luck"),
        (lambda texts: [["a"]] * len(texts), "expected numbers of shape"),
        (lambda texts: np.full((len(texts), 2), np.nan), "is NaN or infinite: .* not finite"),
        (lambda texts: np.ones((len(texts), 2)), "is NaN or infinite"),
    ],
)
def test_a_model_that_breaks_leaves_a_reason_and_costs_no_other_cell(broken, reason):
    found = run({"broken": broken, "sound": model(0)}, [ONE, LOST, TWO])
    assert found["sound", "one"].result
    assert found["sound", "two"].result
    assert "data are not at hand" in found["sound", "lost"].error
    for name in ("one", "two"):
        assert found["broken", name].result is None
        assert "\n" not in found["broken", name].error
        assert re.search(reason, found["broken", name].error)
    assert len(found.failed) == 4


def test_a_model_that_is_not_there_costs_no_other_and_all_of_them_are_an_error():
    found = run(["no-such-model", model(0)])
    assert "there is no model 'no-such-model'" in found["no-such-model", "one"].error
    assert found["encode", "one"].result
    with pytest.raises(ModelNotFound):
        run(["no-such-model", "nor-this"])


def test_a_stopped_run_goes_on_with_the_missing_cells_alone(known, tmp_path):
    cache, stopped = Cache(tmp_path), Counting()

    def stop(encode, read, settings, *, name):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run({"m": stopped}, [ONE, task("two", "pairs/two", run=stop)], cache=cache)
    again = Counting()
    found = run({"m": again}, cache=cache)
    assert found["m", "one"].cached
    assert not found["m", "two"].cached
    assert set(again.asked) == set(WORDS[:41]) - set(stopped.asked)
    third = Counting()
    kept = run({"other name": third}, cache=cache)
    assert third.asked == []
    assert all(cell.cached for cell in kept.cells.values())
    for name in ("one", "two"):
        a, b = found["m", name].result, kept["other name", name].result
        assert to_json(a) == to_json(b)
        assert (a.headline.evidence.values == b.headline.evidence.values).all()


def test_another_model_setting_number_of_resamples_or_copy_of_the_data_is_another_cell(known, tmp_path):
    cache = Cache(tmp_path)
    run({"m": Counting()}, [ONE], cache=cache)
    assert run({"m": Counting()}, [ONE], cache=cache)["m", "one"].cached
    assert not run({"m": Counting("e" * 32)}, [ONE], cache=cache)["m", "one"].cached
    assert not run({"m": Counting()}, [ONE], cache=cache, settings=EvaluationSettings(seed=1, resamples=50))[
        "m", "one"
    ].cached
    assert not run({"m": Counting()}, [ONE], cache=replace(cache, recompute=True))["m", "one"].cached
    changed = {**read("pairs/one"), "score": [*read("pairs/one")["score"][:-1], 9.0]}
    found = run({"m": Counting()}, [ONE], read=lambda name: changed, cache=cache)
    assert not found["m", "one"].cached
    assert not run({"m": Counting()}, [ONE], settings=EvaluationSettings(resamples=51), cache=cache)["m", "one"].cached


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
    found = run(Fitting())
    for name in ("one", "two"):
        assert any("transductive" in note for note in found["letters", name].result.notes)


def test_warnings_become_notes():
    def warns(texts):
        import warnings

        warnings.warn("3 texts were cut", stacklevel=2)
        return model(0)(texts)

    assert "3 texts were cut" in run({"m": warns})["m", "one"].result.notes


def test_a_warning_that_counts_is_a_note_once(monkeypatch):
    monkeypatch.setattr(cached_encode, "SLICE", 1)

    def warns(texts):
        import warnings

        warnings.warn(f"1 of {len(texts[0]):,} texts was cut", stacklevel=2)
        warnings.warn("something else", stacklevel=2)
        return model(0)(texts)

    first, other = run({"m": warns})["m", "one"].result.notes
    assert first.startswith("1 of ")
    assert first.endswith(" texts was cut (for one slice of the texts; 39 similar warnings)")
    assert other == "something else"


def test_steps_are_told():
    steps = []
    run({"m": model(0)}, callback=steps.append)
    assert [(s.task, s.done) for s in steps if s.texts == s.total_texts == 0] == [("one", 0), ("two", 1)]
    assert any(s.texts == s.total_texts > 0 for s in steps)
    assert "m · one (1 of 2)" in str(steps[0])


def test_names_of_functions_are_imported_and_other_names_loaded():
    field = models_to_evaluate(["tests.evaluate.toys:Counting", "tests.evaluate.toys:nothing", "some/model"], load=len)
    assert field[0].open().fingerprint == "f" * 32
    with pytest.raises(BadInput, match="cannot be imported"):
        field[1].open()
    with pytest.raises(BadInput, match="a int cannot be evaluated"):
        field[2].open()


def test_models_of_one_name_are_numbered():
    assert [c.name for c in models_to_evaluate([model(0), model(1)])] == ["encode", "encode (2)"]
    with pytest.raises(BadInput, match="no model"):
        models_to_evaluate([])


def test_an_embedder_is_known_by_its_folder(tiny):
    field = models_to_evaluate(tiny)
    assert field[0].name == tiny.manifest.encoder.name
    assert field[0].open().fingerprint == tiny.fingerprint
    assert not run(tiny).failed


def test_a_result_survives_json():
    result = run({"m": model(0)})["m", "one"].result
    assert to_json(from_json(to_json(result))) == to_json(result)


def test_tasks_are_chosen_by_name_suite_or_all(known):
    assert [t.name for t in select_tasks("two, toys")] == ["two", "one"]
    assert {task.name for task in select_tasks("all")} >= {"one", "two", "lost"}
    with pytest.raises(BadInput, match="Did you mean toys"):
        select_tasks("toy")
    with pytest.raises(BadInput, match="no task was given"):
        select_tasks([])


def test_suites_have_sbert_wks_names():
    """Those of its evaluation script, whose `all` is every task here."""
    names = {suite: [task.name for task in select_tasks(suite)] for suite in ("sts", "supervised", "probing", "all")}
    assert names["sts"] == ["sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sick-r"]
    assert names["supervised"] == ["mr", "cr", "subj", "mpqa", "sst2", "sst5", "trec", "mrpc", "sick-e"]
    assert len(names["probing"]) == 10 and set(names["all"]) == set(TASKS)
