"""`likewise model quantize`: a model with int8 weights, measured on held-out text, refused if vectors moved too far."""

import argparse
import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import BelowBar
from ..model_options import MODEL, output_folder

if TYPE_CHECKING:
    from ...engines.int8.quantize import QuantizationResult

EPILOG = """examples:
  likewise model quantize all-MiniLM-L6-v2 -o minilm-int8
  likewise model quantize ./my-model -o my-model-int8 --json
  likewise model quantize ./my-model -o my-model-int8 --bar 0.99,0.95
  likewise encode sentences.txt -m ./minilm-int8 --precision int8 -o vectors.npy

Products whose inputs have outlier channels are smoothed where that brings the vectors of calibration text closer to
those in fp32. Then vectors computed in int8 from what was written are compared with the model's in fp32, on other text.
All texts come with the package.

columns of what is printed:
  mean cosine       between each text's vectors before and after
  least cosine      of the text that changed most
  rank correlation  Spearman's, between the cosines of all pairs of texts before and after

The folder is read by likewise only, in any precision. Below the bar nothing is written, and the exit code is 2."""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "quantize",
        description="Writes a model with weights in int8, about a quarter of fp32's size, which the native engine "
        "computes with as they are, and measures on held-out text how much its vectors change.",
        epilog=EPILOG,
    )
    add = parser.add_argument
    add("model", metavar="MODEL", help=MODEL)
    add("-o", "--output", type=output_folder, required=True, metavar="FOLDER", help="the folder of the new model")
    add(
        "--bar",
        type=bar_of,
        metavar="MEAN,LEAST",
        help="the mean and the least cosine below which nothing is written (default: 0.997,0.97)",
    )
    add("--force", action="store_true", help="write the folder even below the bar")
    add("--json", action="store_true", help="print the results as JSON")
    add("--threads", type=int, metavar="N", help="number of CPU threads (default: all that this process may use)")
    parser.set_defaults(run=run)


def bar_of(text: str) -> tuple[float, float]:
    """The two cosines of --bar."""
    try:
        mean, least = (float(part) for part in text.split(","))
    except ValueError:
        mean = least = math.nan
    if not (-1 <= mean <= 1 and -1 <= least <= 1):
        raise argparse.ArgumentTypeError(f"{text!r} is not a mean and a least cosine; expected, for example, 0.99,0.95")
    return mean, least


def run(args: argparse.Namespace) -> int:
    """Quantize, print the figures, and report what was written or why nothing was."""
    from ...engines.int8.fidelity import Bar
    from ...engines.int8.quantize import quantize
    from ...model_names import load_named_embedder
    from ...runtime.progress import StatusLine

    line = StatusLine()
    model = load_named_embedder(args.model, engine="native")
    try:
        result = quantize(model, args.output, bar=Bar(*(args.bar or ())), force=args.force, callback=line)
    except BelowBar as refusal:
        _show(args, refusal.result)
        raise
    finally:
        line.close("measured")
    _show(args, result)
    if not result.passed and not args.json:
        print("It is below the bar, and was written because of --force.", file=sys.stderr)
    return 0


def record(model: str, result: "QuantizationResult") -> dict[str, Any]:
    """The result as plain values."""
    return {
        "model": model,
        "output": str(result.folder),
        "written": result.written,
        "passed": result.passed,
        "bar": asdict(result.bar),
        "fidelity": {name: _finite(asdict(found)) for name, found in result.fidelity.items()},
        "bytes_before": result.bytes_before,
        "bytes_after": result.bytes_after,
        "smoothed": [
            {"block": one.block, "product": one.site, "error_before": one.error_before, "error_after": one.error_after}
            for one in result.smoothings
        ],
    }


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """The values with None for NaN, which JSON lacks."""
    return {name: None if value != value else value for name, value in values.items()}


def _show(args: argparse.Namespace, result: "QuantizationResult") -> None:
    if args.json:
        print(json.dumps(record(args.model, result), indent=2, ensure_ascii=False))
        return
    from ..terminal_tables import printable, table

    rows = table("", ">texts", ">mean cosine", ">least cosine", ">rank correlation")
    for name, one in result.fidelity.items():
        figures = (one.mean_cosine, one.least_cosine, one.rank_correlation)
        rows.add_row(name, f"{one.texts:,}", *(f"{figure:.5f}" for figure in figures))
    printable(rows)
    print(f"\nbar        mean cosine {result.bar.mean_cosine}, least cosine {result.bar.least_cosine}, overall")
    print(f"smoothed   {len(result.smoothings)} products")
    print(f"weights    {result.bytes_before / 1e6:.1f} MB → {result.bytes_after / 1e6:.1f} MB")
    if result.written:
        print(f"written to {result.folder}")
        print(f'to use it  Embedder.load({str(Path(result.folder))!r}, engine="native", precision="int8")')
