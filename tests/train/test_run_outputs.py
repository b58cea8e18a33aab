"""What a run leaves behind: its log, its picture, its card, its record; and what is shown while it goes."""

import json
import os
import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

from likewise.errors import BadInput, MissingExtra
from likewise.runtime.progress import StatusLine
from likewise.train.data.batch import Stream, TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.evaluators import SpearmanEvaluator
from likewise.train.objectives import OBJECTIVES, Contrastive
from likewise.train.output import model_card as model_card_module
from likewise.train.output import record as record_module
from likewise.train.output.callbacks import (
    TIMING_FIELDS,
    ConsoleProgress,
    Log,
    StepRate,
    TensorBoard,
    WeightsAndBiases,
    read_log,
)
from likewise.train.output.model_card import model_card
from likewise.train.output.record import TrainingJob, append_result_line, data_description, training_record
from likewise.train.settings import REPORTING_ONLY, TrainSettings
from likewise.train.step_state import StepState
from tests.train.columns import EVERY, columns_for
from tests.train.run_trainer import load, run_trainer, source


def state_of(step, max_steps=10, scores=None, best_score=None):
    return StepState(
        step=step,
        max_steps=max_steps,
        epoch=step / 5,
        loss=1.0 / step,
        learning_rate=1e-3,
        gradient_norm=0.5,
        rows=8,
        tokens=100,
        seconds=step * 2.0,
        scores=scores or {},
        best_score=best_score,
    )


def _untimed(path):
    return [{k: v for k, v in line.items() if k not in TIMING_FIELDS} for line in read_log(path)]


def test_every_third_step_measures_and_the_last_have_lines(tmp_path):
    log = Log(tmp_path / "log.jsonl", every=3)
    for step in range(1, 11):
        log(state_of(step, scores={"dev": 0.5} if step == 4 else None))
    Log(tmp_path / "log.jsonl")(state_of(10))  # again, by a run that went on after step 9
    lines = read_log(tmp_path / "log.jsonl")
    assert [line["step"] for line in lines] == [3, 4, 6, 9, 10]
    assert [line["rows_per_second"] for line in lines] == [4.0] * 5


def test_a_log_is_kept_by_a_run_that_goes_on_and_not_by_one_that_begins(tmp_path):
    log = tmp_path / "log.jsonl"
    Log(log)(StepState(step=0, max_steps=10, scores={"dev": 0.5}))
    Log(log)(state_of(2))
    assert [(line["step"], line.get("rows_per_second")) for line in read_log(log)] == [(0, None), (2, 2.0)]
    Log(log)(state_of(1))
    assert [line["step"] for line in read_log(log)] == [1]


@pytest.mark.parametrize("stopped", [0, 3, 7])
def test_the_log_of_a_run_that_went_on_is_that_of_one_never_stopped(stopped, own, tmp_path):
    folder = own()

    def go(name, callbacks=()):
        objective = Contrastive()
        courses = [source(objective)]
        run = TrainSettings(max_steps=9, batch_size=8, save_steps=2)
        place = tmp_path / name
        log = Log(place / "log.jsonl")
        measure = lambda e: {"x": float(e.encode(["a"]).sum())}  # noqa: E731
        run_trainer(load(folder), courses, run, checkpoint_folder=place, evaluator=measure, callbacks=[log, *callbacks])

    def fail(state):
        if state.step == stopped + 1:
            with (tmp_path / "again/log.jsonl").open("a") as file:
                file.write('{"step": 99, "lo')  # torn
            raise RuntimeError

    go("whole")
    with pytest.raises(RuntimeError):
        go("again", callbacks=[fail])
    go("again")
    assert _untimed(tmp_path / "again/log.jsonl") == _untimed(tmp_path / "whole/log.jsonl")
    assert [line["step"] for line in read_log(tmp_path / "again/log.jsonl")] == list(range(10))


