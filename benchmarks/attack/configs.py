"""Model folders with one thing wrong: each field of each JSON mutated, files broken or replaced, odd weights.

A folder loads or is refused with BadModel (ModelNotFound is one); what loads must encode, or refuse with an error that
is ours; and what was saved again must load to the same vectors, or be refused by `save`.
"""

import copy
import json
import os
import pickle
import random
import shutil
import struct
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from likewise.errors import BadModel, LikewiseError

from .attempt import Attempt, Failed, Setup, expect
from .models import FOR_NUMPY, loader, names

TEXTS = ["a cat sleeps", "", "the quick dog " * 30, "x" * 60, "query: y", "Ünïcode 漢字 ​"]
FIELDS_OF_ONE_FILE = 60  # mutations drawn for each file of each folder
ENTRIES = 12  # a table of more (a vocabulary) is mutated as a whole


class _Missing:
    """The field is taken away."""


VALUES: Mapping[str, Any] = {
    "text": "abc",
    "number-as-text": "3",
    "minus-one": -1,
    "zero": 0,
    "one": 1,
    "billion": 10**9,
    "huge": 10**30,
    "fraction": 0.5,
    "five": 5.0,
    "nan": float("nan"),
    "infinite": float("inf"),
    "null": None,
    "true": True,
    "false": False,
    "list": [],
    "numbers": [0, -1, 10**12],
    "nested": {"a": [{"b": 1}]},
    "path": "../../../etc/passwd",
    "long": "x" * 100_000,
    "missing": _Missing,
}

MORE: Mapping[str, Mapping[str, Any]] = {
    "config.json": {
        "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "position_embedding_type": "absolute",
        "quantization_config": {"bits": 8}, "torch_dtype": "float32", "is_decoder": False, "auto_map": {"AutoModel": "x--y.Z"},
        "attention_window": [8, 8], "layer_types": ["full_attention"], "rope_theta": 1e4, "id2label": {"0": "a"},
    },
    "sentence_bert_config.json": {"model_args": {}, "tokenizer_args": {}},
    "1_Pooling/config.json": {"pooling_mode_cls_token": False, "include_prompt": True, "pooling_mode": "mean"},
    "config_sentence_transformers.json": {
        "prompts": {"query": "q: "}, "default_prompt_name": "query", "similarity_fn_name": "cosine",
        "__version__": {"sentence_transformers": "5"}, "model_type": "SentenceTransformer",
    },
}  # fmt: skip
"""Fields that a file may have beside those that ours has."""

JUNK: tuple[tuple[str, str, str, Any], ...] = (
    *(("bert", "sentence_bert_config.json", "max_seq_length", x) for x in ("128", -1, 0, 1.5, [], {}, True, 1e999)),
    *(("bert", "sentence_bert_config.json", "do_lower_case", x) for x in ("no", 2, [], {}, -1.5)),
    *(("bert", "1_Pooling/config.json", "pooling_mode_mean_tokens", x) for x in (_Missing, "yes", [], False)),
    *(("bert", "config.json", "num_attention_heads", x) for x in (0, -1, 5, "4", 4.5, None, [])),
    *(("bert", "config.json", "hidden_act", x) for x in ("nope", 3, None, [])),
)
"""Settings that must be refused: to ignore one gives other vectors than the folder asks for."""


def attempts(setup: Setup) -> Iterator[Attempt]:
    """Fields, whole files, weights, tokenizers and lists of modules."""
    yield from _fields(setup)
    broken = ("bert", "dense", "ngrams", "cross-bert", "poly", "fusion", "shards", "plain", "gpt2")
    for folder in broken[: 2 if setup.quick else None]:
        for file in _files(setup.models / folder):
            for how in FILES:
                yield _attempt(setup, folder, f"{file}/{how}", partial(_break, file, how))
    for folder in ("bert", "ngrams", "cross-bert", "plain", "gpt2")[: 2 if setup.quick else None]:
        for how in WEIGHTS:
            yield _attempt(setup, folder, f"weights/{how}", WEIGHTS[how])
    for how, do in (INDEXES | FOLDERS | TOKENIZERS).items():
        yield _attempt(setup, "shards" if how in INDEXES else "bert", f"odd/{how}", do)
    for folder, file, field, value in JUNK:
        work = partial(_refused, setup, folder, partial(_put, file, (field,), value))
        yield Attempt(
            f"configs/{folder}/must-refuse/{field}={json.dumps(value) if value is not _Missing else 'missing'}", work
        )
    for folder, file in (
        ("bert", "1_Pooling/config.json"),
        ("dense", "3_Dense/config.json"),
        ("dense", "3_Dense/model.safetensors"),
    ):
        yield Attempt(
            f"configs/{folder}/must-refuse/no-{file}", partial(_refused, setup, folder, partial(_remove, file))
        )


