"""The embedders without torch give torch's vectors, refuse what they do not compute, and work where torch is not."""

import json
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import nn

import likewise.engines.numpy.poolings_and_heads as numpy_poolings
import likewise.pooling as torch_poolings
from likewise import Embedder
from likewise.arrays.activations import ENCODER_ACTIVATIONS, erf, gelu
from likewise.arrays.activations import HEAD_ACTIVATIONS as OF_HEADS
from likewise.arrays.reductions import REDUCTIONS as OURS
from likewise.encoders.families import FAMILIES
from likewise.engines.description import DESCRIPTIONS
from likewise.engines.native.native_embedder import NativeEmbedder
from likewise.engines.numpy.encoders import attention
from likewise.engines.numpy.numpy_embedder import NumpyEmbedder
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput, BadModel, ModelNotFound, TooLong
from likewise.heads import Dense, Norm, Normalize
from likewise.pooling import Dissection, Fusion, LayerMean, Reduce, Stack
from tests.encoders.test_config_defaults import REQUIRED
from tests.native_library import needs_native
from tests.tiny import CONFIGS, TEXTS, amend, reweigh, write

WEIGHTS = "model.safetensors"
LONG = [*TEXTS, "cat dog " * 70, "a", ""]


DESCRIBED = [name for name, family in FAMILIES.items() if family.architecture in DESCRIPTIONS]


@pytest.fixture(params=["numpy", pytest.param("native", marks=needs_native)])
def light(request):
    """A class of embedders without torch."""
    return {"numpy": NumpyEmbedder, "native": NativeEmbedder}[request.param]


@pytest.fixture
def alike(light):
    """A check that a folder gives torch's vectors."""

    def check(folder, texts=LONG, overflow="truncate", prompt_name=None, atol=3e-6, **how):
        ours = light.load(folder, **how).encode(texts, overflow=overflow, prompt_name=prompt_name)
        theirs = TorchEmbedder.load(folder, device="cpu", precision="fp32", **how).encode(
            texts, overflow=overflow, prompt_name=prompt_name
        )
        assert ours.dtype == np.float32 and ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, atol=atol)

    return check


@pytest.mark.parametrize("family", [name for name in DESCRIBED if name != "words"])
@pytest.mark.parametrize("overflow", ["truncate", "mean"])
def test_vectors_are_those_of_torch(folders, family, overflow, alike):
    alike(folders(family), overflow=overflow)


