"""Models of word vectors are ours alone: sentence-transformers refuses them, and takes them for nothing else."""

import numpy as np
import pytest

from likewise.model_files.word_vectors.word_tables import WordVectors, write_word_vectors


def test_sentence_transformers_refuses_a_table_of_words(tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    write_word_vectors(tmp_path, WordVectors(["a", "cat"], np.zeros((3, 4), np.float32)))
    with pytest.raises(ValueError, match="words"):
        sentence_transformers.SentenceTransformer(str(tmp_path), device="cpu")
