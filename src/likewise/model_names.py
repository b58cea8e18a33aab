"""The grammar of model names, and loading the model that a name stands for. One line per form:

    NAME                      a folder, one in LIKEWISE_MODELS, a bundled or packaged model, or one on the hub
    avg-glove                 the mean of GloVe word vectors, from a package
    avg-glove(PATH)           the same from a text file; avg-fasttext(PATH) also reads .bin files of fastText
    bert-avg(NAME)            NAME with mean pooling; bert-cls(NAME) with the first token
    random(NAME)              NAME with random weights; random(NAME):7 draws them with seed 7
    tf-idf                    TF-IDF weights of words, hashed to 4,096 dimensions; tf-idf:8192 hashes to more
    NAME(pooling=sbert-wk)    NAME with options, separated by commas: pooling, precision, max_seq_length,
                              truncate_dim, route

Forms nest: random(NAME(pooling=cls)). If a folder's name looks like a form, the name stands for the folder.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .baselines.tfidf import WIDTH, TfIdf
from .embedder import Embedder
from .errors import BadInput
from .runtime.home_folder import expanded
from .runtime.lazy_imports import require_torch

if TYPE_CHECKING:
    from .engines.torch.torch_embedder import TorchEmbedder

POOLED = {"bert-avg": "mean", "bert-cls": "cls"}
OPTIONS: dict[str, type] = {
    "pooling": str,
    "precision": str,
    "max_seq_length": int,
    "truncate_dim": int,
    "route": str,
}
BASELINES = {
    "avg-glove(PATH)": "the mean of the word vectors in a text file from GloVe, word2vec or fastText",
    "avg-fasttext(PATH)": "the same for a .vec or .bin file of fastText, with character n-grams for unknown words",
    "tf-idf": "words weighted by inverse document frequency; fitted only by `evaluate`",
    "bert-avg(NAME)": "any encoder with mean pooling",
    "bert-cls(NAME)": "any encoder with CLS pooling (the first token's vector)",
    "random(NAME)": "any architecture with random weights",
}  # forms for models without their own folder, and their descriptions
_WITH_OPTIONS = re.compile(rf"(?s)(.+)\(((?:{'|'.join(OPTIONS)})=[^()]*)\)")
_WRAPPED = re.compile(rf"(?s)(random|{'|'.join(POOLED)})\((.+)\)(?::(\d+))?")


def load_model(name: str | Path, **options: Any) -> Embedder | TfIdf:
    """The model of this name; `options` are those of `Embedder.load`, and must not contradict options in the name."""
    text = str(name)
    if text == "tf-idf" or text.startswith("tf-idf:"):
        return _tf_idf(text, options)
    return load_named_embedder(name, **options)


def load_named_embedder(name: str | Path, **options: Any) -> Embedder:
    """Like `load_model`, but for embedders only; tf-idf raises BadInput."""
    text = str(name)
    if expanded(text).is_dir():
        return Embedder.load(name, **options)
    if optional := _WITH_OPTIONS.fullmatch(text):
        merged = _merged(text, _options(text, optional[2]), options)
        route = merged.pop("route", None)
        model = load_named_embedder(optional[1], **merged)
        return model if route is None else model.part(route)
    if wrapped := _WRAPPED.fullmatch(text):
        return _wrapped(text, wrapped[1], wrapped[2], wrapped[3], options)
    if text.partition(":")[0] == "tf-idf":
        raise BadInput("tf-idf has to be fitted on the texts of a task: use `likewise evaluate`, or TfIdf in Python")
    return Embedder.load(name, **options)


def load_torch_embedder(name: str | Path, **options: Any) -> "TorchEmbedder":
    """Like `load_named_embedder`, but with the torch engine, for callers that read or change the parts of a model."""
    require_torch(str(name))
    from .engines.torch.torch_embedder import require_torch_engine

    return require_torch_engine(load_named_embedder(name, **{"engine": "torch", **options}), str(name))


def _wrapped(name: str, form: str, inner: str, seed: str | None, options: dict[str, Any]) -> Embedder:
    if form in POOLED:
        if seed is not None:
            raise BadInput(f"{name}: only random(NAME) takes a seed after it")
        return load_named_embedder(inner, **_merged(name, {"pooling": POOLED[form]}, options))
    require_torch(name)
    from .baselines.random_weights import random_weights

    return random_weights(load_torch_embedder(inner, **options), int(seed or 0))


def _options(name: str, text: str) -> dict[str, Any]:
    """`pooling=sbert-wk:start=2,window=3,truncate_dim=64` is two options, because only a known key starts an option."""
    options: dict[str, Any] = {}
    for part in re.split(rf",(?=(?:{'|'.join(OPTIONS)})=)", text):
        key, _, value = part.partition("=")
        if key in options:
            raise BadInput(f"{name} gives {key} twice")
        try:
            options[key] = OPTIONS[key](value)
        except ValueError:
            raise BadInput(f"{name} gives {key}={value}; expected a whole number") from None
    return options


def _merged(name: str, in_name: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    for key, value in in_name.items():
        if options.get(key) not in (None, value):
            raise BadInput(f"{name} sets {key}={value}, which contradicts the option {key}={options[key]}")
    return {**options, **in_name}


def _tf_idf(name: str, options: dict[str, Any]) -> TfIdf:
    unsupported = [key for key, value in options.items() if value is not None and key != "device"]
    if unsupported:
        raise BadInput(f"tf-idf has no option {unsupported[0]}; its only setting is the dimension: tf-idf:{WIDTH * 2}")
    dimension = name.partition(":")[2] or str(WIDTH)
    if not dimension.isdecimal():
        raise BadInput(f"{name} gives the dimension {dimension!r}; expected a whole number, as in tf-idf:{WIDTH * 2}")
    return TfIdf(int(dimension))
