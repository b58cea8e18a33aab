"""Text search with an index and an embedder: by meaning, by words, and with a reranker."""
