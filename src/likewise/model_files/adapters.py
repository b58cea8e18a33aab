"""LoRA adapters (Hu et al. 2021) in the PEFT format, merged with their base models into folders in the user's cache.

For some of the base model's weight matrices W, an adapter contains two low-rank matrices, A and B; the adapted model
uses W + scale · B A in place of W. Everything else comes from the base model, unless the adapter's folder overrides it.
"""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadModel, ModelNotFound
from ..runtime.untrusted_files import bad_setting, regular_file_exists, require_object
from ..runtime.weight_files import WeightReader, write_safetensors
from .cached import cached_folder, file_state_key
from .folder import read_manifest
from .saving import ADAPTER_SETTINGS, LENGTH_FILES, NAMES, files_of_model

WEIGHTS = "adapter_model.safetensors"
MODEL_FILES = {"modules.json", "config_sentence_transformers.json", *LENGTH_FILES}  # in sentence-transformers folders
LARGEST_ALPHA = 10**6
TOKENIZER_FILES = NAMES - MODEL_FILES - {"config.json", "likewise.json"}
OTHER_KINDS = """use_dora use_qalora use_bdlora lora_bias fan_in_fan_out modules_to_save layer_replication
    target_parameters trainable_token_indices alora_invocation_tokens"""
PLAIN: Mapping[str, tuple[Any, ...]] = {
    "bias": ("none",),
    "init_lora_weights": (True, False, "gaussian", "eva", "orthogonal"),  # other methods change the base weights
    **dict.fromkeys(OTHER_KINDS.split(), (False, [], {})),
}
"""The only values for which W + scale · B A describes the adapter fully; null counts as not given."""
Array = np.ndarray
Delta = tuple[float, Array, Array]  # scale, A and B


def merged_folder(folder: Path, find: Callable[[str], Path]) -> Path:
    """Merge an adapter with its base model and return the cache folder; `find` locates a base model by name."""
    settings = _settings(folder)
    base = _base(folder, settings["base_model_name_or_path"], find)
    if not regular_file_exists(folder / WEIGHTS):
        raise BadModel(f"{folder} contains no {WEIGHTS}, the only supported format of adapter weights")
    files = [*files_of_model(base), *files_of_model(folder), folder / ADAPTER_SETTINGS, folder / WEIGHTS]
    name = re.sub(r"[^\w.-]+", "-", folder.resolve().name)[:40]
    key = " ".join(file_state_key(path) for path in files)
    return cached_folder(f"{name}-merged", key, lambda partial: _merge(partial, folder, base, settings))


def _settings(folder: Path) -> dict[str, Any]:
    """Read an adapter's settings and check that they describe plain LoRA."""
    path = folder / ADAPTER_SETTINGS
    settings = require_object(path, "an adapter needs it")
    if settings.get("peft_type") != "LORA":
        raise bad_setting(path, "peft_type", settings.get("peft_type"), "LORA, the only supported kind of adapter")
    for key, plain in PLAIN.items():
        if settings.get(key) is not None and settings[key] not in plain:
            raise bad_setting(path, key, settings[key], "plain LoRA without this option")
    patterns = settings.setdefault("alpha_pattern", {}) or {}
    if not isinstance(patterns, dict) or not all(re.fullmatch(r"[\w.]+", key) for key in patterns):
        raise bad_setting(path, "alpha_pattern", patterns, "an object that maps module names to numbers")
    for key, value in {"lora_alpha": settings.setdefault("lora_alpha", 8), **patterns}.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < LARGEST_ALPHA:
            raise bad_setting(path, key, value, f"a number above 0 and below {LARGEST_ALPHA:,}")
    if not isinstance(name := settings.get("base_model_name_or_path"), str) or not name.strip("./\\ "):
        raise bad_setting(path, "base_model_name_or_path", name, "the name of the base model")
    return {**settings, "alpha_pattern": patterns}


def _base(folder: Path, name: str, find: Callable[[str], Path]) -> Path:
    """The folder of the base model, found next to the adapter or by its name."""
    short = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    beside = folder.resolve().parent / short
    if regular_file_exists(beside / "config.json") and not regular_file_exists(beside / ADAPTER_SETTINGS):
        return _checked_base(folder, beside)
    for sought in (name, short):
        with suppress(ModelNotFound):
            return _checked_base(folder, find(sought))
    raise BadModel(
        f"{folder} is an adapter for the model {name!r}, which was not found: copy the model to {beside}, or into the "
        "folder that LIKEWISE_MODELS names"
    )


def _checked_base(folder: Path, base: Path) -> Path:
    manifest = read_manifest(base)
    if manifest.routes or manifest.static or manifest.encoder != base:
        raise BadModel(
            f"{folder} is an adapter for {base}, which is a router or a static model, or keeps its encoder in a "
            "sub-folder; expected a transformer encoder at the top level of the folder"
        )
    return base


