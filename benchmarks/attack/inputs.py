"""Odd texts and containers, for all engines and calls: each gives a row per text or one of likewise's own errors."""

import random
import string
from collections import UserDict, UserList, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from .attempt import Attempt, Setup, expect
from .models import ENGINES, loader


class _Text(str):
    """A subclass of str, such as NumPy's."""

    __slots__ = ()


class _Short:
    """A container whose length is smaller than its number of items."""

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        return iter(["a", "b", "c"])


class _Long(_Short):
    """A container whose length is larger than its number of items."""

    def __len__(self) -> int:
        return 9


STRINGS: dict[str, str] = {
    "empty": "",
    "space": " \t  ",
    "newlines": "\n\r\n\r\x0b\x0c",
    "nul": "\0",
    "nul-inside": "a\0b\0",
    "high-surrogate": "\ud800",
    "low-surrogate": "x\udc00y",
    "split-emoji": "\ud83d\ude00",
    "zero-width": "​" * 50,
    "joiners": "a\u200db\u2060c\ufeffd\u00ade",
    "right-to-left": "שלום עולם مرحبا بالعالم",
    "bidi-override": "\u202eabc\u202c\u2066x\u2069",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈🇩🇪" * 40,
    "million-letters": "a" * 1_000_000,
    "100k-ideographs": "漢" * 100_000,  # each is a word; more would only take longer
    "million-spaces": " " * 1_000_000,
    "100k-words": "word " * 100_000,
    "100k-distinct-words": " ".join(f"w{i}" for i in range(100_000)),
    "control": "".join(map(chr, [*range(1, 32), *range(127, 160)])),
    "combining": "e" + "\u0301" * 10_000,
    "zalgo": "".join(c + "\u0316\u0317\u0318\u0319" * 20 for c in "hello"),
    "words-of-101": " ".join(["x" * 101] * 20),
    "word-of-100": "x" * 100,
    "line-separators": "a\u2028b\u2029c\x85d",
    "private-use": "\ue000\uf8ff\U000f0000",
    "noncharacters": "\ufffe\uffff\U0010ffff\U0001fffe",
    "bom": "\ufefftext",
    "special-tokens": "[CLS] [SEP] [PAD] [UNK] [MASK] <s> </s> <pad> <unk>",
    "only-special": "[PAD]" * 200,
    "format": "%s %d {0} {x!r} $HOME `id`",
    "path": "../../etc/passwd",
    "markup": "[bold red]x[/] <b>&amp;</b> \x1b[31mred\x1b[0m",
    "turkish": "İıŞş ẞß ŉ ǰ ﬁﬂ",
    "wide": "ｆｕｌｌ　ｗｉｄｔｈ ㎏ ①",
    "tags": "a" + "".join(chr(0xE0000 + c) for c in range(32, 127)),
    "subclass": _Text("a cat"),
    "numpy": np.str_("a cat"),
    "interpunct": "·" * 3000,
    "digits": "1234567890" * 5000,
}

Made = tuple[Callable[[], Any], int | None]
"""A function that creates the container, and the expected number of rows; None: an error; -1: an error or any rows."""

_ROWS = ["a cat", "a dog", ""]


def _pandas(values: Any, **how: Any) -> Any:
    import pandas as pd

    return pd.Series(values, **how)


def _arrow(values: Any, kind: str = "string") -> Any:
    import pyarrow as pa

    return pa.array(values, getattr(pa, kind)())


def _chunked() -> Any:
    import pyarrow as pa

    return pa.chunked_array([["a"], [], ["b", "c"]])


