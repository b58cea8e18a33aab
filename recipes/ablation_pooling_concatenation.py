"""Table 6: three poolings on NLI and on STS-B, and seven ways to lay u and v side by side on NLI (section 6).

Twelve runs, each in a folder of its own; figures are those of STS-B's development split at the end of an epoch.
"""

from collections.abc import Sequence
from typing import Any

from likewise.errors import BadInput
from likewise.train.data.schedule import DataSource
from likewise.train.objectives import CONCATENATIONS, Classification

from .recipe import Recipe, backbone, course, flags, folder_of, run_of, start
from .sbert_nli import POOLINGS
from .sbert_stsb import stsb

BEST = ("u", "v", "|u-v|")


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Trains every cell of the table that is asked for, measures, records."""
    parser = flags(__doc__)
    parser.add_argument("--only", metavar="TEXT,…", help="names of cells, or parts of names: stsb")
    args = parser.parse_args(argv)
    return [_cell(args, name, *CELLS[name]) for name in cells(args.only)]


CELLS = {
    **{f"nli-{pooling}": (pooling, BEST) for pooling in POOLINGS},
    **{f"nli-mean-{'+'.join(parts)}": ("mean", parts) for parts in CONCATENATIONS if parts != BEST},
    **{f"stsb-{pooling}": (pooling, ()) for pooling in POOLINGS},
}
"""Name to pooling and parts; none where STS-B is trained on."""


def cells(only: str | None) -> list[str]:
    """The cells that are asked for, in the order of the table.

    Raises:
        BadInput: there is none of that name, or with it inside.
    """
    wanted = set(CELLS) if only is None else set()
    for said in only.split(",") if only is not None else ():
        found = [name for name in CELLS if name == said] or [name for name in CELLS if said in name]
        if not found:
            raise BadInput(f"there is no cell {said!r}; there are {', '.join(CELLS)}")
        wanted.update(found)
    return [name for name in CELLS if name in wanted]


def _cell(args: Any, name: str, pooling: str, parts: tuple[str, ...]) -> dict[str, Any]:
    data: DataSource = course("nli/train", Classification(concatenation=parts), args) if parts else stsb(args)
    print(f"{name}: {len(data.rows)} rows")  # type: ignore[arg-type]
    place = folder_of("ablation", args) / name.replace("|", "")
    run = run_of(args, epochs=args.epochs if parts else 4 * args.epochs)
    recipe = Recipe("ablation-" + ("nli" if parts else "stsb"), args, folder=place)
    return recipe.carry_out(backbone(args, pooling), [data], run)


if __name__ == "__main__":
    start(main)
