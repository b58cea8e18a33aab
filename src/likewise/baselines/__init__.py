"""Baseline models: tf-idf, and untrained models of the architectures that the papers compare with."""
