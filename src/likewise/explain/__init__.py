"""Explaining a model: how words move through its layers, and what that says of the poolings it bears."""

from .anatomy import Anatomy, Word, anatomy

__all__ = ["Anatomy", "Word", "anatomy"]
