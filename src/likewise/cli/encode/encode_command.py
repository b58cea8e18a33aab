"""`likewise encode`: texts of files to a file of vectors, or to a folder of shards (`into_folder`)."""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ...runtime.progress import format_rate
from ...wording import counted
from ..model_options import add_model, add_overflow, load_from_options
from ..sources import input_files
from ..texts.text_file import FORMATS, STDIN, read_texts
from .into_folder import add_folder_options, check_no_folder_options, names_folder, origin_from_options, run_into_folder

if TYPE_CHECKING:
    from ...embedder import Embedder

EPILOG = f"""examples:
  likewise encode sentences.txt -o vectors.npy
  likewise encode reviews.csv --column body -o vectors.parquet --overflow mean
  likewise encode sentences.txt -o vectors.npy -m all-MiniLM-L6-v2
  likewise encode - -o vectors.jsonl < lines.txt
  likewise encode archive/ "more/*.jsonl.gz" --column body --id key -o vectors/

{FORMATS}

Into one file, named by its ending; it appears when all texts are encoded, or not at all, and begins again when it was
stopped. Every row is a text, so that vectors match rows: a blank line of a .txt, or of a .csv with one column, is an
empty text.
  .npy      an array of float32, one row per text
  .jsonl    one object per text: text, vector
  .parquet  the columns text and vector
The model, its fingerprint and the options are recorded: in Parquet, else beside the file, in OUT.origin.json.

Into a folder, named without an ending or with a / at its end, for texts of any number: files, folders and patterns are
read in order, and written as shards of Parquet with the columns id, text, vector and the other columns. Memory stays
constant. Stopped or killed, the same command goes on where it was, to the same bytes. First all sources are read once,
so that a row that cannot be used is found before hours of work. likewise verify checks the result."""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "encode",
        description="Encodes texts into vectors, in the order given.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="file of texts: .txt, .csv, .tsv, .jsonl (each also .gz, .zst) or .parquet; - reads standard input; for a "
        "folder as output also several, folders, and patterns such as 'notes/**/*.csv'",
    )
    parser.add_argument("--column", metavar="NAME", help="column of the texts, if the files have several")
    parser.add_argument(
        "-o", "--output", metavar="OUT", required=True, help="file to write: .npy, .jsonl or .parquet; or a folder"
    )
    parser.add_argument("--prompt", metavar="TEXT", help="text to put before every text (default: the model's own)")
    parser.add_argument(
        "--prompt-name", metavar="NAME", help="name of one of the model's prompts, in place of --prompt"
    )
    add_overflow(parser)
    parser.add_argument(
        "--batch-tokens", type=int, metavar="N", help="most tokens in a batch (default: chosen by the device)"
    )
    parser.add_argument("--json", action="store_true", help="print a summary as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress and no summary")
    add_folder_options(parser)
    add_model(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Stream the texts through the model into the file, or the folder."""
    from ...errors import BadInput

    if args.batch_tokens is not None and args.batch_tokens < 1:
        raise BadInput(f"--batch-tokens is {args.batch_tokens}; expected 1 or more")
    if names_folder(args.output):
        return run_into_folder(args)
    check_no_folder_options(args)
    args.file, args.output = args.files[0], Path(args.output)
    return _run_into_file(args)


def _run_into_file(args: argparse.Namespace) -> int:
    from ...files import check_output

    check_output(args.output, input_files(args.file))
    texts = read_texts(args.file, args.column)
    embedder = load_from_options(args)
    start = time.perf_counter()
    rows = _encode_into_file(embedder, texts, args)
    seconds = time.perf_counter() - start
    if args.json:
        summary = {"output": str(args.output), "rows": rows, "seconds": round(seconds, 3)}
        print(json.dumps({**summary, **origin_from_options(embedder, args).as_json()}))
    elif not args.quiet:
        rate = format_rate(rows, seconds, "texts")
        speed = f"{seconds:.1f} s" + (f" ({rate})" if rate else "")
        print(f"{args.output}: {counted(rows, 'vector')} of {embedder.dimension} numbers in {speed}", file=sys.stderr)
    return 0


def _encode_into_file(embedder: "Embedder", texts: Iterable[str], args: argparse.Namespace) -> int:
    """Write texts and vectors block by block; returns the number of rows."""
    from ...files import writer
    from ...files.vector_origin import write_origin

    rows, pending = 0, list[str]()  # texts whose vectors are still to come
    recorded = _recorded(texts, pending) if args.file == STDIN else _Recorded(texts, pending)
    origin = origin_from_options(embedder, args)
    with writer(args.output, embedder.dimension, origin.metadata()) as write:
        for block in embedder.encode_stream(
            recorded,
            prompt=args.prompt,
            prompt_name=args.prompt_name,
            overflow=args.overflow,
            show_progress_bar=not args.quiet,
            batch_tokens=args.batch_tokens,
        ):
            write(pending[: len(block)], block)
            del pending[: len(block)]
            rows += len(block)
    if args.output.suffix.lower() != ".parquet":
        write_origin(args.output, origin)
    return rows


def _recorded(texts: Iterable[str], pending: list[str]) -> Iterator[str]:
    """The texts, each also appended to `pending`, so that its vector can be written with it."""
    for text in texts:
        pending.append(text)
        yield text


class _Recorded:
    """The same for texts that can be counted."""

    def __init__(self, texts: Iterable[str], pending: list[str]) -> None:
        self.texts, self.pending = texts, pending

    def __iter__(self) -> Iterator[str]:
        return _recorded(self.texts, self.pending)

    def __len__(self) -> int:
        return len(self.texts)  # type: ignore[arg-type]
