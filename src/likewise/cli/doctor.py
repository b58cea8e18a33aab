"""Reports versions, engines, CPU, memory, models and data, and checks that the default model can encode a text."""

import argparse
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import NativeUnavailable
from ..runtime.home_folder import expanded
from ..runtime.installation import EXTRAS, checkout, install_command, install_hint
from ..source_commit import commit_phrase, source_commit
from ..wording import counted
from . import machine
from .output import print_json
from .parser import options
from .terminal_tables import fill

EPILOG = """examples:
  likewise doctor
  likewise doctor --json > doctor.json

Please include the output when you report a problem. The exit code is 1 if the default model cannot encode a text."""

LABEL = 10  # columns
CORE = ("numpy", "safetensors")


def add(parser: argparse.ArgumentParser) -> None:
    options(parser)("--json", "print the report as JSON")


def run(args: argparse.Namespace) -> int:
    report = diagnose()
    if args.json:
        print_json(report)
    else:
        show_diagnosis(report)
    return 0 if report["first_text"]["works"] else 1


def diagnose() -> dict[str, Any]:
    source = checkout()
    return {
        "likewise": {
            "version": __version__,
            "commit": source_commit(),
            "folder": str(Path(__file__).parents[1]),
            "checkout": str(source) if source else None,
        },
        "system": {"python": platform.python_version(), "executable": sys.executable, "platform": platform.platform()},
        "packages": {name: _version(name) for name in CORE},
        "engines": engines(),
        "cpu": machine.cpu(),
        "threads": machine.threads(),
        "memory": machine.memory(),
        "models": _models(),
        "data": _data(),
        "extras": extras(),
        "bits": _bits(),
        "first_text": _first_text(),
    }


def extras() -> dict[str, dict[str, Any]]:
    """Each extra with its packages, their versions (None: not installed), and the command that installs it."""
    found = {}
    for name, requirements in EXTRAS.items():
        packages = {
            package: _version(package) for package in (re.split(r"[<>=!~\[; ]", one)[0] for one in requirements)
        }
        whole = all(packages.values())
        found[name] = {"installed": whole, "packages": packages, "install": None if whole else install_command(name)}
    return found


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def engines() -> dict[str, dict[str, Any]]:
    """The engines that can run a model, and their devices."""
    numpy = {"usable": True, "version": _version("numpy"), "devices": ["cpu"]}
    return {"native": _native(), "torch": _torch(), "numpy": numpy}


def _native() -> dict[str, Any]:
    from ..engines.native.library import load
    from ..native.library import VERSION
    from ..native.threads import thread_count

    try:
        sets = list(load().instruction_sets)
    except NativeUnavailable as error:
        return {"usable": False, "problem": str(error)}
    version = f"{VERSION} ({', '.join(sets)})"
    return {"usable": True, "version": version, "devices": ["cpu"], "instruction_sets": sets, "threads": thread_count()}


def _bits() -> dict[str, Any]:
    """Whether the native engine gives the same bits here as on every processor (native/ARITHMETIC.md)."""
    from ..engines.native.golden import FEW, golden_hash, vectors_hash
    from ..engines.native.native_embedder import NativeEmbedder
    from ..model_files.names import DEFAULT_MODEL
    from ..native.library import ARITHMETIC

    equal: dict[str, bool] = {}
    try:
        for precision in ("fp32", "int8"):
            embedder = NativeEmbedder.load(DEFAULT_MODEL, precision=precision)
            equal[precision] = vectors_hash(embedder, FEW) == golden_hash(DEFAULT_MODEL, precision, FEW)
    except Exception as error:  # anything may be broken
        return {"arithmetic": ARITHMETIC, "problem": f"{type(error).__name__}: {_first_line(error)[:200]}"}
    return {"arithmetic": ARITHMETIC, "instructions": embedder.instructions, "texts": FEW, "equal": equal}


def _torch() -> dict[str, Any]:
    """Import torch, because only an import reveals a broken installation."""
    if find_spec("torch") is None:
        return {"usable": False, "problem": f"not installed; to install it: {install_hint('torch')}"}
    try:
        import torch

        gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
        threads = torch.get_num_threads()
    except Exception as error:  # a broken build can raise anything
        return {"usable": False, "problem": f"installed, but unusable: {_first_line(error)[:160]}"}
    cuda = [f"cuda:{i} {name}" for i, name in enumerate(gpus)]
    return {"usable": True, "version": torch.__version__, "devices": ["cpu", *cuda], "threads": threads}


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _models() -> dict[str, Any]:
    """Models by name (bundled, found locally, or downloadable), and the models folder if one is set."""
    from ..model_files.names import MODELS_VARIABLE, PACKAGED_MODELS, local_models

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


def _data() -> dict[str, Any]:
    """The known data sets with local files, the number of all known data sets, and the data folder."""
    from ..data.catalogue import DATASETS
    from ..data.datasets import DATA_FOLDER_VARIABLE, data_folder, local_files

    folder = data_folder()
    here = [name for name, dataset in DATASETS.items() if any(local_files(f"{name}/{file}") for file in dataset.files)]
    problem = _folder_problem(DATA_FOLDER_VARIABLE, folder)
    return {"here": here, "known": len(DATASETS), "folder": folder and str(folder), "problem": problem}


