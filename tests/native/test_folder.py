"""Model folders that the library reads without Python: the same bits as `Embedder.encode`, and the same refusals."""

import json
import os
import struct
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from likewise import Embedder
from likewise.arrays.activations import HEAD_ACTIVATIONS
from likewise.arrays.reductions import REDUCTIONS
from likewise.encoders.families import FAMILIES
from likewise.engines.description import DESCRIPTIONS
from likewise.engines.native.library import PRECISIONS, Library
from likewise.errors import BadInput, BadModel
from tests.encoders.test_shapes import BAD_VARIANTS, NOMIC
from tests.native.c_library import files_of, opened
from tests.tiny import amend, model_folder, write

ROOT = Path(__file__).parents[2]
BUNDLED = ROOT / "src/likewise/bundled"
MODELS = Path(os.environ.get("LIKEWISE_MODELS", ROOT / ".models"))
REAL = {
    **{name: BUNDLED / name for name in ("likewise-static", "likewise-mini")},
    **{name: MODELS / name for name in ("e5-small-v2", "multilingual-e5-small-cut")},
    "all-MiniLM-L6-v2": Path.home() / ".local/share/likewise/models/all-MiniLM-L6-v2",
    "all-mpnet-base-v2": ROOT / ".models/all-mpnet-base-v2",
}
TEXTS = [
    *("A cat sleeps on the warm mat.", "", " ", "Übergrößenträger naïve café, déjà vu!", "Кошка\0спит на коврике."),
    *("猫はマットの上で寝る。" * 60, "x" * 300, "🐈‍⬛ e\u0301", "The quick dog and the cat: a query?", "[SEP] </s>"),
    *(" ".join(["the cat and the dog"] * i) for i in range(1, 40, 3)),
]
SUPPORTED = [name for name, family in FAMILIES.items() if family.architecture in DESCRIPTIONS]
"""The families that the engines without torch compute; the library must know them all."""


def check_same(library: Library, folder: Path, precision: str = "fp32", **options: Any) -> Any:
    """Python's vectors and losses of a folder, which the library must give too, on any number of threads."""
    embedder = Embedder.load(folder, engine="native", precision=precision, **options)
    wanted, report = embedder.encode(TEXTS, overflow="truncate"), embedder.encode_report(TEXTS)
    with opened(library, folder, precision, **options) as model:
        found = model.encode(TEXTS)
        assert np.array_equal(model.encode(TEXTS, threads=3).vectors, found.vectors)
    assert found.vectors.dtype == wanted.dtype
    assert np.array_equal(found.vectors, wanted)
    assert np.array_equal(found.lost, report.lost)
    assert found.cut == (report.tokens > embedder.tokenizer.max_content_length).sum()
    assert found.long_words == len(report.unread)
    return found


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("name", REAL)
def test_real_models_have_pythons_bits(name: str, precision: str, library: Library) -> None:
    if not REAL[name].is_dir():
        pytest.skip(f"{name} is not on this machine")
    check_same(library, REAL[name], precision)


@pytest.mark.filterwarnings("ignore:.* is a plain encoder")
@pytest.mark.parametrize("stored", ["fp32", "fp16", "fp64", "int8"])
@pytest.mark.parametrize("family", SUPPORTED)
def test_every_family_has_pythons_bits(family: str, stored: str, library: Library, tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "model", family)
    if stored == "int8":
        Embedder.load(folder, engine="native").save(tmp_path / "int8", weights="int8")
        folder = tmp_path / "int8"
    else:
        weights = load_file(folder / "model.safetensors")
        kind = {"fp32": np.float32, "fp16": np.float16, "fp64": np.float64}[stored]
        save_file({name: array.astype(kind) for name, array in weights.items()}, folder / "model.safetensors")
    for precision in PRECISIONS:
        check_same(library, folder, precision)


@pytest.mark.parametrize("prefix", ["bert.", "model.encoder."])
def test_weights_are_found_behind_any_prefix(prefix: str, library: Library, own: Callable[..., Path]) -> None:
    folder = own()
    weights = load_file(folder / "model.safetensors")
    save_file(
        {prefix + name.replace("LayerNorm.weight", "LayerNorm.gamma"): array for name, array in weights.items()},
        folder / "model.safetensors",
    )
    check_same(library, folder)


