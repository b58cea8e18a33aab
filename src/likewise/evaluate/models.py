"""What can be evaluated: an embedder, a model's name, the name of a function, or anything that turns texts to rows.

A model that learns from the texts it is to encode (tf-idf) offers `fitted(texts)`, which gives such a function; it is
fitted anew for every task, on the texts of the task's first request, and the result says so.
"""

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..model_files.provenance import UNKNOWN_PROVENANCE, Provenance, provenance
from .task import Encode

LoadModel = Callable[[str], Any]
FitModel = Callable[[Sequence[str]], Encode]


@dataclass(frozen=True)
class OpenedModel:
    """A model ready for work. Without a fingerprint nobody knows when it changes, so nothing of it is kept on disk."""

    encode: Encode | None
    fit: FitModel | None
    fingerprint: str | None
    provenance: Provenance = UNKNOWN_PROVENANCE
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class EvaluatedModel:
    """A model by the name it has in the table; loaded when its turn comes."""

    name: str
    open: Callable[[], OpenedModel]


def models_to_evaluate(models: Any, load: LoadModel | None = None) -> list[EvaluatedModel]:
    """Each model given: one, several, or a mapping of names to them; a name that occurs twice is numbered."""
    if isinstance(models, Mapping):
        pairs = [(str(name), model) for name, model in models.items()]
    else:
        several = models if isinstance(models, list | tuple) else [models]
        pairs = [(_name(model), model) for model in several]
    if not pairs:
        raise BadInput("there is no model to evaluate; a name, an embedder or a function is wanted")
    seen: dict[str, int] = {}
    found = []
    for name, model in pairs:
        seen[name] = seen.get(name, 0) + 1
        shown = name if seen[name] == 1 else f"{name} ({seen[name]})"
        found.append(EvaluatedModel(shown, _opener(model, load or _load)))
    return found


def _opener(model: Any, load: LoadModel) -> Callable[[], OpenedModel]:
    if isinstance(model, str | Path):
        return lambda: _opened(_imported(str(model)) if _is_function(str(model)) else load(str(model)))
    return lambda: _opened(model)


def _opened(model: Any) -> OpenedModel:
    fingerprint = getattr(model, "fingerprint", None)
    known = fingerprint if isinstance(fingerprint, str) else None
    fit = getattr(model, "fitted", None)
    if callable(fit):
        return OpenedModel(None, fit, known, notes=_notes(model))
    from_texts = getattr(model, "encode", None)
    if not callable(from_texts):
        from_texts = model
    if not callable(from_texts):
        raise BadInput(
            f"a {type(model).__name__} cannot be evaluated; wanted an embedder, a model's name, a function of a list "
            "of texts, or an object with `encode`"
        )
    quiet = {"progress": False} if _takes_progress(from_texts) else {}  # the run has a line of its own
    return OpenedModel(
        lambda texts: np.asarray(from_texts(list(texts), **quiet)), None, known, provenance(model), _notes(model)
    )


def _notes(model: Any) -> tuple[str, ...]:
    """What a model wants to be said beside its figures."""
    told = getattr(model, "notes", ())
    return tuple(map(str, told)) if isinstance(told, list | tuple) else ()


def _takes_progress(function: Callable[..., Any]) -> bool:
    try:
        return "progress" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # some builtins have none
        return False


def _load(name: str) -> Any:
    from ..model_names import load_model

    return load_model(name)


def _is_function(name: str) -> bool:
    module, colon, function = name.partition(":")
    return (
        bool(colon)
        and not Path(name).exists()
        and all(part.isidentifier() for part in [*module.split("."), *function.split(".")])
    )


def _imported(name: str) -> Any:
    """The function, or object with `encode`, of "package.module:name", which is the caller's own code."""
    module, _, path = name.partition(":")
    here = str(Path.cwd())
    added = here not in sys.path and "" not in sys.path
    if added:  # a console script does not look into the folder that it is called from
        sys.path.insert(0, here)
    try:
        found = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
        return found() if isinstance(found, type) else found
    except (Exception, SystemExit) as error:  # anybody's code raises anything, and some scripts end the process
        raise BadInput(f"{name} cannot be imported: {_raised(error)}") from error
    finally:
        if added:
            sys.path.remove(here)


def _raised(error: BaseException) -> str:
    """What went wrong in somebody's code, and where; where a module or a name is missing, that alone says it."""
    if isinstance(error, ImportError | AttributeError):
        return str(error)
    if isinstance(error, SyntaxError):  # which says itself where
        return f"SyntaxError: {error}"
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({place.filename}, line {place.lineno})"


def _name(model: Any) -> str:
    if isinstance(model, str | Path):
        return Path(model).name if Path(model).is_dir() else str(model)
    folder = getattr(getattr(model, "manifest", None), "encoder", None)
    if isinstance(folder, Path):
        from ..model_files import local_models

        return next((name for name, place in local_models().items() if place == folder), folder.name)
    given = getattr(model, "name", None) or getattr(model, "__name__", None)
    return given if isinstance(given, str) else type(model).__name__
