"""Cross-encoders of several modules: every engine computes them alike, and a head that does not fit is refused."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from likewise import Embedder, Reranker
from likewise.arrays.activations import gelu, sigmoid
from likewise.arrays.sequences import Sequences
from likewise.errors import BadModel
from tests.native_library import needs_native
from tests.tiny import MODULES, TEXTS, amend, model_folder, modular_folder, reweigh, write

PAIRS = [("the cat", text) for text in TEXTS]
engines = pytest.mark.parametrize("engine", ["numpy", pytest.param("native", marks=needs_native), "torch"])


def weights(folder, part):
    return load_file(folder / part / "model.safetensors")


def slowly(folder):
    """The scores from the layers of the encoder, module by module, one pair at a time."""
    pair = Reranker.load(folder, engine="numpy")
    encoder = pair.encoder
    found = []
    for ids in pair.token_id_pairs(PAIRS):
        sequences, kinds = pair._sequences([ids])
        *_, last = encoder.states(Sequences.of(sequences), None if kinds is None else np.concatenate(kinds))
        x = gelu(last[0] @ weights(folder, "2_Dense")["linear.weight"].T)
        norm = weights(folder, "3_LayerNorm")
        x = (x - x.mean()) / np.sqrt(x.var() + 1e-5) * norm["norm.weight"] + norm["norm.bias"]
        out = weights(folder, "4_Dense")
        found.append(sigmoid(out["linear.weight"] @ x + out["linear.bias"])[0])
    return np.array(found)


@engines
def test_the_scores_are_those_of_the_modules_one_after_the_other(engine, tmp_path):
    folder = modular_folder(tmp_path / "m")
    np.testing.assert_allclose(Reranker.load(folder, engine=engine).score(PAIRS), slowly(folder), atol=1e-6)


@pytest.mark.parametrize("family", ["modernbert", "mpnet", "distilbert", "albert"])
@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_any_family_and_pooling_scores_alike_with_and_without_torch(family, pooling, tmp_path):
    folder = modular_folder(
        tmp_path / "m", family, (f"Pooling {pooling}", "Dense Tanh", "Normalize", "Dense"), labels=3
    )
    ours, theirs = (Reranker.load(folder, engine=engine).logits(PAIRS) for engine in ("numpy", "torch"))
    assert ours.shape == (len(PAIRS), 3)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


@engines
def test_what_is_saved_is_the_same_model(engine, tmp_path):
    first = Reranker.load(modular_folder(tmp_path / "m", labels=2), engine=engine, max_seq_length=20)
    first.save(tmp_path / "again")
    again = Reranker.load(tmp_path / "again", engine=engine)
    assert again.fingerprint == first.fingerprint and list(again.labels) == ["LABEL_0", "LABEL_1"]
    np.testing.assert_allclose(*(one.logits(PAIRS, overflow="truncate") for one in (again, first)), atol=1e-6)
    kinds = [row["type"].rpartition(".")[2] for row in json.loads((tmp_path / "again/modules.json").read_text())]
    assert kinds == ["Transformer", *(module.split()[0] for module in MODULES)]


def test_all_engines_identify_it_alike_and_any_head_changes_that(tmp_path):
    folder = modular_folder(tmp_path / "m")
    prints = {Reranker.load(folder, engine=engine).fingerprint for engine in ("numpy", "torch")}
    prints.add(Reranker.load(folder, engine="torch", precision="bf16").fingerprint)
    assert len(prints) == 1
    amend(folder / "2_Dense/config.json", activation_function="torch.nn.modules.activation.ReLU")
    assert Reranker.load(folder, engine="numpy").fingerprint not in prints


def test_it_can_be_trained(tmp_path):
    reranker = Reranker.load(modular_folder(tmp_path / "m"), engine="torch")
    reranker(reranker.tokens(PAIRS)).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in reranker.head.parameters())


@needs_native
def test_low_precisions_are_near_full_precision(tmp_path):
    folder = modular_folder(tmp_path / "m")
    wanted = Reranker.load(folder, engine="native").logits(PAIRS)
    for precision, atol in (("bf16", 0.05), ("int8", 0.2)):
        low = Reranker.load(folder, engine="native", precision=precision).logits(PAIRS)
        assert 0 < np.abs(low - wanted).max() < atol * max(1, np.abs(wanted).max())


def _narrower(folder):
    amend(folder / "2_Dense/config.json", in_features=31)
    reweigh(folder / "2_Dense", lambda name, tensor: tensor[:, :31] if name == "linear.weight" else tensor)


BROKEN = {
    "heads of another encoder": (
        _narrower,
        "returns 32 dimensions, which the heads .* cannot process|expects 31 dimensions, but gets 32",
    ),
    "a head of another width": (lambda f: amend(f / "2_Dense/config.json", in_features=31), "31"),
    "a norm of another width": (lambda f: amend(f / "3_LayerNorm/config.json", dimension=31), "31"),
    "a head without weights": (lambda f: (f / "4_Dense/model.safetensors").unlink(), "4_Dense"),
    "a head without settings": (lambda f: (f / "4_Dense/config.json").unlink(), "4_Dense"),
    "no scores": (lambda f: amend(f / "4_Dense/config.json", module_output_name=None), "expected a final Dense module"),
    "scores in between": (
        lambda f: amend(f / "2_Dense/config.json", module_output_name="scores"),
        "module_output_name",
    ),
    "a residual": (lambda f: amend(f / "2_Dense/config.json", use_residual=True), "use_residual"),
    "a prompt left out": (lambda f: amend(f / "1_Pooling/config.json", include_prompt=False), "excludes the prompt"),
    "an unknown pooling": (lambda f: amend(f / "1_Pooling/config.json", pooling_mode="most"), "most"),
    "an activation of its own": (
        lambda f: amend(f / "2_Dense/config.json", activation_function="mine.Act"),
        "mine.Act",
    ),
    "a norm at the end": (lambda f: _modules(f, lambda rows: rows[:-1]), "expected a final Dense module"),
    "no head": (lambda f: _modules(f, lambda rows: rows[:2]), "expected a final Dense module"),
    "no pooling": (lambda f: _modules(f, lambda rows: [rows[0], *rows[2:]]), "expected Transformer, Pooling"),
    "a module of no known kind": (
        lambda f: _modules(f, lambda rows: [*rows, {**rows[2], "type": "a.Whatever"}]),
        "Whatever",
    ),
    "an outside folder": (lambda f: _modules(f, lambda rows: [*rows[:4], {**rows[4], "path": "../x"}]), "outside"),
}


def _modules(folder, change):
    path = folder / "modules.json"
    write(path, change(json.loads(path.read_text())))


@engines
@pytest.mark.parametrize("name", BROKEN)
def test_modules_that_do_not_fit_are_refused(name, engine, tmp_path):
    spoil, told = BROKEN[name]
    folder = modular_folder(tmp_path / "m")
    Reranker.load(folder, engine=engine)
    spoil(folder)
    with pytest.raises(BadModel, match=told):
        Reranker.load(folder, engine=engine)


def test_it_is_no_embedder_and_an_embedder_is_no_reranker(tmp_path):
    with pytest.raises(BadModel, match="expected an embedding model|contains a reranker"):
        Embedder.load(modular_folder(tmp_path / "m", modules=("Pooling cls", "Dense")))
    with pytest.raises(BadModel, match="modules; expected|consists of Transformer, Pooling"):
        Reranker.load(model_folder(tmp_path / "e"))
