"""Writes a model with int8 weights (about a quarter of the size of fp32), which the native engine uses directly, and
measures on held-out text how much its vectors change.
"""

import argparse
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import BelowBar
from ..model_options import MODEL, add_threads, new_model_folder
from ..output import print_json
from ..parser import options
from ..terminal_tables import printable, table

if TYPE_CHECKING:
    from ...engines.int8.quantize import QuantizationResult

EPILOG = """examples:
  likewise model quantize all-MiniLM-L6-v2 -o minilm-int8
  likewise model quantize ./my-model -o my-model-int8 --json
  likewise model quantize ./my-model -o my-model-int8 --bar 0.99,0.95
  likewise encode sentences.txt -m ./minilm-int8 --precision int8 -o vectors.npy

Matrix multiplications are smoothed (SmoothQuant), as they are when a model is loaded with --precision int8. The int8
vectors of the written model are then compared with the original fp32 vectors on texts that come with the package.

output columns:
  mean cosine       mean over texts of the cosine between the vectors before and after quantizing
  least cosine      cosine for the text whose vector changed most
  rank correlation  Spearman's ρ between all pairs' cosines before and after quantizing

Only likewise can read the folder, and it can do so in any precision. If a cosine is below --bar, nothing is written and
the exit code is 2; --bar=-1,-1 always writes the folder."""


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add("MODEL", MODEL)
    add("-o --output FOLDER", "folder for the new model", type=new_model_folder, required=True)
    bar = "minimum mean cosine and least cosine; below them, nothing is written (default: 0.997,0.97)"
    add("--bar MEAN,LEAST", bar, type=bar_of)
    add("--json", "print the results as JSON")
    add_threads(add)


def bar_of(text: str) -> tuple[float, float]:
    """The two cosines given to --bar."""
    try:
        mean, least = map(float, text.split(","))
    except ValueError:
        mean = least = math.nan
    if not (-1 <= mean <= 1 and -1 <= least <= 1):
        raise argparse.ArgumentTypeError(f"{text!r} is not a pair of cosines, mean and least, such as 0.99,0.95")
    return mean, least


def run(args: argparse.Namespace) -> int:
    from ...engines.int8.quantize import Bar, quantize
    from ...model_names import load_named_embedder
    from ...runtime.progress import StatusLine

    line = StatusLine()
    model = load_named_embedder(args.model, engine="native")
    try:
        result = quantize(model, args.output, bar=Bar(*(args.bar or ())), callback=line)
    except BelowBar as refusal:
        _show(args, refusal.result)
        raise
    finally:
        line.close("measured")
    _show(args, result)
    return 0


def record(model: str, result: "QuantizationResult") -> dict[str, Any]:
    return {
        "model": model,
        "output": str(result.folder),
        "written": result.written,
        "bar": asdict(result.bar),
        "fidelity": {
            name: {key: None if value != value else value for key, value in asdict(found).items()}  # JSON has no NaN
            for name, found in result.fidelity.items()
        },
        "bytes_before": result.bytes_before,
        "bytes_after": result.bytes_after,
        "smoothed": result.smoothed,
    }


def _show(args: argparse.Namespace, result: "QuantizationResult") -> None:
    if args.json:
        print_json(record(args.model, result))
        return
    rows = table("", ">texts", ">mean cosine", ">least cosine", ">rank correlation")
    for name, one in result.fidelity.items():
        cosines = (f"{one.mean_cosine:.5f}", f"{one.least_cosine:.5f}")
        rows.add_row(name, f"{one.texts:,}", *cosines, f"{one.rank_correlation:.5f}")
    printable(rows)
    print(f"\nbar        mean cosine {result.bar.mean_cosine}, least cosine {result.bar.least_cosine}, overall")
    print(f"smoothed   {result.smoothed} matrix multiplications")
    print(f"weights    {result.bytes_before / 1e6:.1f} MB → {result.bytes_after / 1e6:.1f} MB")
    if result.written:
        print(f"written to {result.folder}")
        print(f'to use it  Embedder.load({str(Path(result.folder))!r}, engine="native", precision="int8")')
