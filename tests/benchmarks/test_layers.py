"""The comparison of poolings that read layers: one pass gives each pooling's vectors, and the page is the drawn one."""

import json

import numpy as np
import pytest

from benchmarks.layers import measure
from benchmarks.layers.contenders import CONTENDERS, FUSED_STSB
from benchmarks.layers.one_pass import OnePass
from benchmarks.layers.page import BETTER, PAGE, SAME, WORSE, page, verdicts
from likewise import Embedder
from likewise.engines.numpy.poolings_and_heads import array_pooling
from likewise.evaluate.task import Evidence, Result, Score, Task
from tests.tiny import TEXTS

SPECS = ("mean", "cls+max", "mean:layers=0+2", "sbert-wk:start=1")
LONG = [text for text in dict.fromkeys([*TEXTS, "cat dog " * 70]) if len(text.split()) > 1]


def test_the_page_is_drawn_from_the_results():
    assert PAGE.read_text("utf-8") == page()


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.filterwarnings("ignore:sbert-wk leaves out")
def test_one_pass_gives_the_vectors_of_a_model_loaded_with_each_pooling(folders, spec, monkeypatch):
    monkeypatch.setattr("benchmarks.layers.one_pass.TOKENS", 40)
    embedder = Embedder.load(folders("bert"), engine="numpy")
    encodes = OnePass(embedder, {name: array_pooling(name, 3) for name in SPECS})
    named = Embedder.load(folders("bert"), engine="numpy", pooling=spec)
    found = encodes.encoder_of(spec)([*LONG, LONG[0]])
    np.testing.assert_allclose(found, named.encode([*LONG, LONG[0]], overflow="truncate"), atol=2e-6)


def test_a_text_is_computed_once_for_all_poolings_until_it_is_forgotten(folders):
    reports: list[tuple[int, int]] = []
    embedder = Embedder.load(folders("bert"), engine="numpy")
    poolings = {name: array_pooling(name, 3) for name in SPECS[:2]}
    encodes = OnePass(embedder, poolings, lambda done, total: reports.append((done, total)))
    for name in poolings:
        encodes.encoder_of(name)(LONG)
    assert reports[-1] == (len(LONG), len(LONG)) and sum(done == total for done, total in reports) == 1
    encodes.forget()
    encodes.encoder_of("mean")(LONG[:1])
    assert reports[-1] == (1, 1)


def toy_task(name: str) -> Task:
    """Its score is the mean of the vectors' first numbers, item by item."""

    def run(encode, read, settings):
        values = encode(LONG)[:, 0].astype(float)
        return Result(name, (Score("toy", float(values.mean()), len(values), Evidence(values)),), "toy")

    return Task(name, "toy", (f"{name}/test",), "toy", run)


def toy_passes():
    return {title: (lambda texts, i=i: np.full((len(texts), 2), i / 10)) for i, title in enumerate(CONTENDERS)}


class ToyPass:
    """Vectors of the i-th contender are all i / 10."""

    def encoder_of(self, title):
        return toy_passes()[title]


def test_each_cell_has_its_difference_to_mean_pooling_on_the_same_items():
    cells = measure.task_cells("m", toy_task("toy"), ToyPass())
    assert [cell["pooling"] for cell in cells] == list(CONTENDERS)
    assert "difference" not in cells[0]
    for i, cell in enumerate(cells[1:], 1):
        assert cell["difference"] == pytest.approx([i / 10] * 3) and cell["p"] == 0.5**6  # of seven items


def test_what_was_trained_on_sts_b_is_not_scored_on_pairs_that_it_saw():
    assert FUSED_STSB not in measure.allowed("sts14-mean") and FUSED_STSB not in measure.allowed("sts12")
    assert measure.allowed("stsb") == measure.allowed("sick-r-regressor") == CONTENDERS


def test_a_run_that_was_stopped_goes_on_and_a_line_cut_short_is_computed_again(tmp_path, monkeypatch):
    log, computed = tmp_path / "cells.jsonl", []
    lines = [json.dumps(cell) for cell in measure.task_cells("m", toy_task("a"), ToyPass())]
    log.write_text("\n".join([*lines, '{"model": "m", "task": "b", "pool']) + "\n", "utf-8")

    class Field:
        embedder, poolings, about = None, {}, {"selected": "mean"}

    monkeypatch.setattr(measure, "field_of", lambda name, work: Field)
    monkeypatch.setattr(measure, "OnePass", lambda *parts: ToyPass())
    monkeypatch.setattr(ToyPass, "forget", lambda self: computed.append("forgotten"), raising=False)
    monkeypatch.setattr(measure, "RESULT", tmp_path / "layers.json")
    measure.measure("m", [toy_task("a"), toy_task("b"), toy_task("c")], tmp_path)
    measure.write_results(tmp_path)
    cells = json.loads((tmp_path / "layers.json").read_text("utf-8"))["cells"]
    assert [(c["task"], c["pooling"]) for c in cells] == [(t, title) for t in "abc" for title in CONTENDERS]
    assert computed == ["forgotten"]
    before = log.read_text("utf-8")
    measure.measure("m", [toy_task("a"), toy_task("c")], tmp_path)
    assert log.read_text("utf-8") == before


def test_verdicts_are_by_corrected_p_and_the_sign_of_the_difference():
    rows = {"a": (0.1, 0.001), "b": (-0.1, 0.001), "c": (0.1, 0.03)}
    cells = {("m", task, "x"): {"difference": [d, d, d], "p": p} for task, (d, p) in rows.items()}
    assert verdicts("m", "x", ("a", "b", "c", "never measured"), cells) == {"a": BETTER, "b": WORSE, "c": BETTER}
    cells["m", "d", "x"] = {"difference": [0.1] * 3, "p": 0.04}
    assert verdicts("m", "x", "abcd", cells)["d"] == SAME == verdicts("m", "x", "abcd", cells)["c"]
