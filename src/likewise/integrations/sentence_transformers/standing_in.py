"""For libraries that import sentence-transformers themselves: from here on they get the drop-in."""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

from ...errors import BadInput

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
    package = import_module(__package__)
    present = sys.modules.get(PEER)
    if present is not None and present.__dict__.get("drop_in") is package:
        return present
    if present is not None:
        raise BadInput(f"{PEER} is imported already; call stand_in() before whatever imports it")
    for theirs, ours in PARTS.items():
        name = f"{PEER}.{theirs}".rstrip(".")
        sys.modules[name] = _alias(name, import_module(f"{__package__}.{ours}".rstrip(".")))
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
