"""Checkpoints: everything that a run needs to go on as if it had not stopped, in safetensors and JSON.

A checkpoint is a folder that appears whole by one renaming; the one before it is deleted after. There is nothing to
unpickle in it.
"""

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from ..errors import BadInput
from ..store.files import fill, read_object

EXTRA = "extra-"
NAME = re.compile(r"step-(\d{8})")


@dataclass(frozen=True)
class Checkpoint:
    """Where a run stands. `state` is JSON: the step, the best so far, who the run is."""

    folder: Path
    state: Mapping[str, Any]

    @property
    def step(self) -> int:
        return int(self.state["step"])


def save(
    root: Path,
    modules: Mapping[str, nn.Module],
    optimizer: torch.optim.Optimizer,
    state: Mapping[str, Any],
    extra: Mapping[str, Mapping[str, Tensor]] | None = None,
) -> Checkpoint:
    """Writes a checkpoint, `extra` tensors by name among it, then deletes older ones."""
    folder = root / f"step-{state['step']:08d}"
    with fill(folder) as partial:
        for name, module in modules.items():
            save_file(_distinct(module.state_dict()), partial / f"{name}.safetensors")
        for name, tensors in (extra or {}).items():
            save_file(_distinct(tensors), partial / f"{EXTRA}{name}.safetensors")
        tensors, numbers = _optimizer_state(optimizer)
        save_file(tensors, partial / "optimizer.safetensors")
        save_file(_random(), partial / "random.safetensors")
        (partial / "state.json").write_text(json.dumps({**state, "optimizer": numbers}), "utf-8")
    for older in _all(root):
        if older != folder:
            shutil.rmtree(older, ignore_errors=True)
    return Checkpoint(folder, state)


def latest(root: Path) -> Checkpoint | None:
    """The newest whole checkpoint under this folder."""
    found = _all(root)
    return Checkpoint(found[-1], read_object(found[-1] / "state.json")) if found else None


def restore(
    checkpoint: Checkpoint, modules: Mapping[str, nn.Module], optimizer: torch.optim.Optimizer
) -> dict[str, dict[str, Tensor]]:
    """Puts weights, moments and random generators back; gives what was kept beside them, by name.

    Raises:
        BadInput: the checkpoint is of another model or another objective.
    """
    folder = checkpoint.folder
    for name, module in modules.items():
        _load(module, load_file(folder / f"{name}.safetensors"), folder)
    _restore_optimizer(optimizer, load_file(folder / "optimizer.safetensors"), checkpoint.state["optimizer"], folder)
    random = load_file(folder / "random.safetensors")
    torch.set_rng_state(random["cpu"])
    if "cuda" in random and torch.cuda.is_available():
        torch.cuda.set_rng_state(random["cuda"])
    return {p.stem.removeprefix(EXTRA): load_file(p) for p in sorted(folder.glob(f"{EXTRA}*.safetensors"))}


def _all(root: Path) -> list[Path]:
    return sorted(p for p in root.iterdir() if NAME.fullmatch(p.name)) if root.is_dir() else []


def _distinct(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Contiguous copies where tensors share memory, which safetensors refuses."""
    return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}


def _load(module: nn.Module, tensors: Mapping[str, Tensor], folder: Path) -> None:
    try:
        module.load_state_dict(dict(tensors))
    except RuntimeError as error:
        raise BadInput(f"{folder} is a checkpoint of another run: {str(error).splitlines()[-1].strip()}") from None


def _parameters(optimizer: torch.optim.Optimizer) -> Sequence[nn.Parameter]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _optimizer_state(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    """Tensors by "number of the parameter/name", and what is no tensor."""
    tensors: dict[str, Tensor] = {}
    numbers: list[dict[str, Any]] = []
    for i, parameter in enumerate(_parameters(optimizer)):
        held = optimizer.state.get(parameter, {})
        tensors |= {f"{i}/{k}": v.detach().cpu().contiguous() for k, v in held.items() if isinstance(v, Tensor)}
        numbers.append({k: v for k, v in held.items() if not isinstance(v, Tensor)})
    return tensors, numbers


def _restore_optimizer(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], numbers: Sequence[Mapping[str, Any]], folder: Path
) -> None:
    parameters = _parameters(optimizer)
    if len(numbers) != len(parameters):
        raise BadInput(f"{folder} is of a run with {len(numbers)} trained tensors; this one has {len(parameters)}")
    for i, parameter in enumerate(parameters):
        held = {k.split("/", 1)[1]: v for k, v in tensors.items() if k.split("/", 1)[0] == str(i)}
        if held or numbers[i]:
            moved = {k: v.to(parameter.device) if v.ndim else v for k, v in held.items()}
            optimizer.state[parameter] = {**moved, **numbers[i]}


def _random() -> dict[str, Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state()
    return states
