"""A drop-in for sentence-transformers: its classes and functions, computed by this library.

>>> from likewise.integrations.sentence_transformers import SentenceTransformer, util
>>> model = SentenceTransformer("likewise-mini")
>>> util.cos_sim(model.encode("A cat sleeps."), model.encode("A kitten naps."))           # doctest: +SKIP

An application changes this line; a library that imports sentence-transformers itself gets this package in its place
after `stand_in()`. docs/drop-in.md lists what is not served.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

from ...errors import BadInput
from ...runtime.lazy_imports import lazy_names

if TYPE_CHECKING:
    from . import models, util
    from .cross_encoder import CrossEncoder
    from .sentence_transformer import SentenceTransformer
    from .util import SimilarityFunction, quantize_embeddings

__all__ = [
    "CrossEncoder",
    "SentenceTransformer",
    "SimilarityFunction",
    "models",
    "quantize_embeddings",
    "stand_in",
    "util",
]
__version__ = "6.2.0"
"""The version of sentence-transformers whose signatures these are."""

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "cross_encoder": ["CrossEncoder"],
        "sentence_transformer": ["SentenceTransformer", "SimilarityFunction", "quantize_embeddings"],
        "models": [],
        "util": [],
    },
    ["__version__", "stand_in"],
)

PEER = "sentence_transformers"
PARTS = {
    "": "",
    "util": "util",
    "cross_encoder": "cross_encoder",
    "models": "models",
    "SentenceTransformer": "sentence_transformer",
}
"""Modules that are imported by name, and the modules here."""


def stand_in() -> ModuleType:
    """Lets `import sentence_transformers` give the drop-in, in this process, whether that library is installed or not.

    Called before the library that imports it:

    >>> from likewise.integrations.sentence_transformers import stand_in
    >>> stand_in()                                                              # doctest: +SKIP
    >>> from bertopic import BERTopic                                           # doctest: +SKIP

    Raises:
        BadInput: sentence-transformers itself is imported already.
    """
    package = sys.modules[__name__]
    present = sys.modules.get(PEER)
    if present is not None and present.__dict__.get("drop_in") is package:
        return present
    if present is not None:
        raise BadInput(f"{PEER} is imported already; call stand_in() before whatever imports it")
    for theirs, ours in PARTS.items():
        name = f"{PEER}.{theirs}".rstrip(".")
        sys.modules[name] = _alias(name, import_module(f"{__name__}.{ours}".rstrip(".")))
    sys.modules[PEER].__dict__["drop_in"] = package
    return sys.modules[PEER]


def _alias(name: str, home: ModuleType) -> ModuleType:
    """A module of this name whose attributes are those of another."""
    alias = ModuleType(name, home.__doc__)
    alias.__spec__ = ModuleSpec(name, None, is_package=name == PEER)
    alias.__path__ = []  # so that what is missing in it is a ModuleNotFoundError
    alias.__dict__["__getattr__"] = lambda attribute: getattr(home, attribute)
    alias.__dict__["__dir__"] = lambda: dir(home)
    return alias
