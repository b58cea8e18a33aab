"""Odd values for every argument of every public call must give a valid result or one of likewise's own errors."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .attempt import Attempt, Setup, expect
from .models import ENGINES, loader

Values = Mapping[str, Any]

NUMBERS: Values = {
    "minus-one": -1,
    "zero": 0,
    "huge": 10**20,
    "negative-huge": -(10**20),
    "text": "3",
    "word": "many",
    "fraction": 1.5,
    "nan": float("nan"),
    "infinite": float("inf"),
    "true": True,
    "list": [3],
    "bytes": b"3",
    "object": object(),
    "complex": 3j,
    "numpy-int": np.int64(3),
    "numpy-array": np.array([3, 4]),
}
SHARES: Values = {**NUMBERS, "numpy-float": np.float32(0.5), "negative": -0.5, "two": 2.0, "none": None}
NAMES: Values = {
    "empty": "",
    "unknown": "no such thing",
    "number": 5,
    "true": True,
    "bytes": b"cosine",
    "list": ["cosine"],
    "dict": {"a": 1},
    "nul": "cosine\0",
    "capital": "COSINE",
    "surrogate": "\ud800",
    "long": "x" * 100_000,
    "object": object(),
}
TEXTS: Values = {
    **{k: v for k, v in NAMES.items() if k not in ("empty", "unknown", "capital")},
    "none": None,
    "nan": float("nan"),
}
PROMPTS: Values = {**{k: v for k, v in NAMES.items() if k not in ("capital",)}, "long-text": "a " * 20_000}
PATHS: Values = {
    "empty": "",
    "space": " ",
    "dot": ".",
    "nul": "a\0b",
    "null-device": "/dev/null",
    "zero-device": "/dev/zero",
    "proc": "/proc",
    "memory": "/proc/self/mem",
    "long-name": "x" * 300,
    "long-path": "x/" * 3000,
    "bytes": b"bert",
    "none": None,
    "number": 5,
    "list": ["bert"],
    "surrogate": "\ud800",
    "newline": "a\nb",
    "tilde": "~nobody/x",
    "url": "https://example.org/model",
    "form": "avg-glove(avg-glove(x))",
    "open-form": "NAME(pooling=",
    "path": Path("nowhere"),
    "object": object(),
}


def _table(rows: int = 6, width: int = 4, kind: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(rows).standard_normal((rows, width)).astype(kind)


def _with(value: float) -> np.ndarray:
    result = _table()
    result[2, 1] = value
    return result


def _frame() -> Any:
    import pandas as pd

    return pd.DataFrame(_table())


def _tensor() -> Any:
    import torch

    return torch.from_numpy(_table()).requires_grad_()


NOT_FINITE: Mapping[str, Callable[[], Any]] = {
    "nan-row": partial(_with, np.nan),
    "infinite-row": partial(_with, np.inf),
}
VECTORS: Mapping[str, Callable[[], Any]] = {
    **NOT_FINITE,
    "no-rows": lambda: _table(0),
    "no-columns": lambda: _table(6, 0),
    "one-row": lambda: _table(1),
    "vector": lambda: _table()[0],
    "cube": lambda: _table()[None],
    "scalar": lambda: np.float32(1),
    "other-width": lambda: _table(6, 5),
    "zeros": lambda: np.zeros((6, 4), np.float32),
    "equal": lambda: np.ones((6, 4), np.float32),
    "huge": lambda: _table() * np.float32(1e38),
    "tiny": lambda: _table() * np.float32(1e-42),
    "ints": lambda: _table(kind=np.int8),
    "half": lambda: _table(kind=np.float16),
    "double": lambda: _table(kind=np.float64),
    "complex": lambda: _table(kind=np.complex64),
    "bool": lambda: _table() > 0,
    "texts": lambda: np.array([["a", "b", "c", "d"]] * 6),
    "objects": lambda: _table().astype(object),
    "objects-none": lambda: np.array([[None] * 4] * 6, object),
    "lists": lambda: _table().tolist(),
    "ragged": lambda: [[1.0, 2.0], [1.0]],
    "reversed": lambda: _table()[::-1, ::-1],
    "columns-first": lambda: np.asfortranarray(_table()),
    "frame": _frame,
    "tensor-with-gradient": _tensor,
    "masked": lambda: np.ma.masked_less(_table(), 0),
    "none": lambda: None,
    "word": lambda: "vectors",
    "number": lambda: 3,
    "dict": lambda: {"a": [1, 2]},
    "object": object,
}


@dataclass(frozen=True)
class Call:
    """A call with valid arguments, and odd values for each; `refuses` names the values that must raise an error."""

    do: Callable[..., Any]
    good: Callable[[Setup], dict[str, Any]]
    odd: Mapping[str, Mapping[str, Any]]
    refuses: tuple[str, ...] = ()
    outputs: tuple[str, ...] = field(default=())


def _method(model: str, name: str, engine: str = "torch") -> Callable[..., Any]:
    def call(setup: Setup, **arguments: Any) -> Any:
        return getattr(loader(model, engine)(setup.models / model), name)(**arguments)

    return call


def _function(module: str, name: str) -> Callable[..., Any]:
    def call(_: Setup, **arguments: Any) -> Any:
        from importlib import import_module

        result = getattr(import_module(module), name) if "." not in name else None
        if result is None:
            table, _, key = name.partition(".")
            result = getattr(import_module(module), table)[key]
        positional = [arguments.pop(key) for key in ("a", "b") if key in arguments]
        return result(*positional, **arguments)

    return call


def _load(model: str, engine: str) -> Callable[..., Any]:
    def call(setup: Setup, **arguments: Any) -> Any:
        from likewise import Embedder, Reranker

        given = {"name": setup.models / model, **arguments}
        if model in ("cross-bert", "poly"):
            built = Reranker.load(**given)
            return built.rank("a cat", ["a dog"])
        built = Embedder.load(**({"engine": engine} | given))
        result = built.encode(["a cat", ""])
        expect(result.shape[0] == 2 and np.isfinite(result).all(), "wrong answer", f"{result.shape}, finite or not")
        return result

    return call


def _mine(setup: Setup, **arguments: Any) -> Any:
    from likewise.mine import MiningPrompts, MiningSettings, mine_negatives

    model = arguments.pop("model", None) or loader("bert")(setup.models / "bert")
    texts = {
        name: arguments.pop(name)
        for name in ("anchors", "positives", "corpus", "show_progress_bar")
        if name in arguments
    }
    prompts = MiningPrompts(arguments.pop("prompt", None), corpus=arguments.pop("corpus_prompt", None))
    result = mine_negatives(model=model, **texts, prompts=prompts, settings=MiningSettings(**arguments))
    expect(len(result.anchors) + result.report.dropped == 5, "lost rows", str(result.report))
    return result


_TEXTS = ["a cat", "a dog", "rain falls", "the cat naps", "dogs bark"]
POOLINGS: Values = {
    **NAMES,
    "plus": "+",
    "open": "mean+",
    "many": "+".join(["mean"] * 3000),
    "start": "sbert-wk:start=99",
    "negative": "sbert-wk:start=-1",
    "setting": "mean:start=2",
    "word": "sbert-wk:start=x",
    "unset": "sbert-wk:start=",
    "window": "sbert-wk:window=0",
    "huge-window": "sbert-wk:window=100000000000",
}
DEVICES: Values = {
    **NAMES,
    "cuda": "cuda",
    "cuda-99": "cuda:99",
    "meta": "meta",
    "mps": "mps",
    "xpu": "xpu",
    "minus": "cpu:-1",
}


def _encoding(name: str, engine: str) -> Call:
    odd: dict[str, Mapping[str, Any]] = {"prompt": PROMPTS}
    if name != "encode_report":
        odd["overflow"] = NAMES
    if name == "encode":
        odd |= {"batch_tokens": NUMBERS, "show_progress_bar": NAMES}
    return Call(_method("bert", name, engine), lambda _: {"texts": list(_TEXTS)}, odd)


def calls() -> dict[str, Call]:
    """Return every public call by name."""
    result: dict[str, Call] = {}
    for engine in ENGINES:
        result[f"encode/{engine}"] = _encoding("encode", engine)
        result[f"encode_report/{engine}"] = _encoding("encode_report", engine)
        result[f"load/{engine}"] = Call(
            _load("bert", engine),
            lambda _: {},
            {
                "name": PATHS, "engine": NAMES, "precision": NAMES, "device": DEVICES, "pooling": POOLINGS,
                "max_seq_length": NUMBERS, "truncate_dim": NUMBERS,
            },
            outputs=("cache/*",),
        )  # fmt: skip
    result |= {name: _encoding(name, "torch") for name in ("encode_tokens", "encode_layers")}
    result["load/reranker"] = Call(
        _load("cross-bert", "torch"),
        lambda _: {},
        {"name": PATHS, "precision": NAMES, "device": DEVICES, "max_seq_length": NUMBERS},
        outputs=("cache/*",),
    )
    folders = {key: value for key, value in PATHS.items() if key != "dot"}
    for model in ("bert", "cross-bert", "poly"):
        result[f"save/{model}"] = Call(
            _method(model, "save"),
            lambda _: {},
            {"folder": folders},
            refuses=("empty", "none", "number", "nul"),
            outputs=("*",),
        )
    result["save/weights"] = Call(
        _method("bert", "save"), lambda _: {"folder": "out"}, {"weights": NAMES}, outputs=("out*",)
    )
    return result | _of_vectors() | _of_rerankers() | _of_mining()


def _of_vectors() -> dict[str, Call]:
    result: dict[str, Call] = {}
    both = {"a": VECTORS, "b": VECTORS}
    for name in ("cosine", "dot", "euclidean", "manhattan"):
        result[f"similarity/{name}"] = Call(
            _function("likewise.arrays.similarity", name), lambda _: {"a": _table(), "b": _table()}, both
        )
        result[f"pairwise/{name}"] = Call(
            _function("likewise.arrays.similarity", f"PAIRWISE.{name}"),
            lambda _: {"a": _table(), "b": _table()},
            {"a": VECTORS},
        )
    result["search"] = Call(
        _function("likewise.search", "search"),
        lambda _: {"queries": _table(), "corpus": _table(6), "k": 3},
        {"queries": VECTORS, "corpus": VECTORS, "k": NUMBERS, "metric": NAMES},
        refuses=(*NOT_FINITE, "ragged", "other-width"),
    )
    result["closest_pairs"] = Call(
        _function("likewise.search", "closest_pairs"),
        lambda _: {"vectors": _table(), "k": 3},
        {"vectors": VECTORS, "k": NUMBERS, "below": SHARES},
        refuses=(*NOT_FINITE, "ragged", "vector", "cube"),
    )
    result["communities"] = Call(
        _function("likewise.cluster", "communities"),
        lambda _: {"vectors": _table(), "min_size": 2},
        {"vectors": VECTORS, "threshold": SHARES, "min_size": NUMBERS},
        refuses=(*NOT_FINITE, "ragged", "vector", "cube"),
    )
    return result


def _of_rerankers() -> dict[str, Call]:
    result: dict[str, Call] = {}
    for model in ("cross-bert", "cross-labels", "poly"):
        good = {"query": "a cat", "documents": _TEXTS} | ({"label": 1} if model == "cross-labels" else {})
        odd = {
            "query": TEXTS, "k": NUMBERS, "label": {**NAMES, **NUMBERS}, "prompt": PROMPTS, "overflow": NAMES,
            "batch_tokens": NUMBERS, "show_progress_bar": NAMES,
        }  # fmt: skip
        result[f"rank/{model}"] = Call(_method(model, "rank"), lambda _, good=good: dict(good), odd)
        pairs = {"pairs": [("a", "b"), ("c", "d")]} | ({"label": 1} if model == "cross-labels" else {})
        rows = {
            "triples": [("a", "b", "c")], "numbers": [(1, 2)], "texts": ["a", "b"],
            "two-letters": ["ab", "cd"], "none": None,
            "str": "ab", "dict": {"a": "b"}, "empty": [], "nulls": [("a", None)], "bytes": [(b"a", b"b")], "number": 3,
        }  # fmt: skip
        result[f"score/{model}"] = Call(
            _method(model, "score"),
            lambda _, pairs=pairs: dict(pairs),
            {"pairs": rows, "documents": {**NAMES, "short": ["a"]}},
        )
    return result


def _of_mining() -> dict[str, Call]:
    columns = {**TEXTS, "short": ["a"], "blank": ["", " ", "a", "b", "c"], "null": ["a", None, "b", "c", "d"]}
    odd = {
        "anchors": columns, "positives": columns, "corpus": {k: v for k, v in columns.items() if k != "none"},
        "model": {k: v for k, v in TEXTS.items() if k != "none"}, "k": NUMBERS, "pool_size": NUMBERS,
        "max_candidates": NUMBERS,
        "strategy": NAMES, "missing": NAMES, "metric": NAMES, "prompt": PROMPTS, "corpus_prompt": PROMPTS,
        "seed": NUMBERS, "rules": {**NAMES, "numbers": [1], "class": [object], "one": object()},
        "show_progress_bar": NAMES,
    }  # fmt: skip
    good = {"anchors": list(_TEXTS), "positives": [f"{t} too" for t in _TEXTS]}
    return {"mine": Call(_mine, lambda _: dict(good), odd)}


def attempts(setup: Setup) -> Iterator[Attempt]:
    """Yield one attempt per odd value of an argument; all other arguments are valid."""
    for name, call in calls().items():
        for argument, values in call.odd.items():
            for label in list(values)[:: 8 if setup.quick else 1]:
                work = partial(_try, setup, name, argument, label)
                yield Attempt(f"arguments/{name}/{argument}/{label}", work, call.outputs)


def _try(setup: Setup, name: str, argument: str, label: str) -> None:
    call = calls()[name]
    value = call.odd[argument][label]
    if call.odd[argument] is VECTORS:
        value = value()
    result = call.do(setup, **(call.good(setup) | {argument: value}))
    expect(
        label not in call.refuses or argument == "k", "wrong answer", f"{argument}={value!r:.80} gave {result!r:.200}"
    )
    if argument == "prompt" and name.startswith("encode/"):
        expect(len(result) == len(_TEXTS), "lost rows", f"{len(result)} rows")
