"""Small slips in a source file, one per mutant: what a tired programmer might have typed instead.

Slips are found in the syntax tree, but each edits only the source text of one node, so a survivor can be shown as one
line. Parts that no test should pin down are left out: docstrings, messages of errors and warnings, other texts,
annotations, decorators, `__repr__` and the stack level of warnings.
"""

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path

Node = ast.AST
ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"


@dataclass(frozen=True)
class Mutant:
    """A file with one slip: the bytes from `start` to `end` are replaced by `new`."""

    area: str
    file: str  # relative to src; for native/, relative to the repository
    line: int
    last: int
    kind: str
    start: int
    end: int
    old: str
    new: str

    @property
    def path(self) -> Path:
        """The path of the file."""
        return (ROOT if self.file.startswith("native/") else SOURCE) / self.file

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}:{self.start}:{self.kind}:{self.new}"

    def text(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


def mutants(area: str, file: str, source: str) -> Iterator[Mutant]:
    """Yield every slip of a file, in the order of its lines."""
    lines = source.encode().splitlines(keepends=True)
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line))
    raw = source.encode()
    for node, kind, new in _slips(ast.parse(source)):
        start = begins[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = begins[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        yield Mutant(area, file, node.lineno, node.end_lineno, kind, start, end, raw[start:end].decode(), new)  # type: ignore[attr-defined]


def reach(source: str, line: int) -> set[int]:
    """Return the lines that a line that runs at import affects: the function or class that it belongs to, or all uses
    of the names that it assigns.
    """
    tree = ast.parse(source)
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    around = [n for n in ast.walk(tree) if isinstance(n, kinds) and n.lineno <= line <= (n.end_lineno or 0)]
    if around:
        inner = max(around, key=lambda n: n.lineno)
        return set(range(inner.lineno, (inner.end_lineno or 0) + 1))
    assigned = [n for n in tree.body if n.lineno <= line <= (n.end_lineno or 0)]
    names = {t.id for n in assigned for t in ast.walk(n) if isinstance(t, ast.Name) and isinstance(t.ctx, ast.Store)}
    return {n.lineno for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in names}


def is_another(mutant: Mutant, source: bytes) -> bool:
    """Whether the mutant parses to a program different from the source."""
    try:
        return ast.dump(ast.parse(mutant.text(source))) != _dumped(source)
    except SyntaxError:
        return False


@cache
def _dumped(source: bytes) -> str:
    return ast.dump(ast.parse(source))


def of_folder(area: str, folder: Path, below: Path) -> list[Mutant]:
    """Return all mutants of the files in a folder, or of one file."""
    files = [folder] if folder.suffix == ".py" else sorted(folder.rglob("*.py"))
    return [
        mutant
        for path in files
        for mutant in mutants(area, path.relative_to(below).as_posix(), path.read_text("utf-8"))
    ]


def _slips(tree: ast.Module) -> Iterator[tuple[Node, str, str]]:
    """Yield each slip: its node, its kind and the node's new text."""
    tests = {id(test) for node in ast.walk(tree) for test in _tests(node)}
    for node in _walked(tree):
        if id(node) in tests and isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.NamedExpr):
            yield node, "condition", f"(not ({ast.unparse(node)}))"
        for kind, change in KINDS.items():
            for new in change(node):
                yield node, kind, new


def _walked(node: Node) -> Iterator[Node]:
    """Yield the nodes that may contain a slip."""
    yield node
    for child in _children(node):
        yield from _walked(child)


def _children(node: Node) -> Iterator[Node]:
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return
        case ast.FunctionDef(name="__repr__" | "__str__"):
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from (node.args, *_body(node.body))
        case ast.ClassDef():
            yield from _body(node.body)
        case ast.arguments():
            yield from (default for default in (*node.defaults, *node.kw_defaults) if default is not None)
        case ast.AnnAssign():
            yield from [node.value] if node.value is not None else []
        case ast.Assign() if isinstance(node.targets[0], ast.Name) and _is_type(node.value):
            return
        case ast.Assert():
            yield node.test
        case ast.keyword(arg=str() as name) if name in OF_NO_RESULT:
            return
        case ast.Call() if _called(node) in ("warn", "cast", "TypeVar"):
            return
        case ast.If() if _is_type_checking(node.test):
            yield from node.orelse
        case ast.Module():
            yield from _body(node.body)
        case _:
            yield from ast.iter_child_nodes(node)


OF_NO_RESULT = ("stacklevel", "strict", "copy", "parents", "exist_ok", "ignore_errors", "allow_pickle", "indent")
"""Keywords that guard against errors, save time or format JSON, but change no result, such as `zip(…, strict=True)`."""


def _body(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements, except docstrings and other string statements."""
    for one in statements:
        if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)):
            yield one


def _is_type(value: ast.expr) -> bool:
    """Whether the value is a type alias, such as `Callable[[…], …]`, `Float[np.ndarray, "N D"]` or `A | B`."""
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, ast.BitOr) and (_is_type(value.left) or _is_type(value.right))
    head = value.value if isinstance(value, ast.Subscript) else value
    return isinstance(head, ast.Name) and head.id in TYPES


TYPES = ("Callable", "Mapping", "Sequence", "Literal", "Float", "Int", "Bool", "Shaped", "Iterator", "Iterable")
TYPES += ("tuple", "list", "dict", "str", "int", "float", "Real", "Union", "Optional", "UInt", "Num")


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _with(node: Node, **changes: object) -> str:
    """Return the source of a node with changed fields; expressions are parenthesized."""
    made = deepcopy(node)
    for name, value in changes.items():
        setattr(made, name, value)
    text = ast.unparse(made)
    return f"({text})" if isinstance(node, ast.expr) and not isinstance(node, ast.Call | ast.Constant) else text


ORDER: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


def _comparison(node: Node) -> Iterator[str]:
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            for other in ORDER[type(op)]:
                yield _with(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])


def _arithmetic(node: Node) -> Iterator[str]:
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not _of_text(node):
        yield _with(node, op=ARITHMETIC[type(node.op)]())
    if isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC and not _of_text(node.value):
        yield _with(node, op=ARITHMETIC[type(node.op)]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield f"({ast.unparse(node.operand)})"


def _of_text(node: ast.expr) -> bool:
    """Whether the node is a concatenation of texts, whose wording no test should pin down."""
    return any(isinstance(n, ast.JoinedStr) or _is_text(n) for n in ast.walk(node))


def _is_text(node: Node) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _constant(node: Node) -> Iterator[str]:
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield str(not node.value)
    elif isinstance(node.value, int):
        yield from (str(node.value + 1), *([str(node.value - 1)] if node.value > 0 else []))
    elif isinstance(node.value, float):
        yield repr(node.value * 2 if node.value else 1.0)


def _off_by_one(node: Node) -> Iterator[str]:
    """Change the end of a slice or a range by one, unless it is a literal number (which `_constant` changes)."""
    if isinstance(node, ast.Slice):
        for name in ("lower", "upper"):
            edge = getattr(node, name)
            if edge is not None and not isinstance(edge, ast.Constant):
                yield ast.unparse(ast.Slice(**{**_parts(node), name: ast.BinOp(edge, ast.Add(), ast.Constant(1))}))
    if isinstance(node, ast.Call) and _called(node) in ("range", "arange") and node.args:
        place = min(1, len(node.args) - 1)
        edge = node.args[place]
        if not isinstance(edge, ast.Constant | ast.Starred):
            more = ast.BinOp(edge, ast.Sub(), ast.Constant(1))
            yield _with(node, args=[*node.args[:place], more, *node.args[place + 1 :]])


def _parts(node: ast.Slice) -> dict[str, ast.expr | None]:
    return {"lower": node.lower, "upper": node.upper, "step": node.step}


def _dropped(node: Node) -> Iterator[str]:
    """Remove a statement whose absence is not an error in itself."""
    match node:
        case ast.Expr(value=ast.Call()) if _called(node.value) != "warn":
            yield "pass"
        case ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break() | ast.Delete():
            yield "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "pass"
        case ast.Call(keywords=[*_, ast.keyword(arg=str() as name, value=ast.Constant(value=value))]):
            if name not in OF_NO_RESULT and not isinstance(value, str):
                yield _with(node, keywords=node.keywords[:-1])


def _swapped(node: Node) -> Iterator[str]:
    if isinstance(node, ast.Call) and len(node.args) > 1 and not _of_text(node):
        first, second, *others = node.args
        stars = any(isinstance(x, ast.Starred) for x in (first, second))
        if not stars and ast.dump(first) != ast.dump(second) and _called(node) not in CANNOT_SWAP:
            yield _with(node, args=[second, first, *others])


CANNOT_SWAP = ("isinstance", "issubclass", "hasattr", "getattr", "cast")
CANNOT_SWAP += (
    "transpose",
    "swapaxes",
    "min",
    "max",
    "minimum",
    "maximum",
    "equal",
    "array_equal",
    "gcd",
    "promote_types",
    "result_type",
)
"""Functions for which swapping the arguments raises an error immediately or makes no difference."""


def _condition(node: Node) -> Iterator[str]:
    match node:
        case ast.UnaryOp(op=ast.Not()):
            yield f"({ast.unparse(node.operand)})"
        case ast.BoolOp():
            yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.IfExp():
            yield _with(node, body=node.orelse, orelse=node.body)


def _tests(node: Node) -> list[ast.expr]:
    """Return the conditions of `if`, `while` and comprehensions."""
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return [node.test]
    return node.ifs if isinstance(node, ast.comprehension) else []


KINDS: dict[str, Callable[[Node], Iterator[str]]] = {
    "comparison": _comparison,
    "arithmetic": _arithmetic,
    "constant": _constant,
    "off by one": _off_by_one,
    "dropped": _dropped,
    "swapped arguments": _swapped,
    "condition": _condition,
}
"""The kinds of slips: functions from a node to its possible replacements."""
