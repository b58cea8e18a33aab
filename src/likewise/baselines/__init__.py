"""Baseline models: tf-idf, and the architectures that the papers compare with, untrained."""