def _folder_problem(variable: str, folder: str | Path | None) -> str | None:
    if folder and not expanded(folder).is_dir():
        return f"{variable} is {folder}, which is not a folder"
    return None


def _first_text() -> dict[str, Any]:
    from .. import Embedder
    from ..model_files.names import DEFAULT_MODEL

    start = time.perf_counter()
    try:
        vector = Embedder.load(DEFAULT_MODEL).encode(["Does it work?"])
    except Exception as error:  # anything may be broken here
        problem = f"{type(error).__name__}: {_first_line(error)[:200]}"
        return {"works": False, "model": DEFAULT_MODEL, "problem": problem}
    seconds = round(time.perf_counter() - start, 2)
    return {"works": True, "model": DEFAULT_MODEL, "dimension": vector.shape[1], "seconds": seconds}


def show_diagnosis(report: Mapping[str, Any]) -> None:
    """Print the report as text, with one or more lines per label."""
    for label, describe in LINES.items():
        for i, line in enumerate(describe(report)):
            fill(f"{'' if i else label:{LABEL}}{line}", indent=LABEL)


def _likewise_lines(report: Mapping[str, Any]) -> Iterator[str]:
    described = report["likewise"]
    yield f"{described['version']} ({commit_phrase(described['commit'])}), in {described['folder']}"


def _python_lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield "{python}, {executable}; {platform}".format(**report["system"])
    yield ", ".join(f"{name} {version or 'MISSING'}" for name, version in report["packages"].items())


def _engine_lines(report: Mapping[str, Any]) -> Iterator[str]:
    for name, engine in report["engines"].items():
        if engine["usable"]:
            yield f"{name} {engine['version']} on {', '.join(engine['devices'])}"
        else:
            yield f"{name}: {engine['problem']}"


def _cpu_lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield report["cpu"]


def _thread_lines(report: Mapping[str, Any]) -> Iterator[str]:
    threads = report["threads"]
    limits = [counted(threads["cpus"], "CPU")]
    limits += [f"{threads['affinity']} allowed by affinity"] if threads["affinity"] is not None else []
    limits += [f"quota of {threads['quota']:g}"] if threads["quota"] is not None else ["no quota"]
    limits += [f"{name}={value}" for name, value in threads["environment"].items()]
    yield f"{threads['used']} used by default ({', '.join(limits)})"


def _memory_lines(report: Mapping[str, Any]) -> Iterator[str]:
    amounts = {name: f"{value:,.1f} GB" if value is not None else "unknown" for name, value in report["memory"].items()}
    limit = f", container limit {amounts['limit_gb']}" if report["memory"]["limit_gb"] is not None else ""
    yield f"{amounts['free_gb']} free of {amounts['total_gb']}{limit}"


def _model_lines(report: Mapping[str, Any]) -> Iterator[str]:
    models = report["models"]
    yield f"bundled: {_names(models['bundled'])}"
    folder = f" (LIKEWISE_MODELS is {models['folder']})" if models["folder"] else ""
    yield f"local: {_names(models['local'])}{folder}"
    if models["not_installed"]:
        yield f"not installed: {_names(models['not_installed'])}; to see how to get them: likewise model list"
    if models["problem"]:
        yield f"PROBLEM: {models['problem']}"


def _data_lines(report: Mapping[str, Any]) -> Iterator[str]:
    data = report["data"]
    folder = f"LIKEWISE_DATA is {data['folder']}" if data["folder"] else "LIKEWISE_DATA is not set"
    yield f"{len(data['here'])} of {data['known']} known data sets are available here; {folder}"
    if data["problem"]:
        yield f"PROBLEM: {data['problem']}"


def _extra_lines(report: Mapping[str, Any]) -> Iterator[str]:
    extras = report["extras"]
    yield f"installed: {_names([name for name, extra in extras.items() if extra['installed']])}"
    if missing := [name for name, extra in extras.items() if not extra["installed"]]:
        example = f"for {missing[0]}: {extras[missing[0]]['install']}"
        yield f"not installed: {', '.join(missing)}; {example} (--json lists every command)"


def _first_text_lines(report: Mapping[str, Any]) -> Iterator[str]:
    first = report["first_text"]
    if first["works"]:
        yield "yes: {model} loaded and encoded a text into a vector of {dimension} dimensions in {seconds} s".format(
            **first
        )
    else:
        yield "NO: {model}: {problem}".format(**first)


def _bits_lines(report: Mapping[str, Any]) -> Iterator[str]:
    bits = report["bits"]
    if "problem" in bits:
        yield f"arithmetic {bits['arithmetic']} was not checked: {bits['problem']}"
        return
    different = [precision for precision, equal in bits["equal"].items() if not equal]
    found = f"DIFFERENT from other machines in {_names(different)}" if different else "the same as on any machine"
    yield f"arithmetic {bits['arithmetic']} on {bits['instructions']}: {found} ({bits['texts']} texts)"


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


LINES: dict[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "likewise": _likewise_lines,
    "python": _python_lines,
    "engines": _engine_lines,
    "cpu": _cpu_lines,
    "threads": _thread_lines,
    "memory": _memory_lines,
    "models": _model_lines,
    "data": _data_lines,
    "extras": _extra_lines,
    "bits": _bits_lines,
    "works": _first_text_lines,
}
"""Labels, with the functions that describe the corresponding parts of the report."""
