"""LangChain, LlamaIndex, Haystack, BERTopic and KeyBERT get the embedder's vectors."""

import asyncio

import numpy as np
import pytest
from haystack import Document, Pipeline
from langchain_core.documents import Document as Passage
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import Document as Text
from llama_index.core import VectorStoreIndex
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from likewise import Embedder
from likewise.integrations.haystack import LikewiseDocumentEmbedder, LikewiseTextEmbedder
from likewise.integrations.langchain import EmbedderEmbeddings
from likewise.integrations.llama_index import EmbedderEmbedding

TEXTS = ["A cat sleeps on the sofa.", "The kitten naps.", "Stocks fell on Monday.", "Shares lost value."] * 4
pytestmark = pytest.mark.filterwarnings("default")
QUERY = "a sleeping kitten"


@pytest.fixture(scope="module")
def embedder():
    return Embedder.load("likewise-static")


def nearest(embedder):
    scores = embedder.encode(TEXTS) @ embedder.encode([QUERY])[0]
    return TEXTS[int(np.argmax(scores))]


def test_langchains_vector_store_finds_what_we_find(embedder):
    store = InMemoryVectorStore.from_documents([Passage(text) for text in TEXTS], EmbedderEmbeddings(embedder))
    assert store.similarity_search(QUERY, k=1)[0].page_content == nearest(embedder)


def test_llama_index_retrieves_what_we_find(embedder):
    model = EmbedderEmbedding.of(embedder)
    index = VectorStoreIndex.from_documents([Text(text=text) for text in TEXTS], embed_model=model)
    assert index.as_retriever(similarity_top_k=1).retrieve(QUERY)[0].text == nearest(embedder)
    np.testing.assert_allclose(asyncio.run(model.aget_query_embedding(QUERY)), embedder.encode([QUERY])[0], atol=1e-6)
    np.testing.assert_allclose(model.get_text_embedding(QUERY), embedder.encode([QUERY])[0], atol=1e-6)


def test_haystacks_pipeline_embeds_and_is_written_and_read(embedder):
    pipeline = Pipeline()
    pipeline.add_component("documents", LikewiseDocumentEmbedder("likewise-static"))
    pipeline.add_component("query", LikewiseTextEmbedder("likewise-static"))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["likewise.integrations.haystack"])
    found = again.run(
        {"documents": {"documents": [Document(content=text) for text in TEXTS]}, "query": {"text": QUERY}}
    )
    vectors = np.array([document.embedding for document in found["documents"]["documents"]])
    np.testing.assert_allclose(vectors, embedder.encode(TEXTS), atol=1e-6)
    np.testing.assert_allclose(found["query"]["embedding"], embedder.encode([QUERY])[0], atol=1e-6)


def test_bertopic_groups_by_our_vectors(embedder):
    from bertopic import BERTopic  # here, as importing it warns, which only a test may let pass

    from likewise.integrations.bertopic import EmbedderBackend

    parts = {"umap_model": PCA(2), "hdbscan_model": KMeans(2, n_init=3, random_state=0)}
    topics, _ = BERTopic(embedding_model=EmbedderBackend(embedder), **parts).fit_transform(TEXTS)
    assert len({*topics[::4], *topics[1::4]}) == 1 and len({*topics[2::4], *topics[3::4]}) == 1
    assert topics[0] != topics[2]


def test_keybert_ranks_words_by_our_vectors(embedder):
    from keybert import KeyBERT

    from likewise.integrations.keybert import KeywordBackend

    words = KeyBERT(model=KeywordBackend(embedder)).extract_keywords(TEXTS[0], top_n=2)
    sentence, *vectors = embedder.encode([TEXTS[0], *(word for word, _ in words)])
    expected = [v @ sentence / np.linalg.norm(v) / np.linalg.norm(sentence) for v in vectors]
    np.testing.assert_allclose([score for _, score in words], expected, atol=1e-3)
    assert expected == sorted(expected, reverse=True)
