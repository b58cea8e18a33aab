"""likewise dissect: how words move through a model's layers, and whether SBERT-WK is safe on it."""

import argparse
import ast
import json
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import BadInput
from ...runtime.atomic_files import atomic_file, check_not_input, check_writable_folder
from ...runtime.installation import missing_extra
from ...runtime.lazy_imports import require_torch
from ..model_options import output_folder
from ..output import print_json

if TYPE_CHECKING:
    from ...explain import Anatomy, WordImportance

SAMPLE_MODULES = (
    *("argparse", "ast", "asyncio/tasks", "collections/__init__", "contextlib", "csv", "_pydatetime", "_pydecimal"),
    *(
        "difflib",
        "email/message",
        "enum",
        "fractions",
        "functools",
        "heapq",
        "http/client",
        "inspect",
        "logging/__init__",
    ),
    *("mailbox", "pickle", "random", "shutil", "smtplib", "socket", "statistics", "string", "subprocess", "tarfile"),
    *("tempfile", "textwrap", "threading", "typing", "unittest/case", "zipfile/__init__"),
)
"""Files of Python's standard library whose docstrings are read where no texts are given."""
SAMPLE_SIZE = 300
LISTED_WORDS = 12


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = verbs.add_parser(
        "dissect",
        help="how words move through a model's layers",
        description="Measures, on plain text without labels, how words move through the layers of a model: which "
        "layers are alike, what each adds, which words SBERT-WK finds important, and whether that is safe.",
    )
    parser.add_argument("model", help="a name or a folder")
    parser.add_argument("--texts", type=Path, metavar="FILE", help="one text a line, a few hundred are good")
    parser.add_argument("--window", type=int, default=2, help="neighbouring layers on either side (2)")
    parser.add_argument(
        "-o", "--output", type=output_folder, metavar="FOLDER", help="write pictures (PNG, PDF) and JSON here"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    require_torch("likewise dissect")
    from ...explain import anatomy
    from ...model_names import load_torch_embedder

    if args.output:
        _check_output(args.output, args.texts)
    texts = read_lines(args.texts) if args.texts else sample()
    found = anatomy(load_torch_embedder(args.model), texts, window=args.window)
    told = {"model": args.model, **found.as_dict()}
    if args.json:
        print_json(told, indent=None)
    else:
        print(anatomy_report(found, Path(args.model).name))
    if args.output:
        written = draw_pictures(found, args.output, Path(args.model).name)
        with atomic_file(args.output / "anatomy.json") as partial:
            partial.write_text(json.dumps(told, ensure_ascii=False) + "\n", "utf-8")
        if not args.json:
            print("\nWritten: " + ", ".join(str(path) for path in [*written, args.output / "anatomy.json"]))
    return 0


def anatomy_report(found: "Anatomy", name: str) -> str:
    """The anatomy as text for a terminal of 80 columns or more."""
    return "\n\n".join(
        [
            f"{name}: {len(found.novelty)} layers with the embeddings, measured on {found.texts:,} texts, "
            f"{found.tokens:,} word pieces",
            "Cosine of a word at one layer with itself at another\n" + _matrix(found),
            "Layer by layer\n" + _layers(found),
            f"Importance of words in SBERT-WK from layer {found.start} (1 is an equal share of the sentence)\n"
            + _words(found),
            "\n".join(f"· {line}" for line in found.advice),
        ]
    )


def _matrix(found: "Anatomy") -> str:
    count = range(len(found.similarity))
    head = "     " + "".join(f"{k:>5}" for k in count)
    rows = (f"{k:>5}" + "".join(f"{cosine:5.2f}" for cosine in row) for k, row in enumerate(found.similarity))
    return "\n".join([head, *rows])


def _layers(found: "Anatomy") -> str:
    rows = ["layer  novelty  alignment  anisotropy  context  ρ(importance, idf) from here on"]
    columns = zip(found.novelty, found.alignment, found.anisotropy, found.context, strict=True)
    for k, (novelty, alignment, anisotropy, context) in enumerate(columns):
        rho = f"{found.by_start[k]:+9.2f}" if k in found.by_start else ""
        rows.append(f"{k:>5}{novelty:9.2f}{alignment:11.2f}{anisotropy:12.2f}{context:9.2f}{rho}")
    return "\n".join(rows)


def _words(found: "Anatomy") -> str:
    def told(title: str, words: "tuple[WordImportance, ...]") -> str:
        return f"  {title}  " + ", ".join(f"{word.piece} {word.importance:.2f}" for word in words)

    return "\n".join([told("largest", found.words[:LISTED_WORDS]), told("least  ", found.words[-LISTED_WORDS:][::-1])])


def _check_output(folder: Path, texts: Path | None) -> None:
    """What would be a pity to learn after the work."""
    _import_plots()
    check_writable_folder(folder)
    check_not_input(folder / "anatomy.json", [texts] if texts else [])


def draw_pictures(found: "Anatomy", folder: Path, title: str) -> list[Path]:
    return _import_plots().draw_anatomy(found, folder, title)  # type: ignore[no-any-return]


def _import_plots() -> Any:
    try:
        from ...explain import plots
    except ImportError:
        raise missing_extra("matplotlib", "map", "drawing pictures") from None
    return plots


def read_lines(path: Path) -> list[str]:
    """The file's lines that hold text."""
    try:
        if not path.is_file():  # a pipe or a device might never end
            found = f"{path} is no regular file" if path.exists() else f"there is no file {path}"
            raise BadInput(f"{found}; wanted plain text, one sentence a line")
        lines = path.read_text("utf-8").splitlines()
    except (UnicodeDecodeError, OSError) as error:
        raise BadInput(f"{path} cannot be read as UTF-8 text: {error}") from None
    return [line.strip() for line in lines if line.strip()]


def sample(count: int = SAMPLE_SIZE) -> list[str]:
    """Sentences from the docstrings of Python's own modules, the same ones each time; none of them is run."""
    found = list(dict.fromkeys(sentence for module in SAMPLE_MODULES for sentence in _sentences(module)))
    step = max(1, len(found) // count)
    return found[::step][:count]


def _sentences(module: str) -> Iterator[str]:
    """First sentences of the docstrings of one module that look like prose."""
    source = Path(sysconfig.get_path("stdlib")) / f"{module}.py"
    if not source.is_file():  # it has another name in this version of Python
        return
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef | ast.Module):
            first = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
            if 6 <= len(first.split()) <= 30 and first.endswith(".") and not set("<>{}=_`*|\\") & set(first):
                yield first
