"""`likewise cluster`: groups of similar texts with names, their assignments as a file, and a map."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...wording import counted, counted_of
from .. import calibration_options
from ..model_options import add_model, add_overflow, load_from_options
from ..output import print_json
from ..sources import input_files
from .cluster_output import MAPS, check_map, layout_name, show_clusters, write_map
from .significant_pairs import significant_pairs
from .text_file import FORMATS, TextRows, add_file, check_rows_file, read_text_rows, write_rows

if TYPE_CHECKING:
    from ...calibrate import Calibration, CutOff
    from ...cluster import ClusterSummary
    from ...cluster.clusterings import ClusterOptions

EPILOG = f"""examples:
  likewise cluster questions.csv --column title
  likewise cluster questions.csv --column title -k 20 -o clustered.csv --map map.html
  likewise cluster sentences.txt --method communities --threshold 0.7 --json
  likewise cluster sentences.txt --method ward -k 12 --map map.png
  likewise cluster sentences.txt --method complete --calibration calibration.json --fdr 0.05

methods:
  average      merges the two clusters with the highest mean cosine (-k or --threshold; default: 0.4)
  complete     the same by the least cosine of any pair (-k or --threshold; default: 0.3)
  ward         merges where squared distances to centres grow least (-k)
  kmeans       spherical k-means: each text goes to the nearest of k centres (-k)
  communities  texts near a centre, the densest groups first (--threshold; default: 0.6)
  hdbscan      dense regions of any shape after t-SNE; needs scikit-learn (neither)

{FORMATS}

Equal texts are clustered once, blank ones not at all; a size counts distinct texts. A name consists of the words that
are frequent in a cluster and rare elsewhere. -o writes all rows with two more columns, cluster (1 is the largest, empty
for rows in none) and cluster_name. average, complete and ward keep a matrix of distances: 800 MB for 10,000 texts.

With --fdr the threshold is the cosine from which on pairs are more similar than chance (likewise calibrate).

