"""The manifest of a model folder: sentence-transformers JSON files, read in either format, written in the older one.

A plain Hugging Face folder (without modules.json) is given mean pooling, and a notice says so.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import BadModel
from ..module_registry import HEADS
from ..runtime.untrusted_files import (
    bad_setting,
    boolean_setting,
    read_json,
    read_object,
    regular_file_exists,
    require_object,
)
from .saving import LENGTH_FILES, check_saved

POOLING_FOLDER = "1_Pooling"
MAX_MODULES = 100
UNLIMITED = 1 << 30  # limits of this size or more mean "no limit"; transformers writes 10^30
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")  # sentence-transformers' similarity functions
OWN = "likewise."  # prefix of module types that sentence-transformers lacks and therefore rejects
OWN_POOLING = f"{OWN}pooling."
CROSS_ENCODER = "CrossEncoder"  # the `model_type` of rerankers in config_sentence_transformers.json
STATIC = "StaticEmbedding"
ROUTERS = ("Router", "Asym")  # modules that have a model for queries and one for documents; Asym is the older name


@dataclass(frozen=True)
class ModulePart:
    """A head, or a pooling module that only likewise supports: its kind, its settings, and the folder it is in."""

    kind: str
    config: Mapping[str, Any]
    folder: Path


@dataclass(frozen=True)
class Manifest:
    """The components of a model, before any weights are read."""

    encoder: Path
    pooling: str | ModulePart = "mean"
    include_prompt: bool = True
    heads: tuple[ModulePart, ...] = ()
    prompts: Mapping[str, str] = field(default_factory=dict)
    default_prompt: str | None = None
    max_seq_length: int | None = None
    lowercase: bool = False
    notice: str | None = None
    similarity: str | None = None  # sentence-transformers' name for the similarity function; None means cosine
    routes: Mapping[str, "Manifest"] = field(default_factory=dict)  # the routes of a Router; empty otherwise
    default_route: str | None = None
    static: bool = False  # whether the encoder is a table of token vectors (`runtime.static_tables`)


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a plain encoder, or of a folder in either sentence-transformers format."""
    check_saved(folder)
    parts = modules_of(folder)
    if parts is None:
        return _plain(folder)
    if parts and parts[0].kind in ROUTERS:
        return _router(folder, parts)
    return _of_parts(folder, parts)


def _of_parts(folder: Path, parts: Sequence[ModulePart]) -> Manifest:
    """The manifest for a sequence of modules; prompts and similarity come from the folder's settings."""
    if parts and parts[0].kind == STATIC:
        return _static(folder, parts)
    if not parts or parts[0].kind != "Transformer":
        kind = parts[0].kind if parts else "nothing"
        raise BadModel(f"modules.json in {folder} begins with {kind}; expected Transformer, {STATIC} or Router")
    spoken = read_object(folder / "config_sentence_transformers.json")
    computed = pooling_and_heads(folder, parts)
    if spoken.get("model_type") == CROSS_ENCODER:
        raise BadModel(f"{folder} contains a reranker, which returns scores, not vectors; expected an embedding model")
    return Manifest(
        encoder=parts[0].folder,
        **computed,
        **prompts_of(spoken, folder),
        similarity=_similarity(spoken, folder),
        **input_limits(parts[0].folder),
    )


def pooling_and_heads(folder: Path, parts: Sequence[ModulePart]) -> dict[str, Any]:
    """The pooling that follows a Transformer, whether it includes the prompt's tokens, and the heads after it."""
    poolings = [part for part in parts if _pools(part)]
    heads = [part for part in parts[1:] if part.kind != "Dropout" and not _pools(part)]
    unknown = sorted({part.kind for part in heads} - set(HEADS))
    if unknown or len(poolings) != 1 or not _pools(parts[1]):
        kinds = ", ".join(part.kind for part in parts)
        hint = "" if poolings else ". To use a reranker, call Reranker.load or run: likewise rerank"
        raise BadModel(
            f"{folder} consists of {kinds}; expected Transformer, Pooling, then any of {', '.join(HEADS)} (and Dropout)"
            f"{hint}"
        )
    pooling = with_config(poolings[0])
    return {
        "pooling": _pooling(pooling),
        "include_prompt": boolean_setting(pooling.config, "include_prompt", True, pooling.folder / "config.json"),
        "heads": tuple(with_config(part) for part in heads),
    }


