"""What verbs with a model share: its options, and how many threads it may use."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadInput
from ..model_files.names import DEFAULT_MODEL
from ..runtime.lazy_imports import has_torch

if TYPE_CHECKING:
    from ..embedder import Embedder

MODEL = "a folder, a carried model, a hub name, or a form that `likewise models` tells of"


def add_model(parser: argparse.ArgumentParser) -> None:
    """--model and how it runs."""
    group = parser.add_argument_group("the model")
    group.add_argument("-m", "--model", default=DEFAULT_MODEL, help=f"{MODEL} (%(default)s)")
    group.add_argument("--pooling", help="another pooling than the model's own: mean, cls, max, cls+mean …")
    group.add_argument("--truncate", type=int, metavar="WIDTH", help="keep so many numbers of each vector (Matryoshka)")
    add_running(group)


def output_folder(name: str) -> Path:
    """The folder that an option names; an empty one, of an unset variable say, would mean the working directory."""
    if not name.strip():
        raise argparse.ArgumentTypeError("it is empty; wanted the name of a folder ('.' is the working directory)")
    return Path(name)


def add_running(group: "argparse._ArgumentGroup") -> None:
    """How a model runs, whichever it is."""
    group.add_argument("--precision", choices=("fp32", "bf16", "fp16"), help="fp32 on a CPU, bf16 on a GPU")
    group.add_argument("--device", help="cpu, cuda …; the GPU if there is one")
    group.add_argument("--max-length", type=int, metavar="TOKENS", help="another longest input than the model's own")
    group.add_argument("--threads", type=int, help="CPU threads; as many as this process may use")


def load_from_options(args: argparse.Namespace) -> "Embedder":
    """The embedder that the options ask for; NumPy's, where torch is not installed."""
    prepare_runtime(args)
    from ..model_names import load_named_embedder

    return load_named_embedder(
        args.model,
        precision=args.precision,
        device=args.device,
        pooling=args.pooling,
        max_length=args.max_length,
        truncate=args.truncate,
    )


THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables of the environment that NumPy's libraries read when they are loaded."""
_before: dict[str, Any] = {}  # the process's own, while a verb has set others


def set_numpy_threads(args: argparse.Namespace) -> None:
    """Where NumPy is what computes: its threads are read from the environment when it is imported, and not again."""
    if hasattr(args, "threads") and not has_torch() and "numpy" not in sys.modules:
        wanted = str(_threads(args.threads))
        _before["environment"] = {name: os.environ.get(name) for name in THREADS}
        os.environ |= dict.fromkeys(THREADS, wanted)


def restore_threads() -> None:
    """Threads and their variables as they were before the verb: a program that calls `main` goes on with its own."""
    for name, value in _before.pop("environment", {}).items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    if "torch" in _before:
        import torch

        torch.set_num_threads(_before.pop("torch"))


def prepare_runtime(args: argparse.Namespace) -> None:
    """Threads set and the device tried, before a model is read."""
    if has_torch():  # NumPy's threads are set already, and its only device needs no trial
        _set_threads(args.threads)
        _check_device(args.device)


def _set_threads(threads: int | None) -> None:
    import torch

    wanted = _threads(threads)
    _before.setdefault("torch", torch.get_num_threads())
    torch.set_num_threads(wanted)


MOST_THREADS = 1 << 12  # more than any machine has cores


def _threads(asked: int | None) -> int:
    if asked is not None and asked < 1:
        raise BadInput(f"--threads is {asked}; wanted 1 or more")
    if asked is not None and asked > MOST_THREADS:
        raise BadInput(f"--threads is {asked}; wanted at most {MOST_THREADS:,}")
    return asked or max(1, allowed_cpus() // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def _check_device(name: str | None) -> None:
    """One number there and back: a device that is unknown, absent or unusable is told before a model is read."""
    import torch

    try:
        torch.zeros(1, device=name).cpu()
    except Exception as error:  # RuntimeError, AssertionError, NotImplementedError, by the kind of device
        why = (str(error).strip() or type(error).__name__).splitlines()[0][:160]
        raise BadInput(f"--device {name} cannot be used here: {why}") from None


def allowed_cpus(limit: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """CPUs that this process may use: its affinity, or the container's quota where that is less."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = limit.read_text().split()
        return max(1, min(cpus, int(quota) // int(period)))
    except (OSError, ValueError):  # no cgroup, or no limit ("max")
        return cpus
