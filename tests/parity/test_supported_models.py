"""Published models, made small: our vectors and scores beside those of the library that each was published for."""

import numpy as np
import pytest

from benchmarks.supported_models import supported_models
from likewise import Embedder, Reranker
from tests.model_files.published import published_folder
from tests.tiny import OWN_CODE, TEXTS

ROWS = {
    name: row
    for name, row in supported_models().items()
    if row["engine"] != "refused" and row["family"] not in OWN_CODE  # these are compared in test_families.py
}
SHORT = [text for text in TEXTS if text]  # model2vec's texts of unknown length are in test_static_models.py
pytestmark = pytest.mark.filterwarnings("ignore:.*(no word that this model knows|has the routes)")


@pytest.mark.parametrize("name", ROWS)
def test_the_numbers_are_the_reference_librarys(name, tmp_path):
    from sentence_transformers import CrossEncoder, MultiVectorEncoder, SentenceTransformer

    row = ROWS[name]
    folder = published_folder(tmp_path / "m", row)
    if row.get("modules") == ["Dense"]:
        texts, reference = [text for text in SHORT if len(text) < 60], MultiVectorEncoder(str(folder), device="cpu")
        ours = Reranker.load(folder).score([("the cat", text) for text in texts])
        theirs = reference.similarity(reference.encode_query(["the cat"]), reference.encode_document(texts))[0].numpy()
    elif row.get("kind") == "reranker":
        pairs = [("the cat", text) for text in SHORT]
        ours, theirs = Reranker.load(folder).score(pairs), CrossEncoder(str(folder), device="cpu").predict(pairs)
    else:
        embedder, reference = Embedder.load(folder), SentenceTransformer(str(folder), device="cpu")
        ours = np.concatenate([embedder.encode_query(SHORT), embedder.encode_document(SHORT)])
        theirs = np.concatenate([reference.encode_query(SHORT), reference.encode_document(SHORT)])
    np.testing.assert_allclose(ours, theirs, atol=2e-6 * max(1, np.abs(theirs).max()))
