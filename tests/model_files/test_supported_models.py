"""Every row of docs/supported-models.toml loads as it says, from a small folder of the published form."""

import pytest

from benchmarks.supported_models import ENGINES, supported_models
from likewise import Embedder, Reranker
from likewise.errors import BadModel
from tests.model_files.published import published_folder
from tests.tiny import TEXTS
from tests.without_torch import TORCH

ROWS = supported_models()
FIELDS = {*"family modules licence max_seq_length engine kind prompts config note refused instead".split()}  # noqa: SIM905
pytestmark = [
    pytest.mark.skipif(not TORCH, reason="the small models are made by torch"),
    pytest.mark.filterwarnings("ignore:.*(no word that this model knows|has the routes|plain encoder)"),
]


def named(engine):
    return [name for name, row in ROWS.items() if row["engine"] == engine]


def test_rows_have_known_fields_and_a_refused_one_has_an_alternative():
    assert len(ROWS) >= 60
    for name, row in ROWS.items():
        assert row.keys() <= FIELDS and row["engine"] in ENGINES and row["licence"], name
        assert ("refused" in row) == ("instead" in row) == (row["engine"] == "refused"), name


@pytest.mark.parametrize("engine", ["numpy", None])
@pytest.mark.parametrize("name", named("native"))
def test_it_is_computed_without_torch(name, engine, tmp_path):
    row = ROWS[name]
    folder = published_folder(tmp_path / "m", row)
    if row.get("kind") == "reranker":
        scores = Reranker.load(folder, engine=engine).score([("the cat", text) for text in TEXTS])
        assert scores.shape == (len(TEXTS),)
        return
    embedder = Embedder.load(folder, engine=engine)
    assert dict(embedder.manifest.prompts) == row.get("prompts", {})
    assert [head.kind for head in embedder.head_weights()] == [
        module.split()[0] for module in row.get("modules", []) if not module.startswith(("Pooling", "Router"))
    ] + ["Normalize"] * (row.get("modules") == ["Router"])
    assert embedder.encode(TEXTS).shape == (len(TEXTS), embedder.dimension)


@pytest.mark.parametrize("name", named("refused"))
def test_it_is_refused_in_words(name, tmp_path):
    pytest.importorskip("transformers")  # without which a family that nobody here knows asks for it
    row = ROWS[name]
    folder = published_folder(tmp_path / "m", row)
    load = Reranker.load if row.get("kind") == "reranker" else Embedder.load
    with pytest.raises(BadModel, match=row["refused"]) as refusal:
        load(folder)
    assert str(refusal.value).count("\n") == 0
