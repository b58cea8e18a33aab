"""Sizes and limits that bound memory and time, or decide what is refused: another one has to be meant."""

import pytest
import torch

from likewise.arrays import dissection as numpy_dissection
from likewise.arrays import quantization
from likewise.calibrate import calibration, labelled_pairs, null_distribution
from likewise.encoders import attention, config, positions
from likewise.encoders.architectures import deep_averaging, word_table
from likewise.evaluate import cache
from likewise.evaluate.classifiers import batched
from likewise.evaluate.classifiers import ridge as ridge_regression
from likewise.evaluate.reports import plot, text_table
from likewise.evaluate.statistics import bootstrap, hypothesis_tests
from likewise.evaluate.tasks import arguments, duplicates, probing, regressor, sentence_pairs, triplets
from likewise.files import documents, html_text, office_reader
from likewise.mine import negative_search
from likewise.mine import settings as mine_settings
from likewise.model_files import folder, hub, names
from likewise.model_files.word_vectors import fasttext, text_files, word_tables
from likewise.native import scanning
from likewise.pooling import dissection
from likewise.search import bitext, exact, pairs, quantized
from likewise.text import inputs, tokenizer, tokenizer_checks, tokenizer_json
from likewise.train.data import batch, examples
from likewise.train.layers import fusion_training
from likewise.train.objectives import distillation, registry
from likewise.train.objectives.contrastive import MIN_TEMPERATURE
from likewise.train.output import callbacks
from likewise.train.step import processes


def test_what_is_done_at_once_fits_caches_and_memory_as_measured():
    assert dissection.CHUNK == {"cpu": 2**20, "cuda": 2**28} and numpy_dissection.CHUNK == 2**18
    assert (attention.SHORT_LENGTH, attention.TINY_LENGTH, attention.BLOCK) == (96, 16, 512)
    assert (exact.BLOCK, exact.QUERIES, pairs.BLOCK) == (8192, 1024, 2048)
    assert (scanning.STREAMED, scanning.QUERIES, scanning.KEPT, scanning.ROOM) == (2**28, 4096, 2**21, 2**21)
    assert (quantization.BLOCK, quantization.STEPS, exact.LONGEST) == (8192, 127, 1e15)
    assert [*quantized.CANDIDATES.values()] == [2, 20]
    assert (negative_search.BLOCK, negative_search.MAX_BLOCK_CANDIDATES) == (1024, 2**22)
    assert (negative_search.FIRST_DEPTH, negative_search.DEPTH_FACTOR) == (64, 4)
    assert (inputs.CHUNK_TEXTS, inputs.CHUNK_CHARACTERS) == (16_384, 2**24)
    assert (cache.SLICE, cache.MEMORY_BYTES, cache.MAX_BYTES) == (8192, 2**30, 2**32)
    assert (bootstrap._BLOCK, batched._GATHERED, triplets._BLOCK, duplicates.BLOCK) == (2**16, 2**18, 4096, 4096)
    assert examples._BLOCK == 2048
    assert (calibration.MOST_TEXTS, calibration.PAIRS, null_distribution.BLOCK) == (20_000, 1_000_000, 2**14)
    assert (labelled_pairs.RESAMPLES, null_distribution.STEPS) == (1000, 1000)


def test_what_is_larger_than_any_real_model_is_refused():
    assert (config.MAX_SIZE, config.MAX_DEPTH) == (10**8, 200)
    assert (word_table.UNBOUNDED, folder.UNLIMITED) == (2**20, 2**30)
    assert (folder.MAX_MODULES, text_files.WIDEST, mine_settings.MAX_NEGATIVES) == (100, 100_000, 2**20)
    assert (tokenizer_json.MAX_FILE_SIZE, tokenizer_checks.MAX_STEPS, tokenizer_checks.MAX_GROWTH) == (
        2**28,
        100,
        10_000,
    )
    assert (tokenizer_checks.MAX_PATTERN_LENGTH, tokenizer_checks.MAX_REPETITIONS) == (10_000, 20)


