"""Verbs on your own texts: encode, similarity, pairs, duplicates, rerank."""
