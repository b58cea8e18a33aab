"""Checkpoints: everything a run needs to continue as if it had not stopped, in safetensors and JSON.

A checkpoint is a folder that is renamed into place when complete; then the previous one is deleted. Nothing in it is
pickled. It stores no random generator states, because every step seeds the generators anew (`seeding`).
"""

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from ...errors import BadInput, BadModel
from ...model_files.saving import atomic_folder
from ...runtime.temporary_files import remove_abandoned
from ...runtime.untrusted_files import read_object

STATE = ("step", "seconds", "initial_scores", "best", "max_tokens_per_step", "run", "optimizer")  # keys of state.json
NAME = re.compile(r"step-(\d{8})")


@dataclass(frozen=True)
class Checkpoint:
    """A saved step. `state` holds JSON values: the step, the best score so far, the identity of the run and more."""

    folder: Path
    state: Mapping[str, Any]

    @property
    def step(self) -> int:
        return int(self.state["step"])


def save_checkpoint(
    root: Path, tensors: Mapping[str, Mapping[str, Tensor]], optimizer: torch.optim.Optimizer, state: Mapping[str, Any]
) -> None:
    """Write a checkpoint, each group of tensors in its own file, then delete older checkpoints."""
    folder = root / f"step-{state['step']:08d}"
    try:
        with atomic_folder(folder) as partial:
            for name, group in tensors.items():
                # copies, because safetensors rejects tensors that share memory
                copies = {key: tensor.detach().cpu().contiguous().clone() for key, tensor in group.items()}
                save_file(copies, partial / f"{name}.safetensors")
            moments, numbers = _optimizer_state(optimizer)
            save_file(moments, partial / "optimizer.safetensors")
            (partial / "state.json").write_text(json.dumps({**state, "optimizer": numbers}), "utf-8")
    except (OSError, SafetensorError, BadInput) as error:
        older = _all(root)
        kept = f"the checkpoint from step {int(older[-1].name[5:])} is kept" if older else "there is no older one"
        raise BadInput(
            f"the checkpoint for step {state['step']} cannot be written to {root}: {error}; {kept}. "
            "Free disk space and start the same run again"
        ) from None
    for older_one in _all(root):
        if older_one != folder:
            shutil.rmtree(older_one, ignore_errors=True)


def latest_checkpoint(root: Path) -> Checkpoint | None:
    """The newest complete checkpoint in this folder; incomplete ones left by killed processes are removed."""
    remove_abandoned(root, NAME.pattern)
    folders = _all(root)
    if not folders:
        return None
    try:
        state = read_object(folders[-1] / "state.json")
    except BadModel as error:
        raise _broken(folders[-1], str(error)) from None
    missing = [name for name in STATE if name not in state]
    if missing:
        raise _broken(folders[-1], f"its state.json has no {', '.join(missing)}")
    return Checkpoint(folders[-1], state)


def _broken(folder: Path, why: str) -> BadInput:
    return BadInput(f"{folder} is not a complete checkpoint: {why}. Delete it, or start over (resume=False, --fresh)")


def clear_checkpoints(root: Path) -> None:
    for folder in reversed(_all(root)):
        shutil.rmtree(folder)


def through_json(values: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(json.dumps(values))
    return result


def first_difference(ours: Any, theirs: Any, path: str = "") -> str:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in [*ours, *theirs]:
            place = f"{path}.{key}".strip(".")
            if key not in ours or key not in theirs:
                return f"{place} was {'not set and now is' if key in ours else 'set and now is not'}"
            if ours[key] != theirs[key]:
                return first_difference(ours[key], theirs[key], place)
    return f"{path} was {theirs!r} and is now {ours!r}"


@torch.no_grad()
def restore_checkpoint(
    checkpoint: Checkpoint, tensors: Mapping[str, Mapping[str, Tensor]], optimizer: torch.optim.Optimizer
) -> dict[str, dict[str, Tensor]]:
    """Load the tensors of every given group, and the optimizer's state; return the other groups."""
    folder = checkpoint.folder
    try:
        saved = {name: load_file(folder / f"{name}.safetensors") for name in (*tensors, "optimizer")}
        others = {p.stem: load_file(p) for p in sorted(folder.glob("*.safetensors")) if p.stem not in saved}
    except (OSError, SafetensorError) as error:
        raise _broken(folder, str(error)) from None
    numbers = checkpoint.state["optimizer"]
    _check_optimizer(optimizer, saved["optimizer"], numbers, folder)
    for name, group in tensors.items():
        _check_shapes(group, saved[name], folder)
    for name, group in tensors.items():
        for key, tensor in group.items():
            tensor.copy_(saved[name][key])
    _restore_optimizer(optimizer, saved["optimizer"], numbers)
    return others


def _all(root: Path) -> list[Path]:
    return sorted(p for p in root.iterdir() if NAME.fullmatch(p.name)) if root.is_dir() else []


def _check_shapes(into: Mapping[str, Tensor], tensors: Mapping[str, Tensor], folder: Path) -> None:
    for name in sorted({*into, *tensors}):
        there, here = (tuple(group[name].shape) if name in group else None for group in (tensors, into))
        if there != here:
            raise BadInput(
                f"{folder} is a checkpoint of another run: the shape of {name} was {there} and is now {here}"
            )


def _parameters(optimizer: torch.optim.Optimizer) -> Sequence[nn.Parameter]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _optimizer_state(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    """Tensors, keyed by "parameter number/name", and everything else."""
    tensors: dict[str, Tensor] = {}
    numbers: list[dict[str, Any]] = []
    for i, parameter in enumerate(_parameters(optimizer)):
        held = optimizer.state.get(parameter, {})
        tensors |= {f"{i}/{k}": v.detach().cpu().contiguous() for k, v in held.items() if isinstance(v, Tensor)}
        numbers.append({k: v for k, v in held.items() if not isinstance(v, Tensor)})
    return tensors, numbers


def _check_optimizer(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], numbers: Sequence[Mapping[str, Any]], folder: Path
) -> None:
    count = len(_parameters(optimizer))
    if len(numbers) != count:
        raise BadInput(f"{folder} belongs to a run with {len(numbers)} trained tensors; this one has {count}")
    known = {str(i) for i in range(count)}
    unknown = [name for name in tensors if name.partition("/")[0] not in known or not name.partition("/")[2]]
    if unknown:
        raise _broken(folder, f"its optimizer.safetensors has {unknown[0]!r}, which belongs to no trained tensor")


def _restore_optimizer(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], numbers: Sequence[Mapping[str, Any]]
) -> None:
    parameters = _parameters(optimizer)
    for i, parameter in enumerate(parameters):
        held = {k.split("/", 1)[1]: v for k, v in tensors.items() if k.split("/", 1)[0] == str(i)}
        if held or numbers[i]:
            fused = optimizer.defaults.get("fused")  # a fused optimizer keeps its step count on the parameters' device
            moved = {k: v.to(parameter.device) if v.ndim or fused else v for k, v in held.items()}
            optimizer.state[parameter] = {**moved, **numbers[i]}
