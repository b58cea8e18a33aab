"""Explanations: how words change through a model's layers, and which words make two texts similar."""

from .anatomy import Anatomy, anatomy
from .sentence_path import sentence_path
from .word_pairs import PairExplanation, Word, explain_pair

__all__ = ["Anatomy", "PairExplanation", "Word", "anatomy", "explain_pair", "sentence_path"]
