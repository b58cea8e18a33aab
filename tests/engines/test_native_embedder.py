"""The native engine: the same bits in any company, precisions, instruction sets, threads."""

import copy
import gc
import json
import os
import pickle
import subprocess
import sys
import warnings
from itertools import islice, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from likewise.engines.native import golden
from likewise.engines.native.golden import FEW, FILE, PART, SCRIPTS, golden_hash, texts, vectors_hash
from likewise.engines.native.library import load
from likewise.engines.native.native_embedder import NativeEmbedder
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput, BadModel
from likewise.heads import Dense
from likewise.native.library import ARITHMETIC
from likewise.pooling import Dissection, Fusion, Reduce, Stack
from tests.native_library import NATIVE, needs_native
from tests.tiny import TEXTS, model_folder

pytestmark = needs_native
PRECISIONS = ("fp32", "int8")
"""Those whose kernels every machine runs; bf16's are tested in tests/native."""
ODD = ["", " ", "x" * 150, "é ü ß", "猫が眠る", "\u202eright to left", "😀 😀", "a " * 100, "1,000.00", "[MASK] [SEP]"]


@pytest.fixture(scope="module")
def mini():
    """The bundled model in each precision."""
    return {precision: NativeEmbedder.load("likewise-mini", precision=precision) for precision in PRECISIONS}


@pytest.mark.parametrize("precision", PRECISIONS)
@settings(max_examples=8)
@given(data=st.data())
def test_a_text_has_the_same_bits_in_any_company_order_and_batch(mini, precision, data):
    embedder, texts = mini[precision], [*TEXTS, *ODD]
    alone = {text: embedder.encode([text], overflow="truncate")[0] for text in texts}
    chosen = data.draw(st.lists(st.sampled_from(texts), min_size=1, max_size=12))
    tokens = data.draw(st.sampled_from([16, 64, 4096]))
    together = embedder.encode(chosen, overflow="truncate", batch_tokens=tokens)
    for text, vector in zip(chosen, together, strict=True):
        assert vector.tobytes() == alone[text].tobytes(), text


