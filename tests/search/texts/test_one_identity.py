"""A model has one fingerprint, whichever engine computes it; indexes record the computation beside it."""

import sys
import tarfile
from pathlib import Path

import pytest

from likewise import Embedder
from likewise.engine_registry import Computation, computation_of
from likewise.errors import BadInput, MissingExtra
from likewise.native.library import ARITHMETIC
from likewise.search.index import ModelIdentity
from likewise.search.texts.text_index import TextIndex, identity_of_embedder
from tests.native_library import NATIVE
from tests.tiny import CONFIGS
from tests.without_torch import TORCH

BY_ENGINE = {"native": ("fp32", "bf16", "int8"), "numpy": ("fp32",), "torch": ("fp32", "bf16", "fp16")}
INSTALLED = {"native": NATIVE, "numpy": True, "torch": TORCH}
COMPUTATIONS = [(engine, precision) for engine, row in BY_ENGINE.items() if INSTALLED[engine] for precision in row]
PAIRS = [(made, used) for made in COMPUTATIONS for used in COMPUTATIONS]
FORMER = Path(__file__).parent / "former_indexes.tar.xz"
"""A tiny BERT, collections of two texts made with it by likewise before 2026-11-24, and an output of `encode`."""
FORMER_INDEXES = ("native-fp32", "native-bf16", "native-int8", "numpy-fp32", "torch-fp32")
TEXTS = [{"id": "cat", "text": "A cat sleeps."}, {"id": "dog", "text": "dogs bark at night"}]


def loaded(folder: Path, computation: tuple[str, str]) -> Embedder:
    engine, precision = computation
    return Embedder.load(folder, engine=engine, precision=precision, device="cpu")


@pytest.mark.parametrize("family", [name for name in CONFIGS if name not in ("bilstm", "dan")])
def test_every_engine_and_precision_gives_a_folder_the_same_fingerprint(family, folders):
    assert len({loaded(folders(family), one).fingerprint for one in COMPUTATIONS}) == 1


@pytest.mark.parametrize("computation", COMPUTATIONS)
def test_a_folder_in_int8_is_another_model_to_every_engine_alike(computation, own, tmp_path):
    Embedder.load(own(), engine="numpy").save(tmp_path / "int8", weights="int8")
    small = Embedder.load(tmp_path / "int8", engine="numpy")
    assert loaded(tmp_path / "int8", computation).fingerprint == small.fingerprint
    assert small.fingerprint != Embedder.load(own(), engine="numpy").fingerprint


@pytest.mark.skipif(not TORCH, reason="trains")
@pytest.mark.parametrize("precision", BY_ENGINE["torch"])
def test_a_changed_model_is_identified_by_what_it_would_be_saved_as(precision, own, tmp_path):
    import torch

    changed = loaded(own(), ("torch", precision))
    before = changed.fingerprint
    with torch.no_grad():
        changed.encoder.blocks[0].up.bias.add_(0.5)
    assert changed.fingerprint != before
    changed.save(tmp_path / "changed")
    assert {loaded(tmp_path / "changed", one).fingerprint for one in COMPUTATIONS} == {changed.fingerprint}


@pytest.mark.parametrize(("made", "used"), PAIRS, ids=lambda one: "-".join(one))
def test_engines_and_precisions_open_each_others_indexes_and_int8_by_consent(made, used, folders, tmp_path):
    place, first, second = tmp_path / "index", *(loaded(folders("bert"), one) for one in (made, used))
    with TextIndex.open(place, first) as index:
        index.add(TEXTS)
        assert index.index.model.computed == computation_of(first)
    mixed = (made[1] == "int8") != (used[1] == "int8")
    if mixed:
        words = rf"holds vectors of .* computed by {made[0]}, {made[1]}.*; got the same model computed by {used[0]}, "
        with pytest.raises(BadInput, match=rf"{words}.*load the model in {made[1]}, or accept .*allow=\"int8\""):
            TextIndex.open(place, second)
    with TextIndex.open(place, second, allow="int8" if mixed else None) as index:
        assert index.search("A cat sleeps.", 1).passages[0].id == "cat"
        if mixed:
            with pytest.raises(BadInput, match="int8 changes vectors more"):
                index.upsert([{"id": "bird", "text": "birds sing"}])
        else:
            assert index.upsert([{"id": "bird", "text": "birds sing"}]).added == 1


