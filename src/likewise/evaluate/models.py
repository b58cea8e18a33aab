"""Models to evaluate: an embedder, the name of a model or function, or any object that encodes texts.

A model that learns from the texts it encodes (such as tf-idf) offers `fitted(texts)`, which returns an encode function.
It is fitted again for every task, on the texts of the task's first request, and a note in the result reports this.
"""

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..embedder import Embedder
from ..engine_registry import computation_of
from ..errors import BadInput
from ..model_files.provenance import UNKNOWN_PROVENANCE, Provenance, provenance
from ..reranker import Reranker
from .rankers import Ranker, RunFile, distinct_names, is_run_file, shown_name
from .task import Encode, Role

LoadModel = Callable[[str], Any]
FitModel = Callable[[Sequence[str]], Encode]
ROLES: tuple[Role, ...] = ("query", "document")


@dataclass(frozen=True)
class OpenedModel:
    """A loaded model. Without a fingerprint, changes cannot be detected, so nothing is stored on disk."""

    encode: Encode | None
    fit: FitModel | None
    fingerprint: str | None
    provenance: Provenance = UNKNOWN_PROVENANCE
    notes: tuple[str, ...] = ()
    ranker: Ranker | None = None
    roles: Mapping[Role, Encode] = field(default_factory=dict)
    """How the model encodes a "query" or a "document", if it distinguishes the two."""


def models_by_name(models: Any) -> dict[str, Any]:
    """Map names to models, unless `models` already does; a repeated name gets a number."""
    if isinstance(models, Mapping):
        named = dict(zip(distinct_names(map(str, models)), models.values(), strict=True))
    else:
        several = models if isinstance(models, list | tuple) else [models]
        named = dict(zip(distinct_names(map(_name, several)), several, strict=True))
    if not named:
        raise BadInput("no model was given to evaluate; expected a name, an embedder or a function")
    return named


def open_model(model: Any, load: LoadModel | None = None) -> OpenedModel:
    """Load a model by name, or use the given object."""
    if is_run_file(model):
        model = RunFile(Path(model))
    if isinstance(model, Ranker):
        return OpenedModel(None, None, None, ranker=model)
    if not isinstance(model, str | Path):
        return _opened(model)
    if _is_function(str(model)):
        return _opened(_imported(str(model)))
    from ..model_names import load_model

    return _opened((load or load_model)(str(model)))


def _opened(model: Any) -> OpenedModel:
    given, notes = getattr(model, "fingerprint", None), getattr(model, "notes", ())
    fingerprint = given if isinstance(given, str) else None
    if fingerprint is not None and isinstance(model, Embedder | Reranker):
        fingerprint = f"{fingerprint} {computation_of(model)}"  # other engines and precisions give different scores
    notes = tuple(map(str, notes)) if isinstance(notes, list | tuple) else ()
    fit = getattr(model, "fitted", None)
    if callable(fit):
        return OpenedModel(None, fit, fingerprint, notes=notes)
    encode = model.encode if callable(getattr(model, "encode", None)) else model
    if not callable(encode):
        raise BadInput(
            f"a {type(model).__name__} cannot be evaluated; expected an embedder, a model's name, a function of a list "
            "of texts, or an object with `encode`"
        )
    quiet = {"show_progress_bar": False} if _takes_progress(encode) else {}  # the evaluation shows its own progress
    roles = {role: getattr(model, f"encode_{role}", None) for role in ROLES}
    encodes = {role: _arrays(found, quiet) for role, found in roles.items() if callable(found)}
    return OpenedModel(_arrays(encode, quiet), None, fingerprint, provenance(model), notes, roles=encodes)


def _arrays(encode: Callable[..., Any], options: Mapping[str, Any]) -> Encode:
    return lambda texts: np.asarray(encode(list(texts), **options))


def _takes_progress(function: Callable[..., Any]) -> bool:
    try:
        return "show_progress_bar" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # some built-in functions have no signature
        return False


def _is_function(name: str) -> bool:
    module, colon, function = name.partition(":")
    identifiers = all(part.isidentifier() for part in [*module.split("."), *function.split(".")])
    return bool(colon) and identifiers and not Path(name).exists()


def _imported(name: str) -> Any:
    """Import a function, or an object with `encode`, by its name "package.module:name": the caller's own code."""
    module, _, path = name.partition(":")
    folder = str(Path.cwd())
    added = folder not in sys.path and "" not in sys.path
    if added:  # a console script does not search the working directory
        sys.path.insert(0, folder)
    try:
        value = import_module(module)
        for part in path.split("."):
            value = getattr(value, part)
        return value() if isinstance(value, type) else value
    except (Exception, SystemExit) as error:  # user code can raise anything, and some scripts exit
        last = traceback.extract_tb(error.__traceback__)[-1]
        known = isinstance(error, ImportError | AttributeError | SyntaxError)  # the message says what is wrong
        place = "" if known else f" ({last.filename}, line {last.lineno})"
        raise BadInput(f"{name} cannot be imported: {type(error).__name__}: {error}{place}") from error
    finally:
        if added:
            sys.path.remove(folder)


def _name(model: Any) -> str:
    if is_run_file(model):
        return Path(model).stem
    if isinstance(model, str | Path):
        return shown_name(model)
    folder = getattr(getattr(model, "manifest", None), "encoder", None)
    if isinstance(folder, Path):
        from ..model_files import local_models

        return next((name for name, path in local_models().items() if path == folder), folder.name)
    given = getattr(model, "name", None) or getattr(model, "__name__", None)
    return given if isinstance(given, str) else type(model).__name__