A map in HTML is one file that needs no network: zoom, search, and click on a cluster to single it out."""

SHOWN = 20
CLUSTER, NAME = "cluster", "cluster_name"  # columns of -o


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "cluster",
        description="Groups the texts of a file by similarity, and names each group by the words that mark it.",
        epilog=EPILOG,
    )
    add_file(parser)
    parser.add_argument("--method", default="average", metavar="NAME", help="method, see below (default: %(default)s)")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("-k", type=int, metavar="N", help="number of clusters")
    amount.add_argument(
        "--threshold", type=float, metavar="X", help="cosine (-1 to 1) at which clusters end (default: the method's)"
    )
    parser.add_argument(
        "--min-size",
        type=int,
        metavar="N",
        help="dissolve clusters with fewer texts (default: the method's, 1 with -k)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of kmeans, hdbscan and the map (default: 0)"
    )
    parser.add_argument(
        "--max-memory", type=float, default=4.0, metavar="GB", help="GB that distances may take (default: %(default)s)"
    )
    calibration_options.add_calibration(parser, "groups of texts")
    _add_output(parser)
    add_overflow(parser)
    add_model(parser)
    parser.set_defaults(run=run)


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="file to write all rows to, with their clusters: .csv, .tsv, .jsonl or .parquet",
    )
    group.add_argument("--map", metavar="FILE", type=Path, help=f"draw a map into a file: {', '.join(MAPS)}")
    group.add_argument(
        "--layout", metavar="NAME", help="places of texts on the map: t-sne or pca (default: t-sne if installed)"
    )
    group.add_argument(
        "--show", type=int, default=SHOWN, metavar="N", help="number of clusters to show (default: %(default)s)"
    )
    group.add_argument("--json", action="store_true", help="print all clusters as JSON")
    group.add_argument("-q", "--quiet", action="store_true", help="show no progress and no clusters")


def run(args: argparse.Namespace) -> int:
    """Cluster the texts, print the clusters, write the rows and the map."""
    from ...cluster import describe_clusters
    from ...cluster.clusterings import check_count, cluster_with_options

    options = _checked(args)
    table = read_text_rows(args.file, args.column)
    _check_columns(table, args.output)
    distinct = list(dict.fromkeys(text for text in table.texts if text.strip()))
    if distinct:
        check_count(args.method, len(distinct), options)
    calibration, embedder = calibration_options.load_calibration(args), load_from_options(args)
    calibration_options.check_same_model(calibration, embedder, args.model)
    vectors = embedder.encode(distinct, overflow=args.overflow, show_progress_bar=not args.quiet and None)
    options, cut = _with_cut_off(args, options, vectors, calibration)
    labels = cluster_with_options(vectors, args.method, options)
    summaries = describe_clusters(distinct, vectors, labels)
    if args.output is not None:
        _write(args.output, table, dict(zip(distinct, labels.tolist(), strict=True)), summaries)
    if args.map is not None:
        write_map(args, distinct, vectors, labels, summaries)
    in_none = int((labels < 0).sum())
    if args.json:
        about = {"model": args.model, "fingerprint": embedder.fingerprint, **_settings(args, options)}
        counts = {"texts": len(table.texts), "distinct": len(distinct), "in_none": in_none}
        print_json(
            {
                **about,
                **counts,
                **calibration_options.cut_off_as_json(cut),
                "clusters": [_as_json(summary, distinct) for summary in summaries],
            }
        )
    elif not args.quiet:
        show_clusters(summaries, distinct, args.show)
        print(_summary(len(distinct), in_none, len(summaries), options.min_size, args), file=sys.stderr)
        if cut is not None:
            print(calibration_options.cut_off_in_words(cut), file=sys.stderr)
    return 0


def _with_cut_off(
    args: argparse.Namespace, options: "ClusterOptions", vectors: Any, calibration: "Calibration | None"
) -> "tuple[ClusterOptions, CutOff | None]":
    """The options with the threshold of --fdr: copies alone where no pair is more similar than chance."""
    if args.fdr is None or calibration is None:
        return options, None
    _, cut = significant_pairs(vectors, calibration, args.fdr, options.show_progress_bar)
    return replace(options, threshold=min(1.0, cut.cosine)), cut


def _checked(args: argparse.Namespace) -> "ClusterOptions":
    """What is asked for; what cannot be done is refused before the model is loaded."""
    from ...cluster.clusterings import checked_options
    from ...errors import BadInput

    calibration_options.check_calibration(args)
    if args.fdr is not None and (args.k is not None or args.threshold is not None):
        raise BadInput("--fdr chooses the threshold; expected it, -k or --threshold")
    options = checked_options(args.method, args.k, args.threshold if args.fdr is None else 1.0, args.min_size)
    if args.show < 0:
        raise BadInput(f"--show is {args.show}; expected 0 or more clusters")
    if not 0 < args.max_memory < float("inf"):
        raise BadInput(f"--max-memory is {args.max_memory}; expected a number of GB above 0")
    if args.seed < 0:
        raise BadInput(f"--seed is {args.seed}; expected 0 or more")
    if args.output is not None:
        check_rows_file(args.output, input_files(args.file))
    check_map(args)
    memory, progress = int(args.max_memory * 1e9), not args.quiet and None
    return replace(options, seed=args.seed, memory=memory, show_progress_bar=progress)


def _check_columns(table: TextRows, output: Path | None) -> None:
    from ...errors import BadInput

    taken = [name for name in (CLUSTER, NAME) if name in table.columns]
    if output is not None and output.suffix.lower() == ".txt":
        raise BadInput(f"{output} would hold texts alone; write their clusters to .csv, .tsv, .jsonl or .parquet")
    if output is not None and taken:
        raise BadInput(f"the file has a column {taken[0]!r} already, which -o would replace; give it another name")


def _write(output: Path, table: TextRows, label_of: dict[str, int], summaries: "list[ClusterSummary]") -> None:
    labels = [label_of.get(text, -1) for text in table.texts]
    columns: dict[str, list[Any]] = dict(table.columns)
    columns[CLUSTER] = [label + 1 if label >= 0 else None for label in labels]
    columns[NAME] = [summaries[label].name if label >= 0 else None for label in labels]
    write_rows(output, columns, table.text_column)


def _settings(args: argparse.Namespace, options: "ClusterOptions") -> dict[str, Any]:
    amount = {"k": options.k, "threshold": options.threshold, "min_size": options.min_size, "seed": options.seed}
    return {"method": args.method, **amount, **({"layout": layout_name(args)} if args.map is not None else {})}


def _as_json(summary: "ClusterSummary", texts: list[str]) -> dict[str, Any]:
    return {
        "cluster": summary.number + 1,
        "size": summary.size,
        "name": summary.name,
        "words": list(summary.words),
        "cosine": round(summary.cosine, 6),
        "central": [texts[row] for row in summary.central],
    }


def _summary(texts: int, in_none: int, clusters: int, least: int, args: argparse.Namespace) -> str:
    """How many texts are in how many clusters; where some are in none, also how small a cluster may be."""
    grouped = counted_of(texts - in_none, counted(texts, "distinct text"), "is", "are")
    written = "".join(f"; written: {path}" for path in (args.output, args.map) if path is not None)
    of, hint = (f" of {least} texts or more", "; for smaller ones: --min-size") if in_none and least > 1 else ("", "")
    return f"{grouped} in {counted(clusters, 'cluster')}{of} ({args.method}){hint}{written}"
