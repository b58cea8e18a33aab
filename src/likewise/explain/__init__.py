"""Explaining: how words change through a model's layers, and which words make two texts similar."""

from .anatomy import Anatomy, WordImportance, anatomy
from .sentence_path import SentencePath, sentence_path
from .word_pairs import PairExplanation, Word, WordPair, explain_pair

__all__ = [
    "Anatomy",
    "PairExplanation",
    "SentencePath",
    "Word",
    "WordImportance",
    "WordPair",
    "anatomy",
    "explain_pair",
    "sentence_path",
]
