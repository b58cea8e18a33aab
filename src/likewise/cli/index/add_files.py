"""Adds files to an index."""

import argparse
import time
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING

from ...errors import BadInput
from ...model_files.names import DEFAULT_MODEL
from ...wording import counted
from ..model_options import add_model
from ..output import note, print_result
from ..parser import options
from .opening import add_location, check_durable, opened_with_model

if TYPE_CHECKING:
    from ...search.texts.adding import AddReport
    from ...search.texts.text_index import TextIndex

EPILOG = """examples:
  likewise index add notes.index notes/
  likewise index add papers.index "papers/**/*.html" -m all-MiniLM-L6-v2
  likewise index add questions.index questions.csv --column title
  likewise index add books.index books/*.txt --txt document --chunk 150 --overlap 30
  likewise index add code.index docs/ --no-headings

Each Markdown (.md), HTML, .pdf, .docx, .rst, .org or .adoc file is a document. Each row of a .csv, .tsv, .jsonl or
.parquet file is also a document, and its other columns become metadata for --filter. Each line of a .txt file is a
document too, unless you use --txt document. PDF and Word files need the extra "documents"; likewise doctor shows how to
install it. Markdown front matter becomes metadata. The navigation, header and footer of an HTML page are dropped.
Documents are split into passages at headings and sentences. A passage is embedded as "title > heading: text"; only the
text is stored, with the title and headings as metadata. --no-headings embeds the text alone.

Files that could not be read are listed at the end, by kind and with the reason, and rows without text are counted. If a
file is broken or encrypted, or has a bad row, none of it is added: it is reported, the other files are added, and the
exit code is 1. Any passages already in the index from that file stay. If no file can be read, nothing changes and the
exit code is 2.

All passages of an index are embedded by one model, which the first call chooses (-m). Files that were added before are
compared with the index: unchanged passages are kept, new ones embedded, and missing ones deleted. Each block of
passages is stored whole or not at all; after an interruption, run the same command again to resume."""


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add_location(add)
    add("FILE", "files, folders, or patterns such as 'notes/**/*.md'", dest="files", nargs="+")
    add("--column NAME", "column with the texts, for files that have columns")
    lines = "whether each line of a .txt file is a text, or the whole file is one document"
    add("--txt", lines, "lines", choices=("lines", "document"))
    add("--chunk TOKENS", "maximum number of tokens in a passage (default: 200, or the model's limit)")
    overlap = "maximum number of tokens, in whole sentences, repeated from the previous passage"
    add("--overlap TOKENS", overlap, 0)
    headings = "embed passages with or without their titles and headings in front (default: as in the existing index; "
    add("--headings", f"{headings}with them in a new one)", action=argparse.BooleanOptionalAction)
    add("--json", "print a summary as JSON")
    add("-q --quiet", "show no progress and no summary")
    add_model(parser, f"the index's own; for a new index, {DEFAULT_MODEL}")


def run(args: argparse.Namespace) -> int:
    from ...files.document_paths import SkippedFile, skipped_as_json, skipped_lines
    from ...files.documents import estimated_count, read_documents
    from ...text.chunking import ChunkSettings

    whole = args.txt == "document"
    total = estimated_count(args.files, whole=whole)  # first, because this rejects what cannot be read
    check_durable(args.location)
    size = ChunkSettings.size if args.chunk is None else args.chunk
    ChunkSettings(size, args.overlap)  # raises before a model is loaded
    skipped: list[SkippedFile] = []
    documents = read_documents(args.files, args.column, whole=whole, skip=skipped.append)
    first = next(documents, None)
    if first is None:  # all files were tried, so the error comes before an index is created
        raise BadInput("\n".join(file.reason for file in skipped if file.is_error))
    settings = {"chunk": args.chunk, "overlap": args.overlap, "headings": args.headings}
    with opened_with_model(args, read_only=False, **settings) as index:
        began = time.perf_counter()
        report = index.add(chain([first], documents), show_progress_bar=not args.quiet, total=total)
        seconds = time.perf_counter() - began
        about = {"skipped": skipped_as_json(skipped), "seconds": round(seconds, 3)}
        summary = f"{args.location}: {_summary(report, index)}, {seconds:.1f} s"
        print_result(args, {**asdict(report), **_about(index), **about}, summary, note)
    failed = [file for file in skipped if file.is_error]
    if not args.json:
        for line in skipped_lines(failed if args.quiet else skipped):
            note(line)
    return 1 if failed else 0


def _about(index: "TextIndex") -> dict[str, object]:
    model = index.index.model
    about = {"model": model and model.name, "fingerprint": model and model.fingerprint, "headings": index.headings}
    return {"passages": len(index.index), **about}


def _summary(report: "AddReport", index: "TextIndex") -> str:
    documents = counted(report.documents, "document")
    parts = [f"{counted(report.added, 'passage')} of {documents} added", f"{report.unchanged:,} unchanged"]
    parts += [f"{report.deleted:,} deleted"] if report.deleted else []
    return f"{', '.join(parts)}; {len(index.index):,} in total"
