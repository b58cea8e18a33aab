"""What is wrong is refused with a message, and nothing crashes."""

import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from likewise.engines.description import BlockWeights, Description
from likewise.engines.native import library as native
from likewise.engines.native.library import Execution, Library, Model
from likewise.engines.stored_weights import StoredTensor
from likewise.errors import BadInput, BadModel
from likewise.native.library import ARITHMETIC
from tests.native.conftest import ROOT
from tests.native.descriptions import described
from tests.tiny import config_of, random_encoder

IDS, LENGTHS = np.arange(10), np.asarray([4, 6])
MOST = 1 << 24  # rows of a table
EMPTY = native.LinearWeights(StoredTensor(np.empty((0, 32), np.float32)))


@pytest.fixture(scope="module")
def bert() -> Description:
    return described(random_encoder(config_of("bert")))


@pytest.fixture(scope="module")
def model(bert: Description, library: Library) -> Model:
    return Model(bert, library=library)


@pytest.mark.parametrize(
    ("ids", "lengths", "message"),
    [
        (np.asarray([1, 200]), np.asarray([2]), "id 200 of sentence 0: wanted 0 to 199"),
        (np.asarray([1, -1]), np.asarray([1, 1]), "id -1 of sentence 1"),
        (np.asarray([1, 2]), np.asarray([2, 0]), "length 0 of sentence 1"),
        (np.asarray([1, 2]), np.asarray([3, -1]), "length -1 of sentence 1"),
        (np.ones(67, int), np.asarray([67]), "length 67 of sentence 0: wanted 1 to 66"),
        (np.ones(100_000, int), np.asarray([100_000]), "length 100000"),
        (np.ones(3, int), np.asarray([2]), "3 ids do not make 1 sentences"),
    ],
)
def test_bad_sentences_are_refused(
    ids: np.ndarray, lengths: np.ndarray, message: str, model: Model, unchecked: None
) -> None:
    with pytest.raises(BadInput, match=message):
        model.run(ids, lengths, reductions=["mean"])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"execution": Execution(threads=0)}, "threads are 0; wanted 1 to 1024"),
        ({"execution": Execution(threads=1025)}, "threads are 1025; wanted 1 to 1024"),
        ({"execution": Execution(chunk_tokens=-1)}, "threads are 1"),
        ({"layers": (2, 4)}, "layers 2 to 4 are none of 0 to 3"),
        ({"layers": (2, 1)}, "layers 2 to 1 are none of 0 to 3"),
        ({"segments": np.full(10, 2)}, "segment 2 of sentence 0: this model knows 2"),
        ({"skips": np.asarray([0, -1])}, "skip -1 of sentence 1"),
    ],
)
def test_bad_requests_are_refused(how: dict[str, object], message: str, model: Model, unchecked: None) -> None:
    with pytest.raises(BadInput, match=message):
        model.run(IDS, LENGTHS, **{"reductions": ["mean"], **how})


