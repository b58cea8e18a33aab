"""The drop-in stands in for sentence-transformers under LangChain's own class, BERTopic and KeyBERT, unchanged."""

import subprocess
import sys

import pytest

START = """
from likewise.integrations.sentence_transformers import SentenceTransformer as ours, stand_in
stand_in()
import numpy as np
from likewise import Embedder
TEXTS = ["A cat sleeps on the sofa.", "The kitten naps.", "Stocks fell on Monday.", "Shares lost value."] * 4
expected = Embedder.load("likewise-static").encode(TEXTS)
"""
SCRIPTS = {
    "langchain": """
from langchain_huggingface import HuggingFaceEmbeddings
options = {"model_kwargs": {"device": "cpu"}, "encode_kwargs": {"batch_size": 2}}
model = HuggingFaceEmbeddings(model_name="likewise-static", **options)
assert type(model._client) is ours
np.testing.assert_allclose(model.embed_documents(TEXTS), expected, atol=2e-6)
np.testing.assert_allclose(model.embed_query(TEXTS[0]), expected[0], atol=2e-6)
many = HuggingFaceEmbeddings(model_name="likewise-static", multi_process=True)
np.testing.assert_allclose(many.embed_documents(TEXTS), expected, atol=2e-6)
""",
    "bertopic": """
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from bertopic import BERTopic
from bertopic.backend import BaseEmbedder
parts = {"umap_model": PCA(2), "hdbscan_model": KMeans(2, n_init=3, random_state=0)}
for given in ("likewise-static", ours("likewise-static")):
    model = BERTopic(embedding_model=given, **parts)
    topics, _ = model.fit_transform(TEXTS)
    assert type(model.embedding_model.embedding_model) is ours
    assert topics[0] == topics[1] != topics[2] == topics[3], topics
""",
    "keybert": """
from keybert import KeyBERT
for given in ("likewise-static", ours("likewise-static")):
    model = KeyBERT(given)
    assert type(model.model.embedding_model) is ours
    words = model.extract_keywords(TEXTS[0], top_n=2)
    assert {word for word, _ in words} <= {"cat", "sleeps", "sofa"} and len(words) == 2, words
""",
}


@pytest.mark.parametrize("library", SCRIPTS)
def test_it_runs_unchanged_on_the_drop_in(library):
    script = START + SCRIPTS[library] + "\nprint('done')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.endswith("done\n"), done.stderr[-2000:]
