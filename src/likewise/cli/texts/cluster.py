"""Groups the texts in a file by similarity, and names each group by its distinctive words."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import BadInput
from ...runtime.arguments import known_name, whole_number
from ...runtime.atomic_files import check_new_file
from ...runtime.installation import install_hint, missing_extra
from ...runtime.plot_style import PICTURES
from ...wording import counted, counted_of
from .. import calibration_options
from ..model_options import add_model, add_overflow
from ..output import note, plot_module, print_json
from ..parser import options
from ..sources import input_files
from ..terminal_tables import excerpt, printable
from .text_file import FORMATS, TextRows, add_file, read_text_rows

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
  complete     the same, but with the highest minimum cosine (-k or --threshold; default: 0.3)
  ward         merges the two clusters for which squared distances to centres increase least (-k)
  kmeans       spherical k-means: assigns each text to the nearest of k centres (-k)
  communities  texts near a centre, densest groups first (--threshold; default: 0.6)
  hdbscan      dense regions of any shape after t-SNE; needs scikit-learn (neither -k nor --threshold)

{FORMATS}

Duplicate texts are clustered once and blank texts are ignored; sizes count distinct texts. A cluster is named by words
that are frequent in it and rare elsewhere. -o writes all rows with two more columns, cluster (1 is the largest; empty
for rows without a cluster) and cluster_name. average, complete and ward keep a distance matrix in memory: 800 MB for
10,000 texts.

With --fdr, the threshold is the cosine above which pairs are more similar than chance (likewise calibrate).

An HTML map is a single file that works offline: zoom, search, and click a cluster to isolate it."""

SHOWN = 20  # clusters listed
WIDEST = 140  # columns of the printed table
SLOW = 5000  # if there are more texts, a note announces t-SNE, because it takes long
CLUSTER, NAME = "cluster", "cluster_name"  # columns added by -o
MAPS = (".html", *PICTURES)


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add_file(add)
    add("--method NAME", "clustering method, from the list below", "average")
    amount = options(parser.add_mutually_exclusive_group())
    amount("-k N", "number of clusters")
    amount("--threshold X", "minimum cosine within a cluster, -1 to 1 (default: depends on the method)")
    add("--min-size N", "dissolve clusters with fewer texts (default: depends on the method; 1 with -k)")
    add("--seed N", "seed for kmeans, hdbscan and the map", 0)
    calibration_options.add_calibration(add, "groups of texts")
    add = options(parser, "output")
    written = "write all rows with their clusters to this file: .csv, .tsv, .jsonl or .parquet"
    add("-o --output FILE", written, type=Path)
    add("--map FILE", f"draw a map in this file: {', '.join(MAPS)}", type=Path)
    add("--layout NAME", "how to place texts on the map: t-sne or pca (default: t-sne if available)")
    add("--json", "print all clusters as JSON")
    add("-q --quiet", "show no progress and no clusters")
    add_overflow(add)
    add_model(parser)


def run(args: argparse.Namespace) -> int:
    from ...cluster import describe_clusters
    from ...cluster.clusterings import check_count, cluster_with_options

    chosen = _checked(args)
    table = read_text_rows(args.file, args.column)
    if args.output is not None and (taken := [name for name in (CLUSTER, NAME) if name in table.columns]):
        raise BadInput(f"the file already has a column {taken[0]!r}, which -o would overwrite; rename that column")
    distinct = list(dict.fromkeys(text for text in table.texts if text.strip()))
    if distinct:
        check_count(args.method, len(distinct), chosen)
    embedder, calibration = calibration_options.load_with_calibration(args)
    vectors = embedder.encode(distinct, overflow=args.overflow, show_progress_bar=not args.quiet and None)
    chosen, cut = _with_cut_off(args, chosen, vectors, calibration)
    labels = cluster_with_options(vectors, args.method, chosen)
    summaries = describe_clusters(distinct, vectors, labels)
    if args.output is not None:
        _write(args.output, table, dict(zip(distinct, labels.tolist(), strict=True)), summaries)
    if args.map is not None:
        _write_map(args, distinct, vectors, labels, summaries)
    in_none = int((labels < 0).sum())
    if args.json:
        about = {"model": args.model, "fingerprint": embedder.fingerprint, "method": args.method}
        about |= {name: getattr(chosen, name) for name in ("k", "threshold", "min_size", "seed")}
        about |= {"layout": _layout_name(args)} if args.map is not None else {}
        counts = {"texts": len(table.texts), "distinct": len(distinct), "in_none": in_none}
        clusters = [_as_json(summary, distinct) for summary in summaries]
        print_json({**about, **counts, **calibration_options.cut_off_as_json(cut), "clusters": clusters})
    elif not args.quiet:
        show_clusters(summaries, distinct)
        note(_summary(len(distinct), in_none, len(summaries), chosen.min_size, args))
        if cut is not None:
            note(calibration_options.cut_off_in_words(cut))
    return 0


