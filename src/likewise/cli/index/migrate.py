"""`likewise index migrate`: the texts of an index embedded by another model, into an index that takes its place."""

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING

from ...errors import BadInput
from ...wording import counted
from ..model_options import add_model, load_from_options
from ..output import print_json
from .opening import add_location, recorded_name

if TYPE_CHECKING:
    from ...embedder import Embedder
    from ...migrate import MigrationReport

EPILOG = """examples:
  likewise index migrate notes.index -m all-MiniLM-L6-v2
  likewise index migrate notes.index -m all-MiniLM-L6-v2 --keep-old
  likewise index migrate notes.index -m all-MiniLM-L6-v2 --to postgresql://localhost/search#notes

The new index is filled beside the old one, in notes.index.migrating, and no index holds vectors of two models. The old
one can be searched and added to meanwhile; what is added is embedded too. When both hold the same passages, the new one
takes the old one's name, and the old one is removed (--keep-old: it is kept as notes.index.before-migration). Nobody
may have it open at that moment. Stopped, the same command goes on where it was.

With --to, the new index is made there, and the old one stays as it is."""


def add(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The action's options."""
    parser = actions.add_parser("migrate", description="Embeds an index's texts by another model.", epilog=EPILOG)
    add_location(parser)
    parser.add_argument("--to", metavar="INDEX", help="location of the new index (default: it replaces the old one)")
    parser.add_argument("--keep-old", action="store_true", help="keep the old index under another name")
    parser.add_argument("--json", action="store_true", help="print a summary as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress and no summary")
    add_model(parser, "none; one must be named")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Migrate, and say how many passages were embedded."""
    if args.model is None:
        raise BadInput("nothing says which model the index is to have; expected -m MODEL")
    if args.to is not None and args.keep_old:
        raise BadInput("--keep-old is of an index that is replaced, and with --to none is; expected one of them")
    embedder = load_from_options(args)
    report = _migrate(args, embedder)
    about = {"model": args.model, "fingerprint": embedder.fingerprint, "location": args.to or args.location}
    if args.json:
        print_json({**about, "embedded": report.encoded, "kept": report.kept, "deleted": report.deleted})
    elif not args.quiet:
        done = f"{counted(report.encoded, 'passage')} embedded by {args.model}, {report.kept:,} were there already"
        print(f"{args.to or args.location}: {done}", file=sys.stderr)
    return 0


def _migrate(args: argparse.Namespace, embedder: "Embedder") -> "MigrationReport":
    from ...migrate import migrate_in_place, migrate_into
    from ...runtime.atomic_files import target_folder
    from ...search.indexes import kind_of_location
    from ...search.texts.text_index import identity_of_embedder

    model, show = identity_of_embedder(embedder, recorded_name(args)), not args.quiet
    encode = partial(embedder.encode_document, show_progress_bar=False, overflow="mean")
    if args.to is not None:
        return migrate_into(args.location, args.to, model, embedder.dimension, encode, show)
    if kind_of_location(args.location).scheme:
        raise BadInput(f"{args.location} is no folder, which could be replaced; say where the new index goes: --to")
    return migrate_in_place(
        target_folder(args.location), model, embedder.dimension, encode, keep_old=args.keep_old, show_progress_bar=show
    )
