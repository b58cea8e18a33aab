"""Late interaction beside sentence-transformers' MultiVectorEncoder: vectors of tokens, and scores."""

import numpy as np
import pytest
from sentence_transformers import MultiVectorEncoder

from likewise import Reranker
from likewise.model_files.late_interaction_folder import FORMS
from tests.tiny import LONG, TEXTS, colbert_folder

QUERIES = ["the cat, and dog", "x", "", LONG]


@pytest.mark.parametrize("attends", [False, True])
@pytest.mark.parametrize("family", ["bert", "modernbert", "distilbert"])
@pytest.mark.parametrize("form", FORMS)
def test_vectors_and_scores_are_theirs(form, family, attends, tmp_path):
    folder = colbert_folder(tmp_path / "m", form, family, attends=attends)
    reference, ours = MultiVectorEncoder(str(folder), device="cpu"), Reranker.load(folder)
    theirs = reference.encode_query(QUERIES), reference.encode_document([*TEXTS, LONG])
    for expected, found in zip(
        theirs, (ours.query_vectors(QUERIES), ours.document_vectors([*TEXTS, LONG])), strict=True
    ):
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(b, np.asarray(a), atol=2e-6, rtol=0)
    scores = reference.similarity(*theirs).numpy()
    for query, row in zip(QUERIES, scores, strict=True):
        pairs = [(query, text) for text in [*TEXTS, LONG]]
        np.testing.assert_allclose(ours.score(pairs, overflow="truncate"), row, atol=2e-6 * 32, rtol=0)
