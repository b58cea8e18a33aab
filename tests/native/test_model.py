"""Whole models in C++ against torch's, in every family, precision and instruction set; the same bits in any company."""

import re
import time
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from likewise import Embedder, Ragged
from likewise.arrays.activations import ACTIVATIONS
from likewise.arrays.reductions import REDUCTIONS
from likewise.engines.description import Description
from likewise.engines.native import library as native
from likewise.engines.native.library import Execution, Heads, Library, Model
from likewise.engines.numpy.poolings_and_heads import NumpyHead
from likewise.engines.stored_weights import StoredTensor
from likewise.errors import BadInput
from tests.native.conftest import check_same_bits
from tests.native.descriptions import described
from tests.tiny import CONFIGS, TRANSFORMERS, config_of, random_encoder

NATIVE, HEADER = Path(__file__).parents[2] / "native", "likewise_native.h"
FAMILIES = [*TRANSFORMERS, "words"]
TANH = ACTIVATIONS["tanh"].head
LENGTHS = (5, 1, 17, 30, 2, 16, 9, 33, 60, 4)


@cache
def encoder_of(family: str) -> torch.nn.Module:
    return random_encoder(config_of(family))


@cache
def sentences(lengths: tuple[int, ...] = LENGTHS) -> tuple[np.ndarray, np.ndarray]:
    ids = np.random.default_rng(0).integers(4, 200, sum(lengths))
    return ids, np.asarray(lengths)


@cache
def layers_of(family: str) -> np.ndarray:
    ids, lengths = sentences()
    with torch.inference_mode():
        tokens = Ragged(torch.from_numpy(ids), tuple(lengths.tolist()))
        return np.stack([layer.numpy() for layer in encoder_of(family)(tokens)])


def model_of(library: Library, family: str, stored: str = "fp32", **how: str) -> Model:
    return Model(described(encoder_of(family), stored), library=library, **how)


def layers(model: Model) -> np.ndarray:
    """All of them, of every sentence."""
    return model.run(*sentences(), layers=(0, model.depth)).layers


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(-1) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))


def test_no_family_is_forgotten() -> None:
    assert {*FAMILIES} == {*CONFIGS} - {"bilstm", "dan"}  # which are not transformers, and have kernels of their own


def _enum(file: str, name: str) -> list[tuple[str, int]]:
    """The names of an enum of C++, in upper case and without their prefix, and their numbers."""
    (found,) = re.findall(rf"enum (?:class )?{name} {{(.*?)}}", (NATIVE / file).read_text("utf-8"), re.DOTALL)
    rows = [row.split("=") for row in found.split(",")]
    return [(row[0].strip().upper().removeprefix("LW_"), int(row[-1]) if row[1:] else i) for i, row in enumerate(rows)]


def test_the_numbers_of_activations_and_reductions_are_those_of_the_c_interface() -> None:
    activations = [(name.upper(), row.number) for name, row in ACTIVATIONS.items() if row.number is not None]
    assert activations == _enum(HEADER, "lw_activation")
    assert activations == _enum("kernels.h", "Activation")[: len(activations)]  # behind them: what int8 has in place
    bits = [(name.upper().replace("-", "_"), row.bit) for name, row in REDUCTIONS.items() if row.bit]
    assert bits == [(name.replace("LAST", "LAST_TOKEN"), bit) for name, bit in _enum(HEADER, "lw_reduction")]


def test_every_activation_of_encoders_has_a_number() -> None:
    assert all(row.number is not None for row in ACTIVATIONS.values() if row.configs)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_layer_is_torchs(family: str, library: Library) -> None:
    wanted = layers_of(family)
    found = check_same_bits(library, lambda name: layers(model_of(library, family, instructions=name)))
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() < 2e-5


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("precision", "least"), [("bf16", 0.9995), ("int8", 0.99)])
def test_fewer_bits_stay_near(family: str, precision: str, least: float, library: Library) -> None:
    found = check_same_bits(
        library, lambda name: layers(model_of(library, family, precision=precision, instructions=name))
    )
    assert cosines(found[-1], layers_of(family)[-1]).min() > least


@pytest.mark.parametrize("stored", ["fp16", "bf16", "int8"])
@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_weights_may_be_stored_in_any_type(stored: str, precision: str, library: Library) -> None:
    model = model_of(library, "bert", stored, precision=precision)
    found = model.run(*sentences(), reductions=["mean"]).pooled
    wanted = model_of(library, "bert").run(*sentences(), reductions=["mean"]).pooled
    assert cosines(found, wanted).min() > (0.98 if "int8" in (stored, precision) else 0.9995)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize("family", ["bert", "mpnet", "modernbert", "albert"])