def test_tensorboard_reads_what_was_written_for_it(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    board = TensorBoard(tmp_path)
    for step in range(1, 11):
        board(state_of(step, scores={"spearman": 0.5} if step == 10 else None))
    result = accumulator.EventAccumulator(str(tmp_path)).Reload()
    assert [event.step for event in result.Scalars("train/loss")] == list(range(1, 11))
    assert result.Scalars("dev/spearman")[0].value == 0.5


@pytest.fixture
def wandb(monkeypatch):
    """As much of wandb as is called; the calls are in `calls`."""
    module = ModuleType("wandb")
    module.calls = []
    run = SimpleNamespace(
        log=lambda values, step: module.calls.append((step, values)), finish=lambda: module.calls.append("finish")
    )
    module.init = lambda **options: module.calls.append(options) or run
    monkeypatch.setitem(sys.modules, "wandb", module)
    return module


@pytest.mark.parametrize("name", OBJECTIVES)
def test_wandb_gets_the_numbers_of_every_step(name, wandb, own):
    torch.manual_seed(0)
    data, log = [source(EVERY[name]())], []
    embedder = load(own())
    settings = TrainSettings(max_steps=2, batch_size=12, eval_steps=2)
    reporter = WeightsAndBiases(project="mine")
    run_trainer(embedder, data, settings, evaluator=lambda _: {"dev": 0.5}, callbacks=[log.append, reporter])
    options, *lines, last = wandb.calls
    assert (options, last, reporter.run) == ({"project": "mine"}, "finish", None)
    assert [step for step, _ in lines] == [0, 1, 2]
    assert lines[0][1] == {"dev/dev": 0.5} and lines[2][1]["dev/dev"] == 0.5
    assert [values["train/loss"] for _, values in lines[1:]] == [state.loss for state in log[1:]]


def test_without_wandb_the_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(BadInput, match="pip install wandb"):
        WeightsAndBiases()


def test_without_tensorboard_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingExtra, match=r"pip install .*\[logs\]"):
        TensorBoard(tmp_path)


