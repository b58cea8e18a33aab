"""How shapes are checked in the tests: by beartype, in functions and dataclasses whose annotations name some.

All others are left to mypy: jaxtyping around every call doubled the time of the suite.
"""

import ast
import re
from pathlib import Path

from beartype import BeartypeConf, beartype
from jaxtyping import _import_hook, install_import_hook

shaped = beartype(conf=BeartypeConf(is_pep484_tower=True))  # an int may stand where a float is wanted
SOURCE = Path(__file__).parents[1] / "src" / "likewise"
ARRAY = r"\b(Bool|Float|Int|Integer|Shaped|UInt)\d*\["
ALIASES = {name for path in SOURCE.rglob("*.py") for name in re.findall(rf"^(\w+) = .*{ARRAY}", path.read_text(), re.M)}
SHAPE = re.compile(rf"{ARRAY}|\b({'|'.join(sorted(name for name, *_ in ALIASES))})\b")


class Transformer(_import_hook.JaxtypingTransformer):
    """Decorates functions and classes that name a shape."""

    def visit(self, node: ast.AST) -> ast.AST | None:
        match node:
            case ast.FunctionDef():
                annotations = [node.args, node.returns]
            case ast.ClassDef():
                annotations = [one.annotation for one in node.body if isinstance(one, ast.AnnAssign)]
            case _:
                return super().visit(node)
        return super().visit(node) if names_a_shape(*annotations) else self.generic_visit(node)


def names_a_shape(*annotations: ast.AST | None) -> bool:
    return any(SHAPE.search(ast.unparse(one)) for one in annotations if one is not None)


def check_shapes() -> None:
    """From here on, check the shapes of what is imported of likewise."""
    _import_hook.JaxtypingTransformer = Transformer
    install_import_hook("likewise", "tests.checks.shaped")
