"""Models of the compiled library, called through ctypes, with NumPy arrays in and out.

Its C interface is native/likewise_native.h; the structures here mirror the ones there, field by field.
"""

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_float, c_int32, c_int64, c_size_t, c_void_p
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np

from ...array_types import Float, Int
from ...arrays.activations import ACTIVATIONS
from ...arrays.reductions import REDUCTIONS, reduce_sentences
from ...arrays.sequences import Sequences
from ...errors import BadInput, BadModel
from ...native.library import MESSAGE, VERSION, CompiledLibrary, library_path, native_error
from ...native.threads import thread_count
from ..array_encoder import Segments, Skips
from ..description import Description, LinearWeights, parameter_count
from ..numpy.poolings_and_heads import NumpyHead
from ..stored_weights import StoredTensor

Array = np.ndarray

PRECISIONS = {"fp32": 0, "bf16": 1, "int8": 2}
BITS = {name: row.bit for name, row in REDUCTIONS.items() if row.bit}  # only those that the library computes
KINDS = ("embeddings", "products", "attention", "activations", "norms", "rounding", "rest")
"""The kinds of work that `Model.run` times."""


class _Tensor(ctypes.Structure):
    _fields_ = (("data", c_void_p), ("scales", c_void_p), ("rows", c_int64), ("columns", c_int64), ("type", c_int32))


class _Linear(ctypes.Structure):
    _fields_ = (("weight", _Tensor), ("bias", _Tensor), ("input_scales", c_void_p))


_NORMS = ("norm1", "norm2", "query_norm", "key_norm", "out_norm", "down_norm")
_PARTS = ("query", "key", "value", "out", "up", "gate", "down", *_NORMS)


class _Block(ctypes.Structure):
    _fields_ = (*((part, _Linear) for part in _PARTS), ("theta", c_float), ("stretch", c_float), ("reach", c_int32))


_SIZES = ("vocabulary", "width", "word_width", "depth", "heads", "inner", "longest", "first_position")
_TABLES = ("words", "positions", "segments", "relative", "distances")
_LAYERS = ("distance_norm", "norm", "widen", "last_norm")


class _Description(ctypes.Structure):
    _fields_ = (
        ("version", c_int32),
        ("precision", c_int32),
        *((size, c_int32) for size in _SIZES),
        ("activation", c_int32),
        ("pre_norm", c_int32),
        ("gated", c_int32),
        ("alibi", c_int32),
        ("eps", c_float),
        ("rms", c_int32),
        ("divisor", c_float),
        ("farthest", c_int32),
        *((name, c_int32) for name in ("key_heads", "head_width", "causal", "one_more")),
        ("word_scale", c_float),
        *((table, _Tensor) for table in _TABLES),
        *((layer, _Linear) for layer in _LAYERS),
        ("block_count", c_int32),
        ("blocks", POINTER(_Block)),
        ("order", c_void_p),
    )


class _Head(ctypes.Structure):
    _fields_ = (("kind", c_int32), ("activation", c_int32), ("width", c_int32), ("linear", _Linear))


class _Request(ctypes.Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("ids", "segments", "lengths", "skips")),
        ("tokens", c_int64),
        ("sentences", c_int64),
        *((name, c_int32) for name in ("threads", "chunk_tokens", "first_layer", "last_layer", "reductions")),
        *((name, c_void_p) for name in ("layers", "pooled", "heads", "seconds")),
    )


@dataclass(frozen=True)
class Execution:
    """How a model runs; the settings do not change any bit of the results, except that `heads` transform `pooled`."""

    threads: int = 1
    chunk_tokens: int = 0  # tokens computed together; 0: as many as fit in the cache
    measure: bool = False  # whether to time each kind of work
    heads: "Heads | None" = None  # applied to each sentence's reductions while they are in the cache


DEFAULT_EXECUTION = Execution()


@dataclass(frozen=True)
class NativeOutput:
    """The results of `Model.run`; results that were not requested are None."""

    layers: Float[Array, "L T D"] | None
    pooled: Float[Array, "N W"] | None
    seconds: dict[str, float] = field(default_factory=dict)