def test_shards_are_read_together(library: Library, own: Callable[..., Path]) -> None:
    folder = own()
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    shards = {f"model-0000{i + 1}-of-00002.safetensors": dict(list(weights.items())[i::2]) for i in range(2)}
    for name, part in shards.items():
        save_file(part, folder / name)
    homes = {tensor: name for name, part in shards.items() for tensor in part}
    write(folder / "model.safetensors.index.json", {"weight_map": homes})
    check_same(library, folder)


@pytest.mark.parametrize("names", [*((name,) for name in REDUCTIONS), ("cls", "mean"), tuple(REDUCTIONS)])
def test_every_pooling_has_pythons_bits(names: tuple[str, ...], library: Library, own: Callable[..., Path]) -> None:
    older = {REDUCTIONS[name].flag: True for name in names}
    check_same(library, own(pooling=older))
    newer = [REDUCTIONS[name].newer for name in names]
    check_same(library, own(pooling={"pooling_mode": newer if len(newer) > 1 else newer[0]}))


def with_head(folder: Path, kind: str, config: dict[str, Any], index: int = 2, **weights: np.ndarray) -> Path:
    place = folder / f"{index}_{kind}"
    write(place / "config.json", config)
    save_file({name.replace("_", ".", 1): array for name, array in weights.items()}, place / "model.safetensors")
    return folder


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", HEAD_ACTIVATIONS)
def test_dense_heads_have_pythons_bits(activation: str, bias: bool, library: Library, own: Callable[..., Path]) -> None:
    draw = np.random.default_rng(0)
    weights = {"linear_weight": draw.normal(size=(21, 32)).astype(np.float32)}
    weights |= {"linear_bias": draw.normal(size=21).astype(np.float32)} if bias else {}
    config = {"in_features": 32, "out_features": 21, "bias": bias, "activation_function": f"torch.nn.{activation}"}
    folder = with_head(own(heads=("Dense", "Normalize")), "Dense", config, **weights)
    found = check_same(library, folder)
    numpy = Embedder.load(folder, engine="numpy").encode(TEXTS, overflow="truncate")
    assert np.abs(found.vectors - numpy).max() < 3e-6
    assert np.abs(np.linalg.norm(found.vectors, axis=1) - 1).max() < 1e-6


def test_a_layer_norm_and_a_truncation_have_pythons_bits(library: Library, own: Callable[..., Path]) -> None:
    draw = np.random.default_rng(1)
    weights = {name: draw.normal(size=32).astype(np.float32) for name in ("norm_weight", "norm_bias")}
    folder = with_head(own(heads=("LayerNorm", "Dropout")), "LayerNorm", {"dimension": 32}, **weights)
    found = check_same(library, folder)
    numpy = Embedder.load(folder, engine="numpy").encode(TEXTS, overflow="truncate")
    assert np.abs(found.vectors - numpy).max() < 2e-5
    assert check_same(library, folder, truncate_dim=10).vectors.shape[1] == 10
    check_same(library, own(), truncate_dim=7)  # normalised again
    folder = with_head(own(heads=("Normalize", "LayerNorm")), "LayerNorm", {"dimension": 32}, 3, **weights)
    check_same(library, folder, truncate_dim=7)  # as the model's own vectors are not, these are not


@pytest.mark.parametrize("include", [True, False])
def test_prompts_are_put_before_texts(include: bool, library: Library, own: Callable[..., Path]) -> None:
    pooling = {"pooling_mode_mean_tokens": True, "include_prompt": include}
    prompts = {"query": "query: ", "passage": "the cat: "}
    folder = own(pooling=pooling, spoken={"prompts": prompts, "default_prompt_name": "passage"}, max_seq_length=20)
    embedder = Embedder.load(folder, engine="native")
    with opened(library, folder) as model:
        for asked in ({}, {"prompt_name": "query"}, {"prompt": "dog and "}, {"prompt": "dog " * 17}, {"prompt": ""}):
            assert np.array_equal(
                model.encode(TEXTS, **asked).vectors, embedder.encode(TEXTS, overflow="truncate", **asked)
            )
        with pytest.raises(BadInput, match="no prompt named 'other'; its prompts are: 'passage' 'query'"):
            model.encode(TEXTS, prompt_name="other")
        with pytest.raises(BadInput, match="both"):
            model.encode(TEXTS, prompt="a", prompt_name="query")
        for words, encode in product((18, 300), (embedder.encode, model.encode)):
            with pytest.raises(
                BadInput, match=f"the prompt has {words} tokens, and the model reads 18: no room is left"
            ):
                encode(["", "a"], prompt="dog " * words)