def _router(folder: Path, parts: Sequence[ModulePart]) -> Manifest:
    """The manifest of a Router: a copy of the default route's manifest, with the manifests of all routes in `routes`.

    The modules after the Router are appended to every route. If there is no default route, the first route is copied
    instead, and `default_route` is None.
    """
    place = parts[0].folder
    path = place / "router_config.json"
    path = path if regular_file_exists(path) else place / "config.json"  # the older name, used by Asym
    described = require_object(path, f"modules.json names a {parts[0].kind} there")
    structure, types, settings = (described.get(key) for key in ("structure", "types", "parameters"))
    if not isinstance(structure, dict) or not structure or not isinstance(types, dict) or len(structure) > MAX_MODULES:
        raise BadModel(
            f"{path} defines no routes; expected each route's modules in structure, and their types in types"
        )
    settings = settings if isinstance(settings, dict) else {}
    if settings.get("route_mappings"):
        raise bad_setting(path, "route_mappings", settings["route_mappings"], "none: routes are selected by name")
    routes = {
        name: _of_parts(folder, [*_route(place, path, ids, types), *parts[1:]]) for name, ids in structure.items()
    }
    default = settings.get("default_route")
    if default is None and boolean_setting(settings, "allow_empty_key", True, path):
        default = next(iter(routes))
    if default is not None and default not in routes:
        raise bad_setting(path, "default_route", default, f"one of {', '.join(routes)}")
    notice = f"{folder.name} has the routes {', '.join(routes)}: encode_query and encode_document use their own, and "
    notice += f"encode uses {default}" if default else "encode has no default route"
    return replace(routes[default or next(iter(routes))], notice=notice, routes=routes, default_route=default)


def _route(place: Path, path: Path, ids: Any, types: Mapping[str, Any]) -> list[ModulePart]:
    if not isinstance(ids, list) or not ids or len(ids) > MAX_MODULES:
        raise BadModel(f"{path} describes a route by {ids!r:.100}; expected a list of module names")
    wrong = next((one for one in ids if not isinstance(one, str) or not isinstance(types.get(one), str)), None)
    if wrong is not None:
        raise BadModel(f"{path} lists the module {wrong!r:.100} in a route, but gives no type for it")
    return [module_part(place, {"path": one, "type": types[one]}) for one in ids]


def _static(folder: Path, parts: Sequence[ModulePart]) -> Manifest:
    """The manifest of a static model: a table of token vectors, which are averaged, and heads."""
    from ..runtime.static_tables import static_table  # imported here, so that --help does not load NumPy

    table = static_table(parts[0].folder)
    heads = [part for part in parts[1:] if part.kind != "Dropout"]
    unknown = sorted({part.kind for part in heads} - set(HEADS))
    if table is None:
        raise BadModel(f"{parts[0].folder} contains no static model; expected tokenizer.json and embedding.weight")
    if unknown:
        raise BadModel(f"{folder} contains a {unknown[0]} after the {STATIC}; expected only {', '.join(HEADS)}")
    spoken = read_object(folder / "config_sentence_transformers.json")
    return Manifest(
        encoder=table.folder,
        heads=tuple(map(with_config, heads)),
        **prompts_of(spoken, folder),
        similarity=_similarity(spoken, folder),
        max_seq_length=table.max_seq_length,
        static=True,
    )


def check_same(*, written: Any, read_back: Any) -> None:
    """Check that a folder's manifest, when read back, equals the one that was written."""
    before, after = (_plain_values(manifest) for manifest in (written, read_back))
    different = [name for name in before if before[name] != after[name]]
    if different:
        name = different[0]
        raise BadModel(
            f"this model cannot be saved without changing it: its {name} is {before[name]}, but would be {after[name]} "
            "when loaded again"
        )


def _plain_values(manifest: Any) -> dict[str, Any]:
    values = {name: value for name, value in vars(manifest).items() if name not in ("encoder", "notice")}
    return {name: json.loads(json.dumps(value, default=_plain_part)) for name, value in values.items()}


def _plain_part(value: Any) -> Any:
    return [value.kind, dict(value.config)] if isinstance(value, ModulePart) else dict(value)


