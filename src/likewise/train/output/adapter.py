"""The LoRA adapter, saved in the PEFT format next to the merged model; `Embedder.load` merges it when loading it."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from ...encoders.families import FAMILIES, family_name, file_names
from ...engines.torch.torch_embedder import TorchEmbedder
from ...errors import LikewiseError
from ...model_files.saving import ADAPTER_SETTINGS, atomic_folder, files_of_model
from .checkpoint import Checkpoint
from .record import TrainingJob

WEIGHTS = "adapter_model.safetensors"
_LOW_RANK = re.compile(r"encoder\.(.+)\.parametrizations\.weight\.0\.([ab])")


def save_adapter(job: TrainingJob, last: Checkpoint | None, folder: Path) -> bool:
    """Write the adapter of the run's last checkpoint into a folder inside the finished model's folder.

    If the adapter would not describe the whole model, nothing is written and the result is False. This is the case for
    a reranker, trained heads, an encoder whose weights have no names in transformers, and a base model that was changed
    in memory.
    """
    family = FAMILIES.get(family_name(job.model.encoder.config))
    if last is None or family is None or not isinstance(job.model, TorchEmbedder):
        return False
    updates = _updates(last.folder)
    if updates is None or not _is_base_updated(job, updates):
        return False
    tensors: dict[str, Tensor] = {}
    for module, parts in updates.items():
        theirs = [one.removesuffix(".weight") for one in file_names(f"{module}.weight", family.names)]
        for part, tensor in parts.items():  # the parts of a fused matrix share A
            pieces = [tensor] * len(theirs) if part == "A" else tensor.chunk(len(theirs))
            for target, one in zip(theirs, pieces, strict=True):
                tensors[f"base_model.model.{target}.lora_{part}.weight"] = one.clone().contiguous()
    with atomic_folder(folder) as partial:
        save_file(tensors, partial / WEIGHTS, {"format": "pt"})
        (partial / ADAPTER_SETTINGS).write_text(json.dumps(_settings(job, tensors), indent=2), "utf-8")
        _copy_all_but_the_encoder(folder.parent, partial)
    return True


def _updates(checkpoint: Path) -> dict[str, dict[str, Tensor]] | None:
    """A and B, keyed by the names of the encoder's modules; None if other weights were trained too.

    They come from the weights of the finished model: the best ones, else the moving averages, else the last ones.
    """
    files = (checkpoint / f"{name}.safetensors" for name in ("best", "ema", "model"))
    found: dict[str, dict[str, Tensor]] = {}
    for name, tensor in load_file(next(path for path in files if path.exists())).items():
        match = _LOW_RANK.fullmatch(name)
        if match is None:
            return None
        found.setdefault(match[1], {})[match[2].upper()] = tensor
    return found


def _is_base_updated(job: TrainingJob, updates: dict[str, dict[str, Tensor]]) -> bool:
    """Whether the finished encoder equals the encoder in the base model's folder plus these updates."""
    try:
        base = TorchEmbedder.load(job.backbone["name"], precision="fp32", device="cpu")
    except LikewiseError:  # the model was never in a folder, or is no longer there
        return False
    expected, found = base.encoder.state_dict(), job.model.encoder.state_dict()
    if {name: one.shape for name, one in expected.items()} != {name: one.shape for name, one in found.items()}:
        return False
    for module, parts in updates.items():
        expected[f"{module}.weight"] += job.settings.lora_alpha / job.settings.lora_rank * (parts["B"] @ parts["A"])
    return all(torch.allclose(one, found[name].cpu(), atol=1e-5) for name, one in expected.items())


def _copy_all_but_the_encoder(model: Path, adapter: Path) -> None:
    """Copy the tokenizer, pooling, heads, maximum length and prompts, which may differ from the base model's."""
    for path in files_of_model(model):
        name = path.relative_to(model)
        if name.parent != Path() or not (name.name.startswith("model") or name.name == "config.json"):
            (adapter / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(path, adapter / name)


def _settings(job: TrainingJob, tensors: dict[str, Tensor]) -> dict[str, Any]:
    targets = {re.sub(r"base_model\.model\.|\.lora_[AB]\.weight", "", name) for name in tensors}
    return {
        "peft_type": "LORA",
        "task_type": "FEATURE_EXTRACTION",
        "base_model_name_or_path": job.backbone["name"],
        "r": job.settings.lora_rank,
        "lora_alpha": job.settings.lora_alpha,
        "target_modules": sorted(targets),
        "bias": "none",
        "inference_mode": True,
    }
