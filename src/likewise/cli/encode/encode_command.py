"""Encodes texts into vectors, keeping their order."""

import argparse
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ...runtime.arguments import whole_number
from ...runtime.progress import format_rate
from ...wording import counted
from ..model_options import add_model, add_overflow, load_from_options
from ..output import note, print_result
from ..parser import options
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

To write a single file, give a name with one of the suffixes below. The file appears only once all texts are encoded; an
interrupted run starts over. Every row is a text, so that vectors match rows: a blank line in a .txt file, or in a .csv
file with one column, is an empty text.
  .npy      an array of float32, one row per text
  .jsonl    one object per text: text, vector
  .parquet  the columns text and vector
The model, its fingerprint and the options are recorded in the Parquet file, or in OUT.origin.json next to it.

To write a folder, which can hold any number of texts, give a name without a suffix or ending in /. Files, folders and
patterns are read in order and written as Parquet shards with the columns id, text, vector and the other columns. Memory
use stays constant. To resume an interrupted run, repeat the same command; the result is the same, byte for byte. All
sources are first read once, so that a bad row is found before hours of work. To check the result: likewise verify."""


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    files = "file of texts: .txt, .csv, .tsv, .jsonl (also .gz or .zst) or .parquet; - reads standard input; if "
    files += "OUT is a folder, you can give several files, folders, and patterns such as 'notes/**/*.csv'"
    add("FILE", files, dest="files", nargs="+")
    add("--column NAME", "column that contains the texts, if there are several")
    add("-o --output OUT", "file to write: .npy, .jsonl or .parquet; or a folder", required=True)
    add("--prompt TEXT", "text to prepend to every text (default: the model's own prompt)")
    add("--prompt-name NAME", "name of one of the model's prompts, instead of --prompt")
    add_overflow(add)
    add("--batch-tokens N", "maximum number of tokens in a batch (default: depends on the device)")
    add("--json", "print a summary as JSON")
    add("-q --quiet", "show no progress and no summary")
    add_folder_options(options(parser, "output to a folder"))
    add_model(parser)


def run(args: argparse.Namespace) -> int:
    if args.batch_tokens is not None:
        whole_number("--batch-tokens", args.batch_tokens)
    if names_folder(args.output):
        return run_into_folder(args)
    check_no_folder_options(args)
    from ...files import check_output

    args.file, args.output = args.files[0], Path(args.output)
    check_output(args.output, input_files(args.file))
    texts = read_texts(args.file, args.column)
    embedder = load_from_options(args)
    start = time.perf_counter()
    rows = _encode_into_file(embedder, texts, args)
    seconds = time.perf_counter() - start
    summary = {"output": str(args.output), "rows": rows, "seconds": round(seconds, 3)}
    rate = format_rate(rows, seconds, "texts")
    speed = f"{seconds:.1f} s" + (f" ({rate})" if rate else "")
    text = f"{args.output}: {counted(rows, 'vector')} of {embedder.dimension} dimensions in {speed}"
    print_result(args, {**summary, **origin_from_options(embedder, args).as_json()}, text, note, indent=None)
    return 0


def _encode_into_file(embedder: "Embedder", texts: Iterable[str], args: argparse.Namespace) -> int:
    from ...files import writer
    from ...files.vector_origin import remove_origin, write_origin

    rows, pending = 0, list[str]()  # pending: texts that are still waiting for their vectors
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
            remove_origin(args.output)
    if args.output.suffix.lower() != ".parquet":
        write_origin(args.output, origin)
    return rows


def _recorded(texts: Iterable[str], pending: list[str]) -> Iterator[str]:
    """Yield the texts, appending each one to `pending` so that it can be written with its vector."""
    for text in texts:
        pending.append(text)
        yield text


class _Recorded:
    """The same as `_recorded`, for texts whose number is known."""

    def __init__(self, texts: Iterable[str], pending: list[str]) -> None:
        self.texts, self.pending = texts, pending

    def __iter__(self) -> Iterator[str]:
        return _recorded(self.texts, self.pending)

    def __len__(self) -> int:
        return len(self.texts)  # type: ignore[arg-type]
