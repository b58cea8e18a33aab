"""Explaining: how words change through a model's layers, and which words make two texts similar."""

from .anatomy import Anatomy, WordImportance, anatomy
from .word_pairs import PairExplanation, Word, WordPair, explain_pair

__all__ = ["Anatomy", "PairExplanation", "Word", "WordImportance", "WordPair", "anatomy", "explain_pair"]
