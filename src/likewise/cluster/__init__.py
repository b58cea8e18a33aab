"""Clusters of vectors."""
