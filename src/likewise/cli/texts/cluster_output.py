"""What `likewise cluster` shows: a table on the terminal, and a map as a picture or a page."""

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...wording import counted
from ..sources import input_files

if TYPE_CHECKING:
    from ...cluster import ClusterSummary
    from ...cluster.maps.cluster_map import ClusterMap

WIDEST = 140  # columns of the table
SLOW = 5000  # texts from which on t-SNE takes so long that it is announced


def show_clusters(summaries: "Sequence[ClusterSummary]", texts: Sequence[str], most: int) -> None:
    """A table of the largest clusters: number, size, mean cosine to the centre, name, and the most central text."""
    from rich.table import Column, Table

    from ..terminal_tables import escape, one_line, printable

    columns = [Column(name, justify="right", no_wrap=True) for name in ("#", "texts", "cosine")]
    wide = [Column(name, ratio=ratio, no_wrap=True, overflow="ellipsis") for name, ratio in (("name", 2), ("text", 3))]
    table = Table(*columns, *wide, box=None, pad_edge=False, header_style="dim", expand=True)
    for summary in summaries[:most]:
        numbers = (str(summary.number + 1), f"{summary.size:,}", f"{summary.cosine:.2f}")
        table.add_row(*numbers, escape(summary.name), escape(one_line(texts[summary.central[0]])))
    if summaries and most:
        printable(table, WIDEST)
    if len(summaries) > most:
        more = counted(len(summaries) - most, "more cluster is", "more clusters are")
        print(f"{more} not shown: --show {len(summaries)} shows them all")


def check_map(args: argparse.Namespace) -> None:
    """Refuse, before the work, a map that cannot be drawn or written."""
    from ...cluster.maps.layout import LAYOUTS
    from ...errors import BadInput
    from ...runtime.arguments import known_name
    from ...runtime.atomic_files import check_ending, check_not_input, check_writable_file
    from ...runtime.installation import missing_extra

    if args.layout is not None:
        known_name("--layout", args.layout, LAYOUTS)
    if args.map is None:
        if args.layout is not None:
            raise BadInput(f"--layout {args.layout} places texts on a map, and there is no --map FILE")
        return
    check_ending(args.map, MAPS)
    check_not_input(args.map, input_files(args.file))
    check_writable_file(args.map)
    if args.output is not None and args.output.resolve() == args.map.resolve():
        raise BadInput(f"--map and -o are one file, {args.map}; give them two names")
    if args.layout == "t-sne" and find_spec("sklearn") is None:
        raise missing_extra("scikit-learn", "map", "a map by t-sne")
    if args.map.suffix.lower() != ".html" and find_spec("matplotlib") is None:
        raise missing_extra("matplotlib", "map", "a map as a picture (a map in .html needs no package)")


def layout_name(args: argparse.Namespace) -> str:
    """The layout asked for; else t-sne where scikit-learn is installed, and pca where it is not."""
    return args.layout or ("t-sne" if find_spec("sklearn") is not None else "pca")


def write_map(
    args: argparse.Namespace, texts: list[str], vectors: Any, labels: Any, summaries: "list[ClusterSummary]"
) -> None:
    """Place the texts, and draw them into the file of --map."""
    from ...cluster.maps.cluster_map import ClusterMap
    from ...cluster.maps.layout import map_layout
    from ...runtime.installation import install_hint

    layout = layout_name(args)
    if not args.quiet and args.layout is None and layout == "pca":
        print(f"The map shows two principal components only; by t-SNE: {install_hint('map')}", file=sys.stderr)
    if not args.quiet and layout == "t-sne" and len(texts) >= SLOW:
        print(f"Placing {len(texts):,} texts by t-SNE (--layout pca is instant) …", file=sys.stderr)
    source = "standard input" if args.file == "-" else Path(args.file).name
    title = f"{source}: {counted(len(texts), 'text')} in {counted(len(summaries), 'cluster')}"
    places = map_layout(vectors, layout, seed=args.seed)
    shown = ClusterMap(title, places, labels, texts, [summary.name for summary in summaries])
    MAPS[args.map.suffix.lower()](shown, args.map)


def _page(shown: "ClusterMap", path: Path) -> None:
    from ...cluster.maps.page import write_page

    write_page(shown, path)


def _picture(shown: "ClusterMap", path: Path) -> None:
    from ...cluster.maps.plot import draw_map

    draw_map(shown, path)


MAPS: "dict[str, Callable[[ClusterMap, Path], None]]" = {
    ".html": _page,
    ".png": _picture,
    ".svg": _picture,
    ".pdf": _picture,
}
