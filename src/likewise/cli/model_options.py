"""Options shared by all commands that use a model: the model, how it runs, and the number of threads."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine_registry import ENGINES, INT8, PRECISIONS
from ..errors import BadInput
from ..model_files.names import DEFAULT_MODEL
from ..native.threads import thread_count
from ..runtime.arguments import whole_number
from ..runtime.lazy_imports import has_torch
from .parser import options

if TYPE_CHECKING:
    from ..embedder import Embedder

MODEL = "a folder, a name listed by `likewise model list`, or a name on the Hugging Face hub"


def add_model(parser: argparse.ArgumentParser, unnamed: str = "") -> None:
    """Add --model and the embedder options; `unnamed` describes the default if that is not DEFAULT_MODEL."""
    add = options(parser, "model")
    text = f"model: {MODEL} (default: {unnamed or DEFAULT_MODEL})"
    add("-m --model MODEL", text, None if unnamed else DEFAULT_MODEL)
    add_loading(add)


def add_loading(add: Callable[..., None]) -> None:
    """Add the embedder options, except for the model name."""
    add_engine(add)
    add("--pooling NAME", "pooling method: mean, cls, max, cls+mean, … (default: the model's own)")
    add("--truncate-dim DIM", "keep the first DIM dimensions of each vector (default: all)", type=int)
    add_running(add)


def add_engine(add: Callable[..., None]) -> None:
    text = "engine that runs the model (default: the first of these that is installed and supports the model)"
    add("--engine", text, choices=tuple(ENGINES))


def add_allow(add: Callable[..., None]) -> None:
    text = "allow an int8 model to search an index in another precision, and vice versa; cosines then differ more"
    add("--allow", text, choices=(INT8,))


def output_folder(name: str) -> Path:
    """The folder given to an option; an empty name (say, from an unset variable) would mean the working directory."""
    if not name.strip():
        raise argparse.ArgumentTypeError("the name is empty; expected a folder ('.' is the working directory)")
    return Path(name)


def new_model_folder(name: str) -> Path:
    """The folder given for a new model; it may already contain a model, but not the run.json of a training run."""
    folder = output_folder(name)
    if (folder / "run.json").exists():
        raise argparse.ArgumentTypeError(f"{folder} contains a trained model and its run.json; expected another folder")
    return folder


def add_running(add: Callable[..., None]) -> None:
    """Add the options for running any model: precision, device, input length and threads."""
    text = "precision (default: bf16 on CUDA, fp32 elsewhere); fp16 needs the torch engine, int8 the native one"
    add("--precision", text, choices=PRECISIONS)
    add("--device DEVICE", "device to run on: cpu, cuda, cuda:1, mps, … (default: the first GPU, else the CPU)")
    add("--max-seq-length TOKENS", "maximum input length in tokens (default: the model's)")
    add_threads(add)


def add_threads(add: Callable[..., None]) -> None:
    add("--threads N", "number of CPU threads (default: all that this process may use)")


OVERFLOW = {
    "warn": "truncate them and report how many",
    "error": "stop with an error",
    "truncate": "truncate them silently",
    "mean": "average overlapping windows",
}
"""What to do with texts that exceed the model's maximum input length."""


def add_overflow(add: Callable[..., None], choices: Sequence[str] = tuple(OVERFLOW), what: str = "texts") -> None:
    explained = "; ".join(f"{name}: {OVERFLOW[name]}" for name in choices)
    text = f"what to do with {what} that exceed the model's maximum input length. {explained}"
    add("--overflow", text, "warn", choices=choices)


def load_from_options(args: argparse.Namespace) -> "Embedder":
    prepare_runtime(args)
    from ..model_names import load_named_embedder

    return load_named_embedder(args.model, **loading_options(args))


def loading_options(args: argparse.Namespace) -> dict[str, Any]:
    names = ("precision", "device", "pooling", "max_seq_length", "truncate_dim")
    engine = {"engine": args.engine} if args.engine else {}
    return {**engine, **{name: getattr(args, name) for name in names}}


def recorded_name(args: argparse.Namespace) -> str:
    """The model's name with the options that change its vectors; the precision is recorded separately."""
    from ..search.texts.text_index import lasting_name

    name, options = lasting_name(args.model), ("pooling", "max_seq_length", "truncate_dim")
    given = ",".join(f"{key}={value}" for key in options if (value := getattr(args, key)) is not None)
    return f"{name}({given})" if given else name


THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Environment variables read by torch, NumPy's libraries and the native engine."""
_before: dict[str, Any] = {}  # the settings of this process, restored after the command


def set_threads(args: argparse.Namespace) -> None:
    """Set the number of threads for every library; most libraries read it from the environment when imported."""
    if not hasattr(args, "threads") or isinstance(args.threads, str):  # `train` parses its own flags later
        return
    threads = _threads(args.threads)
    _before.setdefault("environment", {name: os.environ.get(name) for name in THREADS})
    os.environ |= dict.fromkeys(THREADS, str(threads))
    if sys.modules.get("torch") is not None:  # if another program calls `main`
        import torch

        _before.setdefault("torch", torch.get_num_threads())
        torch.set_num_threads(threads)


def restore_threads() -> None:
    """Restore the thread settings after the command, for programs that call `main`."""
    for name, value in _before.pop("environment", {}).items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    if "torch" in _before:
        import torch

        torch.set_num_threads(_before.pop("torch"))


def prepare_runtime(args: argparse.Namespace) -> None:
    """Check the device before reading a model."""
    if args.device not in (None, "cpu") and has_torch() and getattr(args, "engine", None) in (None, "torch"):
        from ..runtime.devices import device_and_dtype

        device_and_dtype(args.device, None)


MAX_THREADS = 1 << 12  # more than the number of cores in any machine


def _threads(given: int | None) -> int:
    if given is not None and whole_number("--threads", given) > MAX_THREADS:
        raise BadInput(f"--threads is {given}; expected at most {MAX_THREADS:,}")
    return given or thread_count()
