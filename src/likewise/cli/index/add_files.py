"""`likewise index add`: the passages of files into an index; what is there already is not embedded again."""

import argparse
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from ...model_files.names import DEFAULT_MODEL
from ...wording import counted
from ..model_options import add_model
from ..output import print_json
from .opening import add_location, opened_with_model

if TYPE_CHECKING:
    from ...search.texts.adding import AddReport
    from ...search.texts.text_index import TextIndex

EPILOG = """examples:
  likewise index add notes.index notes/
  likewise index add papers.index "papers/**/*.html" -m all-MiniLM-L6-v2
  likewise index add questions.index questions.csv --column title
  likewise index add books.index books/*.txt --txt document --chunk 150 --overlap 30
  likewise index add code.index docs/ --no-headings

Markdown (.md), HTML, .pdf, .docx, .rst, .org and .adoc files are documents; each row of .csv, .tsv, .jsonl and .parquet
is one, with its other columns as metadata for --filter; each line of a .txt is one, unless --txt document. PDF and Word
files need the extra documents: likewise doctor shows how to install it. Front matter of Markdown is metadata; a page's
navigation, header and footer are left out. Documents are cut into passages at headings
and sentences. What is embedded of a passage is "title > heading: text", what is stored is the text alone, and its title
and headings are metadata; --no-headings embeds the text alone.

What is not read is listed at the end, by kind and with the reason. A file that is broken or encrypted is named, the
others are added, and the exit code is 1; what the index had of that file stays.

An index has one model. The first call chooses it (-m), later calls use it. Files that were added before are compared
with the index: what is unchanged is kept, what is new is embedded, what is gone is deleted. Each block of passages is
stored whole or not at all; stopped, the same command goes on where it was."""
FAILED = 1
"""The exit code if a file could not be read, and the others were added."""


def add(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The action's options."""
    parser = actions.add_parser("add", description="Adds files to an index.", epilog=EPILOG)
    add_location(parser)
    parser.add_argument("files", metavar="FILE", nargs="+", help="files, folders, or patterns such as 'notes/**/*.md'")
    parser.add_argument("--column", metavar="NAME", help="column of the texts, in files with columns")
    parser.add_argument(
        "--txt",
        choices=("lines", "document"),
        default="lines",
        help="whether each line of a .txt is a text, or the file is one document (default: %(default)s)",
    )
    parser.add_argument(
        "--chunk", type=int, metavar="TOKENS", help="most tokens of a passage (default: 200, or the model's limit)"
    )
    parser.add_argument(
        "--overlap",
        type=int,
        default=0,
        metavar="TOKENS",
        help="most tokens that a passage repeats of the one before it, in whole sentences (default: %(default)s)",
    )
    parser.add_argument(
        "--headings",
        action=argparse.BooleanOptionalAction,
        help="embed passages behind their titles and headings, or without them (default: as the index was made; a new "
        "one is made with them)",
    )
    parser.add_argument("--json", action="store_true", help="print a summary as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress and no summary")
    add_model(parser, f"the index's own; for a new one {DEFAULT_MODEL}")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Add the files."""
    from ...files.document_paths import SkippedFile, skipped_as_json, skipped_lines
    from ...files.documents import estimated_count, read_documents
    from ...text.chunking import ChunkSettings

    whole = args.txt == "document"
    total = estimated_count(args.files, whole=whole)  # first, because it refuses what cannot be read
    size = ChunkSettings.size if args.chunk is None else args.chunk
    chunking = ChunkSettings(size, args.overlap) if args.chunk is not None or args.overlap else None
    with opened_with_model(args, read_only=False, chunking=chunking, headings=args.headings) as index:
        began = time.perf_counter()
        skipped: list[SkippedFile] = []
        documents = read_documents(args.files, args.column, whole=whole, skip=skipped.append)
        report = index.add(documents, show_progress_bar=not args.quiet, total=total)
        seconds = time.perf_counter() - began
        if args.json:
            about = {"skipped": skipped_as_json(skipped), "seconds": round(seconds, 3)}
            print_json({**asdict(report), **_about(index), **about})
        elif not args.quiet:
            print(f"{args.location}: {_summary(report, index)}, {seconds:.1f} s", file=sys.stderr)
    failed = [file for file in skipped if file.is_error]
    if not args.json:
        for line in skipped_lines(failed if args.quiet else skipped):
            print(line, file=sys.stderr)
    return FAILED if failed else 0


def _about(index: "TextIndex") -> dict[str, object]:
    model = index.index.model
    about = {"model": model and model.name, "fingerprint": model and model.fingerprint, "headings": index.headings}
    return {"passages": len(index.index), **about}


def _summary(report: "AddReport", index: "TextIndex") -> str:
    documents = counted(report.documents, "document")
    parts = [f"{counted(report.added, 'passage')} of {documents} added", f"{report.unchanged:,} unchanged"]
    parts += [f"{report.deleted:,} deleted"] if report.deleted else []
    return f"{', '.join(parts)}; {len(index.index):,} in all"