def test_files_in_memory_are_a_folder_too(library: Library, own: Callable[..., Path]) -> None:
    folder = own()
    with opened(library, files_of(folder)) as model:
        found = model.encode(TEXTS).vectors
    assert np.array_equal(found, Embedder.load(folder, engine="native").encode(TEXTS, overflow="truncate"))


def test_less_is_read_if_so_asked(library: Library, own: Callable[..., Path]) -> None:
    folder = own()
    assert check_same(library, folder, max_seq_length=7).cut > check_same(library, folder).cut
    with (
        pytest.raises(BadInput, match="max_seq_length is 67; this encoder reads 1 to 66"),
        opened(library, folder, max_seq_length=67),
    ):
        pass


def test_unknown_words_are_left_out_and_counted(library: Library, own: Callable[..., Path]) -> None:
    folder = own("words")
    write(folder / "unknown_words.json", {"id": 1})
    tokenizer = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    write(folder / "tokenizer.json", {**tokenizer, "post_processor": None})
    embedder = Embedder.load(folder, engine="native")
    texts = ["the 猫 cat", "猫 猫", "", "the cat"]
    with pytest.warns(UserWarning, match="no word that this model knows"):
        wanted = embedder.encode(texts)
    with opened(library, folder) as model:
        found = model.encode(texts)
    assert np.array_equal(found.vectors, wanted)
    assert (found.unknown, found.long_words) == (2, 0)


@pytest.mark.parametrize(("family", "change"), BAD_VARIANTS)
def test_variants_that_python_refuses_are_refused(
    family: str, change: dict[str, Any], library: Library, tmp_path: Path
) -> None:
    folder = model_folder(tmp_path / "model", family)
    config = NOMIC if family == "nomic_bert" else json.loads((folder / "config.json").read_text())
    write(folder / "config.json", {**config, **change})
    with pytest.raises(BadModel, match=r"config\.json|another form"), opened(library, folder):
        pass


OTHER_FORMS = [
    ("qwen3", {"use_sliding_window": True}),
    ("qwen3", {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}),
    ("qwen3", {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 1e6}}),
    ("gemma3_text", {"rope_scaling": {"rope_type": "linear", "factor": 8.0}}),
    ("gemma3_text", {"attn_logit_softcapping": 50.0}),
    *(("deberta-v2", {"pos_att_type": kinds}) for kinds in ("c2p", "xc2p|p2c", "c2p,p2c", ["c2p|p2c"], [], None)),
]
"""What transformers computes in the torch engine."""


@pytest.mark.parametrize(("family", "change"), OTHER_FORMS)
def test_a_model_of_another_form_is_refused(
    family: str, change: dict[str, Any], library: Library, tmp_path: Path
) -> None:
    folder = model_folder(tmp_path / "model", family)
    with opened(library, folder):
        pass
    amend(folder / "config.json", **change)
    with pytest.raises(BadModel, match=r"config\.json|another form"), opened(library, folder):
        pass
    for engine in ("native", "numpy"):
        with pytest.raises(BadModel, match="another form"):
            Embedder.load(folder, engine=engine)


