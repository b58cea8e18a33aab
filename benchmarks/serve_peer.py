"""The server that most people write first: FastAPI, sentence-transformers, and one call of `encode` per request.

python -m benchmarks.serve_peer FOLDER PORT THREADS        pip install fastapi uvicorn sentence-transformers
"""

import sys
from typing import Any

import torch
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sentence_transformers import SentenceTransformer


class EmbeddingsBody(BaseModel):
    """The body of a request in OpenAI's format."""

    input: str | list[str]
    model: str | None = None
    encoding_format: str = "float"


def peer_app(folder: str) -> FastAPI:
    """Create the server, which computes vectors in the framework's threads."""
    model, app = SentenceTransformer(folder, device="cpu"), FastAPI()

    @app.post("/embeddings")
    def embeddings(body: EmbeddingsBody) -> dict[str, Any]:
        texts = [body.input] if isinstance(body.input, str) else body.input
        vectors = model.encode(texts, show_progress_bar=False).tolist()
        data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
        return {"object": "list", "data": data, "model": folder}

    return app


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[3]))
    uvicorn.run(peer_app(sys.argv[1]), port=int(sys.argv[2]), log_level="error")