def test_a_sentence_has_the_same_bits_in_any_company_order_and_number_of_threads(
    family: str, precision: str, library: Library
) -> None:
    ids, lengths = sentences()
    ends = np.cumsum(lengths)
    parts = [ids[end - n : end] for n, end in zip(lengths, ends, strict=True)]
    for name in library.instruction_sets:
        model = model_of(library, family, precision=precision, instructions=name)
        together = model.run(ids, lengths, reductions=["cls", "mean"]).pooled
        for i, part in enumerate(parts):
            alone = model.run(part, np.asarray([len(part)]), reductions=["cls", "mean"]).pooled
            assert np.array_equal(alone[0], together[i]), (name, i)
        turned = model.run(
            np.concatenate(parts[::-1]), lengths[::-1], reductions=["cls", "mean"], execution=Execution(threads=3)
        )
        assert np.array_equal(turned.pooled[::-1], together), name
        few = model.run(ids, lengths, reductions=["cls", "mean"], execution=Execution(threads=2, chunk_tokens=7))
        assert np.array_equal(few.pooled, together), name
        one_chunk = Execution(threads=3, chunk_tokens=len(ids))  # which the threads compute together
        assert np.array_equal(
            model.run(ids, lengths, reductions=["cls", "mean"], execution=one_chunk).pooled, together
        ), name


@pytest.mark.parametrize("stored", ["fp32", "fp16", "int8"])
@pytest.mark.parametrize(
    "width", [8, 16, 20, 288, 300]
)  # below 16 there is no short cut; 20 and 300 end in half a vector
def test_the_mean_of_a_tables_rows_has_the_bits_of_its_rows_added_up(width: int, stored: str, library: Library) -> None:
    ids, lengths = sentences()
    rows = np.random.default_rng(1).normal(size=(200, width)).astype(np.float32)
    scales = np.abs(rows).max(1) / 127 if stored == "int8" else None
    words = {
        "fp32": rows,
        "fp16": rows.astype(np.float16),
        "int8": np.rint(rows / (np.abs(rows).max(1)[:, None] / 127)).astype(np.int8),
    }
    table = Description(200, width, 99, StoredTensor(words[stored], scales))
    skips = np.minimum(np.arange(len(lengths)) % 3, lengths - 1)
    for name in library.instruction_sets:
        model = Model(table, instructions=name, library=library)
        (layer,) = model.run(ids, lengths, layers=(0, 0)).layers
        for skipped in (None, skips):
            first = np.cumsum(lengths) - lengths + (0 if skipped is None else skipped)
            wanted = []
            for start, end in zip(first, np.cumsum(lengths), strict=True):
                total = np.zeros(width, np.float32)
                for row in layer[start:end]:
                    total = total + row
                wanted.append(total / np.float32(end - start))
            for threads in (1, 3):
                found = model.run(
                    ids, lengths, reductions=["mean"], skips=skipped, execution=Execution(threads=threads)
                )
                assert np.array_equal(found.pooled, np.stack(wanted)), (name, threads)


@pytest.mark.parametrize("family", ["bert", "words"])
@pytest.mark.parametrize("widths", [(), (48,), (20, 33)])
def test_heads_in_a_run_give_the_same_bits_as_behind_it(family: str, widths: tuple[int, ...], library: Library) -> None:
    model, names, draw = model_of(library, family), ["cls", "mean"] if widths else ["mean"], np.random.default_rng(2)
    sizes = (len(names) * model.width, *widths)
    rows = [
        NumpyHead("Dense", {}, after, np.dot, {"weight": draw.normal(size=(after, before)).astype(np.float32)}, TANH)
        for before, after in pairwise(sizes)
    ]
    heads = Heads([*rows, NumpyHead("Normalize", {}, sizes[-1], np.dot)], sizes[0], library)
    wanted = heads(model.run(*sentences(), reductions=names).pooled)
    for execution in (Execution(heads=heads), Execution(threads=3, chunk_tokens=7, heads=heads)):
        assert np.array_equal(model.run(*sentences(), reductions=names, execution=execution).pooled, wanted)
    with pytest.raises(BadInput, match="the heads expect"):
        model.run(*sentences(), reductions=["max", "mean", "cls"], execution=Execution(heads=heads))


def slow_reductions(rows: np.ndarray, skip: int) -> np.ndarray:
    """One sentence's reductions, as their names say, side by side in their order."""
    skip = min(skip, len(rows) - 1)
    kept, places = rows[skip:], np.arange(len(rows))[skip:, None] + 1
    mean, total = kept.mean(0), kept.sum(0)
    weighted = (kept * places).sum(0) / places.sum()
    return np.concatenate([kept[0], kept.max(0), mean, total / len(kept) ** 0.5, weighted, kept[-1]])