TINY = {"in_features": 32, "out_features": 8}
REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (lambda f: [path.unlink() for path in f.rglob("*") if path.is_file()], "config.json"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "no model.safetensors"),
    "no tokenizer": (lambda f: (f / "tokenizer.json").unlink(), "tokenizer.json is missing"),
    "a folder for a file": (lambda f: ((f / "config.json").unlink(), (f / "config.json").mkdir()), "not a regular file"),  # noqa: E501
    "a pipe": (lambda f: ((f / "config.json").unlink(), os.mkfifo(f / "config.json")), "not a regular file"),
    "a dead link": (lambda f: ((f / "config.json").unlink(), (f / "config.json").symlink_to("x")), "cannot be opened"),
    "an interrupted save": (lambda f: (f / ".saving").touch(), "a save was interrupted"),
    "broken JSON": (lambda f: (f / "config.json").write_text("{"), "config.json: the JSON is broken at byte 1"),
    "no UTF-8": (lambda f: (f / "config.json").write_bytes(b'{"a": "\xff"}'), "config.json is not UTF-8"),
    "a list": (lambda f: write(f / "config.json", []), "config.json does not hold an object"),
    "no model_type": (lambda f: amend(f / "config.json", model_type=None), "model_type is nothing"),
    "another family": (lambda f: amend(f / "config.json", model_type="mt5"), "of the kind mt5; supported are bert"),
    "a kind with torch": (lambda f: amend(f / "config.json", model_type="bilstm"), "of the kind bilstm"),
    "a decoder": (lambda f: amend(f / "config.json", is_decoder=True), "decoder"),
    "relative positions": (lambda f: amend(f / "config.json", position_embedding_type="relative_key"), "absolute"),
    "quantised": (lambda f: amend(f / "config.json", quantization_config={}), "quantized by another library"),
    "another width": (lambda f: amend(f / "config.json", hidden_size=64), "of the shape 200 64, and the weights hold 200 32"),  # noqa: E501
    "no width": (lambda f: amend(f / "config.json", hidden_size=0), "hidden_size as a whole number"),
    "half a width": (lambda f: amend(f / "config.json", hidden_size=32.5), "hidden_size as a whole number"),
    "many layers": (lambda f: amend(f / "config.json", num_hidden_layers=10**6), "num_hidden_layers as a whole number"),
    "five heads": (lambda f: amend(f / "config.json", num_attention_heads=5), "do not divide"),
    "an activation": (lambda f: amend(f / "config.json", hidden_act="laplace"), "'laplace', which is unknown"),
    "no modules": (lambda f: write(f / "modules.json", []), "begins with nothing"),
    "modules of text": (lambda f: write(f / "modules.json", ["a"]), "not a list of up to 100 modules"),
    "many modules": (lambda f: write(f / "modules.json", [{"path": "", "type": "a"}] * 101), "list of up to 100"),
    "CLIP": (lambda f: write(f / "modules.json", [{"path": "", "type": "CLIP"}] * 2), "begins with CLIP"),
    "a way out": (lambda f: module(f, "../x", "Pooling"), "lies outside the folder"),
    "a root": (lambda f: module(f, "/etc", "Pooling"), "lies outside the folder"),
    "a NUL": (lambda f: module(f, "a\0b", "Pooling"), "lies outside the folder"),
    "a pooling of ours": (lambda f: module(f, "1_Pooling", "likewise.pooling.Dissection"), "only likewise for Python"),
    "a head": (lambda f: module(f, "1_Pooling", "Pooling", "LSTM"), "names 'LSTM'; supported are Dense, LayerNorm"),
    "no pooling": (lambda f: write(f / "1_Pooling/config.json", {}), "names no pooling"),
    "a new flag": (lambda f: amend(f / "1_Pooling/config.json", pooling_mode_new=True), "names 'pooling_mode_new'"),
    "an order": (lambda f: amend(f / "1_Pooling/config.json", pooling_mode=["mean", "cls"]), "not in the order"),
    "a reranker": (lambda f: spoken(f, model_type="CrossEncoder"), "reranker"),
    "a similarity": (lambda f: spoken(f, similarity_fn_name="hamming"), "names 'hamming'"),
    "a lost prompt": (lambda f: spoken(f, prompts={}, default_prompt_name="query"), "default prompt 'query', which it lacks"),  # noqa: E501
    "no length": (lambda f: write(f / "sentence_bert_config.json", {"max_seq_length": 0}), "whole number above 0"),
    "lower case": (lambda f: write(f / "sentence_bert_config.json", {"do_lower_case": True}), "do_lower_case"),
    "two tokens": (lambda f: write(f / "sentence_bert_config.json", {"max_seq_length": 2}), "leaves no room"),
    "n-grams": (lambda f: write(f / "unknown_words.json", {"id": 1, "buckets": 5}), "n-grams"),
    "a processor": (lambda f: amend(f / "tokenizer.json", post_processor={"type": "New"}), "of the kind New"),
    "a normalizer": (lambda f: amend(f / "tokenizer.json", normalizer={"type": "New"}), "New"),
    "a Dense of more": (lambda f: dense(f, TINY | {"use_residual": True}), "use_residual"),
    "a Dense elsewhere": (lambda f: dense(f, TINY | {"activation_function": "os.system"}), "not one of torch's"),
    "a narrow Dense": (lambda f: dense(f, {"in_features": 31, "out_features": 8}), "takes 31 dimensions, but gets 32"),
}  # fmt: skip


