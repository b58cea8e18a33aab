"""Statistics of the source, measured on its syntax trees (`make stats`), and a check that fails beyond the limits.

python -m benchmarks.stats            prints each number with its limit
python -m benchmarks.stats --check    also lists the places that exceed a limit, and then exits with status 1
"""

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "likewise"
LIMITS = {
    "function lines, median": 6,
    "function lines, 90th percentile": 16,
    "function lines, longest": 50,
    "parameters, most": 7,
    "modules in import cycles": 0,
    "modules in cycles, lazy imports counted": 0,
    "public names with two homes": 0,
}
FREE_NAMES = ("add", "run", "main")
"""Names that several modules share by design: `add(parser)` and `run(arguments)`, the interface of every command, and
`main`, the entry points of the process and of the command line."""
FOREIGN = "likewise.integrations.sentence_transformers"
"""The drop-in is not counted, because its names and parameters come from another library."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A parsed file of the package."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def package(self) -> str:
        """The package from which its relative imports start."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


def modules(source: Path = SOURCE) -> dict[str, Module]:
    """Parse every module of the package; keys are dotted names."""
    results = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        results[name] = Module(name, path, ast.parse(path.read_text("utf-8")))
    return results


def functions(module: Module) -> Iterator[Function]:
    """Yield all functions and methods, including nested functions."""
    return (node for node in ast.walk(module.tree) if isinstance(node, Function))


def length(function: Function) -> int:
    """Count a function's lines of code, from `def` to its end, without the docstring."""
    first = function.body[0]
    documented = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


def parameters(function: Function) -> int:
    """Count the parameters that a caller sees, without `self` and `cls`."""
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def imports(module: Module, known: Mapping[str, Module], *, lazy: bool) -> set[str]:
    """Return the package's modules that this module imports; imports inside functions count only if `lazy`."""
    skipped = set() if lazy else {id(node) for f in functions(module) for node in ast.walk(f)}
    skipped |= {id(node) for block in _type_checking(module.tree) for node in ast.walk(block)}
    targets: set[str] = set()
    for node in ast.walk(module.tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom):
            base = _base(node, module)
            targets |= {f"{base}.{a.name}" if f"{base}.{a.name}" in known else base for a in node.names}
        elif isinstance(node, ast.Import):
            targets |= {a.name for a in node.names}
    return (targets & {*known}) - {module.name}


def _base(node: ast.ImportFrom, module: Module) -> str:
    if not node.level:
        return node.module or ""
    parts = module.package.split(".")
    parts = parts[: len(parts) - node.level + 1]
    return ".".join([*parts, *([node.module] if node.module else [])])


def _type_checking(tree: ast.Module) -> list[ast.If]:
    return [
        n for n in tree.body if isinstance(n, ast.If) and isinstance(n.test, ast.Name) and n.test.id == "TYPE_CHECKING"
    ]


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Find groups of modules with circular imports (Tarjan 1972)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in order:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == order[name]:
            at = stack.index(name)
            group, stack[at:] = stack[at:], []
            if len(group) > 1:
                groups.append(sorted(group))

    sys.setrecursionlimit(10_000)
    for name in sorted(graph):
        if name not in order:
            visit(name)
    return groups


def public_homes(known: Mapping[str, Module]) -> dict[str, list[str]]:
    """Return the names of public classes and functions, each with the modules that define it."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module in (module for module in known.values() if not module.name.startswith(FOREIGN)):
        for node in module.tree.body:
            if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(module.name)
    return {name: places for name, places in homes.items() if name not in FREE_NAMES}


def measure(known: Mapping[str, Module]) -> tuple[dict[str, float], dict[str, list[str]]]:
    """Measure each number in `LIMITS`, and find the places that exceed its limit."""
    every = [(m, f) for m in known.values() for f in functions(m)]
    own = [(m, f) for m, f in every if not m.name.startswith(FOREIGN)]
    lengths = [length(f) for _, f in every]
    eager = cycles({n: imports(m, known, lazy=False) for n, m in known.items()})
    lazy = cycles({n: imports(m, known, lazy=True) for n, m in known.items()})
    homes = {name: places for name, places in public_homes(known).items() if len(places) > 1}
    figures = {
        "function lines, median": median(lengths),
        "function lines, 90th percentile": quantiles(lengths, n=10)[-1],
        "function lines, longest": max(lengths),
        "parameters, most": max(parameters(f) for _, f in own),
        "modules in import cycles": sum(map(len, eager)),
        "modules in cycles, lazy imports counted": sum(map(len, lazy)),
        "public names with two homes": len(homes),
    }
    places = {
        "function lines, longest": [
            _where(m, f, length(f)) for m, f in every if length(f) > LIMITS["function lines, longest"]
        ],
        "parameters, most": [_where(m, f, parameters(f)) for m, f in own if parameters(f) > LIMITS["parameters, most"]],
        "modules in import cycles": [" ↔ ".join(group) for group in eager],
        "modules in cycles, lazy imports counted": [" ↔ ".join(group) for group in lazy],
        "public names with two homes": [f"{name}: {', '.join(at)}" for name, at in sorted(homes.items())],
    }
    return figures, places


def _where(module: Module, function: Function, value: int) -> str:
    return f"{module.path.relative_to(SOURCE)}:{function.lineno} {function.name} ({value})"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the numbers; with --check, return 1 if any exceeds its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="list all places that exceed a limit, and then exit 1")
    options = parser.parse_args(argv)
    figures, places = measure(modules())
    exceeded = [name for name, limit in LIMITS.items() if figures[name] > limit]
    for name, limit in LIMITS.items():
        print(f"{name:40} {figures[name]:>5g}   limit {limit}")
    for name in exceeded:
        for place in places.get(name, ()):
            print(f"{name}: {place}", file=sys.stderr)
    return 1 if options.check and exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