def _fields(setup: Setup) -> Iterator[Attempt]:
    """A sample of fields × values, drawn for each file of each folder."""
    most = 4 if setup.quick else FIELDS_OF_ONE_FILE
    seen: set[str] = set()
    for folder in names():
        for file in _files(setup.models / folder):
            if not file.endswith(".json") or (file != "config.json" and _same(setup, folder, file, seen)):
                continue
            value = json.loads((setup.models / folder / file).read_text("utf-8"))
            places = [
                *_places(value),
                *((key,) for key in MORE.get(file, {}) if isinstance(value, dict) and key not in value),
            ]
            drawn = [(place, how) for place in places for how in VALUES]
            random.Random(f"{setup.seed} {folder} {file}").shuffle(drawn)
            for place, how in sorted(drawn[:most], key=str):
                name = f"{file}/{'.'.join(map(str, place))}={how}"
                yield _attempt(setup, folder, name, partial(_put, file, place, VALUES[how]))


def _same(setup: Setup, folder: str, file: str, seen: set[str]) -> bool:
    """Whether another folder has this very file."""
    key = f"{file} {(setup.models / folder / file).read_text('utf-8')}"
    return key in seen or bool(seen.add(key))


def _places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to each field, three levels down."""
    if not isinstance(value, dict | list) or len(before) == 3 or (len(value) > ENTRIES and before):
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*before, key)
        yield from _places(inner, (*before, key))


def _files(folder: Path) -> list[str]:
    kinds = (".json", ".safetensors")
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in kinds)


def _attempt(setup: Setup, folder: str, what: str, change: Callable[[Path], None]) -> Attempt:
    return Attempt(
        f"configs/{folder}/{what}", partial(_try, setup, folder, change), outputs=("model", "model/*", "again*")
    )


def _copy(setup: Setup, name: str, change: Callable[[Path], None]) -> Path:
    folder = Path("model").absolute()
    shutil.copytree(setup.models / name, folder)
    change(folder)
    return folder


def _refused(setup: Setup, name: str, change: Callable[[Path], None]) -> str:
    folder = _copy(setup, name, change)
    try:
        made = loader(name)(folder)
    except BadModel:
        _remove_tree(folder)
        return "refused"
    raise Failed("wrong answer", f"{made!r:.200} was loaded")


def _try(setup: Setup, name: str, change: Callable[[Path], None]) -> str:
    warnings.simplefilter("ignore")
    folder = _copy(setup, name, change)
    if name in FOR_NUMPY:
        _loaded(name, folder, "numpy")
    outcome = _loaded(name, folder, "torch")
    _remove_tree(folder)
    return outcome


def _loaded(name: str, folder: Path, engine: str) -> str:
    """Loads, encodes, saves and loads again."""
    try:
        made = loader(name, engine)(folder)
    except BadModel:
        return "refused"
    try:
        found = _vectors(made)
    except LikewiseError:
        return "refused"
    if engine == "torch":
        _saved(name, made, found)
    return "answered"


def _vectors(made: Any) -> np.ndarray:
    if hasattr(made, "encode"):
        found = np.asarray(made.encode(TEXTS))
        expect(len(found) == len(TEXTS), "lost rows", f"{found.shape} for {len(TEXTS)} texts")
    else:
        found = np.asarray(made.probabilities([(a, b) for a in TEXTS for b in TEXTS[:2]]))
    expect(np.isfinite(found).all(), "wrong answer", "numbers that are not finite")
    return found


def _saved(name: str, made: Any, found: np.ndarray) -> None:
    try:
        made.save("again")
    except LikewiseError:
        return
    try:
        again = _vectors(loader(name)(Path("again").absolute()))
    except LikewiseError as error:
        raise Failed("neither model", f"what was saved does not load: {error}") from None
    same = again.shape == found.shape and np.allclose(again, found, atol=1e-5)
    expect(same, "wrong answer", "saved and loaded again, the model gives other vectors")


def _remove_tree(folder: Path) -> None:
    for path in [folder, *(p for p in folder.rglob("*") if p.is_dir() and not p.is_symlink())]:
        path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


# changes of a field


def _put(file: str, place: tuple[Any, ...], value: Any, folder: Path) -> None:
    whole = json.loads((folder / file).read_text("utf-8"))
    inner = whole
    for key in place[:-1]:
        inner = inner[key]
    if value is not _Missing:
        inner[place[-1]] = copy.deepcopy(value)
    else:
        inner.pop(place[-1], None) if isinstance(inner, dict) else inner.pop(place[-1])
    (folder / file).write_text(json.dumps(whole), "utf-8")


# changes of a whole file


def _break(file: str, how: str, folder: Path) -> None:
    path = folder / file
    data = path.read_bytes()
    path.unlink()
    FILES[how](path, data)


def _remove(file: str, folder: Path) -> None:
    (folder / file).unlink()


def _unreadable(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    path.chmod(0)


def _sparse(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    os.truncate(path, 1 << 30 if path.suffix == ".safetensors" else 20 << 30)  # weights are mapped into memory


def _loop(path: Path, _: bytes) -> None:
    path.symlink_to(path.name)


def _self(path: Path, _: bytes) -> None:
    path.mkdir()
    (path / "inner").symlink_to("..")


FILES: Mapping[str, Callable[[Path, bytes], Any]] = {
    "missing": lambda path, _: None,
    "empty": lambda path, _: path.write_bytes(b""),
    "half": lambda path, data: path.write_bytes(data[: len(data) // 2]),
    "short": lambda path, data: path.write_bytes(data[:-1]),
    "twice": lambda path, data: path.write_bytes(data + data),
    "zeros": lambda path, data: path.write_bytes(bytes(len(data))),
    "noise": lambda path, data: path.write_bytes(random.Random(7).randbytes(len(data))),
    "latin-1": lambda path, data: path.write_bytes(data.replace(b"a", "ä".encode("latin-1"))),
    "utf-16": lambda path, data: path.write_bytes(data.decode("latin-1").encode("utf-16")),
    "bom": lambda path, data: path.write_bytes(b"\xef\xbb\xbf" + data),
    "deep": lambda path, _: path.write_bytes(b"[" * 200_000),
    "deep-objects": lambda path, _: path.write_bytes(b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "digits": lambda path, _: path.write_bytes(b'{"max_seq_length": ' + b"9" * 1_000_000 + b"}"),
    "list": lambda path, _: path.write_bytes(b"[1, 2]"),
    "text": lambda path, _: path.write_bytes(b'"text"'),
    "number": lambda path, _: path.write_bytes(b"3"),
    "null": lambda path, _: path.write_bytes(b"null"),
    "nan": lambda path, _: path.write_bytes(b"NaN"),
    "object": lambda path, _: path.write_bytes(b"{}"),
    "lists": lambda path, _: path.write_bytes(b"[[], {}, null]"),
    "pipe": lambda path, _: os.mkfifo(path),
    "folder": lambda path, _: path.mkdir(),
    "folder-with-link": _self,
    "link-loop": _loop,
    "broken-link": lambda path, _: path.symlink_to("nowhere"),
    "zero-device": lambda path, _: path.symlink_to("/dev/zero"),
    "null-device": lambda path, _: path.symlink_to("/dev/null"),
    "memory": lambda path, _: path.symlink_to("/proc/self/mem"),
    "unreadable": _unreadable,
    "sparse": _sparse,
}


# changes of the weights


def _weights(folder: Path) -> Path:
    return folder / "model.safetensors"


def _data(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _tensors(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        from safetensors.torch import load_file, save_file

        new = change(load_file(_weights(folder)))
        save_file({name: tensor.contiguous() for name, tensor in new.items()}, _weights(folder))

    return do


def _largest(tensors: dict[str, Any]) -> str:
    return max(tensors, key=lambda name: tensors[name].numel())


def _header(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        data = _weights(folder).read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8 : 8 + size])
        new = json.dumps(change(header) or header).encode()
        _weights(folder).write_bytes(struct.pack("<Q", len(new)) + new + data[8 + size :])

    return do


def _every(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(header: dict[str, Any]) -> None:
        for name, about in header.items():
            if name != "__metadata__":
                about[key] = value

    return change


def _pickle(folder: Path) -> None:
    import torch

    torch.save({"a": torch.ones(2)}, _weights(folder))


def _only_pickle(folder: Path) -> None:
    import torch

    _weights(folder).unlink()
    torch.save({"a": torch.ones(2)}, folder / "pytorch_model.bin")


def _one(change: Callable[[Any], Any]) -> Callable[[Path], None]:
    return _tensors(lambda tensors: {**tensors, _largest(tensors): change(tensors[_largest(tensors)])})


WEIGHTS: Mapping[str, Callable[[Path], Any]] = {
    "pickle": _pickle,
    "only-pickle": _only_pickle,
    "plain-pickle": lambda folder: _data(_weights(folder), pickle.dumps({"a": [1.0]})),
    "long-header": lambda folder: _data(_weights(folder), struct.pack("<Q", 2**63) + b"{}"),
    "long-header-in-bounds": lambda folder: _data(_weights(folder), struct.pack("<Q", 10**8) + b"{}"),
    "empty-header": lambda folder: _data(_weights(folder), struct.pack("<Q", 0)),
    "no-tensors": lambda folder: _data(_weights(folder), struct.pack("<Q", 2) + b"{}"),
    "header-list": lambda folder: _data(_weights(folder), struct.pack("<Q", 2) + b"[]"),
    "header-latin-1": lambda folder: _data(_weights(folder), struct.pack("<Q", 3) + b"{\xe4}"),
    "offsets-equal": _header(_every("data_offsets", [0, 0])),
    "offsets-negative": _header(_every("data_offsets", [-8, 8])),
    "offsets-far": _header(_every("data_offsets", [10**18, 10**18 + 8])),
    "shape-huge": _header(_every("shape", [10**9, 10**9])),
    "shape-negative": _header(_every("shape", [-1, 4])),
    "shape-empty": _header(_every("shape", [])),
    "type-unknown": _header(_every("dtype", "Q4")),
    "type-other": _header(_every("dtype", "I32")),
    "type-bool": _header(_every("dtype", "BOOL")),
    "nan": _one(lambda tensor: tensor * float("nan")),
    "infinite": _one(lambda tensor: tensor + float("inf")),
    "large": _one(lambda tensor: tensor * 1e30),
    "transposed": _one(lambda tensor: tensor.T),
    "flat": _one(lambda tensor: tensor.flatten()),
    "half": _tensors(lambda tensors: {name: tensor.half() for name, tensor in tensors.items()}),
    "double": _tensors(lambda tensors: {name: tensor.double() for name, tensor in tensors.items()}),
    "integers": _tensors(lambda tensors: {name: tensor.int() for name, tensor in tensors.items()}),
    "int8": _tensors(lambda tensors: {name: tensor.char() for name, tensor in tensors.items()}),
    "complex": _tensors(lambda tensors: {name: tensor.cfloat() for name, tensor in tensors.items()}),
    "one-missing": _tensors(lambda tensors: {k: v for k, v in tensors.items() if k != _largest(tensors)}),
    "one-more": _tensors(lambda tensors: {**tensors, "more": next(iter(tensors.values())) + 1}),
    "renamed": _tensors(lambda tensors: {f"x.{name}": tensor for name, tensor in tensors.items()}),
    "cut": _one(lambda tensor: tensor[:3]),
}


def _index(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        path = folder / "model.safetensors.index.json"
        index = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps(change(index) or index), "utf-8")

    return do


def _all_in(place: Any) -> Callable[[Path], None]:
    return _index(lambda index: {"weight_map": dict.fromkeys(index["weight_map"], place)})


def _both(folder: Path) -> None:
    shutil.copy(folder / "model-00001-of-00002.safetensors", folder / "model.safetensors")


INDEXES: Mapping[str, Callable[[Path], Any]] = {
    "index-names-bin": _all_in("pytorch_model.bin"),
    "index-names-nothing": _all_in("nowhere.safetensors"),
    "index-names-above": _all_in("../../model.safetensors"),
    "index-names-absolute": _all_in("/etc/passwd"),
    "index-names-device": _all_in("/dev/zero"),
    "index-names-itself": _all_in("model.safetensors.index.json"),
    "index-names-empty": _all_in(""),
    "index-names-nul": _all_in("a\0b.safetensors"),
    "index-names-long": _all_in("x" * 5000),
    "index-names-number": _all_in(3),
    "index-names-null": _all_in(None),
    "index-names-list": _all_in(["a"]),
    "index-names-first": _all_in("model-00001-of-00002.safetensors"),
    "index-map-list": _index(lambda _: {"weight_map": ["a"]}),
    "index-map-empty": _index(lambda _: {"weight_map": {}}),
    "index-map-missing": _index(lambda _: {"metadata": {}}),
    "index-list": _index(lambda _: [1]),
    "index-half": _index(lambda index: {"weight_map": dict(list(index["weight_map"].items())[::2])}),
    "index-more": _index(
        lambda index: {"weight_map": {**index["weight_map"], "more": "model-00001-of-00002.safetensors"}}
    ),
    "index-and-whole": _both,
}


# changes of the whole folder, and of the tokenizer


def _modules(change: Callable[[list[Any]], Any]) -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        path = folder / "modules.json"
        modules = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps(change(modules)), "utf-8")

    return do


def _row(**changes: Any) -> Callable[[Path], None]:
    return _modules(lambda modules: [modules[0], {**modules[1], **changes}, *modules[2:]])


FOLDERS: Mapping[str, Callable[[Path], Any]] = {
    "modules-100000": _modules(lambda modules: modules + [modules[-1]] * 100_000),
    "modules-none": _modules(lambda _: []),
    "modules-first": _modules(lambda modules: modules[:1]),
    "modules-reversed": _modules(lambda modules: modules[::-1]),
    "modules-twice": _modules(lambda modules: modules * 2),
    "modules-two-encoders": _modules(lambda modules: [modules[0], *modules]),
    "modules-two-poolings": _modules(lambda modules: [*modules[:2], *modules[1:]]),
    "module-above": _row(path="../../../../etc"),
    "module-absolute": _row(path="/etc"),
    "module-missing": _row(path="9_Nowhere"),
    "module-here": _row(path=""),
    "module-device": _row(path="/dev/zero"),
    "module-nul": _row(path="a\0b"),
    "module-long": _row(path="x" * 300),
    "module-code": _row(type="os.system"),
    "module-unknown": _row(type="sentence_transformers.models.CNN"),
    "module-number": _row(type=3),
    "no-files": lambda folder: [_remove_tree(folder), folder.mkdir()],
    "a-file": lambda folder: [_remove_tree(folder), folder.write_bytes(b"x")],
    "a-pipe": lambda folder: [_remove_tree(folder), os.mkfifo(folder)],
    "a-link-loop": lambda folder: [_remove_tree(folder), folder.symlink_to("model")],
    "unreadable": lambda folder: folder.chmod(0),
    "unlistable": lambda folder: folder.chmod(0o100),
    "code-beside": lambda folder: (folder / "modeling.py").write_text("raise SystemExit(3)"),
}


def _tokenizer(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        path = folder / "tokenizer.json"
        whole = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps(change(whole) or whole), "utf-8")

    return do


def _replaces(times: int) -> list[dict[str, Any]]:
    return [{"type": "Replace", "pattern": {"String": "x"}, "content": "x" * 10}] * times


def _normalised(rule: Any) -> Callable[[Path], None]:
    return _tokenizer(lambda whole: {**whole, "normalizer": rule})


def _split(regex: str) -> Callable[[Path], None]:
    rule = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    return _tokenizer(lambda whole: {**whole, "pre_tokenizer": rule})


def _added(**about: Any) -> Callable[[Path], None]:
    token = {
        "id": 0,
        "content": "x",
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": False,
    }
    return _tokenizer(lambda whole: {**whole, "added_tokens": [*whole["added_tokens"], {**token, **about}]})


def _vocabulary(change: Callable[[dict[str, int]], dict[str, int]]) -> Callable[[Path], None]:
    return _tokenizer(lambda whole: {**whole, "model": {**whole["model"], "vocab": change(whole["model"]["vocab"])}})


TOKENIZERS: Mapping[str, Callable[[Path], Any]] = {
    "tokenizer-grows": _normalised({"type": "Sequence", "normalizers": _replaces(9)}),
    "tokenizer-grows-at-once": _normalised({"type": "Replace", "pattern": {"String": "x"}, "content": "x" * 30_000_000}),
    "tokenizer-prepends": _normalised({"type": "Prepend", "prepend": "x " * 10_000_000}),
    "tokenizer-regex": _split("(x+x+)+y"),
    "tokenizer-regex-nested": _split("(a|a?)+$"),
    "tokenizer-regex-broken": _split("(["),
    "tokenizer-regex-empty": _split(""),
    "tokenizer-regex-look": _split("(?<=(x*))x"),
    "tokenizer-regex-normal": _normalised({"type": "Replace", "pattern": {"Regex": "(x+x+)+y"}, "content": "z"}),
    "tokenizer-precompiled": _normalised({"type": "Precompiled", "precompiled_charsmap": "AAAAAAAA"}),
    "tokenizer-no-unknown": _vocabulary(lambda vocab: {k: v for k, v in vocab.items() if k != "[UNK]"}),
    "tokenizer-ids-high": _vocabulary(lambda vocab: {k: v + 10**6 for k, v in vocab.items()}),
    "tokenizer-ids-equal": _vocabulary(lambda vocab: dict.fromkeys(vocab, 1)),
    "tokenizer-ids-negative": _vocabulary(lambda vocab: {k: -v for k, v in vocab.items()}),
    "tokenizer-no-words": _vocabulary(lambda _: {}),
    "tokenizer-million-words": _vocabulary(lambda vocab: vocab | {f"w{i}": 999 + i for i in range(1_000_000)}),
    "tokenizer-added-high": _added(id=10**9),
    "tokenizer-added-same": _added(id=4, content="[CLS]"),
    "tokenizer-added-empty": _added(content=""),
    "tokenizer-added-long": _added(id=150, content="x" * 1_000_000),
    "tokenizer-truncates": _tokenizer(
        lambda whole: {**whole, "truncation": {"direction": "Left", "max_length": 3, "strategy": "LongestFirst", "stride": 0}}
    ),
    "tokenizer-stride": _tokenizer(
        lambda whole: {**whole, "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 9}}
    ),
    "tokenizer-pads": _tokenizer(
        lambda whole: {
            **whole,
            "padding": {"strategy": {"Fixed": 10**7}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
                        "pad_type_id": 0, "pad_token": "[PAD]"},
        }
    ),
    "tokenizer-template": _tokenizer(lambda whole: {**whole, "post_processor": None}),
    "tokenizer-template-many": _tokenizer(
        lambda whole: {
            **whole,
            "post_processor": {**whole["post_processor"], "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}] * 1000},
        }
    ),
    "tokenizer-template-ids": _tokenizer(
        lambda whole: {
            **whole,
            "post_processor": {
                **whole["post_processor"],
                "special_tokens": {n: {"id": n, "ids": [10**6], "tokens": [n]} for n in ("[CLS]", "[SEP]")},
            },
        }
    ),
    "tokenizer-slow-only": lambda folder: [(folder / "tokenizer.json").unlink(), (folder / "vocab.txt").write_text("[PAD]\n[UNK]\na\n")],
}  # fmt: skip