CONTAINERS: dict[str, Made] = {
    "list": (lambda: list(_ROWS), 3),
    "none-at-all": (list, 0),
    "tuple": (lambda: tuple(_ROWS), 3),
    "generator": (lambda: (t for t in _ROWS), 3),
    "empty-generator": (lambda: iter(()), 0),
    "map": (lambda: map(str, range(3)), 3),
    "deque": (lambda: deque(_ROWS), 3),
    "user-list": (lambda: UserList(_ROWS), 3),
    "keys": (lambda: dict.fromkeys(_ROWS).keys(), -1),
    "values": (lambda: dict(enumerate(_ROWS)).values(), -1),
    "dict": (lambda: {"a": "b"}, None),
    "user-dict": (lambda: UserDict({"a": "b"}), None),
    "set": (lambda: {"a", "b"}, None),
    "frozenset": (lambda: frozenset("ab"), None),
    "short-len": (_Short, -1),
    "long-len": (_Long, -1),
    "numpy": (lambda: np.array(_ROWS), 3),
    "numpy-object": (lambda: np.array(_ROWS, object), 3),
    "numpy-empty": (lambda: np.array([], str), 0),
    "numpy-0d": (lambda: np.array("a"), None),
    "numpy-0d-object": (lambda: np.array("a", object), None),
    "numpy-2d": (lambda: np.array([["a", "b"], ["c", "d"]]), None),
    "numpy-bytes": (lambda: np.array([b"a", b"b"]), None),
    "numpy-floats": (lambda: np.ones(3), None),
    "numpy-object-none": (lambda: np.array(["a", None], object), None),
    "numpy-object-nan": (lambda: np.array(["a", float("nan")], object), None),
    "numpy-record": (lambda: np.array([("a", 1)], [("t", "U4"), ("n", int)]), None),
    "pandas": (lambda: _pandas(_ROWS), 3),
    "pandas-index": (lambda: _pandas(_ROWS, index=[9, 9, 7]), 3),
    "pandas-none": (lambda: _pandas(["a", None]), None),
    "pandas-nan": (lambda: _pandas(["a", float("nan")]), None),
    "pandas-category": (lambda: _pandas(_ROWS, dtype="category"), -1),
    "pandas-string-na": (lambda: _pandas(["a", None], dtype="string"), None),
    "pandas-numbers": (lambda: _pandas([1, 2]), None),
    "pandas-frame": (lambda: _pandas(_ROWS).to_frame("t"), None),
    "arrow": (lambda: _arrow(_ROWS), 3),
    "arrow-large": (lambda: _arrow(_ROWS, "large_string"), 3),
    "arrow-null": (lambda: _arrow(["a", None]), None),
    "arrow-numbers": (lambda: _arrow([1, 2], "int64"), None),
    "arrow-bytes": (lambda: _arrow([b"a"], "binary"), None),
    "arrow-chunks": (_chunked, 3),
    "str": (lambda: "a cat", None),
    "empty-str": (lambda: "", None),
    "bytes": (lambda: b"a cat", None),
    "bytearray": (lambda: bytearray(b"ab"), None),
    "none": (lambda: None, None),
    "number": (lambda: 7, None),
    "nan": (lambda: float("nan"), None),
    "object": (object, None),
    "range": (lambda: range(3), None),
    "list-none": (lambda: ["a", None], None),
    "list-number": (lambda: ["a", 1], None),
    "list-nan": (lambda: [float("nan")], None),
    "list-bytes": (lambda: ["a", b"b"], None),
    "list-list": (lambda: [["a"], ["b"]], None),
    "list-pair": (lambda: [("a", "b")], None),
    "list-dict": (lambda: [{"text": "a"}], None),
    "list-type": (lambda: [str], None),
    "class": (lambda: str, None),
    "file": (lambda: open("/dev/null"), 0),  # noqa: PTH123, SIM115
}


def random_texts(seed: int, count: int) -> dict[str, str]:
    """Generate random texts from all of Unicode, including lone surrogates."""
    draw = random.Random(seed)
    pools = [string.printable, "".join(map(chr, range(0x80, 0x3000))), "\ud800\udfff\0\u200d\u0301 "]
    results = {}
    for i in range(count):
        parts = [draw.choice(draw.choice(pools)) if draw.random() < 0.7 else chr(draw.randrange(0x110000))
                 for _ in range(draw.randrange(1, 400))]  # fmt: skip
        results[f"random-{i}"] = "".join(parts)
    return results


def attempts(setup: Setup) -> Iterator[Attempt]:
    """Yield attempts with texts and containers, by engine and by call."""
    texts = STRINGS | random_texts(setup.seed, 4 if setup.quick else 16)
    step = 8 if setup.quick else 1
    models = {"torch": ("bert", "ngrams"), "numpy": ("bert", "ngrams"), "native": ("bert", "words")}
    for engine in ENGINES:
        for call, do in (
            CALLS if engine == "torch" else {k: v for k, v in CALLS.items() if k not in TORCH_ONLY}
        ).items():
            for name, text in list(texts.items())[::step]:
                for model in models[engine][: 2 if call == "encode" else 1]:
                    yield Attempt(
                        f"inputs/{engine}/{model}/{call}/{name}", partial(_try_text, setup, model, engine, do, text)
                    )
        for name, built in list(CONTAINERS.items())[:: 3 if setup.quick else 1]:
            yield Attempt(f"inputs/{engine}/containers/{name}", partial(_try_container, setup, engine, built))
            yield Attempt(f"inputs/{engine}/report/{name}", partial(_try_report, setup, engine, built))
    yield from _rerankers(setup, texts, step)


