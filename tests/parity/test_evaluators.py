"""Figures of search, decisions and mining beside those of sentence-transformers' evaluators, from the same vectors."""

import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from pyarrow import parquet
from sentence_transformers.sentence_transformer.evaluation import (
    BinaryClassificationEvaluator,
    InformationRetrievalEvaluator,
    ParaphraseMiningEvaluator,
)
from sentence_transformers.util import cos_sim

from likewise.evaluate.task import EvaluationSettings
from likewise.evaluate.tasks import duplicates
from likewise.evaluate.tasks.duplicates import DUPLICATE_TASKS
from likewise.evaluate.tasks.retrieval import RETRIEVAL_METRICS, RETRIEVAL_TASKS
from likewise.text.words import folded_words

TASKS = {task.name: task for task in (*RETRIEVAL_TASKS, *DUPLICATE_TASKS)}


def words_of(text: str) -> np.ndarray:
    """The sum of a vector for each word and one for the text: no model, and next to no ties."""
    draws = [np.random.default_rng(zlib.crc32(word.encode())).normal(size=64) for word in [text, *folded_words(text)]]
    return np.sum(draws, axis=0)


class Model:
    """As much of a SentenceTransformer as its evaluators ask for, the same texts encoded once."""

    similarity_fn_name = "cosine"
    similarity = staticmethod(cos_sim)
    model_card_data = SimpleNamespace(set_evaluation_metrics=lambda *_: None)

    def __init__(self) -> None:
        self.known: dict[str, np.ndarray] = {}

    def vectors(self, texts) -> np.ndarray:
        for text in texts:
            if text not in self.known:
                self.known[text] = words_of(text)
        return np.stack([self.known[text] for text in texts])

    def encode(self, texts, convert_to_tensor=False, **_):
        return torch.tensor(self.vectors(texts)) if convert_to_tensor else self.vectors(texts)

    encode_query = encode_document = encode


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


@pytest.fixture
def read(data: Path):
    return lambda name: parquet.read_table(data / f"{name}.parquet").to_pydict()


def test_search_scores_the_same(model, read):
    ours = TASKS["scifact"].run(model.vectors, read, EvaluationSettings())
    corpus, queries, qrels = (read(f"scifact/{name}") for name in ("corpus", "queries", "qrels"))
    texts = dict(zip(queries["query_id"], queries["text"], strict=True))
    rated: dict[str, set] = {}
    for query, document, split in zip(qrels["query_id"], qrels["doc_id"], qrels["split"], strict=True):
        if split == "test":
            rated.setdefault(query, set()).add(document)
    documents = zip(corpus["doc_id"], corpus["title"], corpus["text"], strict=True)
    theirs = InformationRetrievalEvaluator(
        {query: texts[query] for query in rated},
        {name: f"{title} {text}" for name, title, text in documents},
        rated,
        precision_recall_at_k=[1, 5, 10, 100],
        map_at_k=[10],
    )(model)
    for name in RETRIEVAL_METRICS:
        assert ours[name] == pytest.approx(theirs[f"cosine_{name}"], abs=1e-6), name


@pytest.mark.parametrize(("task", "file"), [("qqp", "qqp_subset/pairs"), ("mrpc-pairs", "mrpc/test")])
def test_decisions_score_the_same(task, file, model, read):
    ours = TASKS[task].run(model.vectors, read, EvaluationSettings())
    pairs = read(file)
    theirs = BinaryClassificationEvaluator(pairs["sentence1"], pairs["sentence2"], pairs["label"])(model)
    for name, called in (
        ("average_precision/cosine", "ap"),
        ("f1/oracle", "f1"),
        ("f1/oracle/threshold", "f1_threshold"),
        ("f1/oracle/precision", "precision"),
        ("f1/oracle/recall", "recall"),
        ("accuracy/oracle", "accuracy"),
        ("accuracy/oracle/threshold", "accuracy_threshold"),
    ):
        assert ours[name] == pytest.approx(theirs[f"cosine_{called}"], abs=1e-5), name


def test_mining_scores_the_same(model, read, monkeypatch):
    monkeypatch.setattr(duplicates, "MAX_TEXTS", 1500)
    monkeypatch.setattr(duplicates, "MINED_PAIRS", 20_000)
    ours = TASKS["mining"].run(model.vectors, read, EvaluationSettings())
    pairs = read("qqp_subset/pairs")
    labelled = duplicates.labelled_pairs(read, "qqp_subset/pairs")
    texts = duplicates.transitive_closure(labelled, 1500).texts
    same = [
        (a, b)
        for a, b, yes in zip(pairs["sentence1"], pairs["sentence2"], pairs["label"], strict=True)
        if yes and a in texts and b in texts
    ]
    theirs = ParaphraseMiningEvaluator(
        {text: text for text in texts}, duplicates_list=same, add_transitive_closure=True, max_pairs=20_000, top_k=1499
    )(model)
    for name, called in (
        ("average_precision", "average_precision"),
        ("f1/oracle", "f1"),
        *((f"f1/oracle/{part}", part) for part in ("threshold", "precision", "recall")),
    ):
        assert ours[name] == pytest.approx(theirs[called], abs=1e-5), name
