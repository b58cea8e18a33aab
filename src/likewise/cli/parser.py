"""The argument parser for every verb: help that fills the terminal, and errors that suggest the nearest flag."""

import argparse
import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import takewhile
from typing import Any, NamedTuple, NoReturn

NARROWEST, WIDEST = 40, 110  # minimum and maximum width of help, in columns
NAME_COLUMNS = 18  # for the names of verbs and actions in listings
NEAR = 0.6  # minimum difflib ratio for suggesting a word


class Entry(NamedTuple):
    """A verb of the command line, or one of a verb's actions."""

    module: str
    """The module, relative to the package that its table belongs to."""
    help: str
    """Its line in the help, which can be shown without importing the module."""


def _width() -> int:
    """The width of help; some programs report a terminal width of 0, for which this returns the minimum."""
    return max(NARROWEST, min(shutil.get_terminal_size().columns, WIDEST) - 2)


class HelpFormatter(argparse.HelpFormatter):
    """Fills prose to the terminal's width; indented lines, such as examples, are kept as they are."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=_width())

    def add_usage(self, usage: str | None, actions: Any, groups: Any, prefix: str | None = None) -> None:
        """Show only the required arguments; the options are listed below."""
        if usage is None:
            needed = [_in_usage(action) for action in actions if action.required or not action.option_strings]
            optional = ["[options]"] if len(needed) < len(list(actions)) else []
            usage = " ".join(["%(prog)s", *(word.replace("%", "%%") for word in needed), *optional])
        super().add_usage(usage, actions, groups, prefix)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return textwrap.indent("\n".join(_filled(text, width)), indent)


def _in_usage(action: argparse.Action) -> str:
    """Formats an argument as FILE, [TEXT ...] or -o FILE."""
    name = str(action.metavar or action.dest)
    if action.option_strings:
        return f"{action.option_strings[0]} {name}"
    return {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} [{name} ...]"}.get(str(action.nargs), name)


def _filled(text: str, width: int) -> Iterator[str]:
    """Prose paragraphs filled to the width, and all other lines unchanged; a final colon ends a paragraph."""
    paragraph: list[str] = []
    for line in [*text.splitlines(), ""]:
        prose = bool(line[:1].strip())
        paragraph += [line] if prose else []
        if paragraph and (not prose or line.endswith(":")):
            yield textwrap.fill(" ".join(paragraph), width, break_on_hyphens=False)
            paragraph = []
        if not prose:
            yield line


class Parser(argparse.ArgumentParser):
    """A parser whose errors print the verb's usage and suggest what was probably meant."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs, "formatter_class": HelpFormatter})

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Like argparse's, but reports unknown flags and arguments here, because the verb's usage is known."""
        if args is not None:  # checked first, since a missing argument would hide the misspelt flag
            self._check_flags(args if self._subparsers is None else takewhile(_is_flag, args))
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self._refuse(unknown)
        return known, unknown

    def _check_flags(self, args: Iterable[str]) -> None:
        unknown = [word for word in _flags(args) if not self._knows(word.partition("=")[0])]
        if unknown:
            self._refuse(unknown)

    def _knows(self, flag: str) -> bool:
        """Whether this is a flag of the verb, written in full: an abbreviation may be meant for another flag."""
        with_value = () if flag.startswith("--") else (flag[:2],)  # -k5 means -k 5
        return not {flag, *with_value}.isdisjoint(self._option_string_actions)

    def _refuse(self, unknown: Sequence[str]) -> NoReturn:
        flags = [word.partition("=")[0] for word in unknown if word.startswith("-")]
        what = "; ".join(map(self._unknown_flag, flags)) or f"unexpected argument {unknown[0]!r}"
        self.error(f"{what}\nAll arguments: {self.prog} --help")

    def _unknown_flag(self, flag: str) -> str:
        name = "--" + flag.lstrip("-").replace("_", "-").lower()
        if name == "--model" and (positional := self._positional_model()):
            return f"unknown flag {flag}; here the model is an argument without a flag: {self.prog} {positional}"
        known = set(self._option_string_actions) - {"-h", "--help"}
        nearest = next(iter(get_close_matches(name, known, n=1, cutoff=NEAR)), None)
        if nearest is None and self._subparsers is not None:
            name = str(self._subparsers._group_actions[0].metavar)
            return f"unknown flag {flag}; the {name.lower()} comes before its flags: {self.prog} {name} {flag}"
        return f"unknown flag {flag}" + (f"; did you mean {nearest}?" if nearest else "")

    def _positional_model(self) -> str:
        """The name of the model argument in the usage, if it is positional."""
        names = [str(action.metavar or action.dest) for action in self._get_positional_actions()]
        return next((name for name in names if "model" in name.lower()), "")


def _flags(args: Iterable[str]) -> Iterator[str]:
    """The words that argparse treats as flags, excluding "-", negative numbers and texts with spaces."""
    for word in args:
        if word == "--":
            return
        if _is_flag(word) and " " not in word:
            yield word


def _is_flag(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and not (word[1].isdigit() or word[1] == ".")


def nearest_word(word: str, known: Iterable[str]) -> str | None:
    return next(iter(get_close_matches(word.lower(), [*known], n=1, cutoff=NEAR)), None)


def listing(entries: Mapping[str, Entry]) -> str:
    """The entries of a table with their help, in two columns."""
    rows = [textwrap.wrap(entry.help, _width() - NAME_COLUMNS) for entry in entries.values()]
    columns = {name: f"\n{'':{NAME_COLUMNS}}".join(row) for name, row in zip(entries, rows, strict=True)}
    return "\n".join(f"  {name:{NAME_COLUMNS - 2}}{text}" for name, text in columns.items())


def add_command(subparsers: "argparse._SubParsersAction[Any]", name: str, module: str, package: str) -> None:
    """Add a verb or an action; its module has a docstring (the description), EPILOG, and ACTIONS or `add` and `run`."""
    command = import_module(f".{module}", package)
    parser = subparsers.add_parser(name, description=command.__doc__, epilog=command.EPILOG)
    if actions := getattr(command, "ACTIONS", None):
        parser.add_argument_group("actions", listing(actions))
        below = parser.add_subparsers(metavar="ACTION", required=True, help=argparse.SUPPRESS)
        for action, entry in actions.items():
            add_command(below, action, entry.module, command.__name__)
        return
    command.add(parser)
    flags = {action.dest: action.option_strings[-1] for action in parser._actions if action.option_strings}
    parser.set_defaults(run=command.run, flags=flags)


TYPES = dict.fromkeys(("N", "TOKENS", "PORT"), int) | dict.fromkeys(("X", "RATE", "GB", "MB", "MS", "S"), float)
"""The type of a value, by its placeholder; any other value is text."""


def options(parser: argparse._ActionsContainer, group: str = "") -> Callable[..., None]:
    """Return a function that adds options to a parser or to a new group: `add("-o --output FILE", "file to write")`.

    An option without a placeholder and without `choices` is a switch; one without a dash is a positional argument. The
    default is appended to the help.
    """
    target = parser.add_argument_group(group) if group else parser

    def add(spec: str, text: str, default: Any = None, **more: Any) -> None:
        words = spec.split()
        flags = [word for word in words if word.startswith("-")]
        values = words[len(flags) :]
        if not values and not more:
            more = {"action": "store_true"}
        if values:
            more = {"metavar": values[0] if len(values) == 1 else tuple(values), **more}
            more = {"type": TYPES[values[0]], **more} if values[0] in TYPES else more
        if len(values) > 1:
            more["nargs"] = len(values)
        if isinstance(default, str | int | float) and "(default: " not in text:
            text += " (default: %(default)s)"
        if default is not None:
            more["default"] = default
        target.add_argument(*(flags or [more.pop("dest", values[0].lower())]), help=text, **more)

    return add
