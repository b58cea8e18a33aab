"""Clients of other APIs, unchanged, against the running server."""

import asyncio
import gc

import numpy as np
import pytest

from likewise import Embedder
from tests.serve.running_server import running_server
from tests.tiny import classifier_folder

pytestmark = pytest.mark.filterwarnings("ignore")  # what the clients warn of, unclosed sockets among them
MODEL = "likewise-static"
TEXTS = ["A cat sleeps.", "A kitten naps.", "Shares fell."]
KEY = "anything"


@pytest.fixture(autouse=True)
def collected():
    """Sockets that a client leaves open are closed within its own test."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def server():
    with running_server(MODEL, "--log", "off") as server:
        yield server


@pytest.fixture(scope="module")
def expected():
    return Embedder.load(MODEL).encode(TEXTS, normalize_embeddings=True)


def close(found, expected):
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_openai(server, expected):
    import openai

    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY)
    answer = client.embeddings.create(input=TEXTS, model=MODEL)
    close([row.embedding for row in answer.data], expected)
    assert answer.usage.prompt_tokens > 0
    assert [model.id for model in client.models.list()] == [MODEL]
    assert client.models.retrieve(MODEL).id == MODEL
    with pytest.raises(openai.NotFoundError, match="no embedder"):
        client.embeddings.create(input="a", model="text-embedding-3-small")
    with pytest.raises(openai.BadRequestError, match="have 384 dimensions"):
        client.embeddings.create(input="a", model=MODEL, dimensions=100_000)


def test_openai_asynchronously(server, expected):
    import openai

    async def ask():
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=KEY) as client:
            return await asyncio.gather(*(client.embeddings.create(input=text, model=MODEL) for text in TEXTS))

    close([answer.data[0].embedding for answer in asyncio.run(ask())], expected)


def test_langchain(server, expected):
    from langchain_openai import OpenAIEmbeddings

    # with its own check of lengths it would download OpenAI's vocabulary and send OpenAI's token ids
    embeddings = OpenAIEmbeddings(
        base_url=f"{server.url}/v1", api_key=KEY, model=MODEL, check_embedding_ctx_length=False
    )
    close(embeddings.embed_documents(TEXTS), expected)
    close(embeddings.embed_query(TEXTS[0]), expected[0])
    close(asyncio.run(embeddings.aembed_query(TEXTS[0])), expected[0])


def test_llama_index(server, expected):
    from llama_index.embeddings.openai import OpenAIEmbedding

    embedding = OpenAIEmbedding(api_base=f"{server.url}/v1", api_key=KEY, model_name=MODEL)
    close(embedding.get_text_embedding_batch(TEXTS), expected)
    close(embedding.get_query_embedding(TEXTS[0]), expected[0])


def test_haystack(server, expected):
    from haystack import Document
    from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
    from haystack.utils import Secret

    options = {"api_base_url": f"{server.url}/v1", "api_key": Secret.from_token(KEY), "model": MODEL}
    close(OpenAITextEmbedder(**options).run(TEXTS[0])["embedding"], expected[0])
    found = OpenAIDocumentEmbedder(**options, progress_bar=False).run([Document(content=text) for text in TEXTS])
    close([document.embedding for document in found["documents"]], expected)


def test_hugging_face(server, expected, monkeypatch):
    import huggingface_hub
    from huggingface_hub import InferenceClient

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    client = InferenceClient(model=server.url)
    close(client.feature_extraction(TEXTS[0])[0], expected[0])
    close(client.feature_extraction(TEXTS[0], normalize=True, truncate=True)[0], expected[0])
    similar = InferenceClient(model=f"{server.url}/similarity").sentence_similarity(TEXTS[0], TEXTS[1:])
    close(similar, expected[1:] @ expected[0])


def test_cohere(tmp_path):
    import cohere

    with running_server(MODEL, "--reranker", f"ranker={classifier_folder(tmp_path)}", "--log", "off") as server:
        documents = ["dogs", "a kitten", "a cat sleeps"]
        tei = server.ask("/rerank", {"query": "a cat", "texts": documents})[1]
        for client in (
            cohere.Client(api_key=KEY, base_url=server.url),
            cohere.ClientV2(api_key=KEY, base_url=server.url),
        ):
            found = client.rerank(query="a cat", documents=documents, model="ranker", top_n=2).results
            assert [one.index for one in found] == [one["index"] for one in tei[:2]]
            close([one.relevance_score for one in found], [one["score"] for one in tei[:2]])
            with pytest.raises(cohere.errors.NotFoundError):
                client.rerank(query="a", documents=["b"], model="rerank-v4")