def test_another_model_is_never_accepted(folders, tmp_path):
    TextIndex.open(tmp_path / "index", Embedder.load(folders("bert"), engine="numpy")).close()
    other = Embedder.load(folders("bert"), engine="numpy", pooling="cls")
    with pytest.raises(BadInput, match="Vectors of two models cannot be compared: use its own model, or create"):
        TextIndex.open(tmp_path / "index", other, allow="int8")


def test_consent_has_one_spelling(folders, tmp_path):
    embedder = Embedder.load(folders("bert"), engine="numpy")
    TextIndex.open(tmp_path / "index", embedder).close()
    with pytest.raises(BadInput, match="allow is 'fp32'; expected one of int8"):
        TextIndex.open(tmp_path / "index", embedder, allow="fp32")


@pytest.mark.skipif(not NATIVE, reason="int8 is the native engine's")
def test_an_index_made_in_int8_opens_in_int8_without_a_word(folders, tmp_path):
    with TextIndex.open(tmp_path / "index", Embedder.load(folders("bert"), engine="native", precision="int8")) as index:
        index.add(TEXTS)
    with TextIndex.open(tmp_path / "index") as index:
        assert index.embedder.precision == "int8" and index.search("cat").passages


@pytest.mark.parametrize("computed", [None, Computation("native", "int8", ARITHMETIC), Computation("torch", "bf16", 0)])
def test_a_record_survives_json(computed):
    identity = ModelIdentity("m", "f" * 32, (("query", "q: "),), True, computed)
    assert ModelIdentity.from_json(identity.as_json()) == identity


# indexes of earlier versions, whose fingerprints covered engine and precision


@pytest.fixture(scope="session")
def former(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("former")
    with tarfile.open(FORMER) as archive:
        # Python has filters from 3.11.4 on, and asks for one from 3.12 on
        archive.extractall(place, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return place / "former"


@pytest.mark.parametrize("name", FORMER_INDEXES)
@pytest.mark.parametrize("used", COMPUTATIONS, ids="-".join)
def test_former_indexes_open_by_the_rules_of_new_ones(name, used, former):
    made = tuple(name.split("-"))
    embedder = loaded(former / "model", used)
    if made[0] == "torch" and used != made:  # its fingerprint can be computed by torch in that precision only
        with pytest.raises(BadInput, match="load it with the engine and precision that computed the vectors"):
            TextIndex.open(former / name, embedder, read_only=True)
        return
    mixed = (made[1] == "int8") != (used[1] == "int8")
    if mixed:
        with pytest.raises(BadInput, match=f"computed by {made[0]}, {made[1]}; got the same model"):
            TextIndex.open(former / name, embedder, read_only=True)
    with TextIndex.open(former / name, embedder, read_only=True, allow="int8" if mixed else None) as index:
        assert index.index.model.computed is None
        assert index.search("A cat sleeps.", 1).passages[0].id == "cat"


def test_another_model_does_not_open_a_former_index(former):
    other = Embedder.load(former / "model", engine="numpy", pooling="cls")
    with pytest.raises(
        BadInput, match="If it is the same model, load it with the engine and precision that computed the vectors"
    ):
        TextIndex.open(former / "numpy-fp32", other, read_only=True, allow="int8")


def test_a_former_index_needs_the_library_of_its_fingerprint_and_says_so(former, monkeypatch):
    embedder = Embedder.load(former / "model", engine="numpy")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match="earlier version of likewise needs the package tokenizers"):
        TextIndex.open(former / "numpy-fp32", embedder, read_only=True)


@pytest.mark.skipif(not NATIVE, reason="the native engine made it")
def test_a_former_output_of_encode_is_read_and_compared(former):
    pytest.importorskip("pyarrow")
    from likewise.distribute.shard_records import ShardRecords
    from likewise.distribute.verify_output import verify_output

    records = ShardRecords(former / "vectors")
    embedder = Embedder.load(former / "model", engine="native")
    assert records.model.difference(identity_of_embedder(embedder, "model")) == ""
    assert verify_output(former / "vectors", embedder, 2, show_progress_bar=False).is_clean