@pytest.fixture(scope="module")
def of_several_steps(tmp_path_factory):
    """Models with poolings of several layers, or with a matrix after the pooling."""
    place = tmp_path_factory.mktemp("native")
    below = TorchEmbedder.load(model_folder(place / "below", heads=()), device="cpu")
    torch.manual_seed(0)
    fusion, dense = Fusion(Stack(Reduce.parse("mean"), 0, 3), 32), nn.Sequential(Dense(32, 24))
    nn.init.normal_(fusion.map.weight)
    parts = {"fusion": (fusion, nn.Sequential()), "dense": (below.pooling, dense), "sbert-wk": (Dissection(0), dense)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name, (pooling, heads) in parts.items():
            TorchEmbedder(below.tokenizer, below.encoder, pooling, heads, below.manifest).save(place / name)
    return {name: NativeEmbedder.load(place / name) for name in parts}


@pytest.mark.parametrize("name", ["fusion", "dense", "sbert-wk"])
@settings(max_examples=15)
@given(st.lists(st.sampled_from([*TEXTS, *ODD]), min_size=1, max_size=20), st.sampled_from([16, 64, 4096]))
def test_poolings_of_several_layers_and_matrices_keep_the_bits_in_any_company(of_several_steps, name, chosen, tokens):
    embedder = of_several_steps[name]
    together = embedder.encode(chosen, overflow="truncate", batch_tokens=tokens)
    for text, vector in zip(chosen, together, strict=True):
        assert vector.tobytes() == embedder.encode([text], overflow="truncate")[0].tobytes(), text


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_number_of_threads_changes_no_bit(mini, precision, monkeypatch):
    texts = [f"{text} {i}" for i in range(20) for text in TEXTS]
    one = mini[precision].encode(texts)
    for threads in (2, 5):
        monkeypatch.setattr(mini[precision].encoder, "threads", threads)
        assert mini[precision].encode(texts).tobytes() == one.tobytes()


def test_a_model_computes_with_the_threads_of_the_environment_it_was_loaded_in(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert NativeEmbedder.load("likewise-mini").batch_threads == 3


def test_int8_stays_close_to_fp32(mini):
    texts = [*TEXTS, *ODD]
    a, b = (mini[precision].encode(texts, overflow="truncate") for precision in PRECISIONS)
    cosines = (a * b).sum(1)
    assert cosines.min() > 0.97 and cosines.mean() > 0.997
    assert mini["int8"].precision == "int8" and mini["int8"].fingerprint == mini["fp32"].fingerprint


@pytest.mark.parametrize("model", ["likewise-mini", "likewise-static"])
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", load().instruction_sets if NATIVE else [])
def test_every_instruction_set_of_this_machine_gives_the_bits_of_every_machine(name, precision, model, monkeypatch):
    monkeypatch.setenv("LIKEWISE_ISA", name)
    embedder = NativeEmbedder.load(model, precision=precision)
    assert embedder.instructions == name
    if (name, precision) == ("portable", "fp32"):  # 36 seconds for all of them: it emulates fused products
        some = [*islice(texts(), 0, FEW, 20)]
        monkeypatch.delenv("LIKEWISE_ISA")
        best = NativeEmbedder.load(model, precision=precision)
        assert best.instructions != name
        assert np.array_equal(*(one.encode(some, overflow="truncate") for one in (embedder, best)))
    else:
        assert vectors_hash(embedder, FEW) == golden_hash(model, precision, FEW)


def test_golden_hashes_are_of_this_arithmetic_and_these_models(monkeypatch):
    known = json.loads(FILE.read_text("utf-8"))
    assert known["arithmetic"] == ARITHMETIC
    for model, precision in product(known["models"], PRECISIONS):
        assert [len(golden_hash(model, precision, count)) for count in (FEW, PART, golden.TEXTS)] == [64, 64, 64]
    with pytest.raises(BadModel, match="no hash for 7 texts, likewise-mini and fp32"):
        golden_hash("likewise-mini", "fp32", 7)
    monkeypatch.setattr(golden, "ARITHMETIC", ARITHMETIC + 1)
    with pytest.raises(
        BadModel, match=f"has hashes for arithmetic {ARITHMETIC}, but this package has {ARITHMETIC + 1}"
    ):
        golden_hash("likewise-mini", "fp32", FEW)


def test_golden_texts_are_of_many_scripts_and_lengths():
    found = list(islice(texts(), 2000))
    assert found[0] == "gareth impoverished costly \u2053\u203c heather Medial"
    assert len({*found}) == 2000
    letters = {letter for text in found for letter in text}
    assert all(any(chr(first) <= letter < chr(end) for letter in letters) for first, end in SCRIPTS)
    words = [len(text.split()) for text in found]
    assert max(words[:FEW]) <= 12 and max(words) > 200


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_share_the_librarys_memory_and_are_not_pickled(duplicate, folders):
    embedder = NativeEmbedder.load(folders("bert"))
    before = embedder.encode(TEXTS)
    for original in (embedder, embedder.encoder, embedder.through_heads, embedder.tokenizer):
        twin = duplicate(original)
        if original is embedder:
            assert twin.encode(TEXTS).tobytes() == before.tobytes()
        del twin
        gc.collect()
        assert embedder.encode(TEXTS).tobytes() == before.tobytes()
    with pytest.raises(BadInput, match="cannot be pickled: load it in each process by its name or folder"):
        pickle.dumps(embedder)


def test_loading_and_encoding_import_no_torch(folders):
    script = (
        "import sys; from likewise import Embedder; "
        f"e = Embedder.load({str(folders('bert'))!r}, device='cpu'); e.encode(['a cat']); "
        "print(type(e).__name__, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=dict(os.environ))
    assert done.stdout.strip() == "NativeEmbedder False", done.stderr


def test_a_batch_grows_with_the_threads_that_share_it(mini, monkeypatch):
    model, batches = mini["fp32"].encoder, []
    run = model.run
    monkeypatch.setattr(model, "run", lambda *given, **how: (batches.append(given), run(*given, **how))[1])
    texts = [f"{i} " * 60 for i in range(90)]  # of 62 tokens: 5,580
    counts = []
    for threads in (1, 3):
        monkeypatch.setattr(model, "threads", threads)
        batches.clear()
        mini["fp32"].encode(texts)
        counts.append(len(batches))
    assert counts == [3, 1]
