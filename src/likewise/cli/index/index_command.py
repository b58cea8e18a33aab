"""`likewise index ACTION …`: finds the action; each is a file here."""

import argparse
from importlib import import_module
from typing import Any, NamedTuple


class IndexAction(NamedTuple):
    """An action on an index."""

    module: str
    """In this folder; it adds the action's options."""
    help: str
    """Its line in `likewise index --help`."""


ACTIONS = {
    "add": IndexAction("add_files", "add files, folders or patterns; what is unchanged is not embedded again"),
    "info": IndexAction("describe", "show what an index holds: model, passages, files, columns, size"),
    "delete": IndexAction("delete", "delete passages, by file, filter or id"),
    "export": IndexAction("export", "write texts, metadata and vectors to a file"),
    "copy": IndexAction("copy_index", "copy an index, to another place or kind"),
    "migrate": IndexAction("migrate", "embed an index's texts by another model, which then takes its place"),
    "verify": IndexAction("verify", "read everything and compare it with its checksums"),
    "repair": IndexAction("repair", "keep what is good of a damaged index, and name what is not"),
    "compact": IndexAction("compact", "return the space of what was deleted"),
}

EPILOG = """examples:
  likewise index add notes.index notes/ "papers/**/*.html" todo.csv
  likewise index info notes.index
  likewise index delete notes.index --file notes/old.md
  likewise index copy notes.index backup.index
  likewise search notes.index "how long do cats sleep"

An index is a folder; it can be copied, and is searched by: likewise search

Each action has its own help, with examples: likewise index add --help"""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's actions and their options."""
    parser = verbs.add_parser(
        "index",
        description="Keeps an index on disk: the passages of files, their vectors and their metadata.",
        epilog=EPILOG,
    )
    actions = parser.add_subparsers(
        title="actions", metavar="ACTION", required=True, action=_ActionsAction, help="what is done with the index"
    )
    for name, action in ACTIONS.items():
        import_module(f".{action.module}", __package__).add(actions)
        assert name in actions.choices, f"{action.module} adds no {name}"


class _ActionsAction(argparse._SubParsersAction):  # type: ignore[type-arg]  # generic in stubs alone
    """Subparsers of actions, each with its line of help."""

    def add_parser(self, name: str, **options: Any) -> Any:
        return super().add_parser(name, help=ACTIONS[name].help, **options)