def test_what_was_done_before_is_no_part_of_the_rate(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("likewise.runtime.progress.time.perf_counter", lambda: now[0])
    live = ConsoleProgress()
    live(state_of(8))
    assert (live.rate.first, live.rate.rows, live.rate.tokens) == (8, 0, 0)
    assert live.rate.left is None and "left" not in str(live.rate)  # how long that step took is unknown
    now[0] += 3
    live(state_of(9))
    assert live.rate.rows == 8
    assert live.rate.left == 3
    whole = ConsoleProgress()
    whole(state_of(1))
    assert (whole.rate.first, whole.rate.rows, whole.rate.seconds, whole.rate.left) == (0, 8, 2, 18)


def test_a_log_becomes_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    from likewise.train.output.curve import draw_curve

    with pytest.raises(BadInput, match="no steps"):
        draw_curve(tmp_path / "log.jsonl", tmp_path / "curve.png")
    log = Log(tmp_path / "log.jsonl")
    for step in range(1, 101):
        log(state_of(step, 100, {"dev": (step - step**2 / 120) / 100} if step % 20 == 0 else None))
    draw_curve(tmp_path / "log.jsonl", tmp_path / "curve.png", "a run")
    assert (tmp_path / "curve.png").read_bytes()[:4] == b"\x89PNG"


def _curve(count, evaluated=()):
    """A figure of `count` steps whose loss and learning rate fall, with the scores of step 0 and of some others."""
    pytest.importorskip("matplotlib")
    import matplotlib

    from likewise.runtime.plot_style import STYLE
    from likewise.train.output.curve import curve_axes

    lines = [{"step": 0, "scores": {"dev": 0.9, "other": 0.1}}] if evaluated else []
    for step in range(1, count + 1):
        line = {"step": step, "loss": 2 + 1 / step, "learning_rate": 1e-3 * (1 - step / count)}
        lines.append(line | ({"scores": {"dev": evaluated[step], "other": 0.2}} if step in evaluated else {}))
    with matplotlib.rc_context(STYLE):
        return curve_axes(lines, "a run"), lines


def test_a_long_curve_has_the_raw_loss_the_smoothed_one_and_the_learning_rate():
    np = pytest.importorskip("numpy")
    from likewise.train.output.curve import moving_average

    figure, lines = _curve(41)
    top, right = figure.axes
    raw, smooth = top.lines
    loss = [line["loss"] for line in lines]
    assert list(raw.get_xdata()) == list(smooth.get_xdata()) == list(range(1, 42))
    assert list(raw.get_ydata()) == loss and list(smooth.get_ydata()) == list(moving_average(np.asarray(loss)))
    assert (raw.get_alpha(), raw.get_marker(), smooth.get_alpha()) == (0.25, "", None)
    high = np.quantile(loss, 0.995)
    assert top.get_ylim() == pytest.approx((min(loss) - 0.05 * (high - min(loss)), high + 0.08 * (high - min(loss))))
    assert (top.get_title(), top.get_xlabel(), top.get_ylabel()) == ("a run", "step", "loss (dark: smoothed)")
    (rate,) = right.lines
    assert right.get_ylabel() == "learning rate"
    figure.draw_without_rendering()
    assert "10^{" in right.yaxis.get_offset_text().get_text()
    assert list(rate.get_ydata()) == [line["learning_rate"] for line in lines]
    assert right.get_ylim()[0] == 0 and right.spines["right"].get_visible() and len(figure.axes) == 2


def test_a_short_curve_has_dots_and_no_smoothed_line():
    figure, _ = _curve(40)
    (raw,) = figure.axes[0].lines
    assert (raw.get_alpha(), raw.get_marker(), figure.axes[0].get_ylabel()) == (1, ".", "loss")


def test_scores_are_drawn_below_and_the_best_of_training_is_marked():
    figure, _ = _curve(50, {10: 0.3, 20: 0.5, 50: 0.4})
    top, bottom, _ = figure.axes
    line, best = bottom.lines
    assert list(line.get_xdata()) == [0, 10, 20, 50] and list(line.get_ydata()) == [90, 30, 50, 40]
    assert (list(best.get_xdata()), list(best.get_ydata())) == ([20], [50])  # step 0 is not of the training
    (note,) = bottom.texts
    assert note.get_text() == "best 50.00 at step 20" and note.xy == (20, 50) and note.get_position() == (10, -12)
    assert bottom.get_ylabel() == "dev × 100" and (top.get_xlabel(), bottom.get_xlabel()) == ("", "step")
    assert top.get_shared_x_axes().joined(top, bottom)


def test_the_note_of_a_late_best_score_is_to_its_left_and_many_scores_have_no_dots():
    scores = {step: step / 100 for step in range(1, 60)}
    for most, marker in ((58, "."), (59, "")):
        figure, _ = _curve(60, {step: score for step, score in scores.items() if step <= most})
        bottom = figure.axes[1]
        assert bottom.lines[0].get_marker() == marker  # with that of step 0, 59 and 60 scores
        assert bottom.texts[0].get_position() == (-10, -12) and bottom.texts[0].get_ha() == "right"


def test_a_score_of_step_0_alone_is_marked_and_equal_losses_have_the_limits_of_matplotlib():
    pytest.importorskip("matplotlib")
    from likewise.train.output.curve import curve_axes

    lines = [{"step": 0, "scores": {"dev": 0.9}}, *({"step": i, "loss": 1.0, "learning_rate": 1e-3} for i in (1, 2))]
    figure = curve_axes(lines)
    assert figure.axes[1].texts[0].get_text() == "best 90.00 at step 0"
    low, high = figure.axes[0].get_ylim()
    assert low < 1 < high


def test_the_smoothed_loss_is_an_average_with_weights_that_halve_over_a_twentieth_of_the_run():
    np = pytest.importorskip("numpy")
    pytest.importorskip("matplotlib")
    from likewise.train.output.curve import moving_average

    for count, memory in ((10, 2.0), (100, 5.0)):
        values, keep = np.random.default_rng(0).normal(size=count), 1 - 1 / memory
        for i, result in enumerate(moving_average(values)):
            weights = keep ** np.arange(i, -1, -1)
            assert result == pytest.approx(np.average(values[: i + 1], weights=weights))


@pytest.fixture
def record(own):
    embedder, objective = load(own()), Contrastive()
    run = TrainSettings(max_steps=2, batch_size=8)
    sources = [source(objective)]
    out = run_trainer(embedder, sources, run)
    one = {"name": "pairs|1.csv", "rows": 24, "objective": objective.describe(), "sha256": "ab" * 32, "hub": "me/pairs"}
    scores = {"stsb/dev spearman": {"value": 0.5, "low": 0.4, "high": 0.6, "n": 99}}
    backbone = {"name": "bert-base-uncased", "fingerprint": "f" * 32, "local": False}
    job = TrainingJob(
        model=embedder, sources=sources, settings=run, backbone=backbone, data=[one], identity={}, recipe="mine"
    )
    return training_record(job, out, scores)


def test_a_card_says_what_the_hub_and_a_reader_want(record):
    text = model_card(record, "m")
    assert "\nbase_model: bert-base-uncased\n" in text and "\ndatasets:\n- me/pairs\n" in text
    assert "pipeline_tag: sentence-similarity" in text and "library_name:" in text
    assert "| pairs\\|1.csv | 24 | Contrastive (temperature 0.05" in text and "`abababababababab…`" in text
    assert "| stsb/dev spearman | 50.00 | 40.00 … 60.00 | 99 | — |" in text
    assert "| batch_size | **8** |" in text and "| learning_rate | 2e-05 |" in text
    assert "The licence is unknown for: pairs|1.csv" in text and "with the recipe `mine`" in text
    assert record["model"]["fingerprint"] in text and record["machine"]["versions"]["torch"] in text


def test_a_card_lists_the_settings_that_matter_and_those_that_were_changed_in_bold(record):
    text = model_card(record, "m")
    for row in ("max_steps | **2**", "adam_betas | 0.9, 0.999", "lora_layers | qkv, out, up, down", "lora_rank | 0"):
        assert f"| {row} |" in text
    assert "| adam_bias_correction | yes |" in text and "| gradient_checkpointing | no |" in text
    for name in ("freeze", "max_tokens_per_step", "objective_learning_rate", *REPORTING_ONLY):
        assert f"| {name} |" not in text  # not set, or of no influence
    frozen = {**record["run"], "freeze": ["embeddings"], "gradient_checkpointing": True}
    changed = model_card({**record, "run": frozen}, "m")
    assert "| freeze | **embeddings** |" in changed and "| gradient_checkpointing | **yes** |" in changed


def test_a_card_says_who_cannot_read_the_model(record):
    assert record["model"]["only_likewise"] == [] and "library_name: sentence-transformers" in model_card(record, "m")
    ours = {**record, "model": {**record["model"], "only_likewise": ["the pooling sbert-wk:start=1"]}}
    text = model_card(ours, "m")
    assert "- sentence-transformers cannot read it, because of the pooling sbert-wk:start=1; likewise can." in text
    assert "library_name: likewise" in text and "\n- sentence-transformers\n" not in text


def test_the_head_of_a_card_is_yaml(record):
    yaml = pytest.importorskip("yaml")
    head = yaml.safe_load(model_card(record, "m").split("---")[1])
    assert head["datasets"] == ["me/pairs"] and head["base_model"] == "bert-base-uncased"
    local = {**record, "backbone": {**record["backbone"], "local": True}}
    assert "base_model" not in yaml.safe_load(model_card(local, "m").split("---")[1])


def test_a_line_that_is_there_is_not_written_again(record, tmp_path):
    for model in ("ä", "b", "ä"):
        append_result_line(tmp_path / "runs.jsonl", record, model, whole=True)
    lines = (tmp_path / "runs.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["model"] for line in lines] == ["ä", "b"] and '"ä"' in lines[0]


def test_the_measure_is_spearman_of_cosine(tiny):
    from scipy.stats import spearmanr

    columns = {
        "sentence1": ["a cat", "dogs bark", "x", "rain"],
        "sentence2": ["a dog", "rain", "x", "on"],
        "score": [3, 1, 5, 2],
    }
    result = SpearmanEvaluator(columns, "mine")(tiny)
    u, v = tiny.encode(columns["sentence1"]), tiny.encode(columns["sentence2"])
    assert result["mine spearman"] == pytest.approx(spearmanr((u * v).sum(1), columns["score"]).statistic)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"sentence1": ["a"], "sentence2": ["b"]}, "no column 'score'"),
        ({"sentence1": ["a"] * 2, "sentence2": ["b"] * 2, "score": [1, "x"]}, "not numeric"),
    ],
)
def test_pairs_that_measure_nothing_are_reported(columns, message):
    with pytest.raises(BadInput, match=message):
        SpearmanEvaluator(columns, "dev")


