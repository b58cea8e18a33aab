"""The cross-encoders without torch give torch's logits, refuse what only torch computes, and work without it."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from likewise import Reranker
from likewise.arrays.activations import HEAD_ACTIVATIONS, sigmoid, softmax
from likewise.encoders.families import FAMILIES
from likewise.engines.array_cross_encoder import NativeCrossEncoder, NumpyCrossEncoder
from likewise.engines.description import DESCRIPTIONS
from likewise.errors import BadInput, BadModel, OutOfMemory, TooLong
from likewise.reranker import CrossEncoder, PolyEncoder
from likewise.reranker.classification_heads import CLASSIFIERS
from likewise.reranker.joint_reranker import torch_name
from tests.engines.test_array_embedders import without_torch
from tests.native_library import needs_native
from tests.tiny import LONG, TEXTS, amend, classifier_folder, reweigh, write

WEIGHTS = "model.safetensors"
PAIRS = [*zip(TEXTS, TEXTS[::-1], strict=True), ("A cat sleeps.", TEXTS[-1]), ("dogs", "dogs")]
LONG_PAIRS = [*PAIRS, ("a", LONG), (LONG, "a"), (LONG, LONG), ("", "")]
CLASSES = {"numpy": NumpyCrossEncoder, "native": NativeCrossEncoder}
families = pytest.mark.parametrize("family", CLASSIFIERS)


@pytest.fixture(params=["numpy", pytest.param("native", marks=needs_native)])
def engine(request):
    """The name of an engine without torch."""
    return request.param


@pytest.fixture
def light(engine):
    """Its class of cross-encoders."""
    return CLASSES[engine]


@pytest.fixture(scope="session")
def classifier(tmp_path_factory):
    """A family's name to a folder of a cross-encoder with three labels; to be read only."""
    made = {}

    def folder(family):
        if family not in made:
            made[family] = classifier_folder(tmp_path_factory.mktemp(family), family, labels=3)
        return made[family]

    return folder


@pytest.fixture
def fresh(tmp_path):
    """A folder of one's own, with one label."""
    return classifier_folder(tmp_path / "fresh")


@pytest.fixture
def alike(light):
    """A check that a folder gives torch's logits."""

    def check(folder, pairs=LONG_PAIRS, atol=1e-5, **how):
        ours = light.load(folder).logits(pairs, overflow="truncate", **how)
        theirs = CrossEncoder.load(folder, device="cpu", precision="fp32").logits(pairs, overflow="truncate", **how)
        assert ours.dtype == np.float32 and ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, atol=atol, rtol=0)

    return check


# what is computed


def test_every_family_with_a_classification_head_is_computed_without_torch():
    assert {FAMILIES[family].architecture for family in CLASSIFIERS} <= {*DESCRIPTIONS}


@families
def test_logits_are_those_of_torch(family, classifier, alike):
    alike(classifier(family))


@families
def test_the_shapes_of_a_head_are_those_of_its_torch_module(family, classifier):
    config = json.loads((classifier(family) / "config.json").read_text())
    head = CLASSIFIERS[family]
    built = {name: tuple(tensor.shape) for name, tensor in head.build(config).state_dict().items()}
    assert head.shape(config).tensors == built


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_modernberts_own_head_is_that_of_torch(tmp_path, pooling, biases, alike):
    options = {"classifier_pooling": pooling, "classifier_bias": biases, "norm_bias": biases}
    alike(classifier_folder(tmp_path, "modernbert", labels=2, classifier_activation="relu", **options))


def test_segments_are_those_of_torch_where_the_folder_wants_them(fresh, alike, light):
    assert light.load(fresh).segmented
    told = light.load(fresh).logits(PAIRS)
    (fresh / "tokenizer_config.json").write_text('{"model_input_names": ["input_ids", "attention_mask"]}')
    alike(fresh)
    assert not light.load(fresh).segmented
    assert np.abs(light.load(fresh).logits(PAIRS) - told).max() > 1e-4


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precisions_on_disk_are_read(fresh, dtype, alike):
    reweigh(fresh, lambda _, tensor: tensor.to(dtype))
    alike(fresh)


