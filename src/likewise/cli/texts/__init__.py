"""Verbs on your own texts: similarity, pairs, duplicates, cluster, explain, calibrate, rerank."""
