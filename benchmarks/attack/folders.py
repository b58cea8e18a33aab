"""Ways to break a model folder as a whole, its list of modules, and its tokenizer."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any


def remove_tree(folder: Path) -> None:
    """Remove a folder, even if parts of it cannot be read or written."""
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
        return
    for path in [folder, *(p for p in folder.rglob("*") if p.is_dir() and not p.is_symlink())]:
        with suppress(OSError):
            path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


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
    "no-files": lambda folder: [remove_tree(folder), folder.mkdir()],
    "a-file": lambda folder: [remove_tree(folder), folder.write_bytes(b"x")],
    "a-pipe": lambda folder: [remove_tree(folder), os.mkfifo(folder)],
    "a-link-loop": lambda folder: [remove_tree(folder), folder.symlink_to("model")],
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
    "tokenizer-grows-at-once": _normalised(
        {"type": "Replace", "pattern": {"String": "x"}, "content": "x" * 30_000_000}
    ),
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
    "tokenizer-300k-words": _vocabulary(  # somewhat more than the largest vocabularies in use
        lambda vocab: vocab | {f"w{i}": 999 + i for i in range(300_000)}
    ),
    "tokenizer-added-high": _added(id=10**9),
    "tokenizer-added-same": _added(id=4, content="[CLS]"),
    "tokenizer-added-empty": _added(content=""),
    "tokenizer-added-long": _added(id=150, content="x" * 1_000_000),
    "tokenizer-truncates": _tokenizer(
        lambda whole: {
            **whole,
            "truncation": {"direction": "Left", "max_length": 3, "strategy": "LongestFirst", "stride": 0},
        }
    ),
    "tokenizer-stride": _tokenizer(
        lambda whole: {
            **whole,
            "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 9},
        }
    ),
    "tokenizer-pads": _tokenizer(
        lambda whole: {
            **whole,
            "padding": {
                "strategy": {"Fixed": 10**7},
                "direction": "Right",
                "pad_to_multiple_of": None,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": "[PAD]",
            },
        }
    ),
    "tokenizer-template": _tokenizer(lambda whole: {**whole, "post_processor": None}),
    "tokenizer-template-many": _tokenizer(
        lambda whole: {
            **whole,
            "post_processor": {
                **whole["post_processor"],
                "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}] * 1000,
            },
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
    "tokenizer-slow-only": lambda folder: [
        (folder / "tokenizer.json").unlink(),
        (folder / "vocab.txt").write_text("[PAD]\n[UNK]\na\n"),
    ],
}