@pytest.mark.parametrize("family", ["bert", "electra"])
def test_what_a_config_leaves_out_is_what_torch_takes_it_for(own, family, alike, light):
    defaults = {"embedding_size": 128, "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12}
    folder = own(family, changes=defaults)
    amend(folder / "config.json", **{key: None for key in CONFIGS[family] if key not in REQUIRED})
    alike(folder)
    loaded = light.load(folder)
    assert loaded.describe() == TorchEmbedder.load(folder, device="cpu").describe()
    assert loaded.encoder.longest == 512


def test_what_keeps_norms_from_dividing_by_nothing_is_where_torch_has_it(own, alike):
    alike(own(changes={"layer_norm_eps": 0.1}))


@pytest.mark.parametrize("activation", ENCODER_ACTIVATIONS)
def test_every_activation_is_that_of_torch(own, activation, alike):
    alike(own(changes={"hidden_act": activation}))


@pytest.mark.parametrize("spec", [*OURS, "cls+mean+max", "mean:layers=0+3", "max:layers=1+2"])
@pytest.mark.parametrize("hidden", [False, True], ids=["prompt read", "prompt hidden"])
def test_every_pooling_is_that_of_torch(own, spec, hidden, alike):
    folder = own(heads=("Normalize",), spoken={"prompts": {"query": "the quick "}})
    amend(folder / "1_Pooling" / "config.json", include_prompt=not hidden)
    alike(folder, texts=TEXTS, pooling=spec, prompt_name="query")


SPECS = ["sbert-wk:start=0", "sbert-wk:window=1", "sbert-wk:start=0,boundary=symmetric,alignment=paper,robust=false"]


@pytest.mark.parametrize("family", [name for name in DESCRIBED if name != "words"])
def test_sbert_wk_is_that_of_torch_in_every_family(folders, family, alike):
    alike(
        folders(family), pooling="sbert-wk:start=0", overflow="mean", atol=3e-5
    )  # QR magnifies what torch's processors differ by


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("hidden", [False, True], ids=["prompt read", "prompt hidden"])
def test_sbert_wk_is_that_of_torch_under_every_option(own, spec, hidden, alike):
    folder = own(spoken={"prompts": {"query": "the quick "}})
    amend(folder / "1_Pooling" / "config.json", include_prompt=not hidden)
    alike(folder, texts=[text for text in TEXTS if text], pooling=spec, prompt_name="query", atol=1e-5)


def _with_pooling(own, place, pooling):
    """A folder with this pooling of torch's, which only this library has."""
    below = TorchEmbedder.load(own(spoken={"prompts": {"query": "the quick "}}), device="cpu")
    manifest = replace(below.manifest, include_prompt=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        TorchEmbedder(below.tokenizer, below.encoder, pooling, below.heads, manifest).save(place / "pooled")
    return place / "pooled"


def _fusion(reduce, first, last):
    """A fusion whose map is drawn at random."""
    torch.manual_seed(0)
    made = Fusion(Stack(Reduce.parse(reduce), first, last), 32)
    for weights in made.parameters():
        nn.init.normal_(weights, std=0.1)
    return made.requires_grad_(False)


OWN_POOLINGS = {
    "a dissection": lambda: Dissection(1, 1, "symmetric", "paper"),
    "a fusion of all layers": lambda: _fusion("mean", 0, 3),
    "a fusion of lower layers": lambda: _fusion("cls+max+weighted-mean", 1, 2),
    "a mean of layers": lambda: LayerMean(("cls", "mean"), (0, 1, 3)),
}


@pytest.mark.parametrize("prompt_name", [None, "query"])
@pytest.mark.parametrize("name", OWN_POOLINGS)
@pytest.mark.filterwarnings("ignore:sentence-transformers cannot read", "ignore:sbert-wk leaves out")
def test_poolings_that_only_this_library_has_are_read_and_saved_again(own, tmp_path, name, prompt_name, alike, light):
    folder = _with_pooling(own, tmp_path, OWN_POOLINGS[name]())
    alike(folder, prompt_name=prompt_name, atol=1e-5)
    loaded = light.load(folder)
    assert loaded.describe() == TorchEmbedder.load(folder, device="cpu").describe()
    loaded.save(tmp_path / "again")
    for another in (light, TorchEmbedder):
        again = another.load(tmp_path / "again")
        found, wanted = (m.encode(LONG, overflow="mean", prompt_name=prompt_name) for m in (again, loaded))
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert light.load(tmp_path / "again").fingerprint == loaded.fingerprint


@pytest.mark.parametrize("pooling", ["cls", "cls+mean", "mean:layers=0+2", "sbert-wk:start=1"])
def test_another_pooling_of_a_model_is_that_of_loading_it_so(folders, pooling, light):
    for engine in (light, TorchEmbedder):
        named = engine.load(folders("bert"), pooling=pooling)
        changed = engine.load(folders("bert")).with_pooling(pooling)
        np.testing.assert_array_equal(changed.encode(TEXTS[:3]), named.encode(TEXTS[:3]))
        assert changed.fingerprint == named.fingerprint


def test_another_pooling_that_the_heads_cannot_take_is_refused(own, tmp_path, light):
    folder = _headed(own, tmp_path, ("Dense",))
    for engine in (light, TorchEmbedder):
        with pytest.raises(BadModel, match=r"cls\+mean pooling returns 64 dimensions"):
            engine.load(folder).with_pooling("cls+mean")


def test_the_weights_of_a_fusion_are_part_of_the_fingerprint(own, tmp_path, light):
    folder = _with_pooling(own, tmp_path, _fusion("mean", 0, 3))
    before = light.load(folder).fingerprint
    reweigh(folder / "1_Pooling", lambda _, tensor: 2 * tensor)
    assert light.load(folder).fingerprint != before


def test_the_poolings_of_folders_are_the_same_in_numpy_and_torch():
    assert set(numpy_poolings.OWN_POOLINGS) == set(torch_poolings.OWN_POOLINGS)


@pytest.mark.parametrize("change", [{"last": 4}, {"encoder_width": 16}, {"first": 3, "last": 2}, {"reduce": "median"}])
def test_a_fusion_that_does_not_fit_is_refused(own, tmp_path, change, light):
    folder = _with_pooling(own, tmp_path, _fusion("mean", 0, 3))
    amend(folder / "1_Pooling" / "config.json", **change)
    with pytest.raises(BadModel, match="last = 4|shape|0 ≤ first ≤ last|median"):
        light.load(folder)


def test_a_pooling_of_ours_that_is_not_known_is_named_with_those_that_are(own, tmp_path, light):
    folder = _with_pooling(own, tmp_path, _fusion("mean", 0, 3))
    rows = json.loads((folder / "modules.json").read_text())
    rows[1]["type"] = "likewise.pooling.Median"
    write(folder / "modules.json", rows)
    with pytest.raises(BadModel, match="pooling method 'Median'; expected one of Dissection, Fusion, LayerMean"):
        light.load(folder)


def _headed(own, place, heads, activation="Tanh"):
    """A folder with these heads, their weights drawn at random."""
    below = TorchEmbedder.load(own(heads=()))
    dense = Dense(32, 8, activation=activation)
    made = nn.Sequential(*({"Dense": dense, "LayerNorm": Norm(8), "Normalize": Normalize()}[h] for h in heads))
    TorchEmbedder(below.tokenizer, below.encoder, below.pooling, made, below.manifest).save(place / "headed")
    return place / "headed"


@pytest.mark.parametrize("heads", [(), ("Dense",), ("Dense", "LayerNorm", "Normalize")])
@pytest.mark.parametrize("truncate_dim", [None, 3])
def test_every_head_is_that_of_torch(own, tmp_path, heads, truncate_dim, alike):
    alike(_headed(own, tmp_path, heads), truncate_dim=truncate_dim)


def test_vectors_are_normalised_again_after_truncation_only_if_the_model_ends_so(own, tmp_path, light):
    folder = _headed(own, tmp_path, ("Normalize", "Dense"))
    for engine in (light, TorchEmbedder):
        whole, truncated = engine.load(folder), engine.load(folder, truncate_dim=3)
        assert not whole.is_unit and not truncated.is_unit
        assert np.array_equal(truncated.encode(TEXTS), whole.encode(TEXTS)[:, :3])
        truncated.save(tmp_path / "saved")
        assert np.array_equal(engine.load(tmp_path / "saved").encode(TEXTS), truncated.encode(TEXTS))
    assert light.load(folder, truncate_dim=3).fingerprint == TorchEmbedder.load(folder, truncate_dim=3).fingerprint


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precisions_on_disk_are_read(own, tmp_path, precision, alike):
    TorchEmbedder.load(own(), precision=precision, device="cpu").save(tmp_path / "half")
    alike(tmp_path / "half")


def test_what_it_is_made_of_is_what_torch_says(own, tmp_path, light):
    folder = _headed(own, tmp_path, ("Dense", "Normalize"))
    assert light.load(folder).describe() == TorchEmbedder.load(folder, device="cpu").describe()


def test_it_does_not_train_and_names_itself(own, light):
    ours = light.load(own())
    assert not hasattr(ours, "train")
    assert "mean" in repr(ours) and "32 dimensions" in repr(ours)


@pytest.mark.parametrize("activation", OF_HEADS)
def test_every_activation_of_heads_is_that_of_torch(own, tmp_path, activation, alike):
    folder = _headed(own, tmp_path, ("Dense",), activation)
    reweigh(folder / "2_Dense", lambda _, tensor: 200 * tensor)  # far out, where a careless sigmoid overflows
    alike(folder, atol=1e-3)


def test_the_fingerprint_is_of_what_was_loaded(own, tmp_path, light):
    folder = _headed(own, tmp_path, ("Dense", "Normalize"))
    loaded = light.load(folder)
    before = loaded.fingerprint
    assert light.load(folder).fingerprint == before
    write(folder / "modules.json", json.loads((folder / "modules.json").read_text())[:-1])  # without Normalize
    reweigh(folder / "2_Dense", lambda _, tensor: 2 * tensor)
    assert loaded.fingerprint == before != light.load(folder).fingerprint
    whole = light.load(folder).fingerprint
    reweigh(folder, lambda name, tensor: tensor / 2 if name.endswith("intermediate.dense.bias") else tensor)
    assert light.load(folder).fingerprint != whole


def test_eight_bits_halves_and_older_names_are_read(own, tmp_path, alike):
    whole = TorchEmbedder.load(own())
    whole.save(tmp_path / "small", weights="int8")
    alike(tmp_path / "small")
    half = own()
    reweigh(half, lambda _, tensor: tensor.half())
    alike(half)
    older = own()
    names = {n: n.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta") for n in
             load_file(older / WEIGHTS)}  # fmt: skip
    save_file({f"bert.{names[n]}": t for n, t in load_file(older / WEIGHTS).items()}, older / WEIGHTS)
    alike(older)


def test_a_table_of_word_pieces_is_read_with_its_heads(own, tmp_path, alike):
    from papers.recipes.distillation.static import word_piece_table

    word_piece_table(TorchEmbedder.load(own(), device="cpu"), 12).save(tmp_path / "table", weights="int8")
    alike(tmp_path / "table", texts=[text for text in LONG if text])


@pytest.mark.usefixtures("unchecked")
def test_load_gives_it_when_asked_and_says_what_it_cannot(own, tiny, light):
    folder, name = own(), {NumpyEmbedder: "numpy", NativeEmbedder: "native"}[light]
    loaded = Embedder.load(folder, engine=name, max_seq_length=9)
    assert isinstance(loaded, light) and loaded.dimension == tiny.dimension and loaded.precision == "fp32"
    assert loaded.tokenizer.max_seq_length == 9 and len(loaded.fingerprint) == 32
    assert loaded.fingerprint != Embedder.load(folder, engine=name).fingerprint
    with pytest.raises(TooLong):
        loaded.encode(["cat " * 30], overflow="error")
    for option, value in {"precision": "fp16", "device": "cuda"}.items():
        with pytest.raises(BadInput, match=f"{option} is .*which is installed"):
            light.load(folder, **{option: value})
    with pytest.raises(BadInput, match="use Embedder.load"):
        light.load(folder, engine="torch")
    for unknown in ("onnx", ["numpy"], {"numpy": 1}, 3):
        for load in (Embedder.load, light.load):
            with pytest.raises(BadInput, match="engine is .*; expected one of native, torch, numpy"):
                load(folder, engine=unknown)
    with pytest.raises(BadInput, match="truncate_dim is 0"):
        light.load(folder, truncate_dim=0)
    with pytest.raises(ModelNotFound):
        light.load("no-such-model-anywhere/at-all")
    with pytest.raises(BadModel, match="is unknown"):
        light.load(folder, pooling="median")
    with pytest.raises(BadModel, match="start=2 needs 5 layers or more, but the encoder has 4"):
        light.load(folder, pooling="sbert-wk:start=2")


@pytest.mark.parametrize("family", ["bilstm", "dan"])
def test_other_encoders_are_refused_with_what_would_compute_them(folders, family, light):
    with pytest.raises(BadModel, match=r"only bert, roberta.* words are supported\..*engine=.torch."):
        light.load(folders(family))
    assert set(DESCRIBED) == set(FAMILIES) - {"bilstm", "dan"}


@pytest.mark.parametrize("family", DESCRIBED)
def test_layers_and_tokens_are_those_of_torch(folders, family, light):
    texts = [text for text in LONG if text]
    ours, theirs = light.load(folders(family)), TorchEmbedder.load(folders(family), device="cpu")
    for way in ("encode_layers", "encode_tokens"):
        for a, b in zip(
            getattr(ours, way)(texts, overflow="truncate"),
            getattr(theirs, way)(texts, overflow="truncate"),
            strict=True,
        ):
            np.testing.assert_allclose(a, b, atol=2e-5)


@pytest.mark.filterwarnings("ignore:sentence-transformers cannot read")
@pytest.mark.parametrize("heads", [(), ("Dense", "LayerNorm", "Normalize")])
@pytest.mark.parametrize("truncate_dim", [None, 3])
def test_what_is_saved_is_the_same_model_to_every_engine(own, tmp_path, light, heads, truncate_dim):
    loaded = light.load(_headed(own, tmp_path, heads), truncate_dim=truncate_dim, pooling=None if heads else "cls+max")
    loaded.max_seq_length = 12
    loaded.save(tmp_path / "again")
    vectors = loaded.encode(LONG, overflow="truncate")
    for another in (light, TorchEmbedder):
        again = another.load(tmp_path / "again")
        assert again.max_seq_length == 12 and again.dimension == loaded.dimension
        np.testing.assert_allclose(again.encode(LONG, overflow="truncate"), vectors, atol=3e-6)


@pytest.mark.usefixtures("unchecked")
def test_weights_are_saved_as_they_are_or_in_int8(own, tmp_path, light):
    with pytest.raises(BadInput, match="weights is 'int4'; expected \"int8\", or None"):
        light.load(own()).save(tmp_path / "saved", weights="int4")
    assert not (tmp_path / "saved").exists()


def test_a_model_saved_over_its_own_folder_is_still_itself(own, tmp_path, light):
    folder = own()
    loaded = light.load(folder)
    for length in (12, 9):
        loaded.max_seq_length = length
        loaded.save(folder)
        assert loaded.fingerprint == light.load(folder).fingerprint
    loaded.save(tmp_path / "elsewhere")
    assert light.load(tmp_path / "elsewhere").fingerprint == loaded.fingerprint


def test_weights_that_changed_on_disk_are_not_saved_nor_fingerprinted(own, tmp_path, light):
    folder = own()
    loaded = light.load(folder)
    reweigh(folder, lambda _, tensor: 2 * tensor)
    for one in (loaded, loaded.with_pooling("cls")):
        for work in (lambda one=one: one.fingerprint, lambda one=one: one.save(tmp_path / "x")):
            with pytest.raises(BadModel, match="have changed since this model was loaded"):
                work()
    assert not (tmp_path / "x").exists()


def test_a_model_describes_itself_and_not_the_one_that_took_its_folder(own, light):
    folder = own()
    loaded = light.load(folder)
    before = loaded.describe()
    TorchEmbedder.load(own("distilbert")).save(folder)
    assert loaded.describe() == before and loaded.with_pooling("cls").describe()["encoder"] == "bert"


def _spoilt(change):
    def spoil(folder):
        save_file(change(load_file(folder / WEIGHTS)), folder / WEIGHTS)

    return spoil


WORD = "embeddings.word_embeddings.weight"
BROKEN = {
    "no weights": (lambda f: (f / WEIGHTS).unlink(), "no model.safetensors"),
    "cut short": (lambda f: (f / WEIGHTS).write_bytes((f / WEIGHTS).read_bytes()[:999]), "truncated"),
    "a tensor lacks": (_spoilt(lambda w: {n: t for n, t in w.items() if n != WORD}), "lacks the tensor"),
    "another shape": (_spoilt(lambda w: {**w, WORD: w[WORD][:-1].contiguous()}), "expects shape"),
    "complex numbers": (_spoilt(lambda w: {**w, WORD: w[WORD].to(torch.complex64)}), "stored as C64"),
    "eight bits alone": (_spoilt(lambda w: {**w, WORD: w[WORD].to(torch.int8)}), "stored as I8"),
    "not finite": (_spoilt(lambda w: {**w, WORD: w[WORD] * float("nan")}), "has NaN or infinity"),
    "a head without weights": (lambda f: (f / "2_Dense" / WEIGHTS).unlink(), "no model.safetensors"),
    "a head of another shape": (lambda f: amend(f / "2_Dense" / "config.json", out_features=5), "expects shape"),
    "a head that does not fit": (lambda f: amend(f / "2_Dense" / "config.json", in_features=5), "but gets 32"),
    "another bias": (lambda f: reweigh(f / "2_Dense", lambda n, t: t[:1] if "bias" in n else t), "expects shape"),
    "two poolings": (lambda f: amend(f / "1_Pooling" / "config.json", pooling_mode_max_tokens=True), "but gets 64"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_folder_is_told(own, tmp_path, name, light):
    spoil, told = BROKEN[name]
    folder = _headed(own, tmp_path, ("Dense", "Normalize"))
    spoil(folder)
    with pytest.raises(BadModel, match=told):
        light.load(folder)


def test_a_vector_that_is_not_finite_names_its_text(own, light):
    folder = own()
    reweigh(folder, lambda name, tensor: tensor * 1e30 if "word_embeddings" in name or "LayerNorm" in name else tensor)
    with np.errstate(all="ignore"), pytest.raises(BadModel, match=r"texts\[0\] gave a vector that is not finite"):
        light.load(folder).encode(["cat dog"])


@given(st.lists(st.floats(-30, 30), min_size=1, max_size=40))
def test_the_error_function_is_that_of_torch(numbers):
    x = np.asarray(numbers, np.float32)
    np.testing.assert_allclose(erf(x), torch.erf(torch.from_numpy(x)).numpy(), atol=5e-7)
    np.testing.assert_allclose(gelu(x), torch.nn.functional.gelu(torch.from_numpy(x)).numpy(), atol=2e-5)


def test_attention_is_a_loop_over_sentences():
    draw, lengths, heads = np.random.default_rng(0), [5, 5, 3, 1, 1], 2
    q, k, v = (draw.normal(size=(sum(lengths), 8)).astype(np.float32) for _ in range(3))
    begin, rows = 0, []
    for n in lengths:
        a, b, c = (x[begin : begin + n].reshape(n, heads, -1) for x in (q, k, v))
        for i in range(n):
            row = []
            for h in range(heads):
                weights = np.exp(b[:, h] @ a[i, h] / 2)
                row.append(weights / weights.sum() @ c[:, h])
            rows.append(np.concatenate(row))
        begin += n
    q, k, v = (x.reshape(len(x), heads, -1) for x in (q, k, v))
    np.testing.assert_allclose(attention(q, k, v, lengths).reshape(len(rows), -1), rows, atol=1e-5)


def without_torch(script):
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.modules['torch'] = None; {script}"], capture_output=True, text=True
    )


def test_without_torch_the_package_encodes(own, tiny):
    folder = own()
    done = without_torch(
        f"from likewise import Embedder, similarity; e = Embedder.load({str(folder)!r}); "
        "import json; print(json.dumps(e.encode(['the quick cat', 'a dog']).tolist()))"
    )
    assert done.stderr == ""
    np.testing.assert_allclose(json.loads(done.stdout), tiny.encode(["the quick cat", "a dog"]), atol=3e-6)


@pytest.mark.parametrize("name", OWN_POOLINGS)
def test_without_torch_poolings_of_several_layers_encode_and_are_saved(own, tmp_path, name):
    folder = _with_pooling(own, tmp_path, OWN_POOLINGS[name]())
    done = without_torch(
        f"from likewise import Embedder; e = Embedder.load({str(folder)!r}); "
        "import json, warnings; print(json.dumps(e.encode(['the quick cat', 'a dog']).tolist())); "
        f"warnings.simplefilter('ignore'); e.save({str(tmp_path / 'again')!r})"
    )
    assert done.stderr == ""
    vectors = TorchEmbedder.load(tmp_path / "again", device="cpu").encode(["the quick cat", "a dog"])
    np.testing.assert_allclose(json.loads(done.stdout), vectors, atol=1e-5)


def test_without_torch_the_command_line_encodes_and_compares(own, tmp_path):
    folder = str(own())
    (tmp_path / "texts.txt").write_text("the cat\na dog\n")
    told = ["encode", str(tmp_path / "texts.txt"), "-m", folder, "-o", str(tmp_path / "v.npy"), "--threads", "1"]
    done = without_torch(f"from likewise.cli import main; sys.exit(main({told!r}))")
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "v.npy").shape == (2, 32)
    done = without_torch(
        f"from likewise.cli import main; sys.exit(main(['similarity', '--json', 'a', 'b', '-m', {folder!r}]))"
    )
    assert json.loads(done.stdout)["metric"] == "cosine"


def test_threads_are_numpys_where_torch_is_not(own, tmp_path):
    script = (
        "import os; from likewise.cli import main; from likewise.cli.texts import similarity; set_to = []; "
        "show = similarity.show_matrix; "
        "similarity.show_matrix = lambda *a: (set_to.append(os.environ.get('OPENBLAS_NUM_THREADS')), show(*a)); "
        f"code = main(['similarity', 'a', 'b', '-m', {str(own())!r}, '--threads', '{{}}']); "
        "print(code, *set_to, os.environ.get('OPENBLAS_NUM_THREADS'))"
    )
    assert without_torch(script.format(1)).stdout.splitlines()[-1] == "0 1 None"
    done = without_torch(script.format(-3))
    assert (
        done.stdout.splitlines()[-1].startswith("2 ")
        and "--threads is -3; expected a whole number, 1 or more" in done.stderr
    )