def test_tensorboard_gets_every_step_and_is_flushed_where_there_are_scores(tmp_path, monkeypatch):
    calls = []

    class Writer:
        def __init__(self, folder, purge_step):
            calls.append((folder, purge_step))

        def add_scalar(self, *what):
            calls.append(what)

        def flush(self):
            calls.append("flushed")

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Writer))
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    board = TensorBoard(tmp_path)
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == "3" and not calls
    board(state_of(4))
    scalars = [("train/loss", 0.25, 4), ("train/learning_rate", 1e-3, 4), ("train/gradient_norm", 0.5, 4)]
    assert calls == [(str(tmp_path), 4), *scalars, ("train/epoch", 0.8, 4)]
    calls.clear()
    board(state_of(5, scores={"x": 0.5}))
    assert calls[-2:] == [("dev/x", 0.5, 5), "flushed"] and len(calls) == 6
    board(state_of(10))
    assert calls[-1] == "flushed"
    calls.clear()
    TensorBoard(tmp_path)(StepState(step=0, max_steps=9, scores={"x": 0.25}))
    assert calls == [(str(tmp_path), 0), ("dev/x", 0.25, 0), "flushed"]


@pytest.mark.parametrize("torn", ['{"step": 2, "lo', "[3]", '{"loss": 1}', '{"step": "2"}'])
def test_a_log_is_read_up_to_a_line_that_is_none(torn, tmp_path):
    assert read_log(tmp_path / "none") == []
    (tmp_path / "log.jsonl").write_text('{"step": 1}\n' + torn + '\n{"step": 3}\n')
    assert read_log(tmp_path / "log.jsonl") == [{"step": 1}]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.4, "0 seconds"), (119.4, "119 seconds"), (120, "2 minutes"), (7199, "120 minutes"), (7200, "2.0 hours")],
)
def test_a_duration_is_in_seconds_minutes_or_hours(seconds, shown):
    assert model_card_module._duration(seconds) == shown


