"""Static models beside the libraries that publish them: sentence-transformers' StaticEmbedding, and model2vec."""

import numpy as np
import pytest

from likewise import Embedder
from likewise.engine_registry import ENGINES
from tests.runtime.test_static_tables import FORMS, WORDS, static_folder

CLOSE = {np.float16: 1e-3}  # model2vec takes means of half-precision tables in half precision
pytestmark = pytest.mark.filterwarnings("ignore:.*no word that this model knows")


def _texts(form):
    """Texts that model2vec reads to the end.

    It also cuts a text at its maximum number of tokens times the median length of a token in its vocabulary, which is
    1 character in this vocabulary of letters; likewise cuts at the number of tokens alone.
    """
    return [text for text in WORDS if len(text) < min(100, FORMS[form].get("length") or 100)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", [name for name, how in FORMS.items() if how.get("own", True)])
def test_vectors_are_those_of_model2vec(form, engine, tmp_path):
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed")
    how, texts = FORMS[form], _texts(form)
    static_folder(tmp_path, **how)
    theirs = model2vec.StaticModel.from_pretrained(tmp_path).encode(texts)
    ours = Embedder.load(tmp_path, engine=engine).encode(texts, overflow="truncate")
    scale = max(1, np.abs(theirs).max())
    np.testing.assert_allclose(ours, theirs, atol=CLOSE.get(how.get("dtype"), 2e-6) * scale)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", [name for name, how in FORMS.items() if not how.get("own", True)])
def test_vectors_are_those_of_static_embedding(form, engine, tmp_path):
    from sentence_transformers import SentenceTransformer

    static_folder(tmp_path, **FORMS[form])
    theirs = SentenceTransformer(str(tmp_path), device="cpu").encode(WORDS)
    ours = Embedder.load(tmp_path, engine=engine).encode(WORDS, overflow="truncate")
    np.testing.assert_allclose(ours, theirs, atol=2e-6 * max(1, np.abs(theirs).max()))


@pytest.mark.parametrize("form", FORMS)
def test_both_libraries_read_what_we_write(form, tmp_path):
    from sentence_transformers import SentenceTransformer

    static_folder(tmp_path / "old", **FORMS[form])
    embedder = Embedder.load(tmp_path / "old")
    embedder.save(tmp_path / "new")
    known = [
        text for text in _texts(form) if "日" not in text
    ]  # sentence-transformers keeps unknown tokens of model2vec's
    ours = embedder.encode(known, overflow="truncate")
    close = 2e-6 * max(1, np.abs(ours).max())
    theirs = SentenceTransformer(str(tmp_path / "new"), device="cpu").encode(known)
    np.testing.assert_allclose(ours, theirs, atol=close)
    if FORMS[form].get("own", True):
        model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed")
        theirs = model2vec.StaticModel.from_pretrained(tmp_path / "new").encode(known)
        np.testing.assert_allclose(ours, theirs, atol=close)