class Library(CompiledLibrary):
    """The loaded library, with its functions for models."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._c = self.functions
        self._c.lw_create.restype = c_void_p
        self._c.lw_create.argtypes = [POINTER(_Description), c_char_p, POINTER(c_int32), c_char_p, c_size_t]
        self._c.lw_free.argtypes = [c_void_p]
        self._c.lw_free.restype = None
        self._c.lw_model_instructions.restype = c_char_p
        self._c.lw_model_instructions.argtypes = [c_void_p]
        self._c.lw_model_bytes.restype = c_int64
        self._c.lw_model_bytes.argtypes = [c_void_p]
        self._c.lw_input_scales.restype = POINTER(c_float)
        self._c.lw_input_scales.argtypes = [c_void_p, c_int32, c_int32]
        self._c.lw_run.argtypes = [c_void_p, POINTER(_Request), c_char_p, c_size_t]
        self._c.lw_heads_create.restype = c_void_p
        self._c.lw_heads_create.argtypes = [
            *(POINTER(_Head), c_int32, c_int32, c_char_p, POINTER(c_int32), c_char_p, c_size_t)
        ]
        self._c.lw_heads_free.argtypes, self._c.lw_heads_free.restype = [c_void_p], None
        self._c.lw_heads_run.argtypes = [c_void_p, c_void_p, c_int64, c_void_p, c_char_p, c_size_t]


class _Unique:
    """A handle to immutable memory of the library. Copying returns the same object, so memory is freed only once."""

    _c: Any
    _free: ClassVar[str]
    _handle: int | None = None

    def __del__(self) -> None:
        if self._handle:
            getattr(self._c, self._free)(self._handle)
            self._handle = None

    def __copy__(self) -> "_Unique":
        return self

    def __deepcopy__(self, memo: object) -> "_Unique":
        return self

    def __reduce__(self) -> NoReturn:
        raise BadInput(
            "a model of the compiled library cannot be pickled: load it in each process by its name or folder, with "
            "Embedder.load or Reranker.load"
        )


class Model(_Unique):
    """A packed encoder. It is thread-safe, and a sentence's results are bit-identical in any batch.

    `threads`, initially `thread_count()`, can be set.
    """

    _free = "lw_free"

    def __init__(
        self,
        description: Description,
        *,
        precision: str = "fp32",
        instructions: str | None = None,
        library: Library | None = None,
    ) -> None:
        self._library = library or load()
        self._c = self._library._c
        self.vocabulary, self.longest = description.vocabulary, description.longest
        self.width, self.depth, self.precision = description.width, description.depth, precision
        self.parameters, self.threads = parameter_count(description), thread_count()
        alive: list[Any] = []  # keeps alive the memory that the structures point to
        structure = _description(description, precision, alive)
        self._words = alive[:2]  # read for as long as the model exists; the other weights are copied when packed
        code, message = c_int32(), ctypes.create_string_buffer(MESSAGE)
        name = instructions.encode() if instructions else None
        self._handle = self._c.lw_create(ctypes.byref(structure), name, ctypes.byref(code), message, MESSAGE)
        if code.value:
            raise native_error(code.value, message)

    @property
    def instructions(self) -> str:
        return str(self._c.lw_model_instructions(self._handle).decode())

    @property
    def bytes(self) -> int:
        """The size of the packed weights in bytes."""
        return int(self._c.lw_model_bytes(self._handle))

    def input_scales(self, block: int, *, network: bool) -> Float[Array, " D"] | None:
        """The scales, chosen by the library, by which a block's int8 inputs are multiplied before quantization.

        Args:
            block: the index of the block.
            network: True for the first feed-forward layer, False for queries, keys and values.
        """
        found = self._c.lw_input_scales(self._handle, block, network)
        return np.ctypeslib.as_array(found, (self.width,)).copy() if found else None

    def pooled(
        self,
        tokens: Sequences,
        names: Sequence[str],
        skips: Skips,
        segments: Segments = None,
        heads: "Heads | None" = None,
    ) -> Float[Array, "N W"]:
        if not {*names} <= {*BITS}:  # a reduction that only NumPy computes
            (x,) = self.layers(tokens, self.depth, self.depth, segments)
            reduced = reduce_sentences(x, tokens.lengths, names, skips)
            return reduced if heads is None else heads(reduced)
        skips = None if skips is None else np.minimum(skips, np.maximum(tokens.lengths - 1, 0))
        execution = Execution(self.threads, heads=heads)
        found = self.run(
            tokens.ids, tokens.lengths, reductions=names, segments=segments, skips=skips, execution=execution
        ).pooled
        assert found is not None  # reductions were requested
        return found

    def layers(self, tokens: Sequences, first: int, last: int, segments: Segments = None) -> Float[Array, "L T D"]:
        execution = Execution(self.threads)
        found = self.run(
            tokens.ids, tokens.lengths, layers=(first, last), segments=segments, execution=execution
        ).layers
        assert found is not None  # layers were requested
        return found

    def run(
        self,
        ids: Int[Array, " T"],
        lengths: Int[Array, " N"],
        *,
        reductions: Sequence[str] = (),
        layers: tuple[int, int] | None = None,
        segments: Int[Array, " T"] | None = None,
        skips: Int[Array, " N"] | None = None,
        execution: Execution = DEFAULT_EXECUTION,
    ) -> NativeOutput:
        """Compute reductions of the last layer, and a range of layers (both ends included), of concatenated sentences.

        Layer 0 is the embedding output. If layers are requested, reductions apply to the last requested layer, and
        later layers are not computed. `skips` holds, for each sentence, the number of initial tokens to exclude from
        reductions.
        """
        tokens, sentences, heads = len(ids), len(lengths), execution.heads
        expected = len(ids if segments is None else segments), len(lengths if skips is None else skips)
        if expected != (tokens, sentences):
            raise BadInput(f"{tokens} ids in {sentences} sentences require a segment per id and a skip per sentence")
        first, last = layers or (self.depth, self.depth)
        if not {*reductions} <= {*BITS} or len({*reductions}) != len(reductions):
            raise BadInput(f"the reductions are {reductions}; expected some of {', '.join(BITS)}, each once")
        arrays: dict[str, Array | None] = {**_whole(ids=ids, segments=segments, lengths=lengths, skips=skips)}
        arrays["layers"] = np.empty((last - first + 1, tokens, self.width), np.float32) if layers else None
        size = (sentences, heads.width if heads else len(reductions) * self.width)
        arrays["pooled"] = np.empty(size, np.float32) if reductions else None
        arrays["seconds"] = np.zeros(len(KINDS)) if execution.measure else None
        request = _Request(
            tokens=tokens,
            sentences=sentences,
            threads=execution.threads,
            chunk_tokens=execution.chunk_tokens,
            first_layer=first,
            last_layer=last,
            reductions=sum(map(BITS.__getitem__, reductions)),
            heads=heads._handle if heads else None,
        )
        for name, array in arrays.items():
            if array is not None:
                setattr(request, name, array.ctypes.data)
        message = ctypes.create_string_buffer(MESSAGE)
        if code := self._c.lw_run(self._handle, ctypes.byref(request), message, MESSAGE):
            raise native_error(code, message)
        seconds = arrays["seconds"]
        measured = {} if seconds is None else dict(zip(KINDS, seconds.tolist(), strict=True))
        return NativeOutput(arrays["layers"], arrays["pooled"], measured)


class Heads(_Unique):
    """The heads of a model. They are thread-safe, and each row's result depends only on that row."""

    _free = "lw_heads_free"

    def __init__(self, heads: Sequence[NumpyHead], width: int, library: Library | None = None) -> None:
        self._c = (library or load())._c
        self.width = heads[-1].width if heads else width
        alive: list[Any] = []
        structures = (_Head * len(heads))(*[_head(head, alive) for head in heads])
        code, message = c_int32(), ctypes.create_string_buffer(MESSAGE)
        self._handle = self._c.lw_heads_create(
            structures, len(heads), width, None, ctypes.byref(code), message, MESSAGE
        )
        if code.value:
            raise native_error(code.value, message)

    def __call__(self, vectors: Float[Array, "N W"]) -> Float[Array, "N E"]:
        vectors, message = np.ascontiguousarray(vectors, np.float32), ctypes.create_string_buffer(MESSAGE)
        out = np.empty((len(vectors), self.width), np.float32)
        addresses = vectors.ctypes.data, len(vectors), out.ctypes.data
        if code := self._c.lw_heads_run(self._handle, *addresses, message, MESSAGE):
            raise native_error(code, message)
        return out


