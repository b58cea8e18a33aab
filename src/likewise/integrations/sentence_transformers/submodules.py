"""Maps the submodules of sentence-transformers that programs import from to modules of this package.

They can be imported from this package and, after `stand_in()`, from `sentence_transformers`.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

OURS = __package__
PEER = "sentence_transformers"
PAGE = "docs/drop-in.md"
SUBMODULES = {
    **{name: name for name in ("cross_encoder", "evaluation", "losses", "models", "sentence_transformer", "util")},
    "SentenceTransformer": "sentence_transformer",
    "base": "",
    "base.evaluation": "evaluation",
    "base.modules": "models",
    "cross_encoder.CrossEncoder": "cross_encoder",
    "cross_encoder.evaluation": "evaluation",
    "cross_encoder.losses": "cross_encoder_losses",
    "cross_encoder.model": "cross_encoder",
    "cross_encoder.trainer": "training.trainer",
    "cross_encoder.training_args": "training.training_arguments",
    "model_card": "training.training_arguments",
    "quantization": "util",
    "sentence_transformer.evaluation": "evaluation",
    "sentence_transformer.losses": "losses",
    "sentence_transformer.model": "sentence_transformer",
    "sentence_transformer.model_card": "training.training_arguments",
    "sentence_transformer.modules": "models",
    "sentence_transformer.trainer": "training.trainer",
    "sentence_transformer.training_args": "training.training_arguments",
    "similarity_functions": "util",
    "trainer": "training.trainer",
    "training_args": "training.training_arguments",
    **{f"util.{name}": "util" for name in ("environment", "quantization", "retrieval", "similarity", "tensor")},
}
"""Maps each submodule to the module of this package that provides its names."""


class Alias(ModuleType):
    """A module with the names of another module, which is imported when a name is first looked up."""

    def __init__(self, name: str, home: str) -> None:
        super().__init__(name, f"The names of {home}, as in sentence-transformers.")
        self.__spec__ = ModuleSpec(name, None, is_package=True)
        self.__path__: list[str] = []  # so that imports of submodules reach `MissingSubmodules`
        self.__dict__["__getattr__"] = lambda attribute: _attribute(name, home, attribute)
        self.__dict__["__dir__"] = lambda: dir(import_module(home))


def _attribute(alias: str, home: str, name: str) -> Any:
    if name.startswith("__") and home not in sys.modules:  # for tools that inspect every module
        raise AttributeError(f"{alias} has no {name!r}")
    return getattr(import_module(home), name)


def add_submodules(package: str) -> None:
    """Make the submodules importable from a package, without importing the modules they stand for."""
    for name, home in SUBMODULES.items():
        if (package, name) != (OURS, home):  # a module of this package needs no alias
            sys.modules[f"{package}.{name}"] = Alias(f"{package}.{name}", f"{OURS}.{home}".rstrip("."))
    sys.meta_path.append(MissingSubmodules(package))


class MissingSubmodules(MetaPathFinder):
    """Explains why a submodule of this package cannot be imported; runs after all other finders."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:  # noqa: ARG002
        if name.startswith(f"{self.package}."):
            raise ModuleNotFoundError(
                f"{name} is not part of likewise's replacement for sentence-transformers; {PAGE} lists the supported "
                "submodules",
                name=name,
            )