def write_manifest(folder: Path, manifest: Manifest, width: int) -> None:
    """Write a model folder's JSON in the format that every version of sentence-transformers can load."""
    pooling_kind, pooling = _described(manifest.pooling, width)
    first = [("", STATIC)] if manifest.static else [("", "Transformer"), (POOLING_FOLDER, pooling_kind)]
    heads = [(f"{i}_{part.kind}", part.kind) for i, part in enumerate(manifest.heads, 2)]
    rows = [
        {
            "idx": i,
            "name": str(i),
            "path": path,
            "type": kind if "." in kind else f"sentence_transformers.models.{kind}",
        }
        for i, (path, kind) in enumerate(first + heads)
    ]
    write_json(folder / "modules.json", rows)
    for (path, _), part in zip(heads, manifest.heads, strict=True):
        write_json(folder / path / "config.json", dict(part.config))
    if not manifest.static:
        write_json(folder / POOLING_FOLDER / "config.json", {**pooling, "include_prompt": manifest.include_prompt})
        settings = {"max_seq_length": manifest.max_seq_length, "do_lower_case": manifest.lowercase}
        write_json(folder / "sentence_bert_config.json", settings)
    spoken = {
        "prompts": dict(manifest.prompts),
        "default_prompt_name": manifest.default_prompt,
        "similarity_fn_name": manifest.similarity,
    }
    write_json(folder / "config_sentence_transformers.json", spoken)


def _described(pooling: str | ModulePart, width: int) -> tuple[str, Mapping[str, Any]]:
    """A pooling module's type and settings; pooling methods that only likewise supports get types of their own."""
    if isinstance(pooling, ModulePart):
        return OWN_POOLING + pooling.kind, pooling.config
    from ..arrays.reductions import POOLING_FLAGS, REDUCTIONS  # imported here, so that --help does not load NumPy

    names = pooling.split("+")
    unknown = [name for name in names if name not in POOLING_FLAGS.values()]
    if unknown:
        raise BadModel(
            f"the pooling {pooling!r} has no flag in the model folder format; the flags are {', '.join(POOLING_FLAGS)}"
        )
    flags = {
        row.flag: name in names for name, row in REDUCTIONS.items() if name in names or row.newer is not None
    }  # sentence-transformers rejects unknown flags, even false ones
    return "Pooling", {"word_embedding_dimension": width, **flags}


def _plain(folder: Path) -> Manifest:
    from ..runtime.static_tables import static_table  # imported here, so that --help does not load NumPy

    table = static_table(folder)
    if table is not None:  # model2vec's older folders have no modules.json
        heads = (ModulePart("Normalize", {}, folder),) if table.normalizes else ()
        return Manifest(encoder=folder, heads=heads, max_seq_length=table.max_seq_length, static=True)
    if not regular_file_exists(folder / "config.json"):
        raise BadModel(f"{folder} contains neither modules.json nor config.json, so it is not a model folder")
    notice = f"{folder.name} is a plain encoder without a pooling module; using mean pooling"
    return Manifest(encoder=folder, notice=notice, **input_limits(folder))


def modules_of(folder: Path) -> list[ModulePart] | None:
    """The modules in modules.json; None if there is no such file, as in a plain encoder's folder."""
    path = folder / "modules.json"
    if not regular_file_exists(path):
        if (folder / POOLING_FOLDER).is_dir():
            raise BadModel(
                f"{path} is missing, although {POOLING_FOLDER} exists: the download may be incomplete; download the "
                "model again"
            )
        return None
    rows = read_json(path)
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and isinstance(row.get("path"), str) and isinstance(row.get("type"), str) for row in rows
    ):
        raise BadModel(f"modules.json in {folder} is not a list of modules, each with a path and a type")
    if len(rows) > MAX_MODULES:
        raise BadModel(f"modules.json in {folder} has {len(rows):,} modules; expected at most {MAX_MODULES}")
    return [module_part(folder, row) for row in rows]