IDENTITY = -1  # the code for no activation; LW_IDENTITY in native/likewise_native.h
HEAD_KINDS = {"Dense": 0, "LayerNorm": 1, "Normalize": 2}  # `lw_head_kind`, keyed as `module_registry.HEADS`


def _head(head: NumpyHead, alive: list[Any]) -> _Head:
    weights = [_tensor(StoredTensor(_floats(array)), alive) for array in head.arrays.values()]
    activation = next(row.number for row in ACTIVATIONS.values() if row.head == head.activation)
    return _Head(HEAD_KINDS[head.kind], IDENTITY if activation is None else activation, head.width, _Linear(*weights))


@cache
def load() -> Library:
    return Library(library_path())


def _floats(x: Array) -> Array:
    return np.ascontiguousarray(x, np.float32)


def _whole(**rows: Array | None) -> dict[str, Array]:
    """Convert ids and lengths to 32-bit integers; raise BadInput for numbers that would overflow."""
    arrays = dict[str, Array]()
    for name, row in rows.items():
        if row is not None:
            array = np.asarray(row)
            if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
                raise BadInput(f"{name} are {array.dtype} of shape {array.shape}; expected a 1-D array of integers")
            if array.size and (array.min() < -(2**31) or array.max() >= 2**31):
                raise BadInput(f"{name} range from {array.min()} to {array.max()}, outside the int32 range")
            arrays[name] = np.ascontiguousarray(array, np.int32)
    return arrays


