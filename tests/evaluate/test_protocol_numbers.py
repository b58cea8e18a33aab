"""Constants that make scores comparable: changing one changes the protocol, and has to be intended."""

import inspect
from dataclasses import MISSING, fields

import numpy as np

from likewise.arrays import kmeans
from likewise.evaluate import EvaluationSettings, runner
from likewise.evaluate.classifiers import classifier, protocols, ridge
from likewise.evaluate.reports import report
from likewise.evaluate.statistics import comparison, significance
from likewise.evaluate.tasks import clustering, duplicates, regressor, retrieval, senteval, sts


def test_bootstrap_and_tests_have_the_usual_levels():
    assert (significance.RESAMPLES, significance.ENDS, comparison.ALPHA) == (10_000, (2.5, 97.5), 0.05)
    assert (runner.SECONDARY_RESAMPLES, runner.TOLERANCE, report.MARK_RESAMPLES) == (1_000, 1e-3, 2_000)
    of_rows = significance.interval, significance.difference, significance.intervals, significance.paired
    for function in (*of_rows, comparison.estimate, comparison.compare, comparison.estimates):
        parameters = inspect.signature(function).parameters
        assert (parameters["resamples"].default, parameters["seed"].default) == (10_000, 0)


def test_sentevals_numbers_are_sentevals():
    assert (protocols.FOLDS, protocols.SEED_OF_NESTED_FOLDS, classifier.HELD_OUT) == (10, 1111, 0.05)
    np.testing.assert_allclose(protocols.L2, [1e-5, 1e-4, 1e-3, 1e-2], rtol=1e-12)
    assert {f.name: f.default for f in fields(classifier.ClassifierRecipe) if f.default is not MISSING} == {
        **{"hidden": 0, "dropout": 0.0, "learning_rate": 1e-3, "batch_size": 64},
        **{"epochs_per_evaluation": 4, "patience": 5, "max_epochs": 200, "seed": 1111},
    }
    assert senteval.BINARY == (0, 1) and regressor.CLASSES.tolist() == [1, 2, 3, 4, 5]
    assert EvaluationSettings() == EvaluationSettings("fast", 1111, 0, False, 10_000)


def test_other_protocols_have_the_numbers_that_their_pages_tell():
    assert (retrieval.DEPTH, clustering.SEEDS, kmeans.STEPS) == (100, 5, 100)
    assert (duplicates.MAX_TEXTS, duplicates.MINED_PAIRS, duplicates.QQP_PAIRS) == (20_000, 100_000, 404_290)
    assert ridge.PENALTIES == (1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6)
    assert len(sts.STS_NAMES) == len(sts.SBERT_WK_NAMES) == 7