def _rerankers(setup: Setup, texts: dict[str, str], step: int) -> Iterator[Attempt]:
    for model in ("cross-bert", "poly"):
        for name, text in list(texts.items())[::step]:
            yield Attempt(f"inputs/{model}/rank/{name}", partial(_try_rank, setup, model, text))
        for name, built in list(CONTAINERS.items())[:: 3 if setup.quick else 1]:
            yield Attempt(f"inputs/{model}/documents/{name}", partial(_try_documents, setup, model, built))
    for name, text in list(texts.items())[::step]:
        yield Attempt(f"inputs/torch/mine/{name}", partial(_try_mine, setup, text))


def _try_text(setup: Setup, model: str, engine: str, do: Callable[[Any, list[str]], Any], text: str) -> None:
    do(loader(model, engine)(setup.models / model), ["a cat", text, "a dog", text])


def _encode(embedder: Any, texts: list[str], **how: Any) -> None:
    """Check that rows are finite and in order, and that a text repeated or encoded alone gets the same row."""
    result = embedder.encode(texts, **how)
    expect(result.shape == (len(texts), embedder.dimension), "lost rows", f"{result.shape} for {len(texts)} texts")
    expect(np.isfinite(result).all(), "wrong answer", "the vectors are not finite")
    expect((result[1] == result[3]).all(), "wrong answer", "a repeated text has two different vectors")
    alone = embedder.encode(texts[1:2], **how)
    expect(
        np.allclose(alone[0], result[1], atol=1e-5), "wrong answer", "encoded alone, the text has a different vector"
    )


def _encode_tokens(embedder: Any, texts: list[str]) -> None:
    result, pieces = embedder.encode_tokens(texts), embedder.pieces(texts)
    expect(len(result) == len(texts) == len(pieces), "lost rows", f"{len(result)} arrays for {len(texts)} texts")
    expect(all(np.isfinite(x).all() for x in result), "wrong answer", "the vectors are not finite")


def _encode_layers(embedder: Any, texts: list[str]) -> None:
    result = embedder.encode_layers(texts)
    expect(len(result) == len(texts), "lost rows", f"{len(result)} arrays for {len(texts)} texts")
    expect(all(len(x) == embedder.encoder.depth + 1 for x in result), "wrong answer", "layers are missing")


def _encode_report(embedder: Any, texts: list[str]) -> None:
    result = embedder.encode_report(texts)
    expect(len(result.tokens) == len(texts), "lost rows", f"{len(result.tokens)} counts for {len(texts)} texts")
    expect((result.used <= result.tokens).all(), "wrong answer", "more tokens used than there are")


CALLS: dict[str, Callable[[Any, list[str]], Any]] = {
    "encode": _encode,
    "encode-mean": partial(_encode, overflow="mean"),
    "encode-error": partial(_encode, overflow="error"),
    "encode-tokens": _encode_tokens,
    "encode-layers": _encode_layers,
    "encode-report": _encode_report,
}
TORCH_ONLY = ("encode-tokens", "encode-layers")


def _check_rows(made: Made, rows: int) -> None:
    if made[1] is None:
        expect(False, "wrong answer", f"{rows} rows for input that is not a list of texts")
    given = made[0]()
    expected = len(list(given)) if made[1] == -1 else made[1]
    expect(rows >= expected, "lost rows", f"{rows} rows for {expected} texts")
    expect(rows == expected, "wrong answer", f"{rows} rows for {expected} texts")


def _try_container(setup: Setup, engine: str, made: Made) -> None:
    _check_rows(made, len(loader("bert", engine)(setup.models / "bert").encode(made[0]())))


def _try_report(setup: Setup, engine: str, made: Made) -> None:
    _check_rows(made, len(loader("bert", engine)(setup.models / "bert").encode_report(made[0]()).tokens))


def _try_documents(setup: Setup, model: str, made: Made) -> None:
    _check_rows(made, len(loader(model)(setup.models / model).rank("a cat", made[0]())))


def _try_rank(setup: Setup, model: str, text: str) -> None:
    reranker = loader(model)(setup.models / model)
    documents = ["a cat", text, "", text]
    for query in (text, "a cat"):
        result = reranker.rank(query, documents)
        expect(sorted(i for i, _ in result) == [0, 1, 2, 3], "lost rows", f"ranks {result}")
        scores = dict(result)
        expect(np.isfinite(list(scores.values())).all(), "wrong answer", f"scores {result}")
        expect(scores[1] == scores[3], "wrong answer", "a repeated text has two different scores")


def _try_mine(setup: Setup, text: str) -> None:
    from likewise.mine import MiningSettings, mine_negatives

    texts = ["a cat", "a dog", "rain", text]
    model, settings = loader("bert")(setup.models / "bert"), MiningSettings(missing="fill")
    result = mine_negatives(texts, [f"{t} too" for t in texts], model, settings=settings)
    kept: Iterable[str] = result.anchors
    expect(len(list(kept)) + result.report.dropped == 4, "lost rows", f"{result.report}")
