"""Model folders with one fault: a mutated field of a JSON file, a broken or replaced file, or odd weights.

A folder must load or raise BadModel (or its subclass ModelNotFound). A loaded model must encode or raise one of
likewise's own errors; and after `save`, unless that raises, the saved model must load and compute the same vectors.
"""

import copy
import json
import random
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from likewise.errors import BadModel, LikewiseError

from .attempt import Attempt, Failed, Setup, expect
from .files import FILES, break_file, remove_file
from .folders import FOLDERS, TOKENIZERS, remove_tree
from .models import ENGINES, WITHOUT_TORCH, loader, names
from .weights import INDEXES, WEIGHTS

TEXTS = ["a cat sleeps", "", "the quick dog " * 30, "x" * 60, "query: y", "Ünïcode 漢字 ​"]
FIELDS_OF_ONE_FILE = 24  # number of mutations drawn for each file of each folder
WHOLE = (
    "bert",
    "ngrams",
    "cross-bert",
    "poly",
)  # in these folders, every file is broken in every way; in others, a third of the ways are tried
ENTRIES = 12  # a larger table (a vocabulary) is mutated as a whole


class _Missing:
    """Marks a field to be removed."""


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
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "position_embedding_type": "absolute",
        "quantization_config": {"bits": 8},
        "torch_dtype": "float32",
        "is_decoder": False,
        "auto_map": {"AutoModel": "x--y.Z"},
        "attention_window": [8, 8],
        "layer_types": ["full_attention"],
        "rope_theta": 1e4,
        "id2label": {"0": "a"},
    },
    "sentence_bert_config.json": {"model_args": {}, "tokenizer_args": {}},
    "1_Pooling/config.json": {"pooling_mode_cls_token": False, "include_prompt": True, "pooling_mode": "mean"},
    "config_sentence_transformers.json": {
        "prompts": {"query": "q: "},
        "default_prompt_name": "query",
        "similarity_fn_name": "cosine",
        "__version__": {"sentence_transformers": "5"},
        "model_type": "SentenceTransformer",
    },
}
"""Fields that a file may contain in addition to the fields in our files."""

JUNK: tuple[tuple[str, str, str, Any], ...] = (
    *(("bert", "sentence_bert_config.json", "max_seq_length", x) for x in ("128", -1, 0, 1.5, [], {}, True, 1e999)),
    *(("bert", "sentence_bert_config.json", "do_lower_case", x) for x in ("no", 2, [], {}, -1.5)),
    *(("bert", "1_Pooling/config.json", "pooling_mode_mean_tokens", x) for x in (_Missing, "yes", [], False)),
    *(("bert", "config.json", "num_attention_heads", x) for x in (0, -1, 5, "4", 4.5, None, [])),
    *(("bert", "config.json", "hidden_act", x) for x in ("nope", 3, None, [])),
)
"""Settings that must be refused, because ignoring them would give vectors other than the folder describes."""


def attempts(setup: Setup) -> Iterator[Attempt]:
    """Yield attempts with fields, whole files, weights, tokenizers and lists of modules."""
    yield from _fields(setup)
    broken = ("bert", "dense", "ngrams", "cross-bert", "poly", "fusion", "shards", "plain", "gpt2")
    for folder in _made(broken, setup):
        for i, file in enumerate(_files(setup.models / folder)):
            for how in list(FILES) if folder in WHOLE else list(FILES)[i % 3 :: 3]:
                yield _attempt(setup, folder, f"{file}/{how}", partial(break_file, file, how))
    for folder in _made(("bert", "ngrams", "cross-bert", "plain", "gpt2"), setup):
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
            f"configs/{folder}/must-refuse/no-{file}", partial(_refused, setup, folder, partial(remove_file, file))
        )


def _made(expected: Sequence[str], setup: Setup) -> list[str]:
    """Return the available folders (some need transformers), or two of them with --quick."""
    return [name for name in expected if name in names()][: 2 if setup.quick else None]


def _fields(setup: Setup) -> Iterator[Attempt]:
    """A random sample of fields × values for each file of each folder."""
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
    """Whether another folder has an identical file."""
    key = f"{file} {(setup.models / folder / file).read_text('utf-8')}"
    return key in seen or bool(seen.add(key))


def _places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths to all fields, down to three levels."""
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
        built = loader(name)(folder)
    except BadModel:
        remove_tree(folder)
        return "refused"
    raise Failed("wrong answer", f"{built!r:.200} was loaded")


def _try(setup: Setup, name: str, change: Callable[[Path], None]) -> str:
    warnings.simplefilter("ignore")
    folder = _copy(setup, name, change)
    if name in WITHOUT_TORCH:
        for engine in ENGINES:
            if engine != "torch":
                _loaded(name, folder, engine)
    outcome = _loaded(name, folder, "torch")
    remove_tree(folder)
    return outcome


def _loaded(name: str, folder: Path, engine: str) -> str:
    """Load, encode, save and load again."""
    try:
        built = loader(name, engine)(folder)
    except BadModel:
        return "refused"
    try:
        result = _vectors(built)
    except LikewiseError:
        return "refused"
    if engine == "torch":
        _saved(name, built, result)
    return "answered"


def _vectors(made: Any) -> np.ndarray:
    if hasattr(made, "encode"):
        result = np.asarray(made.encode(TEXTS))
        expect(len(result) == len(TEXTS), "lost rows", f"{result.shape} for {len(TEXTS)} texts")
    else:
        result = np.asarray(made.probabilities([(a, b) for a in TEXTS for b in TEXTS[:2]]))
    expect(np.isfinite(result).all(), "wrong answer", "the vectors contain NaN or infinity")
    return result


def _saved(name: str, made: Any, found: np.ndarray) -> None:
    try:
        made.save("again")
    except LikewiseError:
        return
    try:
        again = _vectors(loader(name)(Path("again").absolute()))
    except LikewiseError as error:
        raise Failed("neither model", f"the saved model does not load: {error}") from None
    same = again.shape == found.shape and np.allclose(again, found, atol=1e-5)
    expect(same, "wrong answer", "after saving and loading, the model computes different vectors")


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