def test_no_sentences_give_no_rows(model: Model) -> None:
    none = np.empty(0, np.int64)
    assert model.run(none, none, reductions=["mean"]).pooled.shape == (0, 32)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("part", ["query", "up", "norm1", "positions", "words", "table"])
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_weights_that_are_not_finite_are_refused(
    value: float, part: str, precision: str, bert: Description, library: Library
) -> None:
    def spoilt(tensor: StoredTensor) -> StoredTensor:
        values = tensor.values.copy()
        values.flat[-1] = value
        return StoredTensor(values)

    if part == "table":
        broken = Description(200, 32, 99, spoilt(bert.words))
    elif part in ("positions", "words"):
        broken = replace(bert, **{part: spoilt(getattr(bert, part))})
    else:
        layer = getattr(bert.blocks[1], part)
        block = replace(bert.blocks[1], **{part: replace(layer, weight=spoilt(layer.weight))})
        broken = replace(bert, blocks=[bert.blocks[0], block, bert.blocks[2]])
    with pytest.raises(BadModel, match="NaN or infinity"):  # words are looked at when they are used
        Model(broken, precision=precision, library=library).run(np.asarray([199]), np.asarray([1]), reductions=["mean"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": 5}, "width beside heads"),
        ({"inner": 49}, "first layer is 48 by 32; wanted 49 by 32"),
        ({"width": 0}, "^width is 0; wanted 1 to 16384"),
        ({"width": 16385}, "^width is 16385; wanted 1 to 16384"),
        ({"word_width": 16385}, "word width is 16385; wanted 1 to 16384"),
        ({"word_width": 16, "words": StoredTensor(np.zeros((200, 16), np.float32))}, "is 16; wanted 32 to 32"),
        ({"words": StoredTensor(np.zeros((200, 16), np.float32))}, "columns of words is 16; wanted 32 to 32"),
        ({"vocabulary": 0}, "vocabulary is 0; wanted 1 to 16777216"),
        ({"vocabulary": MOST + 1}, f"vocabulary is {MOST + 1}; wanted 1 to {MOST}"),
        ({"depth": 1025, "order": [0] * 1025}, "depth is 1025; wanted 0 to 1024"),
        ({"heads": 0}, "heads is 0; wanted 1 to 32"),
        ({"heads": 33}, "heads is 33; wanted 1 to 32"),
        ({"inner": 0}, "inner is 0; wanted 1 to 16384"),
        ({"inner": 16385}, "inner is 16385; wanted 1 to 16384"),
        ({"longest": 0}, f"longest is 0; wanted 1 to {MOST}"),
        ({"longest": MOST + 1}, f"longest is {MOST + 1}; wanted 1 to {MOST}"),
        ({"first_position": -1}, f"first position is -1; wanted 0 to {MOST}"),
        ({"first_position": 1}, f"rows of positions is 66; wanted 67 to {MOST}"),
        ({"eps": -1e-9}, "eps"),
        ({"eps": float("inf")}, "eps"),
        ({"longest": 67}, "rows of positions is 66"),
        ({"vocabulary": 201}, "rows of words is 200"),
        ({"eps": float("nan")}, "eps"),
        ({"order": [0, 1, 3]}, "a block's number is 3"),
        ({"blocks": []}, "number of blocks is 0; wanted 1 to 1024"),
        ({"blocks": [BlockWeights(EMPTY, EMPTY, EMPTY, EMPTY)] * 3}, "wanted 32 by 32"),
        ({"blocks": [BlockWeights(EMPTY, EMPTY, EMPTY, EMPTY)] * 1025}, "blocks is 1025; wanted 1 to 1024"),
    ],
)
@pytest.mark.parametrize("precision", ["fp32", "int8"])  # int8 runs a few words before it is built
def test_bad_descriptions_are_refused(
    change: dict[str, object], message: str, precision: str, bert: Description, library: Library
) -> None:
    with pytest.raises(BadModel, match=message):
        Model(replace(bert, **change), precision=precision, library=library)


@pytest.mark.parametrize(
    ("change", "heads", "message"),
    [
        ({"theta": -1.0}, 4, "a rotary base is not above 0"),
        ({"theta": float("inf")}, 4, "a rotary base is not above 0, or is infinite"),
        ({"theta": 1e4, "stretch": -1.0}, 4, "the divisor of rotary angles is not above 0"),
        ({"theta": 1e4, "stretch": float("nan")}, 4, "the divisor of rotary angles is not above 0"),
        ({"theta": 1e4}, 32, "a rotary head's width beside 2 is 1"),
    ],
)
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_rotation_that_cannot_be_is_refused(
    change: dict[str, float], heads: int, message: str, precision: str, bert: Description, library: Library
) -> None:
    blocks = [bert.blocks[0], replace(bert.blocks[1], **change), bert.blocks[2]]
    with pytest.raises(BadModel, match=message):
        Model(replace(bert, blocks=blocks, heads=heads), precision=precision, library=library)


