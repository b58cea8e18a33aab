"""Explaining a model: how words move through its layers, and what that says of the poolings it bears."""

from .anatomy import Anatomy, WordImportance, anatomy

__all__ = ["Anatomy", "WordImportance", "anatomy"]
