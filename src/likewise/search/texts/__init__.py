"""Searching texts: an index and an embedder together, by meaning, by words and with a reranker."""