@pytest.mark.parametrize("skipped", [False, True])
def test_reductions_are_those_of_a_plain_loop(skipped: bool, library: Library) -> None:
    ids, lengths = sentences()
    skips = np.arange(len(lengths)) % 4 * 3 if skipped else np.zeros_like(lengths)
    result = model_of(library, "bert").run(
        ids, lengths, reductions=list(native.BITS), layers=(3, 3), skips=skips if skipped else None
    )
    parts = np.split(result.layers[0].astype(float), np.cumsum(lengths)[:-1])
    wanted = np.stack([slow_reductions(rows, skip) for rows, skip in zip(parts, skips, strict=True)])
    np.testing.assert_allclose(result.pooled, wanted, atol=2e-6)


def test_layers_between_two_are_those_of_all(library: Library) -> None:
    model = model_of(library, "bert")
    every = model.run(*sentences(), layers=(0, 3)).layers
    some = model.run(*sentences(), layers=(1, 2), reductions=["cls"])
    assert np.array_equal(some.layers, every[1:3])
    starts = np.cumsum(LENGTHS) - LENGTHS
    assert np.array_equal(some.pooled, every[2][starts])


def test_segments_are_torchs(library: Library) -> None:
    ids, lengths = sentences()
    kinds = np.random.default_rng(1).integers(0, 2, len(ids))
    tokens = Ragged(torch.from_numpy(ids), tuple(lengths.tolist()), torch.from_numpy(kinds))
    with torch.inference_mode():
        *_, wanted = encoder_of("bert")(tokens)
    found = model_of(library, "bert").run(ids, lengths, layers=(3, 3), segments=kinds).layers[0]
    assert np.abs(found - wanted.numpy()).max() < 2e-5
    assert np.abs(found - layers_of("bert")[-1]).max() > 0.01  # they matter


@pytest.mark.parametrize("activation", ["relu", "silu", "tanh", "quick_gelu", "mish", "gelu_new"])
def test_every_activation_is_torchs(activation: str, library: Library) -> None:
    encoder = random_encoder({**config_of("bert"), "hidden_act": activation})
    ids, lengths = sentences()
    with torch.inference_mode():
        *_, wanted = encoder(Ragged(torch.from_numpy(ids), tuple(lengths.tolist())))
    found = Model(described(encoder), library=library).run(ids, lengths, layers=(3, 3)).layers[0]
    assert np.abs(found - wanted.numpy()).max() < 2e-5


def test_time_is_told_apart_by_kind_of_work(library: Library) -> None:
    model, began = model_of(library, "bert"), time.monotonic()
    seconds = model.run(*sentences(), reductions=["mean"], execution=Execution(measure=True)).seconds
    assert [*seconds] == [*native.KINDS] and sum(seconds.values()) <= time.monotonic() - began
    assert min(seconds.values()) > 0, seconds


TEXTS = ["A cat sleeps.", "a kitten naps on the warm sill, while the rain falls", "x", "Dogs bark at night. " * 20]


def ids_of(embedder: Embedder) -> tuple[np.ndarray, np.ndarray]:
    tokenizer = embedder.tokenizer
    found = [tokenizer.with_special_tokens(ids) for ids in tokenizer.token_ids(TEXTS)]
    return np.concatenate(found), np.asarray([len(ids) for ids in found])


@pytest.mark.parametrize("name", ["likewise-mini", "all-MiniLM-L6-v2"])
def test_real_vectors_are_the_references_to_2e_6(
    name: str, library: Library, embedder: Callable[[str], Embedder]
) -> None:
    given = embedder(name)
    vectors = given.encode(TEXTS)
    description = described(given.encoder)

    def pooled(instructions: str) -> np.ndarray:
        model = Model(description, library=library, instructions=instructions)
        return model.run(*ids_of(given), reductions=["mean"]).pooled

    found = check_same_bits(library, pooled)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    assert np.abs(found - vectors).max() < 2e-6


def test_real_vectors_in_int8_stay_near(library: Library, embedder: Callable[[str], Embedder]) -> None:
    given = embedder("all-MiniLM-L6-v2")
    model = Model(described(given.encoder), precision="int8", library=library)
    near = cosines(model.run(*ids_of(given), reductions=["mean"]).pooled, given.encode(TEXTS))
    assert near.min() > 0.98
    assert model.bytes < 12 << 20


@pytest.fixture(scope="session")
def embedder() -> Callable[[str], Embedder]:
    """A real model, where its package is installed."""

    @cache
    def load(name: str) -> Embedder:
        try:
            return Embedder.load(name, engine="torch")
        except FileNotFoundError:
            pytest.skip(f"{name} is not installed")

    return load
