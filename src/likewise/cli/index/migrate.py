"""Embeds the texts of an index with another model, into a new index that replaces the old one."""

import argparse
from functools import partial
from typing import TYPE_CHECKING

from ...errors import BadInput
from ...wording import counted
from ..model_options import add_model, load_from_options, recorded_name
from ..output import note, print_result
from ..parser import options
from .opening import add_location, check_durable

if TYPE_CHECKING:
    from ...embedder import Embedder
    from ...migrate import MigrationReport

EPILOG = """examples:
  likewise index migrate notes.index -m all-MiniLM-L6-v2
  likewise index migrate notes.index -m all-MiniLM-L6-v2 --keep-old
  likewise index migrate notes.index -m all-MiniLM-L6-v2 -o postgresql://localhost/search#notes

The new index is built next to the old one, in notes.index.migrating, so that no index mixes vectors from two models.
Meanwhile, you can search the old index and add to it; additions are embedded too. When both contain the same texts, the
new index takes the old one's name, and the old one is deleted (--keep-old keeps it as notes.index.before-migration). At
that moment, no other process may have the old index open. After an interruption, run the same command again to resume.

With -o, the new index is created at that location, and the old one does not change. If that location already holds an
index, the command continues it only if the old index contains all of its passages, as after an interruption."""


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add_location(add)
    add("-o --output INDEX", "location of the new index (default: it replaces the old one)")
    add("--keep-old", "keep the old index under another name")
    add("--json", "print a summary as JSON")
    add("-q --quiet", "show no progress and no summary")
    add_model(parser, "none; required")


def run(args: argparse.Namespace) -> int:
    from ...search.indexes import kind_of_location

    if args.model is None:
        raise BadInput("no model was given for the new index; expected -m MODEL")
    if args.output is not None and args.keep_old:
        raise BadInput("--keep-old applies only if the index is replaced, but -o does not replace it")
    check_durable(args.output or args.location)
    if args.output is None and kind_of_location(args.location).scheme:
        raise BadInput(f"{args.location} is not a folder, so it cannot be replaced; give a new location with -o")
    embedder = load_from_options(args)
    report = _migrate(args, embedder)
    about = {"model": args.model, "fingerprint": embedder.fingerprint, "location": args.output or args.location}
    value = {**about, "embedded": report.encoded, "kept": report.kept, "deleted": report.deleted}
    done = f"{counted(report.encoded, 'passage')} embedded with {args.model}, {report.kept:,} already there"
    print_result(args, value, f"{args.output or args.location}: {done}", note)
    return 0


def _migrate(args: argparse.Namespace, embedder: "Embedder") -> "MigrationReport":
    from ...migrate import migrate_in_place, migrate_into
    from ...runtime.atomic_files import target_folder
    from ...search.texts.text_index import identity_of_embedder

    model, show = identity_of_embedder(embedder, recorded_name(args)), not args.quiet
    encode = partial(embedder.encode_document, show_progress_bar=False, overflow="mean")
    if args.output is not None:
        return migrate_into(args.location, args.output, model, embedder.dimension, encode, show)
    return migrate_in_place(
        target_folder(args.location), model, embedder.dimension, encode, keep_old=args.keep_old, show_progress_bar=show
    )