def test_the_card_of_a_reranker_names_its_labels(record):
    model = {**record["model"], "kind": "CrossEncoder", "labels": ["no", "yes"]}
    text = model_card({**record, "model": model}, "m")
    assert "A reranker. Reads two texts together, and returns the probabilities of no, yes. Trained from" in text
    assert '["A kitten naps.", "Shares fell."], label="no"))' in text and "- Scores are good for ranking" in text
    assert "pipeline_tag: text-ranking\ntags:\n- sentence-transformers\n- cross-encoder" in text
    one = model_card({**record, "model": {**model, "kind": "PolyEncoder", "labels": ["score"]}}, "m")
    assert "Reads two texts separately and combines them late, and returns a score. Trained" in one
    assert "label=" not in one and "because of its late combination of the texts; likewise can." in one
    assert "library_name: likewise" in one


def test_a_card_has_what_is_known_and_leaves_out_what_is_not(record):
    best = {**record["result"], "best_step": 1234, "initial_scores": {"a": 0.1}, "seconds": 90.0, "steps": 2000}
    known = {"rows": None, "licence": "MIT", "sha256": None, "hub": None, "objective": {"objective": "CoSENT"}}
    data = [{**record["data"][0], **known}]
    full = {**record, "result": best, "data": data, "scores": {"a": {"value": 0.5}, "b": {"value": 0.25}}}
    text = model_card({**full, "leaks": ["one leak", "another"], "recipe": None}, "m")
    assert "Training took 2,000 steps and 90 seconds on" in text
    assert "; the weights are from step 1,234, which scored best. This model" in text
    assert "| a | 50.00 | — | — | 10.00 |\n| b | 25.00 | — | — | — |" in text
    assert "The best step was chosen by a, so that score is slightly optimistic." in text
    assert "| pairs\\|1.csv | a stream | CoSENT | MIT | — |" in text and "- one leak\n- another" in text
    assert "The licence is unknown" not in text and "datasets:" not in text and "recipe" not in text
    none = model_card({**full, "result": {**best, "best_step": None}, "scores": {}}, "m")
    assert "## Scores\n\nThe model was not evaluated." in none and "scored best" not in none
    assert "optimistic" not in model_card({**full, "result": {**best, "best_step": None}}, "m")