def test_scores_ranks_and_probabilities_are_those_of_torch(classifier, fresh, light):
    ours, theirs = light.load(fresh), CrossEncoder.load(fresh)
    np.testing.assert_allclose(ours.score(PAIRS), theirs.score(PAIRS), atol=1e-5)
    ranks, wanted = ours.rank("the query", TEXTS, k=4), theirs.rank("the query", TEXTS, k=4)
    np.testing.assert_allclose(ranks, wanted, atol=1e-5)
    ours, theirs = light.load(classifier("bert")), CrossEncoder.load(classifier("bert"))
    np.testing.assert_allclose(ours.probabilities(PAIRS), theirs.probabilities(PAIRS), atol=1e-5)
    np.testing.assert_allclose(ours.probabilities(PAIRS).sum(1), 1, atol=1e-6)
    np.testing.assert_allclose(ours.score(PAIRS, label="label_2"), theirs.probabilities(PAIRS)[:, 2], atol=1e-5)
    assert ours.labels == theirs.labels and (ours.kind, str(ours.device)) == ("cross-encoder", "cpu")


@pytest.mark.parametrize("activation", HEAD_ACTIVATIONS)
def test_every_activation_of_scores_is_that_of_torch(fresh, activation, light):
    kind = type(getattr(torch.nn, activation)())
    assert torch_name(activation) == f"{kind.__module__}.{kind.__name__}"
    amend(fresh / "config.json", sentence_transformers={"activation_fn": torch_name(activation)})
    np.testing.assert_allclose(light.load(fresh).score(PAIRS), CrossEncoder.load(fresh).score(PAIRS), atol=1e-5)


def test_far_out_the_sigmoid_and_the_softmax_are_those_of_torch():
    x = np.asarray([-200, -87, -30, -5, -0.0, 1e-3, 5, 30, 200], np.float32)
    np.testing.assert_allclose(sigmoid(x), torch.from_numpy(x).sigmoid().numpy(), rtol=1e-6, atol=1e-44)
    rows = np.stack([x, x[::-1]])
    np.testing.assert_allclose(softmax(rows), torch.from_numpy(rows).softmax(1).numpy(), rtol=1e-6)


def test_prompts_are_those_of_the_folder(fresh, light, alike):
    write(fresh / "config_sentence_transformers.json", {"prompts": {"query": "the quick "}})
    alike(fresh, prompt_name="query")
    plain, prompted = light.load(fresh).logits(PAIRS), light.load(fresh).logits(PAIRS, prompt="the quick ")
    assert np.abs(plain - prompted).max() > 1e-4
    assert light.load(fresh).token_id_pairs(PAIRS) == CrossEncoder.load(fresh).token_id_pairs(PAIRS)


@pytest.mark.usefixtures("unchecked")
def test_overflow_options_and_progress_are_those_of_torch(fresh, light):
    loaded, meters = light.load(fresh), []
    with pytest.warns(UserWarning, match=r"2 of 3 pairs were truncated to the 63 tokens .*the first is pairs\[1\]"):
        loaded.score([("a", "b"), ("a", LONG), (LONG, LONG)])
    with pytest.raises(TooLong, match=r"pairs\[0\] has [0-9,]+ tokens"):
        loaded.score([("a", LONG)], overflow="error")
    loaded.score(PAIRS, show_progress_bar=lambda meter: meters.append(meter.texts))
    assert meters[-1] == pytest.approx(len(PAIRS))
    with pytest.raises(TypeError, match="unexpected keyword argument 'batch_size'"):
        loaded.score(PAIRS, batch_size=3)
    assert light.load(fresh, max_seq_length=9).tokenizer.max_seq_length == 9
    assert loaded.logits([]).shape == (0, 1)


@needs_native
@families
def test_a_pair_has_the_same_bits_in_any_company_order_and_batch(family, classifier):
    loaded = NativeCrossEncoder.load(classifier(family))
    wanted = loaded.logits(PAIRS)
    assert np.array_equal(loaded.logits(PAIRS[::-1])[::-1], wanted)
    assert np.array_equal(loaded.logits(PAIRS, batch_tokens=1), wanted)
    assert np.array_equal(np.concatenate([loaded.logits([pair]) for pair in PAIRS]), wanted)


@needs_native
@pytest.mark.parametrize(("precision", "atol"), [("bf16", 0.05), ("int8", 0.2)])
@families
def test_low_precisions_are_near_full_precision(family, precision, atol, classifier):
    low = Reranker.load(classifier(family), engine="native", precision=precision)
    assert low.precision == precision
    wanted = CrossEncoder.load(classifier(family)).logits(PAIRS)
    assert 0 < np.abs(low.logits(PAIRS) - wanted).max() < atol * max(1, np.abs(wanted).max())


