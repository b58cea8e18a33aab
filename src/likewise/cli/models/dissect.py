"""Measures on unlabelled text how words change through a model's layers: which layers are similar, what each layer
adds, which words SBERT-WK considers important, and whether SBERT-WK is safe to use.
"""

import argparse
import ast
import json
import sysconfig
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import BadInput
from ...runtime.atomic_files import atomic_file, check_not_input, check_writable_folder
from ...wording import counted
from ..model_options import output_folder
from ..output import plot_module, print_json
from ..parser import options
from ..texts.text_file import check_column, read_texts

if TYPE_CHECKING:
    from ...explain import Anatomy

SAMPLE_MODULES = """argparse ast asyncio/tasks collections/__init__ contextlib csv _pydatetime _pydecimal difflib
email/message enum fractions functools heapq http/client inspect logging/__init__ mailbox pickle random shutil smtplib
socket statistics string subprocess tarfile tempfile textwrap threading typing unittest/case zipfile/__init__"""
"""Standard-library modules whose docstrings provide the default texts."""
SAMPLE_SIZE = 300
LISTED_WORDS = 12
LEGEND = """novelty     0 to 1: the fraction of a word's vector at this layer that its neighbouring layers do not span
alignment   −1 to 1: mean cosine between a word's vector at this layer and its vectors at neighbouring layers
anisotropy  mean cosine between words of different sentences: near 0 they differ, near 1 all point the same way
context     mean cosine between words of one sentence, minus the anisotropy: how much a word reflects its sentence
ρ           rank correlation of SBERT-WK's word importance with idf, from this layer upwards: above 0
            rare words, which carry content, weigh most; below 0, common words do
importance  a word's weight in SBERT-WK relative to an equal share in its sentence"""


EPILOG = "output columns:\n" + textwrap.indent(LEGEND, "  ")
PLOTS, PICTURES = "explain.plots", "drawing pictures"


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add("MODEL", "a model's name or folder")
    add("--texts FILE", "file of a few hundred texts (default: Python's documentation)", type=Path)
    add("--column NAME", "column that contains the texts, if there are several")
    add("-o --output FOLDER", "folder to write pictures (PNG, PDF) and JSON to", type=output_folder)
    add("--json", "print JSON instead of text")


def run(args: argparse.Namespace) -> int:
    from ...explain import anatomy
    from ...model_names import load_named_embedder

    if args.output:
        plot_module(PLOTS, PICTURES)
        check_writable_folder(args.output)
        check_not_input(args.output / "anatomy.json", [args.texts] if args.texts else [])
    check_column(args)
    texts = read_sample(args.texts, args.column) if args.texts else sample()
    measured = anatomy(load_named_embedder(args.model), texts)
    record = {"model": args.model, **measured.as_dict()}
    if args.json:
        print_json(record, indent=None)
    else:
        print(anatomy_report(measured, Path(args.model).name))
    if args.output:
        written = plot_module(PLOTS, PICTURES).draw_anatomy(measured, args.output, Path(args.model).name)
        with atomic_file(args.output / "anatomy.json") as partial:
            partial.write_text(json.dumps(record, ensure_ascii=False) + "\n", "utf-8")
        if not args.json:
            print("\nWritten: " + ", ".join(str(path) for path in [*written, args.output / "anatomy.json"]))
    return 0


def anatomy_report(measured: "Anatomy", name: str) -> str:
    """The dissection as text for a terminal with at least 80 columns."""
    return "\n\n".join(
        [
            f"{name}: {len(measured.novelty)} layers including the embeddings, measured on "
            f"{counted(measured.texts, 'text')}, {counted(measured.tokens, 'word piece')}",
            "Cosine between a word at one layer and the same word at another\n" + _matrix(measured),
            "Layer by layer (layer 0 is the embeddings)\n" + _layers(measured),
            LEGEND,
            f"Importance of words in SBERT-WK from layer {measured.start} (1 means an equal share of the sentence)\n"
            + _words(measured),
            "\n".join(f"· {line}" for line in measured.advice),
        ]
    )


def _matrix(measured: "Anatomy") -> str:
    count = range(len(measured.similarity))
    head = "     " + "".join(f"{k:>5}" for k in count)
    rows = (f"{k:>5}" + "".join(f"{cosine:5.2f}" for cosine in row) for k, row in enumerate(measured.similarity))
    return "\n".join([head, *rows])


def _layers(measured: "Anatomy") -> str:
    rows = ["layer  novelty  alignment  anisotropy  context  ρ(importance, idf) from this layer"]
    columns = zip(measured.novelty, measured.alignment, measured.anisotropy, measured.context, strict=True)
    for k, (novelty, alignment, anisotropy, context) in enumerate(columns):
        rho = f"{measured.by_start[k]:+9.2f}" if k in measured.by_start else ""
        rows.append(f"{k:>5}{novelty:9.2f}{alignment:11.2f}{anisotropy:12.2f}{context:9.2f}{rho}")
    return "\n".join(rows)


def _words(measured: "Anatomy") -> str:
    chosen = {"largest ": measured.words[:LISTED_WORDS], "smallest": measured.words[-LISTED_WORDS:][::-1]}
    lines = (", ".join(f"{word.piece} {word.importance:.2f}" for word in words) for words in chosen.values())
    return "\n".join(f"  {title}  {line}" for title, line in zip(chosen, lines, strict=True))


def read_sample(path: Path, column: str | None) -> list[str]:
    """The non-blank texts in the file, at least one."""
    texts = [text.strip() for text in read_texts(str(path), column) if text.strip()]
    if not texts:
        raise BadInput(f"{path} contains only blank texts; expected a few hundred texts")
    return texts


def sample(count: int = SAMPLE_SIZE) -> list[str]:
    """Sentences from the docstrings of Python's own modules, always the same ones; nothing is imported."""
    sentences = list(dict.fromkeys(sentence for module in SAMPLE_MODULES.split() for sentence in _sentences(module)))
    step = max(1, len(sentences) // count)
    return sentences[::step][:count]


def _sentences(module: str) -> Iterator[str]:
    """The first sentence of each docstring in a module, if it looks like prose."""
    source = Path(sysconfig.get_path("stdlib")) / f"{module}.py"
    if not source.is_file():  # the module was renamed in this version of Python
        return
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef | ast.Module):
            first = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
            if 6 <= len(first.split()) <= 30 and first.endswith(".") and not set("<>{}=_`*|\\") & set(first):
                yield first