@pytest.fixture
def clock(monkeypatch):
    """The time that progress is told by."""
    now = [100.0]
    monkeypatch.setattr("likewise.runtime.progress.time.perf_counter", lambda: now[0])
    return now


def test_the_line_of_a_step_has_its_smoothed_loss_what_is_left_and_the_rates(clock):
    rate = StepRate(1_000, began=100.0, first=2)
    assert StepRate(1_000, began=100.0).left is None
    for step in (3, 4):
        rate.update(state_of(step, 1_000))
    clock[0] += 0.1
    assert "rows/s" not in str(rate)
    clock[0] += 7.9
    assert (rate.texts, rate.rows, rate.tokens, rate.epoch) == (4, 16, 200, 0.8)
    assert rate.left == pytest.approx(8.0 * 996 / 2)
    loss = (0.95 * 0.05 / 3 + 0.05 / 4) / (0.95 * 0.05 + 0.05)
    rates = "2 rows/s · 25 tokens/s · learning rate 1.0e-03"
    assert str(rate) == f"step 4 of 1,000 (epoch 0.80) · loss {loss:.4f} · 1:06:24 left · {rates}"
    rate.best = "best 0.5000"
    assert f"1:06:24 left · best 0.5000 · {rates}" in str(rate)
    rate.update(StepState(step=1_000, max_steps=1_000, loss=1.0, learning_rate=2e-5))
    assert "left" not in str(rate) and "epoch" not in str(rate) and "step 1,000 of 1,000 · loss" in str(rate)


def test_what_is_shown_of_steps_and_evaluations():
    shown = []

    class Line(StatusLine):
        def __call__(self, state):
            self.wrote = True
            shown.append(str(state)[:9])

        def note(self, text):
            shown.append(text)

        def close(self, state):
            shown.append(f"closed {str(state)[:7]}")

    live = ConsoleProgress(line=Line())
    live.close()
    live(StepState(step=0, max_steps=4, scores={"a": 0.25, "b": 0.5}))
    live(state_of(1, 4))
    live(state_of(2, 4, {"a": 0.5}, 0.5))
    live(state_of(3, 4, {"a": 0.5}, 0.5))  # a tie is not better
    assert live.rate.best == "best 0.5000"
    live(state_of(4, 4, {"a": float("nan")}, None))
    assert live.rate.best == "" and live.line.wrote is False
    expected = ["before training: a 0.2500, b 0.5000", "step 1 of", "step 2: a 0.5000, the best so far", "step 2 of"]
    assert shown == [*expected, "step 3: a 0.5000", "step 3 of", "step 4: a nan", "closed step 4 "]