def module(folder: Path, path: str, kind: str, head: str = "Normalize") -> None:
    rows = [("", "Transformer"), (path, kind), ("", head)]
    write(folder / "modules.json", [{"path": path, "type": kind} for path, kind in rows])


def spoken(folder: Path, **settings: Any) -> None:
    write(folder / "config_sentence_transformers.json", settings)


def dense(folder: Path, config: dict[str, Any]) -> None:
    module(folder, "1_Pooling", "Pooling", "Dense")
    write(
        folder / "modules.json",
        [*json.loads((folder / "modules.json").read_text())[:2], {"path": "2_Dense", "type": "Dense"}],
    )
    weight = np.zeros((config["out_features"], config["in_features"]), np.float32)
    with_head(folder, "Dense", config | {"bias": False}, linear_weight=weight)


@pytest.mark.parametrize("how", REFUSED)
def test_what_is_broken_or_not_supported_is_refused_by_name(
    how: str, library: Library, own: Callable[..., Path]
) -> None:
    folder = own()
    change, message = REFUSED[how]
    change(folder)
    with pytest.raises(BadModel) as caught, opened(library, folder):
        pass
    assert message in str(caught.value)


def header_of(data: bytes) -> dict[str, Any]:
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])


def with_header(data: bytes, header: dict[str, Any] | bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + int.from_bytes(data[:8], "little") :]


def changed(name: str, **entry: Any) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        header = header_of(data)
        return with_header(data, {**header, name: {**header[name], **entry}})

    return change


WORDS = "embeddings.word_embeddings.weight"
HOSTILE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda d: b"", "has 0 bytes"),
    "cut in the length": (lambda d: d[:5], "has 5 bytes"),
    "cut in the header": (lambda d: d[:100], "its header has"),
    "cut in the data": (lambda d: d[:-1], "do not fit its shape, or lie outside the file"),
    "a byte more": (lambda d: d + b"\0", "1 bytes behind the last tensor belong to none"),
    "an endless header": (lambda d: b"\xff" * 8 + d[8:], "its header has"),
    "no JSON": (lambda d: with_header(d, b"pickle"), "not a JSON object"),
    "no UTF-8": (lambda d: with_header(d, b'{"\xff": 1}'), "not a JSON object in UTF-8"),
    "nested": (lambda d: with_header(d, b'{"a":' + b"[" * 100_000), "64 levels"),
    "one level too many": (lambda d: with_header(d, b'{"a":' + b"[" * 64 + b"]" * 64 + b"}"), "64 levels"),
    "an unknown type": (changed(WORDS, dtype="F4"), "unknown type F4"),
    "another type": (changed(WORDS, dtype="I64"), "do not fit its shape"),
    "whole numbers": (lambda d: changed(WORDS, dtype="I32")(d), f"{WORDS} is stored as I32"),
    "bytes without steps": (changed(WORDS, dtype="I8", shape=[200, 128]), "is stored as I8"),
    "a huge shape": (changed(WORDS, shape=[1 << 40, 1 << 40]), "too large"),
    "a negative shape": (changed(WORDS, shape=[-200, -32]), "not a whole number"),
    "half a row": (changed(WORDS, shape=[200.5, 32]), "not a whole number"),
    "many dimensions": (changed(WORDS, shape=[1] * 9), "too large"),
    "one offset": (changed(WORDS, data_offsets=[0]), "do not fit"),
    "offsets backwards": (changed(WORDS, data_offsets=[25600, 0]), "do not fit"),
    "offsets beyond": (changed(WORDS, data_offsets=[1 << 47, (1 << 47) + 25600]), "lie outside the file"),
    "an overlap": (changed(WORDS, data_offsets=[4, 25604]), "overlaps another one, or follows a gap"),
    "no offsets": (changed(WORDS, data_offsets=None), "lacks its shape or data_offsets"),
}  # fmt: skip


@pytest.mark.parametrize("how", HOSTILE)
def test_a_hostile_header_is_refused_before_a_tensor_is_read(
    how: str, library: Library, own: Callable[..., Path]
) -> None:
    folder = own()
    file = folder / "model.safetensors"
    change, message = HOSTILE[how]
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(BadModel) as caught, opened(library, folder):
        pass
    assert message in str(caught.value)
    with pytest.raises(BadModel):
        Embedder.load(folder, engine="native")


