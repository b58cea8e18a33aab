"""What is private in torch is used in one file; everywhere else in the package only what torch documents."""

import ast
from pathlib import Path

import pytest
import torch

import likewise
from likewise.encoders import torch_internals

SOURCE = Path(likewise.__file__).parent
HOME = "encoders/torch_internals.py"
PRIVATE_OF_OBJECTS = ("_version", "_apply", "_parameters", "_buffers", "_modules")
OVERRIDDEN = "_apply"


def private_uses(text):
    """The private names of torch that a file uses, by line."""
    tree = ast.parse(text)
    results = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            private = name.startswith(("torch._", "torch.ops")) and not name.startswith("torch.__")
            own = ast.unparse(node.value) == "self"  # a class of ours may have such a name
            if private or (node.attr in PRIVATE_OF_OBJECTS and not own):
                results.append(f"{node.lineno}: {name}")
        elif isinstance(node, ast.FunctionDef) and node.name == OVERRIDDEN:
            results.append(f"{node.lineno}: def {node.name}")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "torch":
            parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            results += [f"{node.lineno}: {part}" for part in parts if part.startswith("_") or part == "ops"]
    return results


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_private_names_of_torch_are_used_in_one_file(path):
    result = private_uses(path.read_text("utf-8"))
    assert bool(result) == (path == SOURCE / HOME), result


@pytest.mark.parametrize(
    "line",
    ["torch._foreach_mul_(x, 2)", "torch.ops.aten.gelu_(x)", "w._version", "from torch._C import x", "m._apply(f)"],
)
def test_each_kind_of_use_is_noticed(line):
    assert private_uses(line)


def test_operations_on_lists_of_tensors_are_those_on_each():
    x, a, b = ([torch.rand(3) + 1 for _ in range(2)] for _ in range(3))
    for operation, arguments, each in (
        ("lerp_", (a, 0.25), lambda x, a, b: x + 0.25 * (a - x)),
        ("mul_", (3.0,), lambda x, a, b: 3 * x),
        ("add_", (3.0,), lambda x, a, b: 3 + x),
        ("addcmul_", (a, b, 0.5), lambda x, a, b: x + 0.5 * a * b),
        ("addcdiv_", (a, b, 0.5), lambda x, a, b: x + 0.5 * a / b),
    ):
        changed = [one.clone() for one in x]
        torch_internals.foreach(operation, changed, *arguments)
        torch.testing.assert_close(changed, [each(*three) for three in zip(x, a, b, strict=True)])
    torch.testing.assert_close(list(torch_internals.foreach("sqrt", x)), [one.sqrt() for one in x])
