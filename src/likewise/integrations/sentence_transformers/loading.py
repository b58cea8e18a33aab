"""Loads an embedder or reranker of this library from the constructor options of sentence-transformers."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ...errors import BadInput, ModelNotFound
from ...model_files.hub import snapshot
from ...model_files.names import DOWNLOAD_PATTERNS, IGNORED_PATTERNS, local_models, short_name
from ...runtime.home_folder import expanded

Model = TypeVar("Model")
DTYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
"""Maps torch dtype names to the precisions of `load`."""
UNUSED = {
    "model_kwargs": {"attn_implementation", "use_safetensors", "low_cpu_mem_usage"},
    "processor_kwargs": {"use_fast", "clean_up_tokenization_spaces"},
}
"""Settings that have no effect: the engine chooses the attention, weights are safetensors, tokenizers are fast."""
ORGANIZATIONS = {"SentenceTransformer": "sentence-transformers", "CrossEncoder": "cross-encoder"}
"""The hub organization assumed for names without one."""
UNSERVED = {
    "modules": "Embedder.load(folder, pooling='mean') loads an encoder folder with the pooling mode that you choose",
    "trust_remote_code": "code in a model folder never runs; engine='torch' supports many more model families",
    "config_kwargs": "edit the model's config.json",
    "backend": "SentenceTransformer(Embedder.load(name, engine='native', precision='int8')) chooses an engine",
    "device_map": "a model runs on one device; select it with device='cuda:1'",
    "load_in_8bit": "likewise model quantize writes an int8 model for the native engine",
    "quantization_config": "likewise model quantize writes an int8 model for the native engine",
    "num_labels": "likewise.Reranker.start(model, labels) creates an untrained reranker",
    "device": "each call runs on one device; load one model per device",
    "processing_kwargs": "set model.max_seq_length",
    "safe_serialization": "model.safetensors is always written",
    "keep_in_fp32_modules": "",
    "chat_template": "",
}
"""Maps each option of sentence-transformers that is rejected if set to what to do instead."""


def refuse(what: str, name: str, value: Any, way: str | None = None) -> BadInput:
    """The error for an unsupported option; it says what to do instead, by default as in `UNSERVED`."""
    way = UNSERVED[name] if way is None else way
    return BadInput(f"{what} does not take {name}={value!r:.80}" + f"; {way}" * bool(way))


def refuse_argument(what: str, name: str, value: Any, way: str) -> None:
    """Raise the error for an argument that is set but not supported."""
    if value:
        raise refuse(what, name, value, way)


def refused_classes(module: str, ways: Mapping[str, str]) -> Callable[[str], type]:
    """A module's `__getattr__` for unsupported classes, which can be imported but raise BadInput when constructed."""

    def attribute(name: str) -> type:
        if name not in ways:
            raise AttributeError(f"{module} has no {name!r}")

        def refuse_construction(self: object, *arguments: Any, **options: Any) -> None:  # noqa: ARG001
            raise BadInput(f"{name} is not supported: {ways[name]}")

        return type(name, (), {"__init__": refuse_construction})

    return attribute


def check_constructor(what: str, given: Mapping[str, Any]) -> None:
    """Reject unsupported options, unless their values have no effect."""
    for name, value in given.items():
        if name in UNSERVED and name != "device" and value and not (name == "backend" and value == "torch"):
            raise refuse(what, name, value)


def load_options(what: str, model_kwargs: Mapping[str, Any] | None, processor_kwargs: Mapping[str, Any] | None) -> Any:
    """Extract `precision` and `max_seq_length` for `load` from settings meant for transformers."""
    model, processor = dict(model_kwargs or {}), dict(processor_kwargs or {})
    dtypes = [model.pop(name) for name in ("torch_dtype", "dtype") if model.get(name) is not None]
    length = processor.pop("model_max_length", None)
    for given, kind in ((model, "model_kwargs"), (processor, "processor_kwargs")):
        check_constructor(what, given)
        unknown = sorted(name for name, value in given.items() if name not in UNUSED[kind] and value is not None)
        if unknown:
            raise BadInput(f"{what} does not take {unknown[0]!r} in {kind}; this setting exists only in transformers")
    return {"precision": _precision(what, dtypes[0]) if dtypes else "fp32", "max_seq_length": length}


def load_model(
    what: str,
    load: Callable[..., Model],
    given: Mapping[str, Any],
    options: Mapping[str, Any],
    device: Any,
    **more: Any,
) -> Model:
    """Load a model by name or folder, following the constructor's hub options; `more` is passed to `load`."""
    name = given["model_name_or_path"]
    if name is None:
        raise BadInput(f"{what} needs the name or folder of a model; {UNSERVED['modules']}")
    return load(_folder(what, str(name), given), device=device, **{**options, **more})


def _folder(what: str, name: str, given: Mapping[str, Any]) -> str | Path:
    hub = {
        "revision": given["revision"],
        "cache_dir": given["cache_folder"] or os.environ.get("SENTENCE_TRANSFORMERS_HOME"),
        "token": given["token"] if given["token"] is not None else given.get("use_auth_token"),
    }
    options = {key: value for key, value in hub.items() if value is not None}
    known = expanded(name).is_dir() or local_models().get(short_name(name)) is not None
    if (known and "revision" not in options) or not (options or given["local_files_only"]):
        return name
    tried: list[str] = []
    repository = name if "/" in name else f"{ORGANIZATIONS[what]}/{name}"
    patterns = {"allow_patterns": DOWNLOAD_PATTERNS, "ignore_patterns": IGNORED_PATTERNS}
    folder = snapshot(repository, tried, asking=not given["local_files_only"], **patterns, **options)
    if folder is None:
        raise ModelNotFound(f"there is no model {name!r} with {options}. Tried:\n  · " + "\n  · ".join(tried))
    return folder


def _precision(what: str, dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise BadInput(f"{what} does not take the dtype {dtype!r}; expected one of {', '.join(DTYPES)}")
    return DTYPES[name]