def _address(x: Array | None) -> int | None:
    return None if x is None else x.ctypes.data


TYPES = {"float32": 0, "float16": 1, "uint16": 2, "int8": 3}
"""Maps NumPy dtype names to data type codes of the C interface; bfloat16, which NumPy lacks, is stored as uint16."""


def _tensor(tensor: StoredTensor | None, alive: list[Any]) -> _Tensor:
    if tensor is None:
        return _Tensor()
    values = np.ascontiguousarray(tensor.values)
    rows, columns = values.shape if values.ndim == 2 else (1, *values.shape)
    scales = None if tensor.scales is None else np.ascontiguousarray(tensor.scales, np.float32)
    if (scales is not None) != (values.dtype == np.int8) or (scales is not None and scales.shape != (rows,)):
        raise BadModel(f"int8 weights of shape {values.shape} need one scale per row; other weights have no scales")
    alive.extend((values, scales))
    scale_address = None if scales is None else scales.ctypes.data
    return _Tensor(values.ctypes.data, scale_address, rows, columns, TYPES[values.dtype.name])


def _linear(layer: LinearWeights | None, precision: str, alive: list[Any]) -> _Linear:
    """A layer; only int8 matmuls use a smoothed matrix's column scales; other precisions dequantize the matrix."""
    if layer is None:
        return _Linear()
    weight, scales = layer.weight, layer.weight.column_scales
    if scales is None:
        return _Linear(_tensor(weight, alive), _tensor(layer.bias, alive))
    if precision != "int8":
        return _Linear(_tensor(StoredTensor(weight.fp32()), alive), _tensor(layer.bias, alive))
    if scales.shape != weight.values.shape[1:]:
        raise BadModel(f"column scales of shape {scales.shape} do not fit weights of shape {weight.values.shape}")
    scales = _floats(scales)
    alive.append(scales)
    return _Linear(_tensor(weight, alive), _tensor(layer.bias, alive), _address(scales))


def _description(d: Description, precision: str, alive: list[Any]) -> _Description:
    if d.order is not None and len(d.order) != d.depth:
        raise BadModel(f"`order` lists {len(d.order)} layers, but the model has {d.depth}")
    activation = ACTIVATIONS[d.activation].number
    structure = _Description(version=VERSION, precision=PRECISIONS[precision], activation=activation)
    for name, kind, *_ in _Description._fields_:
        if kind in (c_int32, c_float) and name in vars(d) and name != "activation":
            setattr(structure, name, getattr(d, name))
    structure.word_width = d.word_width or d.width
    for table in _TABLES:
        setattr(structure, table, _tensor(getattr(d, table), alive))
    for layer in _LAYERS:
        setattr(structure, layer, _linear(getattr(d, layer), precision, alive))
    blocks = (_Block * len(d.blocks))()
    for at, block in zip(blocks, d.blocks, strict=True):
        for part in _PARTS:
            setattr(at, part, _linear(getattr(block, part), precision, alive))
        at.theta, at.stretch, at.reach = block.theta, block.stretch, block.reach
    structure.block_count, structure.blocks = len(blocks), ctypes.cast(blocks, POINTER(_Block))
    order = np.asarray(range(d.depth) if d.order is None else d.order, np.int32)
    structure.order = _address(order)
    alive.extend((blocks, order))
    return structure