def _merge(target: Path, folder: Path, base: Path, settings: Mapping[str, Any]) -> None:
    _copy_files(target, folder, base)
    with ExitStack() as stack:
        adapter = WeightReader(folder, stack, "numpy", [folder / WEIGHTS])
        weights = WeightReader(base, stack, "numpy")
        if any(kind.type == "I8" for kind in weights.kinds.values()):
            raise BadModel(
                f"{folder} is an adapter for {base}, whose weights are quantized to int8; expected the fp32 model"
            )
        deltas = dict(_deltas(adapter, weights, settings))
        merged = {name: _merged(weights, name, deltas) for name in weights.names}
        write_safetensors(target / "model.safetensors", merged)


def _copy_files(target: Path, folder: Path, base: Path) -> None:
    """Copy all of the base model's files except weights, overridden by those in the adapter's folder.

    If the adapter's folder has its own modules or tokenizer, the base model's modules or tokenizer are not used at all.
    """
    own = set().union(
        MODEL_FILES if regular_file_exists(folder / "modules.json") else (),
        TOKENIZER_FILES if regular_file_exists(folder / "tokenizer.json") else (),
    )
    of_base = [path.relative_to(base) for path in files_of_model(base)]
    kept = [path for path in of_base if str(path) not in own and not ("modules.json" in own and path.parent != Path())]
    of_adapter = [path.relative_to(folder) for path in files_of_model(folder)]
    card = [Path("README.md")] if regular_file_exists(folder / "README.md") else []
    for source, paths in ((base, kept), (folder, [*of_adapter, *card])):
        for path in paths:
            if not (path.parent == Path() and path.name.startswith("model")):  # merged weights are written separately
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source / path, target / path)


def _deltas(adapter: WeightReader, weights: WeightReader, settings: Mapping[str, Any]) -> Iterator[tuple[str, Delta]]:
    """Yield the name of each adapted weight matrix, as in the base model's file, and its update."""
    for name in adapter.names:
        match = re.fullmatch(r"(?:base_model\.model\.)?(.+)\.lora_([AB])\.weight", name)
        if match is None:
            raise BadModel(
                f"{adapter.folder} contains the tensor {name}; expected only LoRA tensors, lora_A and lora_B"
            )
        module, part = match.groups()
        found = _in_base(adapter, weights, module)
        if part == "A" and found is not None:
            a, b = _narrow(adapter, name, weights, found)
            yield found, (_scale(settings, module, rank=len(a)), a, b)


def _narrow(adapter: WeightReader, name: str, weights: WeightReader, found: str) -> tuple[Array, Array]:
    other = adapter.find(name.replace("lora_A.weight", "lora_B.weight"))
    a, b, shape = adapter.fp32(name), adapter.fp32(other), weights.kinds[found].shape
    if a.ndim != 2 or b.ndim != 2 or len(a) != b.shape[1] or (len(b), a.shape[1]) != shape:
        raise BadModel(
            f"{adapter.folder} is an adapter for a model other than {weights.folder}: {name} and the matching lora_B "
            f"have the shapes {a.shape} and {b.shape}, but the weight matrix that they adapt has the shape {shape}"
        )
    return a, b


def _in_base(adapter: WeightReader, weights: WeightReader, module: str) -> str | None:
    """The name of a module's weight matrix in the base model's file; only one of the names may have a prefix (`bert.`).

    None if the module is a pooler that the file lacks, because embeddings do not depend on the pooler.
    """
    name = f"{module}.weight"
    for found in weights.names:
        if name in (found, found.partition(".")[2]) or name.partition(".")[2] == found:
            return found
    if "pooler" in module.split("."):
        return None
    lacking = f"which lacks the tensor {module}.weight"
    raise BadModel(f"{adapter.folder} is an adapter for a model other than {weights.folder}, {lacking}")


def _scale(settings: Mapping[str, Any], module: str, rank: int) -> float:
    """lora_alpha / rank, or lora_alpha / √rank for rank-stabilized LoRA; alpha_pattern sets alpha for some modules."""
    ends = (alpha for key, alpha in settings["alpha_pattern"].items() if f".{module}".endswith(f".{key}"))
    return float(next(ends, settings["lora_alpha"]) / (rank**0.5 if settings.get("use_rslora") else rank))


def _merged(weights: WeightReader, name: str, deltas: Mapping[str, Delta]) -> tuple[str, np.ndarray]:
    """The safetensors dtype and values of a tensor of the merged model; fp32 if the adapter changes the tensor."""
    kind = weights.kinds[name].type
    if name not in deltas:
        return kind, weights.bfloat16(name) if kind == "BF16" else weights.tensor(name)
    scale, a, b = deltas[name]
    whole = weights.fp32(name) + np.float32(scale) * (b @ a)
    if not np.isfinite(whole.sum()):
        raise weights.not_finite(name)
    return "F32", whole
