"""The arena: our engines and other libraries take turns in one run, each in its own process.

make bench-peers                                   installs the peers separately and runs everything (about 20 minutes)
python -m benchmarks.peers --quick                 a short run that checks whether everything works
python -m benchmarks.peers --only native "sentence-transformers fp32" --skip quality
python -m benchmarks.peers --draw                  tables from the last results; nothing is measured

A full run writes benchmarks/results/peers.json and the tables of docs/speed.md (figures.py draws its figure); a quick
run, or one with only some contenders, writes to build/peers instead. Nothing else should run on the machine meanwhile.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from likewise.model_files.names import RECOMMENDED_MODEL

from ..options import options
from ..pages import PageTables, draw
from ..record import RESULTS, machine
from .process import ROOT
from .report import tables
from .run import PARTS, run
from .texts import FULL, QUICK

RESULT = RESULTS / "peers.json"
SCRATCH = ROOT / "build" / "peers"


def main(argv: list[str] | None = None) -> None:
    build, threads = ROOT / "build", [1, 2]
    args = options(
        *(__doc__, argv), model=RECOMMENDED_MODEL, only=[], skip=[], rounds=int, threads=threads, quick=False,
        venvs=build, out=Path, draw=False,
    )  # fmt: skip
    if unknown := {*args.skip} - {*PARTS}:
        raise SystemExit(f"--skip {' '.join(unknown)}: expected {', '.join(PARTS)}")
    whole = not (args.quick or args.only or args.skip) and args.model == RECOMMENDED_MODEL
    out = args.out or (RESULT if whole or args.draw else SCRATCH / RESULT.name)
    found = json.loads(out.read_text("utf-8")) if args.draw else measure(args, out)
    show(found)
    if out == RESULT:
        draw(TABLES)


def measure(args: argparse.Namespace, out: Path) -> dict[str, Any]:
    """Run the arena; the results so far are written to build/peers/partial.json after each round."""
    sizes = QUICK if args.quick else FULL
    if args.rounds is not None:
        if args.rounds < 1:
            raise SystemExit(f"--rounds {args.rounds}: expected at least 1")
        sizes = replace(sizes, rounds=args.rounds)
    where = {**machine(), "load": os.getloadavg()[0]}
    if where["load"] > 0.5:
        print(f"load is {where['load']:.1f}: another program is running, and figures will be too low", file=sys.stderr)

    def keep(found: Mapping[str, Any], path: Path = SCRATCH / "partial.json") -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"machine": where, **found}, indent=2) + "\n", "utf-8")

    found = run(args, sizes, SCRATCH, keep)
    keep(found, out)
    print(f"written: {out}", file=sys.stderr)
    return {"machine": where, **found}


def show(found: Mapping[str, Any]) -> None:
    """Print the tables."""
    print("\n".join(tables(found)))


TABLES: PageTables = {"docs/speed.md": {"peers": lambda: tables(json.loads(RESULT.read_text("utf-8")))}}

if __name__ == "__main__":
    main()
