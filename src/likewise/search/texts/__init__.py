"""Searching texts: an index combined with an embedder; search by meaning, by words, and with a reranker."""
