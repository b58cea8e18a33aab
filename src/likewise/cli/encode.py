"""`likewise encode`: a file of texts to a file of vectors."""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from .model_options import add_model, load_from_options

EXAMPLES = """examples:
  likewise encode sentences.txt -o vectors.npy
  likewise encode reviews.csv --column body -o vectors.parquet --overflow mean
  likewise encode - -o vectors.jsonl < lines.txt

Texts come from .txt (a line each), .csv, .tsv, .jsonl or .parquet; a blank line of a .txt, or of a .csv with one
column, is an empty text, so that vectors match rows. Vectors go to .npy (N × E, float32),
.parquet or .jsonl (text and vector). The file appears when all is done, or not at all."""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "encode",
        help="a file of texts to a file of vectors",
        description="Turns texts into vectors, in the order given.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="where the texts are; - reads lines from standard input")
    parser.add_argument("-o", "--out", metavar="OUT", type=Path, required=True, help="where the vectors go")
    parser.add_argument("--column", help="the column of the texts, where there are several")
    parser.add_argument("--prompt", metavar="TEXT", help="a text to put before every text, as it is (default: none)")
    parser.add_argument(
        "--prompt-name", metavar="NAME", help="one of the model's own prompts, by name (default: the model's default)"
    )
    parser.add_argument(
        "--overflow",
        choices=("warn", "error", "truncate", "mean"),
        default="warn",
        help="texts longer than the model reads: cut and say so, refuse, cut, or read in windows (%(default)s)",
    )
    parser.add_argument("--batch-tokens", type=int, help="tokens of one batch; chosen by device")
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress and no summary")
    add_model(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Streams texts through the model into the file."""
    from ..errors import BadInput
    from ..files import Texts, check_output, writer
    from ..files.read import standard_input
    from .sources import input_files

    check_output(args.out, input_files(args.file))
    if args.batch_tokens is not None and args.batch_tokens < 1:
        raise BadInput(f"--batch-tokens is {args.batch_tokens}; wanted 1 or more")
    texts: Iterable[str] = standard_input() if args.file == "-" else Texts(Path(args.file), args.column)
    embedder = load_from_options(args)
    about = {"model": args.model, "fingerprint": embedder.fingerprint, "precision": embedder.precision}
    began, rows = time.perf_counter(), 0
    taken: list[str] = []
    with writer(args.out, embedder.width, about) as write:
        stream = embedder.encode_stream(
            _remembered(texts, taken) if args.file == "-" else _Remembered(texts, taken),
            prompt=args.prompt,
            prompt_name=args.prompt_name,
            overflow=args.overflow,
            progress=not args.quiet,
            batch_tokens=args.batch_tokens,
        )
        for block in stream:
            write(taken[: len(block)], block)
            del taken[: len(block)]
            rows += len(block)
    seconds = time.perf_counter() - began
    told = {"out": str(args.out), "rows": rows, "width": embedder.width, "seconds": round(seconds, 3), **about}
    if args.json:
        print(json.dumps(told))
    elif not args.quiet:
        rate = rows / seconds
        print(f"{args.out}: {rows:,} × {embedder.width} in {seconds:.1f} s ({rate:,.0f} texts/s)", file=sys.stderr)
    return 0


def _remembered(texts: Iterable[str], taken: list[str]) -> Iterator[str]:
    """The texts, each also noted down, so that its vector can be written beside it."""
    for text in texts:
        taken.append(text)
        yield text


class _Remembered:
    """The same for texts that can be counted."""

    def __init__(self, texts: Iterable[str], taken: list[str]) -> None:
        self.texts, self.taken = texts, taken

    def __iter__(self) -> Iterator[str]:
        return _remembered(self.texts, self.taken)

    def __len__(self) -> int:
        return len(self.texts)  # type: ignore[arg-type]