def test_a_block_that_is_none_has_no_input_scales(bert: Description, library: Library) -> None:
    model = Model(bert, precision="int8", library=library)
    assert model.input_scales(2, network=True) is not None
    assert model.input_scales(3, network=True) is model.input_scales(-1, network=False) is None


def test_unknown_kernels_are_refused(bert: Description, library: Library) -> None:
    with pytest.raises(BadModel, match="no kernels named 'quantum' for this processor; there are .*portable"):
        Model(bert, library=library, instructions="quantum")


def test_the_environment_names_the_kernels(
    bert: Description, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIKEWISE_ISA", "portable")
    assert Model(bert, library=library).instructions == "portable"
    monkeypatch.setenv("LIKEWISE_ISA", "quantum")
    with pytest.raises(BadModel, match="quantum"):
        Model(bert, library=library)


@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="memory is limited by what Linux tells of it")
def test_too_little_memory_is_an_error_and_not_a_crash(library: Library) -> None:
    tokens = 4_000_000
    table = Model(Description(10, 64, 1 << 24, StoredTensor(np.zeros((10, 64), np.float32))), library=library)
    ids, lengths = np.ones(tokens, np.int32), np.asarray([tokens], np.int32)
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * os.sysconf("SC_PAGE_SIZE") + (100 << 20)  # a tenth of what the states take
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        try:
            table.run(ids, lengths, reductions=["max"])  # a mean of rows needs no states
            os.write(writer, b"enough")
        except MemoryError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 100) == b"there is not enough memory"


def test_the_two_sides_agree_on_the_versions(library: Library) -> None:
    header = (ROOT / "native/likewise_native.h").read_text("utf-8")
    assert f"#define LW_VERSION {native.VERSION}\n" in header
    assert f"#define LW_ARITHMETIC {ARITHMETIC}\n" in header
    assert library.functions.lw_arithmetic() == ARITHMETIC


def test_a_library_that_is_named_is_loaded(library_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    native.load.cache_clear()
    monkeypatch.setenv("LIKEWISE_NATIVE_LIBRARY", str(library_path))
    assert native.load().path == library_path
    native.load.cache_clear()


MANY = np.tile(IDS, 60), np.tile(LENGTHS, 60)  # enough for several chunks


def mean(model: Model, threads: int) -> np.ndarray:
    return model.run(*MANY, reductions=["mean"], execution=Execution(threads=threads, chunk_tokens=48)).pooled


@pytest.mark.parametrize("freed", [False, True])
def test_a_fork_may_compute_too_and_free_the_model(freed: bool, bert: Description, library: Library) -> None:
    model = Model(bert, library=library)
    wanted = mean(model, 2)  # whose helper is not in the fork
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        same = freed or np.array_equal(mean(model, 3), wanted)
        del model
        os.write(writer, b"same" if same else b"other")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 10) == b"same"
    assert np.array_equal(mean(model, 2), wanted)


def test_several_threads_may_call_one_model_at_once(model: Model) -> None:
    wanted = mean(model, 1024)  # as many as may be asked for
    with ThreadPoolExecutor(6) as pool:
        for found in pool.map(lambda i: mean(model, 1 + i % 4), range(60)):
            assert np.array_equal(found, wanted)


def test_a_process_ends_while_a_models_threads_wait(library_path: Path) -> None:
    code = (
        "import ctypes, os, sys, numpy as np; from pathlib import Path; "
        "from likewise.engines.native.library import *; "
        "words = StoredTensor(np.ones((10, 64), np.float32)); "
        "model = Model(Description(10, 64, 99, words), library=Library(Path(sys.argv[1]))); "
        "ids = np.ones(4000, np.int32); lengths = np.full(100, 40, np.int32); "
        "print(model.run(ids, lengths, reductions=['mean'], execution=Execution(threads=3)).pooled.sum()); "
        "sys.modules['kept'] = model; sys.exit(7)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(library_path)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (7, "6400.0\n"), done.stderr
