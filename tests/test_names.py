"""Every name that a function reads is there. (Shapes in annotations keep ruff and mypy from looking.)"""

import builtins
import dis
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

import likewise
from likewise.errors import MissingExtra

LIBRARY = "likewise.engines.native.likewise_native"
"""The compiled library lies where a module would, and is none."""
MODULES = [found.name for found in pkgutil.walk_packages(likewise.__path__, "likewise.") if found.name != LIBRARY]


def globals_of(code: CodeType) -> Iterator[str]:
    """The global names that this code and all code inside it read."""
    yield from (step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from globals_of(inner)


@pytest.mark.parametrize("name", MODULES)
def test_every_name_is_defined(name):
    try:
        module = importlib.import_module(name)
    except (ImportError, MissingExtra) as error:
        pytest.skip(f"it wants a package that is not here: {error}")
    source = Path(module.__file__).read_text("utf-8")
    code = compile(source, module.__file__, "exec", dont_inherit=True)
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    known = {*vars(module), *vars(builtins), "__class__", "__annotations__"}
    classes = {n for c in inner for n in c.co_names if "__module__" in c.co_names}  # a class's body sees its own names
    missing = {n for n in globals_of(code) if n not in known and n not in classes}
    assert not missing, f"{name} reads {', '.join(sorted(missing))}"