def module_part(folder: Path, module: Mapping[str, Any]) -> ModulePart:
    """The module described by a row of modules.json, before its settings are read (see `with_config`)."""
    path = PurePosixPath(module["path"].replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in str(path):
        raise BadModel(f"modules.json in {folder} points to {module['path']!r}, which is outside the folder")
    kind = module["type"]
    kind = kind if kind.startswith(OWN) else kind.rpartition(".")[2]
    return ModulePart(kind, {}, folder / path)


def with_config(part: ModulePart) -> ModulePart:
    """The module with the settings from its config.json, a file that only Normalize may lack."""
    path = part.folder / "config.json"
    if part.kind == "Normalize":
        return replace(part, config=read_object(path))
    return replace(part, config=require_object(path, f"modules.json names a {part.kind} there"))


def _pools(part: ModulePart) -> bool:
    return part.kind == "Pooling" or part.kind.startswith(OWN_POOLING)


def _pooling(part: ModulePart) -> str | ModulePart:
    if part.kind.startswith(OWN_POOLING):
        own = {key: value for key, value in part.config.items() if key != "include_prompt"}
        return replace(part, kind=part.kind.removeprefix(OWN_POOLING), config=own)
    newer = part.config.get("pooling_mode")
    if newer is not None:
        return _newer_pooling(newer, part.folder / "config.json")
    return _older_pooling(part.config, part.folder / "config.json")


def _newer_pooling(mode: object, path: Path) -> str:
    from ..arrays.reductions import NEWER_NAMES, reduction_names  # imported here, so that --help does not load NumPy

    names: list[Any] = mode if isinstance(mode, list) else [mode]
    if not names or not all(isinstance(name, str) for name in names):
        raise bad_setting(path, "pooling_mode", mode, "a name or a list of names")
    spec = "+".join(str(NEWER_NAMES.get(name, name)) for name in names)
    try:
        ordered = "+".join(reduction_names(spec))
    except BadModel as error:
        raise BadModel(f"{path}: {error}") from None
    if ordered != spec:
        raise bad_setting(path, "pooling_mode", mode, f"{ordered}, the order in which likewise concatenates them")
    return spec


def _older_pooling(config: Mapping[str, Any], path: Path) -> str:
    """The pooling in the older format: the methods whose flags are true, of which there must be at least one."""
    from ..arrays.reductions import POOLING_FLAGS  # imported here, so that --help does not load NumPy

    flags = {key: boolean_setting(config, key, False, path) for key in config if key.startswith("pooling_mode")}
    unknown = sorted(flags.keys() - POOLING_FLAGS.keys() - {"pooling_mode"})
    if unknown:
        raise BadModel(f"{path} sets the unknown flag {unknown[0]}; expected one of {', '.join(POOLING_FLAGS)}")
    names = [name for key, name in POOLING_FLAGS.items() if flags.get(key)]
    if not names:
        raise BadModel(
            f"{path} specifies no pooling; expected pooling_mode, or true for one of {', '.join(POOLING_FLAGS)}"
        )
    return "+".join(names)


def prompts_of(spoken: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    prompts, default = spoken.get("prompts"), spoken.get("default_prompt_name")
    prompts, path = {} if prompts is None else prompts, folder / "config_sentence_transformers.json"
    if not isinstance(prompts, dict) or not all(isinstance(p, str) for p in prompts.values()):
        raise bad_setting(path, "prompts", prompts, "an object with a text for each name")
    if default is not None and (not isinstance(default, str) or default not in prompts):
        names = ", ".join(prompts) or "(none)"
        raise bad_setting(path, "default_prompt_name", default, f"null or the name of a prompt: {names}")
    return {"prompts": prompts, "default_prompt": default}


def _similarity(spoken: Mapping[str, Any], folder: Path) -> str | None:
    name = spoken.get("similarity_fn_name")
    if name is not None and name not in SIMILARITIES:
        path = folder / "config_sentence_transformers.json"
        raise bad_setting(path, "similarity_fn_name", name, f"one of {', '.join(SIMILARITIES)}")
    return name


def input_limits(folder: Path) -> dict[str, Any]:
    """The maximum input length in tokens, including special ones, and whether texts are lower-cased first."""
    older = next((folder / name for name in LENGTH_FILES if read_object(folder / name)), folder / LENGTH_FILES[0])
    settings, newer = read_object(older), folder / "tokenizer_config.json"
    limits = _limit(settings, "max_seq_length", older), _limit(read_object(newer), "model_max_length", newer)
    given = [limit for limit in limits if limit is not None]
    return {
        "max_seq_length": given[0] if given else None,
        "lowercase": boolean_setting(settings, "do_lower_case", False, older),
    }


def _limit(settings: Mapping[str, Any], key: str, path: Path) -> int | None:
    value = settings.get(key)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (number and UNLIMITED <= value < float("inf")):
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise bad_setting(path, key, value, "a whole number of tokens above 0, or null")
    return value


def write_json(path: Path, value: Any) -> None:
    """Write JSON to a file, creating its folder if necessary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n", "utf-8")
