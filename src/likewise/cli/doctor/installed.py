"""The installation: versions, engines, extras, models, data sets, and a first text through the default model."""

import os
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ... import __version__
from ...errors import NativeUnavailable
from ...runtime.home_folder import expanded
from ...runtime.installation import EXTRAS, checkout, install_command, install_hint
from ...source_commit import source_commit

CORE = ("numpy", "tokenizers", "safetensors", "jaxtyping", "rich")
TEXT = "Does it work?"


def likewise() -> dict[str, Any]:
    """The version, its commit, and where it runs from."""
    source = checkout()
    return {
        "version": __version__,
        "commit": source_commit(),
        "folder": str(Path(__file__).parents[2]),
        "checkout": str(source) if source else None,
    }


def packages() -> dict[str, str | None]:
    """The versions of the packages that likewise always needs."""
    return {name: _version(name) for name in CORE}


def extras() -> dict[str, dict[str, Any]]:
    """Each extra: its packages with their versions (None: not installed), and the command that installs it."""
    return {name: _extra(name, requirements) for name, requirements in EXTRAS.items()}


def _extra(name: str, requirements: tuple[str, ...]) -> dict[str, Any]:
    found = {_package(requirement): _version(_package(requirement)) for requirement in requirements}
    whole = all(found.values())
    return {"installed": whole, "packages": found, "install": None if whole else install_command(name)}


def _package(requirement: str) -> str:
    """torch>=2.10 → torch"""
    end = next((i for i, character in enumerate(requirement) if character in "<>=!~[; "), len(requirement))
    return requirement[:end]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def engines() -> dict[str, dict[str, Any]]:
    """What can compute a model, and on which devices."""
    return {name: check() for name, check in ENGINE_CHECKS.items()}


def _native() -> dict[str, Any]:
    from ...engines.native.library import load
    from ...native.library import VERSION
    from ...native.threads import thread_count

    try:
        library = load()
    except NativeUnavailable as error:
        return {"usable": False, "problem": str(error)}
    sets = list(library.instruction_sets)
    version = f"{VERSION} ({', '.join(sets)})"
    return {"usable": True, "version": version, "devices": ["cpu"], "instruction_sets": sets, "threads": thread_count()}


def _numpy() -> dict[str, Any]:
    return {"usable": True, "version": _version("numpy"), "devices": ["cpu"]}


def _torch() -> dict[str, Any]:
    """Torch is imported, because a broken installation shows only then."""
    if find_spec("torch") is None:
        return {"usable": False, "problem": f"not installed; to have it: {install_hint('torch')}"}
    try:
        import torch

        gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
        threads = torch.get_num_threads()
    except Exception as error:  # whatever a broken build raises
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:160]
        return {"usable": False, "problem": f"installed, but it cannot be used: {reason}"}
    cuda = [f"cuda:{i} {name}" for i, name in enumerate(gpus)]
    return {"usable": True, "version": torch.__version__, "devices": ["cpu", *cuda], "threads": threads}


ENGINE_CHECKS: dict[str, Callable[[], dict[str, Any]]] = {"native": _native, "torch": _torch, "numpy": _numpy}
"""Each engine, and what finds out whether it can be used."""


def models() -> dict[str, Any]:
    """Names of the bundled models, of others that are there, of those that can be downloaded, and the folder set."""
    from ...model_files.names import MODELS_VARIABLE, PACKAGED_MODELS, local_models

    found = local_models()
    bundled = [name for name, model in PACKAGED_MODELS.items() if model.package == "likewise"]
    folder = os.environ.get(MODELS_VARIABLE)
    return {
        "bundled": bundled,
        "local": [name for name, place in found.items() if place is not None and name not in bundled],
        "not_installed": [name for name, place in found.items() if place is None],
        "folder": folder,
        "problem": _folder_problem(MODELS_VARIABLE, folder),
    }


def data() -> dict[str, Any]:
    """How many of the known data sets have files here, and the folder in which they are looked for."""
    from ...data.catalogue import DATASETS
    from ...data.datasets import DATA_FOLDER_VARIABLE, data_folder, local_files

    folder = data_folder()
    here = [name for name, dataset in DATASETS.items() if any(local_files(f"{name}/{file}") for file in dataset.files)]
    return {
        "here": here,
        "known": len(DATASETS),
        "folder": folder and str(folder),
        "problem": _folder_problem(DATA_FOLDER_VARIABLE, folder),
    }


def _folder_problem(variable: str, folder: str | Path | None) -> str | None:
    if folder and not expanded(folder).is_dir():
        return f"{variable} is {folder}, which is not a folder"
    return None


def first_text() -> dict[str, Any]:
    """Load the default model and encode one text."""
    from ... import Embedder
    from ...model_files.names import DEFAULT_MODEL

    start = time.perf_counter()
    try:
        vector = Embedder.load(DEFAULT_MODEL).encode([TEXT], show_progress_bar=False)
    except Exception as error:  # the doctor reports what others raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        return {"works": False, "model": DEFAULT_MODEL, "problem": f"{type(error).__name__}: {reason}"}
    return {
        "works": True,
        "model": DEFAULT_MODEL,
        "dimension": vector.shape[1],
        "seconds": round(time.perf_counter() - start, 2),
    }
