"""Clusters: groups of similar vectors, found without labels."""

from .community_detection import communities

__all__ = ["communities"]