def test_when_memory_runs_out_smaller_batches_give_the_same_scores(fresh, light):
    loaded, sizes = light.load(fresh), []
    wanted, pooled = loaded.score(PAIRS), loaded.encoder.pooled

    def costly(ids, *rest):
        sizes.append(sum(map(len, ids)))
        if sizes[-1] > limit:
            raise MemoryError
        return pooled(ids, *rest)

    loaded.encoder.pooled, limit = costly, 100
    np.testing.assert_allclose(loaded.score(PAIRS), wanted, atol=1e-6)
    assert sizes[0] > 100
    limit = 0
    with pytest.raises(OutOfMemory):
        loaded.score(PAIRS)


def test_a_score_that_is_not_finite_names_its_pair(tmp_path, light):
    folder = classifier_folder(tmp_path, "distilbert")
    reweigh(folder, lambda name, tensor: tensor * 1e25 if "classifier" in name else tensor)
    with np.errstate(all="ignore"), pytest.raises(BadModel, match=r"pairs\[0\] gave a vector that is not finite"):
        light.load(folder).logits([("cat", "dog")])


# which engine


@needs_native
def test_on_a_cpu_the_native_engine_is_the_default_and_others_take_what_it_refuses(fresh, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("likewise.engine_registry.GPU_DEVICES", ())
    assert type(Reranker.load(fresh)) is NativeCrossEncoder
    assert Reranker.load(fresh, precision="int8").precision == "int8"
    assert type(Reranker.load(fresh, precision="fp16", device="cpu")) is CrossEncoder
    with pytest.warns(UserWarning, match="sentence-transformers cannot read a poly-encoder"):
        PolyEncoder.start(tiny, 2).save(tmp_path / "poly")
    assert type(Reranker.load(tmp_path / "poly", device="cpu")) is PolyEncoder
    monkeypatch.setattr("likewise.engine_registry.GPU_DEVICES", (str(tmp_path),))
    assert type(Reranker.load(fresh)) is CrossEncoder
    assert type(Reranker.load(fresh, device="cpu")) is NativeCrossEncoder


@pytest.mark.usefixtures("unchecked")
def test_an_engine_is_chosen_by_name_or_by_class(fresh, engine, light):
    assert type(Reranker.load(fresh, engine=engine)) is type(light.load(fresh)) is light
    assert type(light.load(fresh, engine=engine)) is light
    assert type(Reranker.load(fresh, engine="torch")) is type(CrossEncoder.load(fresh, engine="torch")) is CrossEncoder
    for unknown in ("onnx", ["numpy"], 3):
        with pytest.raises(BadInput, match="engine is .*; expected one of native, torch, numpy"):
            Reranker.load(fresh, engine=unknown)
    with pytest.raises(BadInput, match=f"CrossEncoder cannot be loaded with engine='{engine}'; use Reranker.load"):
        CrossEncoder.load(fresh, engine=engine)
    with pytest.raises(BadInput, match=f"PolyEncoder cannot be loaded with engine='{engine}'; use Reranker.load"):
        PolyEncoder.load(fresh, engine=engine)
    for option, value in {"precision": "fp16", "device": "cuda"}.items():
        with pytest.raises(BadInput, match=f"{option} is .*which is installed"):
            light.load(fresh, **{option: value})


@pytest.mark.filterwarnings("ignore:sentence-transformers cannot read")
def test_what_only_torch_computes_is_refused_with_that_hint(folders, fresh, tiny, tmp_path, light):
    PolyEncoder.start(tiny, 2).save(tmp_path / "poly")
    with pytest.raises(BadModel, match="holds a PolyEncoder, which only torch supports.*which is installed"):
        light.load(tmp_path / "poly")
    with pytest.raises(BadModel, match="holds a 'bilstm' encoder; a reranker needs one of bert"):
        amend(fresh / "config.json", model_type="bilstm")
        light.load(fresh)
    with pytest.raises(BadModel, match=r"consists of Transformer, Pooling, Normalize.*Reranker.start\(folder\)"):
        light.load(folders("bert"))


def test_training_is_torchs(fresh, light):
    ours = light.load(fresh)
    assert not hasattr(ours, "train")
    with pytest.raises(BadInput, match=f"loaded with engine='torch'; found a {light.__name__}"):
        Reranker.start(ours)
    assert repr(ours) == f"{light.__name__}(fresh: LABEL_0)"


# folders


@families
def test_what_is_saved_is_the_same_model_to_every_engine(family, classifier, tmp_path, light):
    loaded = light.load(classifier(family), max_seq_length=20)
    loaded.save(tmp_path / "again")
    logits = loaded.logits(PAIRS, overflow="truncate")
    for another in (light, CrossEncoder):
        again = another.load(tmp_path / "again")
        assert again.tokenizer.max_seq_length == 20 and again.labels == loaded.labels
        np.testing.assert_allclose(again.logits(PAIRS, overflow="truncate"), logits, atol=1e-5)
    assert light.load(tmp_path / "again").fingerprint == loaded.fingerprint
    CrossEncoder.load(classifier(family), max_seq_length=20).save(tmp_path / "torch")
    names = [json.loads((tmp_path / by / "modules.json").read_text()) for by in ("again", "torch")]
    assert names[0] == names[1]
    configs = [json.loads((tmp_path / by / "config.json").read_text()) for by in ("again", "torch")]
    assert {**configs[0], "torch_dtype": "float32"} == configs[1]
    assert _names(tmp_path / "again") == _names(tmp_path / "torch")


def _names(folder):
    header = (folder / WEIGHTS).read_bytes()
    return {*json.loads(header[8 : 8 + int.from_bytes(header[:8], "little")])} - {"__metadata__"}


def test_weights_in_eight_bits_are_read_and_stay_in_eight_bits(fresh, tmp_path, light, alike):
    from safetensors.torch import load_file

    from likewise.encoders.checkpoint import quantized_tensors
    from likewise.encoders.config import in_eight_bits

    save_file(quantized_tensors(load_file(fresh / WEIGHTS)), fresh / WEIGHTS)
    write(fresh / "config.json", in_eight_bits(json.loads((fresh / "config.json").read_text())))
    alike(fresh)
    with pytest.warns(UserWarning, match="cannot read this model because of weights in int8"):
        light.load(fresh).save(tmp_path / "again")
    alike(tmp_path / "again")
    assert light.load(tmp_path / "again").fingerprint == light.load(fresh).fingerprint


CHANGES = {
    "a weight of the encoder": lambda f: reweigh(f, lambda n, t: t + 1e-3 if n.endswith("1.output.dense.bias") else t),
    "a weight of the head": lambda f: reweigh(f, lambda n, t: t + 1e-3 if n == "classifier.weight" else t),
    "the activation": lambda f: amend(f / "config.json", sentence_transformers={"activation_fn": "torch.nn.Tanh"}),
    "the longest input": lambda f: write(f / "tokenizer_config.json", {"model_max_length": 9}),
    "segments": lambda f: write(f / "tokenizer_config.json", {"model_input_names": ["input_ids"]}),
    "a word": lambda f: (f / "tokenizer.json").write_text((f / "tokenizer.json").read_text().replace('"cat"', '"dot"')),
    "labels": lambda f: amend(f / "config.json", id2label={"0": "other"}),
    "a prompt": lambda f: write(f / "config_sentence_transformers.json", {"prompts": {"query": "q: "}}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_fingerprint_changes_with_anything_that_changes_scores(change, fresh, light):
    before = light.load(fresh).fingerprint
    assert light.load(fresh).fingerprint == before and len(before) == 32
    CHANGES[change](fresh)
    assert light.load(fresh).fingerprint != before


def test_a_model_saved_over_its_own_folder_is_still_itself(fresh, tmp_path, light):
    folder = fresh
    loaded = light.load(folder)
    for length in (12, 9):
        loaded.tokenizer = replace(loaded.tokenizer, max_seq_length=length)
        loaded.save(folder)
        assert loaded.fingerprint == light.load(folder).fingerprint
    loaded.save(tmp_path / "elsewhere")
    assert light.load(tmp_path / "elsewhere").fingerprint == loaded.fingerprint


def test_weights_that_changed_on_disk_are_not_saved_nor_fingerprinted(fresh, tmp_path, light):
    loaded = light.load(fresh)
    reweigh(fresh, lambda _, tensor: 2 * tensor)
    for work in (lambda: loaded.fingerprint, lambda: loaded.save(tmp_path / "x")):
        with pytest.raises(BadModel, match="have changed since this model was loaded"):
            work()
    assert not (tmp_path / "x").exists()


BROKEN = {
    "no weights": (lambda f: (f / WEIGHTS).unlink(), "no model.safetensors"),
    "cut short": (lambda f: (f / WEIGHTS).write_bytes((f / WEIGHTS).read_bytes()[:999]), "truncated"),
    "a pickle": (lambda f: (f / WEIGHTS).rename(f / "pytorch_model.bin"), "only safetensors is supported"),
    "no head": (lambda f: reweigh(f, lambda n, t: None if n == "classifier.weight" else t), "is not a reranker"),
    "half a head": (lambda f: reweigh(f, lambda n, t: None if "pooler.dense.bias" in n else t), "is not a reranker"),
    "another task": (lambda f: amend(f / "config.json", architectures=["BertForMaskedLM"]), "BertForMaskedLM"),
    "no names": (lambda f: amend(f / "config.json", architectures=[3]), "expected a list of names"),
    "no encoder": (lambda f: reweigh(f, lambda n, t: None if "LayerNorm" in n else t), "lacks the tensor"),
    "another shape": (lambda f: reweigh(f, lambda n, t: t[:-1] if "pooler.dense.w" in n else t), "expects shape"),
    "more labels": (lambda f: amend(f / "config.json", id2label={"0": "a", "1": "b"}), "expects shape"),
    "no labels": (lambda f: amend(f / "config.json", id2label={}), "id2label"),
    "not finite": (
        lambda f: reweigh(f, lambda n, t: t * torch.nan if n == "classifier.bias" else t),
        "has NaN or infinity",
    ),
    "no pair": (lambda f: amend(f / "tokenizer.json", post_processor=None), "adds no token between two texts"),
    "no room": (lambda f: write(f / "tokenizer_config.json", {"model_max_length": 4}), "leaves no room for two texts"),
    "inputs": (lambda f: write(f / "tokenizer_config.json", {"model_input_names": 3}), "expected a list of names"),
    "an activation": (
        lambda f: amend(f / "config.json", sentence_transformers={"activation_fn": "mine.Sigmoid"}),
        "unknown activation",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_folder_is_told_as_torch_tells_it(fresh, name, light):
    spoil, told = BROKEN[name]
    spoil(fresh)
    for load in (light.load, CrossEncoder.load, Reranker.load):
        with pytest.raises(BadModel, match=told):
            load(fresh)


# where torch is not installed


def test_without_torch_the_package_ranks_and_says_what_it_needs_for_more(fresh, tiny, tmp_path):
    with pytest.warns(UserWarning, match="sentence-transformers cannot read a poly-encoder"):
        PolyEncoder.start(tiny, 2).save(tmp_path / "poly")
    done = without_torch(
        "from likewise import Reranker, LikewiseError; import json\n"
        f"r = Reranker.load({str(fresh)!r}); print(json.dumps(r.rank('the quick cat', {TEXTS!r})))\n"
        f"for work in (lambda: Reranker.load({str(tmp_path / 'poly')!r}), lambda: Reranker.start({str(fresh)!r}),\n"
        f"             lambda: Reranker.load({str(fresh)!r}, engine='torch')):\n"
        "    try: work()\n"
        "    except LikewiseError as error: print(type(error).__name__, error)\n"
        "from likewise.reranker import CrossEncoder"
    )
    ranked, poly, start, torch_engine = done.stdout.strip().splitlines()
    wanted = CrossEncoder.load(fresh).rank("the quick cat", TEXTS)
    assert [i for i, _ in json.loads(ranked)] == [i for i, _ in wanted]
    np.testing.assert_allclose([s for _, s in json.loads(ranked)], [s for _, s in wanted], atol=1e-5)
    assert poly.startswith("BadModel") and "PolyEncoder, which only torch supports" in poly and "pip install" in poly
    assert start.startswith("MissingExtra Reranker.start needs the package torch")
    assert torch_engine.startswith("MissingExtra engine='torch' needs the package torch")
    assert "MissingExtra: likewise.reranker.CrossEncoder needs the package torch" in done.stderr


def test_without_torch_the_command_line_ranks(fresh, tmp_path):
    (tmp_path / "in.txt").write_text("the cat\na dog\n")
    words = ["rerank", str(tmp_path / "in.txt"), "-m", str(fresh), "--query", "a cat", "--json", "--threads", "1"]
    done = without_torch(f"from likewise.cli import main; sys.exit(main({words!r}))")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    wanted = CrossEncoder.load(fresh).rank("a cat", ["the cat", "a dog"])
    assert [row["index"] for row in json.loads(done.stdout)["best"]] == [i for i, _ in wanted]


def test_engines_without_torch_do_not_import_it_where_it_is_installed(fresh, engine):
    script = (
        f"r = Reranker.load({str(fresh)!r}, engine={engine!r}); r.score([('a', 'b')]); print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; from likewise import Reranker; {script}"], capture_output=True, text=True
    )
    assert done.stdout.strip() == "False", done.stderr