def test_two_tensors_of_one_name_are_refused(library: Library, own: Callable[..., Path]) -> None:
    file = own() / "model.safetensors"
    header = header_of(file.read_bytes())
    twice = f'{{"{WORDS}": {json.dumps(header[WORDS])}, {json.dumps(header)[1:]}'
    file.write_bytes(with_header(file.read_bytes(), twice.encode()))
    with pytest.raises(BadModel, match="two tensors"), opened(library, file.parent):
        pass


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("part", ["word_embeddings", "query", "LayerNorm.bias"])
def test_weights_that_are_not_finite_are_an_error(
    part: str, value: float, library: Library, own: Callable[..., Path]
) -> None:
    folder = own()
    weights = load_file(folder / "model.safetensors")
    next(array for name, array in weights.items() if part in name).flat[:] = value
    save_file(weights, folder / "model.safetensors")
    with (
        pytest.raises(BadModel, match="NaN or infinity"),
        opened(library, folder) as model,
    ):  # words: when they are used
        model.encode(["a"])


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return files_of(model_folder(tmp_path_factory.mktemp("small") / "model"))


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_damaged_folder_is_read_or_refused(data: st.DataObject, library: Library, small: dict[str, bytes]) -> None:
    name = data.draw(st.sampled_from(sorted(small)))
    start = data.draw(st.integers(0, min(len(small[name]), 4000)))
    piece = data.draw(st.binary(max_size=6) | st.sampled_from([b"null", b"-1", b"1e99", b"[]", b'""', b"{}"]))
    stop = data.draw(st.integers(start, min(len(small[name]), start + 8)))
    damaged = {**small, name: small[name][:start] + piece + small[name][stop:]}
    try:
        with opened(library, damaged) as model:
            vectors = model.encode(["the cat", "a"]).vectors
    except (BadModel, BadInput):
        return
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"\xff", 0),
        (b"a\xc3", 1),
        (b"ab\xed\xa0\x80", 2),
        (b"\xc0\x80", 0),
        (b"\xf4\x90\x80\x80", 0),
        (b"\xe0\x9f\xbf", 0),
    ],
)
def test_a_text_that_is_not_utf_8_is_named(text: bytes, place: int, library: Library, own: Callable[..., Path]) -> None:
    with opened(library, own()) as model, pytest.raises(BadInput, match=rf"texts\[1\] is not UTF-8 at byte {place}"):
        model.encode(["fine", text])


@settings(max_examples=300, deadline=None)
@given(text=st.binary(max_size=12) | st.text(max_size=8).map(str.encode))
def test_utf_8_is_what_python_reads(text: bytes, library: Library, small: dict[str, bytes]) -> None:
    with opened(library, small) as model:
        try:
            text.decode()
        except UnicodeDecodeError:
            with pytest.raises(BadInput, match="is not UTF-8"):
                model.encode([text])
            return
        assert np.isfinite(model.encode([text]).vectors).all()


def test_a_token_without_a_vector_or_no_token_is_named(library: Library, own: Callable[..., Path]) -> None:
    folder = own()
    described = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    described["model"]["vocab"]["cat"] = 900
    write(folder / "tokenizer.json", {**described, "post_processor": None})
    with opened(library, folder) as model:
        with pytest.raises(BadInput, match=r"texts\[1\] holds the token 900, for which the encoder has no vector"):
            model.encode(["dog", "cat"])
        with pytest.raises(BadInput, match=r"texts\[2\] has no tokens"):
            model.encode(["dog", "a", ""])
        with pytest.raises(BadInput, match="threads"):
            model.encode(["dog"], threads=5000)
        assert model.encode([]).vectors.shape == (0, 32)


def test_every_file_is_closed_even_if_it_is_number_zero(library: Library) -> None:
    standard_input = os.dup(0)
    try:
        os.close(0)
        with opened(library, BUNDLED / "likewise-static"):
            lowest = os.open(os.devnull, os.O_RDONLY)
            assert lowest == 0
    finally:
        os.dup2(standard_input, 0)
        os.close(standard_input)


def test_no_files_are_a_folder_without_a_config(library: Library) -> None:
    with pytest.raises(BadModel, match="config.json is missing"), opened(library, {}):
        pass
