"""Explaining a model: how words change through its layers, and which poolings suit it."""

from .anatomy import Anatomy, WordImportance, anatomy

__all__ = ["Anatomy", "WordImportance", "anatomy"]
