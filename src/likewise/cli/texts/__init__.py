"""Verbs on your own texts: encode, similarity, pairs, duplicates, cluster, rerank."""
