"""mteb runs our embedder, and finds the figures that we find; on data from the folder, without the network."""

import numpy as np
import pytest

from likewise import Embedder
from likewise.arrays.correlation import pearson, spearman
from likewise.arrays.similarity import PAIRWISE, SIMILARITIES
from likewise.data.datasets import read_dataset
from likewise.errors import BadInput
from likewise.integrations.mteb import for_mteb

mteb = pytest.importorskip("mteb", reason="mteb is not installed (pip group: parity)")
COUNT = 300


@pytest.fixture(scope="module")
def embedder():
    return Embedder.load("all-MiniLM-L6-v2")


@pytest.fixture(scope="module")
def pairs(data):
    columns = read_dataset("stsb/test")
    return {name: list(columns[name])[:COUNT] for name in ("sentence1", "sentence2", "score")}


def local(pairs):
    """mteb's STS-B with pairs of ours in place of a download."""
    from datasets import Dataset
    from mteb.tasks.sts import STSBenchmarkSTS

    class Local(STSBenchmarkSTS):
        def load_data(self, *args, **kwargs):
            self.dataset, self.data_loaded = {"test": Dataset.from_dict(pairs)}, True

    return Local()


def test_mteb_finds_our_correlations(embedder, pairs):
    result = mteb.evaluate(for_mteb(embedder), local(pairs), cache=None, show_progress_bar=False, co2_tracker=False)
    theirs = result.task_results[0].scores["test"][0]
    a, b = (embedder.encode(pairs[name]) for name in ("sentence1", "sentence2"))
    gold = np.asarray(pairs["score"], float)
    for kind in ("cosine", "euclidean", "manhattan"):
        reported = PAIRWISE[kind](a, b).astype(float)
        assert theirs[f"{kind}_spearman"] == pytest.approx(spearman(reported, gold), abs=1e-5)
        assert theirs[f"{kind}_pearson"] == pytest.approx(pearson(reported, gold), abs=1e-5)
    assert theirs["spearman"] == pytest.approx(theirs["cosine_spearman"], abs=1e-5)
    assert theirs["main_score"] == theirs["cosine_spearman"]


def test_it_is_what_mteb_calls_an_encoder(embedder):
    from mteb.models import EncoderProtocol

    ours = for_mteb(embedder)
    assert isinstance(ours, EncoderProtocol)
    assert ours.mteb_model_meta.name == "likewise/all-MiniLM-L6-v2"
    assert ours.mteb_model_meta.revision.startswith(embedder.fingerprint)
    vectors = embedder.encode(["a cat", "a dog", "rain"])
    np.testing.assert_allclose(ours.similarity(vectors, vectors), SIMILARITIES["cosine"](vectors, vectors))
    np.testing.assert_allclose(ours.similarity_pairwise(vectors, vectors), 1, atol=1e-6)


def test_prompts_go_to_the_side_that_they_are_meant_for(embedder):
    from dataclasses import replace

    from mteb.types import PromptType

    ours = for_mteb(embedder)
    before = embedder.manifest
    try:
        embedder.manifest = replace(before, prompts={"query": "ask: ", "passage": "told: "})
        described = {"task_metadata": None, "hf_split": "test", "hf_subset": "default"}
        batches = [{"text": ["a cat"]}, {"text": ["a dog", "rain"]}]
        for kind, lead in ((PromptType.query, "ask: "), (PromptType.document, "told: "), (None, "")):
            expected = embedder.encode([lead + text for text in ("a cat", "a dog", "rain")])
            np.testing.assert_allclose(ours.encode(batches, prompt_type=kind, **described), expected, atol=1e-6)
    finally:
        embedder.manifest = before


def test_what_would_do_nothing_is_refused(embedder):
    with pytest.raises(BadInput, match="encode does not support precision in mteb"):
        for_mteb(embedder).encode([], task_metadata=None, hf_split="", hf_subset="", precision="int8", batch_size=8)