def test_a_line_of_finished_runs_has_sums_and_rounded_figures(record, tmp_path):
    data = [{"name": "a", "rows": 24}, {"name": "stsb/dev", "rows": None}, {"name": "train", "rows": 3}]
    scores = {"x": {"value": 0.123456}, "y": {"value": 0.5}}
    result = {**record["result"], "seconds": 12.345, "steps": 7}
    full = {**record, "data": data, "scores": scores, "result": result}
    append_result_line(tmp_path / "deep/runs.jsonl", full, "m", whole=True)
    append_result_line(tmp_path / "deep/runs.jsonl", {**full, "data": [{"name": "stsb/train"}]}, "m")
    line, other = map(json.loads, (tmp_path / "deep/runs.jsonl").read_text().splitlines())
    machine = {"device": record["machine"]["device"], "commit": record["machine"]["commit"]}
    assert line == {
        **{"model": "m", "recipe": "mine", "backbone": "bert-base-uncased", "seed": 0},
        **{"data": ["a", "stsb/dev", "train"]},
        **{"rows": 27, "steps": 7, "stsb_train": False, "x": 12.35, "y": 50.0, "whole": True, "seconds": 12.3},
        **{**machine, "finished": record["finished"]},
    }
    assert other["stsb_train"] is True


def test_what_is_known_of_data_and_machine(record):
    objective = Contrastive()
    rows = TrainingRows.of(columns_for(objective, 24), objective)
    result = data_description(DataSource(rows, objective, "x", {"licence": "MIT"}), hub="me/x", licence=None)
    assert result["columns"] == [*rows.texts, *rows.numbers] and result["rows"] == 24 and len(result["digest"]) == 64
    assert (result["licence"], result["hub"], result["where"], result["sha256"]) == (None, "me/x", None, None)
    stream = data_description(DataSource(Stream(lambda: [], objective), objective))
    assert (stream["rows"], stream["columns"], stream["digest"]) == (None, [], None)
    machine = record["machine"]
    assert machine["cores"] == os.cpu_count() and machine["threads"] == torch.get_num_threads()
    assert set(machine["versions"]) == {"likewise", "python", "torch", "safetensors"}
    assert machine["device"] == record_module._cpu_name()


def test_a_line_of_the_log_has_what_a_step_did_since_the_one_before(tmp_path):
    log = Log(tmp_path / "log.jsonl", every=2)
    one = {"max_steps": 9, "loss": 0.5, "learning_rate": 1e-3, "gradient_norm": 2.0, "rows": 8, "tokens": 100}
    log(StepState(step=1, epoch=1 / 3, seconds=1.0, **one))
    log(StepState(step=2, epoch=2 / 3, seconds=2.99849, **one))
    log(StepState(step=3, epoch=1.0, seconds=2.99849, scores={"x": 0.5}, **one))
    shared = {"loss": 0.5, "learning_rate": 1e-3, "gradient_norm": 2.0, "tokens": 100, "seconds": 2.998}
    rates = [{"rows_per_second": 5.3, "tokens_per_second": 66.7}, {"rows_per_second": 8e9, "tokens_per_second": 1e11}]
    assert read_log(tmp_path / "log.jsonl") == [
        {"step": 2, "epoch": 0.666667, **shared, **rates[0]},
        {"step": 3, "epoch": 1.0, **shared, **rates[1], "scores": {"x": 0.5}},
    ]