def test_what_is_larger_than_any_real_document_is_refused():
    assert (documents.MAX_BYTES, documents.DECLARED_IN, html_text.SECONDS, documents.SECONDS) == (2**28, 1024, 30, 120)
    assert (office_reader.MAX_MEMORY, office_reader.MAX_BYTES, office_reader.MAX_UNPACKED) == (2**31, 2**28, 2**29)
    assert (office_reader.MAX_PAGES, office_reader.MAX_PARTS, office_reader.MAX_CHARACTERS) == (20_000, 10_000, 2**26)


def test_what_is_larger_than_any_real_model_of_transformers_is_refused():
    pytest.importorskip("transformers")
    from likewise.encoders.architectures import transformers_model

    assert (transformers_model.SPARE_NUMBERS, transformers_model.SPARE_PARTS) == (2**24, 2000)
    assert (transformers_model.MOST_LABELS, transformers_model.MOST_BUFFERS) == (100_000, 2**29)
    assert transformers_model.UNBOUNDED == 2**20


def test_numbers_of_papers_and_file_formats_are_theirs():
    sbert_wk = numpy_dissection
    assert (sbert_wk.START, sbert_wk.LEAST_AGREEMENT, sbert_wk.NO_VARIANCE) == (4, 0.05, 1e-12)
    assert sbert_wk.NOISE == 2**-19 == dissection.rounding_noise(torch.float32)
    assert (positions.FAR, deep_averaging._MULTIPLIERS) == (128, (0x9E3779B1, 0x85EBCA77))
    assert (fasttext.MAGIC, fasttext.VERSIONS, fasttext.SUPERVISED) == (793_712_314, (11, 12), 3)
    assert (word_tables.FORMAT, hub.RETRY_AFTER, tokenizer.OVERLAP, names.MIN_NAME_PART) == (1, 600.0, 8, 4)
    assert (mine_settings.DEFAULT_RATIO, MIN_TEMPERATURE) == (0.95, 0.01)
    assert distillation.DEFAULT_TEMPERATURE == 0.05
    assert bitext.NEIGHBOURS == 4
    assert (null_distribution.TAIL_SHARE, null_distribution.LEAST_TAIL, null_distribution.COUNTED) == (0.02, 200, 100)
    assert (null_distribution.LEAST_PAIRS, null_distribution.LEAST_TEXTS) == (1000, 100)
    assert (examples.MIN_EXAMPLES, examples.MIN_HELD_OUT, batch.WINDOW) == (20, 5, 32)
    assert (examples.NEAREST, fusion_training.RIDGE) == (50, 1e-3)
    assert (ridge_regression._NEGLIGIBLE, sentence_pairs._LARGEST) == (1e-10, 1e100)
    assert (hypothesis_tests._TINY, hypothesis_tests._STEPS) == (1e-300, 500)
    assert (batched._FIRST, batched._SECOND, batched._EPSILON) == (0.9, 0.999, 1e-8)
    assert (regressor._DECAY, regressor._SQUARE_DECAY, regressor._EPSILON) == (0.9, 0.999, 1e-8)
    assert (regressor.LEARNING_RATE, regressor.BATCH_SIZE, regressor.EPOCHS_PER_EVALUATION) == (1e-3, 64, 50)
    assert (regressor.MAX_EPOCHS, regressor.PATIENCE) == (1000, 3)
    assert (arguments.FOLDS, arguments.INNER_FOLDS) == (10, 5)
    assert (probing.HIDDEN, probing.DROPOUT) == ((50, 100, 200), (0.0, 0.1, 0.2))
    assert (cache.KEY_BYTES, processes.TIMEOUT.total_seconds()) == (16, 7200)


def test_what_is_shown_is_laid_out_as_designed():
    assert (plot.SPREAD, text_table.MIN_WRAP_WIDTH, registry._LABEL_WIDTH) == (0.6, 10, 12)
    assert (callbacks.SMOOTHING, callbacks.MIN_SECONDS) == (0.95, 0.1)
