"""The LoRA adapter, saved in PEFT's format beside the merged model; `Embedder.load` merges it again."""

import json
import re
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from ...encoders.families import FAMILIES, family_name, file_names
from ...model_files.saving import ADAPTER_SETTINGS, atomic_folder
from .checkpoint import Checkpoint
from .record import TrainingJob

WEIGHTS = "adapter_model.safetensors"
_LOW_RANK = re.compile(r"encoder\.(.+)\.parametrizations\.weight\.0\.([ab])")


def save_adapter(job: TrainingJob, last: Checkpoint | None, folder: Path) -> None:
    """Write the adapter from the run's last checkpoint; nothing is written if it would not describe the whole model.

    That is so if heads were trained too, or if the encoder's weights have no names in transformers.
    """
    family = FAMILIES.get(family_name(job.model.encoder.config))
    if not job.settings.lora_rank or last is None or family is None:
        return
    trained = _kept(last.folder)
    if not all(_LOW_RANK.fullmatch(name) for name in trained):
        return
    tensors: dict[str, Tensor] = {}
    for name, tensor in trained.items():
        module, part = _LOW_RANK.fullmatch(name).groups()  # type: ignore[union-attr]
        theirs = [one.removesuffix(".weight") for one in file_names(f"{module}.weight", family.names)]
        parts = [tensor] * len(theirs) if part == "a" else tensor.chunk(len(theirs))  # a fused matrix shares its A
        for target, one in zip(theirs, parts, strict=True):
            tensors[f"base_model.model.{target}.lora_{part.upper()}.weight"] = one.clone().contiguous()
    with atomic_folder(folder) as partial:
        save_file(tensors, partial / WEIGHTS, {"format": "pt"})
        (partial / ADAPTER_SETTINGS).write_text(json.dumps(_settings(job, tensors), indent=2), "utf-8")


def _kept(folder: Path) -> dict[str, Tensor]:
    """The weights that the finished model has: the best ones, or else the averages, or else the last ones."""
    files = (folder / f"{name}.safetensors" for name in ("best", "ema", "model"))
    return load_file(next(path for path in files if path.exists()))


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
