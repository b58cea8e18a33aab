"""Outputs that are the input, cannot be written, or are not files must be refused, and nothing else may change."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .attempt import Attempt, Setup, expect
from .command import TINY_RUN, cli, outcome_of, stsb, words
from .tables import PARQUETS, text


@dataclass(frozen=True)
class Output:
    """A command with an odd output, which `ready` prepares; `codes` are the allowed exit codes."""

    command: Sequence[str]
    ready: Callable[[], Any] = lambda: None
    codes: tuple[int, ...] = (2,)
    outputs: tuple[str, ...] = ()


def _given(suffix: str) -> None:
    path = Path(f"given{suffix}")
    if suffix == ".parquet":
        PARQUETS["parquet"].write(path)
    else:
        path.write_text(text(suffix))


def _linked(suffix: str, link: Callable[[Path, Path], Any]) -> None:
    _given(suffix)
    link(Path(f"link{suffix}"), Path(f"given{suffix}"))


def _locked() -> None:
    Path("locked").mkdir()
    Path("locked").chmod(0o500)


def _old(path: str) -> None:
    Path(path).write_bytes(b"old")
    Path(path).chmod(0o400)


def _pipe(path: Path) -> None:
    """Make a pipe with a reader, so that opening it for writing does not block."""
    os.mkfifo(path)
    os.open(path, os.O_RDWR | os.O_NONBLOCK)


def _symlink(link: Path, target: Path) -> None:
    link.symlink_to(target.name)


def _hardlink(link: Path, target: Path) -> None:
    link.hardlink_to(target)


TRAIN = f"train @bert --data given.csv@cosent {TINY_RUN}"
WRITERS = {
    "encode": "encode given.txt -o OUT -m @bert",
    "mine": "data mine @bert given.csv -o OUT --missing fill",
    "train": f"{TRAIN} -o OUT",
    "fuse": "model fuse @bert --pairs given.csv -o OUT",
    "dissect": "model dissect @bert --texts given.txt -o OUT",
    "plot": "evaluate @bert --tasks stsb --plot OUT",
    "record": f"{TRAIN} -o out --record OUT",
}
ENDINGS = {"encode": ".npy", "mine": ".jsonl", "plot": ".png", "record": ".jsonl"}
"""The suffixes of commands that write a file; other commands write a folder."""


def _writing(verb: str, out: str) -> list[str]:
    return [out if word == "OUT" else word for word in WRITERS[verb].split()]


def _on_itself(verb: str, suffix: str, out: str) -> list[str]:
    """Return a command whose output refers to its own input, for example given.parquet."""
    command = [
        out if word == "OUT" else f"given{suffix}" if "given" in word else word for word in WRITERS[verb].split()
    ]
    return [*command, "--column", "sentence1"] if verb == "encode" else command


def _ready(*more: Callable[[], Any]) -> Callable[[], None]:
    """Return a function that prepares inputs for every command, and then the odd output."""

    def do() -> None:
        _given(".txt")
        _given(".csv")
        stsb()
        for one in more:
            one()

    return do


def _outputs() -> Iterator[tuple[str, Output]]:
    for verb in ("encode", "mine"):
        for suffix in (".parquet", ".jsonl"):
            yield from _themselves(verb, suffix)
    for verb in WRITERS:
        yield from _unwritable(verb, ENDINGS.get(verb, ""))
        yield from _files(verb, ENDINGS[verb]) if verb in ENDINGS else _folders(verb)
    folder = ("vectors", "vectors/*", "vectors/*/*")
    yield "encode-no-ending", Output(_writing("encode", "vectors"), _ready(), (0,), folder)
    read_only = Output(
        _writing("encode", "v.npy"), _ready(partial(_old, "v.npy")), (0, 2), ("v.npy", "v.npy.origin.json")
    )
    yield "encode-over-read-only", read_only


def _themselves(verb: str, suffix: str) -> Iterator[tuple[str, Output]]:
    for how, link in (("symlink", _symlink), ("hardlink", _hardlink)):
        ready = partial(_linked, suffix, link)
        yield f"{verb}-{how}{suffix}", Output(_on_itself(verb, suffix, f"link{suffix}"), ready)
    yield f"{verb}-same{suffix}", Output(_on_itself(verb, suffix, f"given{suffix}"), partial(_given, suffix))
    dotted = _on_itself(verb, suffix, f"x/../given{suffix}")
    yield f"{verb}-dots{suffix}", Output(dotted, lambda: [_given(suffix), Path("x").mkdir()])


def _unwritable(verb: str, end: str) -> Iterator[tuple[str, Output]]:
    yield f"{verb}-unwritable-folder", Output(_writing(verb, f"locked/x{end}"), _ready(_locked))
    yield f"{verb}-below-a-file", Output(_writing(verb, f"given.csv/x{end}"), _ready())
    yield f"{verb}-long-name", Output(_writing(verb, "x" * 300 + end), _ready())
    yield f"{verb}-empty", Output(_writing(verb, ""), _ready())
    new = ("new", "new/*", "out", "out/*", "cache", "cache/*")
    yield f"{verb}-missing-folder", Output(_writing(verb, f"new/deep/x{end}"), _ready(), (0, 2), new)


def _folders(verb: str) -> Iterator[tuple[str, Output]]:
    yield f"{verb}-a-file", Output(_writing(verb, "given.txt"), _ready())
    yield f"{verb}-null-device", Output(_writing(verb, "/dev/null"), _ready())


def _files(verb: str, end: str) -> Iterator[tuple[str, Output]]:
    path, outputs = Path(f"x{end}"), (f"x{end}", f"x{end}.origin.json", "real*", "out", "out/*", "cache", "cache/*")
    command = _writing(verb, str(path))
    codes = (0,) if verb == "encode" else (2,)  # it may write a folder of shards
    yield f"{verb}-a-folder", Output(command, _ready(path.mkdir), codes, (*outputs, f"{path}/*", f"{path}/*/*"))
    yield f"{verb}-pipe", Output(command, _ready(partial(_pipe, path)), (0, 2), outputs)
    full = _ready(partial(path.symlink_to, "/dev/full"))
    yield f"{verb}-link-to-full", Output(command, full, (0, 2), outputs)
    link = _ready(Path(f"real{end}").touch, partial(path.symlink_to, f"real{end}"))
    yield f"{verb}-through-link", Output(command, link, (0,), outputs)


OUTPUTS: Mapping[str, Output] = dict(_outputs())


def _try_output(setup: Setup, name: str) -> str:
    output = OUTPUTS[name]
    output.ready()
    links = {path: path.readlink() for path in Path().iterdir() if path.is_symlink()}
    kept = {path: path.read_bytes() for path in Path().glob("given.*")}
    printed = cli(*words(setup, output.command))
    outcome = outcome_of(printed)
    for path, data in kept.items():
        expect(
            path.exists() and path.read_bytes() == data, "lost rows", f"{path} was changed; exit code {printed.code}"
        )
    for path, target in links.items():
        expect(path.is_symlink() and path.readlink() == target, "wrong answer", f"the link {path} was replaced")
    expect(
        printed.code in output.codes,
        "wrong answer",
        f"exit code {printed.code}; expected one of {output.codes}: {printed.err[-300:]}",
    )
    for path in [*Path().glob("given.*"), *Path().glob("link.*"), *Path().glob("real*"), *Path().glob("data/*/*")]:
        path.unlink()
    for folder in ("x", "x.npy", "x.jsonl", "x.png", "locked", "data"):
        shutil.rmtree(folder, ignore_errors=True)
    for path in (p for p in Path().iterdir() if p.is_symlink() or p.is_fifo()):
        path.unlink()
    return outcome


def attempts(setup: Setup, step: int) -> Iterator[Attempt]:
    """Yield one attempt per output."""
    for name in list(OUTPUTS)[::step]:
        yield Attempt(f"commands/output/{name}", partial(_try_output, setup, name), OUTPUTS[name].outputs)