def _with_cut_off(
    args: argparse.Namespace, chosen: "ClusterOptions", vectors: Any, calibration: "Calibration | None"
) -> "tuple[ClusterOptions, CutOff | None]":
    """The options with the threshold from --fdr; if no pair is more similar than chance, only copies form clusters."""
    if calibration is None:
        return chosen, None
    _, cut = calibration_options.significant_pairs(vectors, calibration, args.fdr, chosen.show_progress_bar)
    return replace(chosen, threshold=min(1.0, cut.cosine)), cut


def _checked(args: argparse.Namespace) -> "ClusterOptions":
    from ...cluster.clusterings import CLUSTERINGS, checked_options
    from ...files import check_table

    calibration_options.check_calibration(args, without_rate=False)
    if args.fdr is not None and (args.k is not None or args.threshold is not None):
        raise BadInput("--fdr sets the threshold; expected only one of --fdr, -k and --threshold")
    if args.fdr is not None and "threshold" not in CLUSTERINGS[known_name("method", args.method, CLUSTERINGS)].by:
        usable = ", ".join(name for name, row in CLUSTERINGS.items() if "threshold" in row.by)
        raise BadInput(f"--fdr sets the threshold, but --method {args.method} has none; expected one of {usable}")
    chosen = checked_options(args.method, args.k, args.threshold if args.fdr is None else 1.0, args.min_size)
    whole_number("--seed", args.seed, 0)
    if args.output is not None:
        check_table(args.output, input_files(args.file))
    _check_map(args)
    return replace(chosen, seed=args.seed, show_progress_bar=not args.quiet and None)


def _write(output: Path, table: TextRows, label_of: dict[str, int], summaries: "list[ClusterSummary]") -> None:
    from ...files import write_table

    labels = [label_of.get(text, -1) for text in table.texts]
    columns: dict[str, list[Any]] = dict(table.columns)
    columns[CLUSTER] = [label + 1 if label >= 0 else None for label in labels]
    columns[NAME] = [summaries[label].name if label >= 0 else None for label in labels]
    write_table(output, columns)


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
    """The number of texts and clusters, and the minimum cluster size if some texts have no cluster."""
    grouped = counted_of(texts - in_none, counted(texts, "distinct text"), "is", "are")
    written = "".join(f"; written: {path}" for path in (args.output, args.map) if path is not None)
    of, hint = (f" of {least} texts or more", "; for smaller ones: --min-size") if in_none and least > 1 else ("", "")
    return f"{grouped} in {counted(clusters, 'cluster')}{of} ({args.method}){hint}{written}"


def show_clusters(summaries: "Sequence[ClusterSummary]", texts: Sequence[str]) -> None:
    """Print a table of the largest clusters: number, size, mean cosine to the centre, name, and most central text."""
    shown = summaries[:SHOWN]
    columns: dict[str, Sequence[Any]] = {
        ">#": [summary.number + 1 for summary in shown],
        ">texts": [f"{summary.size:,}" for summary in shown],
        ">cosine": [f"{summary.cosine:.2f}" for summary in shown],
        "name": [summary.name for summary in shown],
        "text": [texts[summary.central[0]] for summary in shown],
    }
    if shown:
        printable(excerpt(columns, WIDEST, 0), WIDEST)
    if len(summaries) > SHOWN:
        print(f"{counted(len(summaries) - SHOWN, 'more cluster is', 'more clusters are')} not shown: --json prints all")


def _check_map(args: argparse.Namespace) -> None:
    from ...cluster.maps.layout import LAYOUTS

    if args.layout is not None:
        known_name("--layout", args.layout, LAYOUTS)
    if args.map is None:
        if args.layout is not None:
            raise BadInput(f"--layout {args.layout} requires --map FILE")
        return
    check_new_file(args.map, MAPS, input_files(args.file))
    if args.layout == "t-sne" and find_spec("sklearn") is None:
        raise missing_extra("scikit-learn", "map", "a map by t-sne")
    if args.map.suffix.lower() != ".html" and find_spec("matplotlib") is None:
        raise missing_extra("matplotlib", "map", "a map as a picture (a map in .html needs no package)")


def _layout_name(args: argparse.Namespace) -> str:
    return args.layout or ("t-sne" if find_spec("sklearn") is not None else "pca")


def _write_map(
    args: argparse.Namespace, texts: list[str], vectors: Any, labels: Any, summaries: "list[ClusterSummary]"
) -> None:
    from ...cluster.maps.cluster_map import ClusterMap
    from ...cluster.maps.layout import map_layout
    from ...cluster.maps.page import write_page

    layout = _layout_name(args)
    if not args.quiet and args.layout is None and layout == "pca":
        note(f"The map shows only two principal components; to use t-SNE: {install_hint('map')}")
    if not args.quiet and layout == "t-sne" and len(texts) >= SLOW:
        note(f"Placing {len(texts):,} texts with t-SNE (--layout pca is instant) …")
    source = "standard input" if args.file == "-" else Path(args.file).name
    title = f"{source}: {counted(len(texts), 'text')} in {counted(len(summaries), 'cluster')}"
    places = map_layout(vectors, layout, seed=args.seed)
    shown = ClusterMap(title, places, labels, texts, [summary.name for summary in summaries])
    if args.map.suffix.lower() == ".html":
        write_page(shown, args.map)
    else:
        plot_module("cluster.maps.plot").draw_map(shown, args.map)
