"""Table 6: three pooling modes on NLI and on STS-B, and seven ways to concatenate u and v on NLI (section 6).

There are twelve runs, each in its own folder; scores are on STS-B's development split at the end of an epoch.
"""

from collections.abc import Sequence
from typing import Any

from likewise.errors import BadInput
from likewise.train.data.schedule import DataSource
from likewise.train.objectives import Classification
from likewise.train.objectives.labelled_pairs import CONCATENATIONS

from .flags import flags, paper_settings
from .recipe import Recipe, backbone, data_by_name, folder_of, start
from .sbert_nli import POOLINGS
from .sbert_stsb import stsb

BEST = ("u", "v", "|u-v|")


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Train, evaluate and record every chosen cell of the table."""
    parser = flags(__doc__)
    parser.add_argument(
        "--only", metavar="TEXT,…", help="train only the cells with these names or parts of names: stsb"
    )
    args = parser.parse_args(argv)
    return [_cell(args, name, *CELLS[name]) for name in cells(args.only)]


CELLS = {
    **{f"nli-{pooling}": (pooling, BEST) for pooling in POOLINGS},
    **{f"nli-mean-{'+'.join(parts)}": ("mean", parts) for parts in CONCATENATIONS if parts != BEST},
    **{f"stsb-{pooling}": (pooling, ()) for pooling in POOLINGS},
}
"""Maps a cell's name to its pooling and concatenated parts; cells trained on STS-B have no parts."""


def cells(only: str | None) -> list[str]:
    """The requested cells, in the order of the table."""
    chosen = set(CELLS) if only is None else set()
    for part in only.split(",") if only is not None else ():
        matches = [name for name in CELLS if name == part] or [name for name in CELLS if part in name]
        if not matches:
            raise BadInput(f"there is no cell {part!r}; expected one of {', '.join(CELLS)}")
        chosen.update(matches)
    return [name for name in CELLS if name in chosen]


def _cell(args: Any, name: str, pooling: str, parts: tuple[str, ...]) -> dict[str, Any]:
    data: DataSource = data_by_name("nli/train", Classification(concatenation=parts), args) if parts else stsb(args)
    print(f"{name}: {len(data.rows)} rows")  # type: ignore[arg-type]
    folder = folder_of("ablation", args) / name.replace("|", "")
    settings = paper_settings(args, epochs=args.epochs if parts else 4 * args.epochs)
    recipe = Recipe("ablation-" + ("nli" if parts else "stsb"), args, folder=folder)
    return recipe.train(backbone(args, pooling), [data], settings)


if __name__ == "__main__":
    start(main)
